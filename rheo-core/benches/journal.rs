//! Measures the journal against floors: loops that write the same bytes with the same system calls, and nothing else.
//! See `common` for how, and `bench/run.py` for the ratios. Files lie in the system's place for temporary files, or in
//! `RHEO_BENCH_DIR`; what a sync costs is a matter of what is behind that.

mod common;

use common::{Named, Run, measure, timed};
use rheo_core::{
    Append, AppendOptions, FetchOptions, Group, GroupOptions, Instance, JournalOptions, Lease, OpenOptions,
    StreamOptions, SyncPolicy, open,
};
use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Barrier;
use std::time::Instant;
use tempfile::TempDir;

const PAYLOAD: [u8; 128] = [b'x'; 128];
/// What a record of one such event is long: its frame, its place, and the event with its head and its id.
const RECORD: usize = 32 + 3 + 36 + 128;
/// The same of a hundred.
const RECORD_OF_100: usize = 32 + 100 * (RECORD - 32);

fn main() {
    let cases: [Named; 19] = [
        ("floor_write", 50_000, floor_write),
        ("journal_append", 50_000, || append(SyncPolicy::Never)),
        ("floor_batch_100", 200_000, floor_batch),
        ("journal_append_batch_100", 200_000, append_batch),
        ("floor_sync", 300, floor_sync),
        ("journal_append_synced", 300, || append(SyncPolicy::Always)),
        ("journal_append_synced_32_threads", 9_600, append_synced_by_threads),
        ("memory_fetch_100_ack_many", 100_000, || fetch_many("memory:", None)),
        ("journal_fetch_100_ack_many", 100_000, || {
            let place = directory();
            fetch_many(&url(&place), Some(place))
        }),
        ("floor_two_writes", 50_000, floor_two_writes),
        ("journal_fetch_ack", 50_000, fetch_ack),
        ("floor_read_batches", 1_000_000, || floor_read(100)),
        ("journal_recover_batches", 1_000_000, || recover(100)),
        ("floor_read_singles", 300_000, || floor_read(1)),
        ("journal_recover_singles", 300_000, || recover(1)),
        ("floor_read_consumed", 300_000, || floor_read(0)),
        ("journal_recover_consumed", 300_000, || recover(0)),
        ("memory_append", 50_000, || append_in_memory(1)),
        ("memory_append_batch_100", 200_000, || append_in_memory(100)),
    ];
    measure(&cases);
}

fn directory() -> TempDir {
    let place = std::env::var_os("RHEO_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    tempfile::tempdir_in(place).expect("a directory for the files")
}

fn url(place: &TempDir) -> String {
    format!("journal:{}", place.path().join("journal").display())
}

fn journal(place: &TempDir, sync: SyncPolicy) -> Instance {
    let journal = JournalOptions { sync: Some(sync), ..JournalOptions::default() };
    open(&url(place), OpenOptions { journal, ..OpenOptions::new() }).expect("the journal opens")
}

fn file(place: &TempDir) -> File {
    File::create(place.path().join("file")).expect("the file opens")
}

/// An append without a journal: one `write` of as many bytes.
fn floor_write() -> Run {
    let place = directory();
    let record = [7; RECORD];
    Box::new(move |count| {
        let mut file = file(&place);
        timed(count, |_| file.write_all(&record).expect("written"))
    })
}

fn floor_two_writes() -> Run {
    let place = directory();
    let record = [7; 48];
    Box::new(move |count| {
        let mut file = file(&place);
        timed(count, |_| {
            file.write_all(&record).expect("written");
            file.write_all(&record).expect("written");
        })
    })
}

/// A batch without a journal: encodes, checksums and writes as many bytes, and keeps the events in memory.
fn floor_batch() -> Run {
    let place = directory();
    Box::new(move |count| {
        let mut file = file(&place);
        let mut record: Vec<u8> = Vec::new();
        let mut kept: Vec<Vec<u8>> = Vec::new();
        let mut chunk: Vec<u8> = Vec::with_capacity(1 << 20);
        timed(count / 100, |_| {
            record.clear();
            record.resize(32, 0);
            for sequence in 0..100_u8 {
                let start = record.len();
                record.extend_from_slice(&[sequence; 3 + 36]);
                record.extend_from_slice(&PAYLOAD);
                if chunk.len() + 164 > chunk.capacity() {
                    kept.push(std::mem::replace(&mut chunk, Vec::with_capacity(1 << 20)));
                }
                chunk.extend_from_slice(&record[start + 3..]);
            }
            let checksum = crc32c::crc32c(&record[8..]);
            record[4..8].copy_from_slice(&checksum.to_le_bytes());
            assert_eq!(record.len(), RECORD_OF_100);
            file.write_all(&record).expect("written");
        }) / 100.0
    })
}

fn floor_sync() -> Run {
    let place = directory();
    let record = [7; RECORD];
    Box::new(move |count| {
        let mut file = file(&place);
        timed(count, |_| {
            file.write_all(&record).expect("written");
            file.sync_data().expect("synced");
        })
    })
}

/// A stream of its own for each round, gone before the next.
fn with_stream(db: &Instance, work: impl FnOnce() -> f64) -> f64 {
    db.create_stream("orders", StreamOptions::default()).expect("created");
    db.create_group("orders", "billing", &GroupOptions::default()).expect("created");
    let nanos = work();
    db.delete_stream("orders", true).expect("deleted");
    nanos
}

fn append_to(db: &Instance, count: u64) -> f64 {
    with_stream(db, || {
        let orders = db.stream("orders").expect("a good name");
        timed(count, |_| drop(black_box(orders.append(&Append::bytes(&PAYLOAD)).expect("appended"))))
    })
}

fn append_batches_to(db: &Instance, count: u64) -> f64 {
    let items = [Append::bytes(&PAYLOAD); 100];
    with_stream(db, || {
        let orders = db.stream("orders").expect("a good name");
        timed(count / 100, |_| {
            black_box(orders.append_batch(&items, &AppendOptions::default()).expect("appended"));
        }) / 100.0
    })
}

fn append(sync: SyncPolicy) -> Run {
    let place = directory();
    let db = journal(&place, sync);
    Box::new(move |count| {
        let _ = &place;
        append_to(&db, count)
    })
}

fn append_in_memory(at_a_time: u64) -> Run {
    let db = open("memory:", OpenOptions::new()).expect("memory opens");
    Box::new(move |count| if at_a_time == 1 { append_to(&db, count) } else { append_batches_to(&db, count) })
}

fn append_batch() -> Run {
    let place = directory();
    let db = journal(&place, SyncPolicy::Never);
    Box::new(move |count| {
        let _ = &place;
        append_batches_to(&db, count)
    })
}

fn append_synced_by_threads() -> Run {
    const THREADS: u64 = 32;
    let place = directory();
    let db = journal(&place, SyncPolicy::Always);
    Box::new(move |count| {
        let _ = &place;
        with_stream(&db, || {
            let begin = Barrier::new(THREADS as usize + 1);
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..THREADS)
                    .map(|_| {
                        scope.spawn(|| {
                            let orders = db.stream("orders").expect("a good name");
                            begin.wait();
                            for _ in 0..count / THREADS {
                                orders.append(&Append::bytes(&PAYLOAD)).expect("appended");
                            }
                        })
                    })
                    .collect();
                begin.wait();
                let started = Instant::now();
                threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
                started.elapsed().as_nanos() as f64 / count as f64
            })
        })
    })
}

fn with_backlog(db: &Instance, count: u64, work: impl FnOnce(&Group) -> f64) -> f64 {
    let items = vec![Append::bytes(&PAYLOAD); 1000];
    with_stream(db, || {
        for _ in 0..count.div_ceil(1000) {
            db.append_batch("orders", &items, &AppendOptions::default()).expect("appended");
        }
        work(&db.group("orders", "billing").expect("good names"))
    })
}

fn fetch_many(url: &str, place: Option<TempDir>) -> Run {
    let db = open(url, if place.is_some() { OpenOptions::new().sync(SyncPolicy::Never) } else { OpenOptions::new() });
    let db = db.expect("it opens");
    let hundred = FetchOptions::new().limit(100);
    Box::new(move |count| {
        let _ = &place;
        with_backlog(&db, count, |billing| {
            let mut leases: Vec<Lease> = Vec::new();
            timed(count / 100, |_| {
                leases.clear();
                billing.fetch_into(&hundred, &mut leases).expect("fetched");
                let held: Vec<&Lease> = leases.iter().collect();
                assert!(billing.ack_many(&held).expect("acked").iter().all(Result::is_ok) && held.len() == 100);
            }) / 100.0
        })
    })
}

fn fetch_ack() -> Run {
    let place = directory();
    let db = journal(&place, SyncPolicy::Never);
    let one = FetchOptions::new().limit(1);
    Box::new(move |count| {
        let _ = &place;
        with_backlog(&db, count, |billing| {
            let mut leases: Vec<Lease> = Vec::new();
            timed(count, |_| {
                leases.clear();
                billing.fetch_into(&one, &mut leases).expect("fetched");
                billing.ack(&leases[0]).expect("acked");
            })
        })
    })
}

/// A journal with so many events, appended so many at a time; 0: singly, and then all of them fetched and acked.
fn filled(count: u64, at_a_time: usize) -> TempDir {
    let place = directory();
    let db = journal(&place, SyncPolicy::Never);
    db.create_stream("orders", StreamOptions::default()).expect("created");
    db.create_group("orders", "billing", &GroupOptions::default()).expect("created");
    let items = vec![Append::bytes(&PAYLOAD); at_a_time.max(1)];
    for _ in 0..count / items.len() as u64 {
        db.append_batch("orders", &items, &AppendOptions::default()).expect("appended");
    }
    if at_a_time == 0 {
        let ten = FetchOptions::new().limit(10);
        let fetch = || db.fetch("orders", "billing", &ten).expect("fetched");
        let mut leases = fetch();
        while !leases.is_empty() {
            db.ack_many(&leases).expect("acked");
            leases = fetch();
        }
    }
    place
}

/// Reads the files of a journal from one end to the other and checksums them.
fn floor_read(at_a_time: usize) -> Run {
    let mut place = None;
    Box::new(move |count| {
        let place = place.get_or_insert_with(|| filled(count, at_a_time));
        let log = place.path().join("journal/streams/0");
        let mut names: Vec<PathBuf> =
            std::fs::read_dir(log).expect("it is there").map(|entry| entry.expect("readable").path()).collect();
        names.sort_unstable();
        let mut bytes = Vec::new();
        let started = Instant::now();
        for name in names {
            bytes.clear();
            File::open(name).expect("it is there").read_to_end(&mut bytes).expect("read");
            black_box(crc32c::crc32c(&bytes));
        }
        started.elapsed().as_nanos() as f64 / count as f64
    })
}

fn recover(at_a_time: usize) -> Run {
    let mut place = None;
    Box::new(move |count| {
        let place = place.get_or_insert_with(|| filled(count, at_a_time));
        let started = Instant::now();
        let db = journal(place, SyncPolicy::Never);
        let nanos = started.elapsed().as_nanos() as f64 / count as f64;
        assert_eq!(db.list_streams().expect("open"), ["orders"]);
        nanos
    })
}
