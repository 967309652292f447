//! Queries by the letter of the contract: every event is decoded in full and looked at in full.

use super::reference::Record;
use rheo_core::{Direction, Encoding, Operator, OrderField, Query};
use serde_json::Value;
use std::cmp::Ordering;

const LINEAGE: [&str; 5] = ["correlation_id", "causation_id", "producer", "schema", "schema_version"];

/// Whether the form of every condition is right.
pub(super) fn is_well_formed(query: &Query) -> bool {
    query.conditions.iter().all(|condition| match condition.operator {
        Operator::Eq | Operator::Ne => true,
        Operator::Gt | Operator::Gte | Operator::Lt | Operator::Lte => {
            condition.operand.is_string() || condition.operand.is_number()
        }
        Operator::In => condition.operand.is_array(),
        Operator::Exists => condition.operand.is_boolean(),
        Operator::Prefix => condition.operand.is_string(),
    })
}

/// Whether the event is one of those asked for.
pub(super) fn matches(query: &Query, record: &Record) -> bool {
    query.from.is_none_or(|from| record.timestamp >= from)
        && query.to.is_none_or(|to| record.timestamp <= to)
        && query.after_sequence.is_none_or(|after| record.sequence > after)
        && query.until_sequence.is_none_or(|until| record.sequence <= until)
        && query.conditions.iter().all(|asked| holds(&asked.field, asked.operator, &asked.operand, record))
}

/// The events of `records` that match, in the query's order, limit not applied.
pub(super) fn select<'a>(query: &Query, records: impl Iterator<Item = &'a Record>) -> Vec<&'a Record> {
    let mut found: Vec<&Record> = records.filter(|record| matches(query, record)).collect();
    let order_by = if query.order_by.is_empty() {
        &[(OrderField::Sequence, Direction::Ascending)]
    } else {
        query.order_by.as_slice()
    };
    found.sort_by(|a, b| {
        for (field, direction) in order_by {
            let ascending = match field {
                OrderField::Sequence => a.sequence.cmp(&b.sequence),
                OrderField::Timestamp => a.timestamp.cmp(&b.timestamp),
            };
            let order = match direction {
                Direction::Ascending => ascending,
                Direction::Descending => ascending.reverse(),
            };
            if order.is_ne() {
                return order;
            }
        }
        (a.partition, a.sequence).cmp(&(b.partition, b.sequence))
    });
    found
}

fn holds(field: &str, operator: Operator, operand: &Value, record: &Record) -> bool {
    let Some(value) = value_of(field, record) else {
        return operator == Operator::Exists && *operand == Value::Bool(false);
    };
    let compared = compare(&value, operand);
    match operator {
        Operator::Eq => compared == Some(Ordering::Equal),
        Operator::Ne => compared != Some(Ordering::Equal),
        Operator::Gt => compared == Some(Ordering::Greater),
        Operator::Gte => matches!(compared, Some(Ordering::Greater | Ordering::Equal)),
        Operator::Lt => compared == Some(Ordering::Less),
        Operator::Lte => matches!(compared, Some(Ordering::Less | Ordering::Equal)),
        Operator::In => {
            let mut choices = operand.as_array().into_iter().flatten();
            choices.any(|choice| compare(&value, choice) == Some(Ordering::Equal))
        }
        Operator::Exists => *operand == Value::Bool(true),
        Operator::Prefix => match (&value, operand) {
            (Value::String(text), Value::String(prefix)) => text.starts_with(prefix),
            _ => false,
        },
    }
}

/// What the event has in a field; nothing when it is missing.
fn value_of(field: &str, record: &Record) -> Option<Value> {
    match field {
        "id" => Some(Value::from(record.id.as_str())),
        "type" => record.event_type.as_deref().map(Value::from),
        "key" => record.key.as_deref().map(Value::from),
        "partition" => Some(Value::from(record.partition)),
        _ => {
            let json = |text: &str| serde_json::from_str(text).ok();
            let metadata = || json(record.metadata.as_deref().unwrap_or("{}"));
            if LINEAGE.contains(&field) {
                return descend(metadata()?, field);
            }
            if let Some(path) = field.strip_prefix("metadata.") {
                return descend(metadata()?, path);
            }
            let payload = if record.encoding == Encoding::Json { json(&record.payload) } else { None };
            descend(payload?, field.strip_prefix("payload.").unwrap_or(field))
        }
    }
}

fn descend(value: Value, path: &str) -> Option<Value> {
    path.split('.').try_fold(value, |value, name| match value {
        Value::Object(mut fields) => fields.remove(name),
        _ => None,
    })
}

/// How two values compare; nothing when they are of different types, or unequal and of a type without an order.
fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::String(a), Value::String(b)) => Some(a.chars().cmp(b.chars())),
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            // The steps compare doubles with small integers only, which are exact as doubles.
            _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
        },
        _ => (a == b).then_some(Ordering::Equal),
    }
}
