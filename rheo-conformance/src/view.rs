//! The contract's values as JSON, with the contract's field names: what `expect` is matched with.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rheo_core::{
    Capabilities, DeadLetter, Encoding, Error, Event, GroupInfo, Instance, Lag, Lease, Page, Result, Retriable,
    StreamInfo, Timestamp,
};
use serde_json::{Map, Value, json};

pub(crate) fn event(event: &Event) -> Value {
    let text = match event.encoding() {
        Encoding::Json => std::str::from_utf8(event.payload()).ok(),
        Encoding::Bytes => None,
    };
    json!({
        "id": event.id().as_str(),
        "stream": event.stream(),
        "partition": event.partition(),
        "sequence": event.sequence(),
        "timestamp": event.timestamp(),
        "key": event.key(),
        "type": event.event_type(),
        "metadata": serde_json::from_str::<Value>(event.metadata()).unwrap_or_else(|_| json!(event.metadata())),
        "encoding": event.encoding().name(),
        "payload": text.map_or_else(|| STANDARD.encode(event.payload()), str::to_owned),
        "deduplicated": event.deduplicated(),
    })
}

pub(crate) fn events(events: &[Event]) -> Value {
    events.iter().map(event).collect()
}

pub(crate) fn lease(lease: &Lease) -> Value {
    json!({
        "lease_id": lease.lease_id().to_string(),
        "receipt": lease.receipt(),
        "stream": lease.stream(),
        "group": lease.group(),
        "event": event(lease.event()),
        "consumer_id": lease.consumer_id(),
        "attempt": lease.attempt(),
        "lease_ms": lease.lease_ms(),
        "leased_at": lease.leased_at(),
        "expires_at": lease.expires_at(),
        "token": lease.token().to_string(),
    })
}

pub(crate) fn expiry(expires_at: Timestamp) -> Value {
    json!({ "expires_at": expires_at })
}

pub(crate) fn lag(lag: &Lag) -> Value {
    let partitions: Map<String, Value> = lag
        .partitions
        .iter()
        .map(|(partition, at)| {
            let view = json!({"frontier": at.frontier, "high_watermark": at.high_watermark, "lag": at.lag()});
            (partition.to_string(), view)
        })
        .collect();
    json!({"stream": lag.stream, "group": lag.group, "partitions": partitions, "lag": lag.lag()})
}

pub(crate) fn group_info(info: &GroupInfo) -> Value {
    json!({
        "lag": lag(&info.lag),
        "inflight_count": info.inflight_count,
        "available_count": info.available_count,
        "delayed_count": info.delayed_count,
        "dead_letter_count": info.dead_letter_count,
        "oldest_unsettled_at": info.oldest_unsettled_at,
        "options": {
            "max_attempts": info.settings.max_attempts,
            "max_deliveries": info.settings.max_deliveries,
            "ordering": info.settings.ordering.name(),
        },
    })
}

pub(crate) fn stream_info(info: &StreamInfo) -> Value {
    let partitions: Vec<Value> =
        info.partitions
            .iter()
            .map(|partition| {
                let held_by = partition.held_by.as_ref().map(
                    |hold| json!({"sequence": hold.sequence, "group": hold.group, "dead_letter": hold.dead_letter}),
                );
                json!({
                    "partition": partition.partition,
                    "first_sequence": partition.first_sequence,
                    "high_watermark": partition.high_watermark,
                    "bytes": partition.bytes,
                    "held_by": held_by,
                })
            })
            .collect();
    json!({"stream": info.stream, "partitions": partitions})
}

pub(crate) fn dead_letter(dead: &DeadLetter) -> Value {
    json!({
        "stream": dead.event.stream(),
        "group": dead.group,
        "event_id": dead.event.id().as_str(),
        "partition": dead.event.partition(),
        "sequence": dead.event.sequence(),
        "attempt": dead.attempt,
        "reason": dead.reason,
        "dead_lettered_at": dead.dead_lettered_at,
        "event": event(&dead.event),
    })
}

pub(crate) fn page(page: &Page) -> Value {
    json!({"events": events(&page.events), "next_cursor": page.next_cursor})
}

pub(crate) fn capabilities(capabilities: Capabilities) -> Value {
    let mapping = |names: &mut dyn Iterator<Item = (&'static str, bool)>| -> Map<String, Value> {
        names.map(|(name, value)| (name.to_owned(), Value::Bool(value))).collect()
    };
    json!({
        "guarantees": mapping(&mut capabilities.guarantees()),
        "mechanisms": mapping(&mut capabilities.mechanisms()),
    })
}

pub(crate) fn instance(instance: &Instance) -> Value {
    json!({"name": instance.name()})
}

pub(crate) fn error(error: &Error) -> Value {
    json!({
        "code": error.code().name(),
        "number": error.code().number(),
        "message": error.message(),
        "cause": error.cause(),
        "retriable": match error.retriable() {
            Retriable::No => "no",
            Retriable::Yes => "yes",
            Retriable::WithSameId => "with_same_id",
            _ => "unknown to this runner",
        },
        "settle_class": error.settle_class().name(),
    })
}

/// The results of a call on many leases.
pub(crate) fn many<T>(results: Vec<Result<T>>, view: impl Fn(T) -> Value) -> Value {
    results.into_iter().map(|result| result.map_or_else(|failure| error(&failure), &view)).collect()
}
