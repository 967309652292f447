//! Query
//!
//! Which events are asked for. `where` is the text of a JSON object of conditions that all have to hold: field to
//! value (equal), or field to operators, as in `{"type": "placed", "total": {"gt": 10, "lte": 20}}`. Operators: `eq`,
//! `ne`, `gt`, `gte`, `lt`, `lte`, `in` (a list), `exists` (`true` or `false`), `prefix`. Fields: `id`, `type`,
//! `key`, `partition`; the lineage keys of the metadata, or `metadata.NAME`; anything else, or `payload.NAME` to say
//! so, is a field of a JSON object payload, dots descending. Types never mix.

use super::boundary::{change, create, free, text};
use super::error::rheo_error;
use super::values::{
    RHEO_DIRECTION_ASC, RHEO_DIRECTION_DESC, RHEO_ORDER_FIELD_SEQUENCE, RHEO_ORDER_FIELD_TIMESTAMP, rheo_direction,
    rheo_order_field, rheo_status,
};
use crate::handle::{Options, invalid, number};
use rheo_core::{Direction, OrderField, Query, Timestamp};
use std::ffi::c_char;

/// Which events are asked for. One thread at a time; several may run the same unchanging query.
pub struct rheo_query(pub(super) Query);

/// Makes a query that every event matches. The caller frees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_query_new(out: *mut *mut rheo_query, error: *mut *mut rheo_error) -> rheo_status {
    create(out, error, || Ok(rheo_query(Query::new())))
}

/// Sets one part by name: `where`, `from`, `to`, `after_sequence`, `until_sequence`, `order_by`
/// (`[["timestamp", "desc"], ["sequence", "asc"]]`), `limit`.
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_query_set(
    query: *mut rheo_query,
    key: *const c_char,
    key_len: usize,
    value: *const c_char,
    value_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(query, error, |query| query.0.set(text("key", key, key_len)?, text("value", value, value_len)?))
}

/// Sets the conditions: the text of a JSON object, as the section's head says. Replaces those set before.
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for a malformed object, field, operator or operand.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_query_set_where(
    query: *mut rheo_query,
    json: *const c_char,
    json_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(query, error, |query| query.0.set("where", text("where", json, json_len)?))
}

/// Only events of this time or later, in microseconds since the Unix epoch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_query_set_from(
    query: *mut rheo_query,
    micros: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(query, error, |query| {
        query.0.from = Some(Timestamp::from_micros(micros));
        Ok(())
    })
}

/// Only events of this time or earlier, in microseconds since the Unix epoch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_query_set_to(
    query: *mut rheo_query,
    micros: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(query, error, |query| {
        query.0.to = Some(Timestamp::from_micros(micros));
        Ok(())
    })
}

/// Only events with a higher sequence, in every partition.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_query_set_after_sequence(
    query: *mut rheo_query,
    sequence: u64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(query, error, |query| {
        query.0.after_sequence = Some(sequence);
        Ok(())
    })
}

/// Only events with this sequence or a lower one, in every partition.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_query_set_until_sequence(
    query: *mut rheo_query,
    sequence: u64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(query, error, |query| {
        query.0.until_sequence = Some(sequence);
        Ok(())
    })
}

/// Orders by this field, after what was added before. Ties go by partition, then by sequence, ascending. Without any
/// order: by sequence, ascending. Pages and iterators have an order of their own and take none.
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for a number that is no field or no direction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_query_add_order_by(
    query: *mut rheo_query,
    field: rheo_order_field,
    direction: rheo_direction,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(query, error, |query| {
        let field = match field {
            RHEO_ORDER_FIELD_SEQUENCE => OrderField::Sequence,
            RHEO_ORDER_FIELD_TIMESTAMP => OrderField::Timestamp,
            _ => return Err(invalid(format!("field is {field}; it takes one of RHEO_ORDER_FIELD_..."))),
        };
        let direction = match direction {
            RHEO_DIRECTION_ASC => Direction::Ascending,
            RHEO_DIRECTION_DESC => Direction::Descending,
            _ => return Err(invalid(format!("direction is {direction}; it takes one of RHEO_DIRECTION_..."))),
        };
        query.0.order_by.push((field, direction));
        Ok(())
    })
}

/// At most so many events; of a page and of an iterator: so many at a time. When not set: 100, in a replay all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_query_set_limit(
    query: *mut rheo_query,
    limit: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(query, error, |query| {
        query.0.limit = Some(number("limit", limit)?);
        Ok(())
    })
}

/// Frees a query; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_query_free(query: *mut rheo_query) {
    free(query);
}
