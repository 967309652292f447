//! The format is what docs/journal-format.md says: a reader that was written by it alone finds in a journal what the
//! instance does.

use rheo_core::{
    Append, AppendOptions, DeadLetterOptions, Discard, ErrorCode, FetchOptions, GroupOptions, GroupUpdate, Instance,
    JournalOptions, OpenOptions, Ordering, ReadOptions, ReplayOptions, ResetOptions, RetryOptions, StartOptions,
    StreamOptions, SyncPolicy, Timestamp, TrimOptions, Value, open,
};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the reader in Python finds, or why it reads nothing.
fn try_to_read(journal: &Path) -> Result<Value, String> {
    let reader = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/journal_reader.py");
    let done = Command::new("python3").arg(reader).arg(journal).output().expect("python3 is installed");
    match done.status.success() {
        true => Ok(serde_json::from_slice(&done.stdout).expect("it prints JSON")),
        false => Err(String::from_utf8(done.stderr).unwrap()),
    }
}

fn read(journal: &Path) -> Value {
    try_to_read(journal).unwrap()
}

#[test]
fn a_reader_that_was_written_by_the_document_finds_the_same() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("journal");
    let journal =
        JournalOptions { sync: Some(SyncPolicy::Never), segment_bytes: Some(4096), ..JournalOptions::default() };
    let start = Some(Timestamp::from_micros(1_700_000_000_000_000));
    let url = format!("journal:{}", path.display());
    let db = open(&url, OpenOptions { journal, ..OpenOptions::new().manual_clock(start) }).unwrap();
    db.create_stream("gone", StreamOptions::default()).unwrap();
    db.create_stream("orders", StreamOptions::partitions(3)).unwrap();
    db.delete_stream("gone", true).unwrap();
    let options = |ordering| GroupOptions { ordering, max_deliveries: 2, ..GroupOptions::default() };
    for (group, ordering) in [("plain", Ordering::None), ("by key", Ordering::Key), ("deleted", Ordering::None)] {
        db.create_group("orders", group, &options(ordering)).unwrap();
    }
    for number in 0..60 {
        let (id, key) = (format!("order {number}"), format!("key {}", number % 5));
        let json = Append::json(r#"{"total":12.5}"#).event_type("placed").metadata(r#"{"schema":"1"}"#);
        let appended = match number % 3 {
            0 => db.append("orders", &json.id(&id).partition(number % 2)),
            1 => db.append("orders", &Append::bytes(b"\0\xff").key(&key)),
            _ => db
                .append_batch("orders", &[json.key(&key), json], &AppendOptions::default())
                .map(|mut all| all.remove(0)),
        };
        appended.unwrap();
        // Some retries are due soon, and others not before the end.
        db.advance_clock(10).unwrap();
        for group in ["plain", "by key", "deleted"] {
            let leases = db.fetch("orders", group, &FetchOptions::new().limit(3)).unwrap();
            for (index, lease) in leases.iter().enumerate() {
                match (number + index as u32) % 5 {
                    0 => db.reject(lease, "odd").unwrap(),
                    1 => db
                        .retry(lease, RetryOptions { delay_ms: 100 * u64::from(number % 4), ..RetryOptions::default() })
                        .unwrap(),
                    2 => db.release(lease).unwrap(),
                    3 => {}
                    _ => db.ack(lease).unwrap(),
                }
            }
        }
    }
    db.delete_group("orders", "deleted").unwrap();
    let replay =
        ReplayOptions { event_ids: Some(vec!["order 0".into(), "order 3".into()]), ..ReplayOptions::default() };
    db.replay("orders", "plain", &replay).unwrap();
    let letters = db.dead_letters("orders", "plain", &DeadLetterOptions::default()).unwrap();
    let forgotten = letters.last().unwrap().event.id().to_string();
    assert_eq!(db.discard_dead_letters("orders", "plain", Discard::EventIds(&[&forgotten])).unwrap(), 1);
    let rewind =
        ReplayOptions { from_sequence: Some(20.into()), partitions: Some(vec![1]), ..ReplayOptions::default() };
    assert!(db.replay("orders", "plain", &rewind).unwrap() > 0);
    let start = StartOptions { start_after: Some(25.into()), partitions: Some(vec![0]), ..StartOptions::default() };
    db.reset_group("orders", "by key", &ResetOptions { confirm: true, start }).unwrap();
    let update = GroupUpdate { max_attempts: Some(200), max_deliveries: Some(300) };
    db.update_group("orders", "plain", &update).unwrap();
    let trim = TrimOptions { max_len: Some(15), force: true, ..TrimOptions::default() };
    assert!(db.trim("orders", &trim).unwrap() > 0);
    assert!(fs::read_dir(path.join("streams/1")).unwrap().count() > 1, "it has segments");

    let found = read(&path);
    assert_eq!(found.as_object().unwrap().keys().collect::<Vec<_>>(), ["orders"]);
    let found = &found["orders"];
    for partition in 0..3 {
        let options = ReadOptions { partition, limit: 10_000, ..ReadOptions::default() };
        let events = db.read("orders", options).unwrap();
        let read = found["partitions"][partition as usize].as_object().unwrap();
        assert_eq!(read.len(), events.len());
        for event in &events {
            let read = &read[&event.sequence().to_string()];
            assert_eq!(read["id"], event.id().as_str());
            assert_eq!(read["timestamp"], event.timestamp().as_micros());
            assert_eq!(read["key"].as_str(), event.key());
            assert_eq!(read["type"].as_str(), event.event_type());
            assert_eq!(read["metadata"], serde_json::from_str::<Value>(event.metadata()).unwrap());
            assert_eq!(read["encoding"], event.encoding().name());
            let hex: String = event.payload().iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(read["payload"], hex);
        }
    }
    assert_eq!(found["groups"].as_object().unwrap().len(), 2);
    for group in ["plain", "by key"] {
        compare_group(&db, group, &found["groups"][group]);
    }
    db.close().unwrap();
    let much_later = Some(Timestamp::from_micros(1_800_000_000_000_000));
    let db = open(&url, OpenOptions::new().manual_clock(much_later)).unwrap();
    for group in ["plain", "by key"] {
        compare_deliveries(&db, group, &found["groups"][group]);
    }
}

/// What the reader found of a group, and what the instance says of it.
fn compare_group(db: &Instance, group: &str, found: &Value) {
    let info = db.group_info("orders", group, None).unwrap();
    let settings = info.settings;
    assert_eq!(found["max_attempts"], settings.max_attempts, "{group}");
    assert_eq!(found["max_deliveries"], settings.max_deliveries, "{group}");
    assert_eq!(found["keeps_keys"], settings.ordering == Ordering::Key, "{group}");
    let everything = DeadLetterOptions { limit: Some(usize::MAX), ..DeadLetterOptions::default() };
    let letters = db.dead_letters("orders", group, &everything).unwrap();
    let (now, mut delayed) = (db.now().unwrap().as_micros(), 0);
    for (partition, lag) in &info.lag.partitions {
        let read = &found["partitions"][*partition as usize];
        assert_eq!(read["frontier"], lag.frontier, "{group} {partition}");
        let here: Vec<_> = letters.iter().filter(|letter| letter.event.partition() == *partition).collect();
        assert_eq!(read["dead"].as_object().unwrap().len(), here.len(), "{group} {partition}");
        for letter in here {
            let read = &read["dead"][letter.event.sequence().to_string()];
            let at = letter.dead_lettered_at.as_micros();
            let expected = serde_json::json!({"reason": letter.reason, "attempt": letter.attempt, "at": at});
            assert_eq!(*read, expected, "{group} {partition}");
        }
        let open = read["open"].as_object().unwrap().values();
        delayed += open.filter(|open| open["due"].as_i64().is_some_and(|due| due > now)).count() as u64;
    }
    assert!(delayed > 0 && !letters.is_empty(), "{group} has something to compare");
    assert_eq!(delayed, info.delayed_count, "{group}");
}

/// Fetches whatever a group has open or was never offered, and compares the attempts with those that the reader found.
fn compare_deliveries(db: &Instance, group: &str, found: &Value) {
    let no_limit = GroupUpdate { max_attempts: None, max_deliveries: Some(0) };
    db.update_group("orders", group, &no_limit).unwrap();
    let lag = db.lag("orders", group, None).unwrap();
    let mut expected = BTreeMap::new();
    for (partition, lag) in &lag.partitions {
        let read = &found["partitions"][*partition as usize];
        for (sequence, open) in read["open"].as_object().unwrap() {
            expected.insert((*partition, sequence.parse().unwrap()), open["attempt"].as_u64().unwrap() + 1);
        }
        let not_offered = read["cursor"].as_u64().unwrap()..=lag.high_watermark;
        expected.extend(not_offered.map(|sequence| ((*partition, sequence), 1)));
    }
    let mut given = BTreeMap::new();
    loop {
        let leases = db.fetch("orders", group, &FetchOptions::new().limit(1000)).unwrap();
        if leases.is_empty() {
            break;
        }
        for lease in &leases {
            given.insert((lease.event().partition(), lease.event().sequence()), u64::from(lease.attempt()));
        }
        // The next of a key comes when the one before it is settled.
        assert!(db.ack_many(&leases).unwrap().iter().all(Result::is_ok));
    }
    assert_eq!(given, expected, "{group}");
}

/// A journal as it lies there while it is open: eight events, each in a record of its own, under `always` synced before the next.
/// Returns its only segment of events and where in it the records begin, the end last.
fn eight_events(path: &Path, sync: SyncPolicy) -> (PathBuf, Vec<usize>) {
    let at_work = path.with_extension("at-work");
    let db = open(&format!("journal:{}", at_work.display()), OpenOptions::new().sync(sync)).unwrap();
    db.create_stream("orders", StreamOptions::default()).unwrap();
    let name = "streams/0/00000000000000000000.log";
    let mut offsets = vec![64];
    for number in 0..8 {
        db.append("orders", &Append::json("12.5").id(&number.to_string())).unwrap();
        offsets.push(fs::metadata(at_work.join(name)).unwrap().len() as usize);
    }
    for log in ["registry", "streams/0"] {
        fs::create_dir_all(path.join(log)).unwrap();
        let segment = Path::new(log).join("00000000000000000000.log");
        fs::copy(at_work.join(&segment), path.join(&segment)).unwrap();
    }
    (path.join(name), offsets)
}

/// Whatever is damaged, the reader finds by the document what the library finds: so many events, or the same damage.
#[test]
fn a_log_ends_where_the_document_says() {
    let mut outcomes = BTreeMap::new();
    for sync in [SyncPolicy::Always, SyncPolicy::Never] {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("journal");
        let (segment, offsets) = eight_events(&path, sync);
        let whole = fs::read(&segment).unwrap();
        let mut compare = |content: &[u8], what: &str| {
            fs::write(&segment, content).unwrap();
            let outcome = compare_ends(&path, &format!("{sync:?}, {what}"));
            *outcomes.entry(outcome).or_insert(0) += 1;
        };
        // Each field of the segment's header, and of three records: the first, the last but one, the last.
        let fields = |record: usize| [0, 4, 8, 12, 13, 16, 24, 32].map(|field| offsets[record] + field);
        for at in [0, 8, 12, 16, 32, 40].into_iter().chain([0, 6, 7].into_iter().flat_map(fields)) {
            let mut content = whole.clone();
            content[at] ^= 0x10;
            compare(&content, &format!("byte {at} is damaged"));
        }
        for len in [0, 63, 64, offsets[6], offsets[6] + 16, offsets[7] - 1, offsets[7] + 32] {
            compare(&whole[..len], &format!("{len} bytes are left"));
        }
        // Pages that were not synced may be missing before others that were written later.
        let mut content = whole.clone();
        content[offsets[7]..].fill(0);
        compare(&content, "zeros where the last record was");
        content[offsets[6]..].copy_from_slice(&whole[offsets[6]..]);
        content[offsets[6]..offsets[7]].fill(0);
        compare(&content, "zeros where the last record but one was");
    }
    println!("{outcomes:?}");
    assert!(outcomes.len() == 2 && outcomes.values().all(|count| *count > 20), "{outcomes:?}");
}

/// How a damaged journal is read: by the library, and just so by the reader.
fn compare_ends(path: &Path, what: &str) -> &'static str {
    let read = try_to_read(path);
    match open(&format!("journal:{}?mode=ro", path.display()), OpenOptions::new()) {
        Ok(db) => {
            let found = db.read("orders", ReadOptions::default()).unwrap().len();
            let read = read.unwrap_or_else(|error| panic!("{what}: {found} events, but {error}"));
            assert_eq!(read["orders"]["partitions"][0].as_object().unwrap().len(), found, "{what}");
            "read to an end"
        }
        Err(error) => {
            assert_eq!(error.code(), ErrorCode::Corrupt, "{what}: {error}");
            let read = read.expect_err(what);
            let (_, offset) = read.trim_end().rsplit_once("offset ").unwrap_or(("", "0"));
            assert!(error.message().contains(&format!("at offset {offset}:")), "{what}: {error}, but {read}");
            "corrupt"
        }
    }
}
