//! A journal in a directory of the system: how it is opened, read-only or not, and what is refused.

use rheo_core::{
    Append, ErrorCode, FetchOptions, GroupOptions, Instance, OpenOptions, ReadOptions, Result, StreamOptions,
    SyncPolicy, TrimOptions, open,
};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn url(path: &Path) -> String {
    format!("journal:{}", path.display())
}

fn code<T>(result: Result<T>) -> ErrorCode {
    result.err().expect("it is refused").code()
}

/// A journal with an event that was fetched, closed.
fn filled(path: &Path) -> Instance {
    let db = open(&url(path), OpenOptions::new()).unwrap();
    db.create_stream("orders", StreamOptions::default()).unwrap();
    db.create_group("orders", "billing", &GroupOptions::default()).unwrap();
    db.append("orders", &Append::json("1").id("one")).unwrap();
    db.fetch("orders", "billing", &FetchOptions::new()).unwrap();
    db
}

/// Every file below a directory, with what it holds.
fn contents(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else {
            all.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    all
}

#[test]
fn it_goes_on_where_it_was() {
    let place = tempfile::tempdir().unwrap();
    // What is missing of the path is made.
    let path = place.path().join("some/where/journal");
    filled(&path).close().unwrap();
    for attempt in 2..5 {
        let db = open(&url(&path), OpenOptions::new().sync(SyncPolicy::Never)).unwrap();
        assert_eq!(db.capabilities().guarantee("durable"), Some(true));
        assert!(db.append("orders", &Append::json("1").id("one")).unwrap().deduplicated());
        assert_eq!(db.fetch("orders", "billing", &FetchOptions::new()).unwrap()[0].attempt(), attempt);
    }
}

#[test]
fn read_only_changes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("journal");
    let read_only = format!("{}?mode=ro", url(&path));
    assert_eq!(code(open(&read_only, OpenOptions::new())), ErrorCode::Failed, "there is none to be read");
    assert!(!path.exists());
    let db = filled(&path);
    assert_eq!(code(open(&read_only, OpenOptions::new())), ErrorCode::Locked);
    db.close().unwrap();
    // An end that would be cut, and the log of a stream that was never finished.
    let log = path.join("streams/0/00000000000000000000.log");
    fs::write(&log, [fs::read(&log).unwrap(), vec![7; 100]].concat()).unwrap();
    fs::create_dir(path.join("streams/9")).unwrap();
    fs::write(path.join("streams/9/00000000000000000000.log"), "").unwrap();
    let before = contents(&path);
    {
        let db = open(&read_only, OpenOptions::new()).unwrap();
        let other = open(&read_only, OpenOptions::new()).unwrap();
        assert_eq!(code(open(&url(&path), OpenOptions::new())), ErrorCode::Locked);
        for db in [&db, &other] {
            assert_eq!(db.read("orders", ReadOptions::default()).unwrap().len(), 1);
            assert_eq!(db.lag("orders", "billing", None).unwrap().lag(), 1);
            assert_eq!(code(db.append("orders", &Append::json("2"))), ErrorCode::Unsupported);
            assert_eq!(code(db.fetch("orders", "billing", &FetchOptions::new())), ErrorCode::Unsupported);
            assert_eq!(code(db.create_stream("more", StreamOptions::default())), ErrorCode::Unsupported);
            assert_eq!(code(db.delete_stream("orders", true)), ErrorCode::Unsupported);
            assert_eq!(code(db.delete_group("orders", "billing")), ErrorCode::Unsupported);
        }
        db.close().unwrap();
    }
    assert_eq!(contents(&path), before);
    // And then it is repaired.
    assert_eq!(open(&url(&path), OpenOptions::new()).unwrap().list_streams().unwrap(), ["orders"]);
    assert!(!path.join("streams/9").exists());
}

#[test]
fn what_cannot_be_a_journal_is_refused_and_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    fs::write(&file, "theirs").unwrap();
    let refused = |url: &str, expected: ErrorCode, words: &str| {
        let error = open(url, OpenOptions::new()).err().unwrap_or_else(|| panic!("{url} opens"));
        assert_eq!(error.code(), expected, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    };
    refused(&url(&file), ErrorCode::InvalidArgument, file.to_str().unwrap());
    refused(&url(&file.join("below")), ErrorCode::InvalidArgument, file.to_str().unwrap());
    refused(&url(place.path()), ErrorCode::InvalidArgument, "file");
    assert_eq!(contents(place.path()), BTreeMap::from([(file, b"theirs".to_vec())]));
    refused("journal:", ErrorCode::InvalidArgument, "path");
    for (option, words) in [
        ("mode=rx", "mode"),
        ("sync=often", "always"),
        ("sync=interval:0", "interval"),
        ("sync_settles=yes", "true or false"),
        ("segment_bytes=1", "segment_bytes"),
        ("sync", "name=value"),
        ("colour=red", "colour"),
    ] {
        refused(&format!("journal:{}?{option}", place.path().join("new").display()), ErrorCode::InvalidArgument, words);
    }
    assert!(!place.path().join("new").exists());
    assert_eq!(code(open("memory:", OpenOptions::new().sync(SyncPolicy::Never))), ErrorCode::InvalidArgument);
}

/// The directory is removed under an open journal: nothing more is said to be done.
#[cfg(unix)]
#[test]
fn a_journal_that_vanishes_is_told() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("journal");
    let db = filled(&path);
    fs::remove_dir_all(&path).unwrap();
    let error = db.append("orders", &Append::json("2")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Ambiguous);
    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    assert_eq!(code(db.append("orders", &Append::json("3"))), ErrorCode::Poisoned);
    assert_eq!(db.read("orders", ReadOptions::default()).unwrap().len(), 1);
}

#[test]
fn a_registry_without_its_end_is_damage_where_streams_have_events() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("journal");
    filled(&path).close().unwrap();
    let registry = path.join("registry/00000000000000000000.log");
    // Only the header is left: as if no stream had ever been made.
    fs::OpenOptions::new().write(true).open(&registry).unwrap().set_len(64).unwrap();
    let before = contents(&path.join("streams"));
    for mode in ["", "?mode=ro"] {
        let error = open(&format!("{}{mode}", url(&path)), OpenOptions::new()).err().unwrap();
        assert_eq!(error.code(), ErrorCode::Corrupt);
        assert!(error.message().contains("registry"), "{error}");
    }
    assert_eq!(contents(&path.join("streams")), before);
}

#[test]
fn a_stream_that_is_deleted_while_it_is_synced_poisons_nothing() {
    let place = tempfile::tempdir().unwrap();
    let db = open(&url(place.path()), OpenOptions::new().sync(SyncPolicy::Interval(1))).unwrap();
    for _ in 0..200 {
        db.create_stream("s", StreamOptions::default()).unwrap();
        for _ in 0..20 {
            db.append("s", &Append::json("1")).unwrap();
        }
        db.delete_stream("s", true).unwrap();
    }
    db.close().unwrap();
}

#[test]
fn a_stream_may_be_deleted_under_those_who_use_it() {
    let place = tempfile::tempdir().unwrap();
    for sync in [SyncPolicy::Always, SyncPolicy::Never] {
        let path = place.path().join(format!("{sync:?}"));
        let db = open(&url(&path), OpenOptions::new().sync(sync)).unwrap();
        for _ in 0..40 {
            db.create_stream("s", StreamOptions::default()).unwrap();
            db.create_group("s", "g", &GroupOptions::default()).unwrap();
            let uses: [&(dyn Fn() -> Result<()> + Sync); 4] = [
                &|| db.append("s", &Append::json("1")).map(drop),
                &|| db.trim("s", &TrimOptions { max_len: Some(0), force: true, ..TrimOptions::default() }).map(drop),
                &|| db.fetch("s", "g", &FetchOptions::new()).and_then(|leases| db.ack_many(&leases)).map(drop),
                &|| db.stream_info("s").map(drop),
            ];
            std::thread::scope(|scope| {
                for each in uses {
                    scope.spawn(move || {
                        loop {
                            match each() {
                                Ok(()) => {}
                                Err(error) if error.code() == ErrorCode::StreamNotFound => return,
                                Err(error) => panic!("{error}"),
                            }
                        }
                    });
                }
                db.append("s", &Append::json("2")).unwrap();
                db.delete_stream("s", true).unwrap();
            });
        }
        db.close().unwrap();
        open(&url(&path), OpenOptions::new()).unwrap().close().unwrap();
    }
}
