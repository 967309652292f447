//! What to replay, and how to reset.

use crate::error::{Error, ErrorCode, Result};
use crate::group::{Sequences, Start, StartOptions};
use crate::limits;
use crate::query::Query;
use crate::timestamp::Timestamp;

/// The ways to say what to replay, of which exactly one is to be given (contract, section 3, "Progress").
#[derive(Clone, Debug, Default)]
pub struct ReplayOptions {
    /// Everything after this sequence (exclusive). Partitions that a map leaves out are left alone.
    pub from_sequence: Option<Sequences>,
    /// Everything from the lowest sequence on whose timestamp is at or after this.
    pub from: Option<Timestamp>,
    /// The events with these ids; unknown ones reopen nothing.
    pub event_ids: Option<Vec<String>>,
    /// The events that match; without a limit of its own, all of them.
    pub query: Option<Query>,
    /// Only in these partitions; all when missing.
    pub partitions: Option<Vec<u32>>,
}

/// What to replay, as a backend gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay<'a> {
    /// Everything after a sequence.
    FromSequence(&'a Sequences),
    /// Everything from the lowest sequence on whose timestamp is at or after this.
    From(Timestamp),
    /// The events with these ids.
    EventIds(&'a [&'a str]),
}

impl ReplayOptions {
    pub(crate) fn check(&self) -> Result<()> {
        let given = [self.from_sequence.is_some(), self.from.is_some(), self.event_ids.is_some(), self.query.is_some()];
        if given.into_iter().filter(|given| *given).count() != 1 {
            return Err(Error::new(
                ErrorCode::InvalidReplayOpts,
                "replay takes exactly one of from_sequence, from, event_ids and query",
            ));
        }
        if let Some(ids) = &self.event_ids {
            ids.iter().try_for_each(|id| limits::check_name("event id", id))?;
        }
        self.query.as_ref().map_or(Ok(()), Query::check)
    }
}

/// How to reset a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResetOptions {
    /// Must be true: what the group knows in this scope is lost.
    pub confirm: bool,
    /// The new start and its scope.
    pub start: StartOptions,
}

impl ResetOptions {
    pub(crate) fn check(&self) -> Result<Start> {
        let start = self.start.check()?;
        if self.confirm {
            return Ok(start);
        }
        Err(confirm_required("reset_group clears the group's deliveries and dead letters"))
    }
}

pub(crate) fn confirm_required(what: &str) -> Error {
    Error::new(ErrorCode::ConfirmRequired, format!("{what}; pass confirm = true if that is meant"))
}
