//! What the benches share: cases that take turns, round after round, in one process.

use std::time::Instant;

/// What is measured: does `count` events and returns the nanoseconds for one.
pub type Run = Box<dyn FnMut(u64) -> f64>;

/// A case's name, how many events one round does, and what makes it.
pub type Named = (&'static str, u64, fn() -> Run);

struct Case {
    name: &'static str,
    count: u64,
    run: Run,
    samples: Vec<f64>,
}

/// Measures the cases that the arguments choose and prints the median of each over the rounds, in nanoseconds for one
/// event.
///
/// Arguments: a name, or a part of some, to run only those; `--rounds N`; `--quick`.
pub fn measure(cases: &[Named]) {
    keep_memory();
    let mut rounds = 9;
    let mut scale = 1;
    let mut only = String::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bench" => {}
            "--rounds" => rounds = arguments.next().and_then(|n| n.parse().ok()).expect("--rounds takes a number"),
            "--quick" => scale = 10,
            _ => only = argument,
        }
    }
    let is_whole = cases.iter().any(|(name, ..)| *name == only);
    let mut cases: Vec<Case> = cases
        .iter()
        .filter(|(name, ..)| if is_whole { *name == only } else { name.contains(&only) })
        .map(|(name, count, make)| Case { name, count: (count / scale).max(1), run: make(), samples: Vec::new() })
        .collect();
    // The first round touches memory for the first time and does not count.
    for round in 0..=rounds {
        for case in &mut cases {
            let nanos = (case.run)(case.count);
            if round > 0 {
                case.samples.push(nanos);
            }
        }
    }
    for case in &mut cases {
        case.samples.sort_by(f64::total_cmp);
        println!("{}\t{:.1}", case.name, case.samples[case.samples.len() / 2]);
    }
}

/// Tells glibc to keep freed memory instead of giving it back and touching it anew.
fn keep_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets two tunables of the allocator, before there are other threads.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 30);
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
    }
}

/// Nanoseconds for one, of so many.
#[allow(dead_code, reason = "not every bench needs it")]
pub fn timed(count: u64, mut one: impl FnMut(u64)) -> f64 {
    let started = Instant::now();
    for index in 0..count {
        one(index);
    }
    started.elapsed().as_nanos() as f64 / count as f64
}
