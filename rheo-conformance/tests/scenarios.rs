//! Every scenario on every backend of this build, in every way of calling.

use rheo_conformance::{Runner, Verdict, Way, themes};
use rheo_core::backend::Backend;
use rheo_core::backend::memory::MemoryBackend;
use rheo_core::{Clock, Instance, OpenOptions};
use std::cell::OnceCell;
use std::sync::Arc;

fn runner(url: &'static str) -> Runner<'static> {
    let runner = Runner::new(move || move |options: &OpenOptions| rheo_core::open(url, options.clone()));
    let lacks_redis =
        rheo_core::open("redis://localhost", OpenOptions::new()).is_err_and(|e| e.code().name() == "unsupported");
    if lacks_redis { runner.offering("without-redis") } else { runner }
}

/// Runs everything, prints every report, and fails when one of them has a failure.
fn check(runs: impl IntoIterator<Item = (String, Runner<'static>)>) {
    let themes = themes();
    let mut failures = Vec::new();
    for (what, runner) in runs {
        let report = runner.run(&themes);
        println!("{what}\n{report}\n");
        assert!(report.passed() > report.outcomes.len() / 2, "{what}: hardly anything ran");
        if report.failed() > 0 {
            failures.push(what);
        }
    }
    assert!(failures.is_empty(), "scenarios failed, see above: {}", failures.join("; "));
}

fn in_every_way(url: &'static str, offers: &[&str]) {
    check(Way::ALL.map(|way| {
        let runner = offers.iter().fold(runner(url), |runner, facility| runner.offering(facility));
        (format!("{url} {way}"), runner.way(way))
    }));
}

#[test]
fn memory() {
    in_every_way("memory:", &[]);
}

/// A memory backend that outlives its instances stands in for a durable store: whatever a scenario does, it may hang
/// on the store alone, and on nothing that one instance remembers.
#[test]
fn memory_reopened() {
    let stores = || {
        let kept = OnceCell::new();
        move |options: &OpenOptions| {
            let backend = kept.get_or_init(|| Arc::new(MemoryBackend::new(Clock::new(options.clock))));
            Instance::with_backend(Arc::clone(backend) as Arc<dyn Backend>, options.clone())
        }
    };
    check(
        [Way::ALL[0], Way::ALL[3]]
            .map(|way| (format!("memory: reopened before each step, {way}"), Runner::new(stores).way(way).cutting())),
    );
}

/// A journal in a directory of its own for each scenario.
fn journal(sync: &'static str) -> Runner<'static> {
    let runner = Runner::new(move || {
        let directory = tempfile::tempdir().expect("there is room for a directory");
        move |options: &OpenOptions| {
            let path = directory.path().join("journal");
            rheo_core::open(&format!("journal:{}?sync={sync}", path.display()), options.clone())
        }
    });
    runner.offering("without-redis")
}

#[test]
fn journal_in_every_way() {
    check(Way::ALL.map(|way| (format!("journal: without syncs, {way}"), journal("never").way(way))));
}

#[test]
fn journal_synced() {
    check([("journal: synced".to_owned(), journal("always"))]);
}

#[test]
fn journal_reopened() {
    check(
        [Way::ALL[0], Way::ALL[3]]
            .map(|way| (format!("journal: reopened before each step, {way}"), journal("never").way(way).cutting())),
    );
}

#[cfg(feature = "test-backends")]
#[test]
fn native_stream_double() {
    in_every_way("native-stream-double:", &["receipts"]);
}

#[cfg(feature = "test-backends")]
#[test]
fn flaky() {
    in_every_way("flaky:memory:", &["flaky"]);
}

#[test]
fn what_does_not_apply_is_reported_with_what_is_missing() {
    let mut themes = themes();
    themes.retain(|theme| ["faults", "receipts", "lease_fencing"].contains(&theme.theme.as_str()));
    let report = runner("memory:").run(&themes);
    let skipped = |name: &str| {
        report.outcomes.iter().any(|outcome| match &outcome.verdict {
            Verdict::Skipped(missing) => missing.iter().any(|missing| missing == name),
            _ => false,
        })
    };
    assert!(skipped("flaky") && skipped("receipts") && skipped("bound"), "{report}");
    assert_eq!(report.outcomes.len(), themes.iter().map(|theme| theme.scenarios.len()).sum::<usize>());
}
