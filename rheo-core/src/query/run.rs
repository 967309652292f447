//! Runs queries on any backend: the backend visits candidates in order, the evaluator decides, and what is found is
//! collected here.

use super::cursor::PageCursor;
use super::{Query, TopK};
use crate::backend::{Backend, Scan, StreamRef};
use crate::bound::Stream;
use crate::error::{Error, Result};
use crate::event::Event;
use std::ops::ControlFlow;

/// Events that match, and where to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The events, in (sequence, partition) order.
    pub events: Vec<Event>,
    /// The cursor of the next page; nothing when there was nothing more.
    pub next_cursor: Option<String>,
}

/// The events that match, ordered as the query asks for.
pub(crate) fn query(backend: &dyn Backend, stream: StreamRef<'_>, query: &Query) -> Result<Vec<Event>> {
    let limit = query.limit.unwrap_or(Query::DEFAULT_LIMIT);
    let order = query.order();
    let matcher = query.matcher();
    if query.id_filter().is_none()
        && let Some(direction) = order.scan_direction()
    {
        let mut events = Vec::new();
        let positions = positions(query, backend.partition_count(stream)?);
        let scan = Scan { query, positions: &positions, descending: direction == super::Direction::Descending };
        if limit > 0 {
            backend.scan(stream, &scan, &mut |event| {
                if matcher.matches(&event) {
                    events.push(event);
                }
                until(events.len() == limit)
            })?;
        }
        return Ok(events);
    }
    let mut top = TopK::new(order, Some(limit));
    visit(backend, stream, query, &mut |event| {
        if top.admits(&event) && matcher.matches(&event) {
            top.push(event);
        }
    })?;
    Ok(top.into_events())
}

/// One page of the events that match. The cursor holds, by partition, the last sequence that was decided on.
pub(crate) fn query_page(
    backend: &dyn Backend,
    stream: StreamRef<'_>,
    query: &Query,
    cursor: Option<&str>,
) -> Result<Page> {
    check_page(query)?;
    let limit = query.limit.unwrap_or(Query::DEFAULT_LIMIT);
    let cursor = cursor.map(PageCursor::parse).transpose()?;
    let partition_count = backend.partition_count(stream)?;
    let mut reached = match cursor {
        Some(cursor) => cursor.over(partition_count)?,
        None => vec![0; partition_count as usize],
    };
    let mut page = Page { events: Vec::new(), next_cursor: None };
    let mut positions = positions(query, partition_count);
    for (partition, after) in &mut positions {
        *after = (*after).max(reached[*partition as usize]);
    }
    let matcher = query.matcher();
    let mut more = false;
    backend.scan(stream, &Scan { query, positions: &positions, descending: false }, &mut |event| {
        let matches = matcher.matches(&event);
        if matches && page.events.len() == limit {
            more = true;
            return ControlFlow::Break(());
        }
        reached[event.partition() as usize] = event.sequence();
        if matches {
            page.events.push(event);
        }
        ControlFlow::Continue(())
    })?;
    page.next_cursor = more.then(|| PageCursor::new(reached).to_text());
    Ok(page)
}

/// The ids of the events that match in these partitions (all when missing); all of them unless the query has a limit.
pub(crate) fn matching_ids(
    backend: &dyn Backend,
    stream: StreamRef<'_>,
    query: &Query,
    partitions: Option<&[u32]>,
) -> Result<Vec<String>> {
    let matcher = query.matcher();
    let in_scope = |event: &Event| partitions.is_none_or(|set| set.binary_search(&event.partition()).is_ok());
    let mut top = TopK::new(query.order(), query.limit);
    visit(backend, stream, query, &mut |event| {
        if in_scope(&event) && top.admits(&event) && matcher.matches(&event) {
            top.push(event);
        }
    })?;
    Ok(top.into_events().iter().map(|event| event.id().to_string()).collect())
}

fn check_page(query: &Query) -> Result<()> {
    if !query.order_by.is_empty() {
        return Err(Error::invalid("a page comes in (sequence, partition) order; leave order_by out, or use query"));
    }
    if query.limit == Some(0) {
        return Err(Error::invalid("limit is 0; as the size of a page it takes at least 1"));
    }
    Ok(())
}

/// Visits every candidate, in no particular order where ids are given.
fn visit(backend: &dyn Backend, stream: StreamRef<'_>, query: &Query, each: &mut dyn FnMut(Event)) -> Result<()> {
    if let Some(ids) = query.id_filter() {
        // Says that the stream is missing also where no id is left.
        backend.partition_count(stream)?;
        for id in ids {
            if let Some(event) = find(backend, stream, id)? {
                each(event);
            }
        }
        return Ok(());
    }
    let positions = positions(query, backend.partition_count(stream)?);
    backend.scan(stream, &Scan { query, positions: &positions, descending: false }, &mut |event| {
        each(event);
        ControlFlow::Continue(())
    })
}

/// An id of a filter may be one that no event can have.
fn find(backend: &dyn Backend, stream: StreamRef<'_>, id: &str) -> Result<Option<Event>> {
    if crate::limits::check_name("id", id).is_err() { Ok(None) } else { backend.get(stream, id) }
}

/// Where to begin in each partition that the query may match in.
fn positions(query: &Query, partition_count: u32) -> Vec<(u32, u64)> {
    let after = query.after_sequence.unwrap_or(0);
    match query.partition_filter() {
        Some(set) => set.into_iter().filter(|partition| *partition < partition_count).map(|p| (p, after)).collect(),
        None => (0..partition_count).map(|partition| (partition, after)).collect(),
    }
}

fn until(done: bool) -> ControlFlow<()> {
    if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// The events that match a query, in (sequence, partition) order, fetched a page at a time as they are asked for.
///
/// The query's `limit` is the size of a page. An error ends the iteration.
#[derive(Debug)]
pub struct EventStream {
    stream: Stream,
    query: Query,
    page: std::vec::IntoIter<Event>,
    cursor: Cursor,
}

#[derive(Debug)]
enum Cursor {
    Beginning,
    At(String),
    End,
}

impl EventStream {
    pub(crate) fn new(stream: Stream, query: &Query) -> Result<EventStream> {
        query.check()?;
        check_page(query)?;
        let (query, page) = (query.clone(), Vec::new().into_iter());
        Ok(EventStream { stream, query, page, cursor: Cursor::Beginning })
    }
}

impl Iterator for EventStream {
    type Item = Result<Event>;

    fn next(&mut self) -> Option<Result<Event>> {
        loop {
            if let Some(event) = self.page.next() {
                return Some(Ok(event));
            }
            let page = match std::mem::replace(&mut self.cursor, Cursor::End) {
                Cursor::Beginning => self.stream.query_page(&self.query, None),
                Cursor::At(cursor) => self.stream.query_page(&self.query, Some(&cursor)),
                Cursor::End => return None,
            };
            match page {
                Ok(page) => {
                    self.page = page.events.into_iter();
                    self.cursor = page.next_cursor.map_or(Cursor::End, Cursor::At);
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
