//! References and generated values: what an object with a `$` name stands for.

use rheo_core::backend::Binding;
use rheo_core::{LeaseContext, LeaseId, LeaseToken};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Where the clock of every scenario starts, in microseconds since the epoch.
pub(crate) const CLOCK_START: i64 = 1_700_000_000_000_000;

/// The most elements that one value may generate, so that a mistake in a scenario does not take all memory.
const MOST_GENERATED: u64 = 100_000;
/// The most bytes that a repeated text may have.
const MOST_REPEATED: u64 = 64 << 20;

/// What values are made from.
pub(crate) struct Values<'a> {
    /// What was saved, by name.
    pub(crate) saved: &'a HashMap<String, Value>,
    /// The counter of the loop around the value.
    pub(crate) index: Option<u64>,
    /// What makes a text unique to this run of the scenario.
    pub(crate) unique: &'a str,
}

impl Values<'_> {
    /// The value with everything put in. Names that stand for nothing here (matchers) stay.
    pub(crate) fn resolve(&self, value: &Value) -> Result<Value, String> {
        match value {
            Value::Array(elements) => elements.iter().map(|element| self.resolve(element)).collect(),
            Value::Object(fields) => match self.form(fields) {
                Some(made) => made.map_err(|error| format!("{value}: {error}")),
                None => Ok(Value::Object(self.resolve_fields(fields)?)),
            },
            plain => Ok(plain.clone()),
        }
    }

    /// The same for every field of an object that is none of the forms.
    pub(crate) fn resolve_fields(&self, fields: &Map<String, Value>) -> Result<Map<String, Value>, String> {
        fields.iter().map(|(name, value)| Ok((name.clone(), self.resolve(value)?))).collect()
    }

    /// The value of an object that is one of the forms.
    fn form(&self, fields: &Map<String, Value>) -> Option<Result<Value, String>> {
        let (name, operand) = fields.iter().find(|(name, _)| name.starts_with('$'))?;
        let others: Vec<&str> = fields.keys().map(String::as_str).filter(|other| other != name).collect();
        let allowed: &[&str] = match name.as_str() {
            "$ref" | "$time" | "$integer" | "$index" | "$concat" | "$unique" => &[],
            "$repeat" | "$generate" => &["count"],
            "$slice" => &["from", "to", "step"],
            "$token" => &["stream", "group", "partition", "sequence", "lease_id", "receipt", "lease_ms"],
            _ => return None,
        };
        if let Some(other) = others.iter().find(|other| !allowed.contains(other)) {
            return Some(Err(format!("{other:?} does not belong there")));
        }
        Some(match name.as_str() {
            "$ref" => text(operand).and_then(|path| self.reference(path)),
            "$time" => signed(operand).map(|millis| json!(CLOCK_START + millis * 1000)),
            "$integer" => text(operand).and_then(exact_integer),
            "$index" => unsigned(operand).and_then(|offset| {
                self.index.map(|index| json!(index + offset)).ok_or_else(|| "there is no loop around it".into())
            }),
            "$concat" => self.concat(operand),
            "$unique" => text(operand).map(|start| json!(format!("{start}-{}", self.unique))),
            "$repeat" => self.repeat(operand, fields),
            "$generate" => self.generate(operand, fields),
            "$slice" => self.slice(operand, fields),
            _ => self.forge(operand, fields),
        })
    }

    fn reference(&self, path: &str) -> Result<Value, String> {
        let mut parts = path.split('.');
        let name = parts.next().unwrap_or_default();
        let saved = self.saved.get(name).ok_or_else(|| format!("nothing was saved as {name:?}"))?;
        let found = parts.try_fold(saved, |value, part| match value {
            Value::Array(elements) => part.parse::<usize>().ok().and_then(|index| elements.get(index)),
            _ => value.get(part),
        });
        found.cloned().ok_or_else(|| format!("{name:?} has no such part"))
    }

    fn concat(&self, parts: &Value) -> Result<Value, String> {
        let Value::Array(parts) = self.resolve(parts)? else { return Err("$concat takes a list".into()) };
        let mut joined = String::new();
        for part in &parts {
            match part {
                Value::String(part) => joined.push_str(part),
                Value::Number(part) => joined.push_str(&part.to_string()),
                other => return Err(format!("$concat takes texts and integers, not {other}")),
            }
        }
        Ok(Value::String(joined))
    }

    fn repeat(&self, operand: &Value, fields: &Map<String, Value>) -> Result<Value, String> {
        let (part, count) = (text(operand)?, unsigned(fields.get("count").ok_or("$repeat needs a count")?)?);
        match (part.len() as u64).checked_mul(count) {
            Some(bytes) if bytes <= MOST_REPEATED => Ok(Value::String(part.repeat(count as usize))),
            _ => Err(format!("that is more than {MOST_REPEATED} bytes")),
        }
    }

    fn generate(&self, template: &Value, fields: &Map<String, Value>) -> Result<Value, String> {
        let count = unsigned(fields.get("count").ok_or("$generate needs a count")?)?;
        if count > MOST_GENERATED {
            return Err(format!("that is more than {MOST_GENERATED} elements"));
        }
        (0..count).map(|index| Values { index: Some(index), ..*self }.resolve(template)).collect()
    }

    fn slice(&self, operand: &Value, fields: &Map<String, Value>) -> Result<Value, String> {
        let part = |name, default| fields.get(name).map_or(Ok(default), unsigned);
        let (from, to, step) = (part("from", 0)?, part("to", u64::MAX)?, part("step", 1)?);
        let (skip, take) = (from as usize, to.saturating_sub(from) as usize);
        match self.resolve(operand)? {
            Value::Array(elements) if step > 0 => {
                Ok(elements.into_iter().skip(skip).take(take).step_by(step as usize).collect())
            }
            Value::String(text) if step == 1 => Ok(Value::String(text.chars().skip(skip).take(take).collect())),
            other => Err(format!("$slice takes a list, or a text with step 1, not {other}")),
        }
    }

    /// The token of a lease, with parts of it replaced.
    fn forge(&self, lease: &Value, fields: &Map<String, Value>) -> Result<Value, String> {
        let lease = self.resolve(lease)?;
        let token: LeaseToken = text(&lease["token"])?.parse().map_err(|error: rheo_core::Error| error.to_string())?;
        let part = |name| fields.get(name).map(|value| self.resolve(value)).transpose();
        let text_part =
            |name, own: &str| Ok::<_, String>(part(name)?.as_ref().map(text).transpose()?.unwrap_or(own).to_owned());
        let number_part =
            |name, own: u64| Ok::<_, String>(part(name)?.as_ref().map(unsigned).transpose()?.unwrap_or(own));
        let lease_id = match part("lease_id")? {
            Some(id) => lease_id(text(&id)?)?,
            None => token.lease_id(),
        };
        let receipt = match part("receipt")? {
            Some(receipt) => Some(text(&receipt)?.into()),
            None => token.own_receipt().map(Into::into),
        };
        let context = LeaseContext::new(
            text_part("stream", token.stream())?.into(),
            text_part("group", token.group())?.into(),
            "".into(),
            Binding::default(),
        );
        let partition = number_part("partition", token.partition().into())?;
        let forged = LeaseToken::new(
            context,
            u32::try_from(partition).map_err(|_| format!("partition {partition} does not fit a token"))?,
            number_part("sequence", token.sequence())?,
            lease_id,
            receipt,
            number_part("lease_ms", token.lease_ms())?,
        );
        Ok(Value::String(forged.to_string()))
    }
}

fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| format!("{value} is not text"))
}

fn unsigned(value: &Value) -> Result<u64, String> {
    value.as_u64().ok_or_else(|| format!("{value} is not a whole number from 0"))
}

fn signed(value: &Value) -> Result<i64, String> {
    value.as_i64().ok_or_else(|| format!("{value} is not a whole number"))
}

fn exact_integer(digits: &str) -> Result<Value, String> {
    digits
        .parse::<u64>()
        .map(Value::from)
        .or_else(|_| digits.parse::<i64>().map(Value::from))
        .map_err(|_| format!("{digits:?} is not an integer of 64 bits"))
}

fn lease_id(digits: &str) -> Result<LeaseId, String> {
    match u128::from_str_radix(digits, 16) {
        Ok(id) if digits.len() == LeaseId::TEXT_LEN => Ok(LeaseId::from_bytes(id.to_be_bytes())),
        _ => Err(format!("{digits:?} is not a lease id")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(value: &Value) -> Result<Value, String> {
        let saved = HashMap::from([("e".to_owned(), json!([{"id": "a"}, {"id": "b"}]))]);
        Values { saved: &saved, index: Some(7), unique: "u" }.resolve(value)
    }

    #[test]
    fn forms_are_put_in() {
        for (value, expected) in [
            (json!({"$ref": "e.1.id"}), json!("b")),
            (json!({"a": [{"$time": -1}]}), json!({"a": [CLOCK_START - 1000]})),
            (json!({"$integer": "18446744073709551615"}), json!(u64::MAX)),
            (json!({"$integer": "-9223372036854775808"}), json!(i64::MIN)),
            (json!({"$index": 3}), json!(10)),
            (json!({"$concat": ["x", {"$index": 0}, "y"]}), json!("x7y")),
            (json!({"$unique": "x"}), json!("x-u")),
            (json!({"$repeat": "ab", "count": 2}), json!("abab")),
            (json!({"$generate": {"id": {"$index": 1}}, "count": 2}), json!([{"id": 1}, {"id": 2}])),
            (json!({"$slice": [1, 2, 3, 4, 5], "from": 1, "step": 2}), json!([2, 4])),
            (json!({"$slice": "héllo", "from": 1, "to": 3}), json!("él")),
            (json!({"$ge": {"$time": 0}}), json!({"$ge": CLOCK_START})),
        ] {
            assert_eq!(resolve(&value), Ok(expected), "{value}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for value in [
            json!({"$ref": "nobody.0"}),
            json!({"$ref": "e.2"}),
            json!({"$ref": "e", "count": 1}),
            json!({"$integer": "1.5"}),
            json!({"$generate": 1, "count": 1_000_000}),
            json!({"$token": {"token": "x"}}),
        ] {
            assert!(resolve(&value).is_err(), "{value}");
        }
    }
}
