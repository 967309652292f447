//! The model test against the backends of this build.
//!
//! `RHEO_MODEL_STEPS` says how many steps (20,000 by default), `RHEO_MODEL_SEED` by which seed. Without a seed there
//! are two runs: one by a seed that never changes, one by a seed of the moment, which is printed.

use rheo_conformance::model::{self, Summary};
use rheo_core::{OpenOptions, open};
use std::env;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

const STEPS: u64 = 20_000;
const SEED: u64 = 1;

/// A number from the environment, if it is there.
fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}; it takes a number")))
}

/// Runs the model test on a backend, and checks that by the fixed seed every operation took part and did something.
fn check(url: &str) {
    let steps = number("RHEO_MODEL_STEPS").unwrap_or(STEPS);
    let of_the_moment = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let seeds = number("RHEO_MODEL_SEED").map_or_else(|| vec![SEED, of_the_moment()], |seed| vec![seed]);
    for seed in seeds {
        println!("{url} RHEO_MODEL_SEED={seed} RHEO_MODEL_STEPS={steps}");
        let started = Instant::now();
        match model::run(&|options| open(url, options), seed, steps) {
            Ok(summary) => {
                println!("{summary}; {:.1} s", started.elapsed().as_secs_f64());
                // A seed of the moment may, once in a while, leave something out.
                if seed == SEED && steps >= STEPS {
                    check_all_took_part(&summary);
                }
            }
            Err(divergence) => panic!("{url}: {divergence}"),
        }
    }
}

fn check_all_took_part(summary: &Summary) {
    let kinds = [
        "ack",
        "ack_many",
        "advance_clock",
        "append",
        "append_batch",
        "create_group",
        "create_stream",
        "dead_letters",
        "delete_group",
        "delete_stream",
        "discard_dead_letters",
        "fetch",
        "get",
        "group_info",
        "lag",
        "query",
        "query_page",
        "read",
        "reject",
        "reject_many",
        "release",
        "release_many",
        "renew",
        "renew_many",
        "replay",
        "reset_group",
        "retry",
        "retry_many",
        "trim",
        "update_group",
    ];
    let found: Vec<&str> = summary.operations().map(|(kind, ..)| kind).collect();
    assert_eq!(found, kinds);
    for (kind, taken, effective) in summary.operations() {
        assert!(effective >= 10, "{kind} did something {effective} times out of {taken}");
    }
}

#[test]
fn memory() {
    check("memory:");
}

#[cfg(feature = "test-backends")]
#[test]
fn native_stream_double() {
    check("native-stream-double:");
}

/// The instance takes 4 where the reference takes 5, which the first group that leaves it open must show.
#[test]
fn a_difference_is_found_and_cut_down() {
    let different = |options| open("memory:", OpenOptions { default_max_attempts: 4, ..options });
    let divergence = model::run(&different, SEED, STEPS).expect_err("the default differs");
    assert_eq!(divergence.shrunk_to(), Some(2), "creating a stream and a group is enough: {divergence}");
    let text = divergence.to_string();
    assert!(text.contains("CreateGroup") && text.contains(&format!("RHEO_MODEL_SEED={}", divergence.seed())), "{text}");
    let again = model::run(&different, divergence.seed(), divergence.step() as u64).expect_err("it is the same run");
    assert_eq!(again.step(), divergence.step());
}
