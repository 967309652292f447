//! What an operation gives, until it becomes a value of JavaScript on the loop's thread.

use crate::group::Settler;
use crate::home::{DUE, Home};
use crate::instance::{InstanceData, InstanceTable};
use crate::js::{Failure, Js, Outcome, Value};
use crate::rows;
use rheo_core::{Event, Instance, Lease, Result, Timestamp};
use std::rc::Rc;
use std::time::Duration;

/// What an operation gives.
pub(crate) enum Answer {
    Nothing,
    Count(u64),
    Time(Timestamp),
    Text(Option<String>),
    /// Events, and what else there is to know of them, as JSON.
    Events(Vec<Event>, Option<String>),
    Claimed(Claimed),
    Settled(Vec<Result<()>>),
    Renewed(Vec<Result<Timestamp>>),
    Instance(Option<Instance>),
}

/// Leases on their way to JavaScript. What does not get there is given back.
pub(crate) struct Claimed {
    pub(crate) settler: Settler,
    pub(crate) leases: Vec<Lease>,
    /// If nothing was claimed, in how many milliseconds to look again; else [`NEVER`] or [`STOPPED`].
    pub(crate) due: i32,
}

/// Time alone brings nothing.
pub(crate) const NEVER: i32 = -1;
/// Nothing comes any more.
pub(crate) const STOPPED: i32 = -2;

impl Drop for Claimed {
    fn drop(&mut self) {
        if !self.leases.is_empty() {
            // Whoever asked is gone.
            self.settler.give_back(&self.leases);
        }
    }
}

/// Milliseconds until then, rounded up; [`NEVER`] for nothing.
pub(crate) fn due_ms(due: Option<Duration>) -> i32 {
    due.map_or(NEVER, |due| i32::try_from(due.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX))
}

impl Answer {
    /// The value. `at_once` says that JavaScript looks at it before anything else happens, so rows may be in the scratch memory.
    pub(crate) fn into_js(self, home: &Rc<Home>, js: Js, at_once: bool) -> Outcome<Value> {
        match self {
            Answer::Nothing | Answer::Text(None) | Answer::Instance(None) => js.undefined(),
            Answer::Count(count) => js.number(count as f64),
            Answer::Time(time) => js.big_int(time.as_micros()),
            Answer::Text(Some(text)) => js.string(&text),
            Answer::Events(events, other) => {
                rows::to_list(home, js, events.iter().map(|event| (event, None)), other.as_deref())
            }
            Answer::Claimed(mut claimed) => {
                let leases = &claimed.leases;
                if leases.is_empty() {
                    home.set_head(DUE, claimed.due);
                    return if at_once { js.undefined() } else { js.number(f64::from(claimed.due)) };
                }
                let given = leases.iter().map(|lease| (lease.event(), Some(lease)));
                let value = if at_once {
                    rows::to_scratch(home, js, given)?
                } else {
                    rows::to_list(home, js, given, Some(leases[0].consumer_id()))?
                };
                claimed.leases.clear();
                Ok(value)
            }
            Answer::Settled(results) if results.iter().all(Result::is_ok) => js.undefined(),
            Answer::Settled(results) => listed(home, js, &results, |()| js.undefined()),
            Answer::Renewed(results) => listed(home, js, &results, |time| js.big_int(time.as_micros())),
            Answer::Instance(Some(db)) => InstanceTable::make(home, js, InstanceData { db }),
        }
    }
}

fn listed<T: Copy>(
    home: &Rc<Home>,
    js: Js,
    results: &[Result<T>],
    value: impl Fn(T) -> Outcome<Value>,
) -> Outcome<Value> {
    let each = |result: &Result<T>| match result {
        Ok(result) => value(*result),
        Err(error) => home.error(js, error),
    };
    js.array(&results.iter().map(each).collect::<Result<Vec<Value>, Failure>>()?)
}
