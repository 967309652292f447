//! The backend that `docs/backends.md` explains keeps the contract, and the guide quotes it as it is.

mod backend;
mod group;
mod log;

use backend::VecBackend;
use rheo_conformance::{Runner, Way, model, themes};
use rheo_core::{Clock, Instance, OpenOptions, Result};
use std::sync::Arc;

fn open(options: &OpenOptions) -> Result<Instance> {
    let backend = VecBackend::new(Clock::new(options.clock));
    Instance::with_backend(Arc::new(backend), options.clone())
}

#[test]
fn it_keeps_the_contract() {
    for way in Way::ALL {
        let report = Runner::new(|| open).way(way).run(&themes());
        println!("{way}\n{report}\n");
        assert_eq!(report.failed(), 0, "{way}: see above");
    }
}

#[test]
fn it_does_what_the_model_does() {
    model::run(&|options| open(&options), 1, 20_000).unwrap();
}

#[cfg(feature = "test-backends")]
#[test]
fn it_keeps_the_contract_when_calls_fail() {
    use rheo_core::backend::flaky::Flaky;

    let open = |options: &OpenOptions| {
        let backend = Arc::new(VecBackend::new(Clock::new(options.clock)));
        Instance::with_backend(Arc::new(Flaky::new(backend)), options.clone())
    };
    let faults: Vec<_> = themes().into_iter().filter(|theme| theme.theme == "faults").collect();
    let report = Runner::new(|| open).offering("flaky").run(&faults);
    assert_eq!((report.failed(), report.skipped()), (0, 0), "{report}");
}

#[test]
fn it_declares_all_that_scenarios_require() {
    let capabilities = open(&OpenOptions::new()).unwrap().capabilities();
    for name in themes().iter().flat_map(|theme| &theme.scenarios).flat_map(|scenario| &scenario.requires) {
        assert_eq!(capabilities.guarantee(name), Some(true), "{name}");
    }
}

#[test]
fn the_guide_quotes_what_is_compiled() {
    let plain = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let sources =
        [include_str!("main.rs"), include_str!("backend.rs"), include_str!("group.rs"), include_str!("log.rs")];
    let sources = sources.map(plain);
    let guide = include_str!("../../../docs/backends.md");
    let quotes: Vec<&str> = guide.split("```rust\n").skip(1).filter_map(|rest| rest.split("\n```").next()).collect();
    assert!(!quotes.is_empty(), "the guide quotes nothing");
    for quote in quotes {
        assert!(sources.iter().any(|source| source.contains(&plain(quote))), "in the guide but not here:\n{quote}");
    }
}
