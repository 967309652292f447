//! The options of single operations, from Python's arguments to the core's structs.

use crate::args::{self, Given, Maybe};
use crate::errors::{invalid, wrong_type};
use crate::{encode, time};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use rheo_core::{
    DeadLetterOptions, GroupOptions, GroupUpdate, Ordering, Query, ReadOptions, ReplayOptions, ResetOptions,
    StartOptions, TrimOptions,
};

/// The arguments of a query.
#[derive(Default)]
pub struct QueryArgs<'a, 'py> {
    pub conditions: Maybe<'a, 'py>,
    pub from: Maybe<'a, 'py>,
    pub to: Maybe<'a, 'py>,
    pub after_sequence: Maybe<'a, 'py>,
    pub until_sequence: Maybe<'a, 'py>,
    pub order_by: Maybe<'a, 'py>,
    pub limit: Maybe<'a, 'py>,
}

impl QueryArgs<'_, '_> {
    pub fn query(&self) -> PyResult<Query> {
        let mut query = Query::new();
        if let Some(given) = self.conditions {
            let mut json = Vec::new();
            encode::json("where", args::mapping("where", given)?.as_any(), &mut json)?;
            let json = String::from_utf8(json).expect("our encoder writes UTF-8");
            let read = Query::from_json(&json).map_err(|error| crate::errors::raised(given.py(), &error))?;
            query.conditions = read.conditions;
        }
        query.from = time::optional("from_", self.from)?;
        query.to = time::optional("to", self.to)?;
        query.after_sequence = args::optional_number("after_sequence", self.after_sequence)?;
        query.until_sequence = args::optional_number("until_sequence", self.until_sequence)?;
        query.limit = args::optional_number("limit", self.limit)?;
        if let Some(given) = self.order_by {
            query.order_by = order_by(given)?;
        }
        Ok(query)
    }
}

fn order_by(given: Given<'_, '_>) -> PyResult<Vec<(rheo_core::OrderField, rheo_core::Direction)>> {
    let py = given.py();
    let wanted = "a list of pairs, such as [(\"sequence\", \"desc\")]";
    let wrong = || wrong_type("order_by", wanted, given);
    if given.is_instance_of::<PyString>() {
        return Err(wrong());
    }
    let pair = |item: PyResult<Bound<'_, PyAny>>| {
        let item = item?;
        let pair: Vec<Bound<'_, PyAny>> = item.extract().map_err(|_| wrong())?;
        let [field, direction] = &pair[..] else { return Err(wrong()) };
        let of = |error: rheo_core::Error| invalid(py, format!("order_by: {}", error.message()));
        let field = args::text("order_by", field)?.parse().map_err(of)?;
        let direction = args::text("order_by", direction)?.parse().map_err(of)?;
        Ok((field, direction))
    };
    given.try_iter().map_err(|_| wrong())?.map(pair).collect()
}

/// Where a group starts, or starts again.
pub fn start(start_after: Maybe<'_, '_>, start_at: Maybe<'_, '_>, partitions: Maybe<'_, '_>) -> PyResult<StartOptions> {
    Ok(StartOptions {
        start_after: args::sequences("start_after", start_after)?,
        start_at: time::optional("start_at", start_at)?,
        partitions: args::partitions(partitions)?,
    })
}

pub fn group(
    max_attempts: Maybe<'_, '_>,
    max_deliveries: Maybe<'_, '_>,
    ordering: Maybe<'_, '_>,
    start: StartOptions,
) -> PyResult<GroupOptions> {
    let ordering = match ordering {
        None => Ordering::None,
        Some(given) => match args::text("ordering", given)? {
            "none" => Ordering::None,
            "key" => Ordering::Key,
            other => {
                return Err(invalid(given.py(), format!("ordering is {other:?}; it takes \"none\" or \"key\"")));
            }
        },
    };
    Ok(GroupOptions {
        max_attempts: args::optional_number("max_attempts", max_attempts)?,
        max_deliveries: args::optional_number("max_deliveries", max_deliveries)?.unwrap_or(0),
        ordering,
        start,
    })
}

pub fn update(max_attempts: Maybe<'_, '_>, max_deliveries: Maybe<'_, '_>) -> PyResult<GroupUpdate> {
    Ok(GroupUpdate {
        max_attempts: args::optional_number("max_attempts", max_attempts)?,
        max_deliveries: args::optional_number("max_deliveries", max_deliveries)?,
    })
}

pub fn read(after: Maybe<'_, '_>, limit: Maybe<'_, '_>, partition: Maybe<'_, '_>) -> PyResult<ReadOptions> {
    let default = ReadOptions::default();
    Ok(ReadOptions {
        after: args::optional_number("after", after)?.unwrap_or(default.after),
        limit: args::optional_number("limit", limit)?.unwrap_or(default.limit),
        partition: match partition {
            Some(given) => args::partition("partition", given)?,
            None => default.partition,
        },
    })
}

pub fn trim(
    before_sequence: Maybe<'_, '_>,
    max_len: Maybe<'_, '_>,
    max_age_ms: Maybe<'_, '_>,
    max_bytes: Maybe<'_, '_>,
    force: Maybe<'_, '_>,
) -> PyResult<TrimOptions> {
    Ok(TrimOptions {
        before_sequence: args::sequences("before_sequence", before_sequence)?,
        max_len: args::optional_number("max_len", max_len)?,
        max_age_ms: args::optional_number("max_age_ms", max_age_ms)?,
        max_bytes: args::optional_number("max_bytes", max_bytes)?,
        force: flag("force", force)?,
    })
}

/// True or false; false when missing.
pub fn flag(what: &str, given: Maybe<'_, '_>) -> PyResult<bool> {
    given.map_or(Ok(false), |given| args::boolean(what, given))
}

pub fn dead_letters(
    limit: Maybe<'_, '_>,
    after: Maybe<'_, '_>,
    partitions: Maybe<'_, '_>,
) -> PyResult<DeadLetterOptions> {
    Ok(DeadLetterOptions {
        limit: args::optional_number("limit", limit)?,
        after: args::optional_text("after", after)?.map(str::to_owned),
        partitions: args::partitions(partitions)?,
    })
}

pub fn replay(
    from_sequence: Maybe<'_, '_>,
    from: Maybe<'_, '_>,
    event_ids: Maybe<'_, '_>,
    query: Maybe<'_, '_>,
    partitions: Maybe<'_, '_>,
) -> PyResult<ReplayOptions> {
    Ok(ReplayOptions {
        from_sequence: args::sequences("from_sequence", from_sequence)?,
        from: time::optional("from_", from)?,
        event_ids: event_ids.map(|given| args::texts("event_ids", given)).transpose()?,
        query: query.map(|given| query_of(&args::mapping("query", given)?)).transpose()?,
        partitions: args::partitions(partitions)?,
    })
}

/// A query given as a mapping of `query`'s arguments.
fn query_of(given: &Bound<'_, PyDict>) -> PyResult<Query> {
    const NAMES: [&str; 7] = ["where", "from_", "to", "after_sequence", "until_sequence", "order_by", "limit"];
    let mut values: [Option<Bound<'_, PyAny>>; 7] = Default::default();
    for (key, value) in given.iter() {
        let name = args::text("query", &key)?;
        // `from` is no name in Python, but it is one in a mapping.
        let name = if name == "from" { "from_" } else { name };
        let Some(place) = NAMES.iter().position(|known| *known == name) else {
            let message = format!("query has no {name:?}; it takes {}", NAMES.join(", "));
            return Err(invalid(given.py(), message));
        };
        values[place] = (!value.is_none()).then_some(value);
    }
    let [conditions, from, to, after_sequence, until_sequence, order_by, limit] = values.each_ref().map(Option::as_ref);
    QueryArgs { conditions, from, to, after_sequence, until_sequence, order_by, limit }.query()
}

pub fn reset(confirm: Maybe<'_, '_>, start: StartOptions) -> PyResult<ResetOptions> {
    Ok(ResetOptions { confirm: flag("confirm", confirm)?, start })
}

/// The arguments of a fetch, owning their texts.
pub fn fetch(
    limit: Maybe<'_, '_>,
    lease_ms: Maybe<'_, '_>,
    consumer_id: Maybe<'_, '_>,
    partitions: Maybe<'_, '_>,
    wait_ms: Maybe<'_, '_>,
) -> PyResult<rheo::handle::OwnedFetchOptions> {
    Ok(rheo::handle::OwnedFetchOptions {
        limit: args::optional_number("limit", limit)?,
        lease_ms: args::optional_number("lease_ms", lease_ms)?,
        consumer_id: args::optional_text("consumer_id", consumer_id)?.map(str::to_owned),
        partitions: args::partitions(partitions)?,
        wait_ms: args::optional_number("wait_ms", wait_ms)?.unwrap_or(0),
        interrupt: None,
    })
}

/// Which dead letters to forget.
pub enum Discard {
    All,
    Ids(Vec<String>),
}

impl Discard {
    pub fn new(py: Python<'_>, event_ids: Maybe<'_, '_>, all: Maybe<'_, '_>) -> PyResult<Discard> {
        match (event_ids, flag("all", all)?) {
            (Some(ids), false) => args::texts("event_ids", ids).map(Discard::Ids),
            (None, true) => Ok(Discard::All),
            _ => Err(invalid(py, "discard_dead_letters takes either event_ids or all=True")),
        }
    }

    /// Hands it on as the core takes it.
    pub fn with<T>(&self, discard: impl FnOnce(rheo_core::Discard<'_>) -> T) -> T {
        match self {
            Discard::All => discard(rheo_core::Discard::All),
            Discard::Ids(ids) => {
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                discard(rheo_core::Discard::EventIds(&ids))
            }
        }
    }
}
