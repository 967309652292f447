//! Many leases given as the text of their tokens.

use rheo_core::{Error, ErrorCode, LeaseToken, Result};

/// Settles the leases of many tokens, of which some may be malformed: those have that error in their places, the others
/// what `settle` gives for them, in order. A text that could not even be read is an error in its place too.
///
/// # Errors
/// What `settle` gives for the whole call.
pub fn settle_tokens<'a, T>(
    texts: impl IntoIterator<Item = Result<&'a str>>,
    settle: impl FnOnce(&[&LeaseToken]) -> Result<Vec<Result<T>>>,
) -> Result<Vec<Result<T>>> {
    let parsed: Vec<Result<LeaseToken>> = texts.into_iter().map(|text| text?.parse()).collect();
    let well_formed: Vec<&LeaseToken> = parsed.iter().flatten().collect();
    let mut results = settle(&well_formed)?.into_iter();
    let too_few = || Error::new(ErrorCode::Internal, "settling gave too few results; this is a bug, please report it");
    let result_of = |token: &Result<LeaseToken>| match token {
        Ok(_) => results.next().unwrap_or_else(|| Err(too_few())),
        Err(error) => Err(error.clone()),
    };
    Ok(parsed.iter().map(result_of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rheo_core::{Append, FetchOptions, GroupOptions, OpenOptions, StreamOptions};

    #[test]
    fn malformed_tokens_fail_in_their_places() {
        let db = rheo_core::open("memory:", OpenOptions::new()).unwrap();
        db.create_stream("s", StreamOptions::default()).unwrap();
        db.create_group("s", "g", &GroupOptions::default()).unwrap();
        for _ in 0..2 {
            db.append("s", &Append::json("1")).unwrap();
        }
        let leases = db.fetch("s", "g", &FetchOptions::new()).unwrap();
        let texts: Vec<String> = leases.iter().map(|lease| lease.token().to_string()).collect();
        let unreadable = Error::new(ErrorCode::InvalidArgument, "not UTF-8");
        let given = [Ok("rheo1.no"), Ok(&*texts[1]), Err(unreadable.clone()), Ok(&*texts[0]), Ok(&*texts[1])];
        let results = settle_tokens(given, |tokens| db.ack_many(tokens)).unwrap();
        let codes: Vec<_> = results.iter().map(|result| result.as_ref().err().map(Error::code)).collect();
        let (malformed, stale) = (Some(ErrorCode::InvalidArgument), Some(ErrorCode::StaleLease));
        assert_eq!(codes, [malformed, None, malformed, None, stale]);
        assert_eq!(results[2], Err(unreadable));
        assert_eq!(settle_tokens([], |tokens| db.ack_many(tokens)), Ok(vec![]));
    }
}
