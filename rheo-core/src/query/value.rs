//! How two JSON values compare (contract, section 3, `query`): text by code point, numbers as numbers, types
//! never mixed.

use serde_json::Value;
use std::borrow::Cow;
use std::cmp::Ordering;

/// A value to compare: a condition's operand, or what an event has in a field.
#[derive(Clone, Debug)]
pub(super) enum Comparable<'a> {
    /// Text; the only thing with a prefix.
    Text(Cow<'a, str>),
    /// A number.
    Number(Number),
    /// Null, a boolean, an array or an object: equal or not, without an order.
    Other(Value),
    /// Valid JSON that no value here can hold: a number beyond the doubles, text with half a surrogate pair,
    /// nesting deeper than serde_json reads (127). It is present, equals nothing and has no order.
    Opaque,
}

impl<'a> Comparable<'a> {
    /// The value that a piece of valid JSON stands for.
    pub(super) fn decode(json: &'a str) -> Comparable<'a> {
        if json.starts_with('"') {
            return text(json).map_or(Comparable::Opaque, Comparable::Text);
        }
        serde_json::from_str::<Value>(json).map_or(Comparable::Opaque, Comparable::from)
    }

    /// The text, if it is text.
    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Comparable::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether both are the same value; values of different types never are.
    pub(super) fn equals(&self, other: &Comparable<'_>) -> bool {
        match (self, other) {
            (Comparable::Other(a), Comparable::Other(b)) => equal(a, b),
            _ => self.order(other) == Some(Ordering::Equal),
        }
    }

    /// How both are ordered; nothing unless both are text or both are numbers.
    pub(super) fn order(&self, other: &Comparable<'_>) -> Option<Ordering> {
        match (self, other) {
            // The bytes of UTF-8 are in the order of the code points.
            (Comparable::Text(a), Comparable::Text(b)) => Some(a.cmp(b)),
            (Comparable::Number(a), Comparable::Number(b)) => a.order(*b),
            _ => None,
        }
    }
}

impl From<Value> for Comparable<'_> {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Comparable::Text(Cow::Owned(text)),
            Value::Number(number) => Number::new(&number).map_or(Comparable::Opaque, Comparable::Number),
            other => Comparable::Other(other),
        }
    }
}

/// The text that a JSON string stands for; nothing when its escapes make half a surrogate pair.
pub(super) fn text(json: &str) -> Option<Cow<'_, str>> {
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') { serde_json::from_str(json).ok().map(Cow::Owned) } else { Some(Cow::Borrowed(inner)) }
}

/// A JSON number: exact where it is a 64-bit integer (signed or unsigned), else the nearest double.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    /// An integer from −2^63 to 2^64 − 1.
    Integer(i128),
    /// A finite double.
    Double(f64),
}

impl Number {
    /// The number, unless it is beyond the doubles.
    pub(super) fn new(number: &serde_json::Number) -> Option<Number> {
        let integer = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
        integer.map(Number::Integer).or_else(|| number.as_f64().map(Number::Double))
    }

    /// The number as a `u32`, if it is one: 3 and 3.0 are.
    pub(super) fn to_u32(self) -> Option<u32> {
        match self {
            Number::Integer(integer) => u32::try_from(integer).ok(),
            Number::Double(double) => {
                let integer = double as u32;
                (f64::from(integer) == double).then_some(integer)
            }
        }
    }

    fn order(self, other: Number) -> Option<Ordering> {
        match (self, other) {
            (Number::Integer(a), Number::Integer(b)) => Some(a.cmp(&b)),
            (Number::Double(a), Number::Double(b)) => a.partial_cmp(&b),
            (Number::Integer(a), Number::Double(b)) => integer_to_double(a, b),
            (Number::Double(a), Number::Integer(b)) => integer_to_double(b, a).map(Ordering::reverse),
        }
    }
}

/// Compares exactly. Turning the integer into a double would round it: 2^53 + 1 would equal 2^53.
fn integer_to_double(integer: i128, double: f64) -> Option<Ordering> {
    // The cast drops the fraction and saturates at ±2^127, far outside the 64-bit integers.
    match integer.cmp(&(double as i128)) {
        Ordering::Equal => 0.0.partial_cmp(&double.fract()),
        unequal => Some(unequal),
    }
}

/// Structural equality, numbers inside by the same rule as outside.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (Number::new(a), Number::new(b)) {
            (Some(a), Some(b)) => a.order(b) == Some(Ordering::Equal),
            _ => false,
        },
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_exactly() {
        // Ascending; what stands on one line is equal.
        let lines: &[&[&str]] = &[
            &["-1.7976931348623157e308"],
            &["-9223372036854777856", "-9223372036854777856.0"],
            &["-9223372036854775808", "-9223372036854775808.0", "-9223372036854775809"],
            &["-9223372036854775807"],
            &["-1.5"],
            &["-1", "-1.0"],
            &["-0.5"],
            &["-5e-324"],
            &["0", "-0", "0.0", "-0.0", "0e9", "1e-400"],
            &["5e-324"],
            &["0.5"],
            &["1", "1.0", "1e0", "10e-1"],
            &["1.0000000000000002"],
            &["9007199254740991", "9007199254740991.0"],
            &["9007199254740992", "9007199254740992.0", "9007199254740993.0"],
            &["9007199254740993"],
            &["9223372036854775807"],
            &["9223372036854775808", "9223372036854775807.0"],
            &["9223372036854775809"],
            &["18446744073709551614"],
            &["18446744073709551615"],
            &["18446744073709551616", "18446744073709551615.0", "18446744073709551617"],
            &["1e300"],
        ];
        let ranked = lines.iter().enumerate().flat_map(|(rank, line)| line.iter().map(move |json| (rank, *json)));
        for (a_rank, a) in ranked.clone() {
            for (b_rank, b) in ranked.clone() {
                let order = Comparable::decode(a).order(&Comparable::decode(b));
                assert_eq!(order, Some(a_rank.cmp(&b_rank)), "{a} to {b}");
            }
        }
    }

    /// Fails without serde_json's `float_roundtrip`: its quick way of reading decimals may miss by one unit.
    #[test]
    fn doubles_are_the_nearest() {
        for json in ["51.24817837550540", "62.5364939768271845828", "8.10109172351e-10", "1.2345678901234567e-200"] {
            let read = Comparable::decode(json);
            let nearest = Comparable::Number(Number::Double(json.parse().unwrap()));
            assert!(read.equals(&nearest), "{json} read as {read:?}");
        }
    }

    #[test]
    fn text_compares_by_code_point() {
        let ascending =
            [r#""""#, r#""A""#, r#""Z""#, r#""a""#, r#""a\u0000""#, r#""ab""#, r#""é""#, r#""\uffee""#, r#""😀""#];
        for pair in ascending.windows(2) {
            let (low, high) = (Comparable::decode(pair[0]), Comparable::decode(pair[1]));
            assert_eq!(low.order(&high), Some(Ordering::Less), "{pair:?}");
            assert!(!low.equals(&high));
        }
        assert!(Comparable::decode(r#""\u00e9\/\n""#).equals(&Comparable::from(Value::from("é/\n"))));
    }

    #[test]
    fn types_never_mix() {
        let values = ["null", "false", "true", "0", r#""0""#, r#""""#, "[]", "{}", "[0]", r#"{"a":0}"#];
        for (i, a) in values.iter().enumerate() {
            for (j, b) in values.iter().enumerate() {
                assert_eq!(Comparable::decode(a).equals(&Comparable::decode(b)), i == j, "{a} and {b}");
            }
        }
    }

    #[test]
    fn structures_are_equal_by_content() {
        let same = [
            (r#"[1, "a", {"x": [2.0]}]"#, r#"[1.0,"\u0061",{"x":[2]}]"#),
            (r#"{"a": 1, "b": null}"#, r#"{"b":null,"a":1e0}"#),
            (r#"{"a": 1, "a": 2}"#, r#"{"a":2}"#),
        ];
        for (a, b) in same {
            assert!(Comparable::decode(a).equals(&Comparable::decode(b)), "{a} and {b}");
        }
        let different =
            [("[1]", "[1,1]"), ("[1,2]", "[2,1]"), (r#"{"a":1}"#, r#"{"a":1,"b":2}"#), (r#"{"a":1}"#, r#"{"b":1}"#)];
        for (a, b) in different {
            assert!(!Comparable::decode(a).equals(&Comparable::decode(b)), "{a} and {b}");
        }
    }

    #[test]
    fn what_cannot_be_held_equals_nothing() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for json in ["1e400", r#""\ud800""#, "[1e400]", &deep] {
            let opaque = Comparable::decode(json);
            assert!(matches!(opaque, Comparable::Opaque), "{json}");
            assert!(!opaque.equals(&opaque));
            assert_eq!(opaque.order(&opaque), None);
        }
    }

    #[test]
    fn partition_numbers() {
        let u32_of = |json: &str| Number::new(&serde_json::from_str(json).unwrap()).unwrap().to_u32();
        assert_eq!(u32_of("3"), Some(3));
        assert_eq!(u32_of("3.0"), Some(3));
        assert_eq!(u32_of("-0.0"), Some(0));
        for json in ["3.5", "-1", "-1.0", "4294967296", "4294967296.0", "1e300"] {
            assert_eq!(u32_of(json), None, "{json}");
        }
    }
}
