//! Waiting for work in a host that has to be asked whether to go on.

use rheo_core::{ClockOption, FetchOptions, Group, Instance, Lease, Result, limits};
use std::time::{Duration, Instant};

/// How long a wait goes on before the host is asked again, in milliseconds: a key press is answered before anybody
/// wonders, and ten checks a second cost nothing.
const CHECK_EVERY_MS: u64 = 100;

/// Fetches as [`Group::fetch_into`] does, and calls `check` between pieces of the wait, at least every 100 ms: for
/// Python, whose Ctrl-C shows only when one looks. No lock is held meanwhile. `instance` is the group's.
///
/// # Errors
/// Those of `fetch_into`; and what `check` gives ends the wait, with nothing claimed.
pub fn fetch(
    instance: &Instance,
    group: &Group,
    options: &FetchOptions<'_>,
    leases: &mut Vec<Lease>,
    check: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    limits::check_duration("wait_ms", options.wait_ms, 0)?;
    let deadline = Instant::now() + Duration::from_millis(options.wait_ms);
    // As in one long wait, a manual clock ends it by moving, and real time ends it as well.
    let manual_deadline = match instance.options().clock {
        ClockOption::Manual { .. } => {
            Some(instance.now()?.plus_millis(i64::try_from(options.wait_ms).unwrap_or(i64::MAX)))
        }
        ClockOption::System => None,
    };
    let mut wait_ms = options.wait_ms.min(CHECK_EVERY_MS);
    loop {
        group.fetch_into(&FetchOptions { wait_ms, ..*options }, leases)?;
        let mut left_ms = deadline.saturating_duration_since(Instant::now()).as_millis() as u64;
        if let Some(end) = manual_deadline {
            let left = end.as_micros().saturating_sub(instance.now()?.as_micros()).max(0) / 1000;
            left_ms = left_ms.min(left as u64);
        }
        let interrupted = options.interrupt.is_some_and(rheo_core::Interrupt::is_fired);
        // Who asks for nothing waits for nothing.
        let asks_for_nothing = options.limit == Some(0) || options.partitions.is_some_and(<[u32]>::is_empty);
        if !leases.is_empty() || left_ms == 0 || interrupted || asks_for_nothing {
            return Ok(());
        }
        check()?;
        wait_ms = left_ms.min(CHECK_EVERY_MS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rheo_core::{Append, Error, ErrorCode, GroupOptions, OpenOptions, StreamOptions};

    fn group(options: OpenOptions) -> (Instance, Group) {
        let db = rheo_core::open("memory:", options).unwrap();
        db.create_stream("s", StreamOptions::default()).unwrap();
        db.create_group("s", "g", &GroupOptions::default()).unwrap();
        let group = db.group("s", "g").unwrap();
        (db, group)
    }

    /// Long enough that a wait which nothing ends would be seen as a hanging test.
    const LONG: FetchOptions<'static> = FetchOptions {
        wait_ms: 3_600_000,
        limit: None,
        lease_ms: None,
        consumer_id: None,
        partitions: None,
        interrupt: None,
    };

    #[test]
    fn the_hosts_error_ends_the_wait() {
        let (db, group) = group(OpenOptions::new());
        let mut leases = Vec::new();
        let stop = Error::new(ErrorCode::Timeout, "Ctrl-C");
        let result = fetch(&db, &group, &LONG, &mut leases, &mut || Err(stop.clone()));
        assert_eq!(result, Err(stop));
    }

    #[test]
    fn a_wait_beyond_ten_years_is_refused() {
        let (db, group) = group(OpenOptions::new());
        let options = FetchOptions { wait_ms: u64::MAX, ..LONG };
        let error = fetch(&db, &group, &options, &mut Vec::new(), &mut || Ok(())).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
    }

    #[test]
    fn who_asks_for_nothing_waits_for_nothing() {
        let (db, group) = group(OpenOptions::new());
        let mut leases = Vec::new();
        for options in [LONG.limit(0), LONG.partitions(&[])] {
            let mut never = || -> Result<()> { panic!("it waits") };
            fetch(&db, &group, &options, &mut leases, &mut never).unwrap();
            assert!(leases.is_empty());
        }
    }

    #[test]
    fn work_that_comes_meanwhile_ends_the_wait() {
        let (db, group) = group(OpenOptions::new());
        let mut leases = Vec::new();
        let mut append = || db.append("s", &Append::json("1")).map(drop);
        fetch(&db, &group, &LONG, &mut leases, &mut append).unwrap();
        assert_eq!(leases.len(), 1);
    }

    #[test]
    fn a_manual_clock_ends_the_wait_by_moving() {
        let (db, group) = group(OpenOptions::new().manual_clock(None));
        let mut leases = Vec::new();
        let mut checks = 0;
        let mut advance = || {
            checks += 1;
            db.advance_clock(1_800_000).map(drop)
        };
        fetch(&db, &group, &LONG, &mut leases, &mut advance).unwrap();
        assert!(leases.is_empty());
        assert_eq!(checks, 2);
    }
}
