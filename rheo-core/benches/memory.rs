//! What events cost in memory. Appends events with keys, lets one group fetch and ack all of them within one lease's
//! life, and once more after a replay, and prints what is resident before, between and after, in bytes for one event;
//! `bench/run.py` sets that against the targets. Linux only: elsewhere it prints the payload alone.
//!
//! Arguments: the number of events (10 million).

use rheo_core::{
    Append, AppendOptions, FetchOptions, Group, GroupOptions, Lease, OpenOptions, ReplayOptions, StreamOptions, open,
};
use std::time::{Duration, Instant};

const PAYLOAD: [u8; 128] = [b'x'; 128];
const KEYS: u64 = 100_000;
const PARTITIONS: u32 = 4;
const BATCH: u64 = 1000;
const LEASE: Duration = Duration::from_secs(3600);

fn main() {
    let events = std::env::args().skip(1).find(|argument| argument != "--bench");
    let events: u64 = events.map_or(10_000_000, |number| number.parse().expect("the number of events"));
    println!("payload\t{:.1}", PAYLOAD.len() as f64);
    let Some(before) = resident() else { return };

    let db = open("memory:", OpenOptions::new()).expect("memory opens");
    db.create_stream("orders", StreamOptions::partitions(PARTITIONS)).expect("created");
    db.create_group("orders", "billing", &GroupOptions::default()).expect("created");
    let orders = db.stream("orders").expect("a good name");
    let billing = db.group("orders", "billing").expect("good names");

    let mut next = 0;
    while next < events {
        let keys: Vec<String> =
            (next..events.min(next + BATCH)).map(|event| format!("customer-{:07}", event % KEYS)).collect();
        let items: Vec<Append<'_>> = keys.iter().map(|key| Append::bytes(&PAYLOAD).key(key)).collect();
        orders.append_batch(&items, &AppendOptions::default()).expect("appended");
        next += keys.len() as u64;
    }
    let appended = resident().expect("it was known before");

    let began = Instant::now();
    let most = consume(&billing, events);
    let consumed = resident().expect("it was known before");
    let all = ReplayOptions { from_sequence: Some(0.into()), ..Default::default() };
    assert_eq!(billing.replay(&all).expect("replayed"), events);
    consume(&billing, events);
    let again = resident().expect("it was known before");
    assert!(began.elapsed() < LEASE, "the first lease would have expired by now");

    let cases = [
        ("resident_before", before),
        ("resident_appended", appended),
        ("resident_while_consuming", most),
        ("resident_consumed", consumed),
        ("resident_consumed_again", again),
    ];
    for (name, bytes) in cases {
        println!("{name}\t{:.1}", bytes as f64 / events as f64);
    }
}

/// Fetches and acks so many events, which are all there are, and returns the most that was resident meanwhile.
fn consume(billing: &Group, events: u64) -> u64 {
    let options = FetchOptions::new().limit(BATCH as usize).lease_ms(LEASE.as_millis() as u64);
    let mut leases: Vec<Lease> = Vec::new();
    let mut most = 0;
    let mut acked = 0;
    while acked < events {
        billing.fetch_into(&options, &mut leases).expect("fetched");
        assert!(!leases.is_empty(), "{acked} events of {events} came");
        assert!(billing.ack_many(&leases).expect("acked").iter().all(Result::is_ok));
        acked += leases.len() as u64;
        most = most.max(resident().expect("it was known before"));
    }
    assert_eq!(billing.lag(None).expect("known").lag(), 0);
    most
}

/// The bytes of this process that are in memory.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
