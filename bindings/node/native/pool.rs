//! The threads on which operations wait for devices, networks and other processes: a few, for all of the process, started
//! when they are first needed. Never libuv's: those have files to read.

use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;

/// The most threads. Each may wait in a sync, which takes along whatever else was written meanwhile; so more threads than
/// cores are of use, and a hundred would not be.
const MOST_THREADS: usize = 8;

type Job = Box<dyn FnOnce() + Send>;

struct Pool {
    state: Mutex<State>,
    arrived: Condvar,
}

struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
}

static POOL: Pool =
    Pool { state: Mutex::new(State { jobs: VecDeque::new(), threads: 0, idle: 0 }), arrived: Condvar::new() };

/// Has it done on a thread of the pool. Jobs begin in the order of these calls.
pub(crate) fn run(job: impl FnOnce() + Send + 'static) {
    let mut state = POOL.state.lock();
    state.jobs.push_back(Box::new(job));
    if state.idle >= state.jobs.len() || state.threads == MOST_THREADS {
        drop(state);
        POOL.arrived.notify_one();
        return;
    }
    let name = format!("rheo-node-{}", state.threads);
    match std::thread::Builder::new().name(name).spawn(work) {
        Ok(_) => state.threads += 1,
        Err(_) if state.threads > 0 => {}
        Err(_) => {
            // No thread at all is to be had: late is better than never.
            let job = state.jobs.pop_back();
            drop(state);
            if let Some(job) = job {
                job();
            }
        }
    }
}

fn work() {
    let mut state = POOL.state.lock();
    loop {
        if let Some(job) = state.jobs.pop_front() {
            drop(state);
            job();
            state = POOL.state.lock();
        } else {
            state.idle += 1;
            POOL.arrived.wait(&mut state);
            state.idle -= 1;
        }
    }
}
