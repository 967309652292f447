//! Options by name, with values as text: how a language without the core's structs, or a configuration file, sets
//! them. A value is the text itself where the option is text, else its JSON: `7`, `true`, `[0, 2]`, `{"0": 3}`.
//! Durations are milliseconds, times microseconds since the Unix epoch.

use super::append::OwnedAppendOptions;
use super::fetch::OwnedFetchOptions;
use super::{invalid, json, shown};
use rheo_core::{
    ConsumerOptions, DeadLetterOptions, Error, GroupOptions, GroupUpdate, OpenOptions, Ordering, ProducerOptions,
    Query, ReplayOptions, ResetOptions, Result, StartOptions, StreamOptions, Timestamp, TrimOptions,
};

/// Options that can be set by name. Implemented for the options of every operation; the names are the contract's.
pub trait Options {
    /// Sets one option. Setting it again replaces it.
    ///
    /// # Errors
    /// `invalid_argument` for an unknown name and for a value that does not parse. Ranges and combinations are
    /// checked by the operation that takes the options.
    fn set(&mut self, name: &str, value: &str) -> Result<()>;
}

/// Implements [`Options`] from what is done for each name.
macro_rules! options {
    ($type:ty: |$options:ident, $name:ident, $value:ident| { $($key:literal => $set:expr,)* }) => {
        impl Options for $type {
            fn set(&mut self, $name: &str, $value: &str) -> Result<()> {
                let $options = self;
                match $name {
                    $($key => $set,)*
                    _ => return Err(unknown($name, &[$($key),*])),
                }
                Ok(())
            }
        }
    };
}

impl Options for OpenOptions {
    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        OpenOptions::set(self, name, value)
    }
}

options!(StreamOptions: |options, name, value| {
    "partition_count" => options.partition_count = partition_count(json::integer(name, value)?),
});

options!(GroupOptions: |options, name, value| {
    "max_attempts" => options.max_attempts = Some(json::integer(name, value)?),
    "max_deliveries" => options.max_deliveries = json::integer(name, value)?,
    "ordering" => options.ordering = ordering(value)?,
    "start_after" => options.start.set(name, value)?,
    "start_at" => options.start.set(name, value)?,
    "partitions" => options.start.set(name, value)?,
});

options!(StartOptions: |options, name, value| {
    "start_after" => options.start_after = Some(json::sequences(name, value)?),
    "start_at" => options.start_at = Some(time(name, value)?),
    "partitions" => options.partitions = Some(json::partitions(name, value)?),
});

options!(GroupUpdate: |options, name, value| {
    "max_attempts" => options.max_attempts = Some(json::integer(name, value)?),
    "max_deliveries" => options.max_deliveries = Some(json::integer(name, value)?),
});

options!(OwnedAppendOptions: |options, name, value| {
    "id" => options.set_id(value),
    "key" => options.set_key(value),
    "type" => options.set_type(value),
    "metadata" => options.set_metadata(value),
    "timestamp" => options.timestamp = Some(time(name, value)?),
    "partition" => options.partition = Some(json::partition(name, value)?),
});

options!(Query: |query, name, value| {
    "where" => query.conditions = Query::from_json(value)?.conditions,
    "from" => query.from = Some(time(name, value)?),
    "to" => query.to = Some(time(name, value)?),
    "after_sequence" => query.after_sequence = Some(json::sequence(name, value)?),
    "until_sequence" => query.until_sequence = Some(json::sequence(name, value)?),
    "order_by" => query.order_by = json::order_by(value)?,
    "limit" => query.limit = Some(json::integer(name, value)?),
});

options!(TrimOptions: |options, name, value| {
    "before_sequence" => options.before_sequence = Some(json::sequences(name, value)?),
    "max_len" => options.max_len = Some(json::integer(name, value)?),
    "max_age_ms" => options.max_age_ms = Some(json::integer(name, value)?),
    "max_bytes" => options.max_bytes = Some(json::integer(name, value)?),
    "force" => options.force = json::boolean(name, value)?,
});

options!(OwnedFetchOptions: |options, name, value| {
    "limit" => options.limit = Some(json::integer(name, value)?),
    "lease_ms" => options.lease_ms = Some(json::integer(name, value)?),
    "consumer_id" => options.consumer_id = Some(value.to_owned()),
    "partitions" => options.partitions = Some(json::partitions(name, value)?),
    "wait_ms" => options.wait_ms = json::integer(name, value)?,
});

options!(DeadLetterOptions: |options, name, value| {
    "limit" => options.limit = Some(json::integer(name, value)?),
    "after" => options.after = Some(value.to_owned()),
    "partitions" => options.partitions = Some(json::partitions(name, value)?),
});

options!(ReplayOptions: |options, name, value| {
    "from_sequence" => options.from_sequence = Some(json::sequences(name, value)?),
    "from" => options.from = Some(time(name, value)?),
    "event_ids" => options.event_ids = Some(json::texts(name, value)?),
    "query" => {
        let mut query = Query::new();
        json::set_all(&mut query, name, value)?;
        options.query = Some(query);
    },
    "partitions" => options.partitions = Some(json::partitions(name, value)?),
});

options!(ResetOptions: |options, name, value| {
    "confirm" => options.confirm = json::boolean(name, value)?,
    "start_after" => options.start.set(name, value)?,
    "start_at" => options.start.set(name, value)?,
    "partitions" => options.start.set(name, value)?,
});

impl Options for ProducerOptions {
    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "partitions" => self.partitions = Some(json::partitions(name, value)?),
            _ => ProducerOptions::set(self, name, value)?,
        }
        Ok(())
    }
}

impl Options for ConsumerOptions {
    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "partitions" => Options::set(&mut self.producer, name, value),
            _ => ConsumerOptions::set(self, name, value),
        }
    }
}

/// A partition count as the core takes it: what is negative or beyond its range stays out of the contract's range,
/// so that creating the stream says `invalid_partition_count`.
pub fn partition_count(value: i64) -> u32 {
    u32::try_from(value.max(0)).unwrap_or(u32::MAX)
}

fn time(what: &str, text: &str) -> Result<Timestamp> {
    json::integer(what, text).map(Timestamp::from_micros)
}

fn ordering(text: &str) -> Result<Ordering> {
    [Ordering::None, Ordering::Key]
        .into_iter()
        .find(|ordering| ordering.name() == text)
        .ok_or_else(|| json::unfit("ordering", text, "none or key"))
}

#[cold]
fn unknown(name: &str, names: &[&str]) -> Error {
    invalid(format!("there is no option {:?} here; there are: {}", shown(name), names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rheo_core::{Direction, ErrorCode, OnFailure, Operator, OrderField, RetryDelay, Sequences};

    fn set<O: Options + Default>(options: &[(&str, &str)]) -> Result<O> {
        let mut set = O::default();
        options.iter().try_for_each(|(name, value)| set.set(name, value)).map(|()| set)
    }

    #[test]
    fn every_option_has_its_name() {
        assert_eq!(
            set::<GroupOptions>(&[
                ("max_attempts", "3"),
                ("max_deliveries", "4"),
                ("ordering", "key"),
                ("start_after", r#"{"1": 5}"#),
                ("start_at", "-7"),
                ("partitions", "[1]"),
            ]),
            Ok(GroupOptions {
                max_attempts: Some(3),
                max_deliveries: 4,
                ordering: Ordering::Key,
                start: StartOptions {
                    start_after: Some(Sequences::Map([(1, 5)].into())),
                    start_at: Some(Timestamp::from_micros(-7)),
                    partitions: Some(vec![1]),
                },
            })
        );
        assert_eq!(
            set::<GroupUpdate>(&[("max_attempts", "3"), ("max_deliveries", "0")]),
            Ok(GroupUpdate { max_attempts: Some(3), max_deliveries: Some(0) })
        );
        assert_eq!(
            set::<TrimOptions>(&[
                ("before_sequence", "9"),
                ("max_len", "1"),
                ("max_age_ms", "2"),
                ("max_bytes", "3"),
                ("force", "true"),
            ]),
            Ok(TrimOptions {
                before_sequence: Some(Sequences::All(9)),
                max_len: Some(1),
                max_age_ms: Some(2),
                max_bytes: Some(3),
                force: true,
            })
        );
        assert_eq!(
            set::<DeadLetterOptions>(&[("limit", "1"), ("after", "some id"), ("partitions", "[]")]),
            Ok(DeadLetterOptions { limit: Some(1), after: Some("some id".to_owned()), partitions: Some(vec![]) })
        );
        assert_eq!(
            set::<ResetOptions>(&[("confirm", "true"), ("start_after", "2"), ("partitions", "[0]")]),
            Ok(ResetOptions {
                confirm: true,
                start: StartOptions { start_after: Some(Sequences::All(2)), start_at: None, partitions: Some(vec![0]) },
            })
        );
        let query = set::<Query>(&[
            ("where", r#"{"a": 1}"#),
            ("from", "1"),
            ("to", "2"),
            ("after_sequence", "3"),
            ("until_sequence", "18446744073709551615"),
            ("order_by", r#"[["sequence", "desc"]]"#),
            ("limit", "5"),
        ]);
        let built = Query::new()
            .filter("a", Operator::Eq, 1)
            .from(Timestamp::from_micros(1))
            .to(Timestamp::from_micros(2))
            .after_sequence(3)
            .until_sequence(u64::MAX)
            .order_by(OrderField::Sequence, Direction::Descending)
            .limit(5);
        assert_eq!(query, Ok(built));
        let replay = set::<ReplayOptions>(&[
            ("from_sequence", "1"),
            ("from", "2"),
            ("event_ids", r#"["a"]"#),
            ("query", r#"{"limit": 1}"#),
            ("partitions", "[0]"),
        ])
        .unwrap();
        assert_eq!(replay.from_sequence, Some(Sequences::All(1)));
        assert_eq!(replay.from, Some(Timestamp::from_micros(2)));
        assert_eq!(replay.event_ids, Some(vec!["a".to_owned()]));
        assert_eq!(replay.query, Some(Query::new().limit(1)));
        assert_eq!(replay.partitions, Some(vec![0]));
    }

    #[test]
    fn options_of_consumers_are_those_of_producers_and_more() {
        let taking = [
            ("max_demand", "100"),
            ("lease_ms", "5"),
            ("poll_ms", "6"),
            ("consumer_id", "me"),
            ("partitions", "[0, 2]"),
            ("on_failure", "reject"),
            ("retry_delay", "exponential:1:8"),
        ];
        let producer = set::<ProducerOptions>(&taking).unwrap();
        assert_eq!(
            producer,
            ProducerOptions {
                max_demand: Some(100),
                lease_ms: Some(5),
                poll_ms: 6,
                consumer_id: Some("me".to_owned()),
                partitions: Some(vec![0, 2]),
                on_failure: OnFailure::Reject,
                retry_delay: RetryDelay::Exponential { first_ms: 1, most_ms: 8 },
            }
        );
        let handling = [("concurrency", "2"), ("batch_size", "3"), ("batch_timeout_ms", "4"), ("max_lease_ms", "5")];
        assert_eq!(
            set::<ConsumerOptions>(&[&taking[..], &handling].concat()),
            Ok(ConsumerOptions { producer, concurrency: 2, batch_size: 3, batch_timeout_ms: 4, max_lease_ms: 5 })
        );
        assert!(set::<ProducerOptions>(&handling[..1]).is_err());
        assert!(set::<ConsumerOptions>(&[("partitions", "0,2")]).is_err());
        assert!(set::<ConsumerOptions>(&[("concurency", "2")]).unwrap_err().message().contains("concurrency"));
    }

    #[test]
    fn partition_counts_out_of_range_stay_out_of_range() {
        for (text, count) in [("4", 4), ("0", 0), ("-1", 0), ("70000", 70_000), ("9999999999", u32::MAX)] {
            assert_eq!(
                set::<StreamOptions>(&[("partition_count", text)]),
                Ok(StreamOptions { partition_count: count })
            );
        }
    }

    #[test]
    fn unknown_names_and_misfits_are_named() {
        let error = set::<GroupUpdate>(&[("max_atempts", "3")]).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
        assert_eq!(error.message(), "there is no option \"max_atempts\" here; there are: max_attempts, max_deliveries");
        let error = set::<GroupOptions>(&[("ordering", "keys")]).unwrap_err();
        assert_eq!(error.message(), "ordering is \"keys\"; it takes none or key");
        assert!(set::<OwnedFetchOptions>(&[("wait_ms", "-1")]).is_err());
        assert!(set::<OpenOptions>(&[("clock", "sundial")]).is_err());
    }
}
