//! The operations that are not hot: by name, with their options as the text of a JSON object, answered with JSON.

use crate::answer::Answer;
use rheo::handle::{Options, json};
use rheo_core::{
    DeadLetter, DeadLetterOptions, Discard, Error, ErrorCode, GroupInfo, GroupOptions, GroupUpdate, Instance, Lag,
    Query, ReadOptions, ReplayOptions, ResetOptions, Result, StreamInfo, StreamOptions, TrimOptions,
};
use serde_json::{Map, Value, json};

/// A call of an operation.
pub(crate) struct Call {
    pub(crate) operation: String,
    /// The names of what it is about; empty where it is about nothing of the kind.
    pub(crate) stream: String,
    pub(crate) group: String,
    /// What the operation takes besides options: an event's id, a cursor.
    pub(crate) text: Option<String>,
    /// A JSON object.
    pub(crate) options: Option<String>,
}

impl Call {
    fn options<O: Options>(&self, mut options: O) -> Result<O> {
        if let Some(text) = &self.options {
            json::set_all(&mut options, "options", text)?;
        }
        Ok(options)
    }

    fn partitions(&self) -> Result<Option<Vec<u32>>> {
        self.options(Scope::default()).map(|scope| scope.0)
    }

    /// Does it.
    pub(crate) fn perform(&self, db: &Instance) -> Result<Answer> {
        let (stream, group) = (&*self.stream, &*self.group);
        let text = self.text.as_deref().unwrap_or("");
        match &*self.operation {
            "ping" => db.ping().map(|()| Answer::Nothing),
            "ensureIndexes" => db.ensure_indexes().map(|()| Answer::Nothing),
            "close" => db.close().map(|()| Answer::Nothing),
            "now" => db.now().map(Answer::Time),
            "createStream" => {
                db.create_stream(stream, self.options(StreamOptions::default())?).map(|()| Answer::Nothing)
            }
            "deleteStream" => db.delete_stream(stream, self.options(Confirm::default())?.0).map(|()| Answer::Nothing),
            "streamInfo" => db.stream_info(stream).map(|info| Answer::Text(Some(stream_info(&info)))),
            "listStreams" => db.list_streams().map(names),
            "createGroup" => {
                db.create_group(stream, group, &self.options(GroupOptions::default())?).map(|()| Answer::Nothing)
            }
            "updateGroup" => {
                db.update_group(stream, group, &self.options(GroupUpdate::default())?).map(|()| Answer::Nothing)
            }
            "deleteGroup" => db.delete_group(stream, group).map(|()| Answer::Nothing),
            "listGroups" => db.list_groups(stream).map(names),
            "read" => db.read(stream, self.options(Reading::default())?.0).map(|events| Answer::Events(events, None)),
            "get" => db.get(stream, text).map(|event| Answer::Events(event.into_iter().collect(), None)),
            "query" => db.query(stream, &self.options(Query::new())?).map(|events| Answer::Events(events, None)),
            "queryPage" => db
                .query_page(stream, &self.options(Query::new())?, self.text.as_deref())
                .map(|page| Answer::Events(page.events, page.next_cursor)),
            "checkQueryStream" => db.query_stream(stream, &self.options(Query::new())?).map(|_| Answer::Nothing),
            "trim" => db.trim(stream, &self.options(TrimOptions::default())?).map(Answer::Count),
            "lag" => db
                .lag(stream, group, self.partitions()?.as_deref())
                .map(|lag| Answer::Text(Some(lag_value(&lag).to_string()))),
            "groupInfo" => db
                .group_info(stream, group, self.partitions()?.as_deref())
                .map(|info| Answer::Text(Some(group_info(&info)))),
            "deadLetters" => db
                .dead_letters(stream, group, &self.options(DeadLetterOptions::default())?)
                .map(|letters| dead_letters(&letters)),
            "discardDeadLetters" => self.discard(db).map(Answer::Count),
            "replay" => db.replay(stream, group, &self.options(ReplayOptions::default())?).map(Answer::Count),
            "resetGroup" => {
                db.reset_group(stream, group, &self.options(ResetOptions::default())?).map(|()| Answer::Nothing)
            }
            other => Err(Error::new(ErrorCode::Internal, format!("there is no operation {other:?}; please report it"))),
        }
    }

    fn discard(&self, db: &Instance) -> Result<u64> {
        match &self.text {
            None => db.discard_dead_letters(&self.stream, &self.group, Discard::All),
            Some(text) => {
                let ids = json::texts("eventIds", text)?;
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                db.discard_dead_letters(&self.stream, &self.group, Discard::EventIds(&ids))
            }
        }
    }
}

/// `partitions` alone.
#[derive(Default)]
struct Scope(Option<Vec<u32>>);

impl Options for Scope {
    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "partitions" => self.0 = Some(json::partitions(name, value)?),
            _ => return Err(unknown(name)),
        }
        Ok(())
    }
}

/// `confirm` alone.
#[derive(Default)]
struct Confirm(bool);

impl Options for Confirm {
    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "confirm" => self.0 = json::boolean(name, value)?,
            _ => return Err(unknown(name)),
        }
        Ok(())
    }
}

#[derive(Default)]
struct Reading(ReadOptions);

impl Options for Reading {
    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "after" => self.0.after = json::sequence(name, value)?,
            "limit" => self.0.limit = json::integer(name, value)?,
            "partition" => self.0.partition = json::partition(name, value)?,
            _ => return Err(unknown(name)),
        }
        Ok(())
    }
}

/// The TypeScript layer knows the names of all options, so this does not happen.
#[cold]
fn unknown(name: &str) -> Error {
    Error::invalid(format!("there is no option {name:?} here"))
}

fn names(names: Vec<String>) -> Answer {
    Answer::Text(Some(Value::from(names).to_string()))
}

/// What has 64 bits is given as text: JavaScript's numbers have 53.
fn long(value: u64) -> Value {
    Value::String(value.to_string())
}

fn stream_info(info: &StreamInfo) -> String {
    let partitions: Vec<Value> = info
        .partitions
        .iter()
        .map(|partition| {
            let held_by = partition.held_by.as_ref().map(
                |hold| json!({"sequence": long(hold.sequence), "group": hold.group, "deadLetter": hold.dead_letter}),
            );
            json!({
                "partition": partition.partition,
                "firstSequence": long(partition.first_sequence),
                "highWatermark": long(partition.high_watermark),
                "bytes": partition.bytes,
                "heldBy": held_by,
            })
        })
        .collect();
    json!({"stream": info.stream, "partitions": partitions}).to_string()
}

fn lag_value(lag: &Lag) -> Value {
    let partitions: Map<String, Value> = lag
        .partitions
        .iter()
        .map(|(partition, lag)| {
            let value = json!({
                "frontier": long(lag.frontier), "highWatermark": long(lag.high_watermark), "lag": lag.lag(),
            });
            (partition.to_string(), value)
        })
        .collect();
    json!({"stream": lag.stream, "group": lag.group, "partitions": partitions, "lag": lag.lag()})
}

fn group_info(info: &GroupInfo) -> String {
    json!({
        "lag": lag_value(&info.lag),
        "inflightCount": info.inflight_count,
        "availableCount": info.available_count,
        "delayedCount": info.delayed_count,
        "deadLetterCount": info.dead_letter_count,
        "oldestUnsettledAt": info.oldest_unsettled_at.map(|time| time.as_micros().to_string()),
        "options": {
            "maxAttempts": info.settings.max_attempts,
            "maxDeliveries": info.settings.max_deliveries,
            "ordering": info.settings.ordering.name(),
        },
    })
    .to_string()
}

fn dead_letters(letters: &[DeadLetter]) -> Answer {
    let events = letters.iter().map(|letter| letter.event.clone()).collect();
    let others: Vec<Value> = letters
        .iter()
        .map(|letter| {
            json!({
                "group": letter.group,
                "attempt": letter.attempt,
                "reason": letter.reason,
                "deadLetteredAt": letter.dead_lettered_at.as_micros().to_string(),
            })
        })
        .collect();
    Answer::Events(events, Some(Value::from(others).to_string()))
}
