//! The options of fetching and of settling.

use crate::error::Result;
use crate::limits;
use crate::options::check_limit;
use crate::wait::Interrupt;

/// How to fetch (contract, section 3, "Delivery"). What is missing comes from the instance's defaults.
#[derive(Clone, Copy, Default)]
pub struct FetchOptions<'a> {
    /// The most leases to take, 0 to 10,000; the instance's `default_max_demand` when missing.
    pub limit: Option<usize>,
    /// How long the leases last, in milliseconds; the instance's `default_lease_ms` when missing.
    pub lease_ms: Option<u64>,
    /// Who takes them, 1 to 255 bytes; an id made for the instance when missing.
    pub consumer_id: Option<&'a str>,
    /// Only from these partitions, a set; from all when missing.
    pub partitions: Option<&'a [u32]>,
    /// How long to wait for work when there is none, in milliseconds.
    pub wait_ms: u64,
    /// Ends the wait when fired.
    pub interrupt: Option<&'a Interrupt>,
}

impl<'a> FetchOptions<'a> {
    /// The defaults: the instance's limit and lease, no waiting.
    pub fn new() -> FetchOptions<'a> {
        FetchOptions::default()
    }

    /// At most so many leases.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> FetchOptions<'a> {
        self.limit = Some(limit);
        self
    }

    /// Leases of so many milliseconds.
    #[must_use]
    pub fn lease_ms(mut self, lease_ms: u64) -> FetchOptions<'a> {
        self.lease_ms = Some(lease_ms);
        self
    }

    /// Taken by this consumer.
    #[must_use]
    pub fn consumer_id(mut self, consumer_id: &'a str) -> FetchOptions<'a> {
        self.consumer_id = Some(consumer_id);
        self
    }

    /// From these partitions only.
    #[must_use]
    pub fn partitions(mut self, partitions: &'a [u32]) -> FetchOptions<'a> {
        self.partitions = Some(partitions);
        self
    }

    /// Waiting so many milliseconds for work.
    #[must_use]
    pub fn wait_ms(mut self, wait_ms: u64) -> FetchOptions<'a> {
        self.wait_ms = wait_ms;
        self
    }

    /// With a wait that this ends.
    #[must_use]
    pub fn interrupt(mut self, interrupt: &'a Interrupt) -> FetchOptions<'a> {
        self.interrupt = Some(interrupt);
        self
    }

    /// Whether it asks for no lease at all, so that there is nothing to wait for.
    pub fn asks_for_nothing(&self) -> bool {
        self.limit == Some(0) || self.partitions.is_some_and(<[u32]>::is_empty)
    }

    pub(crate) fn check(&self) -> Result<()> {
        if let Some(limit) = self.limit {
            check_limit("limit", limit)?;
        }
        if let Some(lease_ms) = self.lease_ms {
            limits::check_duration("lease_ms", lease_ms, 1)?;
        }
        if let Some(consumer_id) = self.consumer_id {
            limits::check_name("consumer_id", consumer_id)?;
        }
        limits::check_duration("wait_ms", self.wait_ms, 0)
    }
}

/// How to read (contract, section 3, "Log").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Begin after this sequence; 0 by default.
    pub after: u64,
    /// The most events to give; 100 by default.
    pub limit: usize,
    /// The partition; 0 by default.
    pub partition: u32,
}

impl Default for ReadOptions {
    fn default() -> ReadOptions {
        ReadOptions { after: 0, limit: 100, partition: 0 }
    }
}

/// How to give a delivery back for another attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetryOptions<'a> {
    /// Why; at most 1 KiB is kept.
    pub reason: &'a str,
    /// When it becomes available, in milliseconds from now.
    pub delay_ms: u64,
}

impl<'a> RetryOptions<'a> {
    /// For this reason, at once.
    pub fn reason(reason: &'a str) -> RetryOptions<'a> {
        RetryOptions { reason, delay_ms: 0 }
    }

    /// Available after so many milliseconds.
    #[must_use]
    pub fn delay_ms(mut self, delay_ms: u64) -> RetryOptions<'a> {
        self.delay_ms = delay_ms;
        self
    }
}
