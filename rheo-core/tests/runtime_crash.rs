//! Kills a process with a consumer on a journal, again and again, until every event is settled: what a handler acked is
//! settled or comes again, and what was settled comes to no handler.
//!
//! The program starts itself again as a child, which runs a consumer. Its handler tells the parent of each event over a
//! pipe before it returns, in one write. The parent kills the child at a random moment, looks at the journal as it lies
//! there, and starts the next child on it.
//!
//! `RHEO_CRASH_KILLS` says how many kills at most (20), `RHEO_CRASH_SEED` repeats the choices of another run.

#[cfg(unix)]
fn main() {
    match std::env::var("RHEO_CRASH_URL") {
        Ok(url) => unix::consume(&url),
        Err(_) => unix::kill_again_and_again(),
    }
}

#[cfg(not(unix))]
fn main() {
    println!("0 passed, 0 failed, 1 skipped");
}

#[cfg(unix)]
mod unix {
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};
    use rheo_core::{
        Append, AppendOptions, Consumer, ConsumerOptions, DeadLetterOptions, GroupOptions, Instance, Lease,
        OpenOptions, Ordering, Outcome, ProducerOptions, StreamOptions, open,
    };
    use std::collections::{BTreeMap, HashSet};
    use std::env;
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    const EVENTS: u64 = 3000;
    const PARTITIONS: u32 = 2;
    const DEADLINE: Duration = Duration::from_secs(120);

    /// What becomes of an event: told from its number, so that the parent knows it too.
    fn outcome(number: u64, attempt: u32) -> Outcome {
        match number % 10 {
            0 if attempt == 1 => Outcome::retry_after("again", 1),
            1 => Outcome::reject("odd"),
            _ => Outcome::Ack,
        }
    }

    fn ends(number: u64, attempt: u32) -> bool {
        !matches!(outcome(number, attempt), Outcome::Retry { .. })
    }

    fn number(lease: &Lease) -> u64 {
        std::str::from_utf8(lease.event().payload()).unwrap().parse().unwrap()
    }

    /// The child.
    pub fn consume(url: &str) {
        let db = open(url, OpenOptions::new()).unwrap();
        let options = ConsumerOptions::new().concurrency(4).producer(ProducerOptions::new().max_demand(50));
        let _consumer = Consumer::start(&db.group("s", "g").unwrap(), &options, |lease, _| {
            let (number, event) = (number(lease), lease.event());
            let line = format!("{number} {} {} {}\n", event.partition(), event.sequence(), lease.attempt());
            // Work takes its time, and the kill does not find everything done.
            thread::park_timeout(Duration::from_micros(number % 4 * 200));
            // A parent that listens no more has seen enough.
            let _ = std::io::stdout().write_all(line.as_bytes());
            outcome(number, lease.attempt())
        })
        .unwrap();
        while db.lag("s", "g", None).unwrap().lag() > 0 {
            thread::park_timeout(Duration::from_millis(5));
        }
        db.close().unwrap();
    }

    fn prepared(url: &str) -> Instance {
        let db = open(url, OpenOptions::new()).unwrap();
        db.create_stream("s", StreamOptions::partitions(PARTITIONS)).unwrap();
        // A killed child's deliveries count as attempts; none is to end by that.
        let options = GroupOptions { ordering: Ordering::Key, max_attempts: Some(1000), ..GroupOptions::default() };
        db.create_group("s", "g", &options).unwrap();
        let texts: Vec<(String, String)> = (0..EVENTS).map(|n| (n.to_string(), format!("key-{}", n % 97))).collect();
        let items: Vec<Append<'_>> = texts.iter().map(|(text, key)| Append::json(text).key(key)).collect();
        db.append_batch("s", &items, &AppendOptions::default()).unwrap();
        db
    }

    /// The parent.
    pub fn kill_again_and_again() {
        let number = |name: &str| env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
        let kills = number("RHEO_CRASH_KILLS").unwrap_or(20);
        let seed = number("RHEO_CRASH_SEED").unwrap_or_else(rand::random);
        println!("RHEO_CRASH_KILLS={kills} RHEO_CRASH_SEED={seed}");
        let mut random = SmallRng::seed_from_u64(seed);
        for policy in ["always", "interval:5"] {
            let directory = tempfile::tempdir().unwrap();
            let url = format!("journal:{}?sync={policy}", directory.path().join("journal").display());
            prepared(&url).close().unwrap();
            run(&url, kills, &mut random);
        }
        println!("1 passed, 0 failed, 0 skipped");
    }

    fn run(url: &str, kills: u64, random: &mut SmallRng) {
        let end = Instant::now() + DEADLINE;
        let mut frontiers: BTreeMap<u32, u64> = BTreeMap::new();
        let mut ended = HashSet::new();
        let (mut killed, mut handled) = (0, 0);
        loop {
            assert!(Instant::now() < end, "it takes too long");
            let mut child = Command::new(env::current_exe().unwrap())
                .env("RHEO_CRASH_URL", url)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let patience = random.random_range(0..EVENTS / 20);
            let mut told = 0;
            for line in lines {
                let line = line.unwrap();
                let fields: Vec<u64> = line.split(' ').map(|field| field.parse().unwrap()).collect();
                let [number, partition, sequence, attempt] = fields[..] else { panic!("{line:?}") };
                let frontier = frontiers.get(&(partition as u32)).copied().unwrap_or_default();
                assert!(sequence > frontier, "{line}: settled before, the frontier was {frontier}");
                if ends(number, attempt as u32) {
                    ended.insert(number);
                }
                handled += 1;
                told += 1;
                if told == patience && killed < kills {
                    thread::park_timeout(Duration::from_micros(random.random_range(0..2000)));
                    // It may have come to its end.
                    let _ = child.kill();
                    killed += 1;
                }
            }
            let status = child.wait().unwrap();
            let db = open(url, OpenOptions::new()).unwrap();
            let lag = db.lag("s", "g", None).unwrap();
            frontiers = lag.partitions.iter().map(|(partition, at)| (*partition, at.frontier)).collect();
            if lag.lag() == 0 {
                check(&db, &ended);
                db.close().unwrap();
                println!("{killed} kills, {handled} deliveries of {EVENTS} events");
                return;
            }
            assert!(!status.success(), "a child ended before everything was settled");
            db.close().unwrap();
        }
    }

    /// Every event ended as its handler said.
    fn check(db: &Instance, ended: &HashSet<u64>) {
        assert_eq!(ended.len() as u64, EVENTS, "events were settled of which no handler said so");
        let all = DeadLetterOptions { limit: Some(EVENTS as usize), ..DeadLetterOptions::default() };
        let dead: HashSet<u64> = db
            .dead_letters("s", "g", &all)
            .unwrap()
            .iter()
            .map(|letter| std::str::from_utf8(letter.event.payload()).unwrap().parse().unwrap())
            .collect();
        assert_eq!(dead, (0..EVENTS).filter(|number| number % 10 == 1).collect());
    }
}
