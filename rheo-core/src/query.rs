//! Which events of a stream are asked for, and in which order (contract, section 3, "Log").
//!
//! Here is the query as a value. How a condition is decided for an event is in `filter`, how two values compare in
//! `value`, the order and the collecting in `order`, the text of a page's end in `cursor`. Which events are looked
//! at at all is the facade's business and the backend's.

mod cursor;
mod filter;
mod order;
pub(crate) mod run;
mod value;

pub use filter::{Condition, Matcher, Operator};
pub use order::{Direction, OrderField};
pub(crate) use order::{Order, TopK};

use crate::error::{Error, Result};
use crate::limits::truncated;
use crate::timestamp::Timestamp;
use serde_json::{Map, Value};
use value::Number;

/// A query: conditions that all have to hold, bounds, an order and a limit. Rheo's own evaluator decides it on
/// every backend.
///
/// Built by its methods or as a plain value. Its form is checked where it is used: a malformed condition gives
/// `invalid_argument` there.
///
/// ```
/// use rheo_core::{Direction, Operator, OrderField, Query};
/// let query = Query::new()
///     .filter("type", Operator::Eq, "placed")
///     .filter("total", Operator::Gt, 10)
///     .order_by(OrderField::Sequence, Direction::Descending)
///     .limit(50);
/// assert_eq!(query.conditions.len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// What has to hold, all of it (`where`).
    pub conditions: Vec<Condition>,
    /// Only events of this time or later.
    pub from: Option<Timestamp>,
    /// Only events of this time or earlier. Before `from`, nothing matches.
    pub to: Option<Timestamp>,
    /// Only events with a higher sequence (exclusive).
    pub after_sequence: Option<u64>,
    /// Only events with this sequence or a lower one (inclusive).
    pub until_sequence: Option<u64>,
    /// The order, most significant first; sequence ascending when empty. Ties go by partition ascending, then
    /// by sequence ascending.
    pub order_by: Vec<(OrderField, Direction)>,
    /// The most events to give. When missing, [`DEFAULT_LIMIT`](Query::DEFAULT_LIMIT), but all for a replay.
    pub limit: Option<usize>,
}

impl Query {
    /// The most events that a query or a page gives when it says nothing of a limit.
    pub const DEFAULT_LIMIT: usize = 100;

    /// A query that every event matches.
    pub fn new() -> Query {
        Query::default()
    }

    /// The query of a `where` object, as text: `{"FIELD": VALUE, …}`, where an object as VALUE holds operators,
    /// as in `{"type": "placed", "total": {"gt": 10, "lte": 20}}`. An object to be equal to goes into `eq`.
    ///
    /// # Errors
    /// `invalid_argument` when the text is no JSON object, and for a malformed field, operator or operand.
    pub fn from_json(text: &str) -> Result<Query> {
        let fields: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
            Error::invalid(format!("where {:?} is not a JSON object of fields: {error}", truncated(text, 80)))
        })?;
        let mut query = Query::new();
        for (field, value) in fields {
            let Value::Object(operators) = value else {
                query = query.filter(field, Operator::Eq, value);
                continue;
            };
            let shown = truncated(&field, 80);
            if operators.is_empty() {
                return Err(Error::invalid(format!(
                    "field {shown:?}: {{}} holds no operator; write {{\"eq\": {{}}}} to ask for an empty object"
                )));
            }
            for (name, operand) in operators {
                let operator = name
                    .parse()
                    .map_err(|error: Error| Error::invalid(format!("field {shown:?}: {}", error.message())))?;
                query = query.filter(&field, operator, operand);
            }
        }
        query.check()?;
        Ok(query)
    }

    /// With this condition too. [`Condition`] says what a field may be, [`Operator`] what an operand may be.
    #[must_use]
    pub fn filter(mut self, field: impl Into<String>, operator: Operator, operand: impl Into<Value>) -> Query {
        self.conditions.push(Condition { field: field.into(), operator, operand: operand.into() });
        self
    }

    /// Only events of this time or later.
    #[must_use]
    pub fn from(mut self, time: Timestamp) -> Query {
        self.from = Some(time);
        self
    }

    /// Only events of this time or earlier.
    #[must_use]
    pub fn to(mut self, time: Timestamp) -> Query {
        self.to = Some(time);
        self
    }

    /// Only events with a sequence above this one, in every partition.
    #[must_use]
    pub fn after_sequence(mut self, sequence: u64) -> Query {
        self.after_sequence = Some(sequence);
        self
    }

    /// Only events with this sequence or a lower one, in every partition.
    #[must_use]
    pub fn until_sequence(mut self, sequence: u64) -> Query {
        self.until_sequence = Some(sequence);
        self
    }

    /// Ordered by this, after what was given before.
    #[must_use]
    pub fn order_by(mut self, field: OrderField, direction: Direction) -> Query {
        self.order_by.push((field, direction));
        self
    }

    /// At most so many events; 0 gives none.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Query {
        self.limit = Some(limit);
        self
    }

    /// Checks the form of every condition.
    pub(crate) fn check(&self) -> Result<()> {
        self.conditions.iter().try_for_each(Condition::check)
    }

    /// What decides this query, for one event after the other. Made once per execution. A query whose form nobody
    /// checked matches nothing if a condition is malformed.
    pub fn matcher(&self) -> Matcher {
        Matcher::new(self)
    }

    /// The order that the query asks for.
    pub(crate) fn order(&self) -> Order {
        Order::new(&self.order_by)
    }

    /// The only partitions in which events can match, by the conditions on `partition`; ascending, without
    /// duplicates, and possibly beyond those that the stream has. Nothing when any may.
    pub fn partition_filter(&self) -> Option<Vec<u32>> {
        self.choices("partition", |value| match value {
            Value::Number(number) => Number::new(number)?.to_u32(),
            _ => None,
        })
    }

    /// The only ids that can match, by the conditions on `id`; ascending, without duplicates. Nothing when any may.
    pub fn id_filter(&self) -> Option<Vec<&str>> {
        self.choices("id", Value::as_str)
    }

    /// What every `eq` and `in` on the field allows; a value that `read` makes nothing of is allowed by none.
    fn choices<'a, T: Ord>(&'a self, field: &str, read: impl Fn(&'a Value) -> Option<T>) -> Option<Vec<T>> {
        let conditions = self.conditions.iter().filter(|condition| condition.field == field);
        conditions
            .filter_map(|condition| {
                let mut allowed: Vec<T> = condition.choices()?.iter().filter_map(&read).collect();
                allowed.sort_unstable();
                allowed.dedup();
                Some(allowed)
            })
            .reduce(|mut all, allowed| {
                all.retain(|choice| allowed.binary_search(choice).is_ok());
                all
            })
    }
}

#[cfg(test)]
mod tests {
    use super::filter::MAX_FIELD_DEPTH;
    use super::*;
    use crate::append::Encoding;
    use crate::error::ErrorCode;
    use crate::event::{Event, EventParts};

    /// An event of which only the place and the time matter.
    pub(super) fn event_at(partition: u32, sequence: u64, micros: i64) -> Event {
        event(partition, EventParts { sequence, timestamp: Timestamp::from_micros(micros), ..plain() })
    }

    /// Parts to take over, with an empty object as payload.
    pub(super) fn plain() -> EventParts<'static> {
        EventParts {
            id: "id",
            sequence: 1,
            timestamp: Timestamp::from_micros(0),
            key: None,
            event_type: None,
            metadata: "",
            encoding: Encoding::Json,
            payload: b"{}",
        }
    }

    pub(super) fn event(partition: u32, parts: EventParts<'_>) -> Event {
        Event::build("s", partition, &[parts]).remove(0)
    }

    fn refused(text: &str) -> String {
        let error = Query::from_json(text).expect_err(text);
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
        error.message().to_owned()
    }

    #[test]
    fn json_gives_the_conditions_of_the_builder() {
        assert_eq!(Query::from_json(" {} "), Ok(Query::new()));
        let read =
            Query::from_json(r#"{"a.b": [1], "key": {"in": ["x"], "ne": "y"}, "n": null, "o": {"eq": {"x": 1}}}"#);
        let built = Query::new()
            .filter("a.b", Operator::Eq, vec![1])
            .filter("key", Operator::In, vec!["x"])
            .filter("key", Operator::Ne, "y")
            .filter("n", Operator::Eq, Value::Null)
            .filter("o", Operator::Eq, serde_json::json!({"x": 1}));
        assert_eq!(read, Ok(built));
    }

    #[test]
    fn malformed_json_is_refused_by_name_and_value() {
        for text in ["", "null", "[]", "1", "{", r#"{"a":1}x"#, r#"{"a":1e400}"#] {
            assert!(refused(text).contains(&format!("{text:?}")), "{text}");
        }
        let cases = [
            (r#"{"total": {}}"#, ["total", "no operator"]),
            (r#"{"total": {"gt": 1, "between": 2}}"#, ["total", "between"]),
            (r#"{"total": {"Eq": 1}}"#, ["total", "Eq"]),
            (r#"{"total": {"in": "abc"}}"#, ["total", "\"abc\""]),
            (r#"{"total": {"exists": 1}}"#, ["total", "not 1"]),
            (r#"{"total": {"exists": null}}"#, ["total", "not null"]),
            (r#"{"total": {"prefix": 17}}"#, ["total", "not 17"]),
            (r#"{"total": {"gt": null}}"#, ["total", "not null"]),
            (r#"{"total": {"gte": true}}"#, ["total", "not true"]),
            (r#"{"total": {"lt": [1]}}"#, ["total", "not [1]"]),
            (r#"{"total": {"lte": {}}}"#, ["total", "not {}"]),
            (r#"{"": 1}"#, ["\"\"", "empty part"]),
            (r#"{"a..b": 1}"#, ["a..b", "empty part"]),
            (r#"{".a": 1}"#, [".a", "empty part"]),
            (r#"{"a.": 1}"#, ["a.", "empty part"]),
            (r#"{"metadata.": 1}"#, ["metadata.", "empty part"]),
            (r#"{"payload.": 1}"#, ["payload.", "empty part"]),
        ];
        for (text, parts) in cases {
            let message = refused(text);
            assert!(parts.iter().all(|part| message.contains(part)), "{text}: {message}");
        }
    }

    #[test]
    fn fields_descend_only_so_far() {
        let deep = |levels| Query::new().filter(vec!["a"; levels].join("."), Operator::Eq, 1);
        assert_eq!(deep(MAX_FIELD_DEPTH).check(), Ok(()));
        assert_eq!(deep(MAX_FIELD_DEPTH + 1).check().unwrap_err().code(), ErrorCode::InvalidArgument);
        assert!(deep(1_000_000).check().unwrap_err().message().len() < 300);
    }

    #[test]
    fn what_nobody_checked_matches_nothing() {
        for query in [
            Query::new().filter("", Operator::Exists, false),
            Query::new().filter("a", Operator::In, 1),
            Query::new().filter("a", Operator::Gt, f64::NAN),
        ] {
            assert!(query.check().is_err());
            assert!(!query.matcher().matches(&event(0, plain())));
        }
    }

    #[test]
    fn bounds() {
        let matches = |query: Query, sequence, micros| query.matcher().matches(&event_at(0, sequence, micros));
        let time = Timestamp::from_micros;
        for (sequence, expected) in [(1, false), (2, false), (3, true), (4, true), (5, false)] {
            assert_eq!(matches(Query::new().after_sequence(2).until_sequence(4), sequence, 0), expected);
        }
        for (micros, expected) in [(-3, false), (-2, true), (0, true), (7, true), (8, false)] {
            assert_eq!(matches(Query::new().from(time(-2)).to(time(7)), 1, micros), expected);
        }
        assert!(!matches(Query::new().from(time(7)).to(time(-2)), 1, 3));
        assert!(!matches(Query::new().after_sequence(9).until_sequence(2), 5, 0));
        assert!(matches(Query::new(), u64::MAX, i64::MIN));
        assert!(matches(Query::new(), 1, i64::MAX));
    }

    #[test]
    fn choices_narrow_the_scan() {
        let query = |text| Query::from_json(text).unwrap();
        assert_eq!(query(r#"{"a": 1}"#).partition_filter(), None);
        assert_eq!(query(r#"{"partition": {"gt": 1, "ne": 3}}"#).partition_filter(), None);
        assert_eq!(query(r#"{"partition": 3}"#).partition_filter(), Some(vec![3]));
        assert_eq!(
            query(r#"{"partition": {"in": [7, 3.0, "2", 3, -1, 1.5, null]}}"#).partition_filter(),
            Some(vec![3, 7])
        );
        assert_eq!(query(r#"{"partition": {"in": [1, 2, 3], "eq": 2}}"#).partition_filter(), Some(vec![2]));
        assert_eq!(query(r#"{"partition": {"in": [1, 2, 3], "eq": 4}}"#).partition_filter(), Some(vec![]));
        assert_eq!(query(r#"{"partition": "3"}"#).partition_filter(), Some(vec![]));
        assert_eq!(query(r#"{"payload.partition": 3, "payload.id": "a"}"#).partition_filter(), None);
        assert_eq!(query(r#"{"id": {"in": ["b", "a", 1, "b"]}}"#).id_filter(), Some(vec!["a", "b"]));
        assert_eq!(query(r#"{"id": {"prefix": "a"}}"#).id_filter(), None);
    }
}
