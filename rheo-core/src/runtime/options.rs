//! The options of producers and consumers. They have the same names and defaults in every language.

use crate::error::{Error, Result};
use crate::limits;
use crate::options::{check_limit, number};
use crate::runtime::backoff::RetryDelay;
use crate::runtime::outcome::OnFailure;

/// The most handlers that a consumer runs at a time.
pub const MAX_CONCURRENCY: usize = 10_000;

/// How a producer takes leases (contract, section 6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducerOptions {
    /// The most unsettled leases held at once, 1 to 10,000; when missing the instance's `default_max_demand`, of a consumer at
    /// least what its handlers can hold: `concurrency` × `batch_size`.
    pub max_demand: Option<usize>,
    /// How long the leases last unless they are renewed, in milliseconds; the instance's `default_lease_ms` when missing.
    pub lease_ms: Option<u64>,
    /// How often to look for work where the store does not notify, in milliseconds; 200 by default.
    pub poll_ms: u64,
    /// Who takes the leases, 1 to 255 bytes; an id made for the instance when missing.
    pub consumer_id: Option<String>,
    /// Only from these partitions, a set; from all when missing.
    pub partitions: Option<Vec<u32>>,
    /// What becomes of a delivery whose handler failed; another attempt by default.
    pub on_failure: OnFailure,
    /// How long a delivery waits for its next attempt, where the handler does not say; 100 ms, doubling to 5 s, by default.
    pub retry_delay: RetryDelay,
}

impl Default for ProducerOptions {
    fn default() -> ProducerOptions {
        ProducerOptions {
            max_demand: None,
            lease_ms: None,
            poll_ms: 200,
            consumer_id: None,
            partitions: None,
            on_failure: OnFailure::default(),
            retry_delay: RetryDelay::default(),
        }
    }
}

impl ProducerOptions {
    /// The defaults.
    pub fn new() -> ProducerOptions {
        ProducerOptions::default()
    }

    /// At most so many unsettled leases.
    #[must_use]
    pub fn max_demand(mut self, max_demand: usize) -> ProducerOptions {
        self.max_demand = Some(max_demand);
        self
    }

    /// Leases of so many milliseconds.
    #[must_use]
    pub fn lease_ms(mut self, lease_ms: u64) -> ProducerOptions {
        self.lease_ms = Some(lease_ms);
        self
    }

    /// From these partitions only.
    #[must_use]
    pub fn partitions(mut self, partitions: impl Into<Vec<u32>>) -> ProducerOptions {
        self.partitions = Some(partitions.into());
        self
    }

    /// Sets an option by its name, with its value as text: what the languages without this struct use. The names are those of the
    /// fields; `partitions` are numbers joined by commas, `on_failure` is `retry` or `reject`, `retry_delay` as [`RetryDelay`] says.
    ///
    /// # Errors
    /// `invalid_argument` for an unknown name or a value that does not parse; the ranges are checked at the start.
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        if self.set_known(key, value)? {
            return Ok(());
        }
        Err(Error::invalid(format!("there is no option {key:?} of a producer; there are {NAMES}")))
    }

    fn set_known(&mut self, key: &str, value: &str) -> Result<bool> {
        match key {
            "max_demand" => self.max_demand = Some(number(key, value)?),
            "lease_ms" => self.lease_ms = Some(number(key, value)?),
            "poll_ms" => self.poll_ms = number(key, value)?,
            "consumer_id" => self.consumer_id = Some(value.to_owned()),
            "partitions" => {
                let numbers = value.split(',').map(str::trim).filter(|part| !part.is_empty());
                self.partitions = Some(numbers.map(|part| number(key, part)).collect::<Result<_>>()?);
            }
            "on_failure" => {
                self.on_failure = match value {
                    "retry" => OnFailure::Retry,
                    "reject" => OnFailure::Reject,
                    _ => return Err(Error::invalid(format!("on_failure is {value:?}; it takes retry or reject"))),
                };
            }
            "retry_delay" => self.retry_delay = value.parse()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn check(&self) -> Result<()> {
        if let Some(max_demand) = self.max_demand {
            at_least_one("max_demand", max_demand)?;
            check_limit("max_demand", max_demand)?;
        }
        if let Some(lease_ms) = self.lease_ms {
            limits::check_duration("lease_ms", lease_ms, 1)?;
        }
        limits::check_duration("poll_ms", self.poll_ms, 1)?;
        if let Some(consumer_id) = &self.consumer_id {
            limits::check_name("consumer_id", consumer_id)?;
        }
        if self.partitions.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::invalid("partitions is empty, so that there is nothing to take; leave it out for all"));
        }
        self.retry_delay.check()
    }
}

const NAMES: &str = "max_demand, lease_ms, poll_ms, consumer_id, partitions, on_failure and retry_delay";

/// How a consumer runs its handler (contract, section 6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerOptions {
    /// How it takes leases.
    pub producer: ProducerOptions,
    /// How many handlers run at a time, 1 to 10,000; 1 by default.
    pub concurrency: usize,
    /// The most events that a handler gets at once, 1 to 10,000; 1 by default.
    pub batch_size: usize,
    /// How long to wait for a batch to fill once it has its first event, in milliseconds; 0, the default, takes what there is.
    pub batch_timeout_ms: u64,
    /// After how long a handler's leases are no longer renewed and its cancel signal fires, in milliseconds; 0, the default, is never.
    pub max_lease_ms: u64,
}

impl Default for ConsumerOptions {
    fn default() -> ConsumerOptions {
        ConsumerOptions {
            producer: ProducerOptions::default(),
            concurrency: 1,
            batch_size: 1,
            batch_timeout_ms: 0,
            max_lease_ms: 0,
        }
    }
}

impl ConsumerOptions {
    /// The defaults.
    pub fn new() -> ConsumerOptions {
        ConsumerOptions::default()
    }

    /// With so many handlers at a time.
    #[must_use]
    pub fn concurrency(mut self, concurrency: usize) -> ConsumerOptions {
        self.concurrency = concurrency;
        self
    }

    /// With batches of at most so many events.
    #[must_use]
    pub fn batch_size(mut self, batch_size: usize) -> ConsumerOptions {
        self.batch_size = batch_size;
        self
    }

    /// Taking leases like this.
    #[must_use]
    pub fn producer(mut self, producer: ProducerOptions) -> ConsumerOptions {
        self.producer = producer;
        self
    }

    /// Sets an option by its name, with its value as text: its own fields, and those of [`ProducerOptions::set`].
    ///
    /// # Errors
    /// `invalid_argument` for an unknown name or a value that does not parse; the ranges are checked at the start.
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        match key {
            "concurrency" => self.concurrency = number(key, value)?,
            "batch_size" => self.batch_size = number(key, value)?,
            "batch_timeout_ms" => self.batch_timeout_ms = number(key, value)?,
            "max_lease_ms" => self.max_lease_ms = number(key, value)?,
            _ if self.producer.set_known(key, value)? => {}
            _ => {
                return Err(Error::invalid(format!(
                    "there is no option {key:?} of a consumer; there are concurrency, batch_size, batch_timeout_ms, \
                     max_lease_ms, {NAMES}"
                )));
            }
        }
        Ok(())
    }

    /// Checks the ranges, as the start does: for hosts that learn of the handler later.
    ///
    /// # Errors
    /// `invalid_argument` for an option out of range.
    pub fn check(&self) -> Result<()> {
        self.producer.check()?;
        at_least_one("concurrency", self.concurrency)?;
        if self.concurrency > MAX_CONCURRENCY {
            let concurrency = self.concurrency;
            return Err(Error::invalid(format!("concurrency is {concurrency}; it takes at most {MAX_CONCURRENCY}")));
        }
        at_least_one("batch_size", self.batch_size)?;
        check_limit("batch_size", self.batch_size)?;
        if let Some(max_demand) = self.producer.max_demand
            && max_demand < self.batch_size
        {
            let batch_size = self.batch_size;
            return Err(Error::invalid(format!(
                "max_demand is {max_demand} and batch_size {batch_size}; no batch could ever be full: raise max_demand"
            )));
        }
        limits::check_duration("batch_timeout_ms", self.batch_timeout_ms, 0)?;
        limits::check_duration("max_lease_ms", self.max_lease_ms, 0)
    }

    /// The most leases held at once.
    pub(super) fn max_demand(&self, default: usize) -> usize {
        let slots = self.concurrency.saturating_mul(self.batch_size);
        self.producer.max_demand.unwrap_or(default.max(slots).min(limits::MAX_FETCH))
    }
}

fn at_least_one(what: &str, value: usize) -> Result<()> {
    if value == 0 { Err(Error::invalid(format!("{what} is 0; it takes at least 1"))) } else { Ok(()) }
}
