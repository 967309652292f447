//! Values from JSON: sequences, partitions, lists of ids, orders, whole sets of options.

use super::options::Options;
use super::{invalid, number, shown};
use rheo_core::{Direction, Error, ErrorCode, OrderField, Result, Sequences};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// One sequence for all partitions, or one each: a number as in `3`, or a map as in `{"0": 3, "2": 1}`.
///
/// # Errors
/// `invalid_argument` for anything else, `invalid_partition` for a number that no partition has; `what` is the
/// argument's name.
pub fn sequences(what: &str, text: &str) -> Result<Sequences> {
    let wanted = "a sequence, such as 3, or a map of partitions to sequences, such as {\"0\": 3}";
    if let Ok(sequence) = text.trim().parse::<u64>() {
        return Ok(Sequences::All(sequence));
    }
    let map: BTreeMap<i64, u64> = parse(what, text, wanted)?;
    let entry = |(partition, sequence)| Ok((in_range(what, partition)?, sequence));
    map.into_iter().map(entry).collect::<Result<_>>().map(Sequences::Map)
}

/// A list of partitions, as in `[0, 2]`.
///
/// # Errors
/// `invalid_argument` for anything else, `invalid_partition` for a number that no partition has; `what` is the
/// argument's name.
pub fn partitions(what: &str, text: &str) -> Result<Vec<u32>> {
    let list: Vec<i64> = parse(what, text, "a list of partitions, such as [0, 2]")?;
    list.into_iter().map(|partition| in_range(what, partition)).collect()
}

/// A partition, as in `2`.
///
/// # Errors
/// `invalid_argument` for anything else, `invalid_partition` for a number that no partition has; `what` is the
/// argument's name.
pub fn partition(what: &str, text: &str) -> Result<u32> {
    in_range(what, integer(what, text)?)
}

/// Every backend has partitions from 0 on; whether there is one of this number only a stream can tell.
fn in_range(what: &str, partition: i64) -> Result<u32> {
    u32::try_from(partition).map_err(|_| {
        let message = format!("{what} names partition {partition}; partitions are numbered from 0");
        Error::new(ErrorCode::InvalidPartition, message)
    })
}

/// A list of texts, as in `["a", "b"]`.
///
/// # Errors
/// `invalid_argument` for anything else; `what` is the argument's name.
pub fn texts(what: &str, text: &str) -> Result<Vec<String>> {
    parse(what, text, "a list of texts, such as [\"a\", \"b\"]")
}

/// An order: a list of pairs of a field and a direction, as in `[["timestamp", "desc"], ["sequence", "asc"]]`.
///
/// # Errors
/// `invalid_argument` for anything else.
pub fn order_by(text: &str) -> Result<Vec<(OrderField, Direction)>> {
    let wanted = "a list of pairs of a field and a direction, such as [[\"sequence\", \"desc\"]]";
    let pairs: Vec<(String, String)> = parse("order_by", text, wanted)?;
    pairs.iter().map(|(field, direction)| Ok((field.parse()?, direction.parse()?))).collect()
}

/// Sets options from an object: each field by its name. Text is given as it is, any other value as its JSON; a field
/// that is null is as good as missing.
///
/// # Errors
/// `invalid_argument` when the text is no object, for an unknown name and for a value that does not fit; options
/// before it in the object are set then.
pub fn set_all<O: Options>(options: &mut O, what: &str, text: &str) -> Result<()> {
    let fields: Map<String, Value> = parse(what, text, "a JSON object of options")?;
    for (name, value) in &fields {
        match value {
            Value::Null => {}
            Value::String(text) => options.set(name, text)?,
            value => options.set(name, &value.to_string())?,
        }
    }
    Ok(())
}

/// A whole number as text, in the range of `N`.
///
/// # Errors
/// `invalid_argument` for anything else; `what` is the argument's name.
pub fn integer<N: TryFrom<i64>>(what: &str, text: &str) -> Result<N> {
    match text.trim().parse::<i64>() {
        Ok(value) => number(what, value),
        Err(_) => Err(unfit(what, text, "a whole number")),
    }
}

/// `true` or `false`.
///
/// # Errors
/// `invalid_argument` for anything else; `what` is the argument's name.
pub fn boolean(what: &str, text: &str) -> Result<bool> {
    text.trim().parse().map_err(|_| unfit(what, text, "true or false"))
}

/// A sequence as text: a whole number from 0 up to the largest of 64 bits.
///
/// # Errors
/// `invalid_argument` for anything else; `what` is the argument's name.
pub fn sequence(what: &str, text: &str) -> Result<u64> {
    text.trim().parse().map_err(|_| unfit(what, text, "a sequence, such as 3"))
}

fn parse<T: DeserializeOwned>(what: &str, text: &str, wanted: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|_| unfit(what, text, wanted))
}

#[cold]
pub(super) fn unfit(what: &str, text: &str, wanted: &str) -> Error {
    invalid(format!("{what} is {:?}; it takes {wanted}", shown(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rheo_core::Query;

    #[test]
    fn sequences_are_a_number_or_a_map() {
        assert_eq!(sequences("s", " 18446744073709551615 "), Ok(Sequences::All(u64::MAX)));
        assert_eq!(sequences("s", r#"{"0": 3, "70000": 1}"#), Ok(Sequences::Map([(0, 3), (70_000, 1)].into())));
        assert_eq!(sequences("s", "{}"), Ok(Sequences::Map(BTreeMap::new())));
        for bad in ["", "-1", "1.5", "[1]", r#"{"a": 1}"#, r#"{"0": -1}"#, r#"{"0": "1"}"#, "18446744073709551616"] {
            let error = sequences("start_after", bad).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidArgument);
            assert!(error.message().starts_with(&format!("start_after is {bad:?}")), "{}", error.message());
        }
    }

    #[test]
    fn lists() {
        assert_eq!(partitions("p", "[]"), Ok(vec![]));
        assert_eq!(partitions("p", "[2,0,2]"), Ok(vec![2, 0, 2]));
        assert!(partitions("p", "0").is_err());
        assert_eq!(texts("ids", r#"["a","b"]"#), Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert!(texts("ids", r#"["a",1]"#).is_err());
        let order = order_by(r#"[["timestamp","desc"],["sequence","asc"]]"#);
        assert_eq!(
            order,
            Ok(vec![(OrderField::Timestamp, Direction::Descending), (OrderField::Sequence, Direction::Ascending)])
        );
        for bad in ["", "sequence", r#"["sequence","asc"]"#, r#"[["sequence"]]"#, r#"[["id","asc"]]"#] {
            assert_eq!(order_by(bad).unwrap_err().code(), ErrorCode::InvalidArgument, "{bad}");
        }
    }

    #[test]
    fn partitions_that_no_stream_has() {
        assert_eq!(partition("p", "7"), Ok(7));
        let refused = [partition("p", "-1"), partition("p", "4294967296")];
        let lists = [partitions("p", "[0,-1]").map(|_| 0), sequences("p", r#"{"-1": 3}"#).map(|_| 0)];
        for result in refused.into_iter().chain(lists) {
            assert_eq!(result.unwrap_err().code(), ErrorCode::InvalidPartition);
        }
        assert_eq!(partition("p", "one").unwrap_err().code(), ErrorCode::InvalidArgument);
    }

    #[test]
    fn numbers_name_what_is_wrong() {
        assert_eq!(integer::<u32>("limit", "7"), Ok(7));
        assert_eq!(integer::<u32>("limit", "-7").unwrap_err().message(), "limit is -7; it takes 0 or more");
        assert_eq!(
            integer::<u32>("limit", "7000000000").unwrap_err().message(),
            "limit is 7000000000; that is too large"
        );
        assert_eq!(
            integer::<u32>("limit", "many").unwrap_err().message(),
            "limit is \"many\"; it takes a whole number"
        );
        assert_eq!(boolean("force", "true"), Ok(true));
        assert!(boolean("force", "1").is_err());
    }

    #[test]
    fn an_object_sets_options_by_name() {
        let mut query = Query::new();
        set_all(
            &mut query,
            "query",
            r#"{"where": {"a": 1}, "limit": 5, "from": null, "order_by": [["sequence","desc"]]}"#,
        )
        .unwrap();
        assert_eq!(query.conditions.len(), 1);
        assert_eq!((query.limit, query.from), (Some(5), None));
        assert_eq!(query.order_by, [(OrderField::Sequence, Direction::Descending)]);
        assert!(set_all(&mut query, "query", r#"{"were": {}}"#).unwrap_err().message().contains("\"were\""));
        assert!(set_all(&mut query, "query", "[]").unwrap_err().message().starts_with("query is \"[]\""));
    }
}
