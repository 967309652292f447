//! Bound handles: a stream or a group whose names are resolved once.

use crate::append::{Append, AppendOptions};
use crate::backend::{Binding, GroupRef, Settlement, StreamRef, Watch};
use crate::dead_letter::{DeadLetter, DeadLetterOptions, Discard};
use crate::delivery::{FetchOptions, ReadOptions, RetryOptions};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::group::{GroupInfo, GroupUpdate};
use crate::instance::{Operations, reject_settlement, retry_settlement};
use crate::lag::Lag;
use crate::lease::{Lease, LeaseToken};
use crate::limits;
use crate::query::Query;
use crate::query::run::{EventStream, Page};
use crate::replay::{ReplayOptions, ResetOptions};
use crate::stream::{StreamInfo, TrimOptions};
use crate::timestamp::Timestamp;
use std::fmt;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// A stream, its name resolved once. The operations and errors are those of [`Instance`](crate::Instance). Keeps
/// the instance alive. When the stream is deleted and created anew, the handle goes on with the new one.
#[derive(Clone)]
pub struct Stream(Arc<Bound>);

/// A group, its names resolved once. The operations and errors are those of [`Instance`](crate::Instance). Keeps
/// the instance alive. When the group is deleted and created anew, the handle goes on with the new one.
#[derive(Clone)]
pub struct Group(Arc<Bound>);

struct Bound {
    operations: Arc<Operations>,
    stream: String,
    group: String,
    binding: Binding,
}

impl Stream {
    pub(crate) fn new(operations: Arc<Operations>, stream: &str) -> Stream {
        let (stream, group) = (stream.to_owned(), String::new());
        Stream(Arc::new(Bound { operations, stream, group, binding: Binding::default() }))
    }

    fn at(&self) -> StreamRef<'_> {
        StreamRef { name: &self.0.stream, binding: Some(&self.0.binding) }
    }

    /// The stream's name.
    pub fn name(&self) -> &str {
        &self.0.stream
    }

    /// See [`Instance::append`](crate::Instance::append).
    ///
    /// # Errors
    /// The same.
    pub fn append(&self, item: &Append<'_>) -> Result<Event> {
        self.0.operations.append(self.at(), item)
    }

    /// See [`Instance::append_batch`](crate::Instance::append_batch).
    ///
    /// # Errors
    /// The same.
    pub fn append_batch(&self, items: &[Append<'_>], shared: &AppendOptions<'_>) -> Result<Vec<Event>> {
        self.0.operations.append_batch(self.at(), items, shared)
    }

    /// See [`Instance::read`](crate::Instance::read).
    ///
    /// # Errors
    /// The same.
    pub fn read(&self, options: ReadOptions) -> Result<Vec<Event>> {
        self.0.operations.read(self.at(), options)
    }

    /// See [`Instance::get`](crate::Instance::get).
    ///
    /// # Errors
    /// The same.
    pub fn get(&self, event_id: &str) -> Result<Option<Event>> {
        self.0.operations.get(self.at(), event_id)
    }

    /// See [`Instance::query`](crate::Instance::query).
    ///
    /// # Errors
    /// The same.
    pub fn query(&self, query: &Query) -> Result<Vec<Event>> {
        self.0.operations.query(self.at(), query)
    }

    /// See [`Instance::query_page`](crate::Instance::query_page).
    ///
    /// # Errors
    /// The same.
    pub fn query_page(&self, query: &Query, cursor: Option<&str>) -> Result<Page> {
        self.0.operations.query_page(self.at(), query, cursor)
    }

    /// See [`Instance::query_stream`](crate::Instance::query_stream).
    ///
    /// # Errors
    /// The same.
    pub fn query_stream(&self, query: &Query) -> Result<EventStream> {
        EventStream::new(self.clone(), query)
    }

    /// See [`Instance::trim`](crate::Instance::trim).
    ///
    /// # Errors
    /// The same.
    pub fn trim(&self, options: &TrimOptions) -> Result<u64> {
        self.0.operations.trim(self.at(), options)
    }

    /// See [`Instance::stream_info`](crate::Instance::stream_info).
    ///
    /// # Errors
    /// The same.
    pub fn info(&self) -> Result<StreamInfo> {
        self.0.operations.stream_info(self.at())
    }

    /// See [`Instance::list_groups`](crate::Instance::list_groups).
    ///
    /// # Errors
    /// The same.
    pub fn list_groups(&self) -> Result<Vec<String>> {
        self.0.operations.list_groups(self.at())
    }

    /// See [`Instance::delete_stream`](crate::Instance::delete_stream).
    ///
    /// # Errors
    /// The same.
    pub fn delete(&self, confirm: bool) -> Result<()> {
        self.0.operations.delete_stream(self.at(), confirm)
    }
}

impl Group {
    pub(crate) fn new(operations: Arc<Operations>, stream: &str, group: &str) -> Group {
        let (stream, group) = (stream.to_owned(), group.to_owned());
        Group(Arc::new(Bound { operations, stream, group, binding: Binding::default() }))
    }

    fn at(&self) -> GroupRef<'_> {
        GroupRef { stream: &self.0.stream, name: &self.0.group, binding: Some(&self.0.binding) }
    }

    pub(crate) fn operations(&self) -> &Operations {
        &self.0.operations
    }

    /// The stream's name.
    pub fn stream(&self) -> &str {
        &self.0.stream
    }

    /// The group's name.
    pub fn name(&self) -> &str {
        &self.0.group
    }

    /// See [`Instance::fetch`](crate::Instance::fetch).
    ///
    /// # Errors
    /// The same.
    pub fn fetch(&self, options: &FetchOptions<'_>) -> Result<Vec<Lease>> {
        self.0.operations.fetch(self.at(), options)
    }

    /// See [`Instance::fetch_into`](crate::Instance::fetch_into).
    ///
    /// # Errors
    /// The same.
    pub fn fetch_into(&self, options: &FetchOptions<'_>, leases: &mut Vec<Lease>) -> Result<()> {
        self.0.operations.fetch_into(self.at(), options, leases)
    }

    /// See [`Instance::fetch_now_into`](crate::Instance::fetch_now_into).
    ///
    /// # Errors
    /// The same.
    pub fn fetch_now_into(&self, options: &FetchOptions<'_>, leases: &mut Vec<Lease>) -> Result<Option<Duration>> {
        self.0.operations.fetch_now_into(self.at(), options, leases)
    }

    /// See [`Instance::watch`](crate::Instance::watch).
    ///
    /// # Errors
    /// The same.
    pub fn watch(&self, partitions: Option<&[u32]>, waker: &Waker) -> Result<Watch> {
        self.0.operations.watch(self.at(), partitions, waker)
    }

    /// See [`Instance::lag`](crate::Instance::lag).
    ///
    /// # Errors
    /// The same.
    pub fn lag(&self, partitions: Option<&[u32]>) -> Result<Lag> {
        self.0.operations.lag(self.at(), partitions)
    }

    /// See [`Instance::group_info`](crate::Instance::group_info).
    ///
    /// # Errors
    /// The same.
    pub fn info(&self, partitions: Option<&[u32]>) -> Result<GroupInfo> {
        self.0.operations.group_info(self.at(), partitions)
    }

    /// See [`Instance::dead_letters`](crate::Instance::dead_letters).
    ///
    /// # Errors
    /// The same.
    pub fn dead_letters(&self, options: &DeadLetterOptions) -> Result<Vec<DeadLetter>> {
        self.0.operations.dead_letters(self.at(), options)
    }

    /// See [`Instance::discard_dead_letters`](crate::Instance::discard_dead_letters).
    ///
    /// # Errors
    /// The same.
    pub fn discard_dead_letters(&self, which: Discard<'_>) -> Result<u64> {
        self.0.operations.discard_dead_letters(self.at(), which)
    }

    /// See [`Instance::replay`](crate::Instance::replay).
    ///
    /// # Errors
    /// The same.
    pub fn replay(&self, options: &ReplayOptions) -> Result<u64> {
        self.0.operations.replay(self.at(), options)
    }

    /// See [`Instance::reset_group`](crate::Instance::reset_group).
    ///
    /// # Errors
    /// The same.
    pub fn reset(&self, options: &ResetOptions) -> Result<()> {
        self.0.operations.reset_group(self.at(), options)
    }

    /// See [`Instance::update_group`](crate::Instance::update_group).
    ///
    /// # Errors
    /// The same.
    pub fn update(&self, update: &GroupUpdate) -> Result<()> {
        self.0.operations.update_group(self.at(), update)
    }

    /// See [`Instance::delete_group`](crate::Instance::delete_group).
    ///
    /// # Errors
    /// The same.
    pub fn delete(&self) -> Result<()> {
        self.0.operations.delete_group(self.at())
    }

    /// See [`Instance::ack`](crate::Instance::ack). Like every settle of a group's handle, it refuses the lease of another
    /// group as stale.
    ///
    /// # Errors
    /// The same.
    pub fn ack(&self, lease: impl AsRef<LeaseToken>) -> Result<()> {
        self.settle(lease.as_ref(), Settlement::Ack)
    }

    /// See [`Instance::retry`](crate::Instance::retry).
    ///
    /// # Errors
    /// The same.
    pub fn retry(&self, lease: impl AsRef<LeaseToken>, options: RetryOptions<'_>) -> Result<()> {
        self.0.operations.usable()?;
        self.settle(lease.as_ref(), retry_settlement(options)?)
    }

    /// See [`Instance::reject`](crate::Instance::reject).
    ///
    /// # Errors
    /// The same.
    pub fn reject(&self, lease: impl AsRef<LeaseToken>, reason: &str) -> Result<()> {
        self.settle(lease.as_ref(), reject_settlement(reason))
    }

    /// See [`Instance::release`](crate::Instance::release).
    ///
    /// # Errors
    /// The same.
    pub fn release(&self, lease: impl AsRef<LeaseToken>) -> Result<()> {
        self.settle(lease.as_ref(), Settlement::Release)
    }

    /// See [`Instance::renew`](crate::Instance::renew).
    ///
    /// # Errors
    /// The same.
    pub fn renew(&self, lease: &Lease, lease_ms: Option<u64>) -> Result<Lease> {
        self.renew_token(lease.token(), lease_ms).map(|expires_at| lease.renewed(expires_at))
    }

    /// See [`Instance::renew_token`](crate::Instance::renew_token).
    ///
    /// # Errors
    /// The same.
    pub fn renew_token(&self, token: &LeaseToken, lease_ms: Option<u64>) -> Result<Timestamp> {
        self.0.operations.usable()?;
        if let Some(lease_ms) = lease_ms {
            limits::check_duration("lease_ms", lease_ms, 1)?;
        }
        self.check_own(token)?;
        self.0.operations.renew_one(token, lease_ms)
    }

    /// See [`Instance::ack_many`](crate::Instance::ack_many).
    ///
    /// # Errors
    /// The same.
    pub fn ack_many<L: AsRef<LeaseToken>>(&self, leases: &[L]) -> Result<Vec<Result<()>>> {
        self.each_own(leases, |own| self.0.operations.settle_many(own, Settlement::Ack))
    }

    /// See [`Instance::retry_many`](crate::Instance::retry_many).
    ///
    /// # Errors
    /// The same.
    pub fn retry_many<L: AsRef<LeaseToken>>(&self, leases: &[L], options: RetryOptions<'_>) -> Result<Vec<Result<()>>> {
        self.0.operations.usable()?;
        let settlement = retry_settlement(options)?;
        self.each_own(leases, |own| self.0.operations.settle_many(own, settlement))
    }

    /// See [`Instance::reject_many`](crate::Instance::reject_many).
    ///
    /// # Errors
    /// The same.
    pub fn reject_many<L: AsRef<LeaseToken>>(&self, leases: &[L], reason: &str) -> Result<Vec<Result<()>>> {
        self.each_own(leases, |own| self.0.operations.settle_many(own, reject_settlement(reason)))
    }

    /// See [`Instance::release_many`](crate::Instance::release_many).
    ///
    /// # Errors
    /// The same.
    pub fn release_many<L: AsRef<LeaseToken>>(&self, leases: &[L]) -> Result<Vec<Result<()>>> {
        self.each_own(leases, |own| self.0.operations.settle_many(own, Settlement::Release))
    }

    /// See [`Instance::renew_many`](crate::Instance::renew_many).
    ///
    /// # Errors
    /// The same.
    pub fn renew_many<L: AsRef<LeaseToken>>(
        &self,
        leases: &[L],
        lease_ms: Option<u64>,
    ) -> Result<Vec<Result<Timestamp>>> {
        self.each_own(leases, |own| self.0.operations.renew_many(own, lease_ms))
    }

    #[inline]
    fn settle(&self, token: &LeaseToken, settlement: Settlement<'_>) -> Result<()> {
        self.0.operations.usable()?;
        self.check_own(token)?;
        self.0.operations.settle_one(token, settlement)
    }

    #[inline]
    fn check_own(&self, token: &LeaseToken) -> Result<()> {
        if self.owns(token) { Ok(()) } else { Err(Error::stale_lease(token)) }
    }

    #[inline]
    fn owns(&self, token: &LeaseToken) -> bool {
        token.stream() == self.0.stream && token.group() == self.0.group
    }

    /// Does something to this group's leases; those of other groups are stale in their places.
    fn each_own<L: AsRef<LeaseToken>, T>(
        &self,
        leases: &[L],
        change: impl FnOnce(&[&LeaseToken]) -> Result<Vec<Result<T>>>,
    ) -> Result<Vec<Result<T>>> {
        let own: Vec<&LeaseToken> = leases.iter().map(AsRef::as_ref).filter(|token| self.owns(token)).collect();
        let results = change(&own)?;
        if own.len() == leases.len() {
            return Ok(results);
        }
        let mut results = results.into_iter();
        let result_of = |token: &LeaseToken| match self.owns(token) {
            true => results.next().unwrap_or_else(|| Err(Error::stale_lease(token))),
            false => Err(Error::stale_lease(token)),
        };
        Ok(leases.iter().map(AsRef::as_ref).map(result_of).collect())
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stream").field(&self.name()).finish()
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Group").field(&self.stream()).field(&self.name()).finish()
    }
}
