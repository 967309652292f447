//! Consumption that runs itself (contract, section 6): producers turn demand into leases, consumers are producers with a pool of
//! handlers. Knows the operations of an instance and nothing of backends or languages.
//!
//! A producer has no thread. Whoever asks it for leases fetches them; of many who ask, one fetches and waits for all of them. What must
//! happen at some time, such as renewal, the [`timer`] of the instance does.
//!
//! Lock order, before all locks of the rest of the library: a producer's state, the timer's. Neither is held while a backend is
//! called, a lease is settled, a signal fired or somebody woken.

/// Runs the programs of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../docs/consumers.md")]
struct Guide;

mod backoff;
mod consumer;
mod inflight;
mod options;
mod outcome;
mod producer;
mod timer;

pub use backoff::RetryDelay;
pub use consumer::{Consumer, Work};
pub use options::{ConsumerOptions, MAX_CONCURRENCY, ProducerOptions};
pub use outcome::{OnFailure, Outcome};
pub use producer::{Drain, Next, Producer};
pub(crate) use timer::Timer;
