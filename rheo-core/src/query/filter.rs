//! Conditions and how they are decided for an event.
//!
//! A payload is never turned into a tree of values: one pass over its text checks that it is JSON and keeps
//! slices of the fields that are asked for. Only those are decoded.

use super::Query;
use super::value::{Comparable, Number, text};
use crate::append::Encoding;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::limits::truncated;
use crate::timestamp::Timestamp;
use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// The most levels a field descends; what walks them is recursive.
pub(super) const MAX_FIELD_DEPTH: usize = 64;

/// The keys of metadata that need no `metadata.` before them (contract, section 2, "Lineage").
const LINEAGE: [&str; 5] = ["correlation_id", "causation_id", "producer", "schema", "schema_version"];

/// How a condition compares a field with its operand (contract, section 3, `query`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// The same value. Takes any operand.
    Eq,
    /// Present and not the same value; a value of another type is not the same. Takes any operand.
    Ne,
    /// Greater. Takes text or a number, like the next three, and is false for a field of another type.
    Gt,
    /// Greater or equal.
    Gte,
    /// Less.
    Lt,
    /// Less or equal.
    Lte,
    /// Equal to one of several. Takes an array of any values.
    In,
    /// Present (`true`) or missing (`false`). Null is present.
    Exists,
    /// Text that begins with this text.
    Prefix,
}

impl Operator {
    /// Every operator.
    pub const ALL: &'static [Operator] = &[
        Operator::Eq,
        Operator::Ne,
        Operator::Gt,
        Operator::Gte,
        Operator::Lt,
        Operator::Lte,
        Operator::In,
        Operator::Exists,
        Operator::Prefix,
    ];

    /// The contract's name, such as `gte`.
    pub const fn name(self) -> &'static str {
        match self {
            Operator::Eq => "eq",
            Operator::Ne => "ne",
            Operator::Gt => "gt",
            Operator::Gte => "gte",
            Operator::Lt => "lt",
            Operator::Lte => "lte",
            Operator::In => "in",
            Operator::Exists => "exists",
            Operator::Prefix => "prefix",
        }
    }
}

/// # Errors
/// `invalid_argument` for a name that no operator has.
impl FromStr for Operator {
    type Err = Error;

    fn from_str(name: &str) -> Result<Operator> {
        Operator::ALL.iter().copied().find(|operator| operator.name() == name).ok_or_else(|| {
            let names: Vec<_> = Operator::ALL.iter().map(|operator| operator.name()).collect();
            Error::invalid(format!("{:?} is not an operator; it takes {}", truncated(name, 80), names.join(", ")))
        })
    }
}

/// One condition of a query: a field, an operator and what to compare with.
///
/// The fields `id`, `type`, `key` and `partition` are the event's own. `correlation_id`, `causation_id`,
/// `producer`, `schema`, `schema_version` and `metadata.NAME` are in the metadata. Anything else, or
/// `payload.NAME` to say so, is in the payload, if that is a JSON object. Dots descend objects, at most 64 levels;
/// what lies in arrays, and names that hold a dot, cannot be reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The field's name.
    pub field: String,
    /// How to compare.
    pub operator: Operator,
    /// What to compare with.
    pub operand: Value,
}

impl Condition {
    /// Checks the form.
    ///
    /// # Errors
    /// `invalid_argument` names the field and the operand.
    pub(super) fn check(&self) -> Result<()> {
        Field::parse(&self.field)?;
        self.compile(&mut Tests::default())
    }

    /// Checks the form and adds what is asked to the tests of the field.
    fn compile(&self, tests: &mut Tests) -> Result<()> {
        let operand = || Comparable::from(self.operand.clone());
        let ordered = |holds| match operand() {
            operand @ (Comparable::Text(_) | Comparable::Number(_)) => Ok(Test::Ordered(holds, operand)),
            _ => Err(self.wrong_operand("text or a number")),
        };
        let test = match (self.operator, &self.operand) {
            (Operator::Eq, _) => Test::Equal(operand()),
            (Operator::Ne, _) => Test::NotEqual(operand()),
            (Operator::Gt, _) => ordered(Ordering::is_gt)?,
            (Operator::Gte, _) => ordered(Ordering::is_ge)?,
            (Operator::Lt, _) => ordered(Ordering::is_lt)?,
            (Operator::Lte, _) => ordered(Ordering::is_le)?,
            (Operator::In, Value::Array(choices)) => Test::one_of(choices),
            (Operator::In, _) => return Err(self.wrong_operand("an array")),
            (Operator::Exists, Value::Bool(wanted)) => {
                tests.must_exist |= wanted;
                tests.must_miss |= !wanted;
                return Ok(());
            }
            (Operator::Exists, _) => return Err(self.wrong_operand("true or false")),
            (Operator::Prefix, Value::String(prefix)) => Test::Prefix(prefix.clone()),
            (Operator::Prefix, _) => return Err(self.wrong_operand("text")),
        };
        tests.values.push(test);
        Ok(())
    }

    #[cold]
    fn wrong_operand(&self, wanted: &str) -> Error {
        Error::invalid(format!(
            "field {:?}: {} takes {wanted}, not {}",
            truncated(&self.field, 80),
            self.operator.name(),
            truncated(&self.operand.to_string(), 80)
        ))
    }

    /// The values of which the condition wants one; nothing when it wants something else.
    pub(super) fn choices(&self) -> Option<&[Value]> {
        match (self.operator, &self.operand) {
            (Operator::Eq, value) => Some(std::slice::from_ref(value)),
            (Operator::In, Value::Array(values)) => Some(values),
            _ => None,
        }
    }
}

/// Where a field is.
#[derive(Debug, PartialEq, Eq)]
enum Field<'a> {
    Own(Own),
    Metadata(Vec<&'a str>),
    Payload(Vec<&'a str>),
}

/// The event's own fields, the cheapest to look at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Own {
    Partition,
    Key,
    Type,
    Id,
}

impl Field<'_> {
    fn parse(name: &str) -> Result<Field<'_>> {
        let own = match name {
            "id" => Some(Own::Id),
            "type" => Some(Own::Type),
            "key" => Some(Own::Key),
            "partition" => Some(Own::Partition),
            _ => None,
        };
        if let Some(own) = own {
            return Ok(Field::Own(own));
        }
        if LINEAGE.contains(&name) {
            return Ok(Field::Metadata(vec![name]));
        }
        if let Some(path) = name.strip_prefix("metadata.") {
            return Ok(Field::Metadata(segments(name, path)?));
        }
        Ok(Field::Payload(segments(name, name.strip_prefix("payload.").unwrap_or(name))?))
    }
}

fn segments<'a>(name: &str, path: &'a str) -> Result<Vec<&'a str>> {
    let segments: Vec<_> = path.split('.').take(MAX_FIELD_DEPTH + 1).collect();
    if segments.len() > MAX_FIELD_DEPTH {
        return Err(Error::invalid(format!(
            "field {:?} descends more than {MAX_FIELD_DEPTH} levels",
            truncated(name, 80)
        )));
    }
    if segments.contains(&"") {
        return Err(Error::invalid(format!(
            "field {:?} has an empty part; write names, with one dot between them",
            truncated(name, 80)
        )));
    }
    Ok(segments)
}

/// What one condition asks of a field's value.
#[derive(Clone, Debug)]
enum Test {
    Equal(Comparable<'static>),
    NotEqual(Comparable<'static>),
    Ordered(fn(Ordering) -> bool, Comparable<'static>),
    /// Sorted texts, so that a long list of ids or keys costs little, and what is not text.
    OneOf(Vec<String>, Vec<Comparable<'static>>),
    Prefix(String),
}

impl Test {
    fn one_of(choices: &[Value]) -> Test {
        let (mut texts, mut others) = (Vec::new(), Vec::new());
        for choice in choices {
            match choice {
                Value::String(text) => texts.push(text.clone()),
                other => others.push(Comparable::from(other.clone())),
            }
        }
        texts.sort_unstable();
        Test::OneOf(texts, others)
    }

    fn holds(&self, value: &Comparable<'_>) -> bool {
        match self {
            Test::Equal(operand) => value.equals(operand),
            Test::NotEqual(operand) => !value.equals(operand),
            Test::Ordered(holds, operand) => value.order(operand).is_some_and(holds),
            Test::OneOf(texts, others) => match value.as_text() {
                Some(text) => texts.binary_search_by(|choice| choice.as_str().cmp(text)).is_ok(),
                None => others.iter().any(|choice| value.equals(choice)),
            },
            Test::Prefix(prefix) => value.as_text().is_some_and(|text| text.starts_with(prefix)),
        }
    }
}

/// All that is asked of one field.
#[derive(Clone, Debug, Default)]
struct Tests {
    must_exist: bool,
    must_miss: bool,
    values: Vec<Test>,
}

impl Tests {
    /// Whether all of it holds for what was found in the field, decoded only if its value matters.
    fn hold<'a, T>(&self, found: Option<T>, decode: impl FnOnce(T) -> Comparable<'a>) -> bool {
        match found {
            None => !self.must_exist && self.values.is_empty(),
            Some(_) if self.must_miss => false,
            Some(_) if self.values.is_empty() => true,
            Some(found) => {
                let value = decode(found);
                self.values.iter().all(|test| test.holds(&value))
            }
        }
    }
}

/// The fields of JSON text that are asked for, as a tree: one level for each part of their names.
#[derive(Clone, Debug, Default)]
struct Node {
    tests: Tests,
    children: Vec<(Box<str>, Node)>,
}

impl Node {
    fn tests_at(&mut self, path: &[&str]) -> &mut Tests {
        let Some((name, rest)) = path.split_first() else { return &mut self.tests };
        let index = self.child(name).unwrap_or_else(|| {
            self.children.push(((*name).into(), Node::default()));
            self.children.len() - 1
        });
        self.children[index].1.tests_at(rest)
    }

    fn child(&self, name: &str) -> Option<usize> {
        self.children.iter().position(|(child, _)| **child == *name)
    }

    /// Whether all tests hold, here and below, for this JSON text (nothing: the field is missing).
    fn matches(&self, json: Option<&str>) -> bool {
        self.tests.hold(json, Comparable::decode) && (self.children.is_empty() || self.children_match(json))
    }

    fn children_match(&self, json: Option<&str>) -> bool {
        let mut found = vec![None; self.children.len()];
        // What is no object has no fields. Neither has what does not parse, even if that shows only after some.
        if json.is_some_and(|json| self.find(json, &mut found).is_err()) {
            found.fill(None);
        }
        self.children.iter().zip(found).all(|((_, child), json)| child.matches(json))
    }

    /// Fills in the JSON text of each child that the object has. All of the text has to be valid JSON.
    fn find<'de>(&self, json: &'de str, found: &mut [Option<&'de str>]) -> serde_json::Result<()> {
        let mut deserializer = serde_json::Deserializer::from_str(json);
        deserializer.deserialize_map(Finder { node: self, found })?;
        deserializer.end()
    }
}

/// Walks over an object, whose values it neither decodes nor keeps unless they are asked for.
struct Finder<'f, 'de> {
    node: &'f Node,
    found: &'f mut [Option<&'de str>],
}

impl<'de> Visitor<'de> for Finder<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        // Names come raw too: one that cannot be decoded (half a surrogate pair) is none of ours, but no error.
        while let Some(name) = map.next_key::<&RawValue>()? {
            match text(name.get()).and_then(|name| self.node.child(&name)) {
                // Of names that repeat, the last counts.
                Some(index) => self.found[index] = Some(map.next_value::<&RawValue>()?.get()),
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// A query's conditions and bounds, made ready once to be decided for one event after the other.
///
/// It looks at the cheapest first: sequence and time, the event's own fields, the metadata and, only if all that
/// matches and a condition asks for it, the payload.
#[derive(Clone, Debug)]
pub struct Matcher {
    after_sequence: u64,
    until_sequence: u64,
    from: Timestamp,
    to: Timestamp,
    own: Vec<(Own, Tests)>,
    metadata: Node,
    payload: Node,
    /// A condition is malformed. Only a query that nobody checked gets here.
    never: bool,
}

impl Matcher {
    pub(super) fn new(query: &Query) -> Matcher {
        let mut matcher = Matcher {
            after_sequence: query.after_sequence.unwrap_or(0),
            until_sequence: query.until_sequence.unwrap_or(u64::MAX),
            from: query.from.unwrap_or(Timestamp::from_micros(i64::MIN)),
            to: query.to.unwrap_or(Timestamp::from_micros(i64::MAX)),
            own: Vec::new(),
            metadata: Node::default(),
            payload: Node::default(),
            never: false,
        };
        matcher.never = query.conditions.iter().any(|condition| matcher.add(condition).is_err());
        matcher.own.sort_by_key(|(own, _)| *own);
        matcher
    }

    /// Adds a condition, unless it is malformed.
    fn add(&mut self, condition: &Condition) -> Result<()> {
        let tests = match Field::parse(&condition.field)? {
            Field::Metadata(path) => self.metadata.tests_at(&path),
            Field::Payload(path) => self.payload.tests_at(&path),
            Field::Own(own) => {
                let index = self.own.iter().position(|(other, _)| *other == own).unwrap_or_else(|| {
                    self.own.push((own, Tests::default()));
                    self.own.len() - 1
                });
                &mut self.own[index].1
            }
        };
        condition.compile(tests)
    }

    /// Whether the event matches: it lies within the bounds and every condition holds.
    pub fn matches(&self, event: &Event) -> bool {
        !self.never
            && self.after_sequence < event.sequence()
            && event.sequence() <= self.until_sequence
            && (self.from..=self.to).contains(&event.timestamp())
            && self.own.iter().all(|(own, tests)| own.holds(tests, event))
            && (self.metadata.children.is_empty() || self.metadata.matches(Some(event.metadata())))
            && (self.payload.children.is_empty() || self.payload.matches(json_payload(event)))
    }
}

impl Own {
    fn holds(self, tests: &Tests, event: &Event) -> bool {
        let text = |text| Comparable::Text(Cow::Borrowed(text));
        match self {
            Own::Partition => {
                tests.hold(Some(event.partition()), |partition| Comparable::Number(Number::Integer(partition.into())))
            }
            Own::Key => tests.hold(event.key(), text),
            Own::Type => tests.hold(event.event_type(), text),
            Own::Id => tests.hold(Some(event.id().as_str()), text),
        }
    }
}

/// The payload as text, if it is tagged as JSON and is text at all.
fn json_payload(event: &Event) -> Option<&str> {
    match event.encoding() {
        Encoding::Json => std::str::from_utf8(event.payload()).ok(),
        Encoding::Bytes => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventParts;
    use crate::query::tests::{event, plain};
    use rand::rngs::SmallRng;
    use rand::seq::IndexedRandom;
    use rand::{Rng, SeedableRng};

    fn matches(filter: &str, event: &Event) -> bool {
        Query::from_json(filter).unwrap().matcher().matches(event)
    }

    fn payload(payload: &(impl AsRef<[u8]> + ?Sized)) -> Event {
        event(0, EventParts { payload: payload.as_ref(), ..plain() })
    }

    #[test]
    fn operators_have_names() {
        for operator in Operator::ALL {
            assert_eq!(operator.name().parse(), Ok(*operator));
        }
        assert!("EQ".parse::<Operator>().unwrap_err().message().contains("\"EQ\""));
    }

    #[test]
    fn names_say_where_a_field_is() {
        let cases = [
            ("id", Field::Own(Own::Id)),
            ("type", Field::Own(Own::Type)),
            ("key", Field::Own(Own::Key)),
            ("partition", Field::Own(Own::Partition)),
            ("producer", Field::Metadata(vec!["producer"])),
            ("schema_version", Field::Metadata(vec!["schema_version"])),
            ("metadata.id", Field::Metadata(vec!["id"])),
            ("metadata.a.b", Field::Metadata(vec!["a", "b"])),
            ("payload.id", Field::Payload(vec!["id"])),
            ("payload.metadata.a", Field::Payload(vec!["metadata", "a"])),
            ("payload.payload", Field::Payload(vec!["payload"])),
            ("payload", Field::Payload(vec!["payload"])),
            ("metadata", Field::Payload(vec!["metadata"])),
            ("producer.name", Field::Payload(vec!["producer", "name"])),
            ("id.x", Field::Payload(vec!["id", "x"])),
            ("sequence", Field::Payload(vec!["sequence"])),
        ];
        for (name, field) in cases {
            assert_eq!(Field::parse(name), Ok(field), "{name}");
        }
    }

    #[test]
    fn own_fields() {
        let full = event(3, EventParts { id: "e-1", key: Some("k"), event_type: Some("placed"), ..plain() });
        let bare = event(0, plain());
        for filter in [
            r#"{"id": "e-1"}"#,
            r#"{"type": {"prefix": "pl"}}"#,
            r#"{"type": {"gt": "pa", "lt": "pz"}}"#,
            r#"{"key": {"in": ["a", "k", 1]}}"#,
            r#"{"partition": 3}"#,
            r#"{"partition": {"gte": 2.5}}"#,
            r#"{"key": {"exists": true}, "id": {"exists": true}}"#,
            r#"{"id": "e-1", "type": "placed", "key": "k", "partition": 3}"#,
        ] {
            assert!(matches(filter, &full), "{filter}");
            assert!(!matches(filter, &bare), "{filter}");
        }
        for filter in [r#"{"key": {"exists": false}}"#, r#"{"type": {"exists": false}, "partition": 0}"#] {
            assert!(matches(filter, &bare), "{filter}");
            assert!(!matches(filter, &full), "{filter}");
        }
        assert!(!matches(r#"{"key": null}"#, &bare));
        assert!(!matches(r#"{"key": {"ne": "k"}}"#, &bare));
        assert!(!matches(r#"{"id": {"exists": false}}"#, &bare));
        assert!(matches(r#"{"partition": {"ne": "3"}}"#, &full));
        assert!(!matches(r#"{"partition": "3"}"#, &full));
    }

    #[test]
    fn metadata_fields() {
        let metadata = r#"{"correlation_id": "c", "schema_version": 2, "trace": {"span": "x"}, "a.b": 1}"#;
        let event = event(0, EventParts { metadata, payload: br#"{"producer": "p"}"#, ..plain() });
        assert!(matches(r#"{"correlation_id": "c", "schema_version": {"gte": 2}}"#, &event));
        assert!(matches(r#"{"metadata.correlation_id": "c", "metadata.trace.span": "x"}"#, &event));
        assert!(matches(r#"{"producer": {"exists": false}, "payload.producer": "p"}"#, &event));
        assert!(matches(r#"{"metadata.a.b": {"exists": false}}"#, &event));
    }

    #[test]
    fn each_operator_on_each_type() {
        let event =
            payload(r#"{"n": null, "t": true, "i": 5, "d": 2.5, "s": "abc", "a": [1, "x"], "o": {"x": 1}, "e": ""}"#);
        let holds = [
            r#"{"n": null}"#,
            r#"{"n": {"exists": true, "ne": 0, "in": [null]}}"#,
            r#"{"t": true}"#,
            r#"{"t": {"ne": 1, "in": [false, true]}}"#,
            r#"{"i": 5}"#,
            r#"{"i": {"eq": 5.0, "ne": "5", "gt": 4.5, "gte": 5, "lt": 6, "lte": 5, "in": [1, 5.0]}}"#,
            r#"{"d": {"eq": 25e-1, "gt": 2, "lt": 3, "ne": 2}}"#,
            r#"{"s": {"eq": "abc", "gt": "ab", "gte": "abc", "lt": "abd", "prefix": "ab"}}"#,
            r#"{"s": {"prefix": "", "in": ["b", "abc", "a"]}}"#,
            r#"{"e": {"prefix": "", "eq": ""}}"#,
            r#"{"a": [1.0, "x"]}"#,
            r#"{"a": {"in": [[1, "x"]], "ne": [1]}}"#,
            r#"{"o": {"eq": {"x": 1.0}, "exists": true}}"#,
            r#"{"o.x": {"gt": 0}, "o": {"ne": 1}}"#,
            r#"{"zz": {"exists": false}, "o.y": {"exists": false}, "s.x": {"exists": false}}"#,
            r#"{"a.0": {"exists": false}, "a.x": {"exists": false}}"#,
        ];
        let fails = [
            r#"{"n": {"exists": false}}"#,
            r#"{"n": {"ne": null}}"#,
            r#"{"n": {"lte": 0}}"#,
            r#"{"t": {"gte": "true"}}"#,
            r#"{"t": 1}"#,
            r#"{"i": "5"}"#,
            r#"{"i": {"lt": "9"}}"#,
            r#"{"i": {"prefix": "5"}}"#,
            r#"{"i": {"gt": 4, "lt": 5}}"#,
            r#"{"i": {"in": []}}"#,
            r#"{"s": {"gt": 0}}"#,
            r#"{"s": {"prefix": "abcd"}}"#,
            r#"{"a": {"gt": 0}}"#,
            r#"{"a": {"prefix": ""}}"#,
            r#"{"a": {"in": [1, "x"]}}"#,
            r#"{"o": {"eq": {}}}"#,
            r#"{"zz": null}"#,
            r#"{"zz": {"ne": 1}}"#,
            r#"{"zz": {"in": [null]}}"#,
            r#"{"zz": {"exists": true}}"#,
            r#"{"i": {"exists": true}, "o.y": {"exists": true}}"#,
        ];
        holds.iter().for_each(|filter| assert!(matches(filter, &event), "{filter}"));
        fails.iter().for_each(|filter| assert!(!matches(filter, &event), "{filter}"));
        let contradiction = Query::new().filter("i", Operator::Exists, true).filter("i", Operator::Exists, false);
        assert!(!contradiction.matcher().matches(&event));
    }

    #[test]
    fn the_last_of_repeated_names_counts() {
        let event = payload(r#"{"a": {"b": 1}, "x": 1, "a": {"c": 2, "c": 3}, "x": null}"#);
        assert!(matches(r#"{"a.b": {"exists": false}, "a.c": 3, "x": null, "a": {"eq": {"c": 3}}}"#, &event));
        assert!(matches(r#"{"a.b": {"exists": false}}"#, &payload(r#"{"a": {"b": 1}, "\u0061": 5}"#)));
    }

    #[test]
    fn escaped_names_are_the_names_they_stand_for() {
        let event = payload(r#"{"\u0061\"\n": 1, "é": {"\ud83d\ude00": 2}}"#);
        assert!(matches(r#"{"a\"\n": 1, "é.😀": 2}"#, &event));
    }

    #[test]
    fn what_is_no_json_object_has_no_fields() {
        let none = r#"{"a": {"exists": false}, "a.b": {"exists": false}}"#;
        let texts = [
            "",
            " ",
            "null",
            "1",
            "\"a\"",
            "[]",
            r#"[{"a": 1}]"#,
            "{",
            r#"{"a": 1"#,
            r#"{"a": 1}}"#,
            r#"{"a": 1} x"#,
            r#"{"a": 1,}"#,
            r#"{"a": 1, "b": tru}"#,
            r#"{"a": 1, "b": 01}"#,
            r#"{"a": 1, "b": "\x"}"#,
            r#"{"a": 1, b: 2}"#,
            "{\"a\": 1, \"b\": \"\n\"}",
            "{\"a\": 1, \"\n\": 1}",
            "{\"a\n\": 1, \"a\": 1}",
            r#"{"a": {"b": [1}}"#,
            "\u{feff}{\"a\": 1}",
        ];
        for text in texts {
            assert!(matches(none, &payload(text)), "{text}");
            assert!(!matches(r#"{"a": {"exists": true}}"#, &payload(text)), "{text}");
        }
        assert!(matches(none, &payload(b"{\"a\": 1, \"b\": \"\xff\"}")));
        let tagged_bytes = event(0, EventParts { encoding: Encoding::Bytes, payload: br#"{"a": 1}"#, ..plain() });
        assert!(matches(none, &tagged_bytes));
        assert!(matches(r#"{"a": 1}"#, &payload("\r\n\t {\"a\" : 1 } \n")));
    }

    /// Whether a payload parses does not depend on the fields asked for.
    #[test]
    fn what_cannot_be_held_is_present_and_harms_no_other_field() {
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        for odd in ["1e400", r#""\ud800""#, &deep] {
            let event = payload(&format!(r#"{{"odd": {odd}, "\udfff": 0, "a": 1}}"#));
            assert!(matches(r#"{"a": 1}"#, &event), "{odd:.20}");
            assert!(
                matches(r#"{"a": 1, "odd": {"exists": true, "ne": 0}, "odd.x": {"exists": false}}"#, &event),
                "{odd:.20}"
            );
            for filter in [r#"{"odd": {"gte": 0}}"#, r#"{"odd": {"gte": ""}}"#, r#"{"odd": {"prefix": ""}}"#] {
                assert!(!matches(filter, &event), "{filter} on {odd:.20}");
            }
        }
    }

    /// The same answers as a naive evaluator over whole values, for random payloads (damaged ones included).
    #[test]
    fn extraction_agrees_with_whole_values() {
        let mut rng = SmallRng::seed_from_u64(0x5eed);
        let (mut matched, mut parsed) = (0, 0);
        const ROUNDS: usize = 40_000;
        for round in 0..ROUNDS {
            let mut text = String::new();
            random_object(&mut rng, 3, &mut text);
            if rng.random_ratio(1, 5) {
                damage(&mut rng, &mut text);
            }
            let query = (0..rng.random_range(1..3)).fold(Query::new(), |query, _| random_condition(&mut rng, query));
            let root = serde_json::from_str::<Value>(&text).ok();
            let expected = query.conditions.iter().all(|condition| naive(root.as_ref(), condition));
            let in_payload = query.matcher().matches(&payload(&text));
            assert_eq!(in_payload, expected, "round {round}: {:?} on {text}", query.conditions);
            if root.is_some() {
                let mut query = query;
                query.conditions.iter_mut().for_each(|condition| condition.field.insert_str(0, "metadata."));
                let in_metadata = query.matcher().matches(&event(0, EventParts { metadata: &text, ..plain() }));
                assert_eq!(in_metadata, expected, "round {round}: {:?} on metadata {text}", query.conditions);
                parsed += 1;
            }
            matched += usize::from(expected);
        }
        // The comparison is worth something only if both answers and both kinds of text are common.
        assert!((ROUNDS / 20..ROUNDS / 2).contains(&matched), "{matched} matched");
        assert!((ROUNDS / 2..ROUNDS * 19 / 20).contains(&parsed), "{parsed} parsed");
    }

    const NAMES: [&str; 3] = ["a", "b", "é"];
    const SCALARS: [&str; 14] = [
        "null",
        "true",
        "false",
        "0",
        "1",
        "-1",
        "1.0",
        "1.5",
        "2e0",
        r#""""#,
        r#""a""#,
        r#""ab""#,
        r#""\u0061""#,
        r#""é\n""#,
    ];

    fn random_value(rng: &mut SmallRng, depth: u32, text: &mut String) {
        match rng.random_range(0..8) {
            0..3 if depth > 0 => random_object(rng, depth - 1, text),
            3 if depth > 0 => {
                text.push('[');
                for index in 0..rng.random_range(0..3) {
                    text.push_str(if index > 0 { "," } else { "" });
                    random_value(rng, depth - 1, text);
                }
                text.push(']');
            }
            _ => text.push_str(SCALARS.choose(rng).unwrap()),
        }
    }

    /// Names repeat now and then, and come with escapes and white space.
    fn random_object(rng: &mut SmallRng, depth: u32, text: &mut String) {
        text.push('{');
        for index in 0..rng.random_range(0..6) {
            text.push_str(if index > 0 { " ," } else { "" });
            text.push_str(["\"a\"", "\"b\" ", "\"é\"", "\n\"\\u0061\"", "\"\""].choose(rng).unwrap());
            text.push_str([":", ": "].choose(rng).unwrap());
            random_value(rng, depth, text);
        }
        text.push('}');
    }

    fn damage(rng: &mut SmallRng, text: &mut String) {
        let mut chars: Vec<char> = text.chars().collect();
        let at = rng.random_range(0..chars.len());
        match rng.random_range(0..3) {
            0 => drop(chars.remove(at)),
            1 => chars.truncate(at),
            _ => chars[at] = *['"', '{', '}', ',', '1', '\\'].choose(rng).unwrap(),
        }
        *text = chars.into_iter().collect();
    }

    fn random_condition(rng: &mut SmallRng, query: Query) -> Query {
        let path: Vec<_> = (0..*[1, 1, 1, 2, 2, 3].choose(rng).unwrap()).map(|_| *NAMES.choose(rng).unwrap()).collect();
        let mut operand = String::new();
        random_value(rng, 2, &mut operand);
        let value = serde_json::from_str::<Value>(&operand).unwrap();
        let operator = *Operator::ALL.choose(rng).unwrap();
        let operand = match operator {
            Operator::Eq | Operator::Ne => value,
            Operator::In => Value::Array(vec![value, Value::from(1), Value::from("a")]),
            Operator::Exists => Value::from(rng.random::<bool>()),
            Operator::Prefix => Value::from(*["", "a", "é"].choose(rng).unwrap()),
            _ if rng.random() => Value::from(*["", "a", "b"].choose(rng).unwrap()),
            _ => Value::from(f64::from(rng.random_range(-2..4)) / 2.0),
        };
        query.filter(path.join("."), operator, operand)
    }

    /// Right for the numbers that occur here, all of them exact as doubles.
    fn naive(root: Option<&Value>, condition: &Condition) -> bool {
        let Some(found) = condition.field.split('.').fold(root, |value, name| value?.as_object()?.get(name)) else {
            return condition.operator == Operator::Exists && condition.operand == false;
        };
        let order = match (found, &condition.operand) {
            (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
            (Value::Number(a), Value::Number(b)) => a.as_f64().partial_cmp(&b.as_f64()),
            _ => None,
        };
        match condition.operator {
            Operator::Eq => as_doubles(found) == as_doubles(&condition.operand),
            Operator::Ne => as_doubles(found) != as_doubles(&condition.operand),
            Operator::Gt => order == Some(Ordering::Greater),
            Operator::Gte => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
            Operator::Lt => order == Some(Ordering::Less),
            Operator::Lte => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Operator::In => {
                condition.operand.as_array().unwrap().iter().any(|one| as_doubles(one) == as_doubles(found))
            }
            Operator::Exists => condition.operand == true,
            Operator::Prefix => found.as_str().is_some_and(|a| a.starts_with(condition.operand.as_str().unwrap())),
        }
    }

    fn as_doubles(value: &Value) -> Value {
        match value {
            Value::Number(number) => Value::from(number.as_f64()),
            Value::Array(values) => values.iter().map(as_doubles).collect(),
            Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), as_doubles(value))).collect(),
            other => other.clone(),
        }
    }
}
