//! The Rheo contract as executable scenarios, and what runs them. The author of a backend gives a function that
//! opens it, and learns for every rule whether it holds.
//!
//! ```
//! use rheo_conformance::{Runner, themes};
//!
//! let runner = Runner::new(|| |options: &rheo_core::OpenOptions| rheo_core::open("memory:", options.clone()));
//! let acks: Vec<_> = themes().into_iter().filter(|theme| theme.theme == "ack").collect();
//! let report = runner.run(&acks);
//! assert_eq!(report.failed(), 0, "{report}");
//! ```
//!
//! The scenarios lie in `tests/conformance`, where a README describes their format for the runners of other
//! languages too. This crate carries them with it.

mod consumption;
pub mod coverage;
mod matching;
pub mod model;
mod report;
mod runner;
mod scenario;
mod surface;
mod value;
mod view;

pub use report::{Failure, Outcome, Report, Verdict};
pub use runner::{Runner, Way};
pub use scenario::{Call, Expected, Scenario, Step, Theme, Wanted, themes};
