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
