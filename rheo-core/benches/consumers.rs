//! Measures consumers against the loop that one would write by hand: fetch 100, ack_many. In the same run, in turns; see
//! `common` for how. Then how long it takes from an append to the handler of an idle consumer, in microseconds.
//!
//! Arguments: as for `ratios`; `wake_up` runs that part alone.

mod common;

use common::{Named, Run, measure};
use rheo_core::{
    Append, AppendOptions, Consumer, ConsumerOptions, FetchOptions, Group, GroupOptions, Instance, Lease, Next,
    OpenOptions, Outcome, Producer, ProducerOptions, StreamOptions, open,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

const PAYLOAD: [u8; 128] = [b'x'; 128];

fn main() {
    let cases: [Named; 6] = [
        ("fetch_100_ack_many", 200_000, by_hand),
        ("producer_next_100_ack_many", 200_000, producer),
        ("consumer_no_op", 200_000, || consumer(1)),
        ("consumer_no_op_2_threads", 200_000, || consumer(2)),
        ("consumer_no_op_16_threads", 200_000, || consumer(16)),
        ("consumer_no_op_batch_100", 200_000, || batches(100)),
    ];
    measure(&cases);
    let only: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if only.iter().all(|argument| argument.starts_with("--") || argument.contains("wake_up")) {
        wake_up();
    }
}

fn prepared() -> (Instance, Group) {
    let db = open("memory:", OpenOptions::new()).expect("memory opens");
    db.create_stream("orders", StreamOptions::default()).expect("created");
    db.create_group("orders", "billing", &GroupOptions::default()).expect("created");
    let billing = db.group("orders", "billing").expect("good names");
    (db, billing)
}

fn fill(db: &Instance, count: u64) {
    let items = vec![Append::bytes(PAYLOAD.as_slice()); 1000];
    for _ in 0..count / 1000 {
        db.append_batch("orders", &items, &AppendOptions::default()).expect("appended");
    }
}

/// A stream for each round, since those of the rounds before stay in memory otherwise. `work` takes all there is.
fn run(work: impl Fn(&Group, u64) + 'static) -> Run {
    Box::new(move |count| {
        let (db, billing) = prepared();
        fill(&db, count);
        let started = Instant::now();
        work(&billing, count);
        let nanos = started.elapsed().as_nanos() as f64;
        assert_eq!(billing.lag(None).expect("there").lag(), 0);
        nanos / count as f64
    })
}

fn by_hand() -> Run {
    run(|billing, count| {
        let mut leases: Vec<Lease> = Vec::new();
        let options = FetchOptions::new().limit(100);
        for _ in 0..count / 100 {
            billing.fetch_into(&options, &mut leases).expect("fetched");
            assert!(billing.ack_many(&leases).expect("acked").iter().all(Result::is_ok));
        }
    })
}

fn producer() -> Run {
    run(|billing, count| {
        let producer = Producer::start(billing, &ProducerOptions::new().max_demand(100)).expect("started");
        for _ in 0..count / 100 {
            let Next::Leases(leases) = producer.next(100, 1000, None).expect("given") else { panic!("there is more") };
            assert!(producer.ack_many(&leases).expect("acked").iter().all(Result::is_ok));
        }
    })
}

/// Counts events, and says when the last one came.
struct Count {
    left: AtomicU64,
    done: Sender<()>,
}

impl Count {
    fn new(count: u64) -> (Arc<Count>, Receiver<()>) {
        let (done, is_done) = channel();
        (Arc::new(Count { left: AtomicU64::new(count), done }), is_done)
    }

    fn take(&self, events: u64) {
        if self.left.fetch_sub(events, Ordering::Relaxed) == events {
            self.done.send(()).expect("somebody waits");
        }
    }
}

fn options() -> ConsumerOptions {
    ConsumerOptions::new().producer(ProducerOptions::new().max_demand(100))
}

fn finish(consumer: &Consumer, is_done: &Receiver<()>) {
    is_done.recv().expect("it is handled");
    assert!(consumer.drain(10_000).expect("drained"));
}

fn consumer(concurrency: usize) -> Run {
    run(move |billing, count| {
        let (handled, is_done) = Count::new(count);
        let handler = move |_: &Lease, _: &_| {
            handled.take(1);
            Outcome::Ack
        };
        let consumer = Consumer::start(billing, &options().concurrency(concurrency), handler).expect("started");
        finish(&consumer, &is_done);
    })
}

fn batches(batch_size: usize) -> Run {
    run(move |billing, count| {
        let (handled, is_done) = Count::new(count);
        let options = options().batch_size(batch_size);
        let consumer = Consumer::start_batches(billing, &options, move |work, outcomes| {
            outcomes.resize(work.leases().len(), Outcome::Ack);
            handled.take(outcomes.len() as u64);
        })
        .expect("started");
        finish(&consumer, &is_done);
    })
}

/// One event at a time, each appended once the consumer waits.
fn wake_up() {
    const ROUNDS: u64 = 20_000;
    let (db, billing) = prepared();
    let (entered, entries) = channel();
    let entered = std::sync::Mutex::new(entered);
    let consumer = Consumer::start(&billing, &ConsumerOptions::new(), move |_: &Lease, _: &_| {
        entered.lock().expect("nobody panics").send(Instant::now()).expect("somebody waits");
        Outcome::Ack
    })
    .expect("started");
    let mut micros: Vec<f64> = Vec::new();
    for _ in 0..ROUNDS {
        // It has settled, has looked in vain, and waits.
        while consumer.inflight_count().expect("there") > 0 {
            std::thread::yield_now();
        }
        let quiet = Instant::now() + Duration::from_micros(50);
        while Instant::now() < quiet {
            std::hint::spin_loop();
        }
        let appended = Instant::now();
        db.append("orders", &Append::bytes(PAYLOAD.as_slice())).expect("appended");
        let entered = entries.recv().expect("it is handled");
        micros.push(entered.duration_since(appended).as_nanos() as f64 / 1000.0);
    }
    consumer.close(10_000).expect("closed");
    micros.sort_by(f64::total_cmp);
    for (name, part) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)] {
        let at = ((micros.len() - 1) as f64 * part) as usize;
        println!("wake_up_{name}_micros\t{:.1}", micros[at]);
    }
}
