//! After a fork the child keeps its hands off what the parent opened (contract 5, `forked`; failure case 27).
#![cfg(unix)]

use rheo_core::{Append, ErrorCode, FetchOptions, GroupOptions, OpenOptions, StreamOptions, get, open};
use std::sync::atomic::{AtomicBool, Ordering};

/// What the child sees; a number tells the parent what was wrong.
fn child(db: &rheo_core::Instance) -> i32 {
    let forked = |error: Option<rheo_core::Error>| error.is_some_and(|error| error.code() == ErrorCode::Forked);
    if !forked(db.append("s", &Append::json("1")).err()) || !forked(db.ping().err()) {
        return 1;
    }
    if get("shared").is_some() {
        return 2;
    }
    let Ok(own) = open("memory:", OpenOptions::new().name("shared")) else { return 3 };
    if own.create_stream("s", StreamOptions::default()).is_err() || own.append("s", &Append::json("1")).is_err() {
        return 4;
    }
    if db.close().is_err() || get("shared").is_none() {
        return 5;
    }
    0
}

#[test]
fn a_child_uses_nothing_of_its_parent() {
    let db = open("memory:", OpenOptions::new().name("shared")).unwrap();
    db.create_stream("s", StreamOptions::default()).unwrap();
    db.append("s", &Append::json("1")).unwrap();
    // SAFETY: the child calls only what is safe after a fork, which is what this test is about, and ends by `_exit`.
    let status = unsafe {
        match libc::fork() {
            0 => libc::_exit(child(&db)),
            process => {
                let mut status = 0;
                assert_eq!(libc::waitpid(process, &raw mut status, 0), process);
                status
            }
        }
    };
    assert!(libc::WIFEXITED(status), "the child was ended by a signal: {status}");
    assert_eq!(libc::WEXITSTATUS(status), 0);
    assert_eq!(db.append("s", &Append::json("2")).unwrap().sequence(), 2);
    assert!(get("shared").is_some());
}

/// Another thread may hold any lock at the fork; giving handles up in the child waits for none of them.
#[test]
fn a_child_gives_up_what_it_inherited() {
    let db = open("memory:", OpenOptions::new()).unwrap();
    db.create_stream("s", StreamOptions::default()).unwrap();
    db.create_group("s", "g", &GroupOptions::default()).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                db.append("s", &Append::json("1").id("a")).unwrap();
                for lease in db.fetch("s", "g", &FetchOptions::new()).unwrap() {
                    db.release(&lease).unwrap();
                }
            }
        });
        for _ in 0..50 {
            let watch = db.watch("s", "g", None, std::task::Waker::noop()).unwrap();
            // SAFETY: the child only drops what it inherited, which is what this test is about, and ends by `_exit`.
            unsafe {
                match libc::fork() {
                    0 => {
                        libc::alarm(20);
                        drop(watch);
                        // A copy of the one handle there is: as if the process ended.
                        drop(std::ptr::read(&raw const db));
                        libc::_exit(0);
                    }
                    process => {
                        let mut status = 0;
                        assert_eq!(libc::waitpid(process, &raw mut status, 0), process);
                        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "a child hung: {status}");
                    }
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// The registry of names is in order in the child, whatever threads of its parent were doing with it.
#[test]
fn a_child_opens_by_name_while_its_parent_does() {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for name in ["busy", "bee"] {
            let stop = &stop;
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    drop(open("memory:", OpenOptions::new().name(name)).unwrap());
                    assert!(get(name).is_none());
                }
            });
        }
        for _ in 0..50 {
            // SAFETY: the child does what this test is about, and ends by `_exit`.
            unsafe {
                match libc::fork() {
                    0 => {
                        libc::alarm(20);
                        let opened = open("memory:", OpenOptions::new().name("busy"));
                        let found = get("busy").is_some();
                        libc::_exit(i32::from(opened.is_err() || !found));
                    }
                    process => {
                        let mut status = 0;
                        assert_eq!(libc::waitpid(process, &raw mut status, 0), process);
                        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "status {status}");
                    }
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// A child has no part in the lock on a journal, and does it no harm: the parent may close it and open it again, or another
/// process may, while the child lives.
#[test]
fn a_child_does_not_hold_its_parent_s_journal() {
    let place = tempfile::tempdir().unwrap();
    let url = format!("journal:{}", place.path().join("journal").display());
    let db = open(&url, OpenOptions::new()).unwrap();
    db.create_stream("s", StreamOptions::default()).unwrap();
    let (mut ends, mut looked) = ([0; 2], [0; 2]);
    // SAFETY: the child calls what this test is about, and ends by `_exit`, when the parent has closed its end of the pipe.
    let process = unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        assert_eq!(libc::pipe(looked.as_mut_ptr()), 0);
        match libc::fork() {
            0 => {
                libc::alarm(20);
                libc::close(ends[1]);
                let refused = |error: Option<rheo_core::Error>, code| error.is_some_and(|error| error.code() == code);
                let forked = refused(db.append("s", &Append::json("1")).err(), ErrorCode::Forked);
                let locked = refused(open(&url, OpenOptions::new()).err(), ErrorCode::Locked);
                assert_eq!(libc::write(looked[1], [1_u8].as_ptr().cast(), 1), 1);
                drop(std::ptr::read(&raw const db));
                let mut byte = 0_u8;
                libc::read(ends[0], (&raw mut byte).cast(), 1);
                libc::_exit(i32::from(!forked || !locked));
            }
            process => process,
        }
    };
    db.append("s", &Append::json("1").id("parent")).unwrap();
    // The child is to find it locked: only then is it closed.
    let mut byte = 0_u8;
    // SAFETY: the byte is there to be written to.
    assert_eq!(unsafe { libc::read(looked[0], (&raw mut byte).cast(), 1) }, 1);
    db.close().unwrap();
    let again = open(&url, OpenOptions::new()).unwrap();
    assert!(again.get("s", "parent").unwrap().is_some());
    drop(again);
    let mut status = 0;
    // SAFETY: the descriptors and the process are this test's own.
    unsafe {
        for end in [ends, looked].as_flattened() {
            libc::close(*end);
        }
        assert_eq!(libc::waitpid(process, &raw mut status, 0), process);
    }
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "status {status}");
}

/// A consumer's threads are its parent's alone. What the child has of it says so, and can be given up at any moment.
#[test]
fn a_child_has_no_consumers() {
    use rheo_core::{Consumer, ConsumerOptions, Next, Outcome, Producer, ProducerOptions};

    let db = open("memory:", OpenOptions::new()).unwrap();
    db.create_stream("s", StreamOptions::default()).unwrap();
    db.create_group("s", "g", &GroupOptions::default()).unwrap();
    let group = db.group("s", "g").unwrap();
    let options = ConsumerOptions::new().concurrency(3);
    let consumer = Consumer::start(&group, &options, |_, _| Outcome::retry_after("again", 0)).unwrap();
    let producer = Producer::start(&group, &ProducerOptions::new().max_demand(1)).unwrap();
    (0..100).for_each(|_| drop(db.append("s", &Append::json("1")).unwrap()));
    let forked = |error: Option<rheo_core::Error>| error.is_some_and(|error| error.code() == ErrorCode::Forked);
    for _ in 0..20 {
        let drain = producer.begin_drain().unwrap();
        // SAFETY: as above.
        let status = unsafe {
            match libc::fork() {
                0 => {
                    let wrong = [
                        forked(consumer.drain(1000).err()),
                        forked(consumer.close(1000).err()),
                        forked(consumer.wait(1000).err()),
                        forked(consumer.inflight_count().err()),
                        forked(producer.next(1, 1000, None).err()),
                        forked(producer.close(1000).err()),
                        forked(drain.is_done().err()),
                        forked(Consumer::start(&group, &options, |_, _| Outcome::Ack).err()),
                    ]
                    .iter()
                    .position(|right| !right);
                    drop((drain, consumer, producer, group, db));
                    libc::_exit(wrong.map_or(0, |at| at as i32 + 1))
                }
                process => {
                    let mut status = 0;
                    assert_eq!(libc::waitpid(process, &raw mut status, 0), process);
                    status
                }
            }
        };
        assert!(libc::WIFEXITED(status), "the child was ended by a signal: {status}");
        assert_eq!(libc::WEXITSTATUS(status), 0);
    }
    assert!(consumer.is_running().unwrap());
    assert!(matches!(producer.next(1, 0, None).unwrap(), Next::Stopped));
    consumer.close(30_000).unwrap();
}
