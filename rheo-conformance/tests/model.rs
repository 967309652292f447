//! The model test against the backends of this build.
//!
//! `RHEO_MODEL_STEPS` says how many steps (20,000 by default), `RHEO_MODEL_SEED` by which seed. Without a seed there
//! are two runs: one by a seed that never changes, one by a seed of the moment, which is printed.

use rheo_conformance::model::{self, Divergence, Durable, Store, Summary};
use rheo_core::{Instance, OpenOptions, open};
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
    run(url, &|seed, steps| model::run(&|options| open(url, options), seed, steps), &[]);
}

fn run(what: &str, run: &dyn Fn(u64, u64) -> Result<Summary, Divergence>, further: &[&str]) {
    let steps = number("RHEO_MODEL_STEPS").unwrap_or(STEPS);
    let of_the_moment = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let seeds = number("RHEO_MODEL_SEED").map_or_else(|| vec![SEED, of_the_moment()], |seed| vec![seed]);
    for seed in seeds {
        println!("{what} RHEO_MODEL_SEED={seed} RHEO_MODEL_STEPS={steps}");
        let started = Instant::now();
        match run(seed, steps) {
            Ok(summary) => {
                println!("{summary}; {:.1} s", started.elapsed().as_secs_f64());
                // A seed of the moment may, once in a while, leave something out.
                if seed == SEED && steps >= STEPS {
                    check_all_took_part(&summary, further);
                }
            }
            Err(divergence) => panic!("{what}: {divergence}"),
        }
    }
}

fn check_all_took_part(summary: &Summary, further: &[&str]) {
    let mut kinds = vec![
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
    kinds.extend(further);
    kinds.sort_unstable();
    let found: Vec<&str> = summary.operations().map(|(kind, ..)| kind).collect();
    assert_eq!(found, kinds);
    for (kind, taken, effective) in summary.operations() {
        assert!(effective >= 5, "{kind} did something {effective} times out of {taken}");
    }
}

#[test]
fn memory() {
    check("memory:");
}

#[cfg(feature = "test-backends")]
mod journal {
    use super::{SEED, STEPS, run};
    use rheo_conformance::model::{self, Durable, Store};
    use rheo_core::backend::journal::open_on;
    use rheo_core::backend::journal::simulated::{Fault, FaultKind, SimulatedFiles};
    use rheo_core::{Instance, OpenOptions, SyncPolicy};
    use std::path::Path;
    use std::sync::Arc;

    /// A journal on a file system in memory.
    struct Journal {
        files: SimulatedFiles,
        sync: SyncPolicy,
        /// Which of the writes to come fails when one is to fail: the first, if that is to be right.
        failing: u64,
    }

    impl Journal {
        fn new(sync: SyncPolicy) -> Journal {
            Journal { files: SimulatedFiles::new(), sync, failing: 0 }
        }
    }

    impl Store for Journal {
        fn open(&mut self, options: OpenOptions) -> rheo_core::Result<Instance> {
            let mut options = options.sync(self.sync);
            options.journal.segment_bytes = Some(16 << 10);
            Instance::with_backend(open_on(Arc::new(self.files.clone()), Path::new("journal"), &options)?, options)
        }

        fn durable(&mut self) -> Option<&mut dyn Durable> {
            Some(self)
        }
    }

    impl Durable for Journal {
        fn crash(&mut self) {
            self.files = self.files.kill();
        }

        fn fail_next_write(&mut self, fails: bool) {
            let fault = Fault { call: self.failing, count: 1, kind: FaultKind::LateWrite };
            self.files.fail(fails.then_some(fault));
        }

        fn write_failed(&self) -> bool {
            // Nothing but writes counts under that fault.
            self.files.calls() > 0
        }
    }

    /// It is closed, left by a process that ends, and opened again, and its writes fail now and then.
    fn check(sync: SyncPolicy) {
        let new_store = || -> Box<dyn Store> { Box::new(Journal::new(sync)) };
        let what = format!("journal: with sync {sync:?}");
        run(&what, &|seed, steps| model::run_on(&new_store, seed, steps), &["crash", "fail_next_write", "reopen"]);
    }

    #[test]
    fn synced_always() {
        check(SyncPolicy::Always);
    }

    #[test]
    fn synced_never() {
        check(SyncPolicy::Never);
    }

    #[test]
    fn a_failed_write_that_no_answer_tells_of_is_found_and_cut_down() {
        let new_store =
            || -> Box<dyn Store> { Box::new(Journal { failing: u64::MAX, ..Journal::new(SyncPolicy::Never) }) };
        let divergence = model::run_on(&new_store, SEED, STEPS).expect_err("the write went well");
        let text = divergence.to_string();
        assert!(text.contains("FailNextWrite") && text.contains("the answer does not tell"), "{text}");
        assert!(divergence.shrunk_to().is_some_and(|steps| steps <= 10), "one that writes, and what it needs: {text}");
    }
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

/// A store that says that it is durable, and forgets everything.
struct Forgetful;

impl Store for Forgetful {
    fn open(&mut self, options: OpenOptions) -> rheo_core::Result<Instance> {
        open("memory:", options)
    }

    fn durable(&mut self) -> Option<&mut dyn Durable> {
        Some(self)
    }
}

impl Durable for Forgetful {
    fn crash(&mut self) {}

    fn fail_next_write(&mut self, _: bool) {}

    fn write_failed(&self) -> bool {
        false
    }
}

#[test]
fn a_loss_is_found_and_cut_down() {
    let divergence = model::run_on(&|| Box::new(Forgetful), SEED, STEPS).expect_err("it forgets");
    assert_eq!(divergence.shrunk_to(), Some(2), "creating a stream and opening again is enough: {divergence}");
    assert!(divergence.to_string().contains("Reopen { crash: "), "{divergence}");
}
