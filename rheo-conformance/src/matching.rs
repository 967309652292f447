//! Whether what came is what was expected.

use serde::Serialize;
use serde_json::{Map, Number, Value};
use std::cmp::Ordering;
use std::io;

/// Says where and how `actual` differs from what is expected; nothing when it matches.
pub(crate) fn difference(expected: &Value, actual: &Value) -> Option<String> {
    compare(expected, actual)
        .err()
        .map(|(path, text)| format!("{}: {text}", if path.is_empty() { "it" } else { &path }))
}

/// The path to the difference, and what it is.
type Comparison = Result<(), (String, String)>;

fn compare(expected: &Value, actual: &Value) -> Comparison {
    match (expected, actual) {
        (Value::Object(fields), _) if fields.keys().any(|name| name.starts_with('$')) => {
            fields.iter().try_for_each(|(name, wanted)| matcher(name, wanted, actual))
        }
        (Value::Object(fields), Value::Object(found)) => fields.iter().try_for_each(|(name, wanted)| {
            let value = found.get(name).unwrap_or(&Value::Null);
            compare(wanted, value).map_err(|difference| within(name, difference))
        }),
        (Value::Array(wanted), Value::Array(found)) => {
            if wanted.len() != found.len() {
                return fail(format!("{} elements instead of {}: {}", found.len(), wanted.len(), shown(actual)));
            }
            wanted.iter().zip(found).enumerate().try_for_each(|(index, (wanted, value))| {
                compare(wanted, value).map_err(|difference| within(&index.to_string(), difference))
            })
        }
        (Value::Number(wanted), Value::Number(found)) => {
            require(order(wanted, found) == Some(Ordering::Equal), expected, actual)
        }
        _ => require(expected == actual, expected, actual),
    }
}

fn matcher(name: &str, wanted: &Value, actual: &Value) -> Comparison {
    let holds = match (name, wanted, actual) {
        ("$any", Value::Bool(true), _) => !actual.is_null(),
        ("$type", Value::String(kind), _) => kind == kind_of(actual),
        ("$ge", Value::Number(least), Value::Number(found)) => order(found, least).is_some_and(Ordering::is_ge),
        ("$le", Value::Number(most), Value::Number(found)) => order(found, most).is_some_and(Ordering::is_le),
        ("$len", Value::Number(len), Value::Array(found)) => len.as_u64() == Some(found.len() as u64),
        ("$each", _, Value::Array(found)) => {
            return found.iter().enumerate().try_for_each(|(index, value)| {
                compare(wanted, value).map_err(|difference| within(&index.to_string(), difference))
            });
        }
        ("$set", Value::Array(wanted), Value::Array(found)) => wanted.len() == found.len() && assign(wanted, found),
        ("$ascending", Value::String(field), Value::Array(found)) => {
            found.windows(2).all(|pair| match (&pair[0][field], &pair[1][field]) {
                (Value::String(one), Value::String(next)) => one < next,
                (Value::Number(one), Value::Number(next)) => order(one, next).is_some_and(Ordering::is_lt),
                _ => false,
            })
        }
        ("$exact", Value::Object(fields), Value::Object(found)) => {
            if let Some(name) = found.keys().find(|name| !fields.contains_key(*name)) {
                return fail(format!("has a field {name:?} that is not expected"));
            }
            return compare(wanted, actual);
        }
        ("$not", _, _) => compare(wanted, actual).is_err(),
        ("$contains", Value::String(part), Value::String(found)) => found.contains(part.as_str()),
        ("$text_max_bytes", Value::Number(most), Value::String(found)) => {
            most.as_u64().is_some_and(|most| found.len() as u64 <= most)
        }
        ("$mask", Value::String(mask), Value::String(found)) => {
            mask.len() == found.len()
                && mask.bytes().zip(found.bytes()).all(|(shape, byte)| match shape {
                    b'#' => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
                    literal => byte == literal,
                })
        }
        ("$json", _, Value::String(found)) => {
            return match serde_json::from_str(found) {
                Ok(value) => compare(wanted, &value).map_err(|difference| within("$json", difference)),
                Err(error) => fail(format!("{} is not JSON: {error}", shown(actual))),
            };
        }
        _ => false,
    };
    require(holds, &Value::Object(Map::from_iter([(name.to_owned(), wanted.clone())])), actual)
}

/// Whether every pattern can have an element of its own.
fn assign(patterns: &[Value], elements: &[Value]) -> bool {
    fn place(pattern: usize, fits: &[Vec<usize>], taken: &mut [Option<usize>], tried: &mut [bool]) -> bool {
        fits[pattern].iter().any(|&element| {
            if std::mem::replace(&mut tried[element], true) {
                return false;
            }
            let free = taken[element].is_none_or(|other| place(other, fits, taken, tried));
            if free {
                taken[element] = Some(pattern);
            }
            free
        })
    }
    let fits: Vec<Vec<usize>> = patterns
        .iter()
        .map(|pattern| (0..elements.len()).filter(|&at| compare(pattern, &elements[at]).is_ok()).collect())
        .collect();
    let mut taken = vec![None; elements.len()];
    (0..patterns.len()).all(|pattern| place(pattern, &fits, &mut taken, &mut vec![false; elements.len()]))
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if integer(number).is_some() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// How two numbers compare by value: integers exactly, `1.0` being one, and where one is a fraction as doubles.
fn order(one: &Number, other: &Number) -> Option<Ordering> {
    match (integer(one), integer(other)) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

/// The value of a number without a fraction, up to a size that every integer in JSON has here.
fn integer(number: &Number) -> Option<i128> {
    /// 2⁶⁴, beyond which a number can equal no integer that is written as one.
    const BEYOND: f64 = 18_446_744_073_709_551_616.0;
    let whole = |float: f64| (float.fract() == 0.0 && float.abs() <= BEYOND).then_some(float as i128);
    let written = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    written.or_else(|| number.as_f64().and_then(whole))
}

fn require(holds: bool, expected: &Value, actual: &Value) -> Comparison {
    if holds { Ok(()) } else { fail(format!("{} instead of {}", shown(actual), shown(expected))) }
}

fn fail(text: String) -> Comparison {
    Err((String::new(), text))
}

fn within(part: &str, (path, text): (String, String)) -> (String, String) {
    (if path.is_empty() { part.to_owned() } else { format!("{part}.{path}") }, text)
}

/// A value as text, cut where a reader would stop.
pub(crate) fn shown(value: &impl Serialize) -> String {
    /// Takes so many bytes and refuses the rest, so that a large value is not written out to be cut.
    struct Beginning(Vec<u8>);
    impl io::Write for Beginning {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            const MOST: usize = 600;
            let taken = bytes.len().min(MOST - self.0.len());
            self.0.extend_from_slice(&bytes[..taken]);
            if taken < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(taken) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut beginning = Beginning(Vec::new());
    let whole = serde_json::to_writer(&mut beginning, value).is_ok();
    let text = String::from_utf8_lossy(&beginning.0);
    if whole { text.into_owned() } else { format!("{text}…") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_matches() {
        let lease = json!({"attempt": 1, "token": "rheo1.ab", "event": {"id": "a", "key": null}, "list": [1, 2, 3]});
        for expected in [
            json!({}),
            json!({"attempt": 1, "event": {"id": "a"}}),
            json!({"event": {"key": null, "type": null}}),
            json!({"token": {"$any": true}, "attempt": {"$ge": 1, "$le": 1}}),
            json!({"token": {"$contains": "o1.", "$text_max_bytes": 8, "$mask": "rheo1.##", "$type": "string"}}),
            json!({"list": [1, {"$any": true}, {"$type": "integer"}]}),
            json!({"list": {"$len": 3, "$each": {"$ge": 1}, "$set": [{"$ge": 1}, {"$le": 2}, 1]}}),
            json!({"event": {"$exact": {"id": {"$not": "b"}, "key": null}}}),
        ] {
            assert_eq!(difference(&expected, &lease), None, "{expected}");
        }
        assert_eq!(difference(&json!({"$json": {"a": [1]}}), &json!("{\"a\":[1],\"b\":2}")), None);
        assert_eq!(difference(&json!({"$ascending": "n"}), &json!([{"n": 1}, {"n": 3}])), None);
        assert_eq!(difference(&json!({"$ascending": "n"}), &json!([{"n": "a"}, {"n": "b"}])), None);
        assert_eq!(difference(&json!(18446744073709551615_u64), &json!(18446744073709551615_u64)), None);
    }

    #[test]
    fn numbers_go_by_value() {
        for (expected, actual) in [
            (json!(1), json!(1.0)),
            (json!(1.0), json!(1)),
            (json!({"$type": "integer"}), json!(1.0)),
            (json!({"$ge": 0.5, "$le": 1.5}), json!(1)),
            (json!({"$ge": 1, "$le": 2}), json!(1.5)),
            (json!({"$ge": u64::MAX}), json!(1e300)),
            (json!({"$ascending": "n"}), json!([{"n": 1}, {"n": 1.5}, {"n": 2}])),
        ] {
            assert_eq!(difference(&expected, &actual), None, "{expected} {actual}");
        }
        for (expected, actual) in [
            (json!(1), json!(1.5)),
            (json!(1), json!(true)),
            (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992.0)),
            (json!(u64::MAX), json!(18_446_744_073_709_551_616.0)),
            (json!({"$type": "integer"}), json!(1.5)),
            (json!({"$le": 1}), json!(1.5)),
            (json!({"$ge": 1}), json!(0.5)),
            (json!({"$le": 1}), json!(null)),
            (json!({"$le": 1}), json!("0")),
            (json!({"$ge": 0}), json!(true)),
            (json!({"$ascending": "n"}), json!([{"n": 1.5}, {"n": 1}])),
        ] {
            assert!(difference(&expected, &actual).is_some(), "{expected} matches {actual}");
        }
    }

    #[test]
    fn what_differs() {
        let actual = json!({"n": 1, "list": [1, 2], "text": "é", "nothing": null});
        for (expected, path) in [
            (json!({"n": 2}), "n:"),
            (json!({"n": "1"}), "n:"),
            (json!({"n": null}), "n:"),
            (json!({"list": [1]}), "list:"),
            (json!({"list": [1, 3]}), "list.1:"),
            (json!({"list": {"$len": 3}}), "list:"),
            (json!({"list": {"$each": {"$le": 1}}}), "list.1:"),
            (json!({"list": {"$set": [1, 1]}}), "list:"),
            (json!({"list": {"$ascending": "n"}}), "list:"),
            (json!({"nothing": {"$any": true}}), "nothing:"),
            (json!({"text": {"$text_max_bytes": 1}}), "text:"),
            (json!({"text": {"$mask": "#"}}), "text:"),
            (json!({"text": {"$json": 1}}), "text:"),
            (json!({"n": {"$not": 1}}), "n:"),
            (json!({"n": {"$unknown": 1}}), "n:"),
            (json!({"$exact": {"n": 1}}), "it:"),
            (json!([]), "it:"),
        ] {
            let difference = difference(&expected, &actual).unwrap_or_else(|| panic!("{expected} matches"));
            assert!(difference.starts_with(path), "{difference}");
        }
    }
}
