//! The store: its streams, and who is told when something happens in them.

use super::group::Group;
use super::log::Log;
use crate::{Append, Error, Event, Result, Timestamp, Trim};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::task::Waker;

/// Everything that is stored.
#[derive(Default)]
pub(super) struct Store {
    pub(super) streams: BTreeMap<String, Stream>,
    streams_created: u64,
}

/// A stream: its entries and the groups that read them.
pub(super) struct Stream {
    pub(super) entries: Entries,
    pub(super) groups: BTreeMap<String, Group>,
}

/// The entries of a stream: a log per partition, and where each id is.
pub(super) struct Entries {
    stream: String,
    pub(super) logs: Vec<Log>,
    ids: HashMap<String, Place>,
}

/// Where an event is.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) partition: u32,
    pub(super) sequence: u64,
}

impl Store {
    /// Adds an empty stream; the caller knows that there is none of that name.
    pub(super) fn add_stream(&mut self, name: &str, partition_count: u32) {
        self.streams_created += 1;
        let logs = (0..partition_count).map(|partition| Log::new(self.streams_created, partition)).collect();
        let entries = Entries { stream: name.to_owned(), logs, ids: HashMap::new() };
        self.streams.insert(name.to_owned(), Stream { entries, groups: BTreeMap::new() });
    }

    pub(super) fn stream(&self, name: &str) -> Result<&Stream> {
        self.streams.get(name).ok_or_else(|| Error::stream_not_found(name))
    }

    pub(super) fn stream_mut(&mut self, name: &str) -> Result<&mut Stream> {
        self.streams.get_mut(name).ok_or_else(|| Error::stream_not_found(name))
    }

    pub(super) fn entries(&self, stream: &str) -> Result<&Entries> {
        Ok(&self.stream(stream)?.entries)
    }

    /// A group, with the entries that it reads.
    pub(super) fn group(&self, stream: &str, name: &str) -> Result<(&Group, &Entries)> {
        let Stream { entries, groups } = self.stream(stream)?;
        let group = groups.get(name).ok_or_else(|| Error::group_not_found(stream, name))?;
        Ok((group, entries))
    }

    /// A group to change, with the entries that it reads.
    pub(super) fn group_mut(&mut self, stream: &str, name: &str) -> Result<(&mut Group, &Entries)> {
        let Stream { entries, groups } = self.stream_mut(stream)?;
        let group = groups.get_mut(name).ok_or_else(|| Error::group_not_found(stream, name))?;
        Ok((group, entries))
    }
}

impl Stream {
    /// Removes old events and returns how many. Without `force` the groups keep what they still need.
    pub(super) fn trim(&mut self, trim: &Trim, force: bool, now: Timestamp) -> u64 {
        let Entries { logs, ids, .. } = &mut self.entries;
        let mut removed_count = 0;
        for log in logs {
            let Some(mut point) = log.trim_point(trim, now) else { continue };
            if !force {
                let needed = self.groups.values().map(|group| group.reader(log.partition()).needs_from().0).min();
                point = point.min(needed.unwrap_or(point));
            }
            let removed = log.remove_before(point);
            if removed.is_empty() {
                continue;
            }
            removed_count += removed.len() as u64;
            for entry in removed.values() {
                ids.remove(&entry.id);
            }
            for group in self.groups.values_mut() {
                group.reader_mut(log.partition()).trimmed_before(point);
            }
        }
        removed_count
    }
}

impl Entries {
    pub(super) fn partition_count(&self) -> u32 {
        self.logs.len() as u32
    }

    /// The log of a partition that may not exist.
    pub(super) fn log(&self, partition: u32) -> Result<&Log> {
        let missing = || Error::invalid_partition(&self.stream, partition, self.partition_count());
        self.logs.get(partition as usize).ok_or_else(missing)
    }

    /// The logs that a call is about: of these partitions, if they all exist, or of all.
    pub(super) fn scope(&self, partitions: Option<&[u32]>) -> Result<Vec<&Log>> {
        match partitions {
            Some(partitions) => partitions.iter().map(|partition| self.log(*partition)).collect(),
            None => Ok(self.logs.iter().collect()),
        }
    }

    pub(super) fn find(&self, event_id: &str) -> Option<Place> {
        self.ids.get(event_id).copied()
    }

    pub(super) fn event(&self, place: Place) -> Option<Event> {
        self.log(place.partition).ok()?.events(&self.stream, [place.sequence]).pop()
    }

    /// Adds one event to a partition that exists, and returns where it is.
    pub(super) fn add(&mut self, partition: u32, item: &Append<'_>, now: Timestamp) -> Place {
        let log = &mut self.logs[partition as usize];
        let id = match item.options.id {
            Some(id) => id.to_owned(),
            // Somebody may have given an event the very id that is generated here; the next one is another.
            None => loop {
                let id = log.generate_id(now);
                if !self.ids.contains_key(&id) {
                    break id;
                }
            },
        };
        let place = Place { partition, sequence: log.add(&id, item, now) };
        self.ids.insert(id, place);
        place
    }
}

/// Who wants to be told of what. Apart from the store, so that nobody is told while the store is locked.
#[derive(Default)]
pub(super) struct Subscribers(Mutex<Subscriptions>);

#[derive(Default)]
struct Subscriptions {
    next: u64,
    by_number: BTreeMap<u64, Subscription>,
}

struct Subscription {
    stream: String,
    group: String,
    waker: Waker,
}

impl Subscribers {
    pub(super) fn add(&self, stream: &str, group: &str, waker: &Waker) -> u64 {
        let mut subscriptions = self.0.lock();
        let number = subscriptions.next;
        subscriptions.next += 1;
        let subscription = Subscription { stream: stream.to_owned(), group: group.to_owned(), waker: waker.clone() };
        subscriptions.by_number.insert(number, subscription);
        number
    }

    pub(super) fn remove(&self, number: u64) {
        // What a waker does when it is dropped is not ours to know: the lock is free again by then.
        let _removed = self.0.lock().by_number.remove(&number);
    }

    /// Tells who waits in this group of this stream; all groups or all streams when missing.
    pub(super) fn tell(&self, stream: Option<&str>, group: Option<&str>) {
        let meant = |subscription: &&Subscription| {
            stream.is_none_or(|name| name == subscription.stream) && group.is_none_or(|name| name == subscription.group)
        };
        let wakers: Vec<Waker> =
            self.0.lock().by_number.values().filter(meant).map(|subscription| subscription.waker.clone()).collect();
        wakers.into_iter().for_each(Waker::wake);
    }
}
