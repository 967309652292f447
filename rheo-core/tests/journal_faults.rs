//! The journal over a file system that fails, loses what was not synced, or was damaged.
//!
//! A `Life` works on a journal by a list of things to do, and notes what was confirmed. Whatever happens to the files, what
//! is found afterwards must be what was confirmed, at most with what nobody knows of. Each test prints how many cases it
//! saw.

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rheo_core::backend::journal::files::{Files, Opening};
use rheo_core::backend::journal::open_on;
use rheo_core::backend::journal::simulated::{Fault, FaultKind, SimulatedFiles};
use rheo_core::{
    Append, AppendOptions, Discard, Error, ErrorCode, FetchOptions, GroupOptions, GroupUpdate, Instance, OpenOptions,
    Query, ReadOptions, ReplayOptions, ResetOptions, Result, RetryOptions, StreamOptions, SyncPolicy, Timestamp,
    TrimOptions,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const STREAM: &str = "orders";
const GROUPS: [&str; 2] = ["plain", "by-key"];
const PARTITIONS: u32 = 3;
const DELAY_MS: u64 = 5;

/// What is known of something that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Done,
    Perhaps,
}

/// What a life did, as far as the answers told.
#[derive(Clone, Debug, Default)]
struct Notes {
    has_stream: Option<Known>,
    groups: BTreeMap<&'static str, Known>,
    /// By id.
    appended: BTreeMap<String, Known>,
    /// By group and id.
    settled: BTreeMap<(&'static str, String), Known>,
    /// The highest attempt that was seen.
    attempts: BTreeMap<(&'static str, String), u32>,
    /// Whether a call was ambiguous or the instance poisoned.
    is_poisoned: bool,
}

fn options(sync: SyncPolicy, segment_bytes: u64) -> OpenOptions {
    let mut options = OpenOptions::new().sync(sync).manual_clock(Some(Timestamp::from_micros(0)));
    options.journal.segment_bytes = Some(segment_bytes);
    // Under `always` all that is confirmed is then on the disk.
    options.journal.sync_settles = Some(sync == SyncPolicy::Always);
    options
}

fn open(files: &SimulatedFiles, options: &OpenOptions) -> Result<Instance> {
    Instance::with_backend(open_on(Arc::new(files.clone()), Path::new("journal"), options)?, options.clone())
}

impl Notes {
    /// Takes note of an answer, and says whether it was done.
    fn note<T>(&mut self, answer: &Result<T>) -> Option<Known> {
        match answer {
            Ok(_) => Some(Known::Done),
            Err(error) if error.code() == ErrorCode::Ambiguous => {
                self.is_poisoned = true;
                Some(Known::Perhaps)
            }
            Err(error) => {
                let code = error.code();
                assert!(matches!(code, ErrorCode::Failed | ErrorCode::Poisoned), "{error}");
                assert_eq!(self.is_poisoned, code == ErrorCode::Poisoned, "{error}");
                assert!(error.cause().is_some() && error.message().contains("journal"), "{error}");
                None
            }
        }
    }

    fn append(&mut self, db: &Instance, ids: &[String]) {
        let items: Vec<Append<'_>> = ids
            .iter()
            .enumerate()
            .map(|(index, id)| Append::json(id.as_bytes()).id(id).partition(index as u32 % PARTITIONS).key("k"))
            .collect();
        let answer = match items.as_slice() {
            [one] => db.append(STREAM, one).map(drop),
            many => db.append_batch(STREAM, many, &AppendOptions::default()).map(drop),
        };
        if let Some(known) = self.note(&answer) {
            self.appended.extend(ids.iter().map(|id| (id.clone(), known)));
        }
    }

    /// Fetches, and settles in several ways.
    fn consume(&mut self, db: &Instance, group: &'static str, limit: usize) {
        let answer = db.fetch(STREAM, group, &FetchOptions::new().limit(limit));
        if self.note(&answer).is_none() {
            return;
        }
        let Ok(leases) = answer else { return };
        for lease in &leases {
            let seen = self.attempts.entry((group, lease.event().id().to_string())).or_default();
            *seen = lease.attempt().max(*seen);
        }
        let (acked, others) = leases.split_at(leases.len() / 2);
        let settled = |notes: &mut Notes, id: String, answer: Result<()>| {
            if let Some(known) = notes.note(&answer) {
                notes.settled.insert((group, id), known);
            }
        };
        let answers = db.ack_many(&acked.iter().collect::<Vec<_>>());
        match answers {
            Ok(answers) => {
                for (lease, answer) in acked.iter().zip(answers) {
                    settled(self, lease.event().id().to_string(), answer);
                }
            }
            Err(error) => acked.iter().for_each(|lease| {
                settled(self, lease.event().id().to_string(), Err(error.clone()));
            }),
        }
        for (index, lease) in others.iter().enumerate() {
            match index % 3 {
                0 => settled(self, lease.event().id().to_string(), db.reject(lease, "odd")),
                1 => drop(self.note(&db.retry(lease, RetryOptions { delay_ms: DELAY_MS, ..RetryOptions::default() }))),
                _ => drop(self.note(&db.release(lease))),
            }
        }
    }

    /// A life's work, the same each time.
    fn work(&mut self, db: &Instance, life: u32) {
        if self.has_stream != Some(Known::Done) {
            let answer = db.create_stream(STREAM, StreamOptions::partitions(PARTITIONS));
            let is_there = answer.as_ref().is_err_and(|error| error.code() == ErrorCode::AlreadyExists);
            self.has_stream = if is_there { Some(Known::Done) } else { self.note(&answer).or(self.has_stream) };
        }
        if self.has_stream != Some(Known::Done) {
            return;
        }
        for group in GROUPS {
            if self.groups.get(group) == Some(&Known::Done) {
                continue;
            }
            let ordering = if group == "plain" { rheo_core::Ordering::None } else { rheo_core::Ordering::Key };
            let answer = db.create_group(STREAM, group, &GroupOptions { ordering, ..GroupOptions::default() });
            let is_there = answer.as_ref().is_err_and(|error| error.code() == ErrorCode::AlreadyExists);
            let known = if is_there { Some(Known::Done) } else { self.note(&answer) };
            self.groups.extend(known.map(|known| (group, known)));
        }
        let id = |number: u32| format!("{life}-{number}");
        for number in 0..6 {
            self.append(db, &[id(number)]);
        }
        self.append(db, &[id(10), id(11), id(12), id(13)]);
        for group in GROUPS.into_iter().filter(|group| self.groups.get(group) == Some(&Known::Done)).collect::<Vec<_>>()
        {
            self.consume(db, group, 4);
        }
        // The same again is the same: what is confirmed now was there.
        self.append(db, &[id(2)]);
        self.append(db, &[id(20), id(21)]);
        for group in GROUPS.into_iter().filter(|group| self.groups.get(group) == Some(&Known::Done)).collect::<Vec<_>>()
        {
            self.consume(db, group, 100);
        }
    }

    /// That what is found is what was confirmed. `loses` says that unsynced answers may be lost: then less may be there.
    fn check(&self, db: &Instance, loses: bool) {
        let streams = db.list_streams().unwrap();
        match self.has_stream {
            None => assert!(streams.is_empty(), "{streams:?}"),
            Some(Known::Done) if !loses => assert_eq!(streams, [STREAM]),
            Some(_) if streams.is_empty() => return,
            Some(_) => {}
        }
        if streams.is_empty() {
            return;
        }
        let mut found = BTreeMap::new();
        for partition in 0..PARTITIONS {
            let options = ReadOptions { partition, limit: 10_000, ..ReadOptions::default() };
            for (event, sequence) in db.read(STREAM, options).unwrap().iter().zip(1..) {
                assert_eq!(event.sequence(), sequence, "without gaps");
                assert_eq!(event.payload(), event.id().as_bytes());
                assert_eq!(found.insert(event.id().to_string(), (partition, sequence)), None, "once");
                assert!(self.appended.contains_key(event.id().as_str()), "{} was never appended", event.id());
                assert_eq!(db.get(STREAM, event.id().as_str()).unwrap().as_ref(), Some(event));
            }
        }
        for (id, known) in &self.appended {
            assert!(found.contains_key(id) || *known == Known::Perhaps || loses, "{id} is lost");
        }
        let groups = db.list_groups(STREAM).unwrap();
        for (group, known) in &self.groups {
            assert!(groups.iter().any(|found| found == group) || *known == Known::Perhaps || loses, "{group} is lost");
        }
        for group in GROUPS.into_iter().filter(|group| groups.iter().any(|found| found == group)) {
            self.check_group(db, group, &found, loses);
        }
    }

    /// That nothing settled comes again, that everything else does, and that lag says so.
    fn check_group(&self, db: &Instance, group: &'static str, found: &BTreeMap<String, (u32, u64)>, loses: bool) {
        let letters = db.dead_letters(STREAM, group, &Default::default()).unwrap();
        let dead: BTreeSet<String> = letters.iter().map(|letter| letter.event.id().to_string()).collect();
        let mut comes = BTreeSet::new();
        db.advance_clock(DELAY_MS).unwrap();
        loop {
            let leases = db.fetch(STREAM, group, &FetchOptions::new().limit(10_000)).unwrap();
            if leases.is_empty() {
                break;
            }
            for lease in &leases {
                let id = lease.event().id().to_string();
                let place = (group, id.clone());
                let settled = self.settled.get(&place);
                assert!(settled != Some(&Known::Done) || loses, "{group}: {id} was settled and comes again");
                let seen = self.attempts.get(&place).copied().unwrap_or(0);
                // Given back, the last one does not count.
                assert!(
                    lease.attempt() >= seen || loses,
                    "{group}: {id} came {seen} times before, now {}",
                    lease.attempt()
                );
                assert!(comes.insert(id), "once");
                db.ack(lease).unwrap();
            }
        }
        for id in found.keys() {
            let may_be_gone = self.settled.contains_key(&(group, id.clone()));
            assert!(comes.contains(id) || dead.contains(id) || may_be_gone, "{group}: {id} does not come");
        }
        assert_eq!(db.lag(STREAM, group, None).unwrap().lag(), 0, "{group}");
    }
}

/// Works once without a fault, and returns the number of calls.
fn calls_of_a_life(options: &OpenOptions, kind: FaultKind) -> u64 {
    let files = SimulatedFiles::new();
    files.fail(Some(Fault { call: u64::MAX, count: 1, kind }));
    let db = open(&files, options).unwrap();
    let mut notes = Notes::default();
    notes.work(&db, 1);
    db.close().unwrap();
    files.calls()
}

/// Every call fails in its turn, once or for good, in every way, under every policy; then the same instance goes on, and
/// what is opened afterwards holds what was confirmed.
#[test]
fn each_call_fails_in_its_turn() {
    let mut cases = 0;
    for sync in [SyncPolicy::Always, SyncPolicy::Never] {
        for kind in [FaultKind::Error, FaultKind::Short, FaultKind::NoSpace, FaultKind::Late, FaultKind::Sync] {
            let options = options(sync, 4096);
            for call in 0..calls_of_a_life(&options, kind) {
                for count in [1, 2, u64::MAX] {
                    cases += 1;
                    println!("{sync:?}, {kind:?} from call {call}, {count} times");
                    let files = SimulatedFiles::new();
                    let mut notes = Notes::default();
                    files.fail(Some(Fault { call, count, kind }));
                    let opened = open(&files, &options);
                    if let Ok(db) = &opened {
                        notes.work(db, 1);
                        files.fail(None);
                        // What failed has left nothing, so the instance goes on; where that is not known it refuses.
                        let goes_on = !notes.is_poisoned;
                        notes.work(db, 2);
                        assert!(!goes_on || !notes.is_poisoned && notes.appended["2-21"] == Known::Done);
                    }
                    files.fail(None);
                    let db = open(&files.kill(), &options).unwrap();
                    notes.check(&db, false);
                    // And again, for what was repaired stays so.
                    db.close().unwrap();
                    let files = files.kill();
                    notes.check(&open(&files, &options).unwrap(), false);
                }
            }
        }
    }
    println!("{cases} injected faults");
    assert!(cases > 1000);
}

/// Each call of a recovery fails in its turn: then it is opened later, and nothing is missing.
#[test]
fn each_call_of_a_recovery_fails_in_its_turn() {
    let (whole, notes, options) = journal(SyncPolicy::Never, false);
    let torn = |files: &SimulatedFiles| {
        // An end that is to be cut, a stream that was never registered, a segment that was being made.
        files.damage(&log_of_the_stream(), |content| content.extend([7; 100]));
        files.create_dir(Path::new("journal/streams/7")).unwrap();
        files.open(Path::new("journal/streams/7/00000000000000000000.log"), Opening::Create).unwrap();
        let end = files.content(&log_of_the_stream()).unwrap().len() as u64 - 64 - 100;
        files.open(&log_of_the_stream().with_file_name(format!("{end:020}.log")), Opening::Create).unwrap();
    };
    let mut call = 0;
    loop {
        let files = whole.kill();
        torn(&files);
        files.fail(Some(Fault { call, count: 1, kind: FaultKind::Error }));
        let opened = open(&files, &options);
        files.fail(None);
        match opened {
            Ok(db) => {
                notes.check(&db, false);
                break;
            }
            Err(error) => assert_eq!(error.code(), ErrorCode::Failed, "{error}"),
        }
        notes.check(&open(&files, &options).unwrap(), false);
        call += 1;
    }
    println!("{call} injected faults");
    assert!(call > 5);
}

/// The power fails at any moment, and leaves any of the pages that were not synced. Under `always` nothing that was
/// confirmed is missing; without syncs less may be there, but it is never damaged.
#[test]
fn the_power_fails() {
    let mut cases = 0;
    for seed in 0..300 {
        let mut random = SmallRng::seed_from_u64(seed);
        for sync in [SyncPolicy::Always, SyncPolicy::Never] {
            let options = options(sync, 4096);
            let loses = sync == SyncPolicy::Never;
            let mut files = SimulatedFiles::new();
            let mut notes = Notes::default();
            for life in 1..4 {
                println!("seed {seed}, {sync:?}, life {life}");
                let db = open(&files, &options).unwrap();
                notes.is_poisoned = false;
                notes.work(&db, life);
                for _ in 0..5 {
                    cases += 1;
                    let left = files.crash(&mut random);
                    let opened = open(&left, &options).unwrap();
                    notes.check(&opened, loses);
                }
                // Case 25: what recovery serves after a kill had been synced before, whatever becomes of the power then.
                let killed = files.kill();
                let opened = open(&killed, &options).unwrap();
                let after_it = killed.crash(&mut random);
                assert_eq!(ids(&open(&after_it, &options).unwrap()), ids(&opened));
                if loses {
                    break;
                }
                files = files.crash(&mut random);
            }
        }
    }
    println!("{cases} crash images");
}

/// All ids that there are, by partition and sequence.
fn ids(db: &Instance) -> Vec<String> {
    if db.list_streams().unwrap().is_empty() {
        return Vec::new();
    }
    let read = |partition| {
        let options = ReadOptions { partition, limit: 10_000, ..ReadOptions::default() };
        db.read(STREAM, options).unwrap()
    };
    (0..PARTITIONS).flat_map(read).map(|event| event.id().to_string()).collect()
}

/// A journal in which some things happened, closed or not, and what its instance knew.
fn journal(sync: SyncPolicy, is_closed: bool) -> (SimulatedFiles, Notes, OpenOptions) {
    let options = options(sync, 1 << 20);
    let files = SimulatedFiles::new();
    let db = open(&files, &options).unwrap();
    let mut notes = Notes::default();
    notes.work(&db, 1);
    if is_closed {
        db.close().unwrap();
    }
    (files.kill(), notes, options)
}

fn log_of_the_stream() -> PathBuf {
    PathBuf::from("journal/streams/0/00000000000000000000.log")
}

/// The end of the file is torn off at any byte: what is before it is found, and what comes after it stays.
#[test]
fn the_end_is_torn_off_anywhere() {
    let (files, notes, options) = journal(SyncPolicy::Never, false);
    let path = log_of_the_stream();
    let whole = files.content(&path).unwrap();
    let all = ids(&open(&files.kill(), &options).unwrap());
    let mut cases = 0;
    for len in (64..whole.len()).rev() {
        for with_zeros in [false, true] {
            cases += 1;
            let torn = files.kill();
            torn.damage(&path, |content| {
                content.truncate(len);
                if with_zeros {
                    content.resize(whole.len() + 4096, 0);
                }
            });
            let db = open(&torn, &options).unwrap();
            let found = ids(&db);
            assert!(found.len() <= all.len());
            if len % 16 == 0 {
                notes.check(&db, true);
            }
            let Ok(_) = db.append(STREAM, &Append::json("\"after\"").id("after")) else { continue };
            drop(db);
            // Case 22: what is written behind a torn end is found at the second opening too.
            let again = open(&torn.kill(), &options).unwrap();
            assert!(again.get(STREAM, "after").unwrap().is_some());
            let mut expected = found;
            expected.push("after".to_owned());
            expected.sort();
            let mut after = ids(&again);
            after.sort();
            assert_eq!(after, expected);
        }
    }
    println!("{cases} cut points");
    assert!(cases > 1000);
}

/// A bit flips anywhere in a journal that was closed: that is told, with the file and the offset, and nothing is changed.
/// Only in the note that it was closed may it go unseen, for it is behind everything.
#[test]
fn a_bit_flips_anywhere() {
    let (files, notes, options) = journal(SyncPolicy::Never, true);
    let mut cases = 0;
    for path in files.paths().into_iter().filter(|path| path.extension().is_some_and(|end| end == "log")) {
        let len = files.content(&path).unwrap().len();
        for at in 0..len {
            cases += 1;
            let damaged = files.kill();
            damaged.damage(&path, |content| content[at] ^= 1 << (at % 8));
            let before = damaged.content(&path);
            match open(&damaged, &options) {
                Err(error) => {
                    assert!(matches!(error.code(), ErrorCode::Corrupt | ErrorCode::VersionMismatch), "{error}");
                    assert!(error.message().contains(path.to_str().unwrap()), "{error}");
                    assert_eq!(damaged.content(&path), before, "untouched");
                }
                Ok(db) => {
                    assert!(at >= len - 32, "byte {at} of {len} in {} went unseen", path.display());
                    notes.check(&db, false);
                }
            }
        }
    }
    println!("{cases} flipped bits");
    assert!(cases > 1000);
}

/// Case 23: in a journal that nobody closed, a later record tells damage from an end that was not synced.
#[test]
fn damage_in_the_middle_is_told() {
    let (files, ..) = journal(SyncPolicy::Always, false);
    let path = log_of_the_stream();
    let options = options(SyncPolicy::Always, 1 << 20);
    let damaged = files.kill();
    damaged.damage(&path, |content| content[200] ^= 1);
    let before = damaged.content(&path);
    let error = open(&damaged, &options).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Corrupt);
    assert!(error.message().contains("offset"), "{error}");
    assert_eq!(damaged.content(&path), before);
    // Nothing proves that what never was synced is damage: it is the end.
    let (files, notes, options) = journal(SyncPolicy::Never, false);
    files.damage(&path, |content| content[200] ^= 1);
    notes.check(&open(&files, &options).unwrap(), true);
}

/// Case 24: once a sync has failed, nothing more is taken, though the next one would go well; what was synced is read.
#[test]
fn a_sync_that_failed_poisons() {
    let options = options(SyncPolicy::Always, 1 << 20);
    let files = SimulatedFiles::new();
    let db = open(&files, &options).unwrap();
    db.create_stream(STREAM, StreamOptions::default()).unwrap();
    db.create_group(STREAM, "g", &GroupOptions::default()).unwrap();
    db.append(STREAM, &Append::bytes("1").id("1")).unwrap();
    let leases = db.fetch(STREAM, "g", &FetchOptions::new()).unwrap();
    files.fail(Some(Fault { call: 0, count: 1, kind: FaultKind::Sync }));
    let code = |answer: Result<()>| answer.unwrap_err().code();
    assert_eq!(code(db.append(STREAM, &Append::bytes("2").id("2")).map(drop)), ErrorCode::Ambiguous);
    files.fail(None);
    assert_eq!(code(db.append(STREAM, &Append::bytes("3")).map(drop)), ErrorCode::Poisoned);
    assert_eq!(code(db.fetch(STREAM, "g", &FetchOptions::new()).map(drop)), ErrorCode::Poisoned);
    assert_eq!(code(db.ack(&leases[0])), ErrorCode::Poisoned);
    assert_eq!(code(db.renew(&leases[0], None).map(drop)), ErrorCode::Poisoned);
    assert_eq!(code(db.create_stream("other", StreamOptions::default())), ErrorCode::Poisoned);
    assert_eq!(code(db.delete_group(STREAM, "g")), ErrorCode::Poisoned);
    let trim = TrimOptions { max_len: Some(0), ..TrimOptions::default() };
    assert_eq!(code(db.trim(STREAM, &trim).map(drop)), ErrorCode::Poisoned);
    let replay = ReplayOptions { from_sequence: Some(0.into()), ..ReplayOptions::default() };
    assert_eq!(code(db.replay(STREAM, "g", &replay).map(drop)), ErrorCode::Poisoned);
    assert_eq!(db.read(STREAM, ReadOptions::default()).unwrap().len(), 1);
    assert!(db.get(STREAM, "2").unwrap().is_none(), "not synced, not seen");
    assert!(db.close().is_err());
    drop(db);
    let db = open(&files, &options).unwrap();
    assert_eq!(db.append(STREAM, &Append::bytes("2").id("2")).unwrap().sequence(), 2);
    db.append(STREAM, &Append::bytes("3")).unwrap();
}

/// Case 32: what a newer release wrote is said to be that.
#[test]
fn a_newer_format_is_told() {
    for directory in ["registry", "streams/0"] {
        let (files, _, options) = journal(SyncPolicy::Always, true);
        let path = Path::new("journal").join(directory).join("00000000000000000000.log");
        files.damage(&path, |content| {
            content[8] = 2;
            content[12..16].fill(0);
            let checksum = crc32c::crc32c(&content[..64]);
            content[12..16].copy_from_slice(&checksum.to_le_bytes());
        });
        let error = open(&files, &options).unwrap_err();
        assert_eq!(error.code(), ErrorCode::VersionMismatch);
        assert!(error.message().contains(path.to_str().unwrap()) && error.message().contains('2'), "{error}");
    }
}

#[test]
fn a_missing_segment_is_told() {
    let options = options(SyncPolicy::Always, 4096);
    let files = SimulatedFiles::new();
    let db = open(&files, &options).unwrap();
    let mut notes = Notes::default();
    (1..20).for_each(|life| notes.work(&db, life));
    db.close().unwrap();
    let files = files.kill();
    let segments: Vec<PathBuf> =
        files.paths().into_iter().filter(|path| path.starts_with("journal/streams/0")).collect();
    assert!(segments.len() > 3);
    notes.check(&open(&files.kill(), &options).unwrap(), false);
    for missing in &segments[..segments.len() - 1] {
        let less = files.kill();
        less.remove_file(missing).unwrap();
        let error = open(&less, &options).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Corrupt, "{error}");
        assert!(error.message().contains("journal/streams/0"), "{error}");
    }
}

/// Case 26, and two openings in one process.
#[test]
fn a_journal_is_open_once() {
    let options = options(SyncPolicy::Always, 1 << 20);
    let files = SimulatedFiles::new();
    let db = open(&files, &options).unwrap();
    let error = open(&files, &options).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Locked);
    assert!(error.message().contains("this process") && error.message().contains("journal"), "{error}");
    db.close().unwrap();
    // Closed is closed, though the handle is still there, and its lock file, with our pid.
    assert!(files.content(Path::new("journal/lock")).is_some());
    let again = open(&files, &options).unwrap();
    assert_eq!(db.ping().unwrap_err().code(), ErrorCode::Closed);
    drop(again);
    open(&files, &options).unwrap();
}

#[test]
fn another_program_s_directory_is_left_alone() {
    let files = SimulatedFiles::new();
    let path = Path::new("journal");
    files.create_dir(path).unwrap();
    let file = files.open(&path.join("theirs.txt"), Opening::Create).unwrap();
    file.write_at(b"hello", 0).unwrap();
    let error = open(&files, &options(SyncPolicy::Always, 1 << 20)).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert!(error.message().contains("theirs.txt"), "{error}");
    assert_eq!(files.paths(), [path.join("theirs.txt")]);
    let error: Error = open_on(Arc::new(files), &path.join("theirs.txt"), &OpenOptions::new()).err().unwrap();
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
}

/// Case 4: who dies with an event again and again does not get it for ever; case 5: attempts survive.
#[test]
fn attempts_survive_those_who_die() {
    let options = options(SyncPolicy::Never, 1 << 20);
    let mut files = SimulatedFiles::new();
    let db = open(&files, &options).unwrap();
    db.create_stream(STREAM, StreamOptions::default()).unwrap();
    db.create_group(STREAM, "g", &GroupOptions { max_deliveries: 3, ..GroupOptions::default() }).unwrap();
    db.append(STREAM, &Append::bytes("1")).unwrap();
    drop(db);
    for attempt in 1..=3 {
        files = files.kill();
        let db = open(&files, &options).unwrap();
        let leases = db.fetch(STREAM, "g", &FetchOptions::new()).unwrap();
        assert_eq!(leases[0].attempt(), attempt);
        // Killed with the lease in its hands; what is held of the instance does no harm to the copy.
        std::mem::forget(db);
    }
    let db = open(&files.kill(), &options).unwrap();
    assert!(db.fetch(STREAM, "g", &FetchOptions::new()).unwrap().is_empty());
    let letters = db.dead_letters(STREAM, "g", &Default::default()).unwrap();
    assert_eq!((letters.len(), letters[0].attempt), (1, 3));
}

/// Case 13: as many holes as there may be are found again.
#[test]
fn every_hole_is_found_again() {
    let options = options(SyncPolicy::Never, 1 << 20);
    let files = SimulatedFiles::new();
    let db = open(&files, &options).unwrap();
    db.create_stream(STREAM, StreamOptions::default()).unwrap();
    db.create_group(STREAM, "g", &GroupOptions::default()).unwrap();
    for _ in 0..3 {
        db.append_batch(STREAM, &[Append::bytes("x"); 6667], &AppendOptions::default()).unwrap();
    }
    let mut leases = Vec::new();
    for _ in 0..3 {
        leases.extend(db.fetch(STREAM, "g", &FetchOptions::new().limit(10_000)).unwrap());
    }
    assert_eq!(leases.len(), 20_001);
    let even: Vec<_> = leases.iter().filter(|lease| lease.event().sequence() % 2 == 0).collect();
    even.chunks(10_000).for_each(|part| assert!(db.ack_many(part).unwrap().iter().all(Result::is_ok)));
    let db = open(&files.kill(), &options).unwrap();
    let mut comes = Vec::new();
    for _ in 0..2 {
        comes.extend(db.fetch(STREAM, "g", &FetchOptions::new().limit(10_000)).unwrap());
    }
    assert_eq!(comes.len(), 10_001);
    assert!(comes.iter().all(|lease| lease.event().sequence() % 2 == 1 && lease.attempt() == 2));
    assert_eq!(db.group_info(STREAM, "g", None).unwrap().lag.partitions[&0].frontier, 0);
}

/// Under `always` nobody sees an event that is not synced, and an append with its id waits for it.
#[test]
fn what_is_not_synced_is_not_seen() {
    let options = options(SyncPolicy::Always, 1 << 20);
    let files = SimulatedFiles::new();
    let db = open(&files, &options).unwrap();
    db.create_stream(STREAM, StreamOptions::default()).unwrap();
    db.create_group(STREAM, "g", &GroupOptions::default()).unwrap();
    let sees = |db: &Instance| {
        let read = db.read(STREAM, ReadOptions::default()).unwrap().len();
        let found = usize::from(db.get(STREAM, "1").unwrap().is_some());
        let queried = db.query(STREAM, &Query::new()).unwrap().len();
        let high_watermark = db.stream_info(STREAM).unwrap().partitions[0].high_watermark as usize;
        let fetched = db.fetch(STREAM, "g", &FetchOptions::new()).unwrap().len();
        let lag = db.lag(STREAM, "g", None).unwrap().lag() as usize;
        [read, found, queried, high_watermark, fetched, lag]
    };
    files.hold_syncs(true);
    std::thread::scope(|scope| {
        let append = || db.append(STREAM, &Append::bytes("1").id("1")).unwrap();
        let first = scope.spawn(append);
        files.wait_for_a_held_sync();
        let seen = sees(&db);
        let second = scope.spawn(append);
        files.hold_syncs(false);
        assert_eq!(seen, [0; 6]);
        let deduplicated = [first, second].map(|thread| thread.join().unwrap().deduplicated());
        assert_eq!(deduplicated, [false, true]);
    });
    assert_eq!(sees(&db), [1; 6]);
}

/// Under `always` a settle that nobody waits for is synced soon, by itself.
#[test]
fn a_settle_is_synced_by_itself() {
    let mut options = options(SyncPolicy::Always, 1 << 20);
    options.journal.sync_settles = None;
    let files = SimulatedFiles::new();
    let db = open(&files, &options).unwrap();
    db.create_stream(STREAM, StreamOptions::default()).unwrap();
    db.create_group(STREAM, "g", &GroupOptions::default()).unwrap();
    for number in 0..3 {
        db.append(STREAM, &Append::bytes("1")).unwrap();
        let leases = db.fetch(STREAM, "g", &FetchOptions::new()).unwrap();
        db.ack(&leases[0]).unwrap();
        files.wait_until_synced(&log_of_the_stream());
        let left = files.crash(&mut SmallRng::seed_from_u64(number));
        let after = open(&left, &options).unwrap();
        assert_eq!(after.lag(STREAM, "g", None).unwrap().lag(), 0);
    }
}

/// A write that failed leaves nothing in memory either: what was to be claimed is claimed as if for the first time, and
/// what was to be settled is held as before.
#[test]
fn what_could_not_be_written_did_not_happen() {
    let options = options(SyncPolicy::Never, 1 << 20);
    let letters = |db: &Instance| db.dead_letters(STREAM, "g", &Default::default()).unwrap();
    for ordering in [rheo_core::Ordering::None, rheo_core::Ordering::Key] {
        let files = SimulatedFiles::new();
        let db = open(&files, &options).unwrap();
        db.create_stream(STREAM, StreamOptions::default()).unwrap();
        let group = GroupOptions { ordering, max_deliveries: 2, ..GroupOptions::default() };
        db.create_group(STREAM, "g", &group).unwrap();
        for id in ["1", "2", "3"] {
            db.append(STREAM, &Append::bytes("x").id(id).key("k")).unwrap();
        }
        let failing = |what: &mut dyn FnMut() -> Option<Error>| {
            let before = db.group_info(STREAM, "g", None);
            files.fail(Some(Fault { call: 0, count: 1, kind: FaultKind::Late }));
            assert_eq!(what().unwrap().code(), ErrorCode::Failed);
            files.fail(None);
            // On the disk nothing of it is left either.
            let after = open(&files.kill(), &options).unwrap();
            assert_eq!(after.list_groups(STREAM), db.list_groups(STREAM));
            assert_eq!(after.lag(STREAM, "g", None), db.lag(STREAM, "g", None));
            assert_eq!(letters(&after), letters(&db));
            db.group_info(STREAM, "g", None) == before
        };
        let fetch = || db.fetch(STREAM, "g", &FetchOptions::new().limit(1));
        let retry = RetryOptions { delay_ms: DELAY_MS, ..RetryOptions::default() };
        assert!(failing(&mut || fetch().err()));
        let lease = fetch().unwrap().remove(0);
        assert_eq!((lease.event().id().as_str(), lease.attempt()), ("1", 1));
        assert!(failing(&mut || db.ack(&lease).err()));
        assert!(failing(&mut || db.reject(&lease, "odd").err()));
        assert!(failing(&mut || db.retry(&lease, retry).err()));
        assert!(failing(&mut || db.release(&lease).err()));
        assert!(letters(&db).is_empty());
        db.retry(&lease, RetryOptions::default()).unwrap();
        let lease = fetch().unwrap().remove(0);
        assert_eq!((lease.event().id().as_str(), lease.attempt()), ("1", 2));
        db.retry(&lease, RetryOptions::default()).unwrap();
        // It has been given twice: the next fetch buries it, and claims another.
        assert!(failing(&mut || fetch().err()));
        assert!(letters(&db).is_empty());
        let lease = fetch().unwrap().remove(0);
        assert_eq!((lease.event().id().as_str(), lease.attempt()), ("2", 1));
        let replay = ReplayOptions { from_sequence: Some(0.into()), ..ReplayOptions::default() };
        let reset = ResetOptions { confirm: true, ..ResetOptions::default() };
        let trim = TrimOptions { max_len: Some(0), force: true, ..TrimOptions::default() };
        let update = GroupUpdate { max_attempts: Some(1), max_deliveries: None };
        assert!(failing(&mut || db.replay(STREAM, "g", &replay).err()));
        assert!(failing(&mut || db.reset_group(STREAM, "g", &reset).err()));
        assert!(failing(&mut || db.trim(STREAM, &trim).err()));
        assert!(failing(&mut || db.update_group(STREAM, "g", &update).err()));
        assert!(failing(&mut || db.delete_group(STREAM, "g").err()));
        assert!(failing(&mut || db.create_group(STREAM, "h", &group).err()));
        assert!(failing(&mut || db.discard_dead_letters(STREAM, "g", Discard::All).err()));
        assert_eq!(letters(&db).len(), 1);
        assert!(failing(&mut || db.append(STREAM, &Append::bytes("x").id("4")).err()));
        assert!(failing(&mut || db
            .append_batch(STREAM, &[Append::bytes("x").id("4")], &AppendOptions::default())
            .err()));
        assert_eq!(db.list_groups(STREAM).unwrap(), ["g"]);
        assert_eq!(db.append(STREAM, &Append::bytes("x").id("4")).unwrap().sequence(), 4);
        db.ack(&lease).unwrap();
    }
}

/// Case 22, the variant with a hole: what lies whole behind the end that was cut never comes back.
#[test]
fn what_was_cut_off_stays_away() {
    let options = options(SyncPolicy::Never, 1 << 20);
    let files = SimulatedFiles::new();
    let db = open(&files, &options).unwrap();
    db.create_stream(STREAM, StreamOptions::default()).unwrap();
    let mut ends = Vec::new();
    for id in ["a", "b", "c"] {
        db.append(STREAM, &Append::bytes("payload").id(id)).unwrap();
        ends.push(files.content(&log_of_the_stream()).unwrap().len());
    }
    let files = files.kill();
    files.damage(&log_of_the_stream(), |content| content[ends[0]..ends[1]].fill(0));
    let found = |db: &Instance| -> Vec<String> {
        let events = db.read(STREAM, ReadOptions::default()).unwrap();
        events.iter().map(|event| event.id().to_string()).collect()
    };
    let db = open(&files, &options).unwrap();
    assert_eq!(found(&db), ["a"]);
    // As long as the one before: what follows begins where the last one did.
    db.append(STREAM, &Append::bytes("payload").id("d")).unwrap();
    assert_eq!(found(&open(&files.kill(), &options).unwrap()), ["a", "d"]);
}

/// A record whose checksum is right and that says what cannot be is never made the best of.
#[test]
fn progress_past_the_log_is_told() {
    let (files, _, options) = journal(SyncPolicy::Always, true);
    let path = log_of_the_stream();
    // Kind 21, group 0, then: tag, partition 0, a sequence of two bytes far behind the last, and what goes with the tag.
    let far = [0xff, 0x7f];
    let claimed = [&[0, 1, 0], far.as_slice(), &[1, 1]].concat();
    let acked = [&[0, 2, 0], far.as_slice(), &[1]].concat();
    let reset = [&[0, 9, 0], far.as_slice()].concat();
    let of_no_group = [&[9, 2, 0], far.as_slice(), &[1]].concat();
    let of_no_partition = vec![0, 2, 77, 1, 1];
    let cut_short = vec![0, 1, 0];
    for body in [claimed, acked, reset, of_no_group, of_no_partition, cut_short] {
        let odd = files.kill();
        odd.damage(&path, |content| {
            let position = content.len() as u64 - 64;
            let mut record = vec![0; 32];
            record[..4].copy_from_slice(&[0xf7, b'R', 0xe0, 0x01]);
            record[8..12].copy_from_slice(&(body.len() as u32).to_le_bytes());
            record[12] = 21;
            record[16..24].copy_from_slice(&position.to_le_bytes());
            record.extend(&body);
            let checksum = crc32c::crc32c_append(crc32c::crc32c(&content[16..32]), &record[8..]);
            record[4..8].copy_from_slice(&checksum.to_le_bytes());
            content.extend(record);
        });
        let before = odd.content(&path);
        let error = open(&odd, &options).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Corrupt, "{body:?}");
        assert!(error.message().contains(path.to_str().unwrap()), "{error}");
        assert_eq!(odd.content(&path), before);
    }
}
