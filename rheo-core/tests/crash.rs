//! Kills a process that works on a journal with SIGKILL, again and again: nothing that it confirmed may be missing, and
//! nothing may be there that was never tried.
//!
//! The program starts itself again as a child. The child opens the journal and works on it with several threads: it
//! appends, fetches and settles, and tells its parent of each call over a pipe *after* the call returned, in one write, so
//! that the parent gets a whole line or none. The parent kills it at a random moment, reads what is left in the pipe,
//! checks what is in the journal, as it lies there, against all it was ever told, and starts the next child on it: that one
//! recovers what was torn off, and may be killed while it does.
//!
//! What is appended follows from its producer and the number of the call, and what becomes of a delivery from its place
//! and attempt. So the parent knows what may have been under way: of each producer the one call after the last that it
//! told of, which the next child repeats.
//!
//! `RHEO_CRASH_KILLS` says how many kills (20), `RHEO_CRASH_SEED` repeats the choices of another run.

#[cfg(unix)]
fn main() {
    match std::env::var("RHEO_CRASH_URL") {
        Ok(url) => unix::work(&url),
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
        Append, AppendOptions, DeadLetterOptions, ErrorCode, Event, FetchOptions, GroupOptions, Instance, Lease,
        OpenOptions, Ordering, ReadOptions, Result, RetryOptions, StreamOptions, Timestamp, max_attempts_reason,
        max_deliveries_reason, open,
    };
    use std::collections::{BTreeMap, BTreeSet, HashMap};
    use std::env;
    use std::fs::File;
    use std::io::{BufRead, BufReader, Write};
    use std::os::fd::AsFd;
    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;
    use std::process::{Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    /// With their partition counts.
    const STREAMS: [(&str, u32); 2] = [("orders", 3), ("clicks", 2)];
    const PRODUCERS: usize = 3;
    const CONSUMERS_PER_GROUP: usize = 2;
    const POLICIES: [&str; 3] = ["always", "interval:5", "never"];
    /// How often a journal is worked on before the next, new one: making one is killed as well.
    const KILLS_PER_JOURNAL: u32 = 10;
    /// No lease ends before its holder does.
    const LEASE_MS: u64 = 600_000;
    const RETRY_REASON: &str = "again";
    const REJECT_REASON: &str = "odd";

    struct GroupKind {
        name: &'static str,
        ordering: Ordering,
        max_attempts: u32,
        max_deliveries: u32,
    }

    /// Every stream has these.
    const GROUPS: [GroupKind; 2] = [
        GroupKind { name: "plain", ordering: Ordering::None, max_attempts: 3, max_deliveries: 0 },
        GroupKind { name: "by-key", ordering: Ordering::Key, max_attempts: 5, max_deliveries: 4 },
    ];

    /// The parent: everything but what a child does.
    pub fn kill_again_and_again() {
        let kills: u32 = number(env::var("RHEO_CRASH_KILLS").as_deref().unwrap_or("20"));
        let seed = env::var("RHEO_CRASH_SEED").map_or_else(|_| rand::random(), |seed| number(&seed));
        println!("RHEO_CRASH_KILLS={kills} RHEO_CRASH_SEED={seed}");
        let mut random = SmallRng::seed_from_u64(seed);
        let mut total = Total::default();
        while total.kills < kills {
            let directory = tempfile::tempdir().unwrap();
            let mut journal = Journal::new(&directory.path().join("journal"), random.random());
            for _ in 0..KILLS_PER_JOURNAL.min(kills - total.kills) {
                journal.live(&mut random, &mut total);
                journal.check_after_kill(&mut random);
            }
            journal.finish();
        }
        let Total { kills, opening, appended, settled } = total;
        println!("{kills} kills, {opening} of them during recovery, {appended} confirmed appends, {settled} settles");
        assert!(appended > 0 && settled > 0, "nothing was killed at work");
        println!("{kills} passed, 0 failed, 0 skipped");
    }

    fn number<N: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> N {
        text.parse().unwrap_or_else(|error| panic!("{text:?} is not a number: {error:?}"))
    }

    // ---- What is done, for the child that does it and the parent that checks it

    /// An event as it is to be.
    struct Item {
        id: String,
        partition: u32,
        key: Option<String>,
        payload: Vec<u8>,
    }

    /// What a producer appends with its call of this number, counted from 1, and to which stream.
    fn call(seed: u64, producer: usize, call: u64) -> (usize, Vec<Item>) {
        let mut random = SmallRng::seed_from_u64(seed ^ (producer as u64) << 48 ^ call << 16);
        let stream = random.random_range(0..STREAMS.len());
        let count = if random.random() { 1 } else { random.random_range(2..=6) };
        let item = |index| {
            // One in forty is larger than the smallest segment.
            let lens = if random.random_ratio(1, 40) { 4_000..8_000 } else { 0..300 };
            let len = random.random_range(lens);
            Item {
                id: format!("{producer}-{call}-{index}"),
                partition: random.random_range(0..STREAMS[stream].1),
                key: random.random_ratio(3, 4).then(|| format!("key {}", random.random_range(0..40))),
                payload: (0..len).map(|_| random.random()).collect(),
            }
        };
        (stream, (0..count).map(item).collect())
    }

    /// Checks that an event is what its id says, wherever it comes from.
    fn check_content(seed: u64, event: &Event) {
        let id = event.id().to_string();
        let mut parts = id.split('-');
        let mut part = || parts.next().unwrap_or_else(|| panic!("{id} was never appended"));
        let (stream, items) = call(seed, number(part()), number(part()));
        let item = items.iter().find(|item| item.id == id).unwrap_or_else(|| panic!("{id} was never appended"));
        assert_eq!((event.stream(), event.partition()), (STREAMS[stream].0, item.partition), "{id}");
        assert_eq!((event.key(), event.payload()), (item.key.as_deref(), &*item.payload), "{id}");
    }

    /// What becomes of a delivery.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Action {
        Ack,
        Retry {
            delay_ms: u64,
        },
        Reject,
        Release,
        /// Its lease is held to the end.
        Keep,
    }

    /// A delivery: its partition and sequence, and its attempt.
    #[derive(Clone, Copy, Debug)]
    struct Claim {
        place: (u32, u64),
        attempt: u32,
    }

    impl Claim {
        fn of(lease: &Lease) -> Claim {
            Claim { place: (lease.event().partition(), lease.event().sequence()), attempt: lease.attempt() }
        }

        fn action(self) -> Action {
            let Claim { place: (partition, sequence), attempt } = self;
            let all = sequence << 16 | u64::from(partition) << 8 | u64::from(attempt);
            // The high bits of a product depend on all bits of its factors.
            match all.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60 {
                0..=8 => Action::Ack,
                9 | 10 => Action::Retry { delay_ms: 0 },
                11 => Action::Retry { delay_ms: 1 + sequence % 20 },
                12 | 13 => Action::Reject,
                14 => Action::Release,
                _ => Action::Keep,
            }
        }

        /// The reason of the dead letter that this delivery is to become, if it is.
        fn dead_letter_reason(self, group: &GroupKind) -> Option<String> {
            match self.action() {
                Action::Reject => Some(REJECT_REASON.to_owned()),
                Action::Retry { .. } if self.attempt >= group.max_attempts => {
                    Some(max_attempts_reason(RETRY_REASON, group.max_attempts))
                }
                _ => None,
            }
        }

        /// Whether somebody else may get it while its holder lives.
        fn is_given_back(self, group: &GroupKind) -> bool {
            match self.action() {
                Action::Retry { .. } => self.attempt < group.max_attempts,
                Action::Release => true,
                Action::Ack | Action::Reject | Action::Keep => false,
            }
        }
    }

    // ---- The child

    /// Where the child tells of what was confirmed.
    struct Report(File);

    impl Report {
        fn line(&self, line: &str) {
            let line = format!("{line}\n");
            assert!(line.len() <= libc::PIPE_BUF, "a pipe may split a line of {} bytes", line.len());
            assert_eq!((&self.0).write(line.as_bytes()).unwrap(), line.len());
        }

        fn claims<'a>(&self, what: &str, stream: usize, group: usize, leases: impl IntoIterator<Item = &'a Lease>) {
            let mut line = format!("{what} {stream} {group}");
            for Claim { place: (partition, sequence), attempt } in leases.into_iter().map(Claim::of) {
                line += &format!(" {partition}:{sequence}:{attempt}");
            }
            self.line(&line);
        }
    }

    /// The child: works until it is killed. Whatever goes wrong ends the process, which the parent sees.
    pub fn work(url: &str) {
        std::panic::set_hook(Box::new(|panic| {
            eprintln!("in the child: {panic}");
            std::process::exit(1);
        }));
        let report = Report(File::from(std::io::stdout().as_fd().try_clone_to_owned().unwrap()));
        let seed = number(&env::var("RHEO_CRASH_SEED").unwrap());
        let confirmed = env::var("RHEO_CRASH_CONFIRMED").unwrap();
        report.line("opening");
        let db = open(url, OpenOptions::new()).unwrap();
        report.line("open");
        let make = |made: Result<()>| {
            if let Err(error) = made {
                assert_eq!(error.code(), ErrorCode::AlreadyExists, "{error}");
            }
        };
        for (stream, (name, partition_count)) in STREAMS.into_iter().enumerate() {
            make(db.create_stream(name, StreamOptions::partitions(partition_count)));
            report.line(&format!("stream {stream}"));
            for (group, kind) in GROUPS.iter().enumerate() {
                let options = GroupOptions {
                    max_attempts: Some(kind.max_attempts),
                    max_deliveries: kind.max_deliveries,
                    ordering: kind.ordering,
                    ..GroupOptions::default()
                };
                make(db.create_group(name, kind.name, &options));
                report.line(&format!("group {stream} {group}"));
            }
        }
        thread::scope(|scope| {
            let (db, report) = (&db, &report);
            for (producer, confirmed) in confirmed.split(' ').map(number).enumerate() {
                scope.spawn(move || produce(db, report, seed, producer, confirmed));
            }
            for stream in 0..STREAMS.len() {
                for group in 0..GROUPS.len() {
                    for _ in 0..CONSUMERS_PER_GROUP {
                        scope.spawn(move || consume(db, report, seed, stream, group));
                    }
                }
            }
        });
    }

    /// Appends from the first call on that is not known to be confirmed, as a producer does that was cut off.
    fn produce(db: &Instance, report: &Report, seed: u64, producer: usize, confirmed: u64) {
        for number in confirmed + 1.. {
            let (stream, items) = call(seed, producer, number);
            let appends: Vec<Append<'_>> = items
                .iter()
                .map(|item| {
                    let mut append = Append::bytes(&item.payload).id(&item.id).partition(item.partition);
                    append.options.key = item.key.as_deref();
                    append
                })
                .collect();
            let stream = STREAMS[stream].0;
            let events = match &*appends {
                [one] => vec![db.append(stream, one).unwrap()],
                many => db.append_batch(stream, many, &AppendOptions::default()).unwrap(),
            };
            let mut line = format!("append {producer} {number}");
            for event in &events {
                check_content(seed, event);
                line += &format!(" {}:{}", event.partition(), event.sequence());
            }
            report.line(&line);
        }
    }

    fn consume(db: &Instance, report: &Report, seed: u64, stream: usize, group: usize) {
        let (stream_name, group_name) = (STREAMS[stream].0, GROUPS[group].name);
        for round in 0.. {
            let options = FetchOptions::new().limit(1 + round % 8).lease_ms(LEASE_MS).wait_ms(100);
            let leases = db.fetch(stream_name, group_name, &options).unwrap();
            if leases.is_empty() {
                continue;
            }
            leases.iter().for_each(|lease| check_content(seed, lease.event()));
            report.claims("fetch", stream, group, &leases);
            let (to_ack, others): (Vec<&Lease>, Vec<&Lease>) =
                leases.iter().partition(|lease| Claim::of(lease).action() == Action::Ack);
            if to_ack.len() > 1 {
                db.ack_many(&to_ack).unwrap().into_iter().for_each(Result::unwrap);
                report.claims("settle", stream, group, to_ack);
            } else if let [one] = *to_ack {
                db.ack(one).unwrap();
                report.claims("settle", stream, group, [one]);
            }
            for lease in others {
                match Claim::of(lease).action() {
                    Action::Retry { delay_ms } => {
                        db.retry(lease, RetryOptions { reason: RETRY_REASON, delay_ms }).unwrap();
                    }
                    Action::Reject => db.reject(lease, REJECT_REASON).unwrap(),
                    Action::Release => db.release(lease).unwrap(),
                    Action::Ack | Action::Keep => continue,
                }
                report.claims("settle", stream, group, [lease]);
            }
        }
    }

    // ---- The parent

    #[derive(Default)]
    struct Total {
        kills: u32,
        /// How many of these hit a child while it opened the journal.
        opening: u32,
        appended: u64,
        settled: u64,
    }

    /// When a child is killed.
    enum Moment {
        /// As soon as it is started.
        Start,
        /// While it opens the journal: after this part of the time that the last opening took.
        Opening(f64),
        /// After so many lines, from the one on that says that the journal is open.
        Line(u32),
    }

    /// What is known of a delivery's end.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    enum Known {
        /// Nobody tried to end it.
        #[default]
        Open,
        /// Its holder was to end it.
        Ending,
        Acked,
        Dead,
    }

    impl Known {
        fn is_end(self) -> bool {
            matches!(self, Known::Acked | Known::Dead)
        }
    }

    /// What is known of a delivery.
    #[derive(Clone, Copy, Debug, Default)]
    struct Delivery {
        /// How often it was delivered, at least …
        least: u32,
        /// … and at most, when …
        most: u32,
        /// … there had been so many kills. Each may hide one more: a fetch that was done and not told of.
        kills: u32,
        known: Known,
    }

    impl Delivery {
        /// Whether it can have been delivered so often by now.
        fn allows(&self, attempt: u32, kills: u32) -> bool {
            (self.least..=self.most + kills - self.kills).contains(&attempt)
        }
    }

    /// A group as far as it is known.
    #[derive(Default)]
    struct Progress {
        is_confirmed: bool,
        /// By partition and sequence; nothing of those that nobody was told of.
        deliveries: HashMap<(u32, u64), Delivery>,
        /// As they were listed last, by partition and sequence: attempt and reason.
        dead: BTreeMap<(u32, u64), (u32, String)>,
        /// By partition, as they were found last.
        frontiers: BTreeMap<u32, u64>,
    }

    /// A stream as far as it is known.
    #[derive(Default)]
    struct Log {
        is_confirmed: bool,
        /// By partition and sequence: the ids of what was confirmed or found.
        events: BTreeMap<(u32, u64), String>,
        groups: [Progress; GROUPS.len()],
    }

    /// A journal, with everything that was ever confirmed of it.
    struct Journal {
        path: String,
        seed: u64,
        kills: u32,
        /// Whether a child had it open.
        was_open: bool,
        /// How long it took the last child to open it.
        opening: Duration,
        /// The last confirmed call of each producer.
        confirmed: [u64; PRODUCERS],
        streams: [Log; STREAMS.len()],
    }

    impl Journal {
        fn new(path: &Path, seed: u64) -> Journal {
            Journal {
                path: path.to_str().unwrap().to_owned(),
                seed,
                kills: 0,
                was_open: false,
                opening: Duration::from_millis(1),
                confirmed: [0; PRODUCERS],
                streams: Default::default(),
            }
        }

        /// Starts a child, kills it, and takes note of all it told of.
        fn live(&mut self, random: &mut SmallRng, total: &mut Total) {
            let moment = match random.random_range(0..16) {
                0 => Moment::Start,
                1..4 => Moment::Opening(random.random()),
                _ => {
                    let most = 1 << random.random_range(0..12);
                    Moment::Line(random.random_range(1..=most))
                }
            };
            let policy = POLICIES[total.kills as usize % POLICIES.len()];
            let (sync_settles, segment_bytes) = (random.random::<bool>(), random.random_range(4 << 10..32 << 10));
            let options = format!("sync={policy}&sync_settles={sync_settles}&segment_bytes={segment_bytes}");
            let mut child = Command::new(env::current_exe().unwrap())
                .env("RHEO_CRASH_URL", format!("journal:{}?{options}", self.path))
                .env("RHEO_CRASH_SEED", self.seed.to_string())
                .env("RHEO_CRASH_CONFIRMED", self.confirmed.map(|call| call.to_string()).join(" "))
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let reports = BufReader::new(child.stdout.take().unwrap());
            if let Moment::Start = moment {
                child.kill().unwrap();
            }
            let mut began = None;
            let mut lines_since_open = 0;
            for line in reports.lines() {
                let line = line.unwrap();
                match &*line {
                    "opening" => {
                        let start = Instant::now();
                        began = Some(start);
                        if let Moment::Opening(part) = moment {
                            let wait = self.opening.mul_f64(part);
                            while start.elapsed() < wait {
                                std::hint::spin_loop();
                            }
                            child.kill().unwrap();
                        }
                    }
                    "open" => {
                        self.was_open = true;
                        lines_since_open = 1;
                        self.opening = began.expect("it began").elapsed();
                    }
                    line => {
                        lines_since_open += 1;
                        self.take_note(line, total);
                    }
                }
                if matches!(moment, Moment::Line(count) if count == lines_since_open) {
                    child.kill().unwrap();
                }
            }
            let status = child.wait().unwrap();
            assert_eq!(status.signal(), Some(libc::SIGKILL), "the child ended by itself: {status}");
            total.opening += u32::from(began.is_some() && lines_since_open == 0);
            total.kills += 1;
            self.kills += 1;
        }

        /// Takes note of what a child confirmed, and checks it against what was known.
        fn take_note(&mut self, line: &str, total: &mut Total) {
            let mut words = line.split(' ');
            let what = words.next().unwrap();
            let mut index = || number::<usize>(words.next().unwrap());
            match what {
                "stream" => self.streams[index()].is_confirmed = true,
                "group" => self.streams[index()].groups[index()].is_confirmed = true,
                "append" => {
                    let (producer, number) = (index(), index() as u64);
                    assert_eq!(number, self.confirmed[producer] + 1, "{line}");
                    self.confirmed[producer] = number;
                    let (stream, items) = call(self.seed, producer, number);
                    for (item, place) in items.into_iter().zip(words.map(place)) {
                        let stands = self.streams[stream].events.entry(place).or_insert_with(|| item.id.clone());
                        assert_eq!(*stands, item.id, "{place:?} holds two events");
                        total.appended += 1;
                    }
                }
                "fetch" | "settle" => {
                    let (stream, group) = (index(), index());
                    let (progress, kind) = (&mut self.streams[stream].groups[group], &GROUPS[group]);
                    for claim in words.map(claim) {
                        if what == "fetch" {
                            progress.fetched(claim, kind, self.kills);
                        } else {
                            progress.settled(claim, kind);
                            total.settled += 1;
                        }
                    }
                }
                _ => panic!("{line:?} says nothing"),
            }
        }

        /// Checks the journal as it was left, and now and then also what a recovery makes of it.
        fn check_after_kill(&mut self, random: &mut SmallRng) {
            if self.was_open {
                let db = open(&format!("journal:{}?mode=ro", self.path), OpenOptions::new()).unwrap();
                self.check(&db);
            }
            if !self.was_open || random.random_ratio(1, 3) {
                self.check(&self.recover());
            }
        }

        fn recover(&self) -> Instance {
            // No retry is due later than this.
            let now = Timestamp::from_micros(i64::MAX / 2);
            open(&format!("journal:{}", self.path), OpenOptions::new().manual_clock(Some(now))).unwrap()
        }

        /// Checks that every delivery that was not ended comes once more, and only these.
        fn finish(&mut self) {
            let db = self.recover();
            self.check(&db);
            for (log, (stream, _)) in self.streams.iter_mut().zip(STREAMS) {
                let groups = log.groups.iter_mut().zip(&GROUPS);
                for (progress, kind) in groups.filter(|(progress, _)| progress.is_confirmed) {
                    let options = FetchOptions::new().limit(1000).lease_ms(LEASE_MS);
                    loop {
                        let leases = db.fetch(stream, kind.name, &options).unwrap();
                        if leases.is_empty() {
                            break;
                        }
                        for lease in &leases {
                            check_content(self.seed, lease.event());
                            progress.fetched(Claim::of(lease), kind, self.kills);
                        }
                        for (lease, acked) in leases.iter().zip(db.ack_many(&leases).unwrap()) {
                            acked.unwrap();
                            progress.deliveries.get_mut(&Claim::of(lease).place).unwrap().known = Known::Acked;
                        }
                    }
                    assert_eq!(db.lag(stream, kind.name, None).unwrap().lag(), 0, "{} of {stream}", kind.name);
                }
            }
            db.close().unwrap();
            let db = open(&format!("journal:{}?mode=ro", self.path), OpenOptions::new()).unwrap();
            self.check(&db);
        }

        /// Checks what is in the journal against what is known, and takes note of it: what was found once stays.
        fn check(&mut self, db: &Instance) {
            let names: BTreeSet<String> = db.list_streams().unwrap().into_iter().collect();
            assert!(names.iter().all(|name| STREAMS.iter().any(|(known, _)| name == known)), "{names:?}");
            let mut found: BTreeSet<String> = BTreeSet::new();
            for (log, (name, partition_count)) in self.streams.iter_mut().zip(STREAMS) {
                if !names.contains(name) {
                    assert!(!log.is_confirmed && log.events.is_empty(), "the stream {name} is missing");
                    continue;
                }
                log.is_confirmed = true;
                let mut events = BTreeMap::new();
                for partition in 0..partition_count {
                    for event in read_all(db, name, partition) {
                        check_content(self.seed, &event);
                        let id = event.id().to_string();
                        assert_eq!(db.get(name, &id).unwrap().unwrap(), event, "{id}");
                        assert!(found.insert(id.clone()), "{id} is there twice");
                        events.insert((partition, event.sequence()), id);
                    }
                }
                for (place, id) in &log.events {
                    assert_eq!(events.get(place), Some(id), "what is at {place:?} of {name}");
                }
                log.events = events;
                log.check_groups(db, name, self.kills);
            }
            // Of each producer: everything up to its last confirmed call, all or nothing of the next, and no more.
            for (producer, confirmed) in self.confirmed.into_iter().enumerate() {
                for number in 1..=confirmed + 1 {
                    let (_, items) = call(self.seed, producer, number);
                    let count = items.iter().filter(|item| found.remove(&item.id)).count();
                    let is_whole = count == items.len() || count == 0 && number > confirmed;
                    assert!(is_whole, "{count} events of call {number} of producer {producer}; confirmed: {confirmed}");
                }
            }
            assert!(found.is_empty(), "never appended: {found:?}");
        }
    }

    impl Log {
        fn check_groups(&mut self, db: &Instance, stream: &str, kills: u32) {
            let names = db.list_groups(stream).unwrap();
            assert!(names.iter().all(|name| GROUPS.iter().any(|kind| kind.name == name)), "{names:?}");
            for (progress, kind) in self.groups.iter_mut().zip(&GROUPS) {
                if names.iter().any(|name| name == kind.name) {
                    progress.is_confirmed = true;
                    progress.check(db, stream, kind, &self.events, kills);
                } else {
                    assert!(!progress.is_confirmed, "the group {} of {stream} is missing", kind.name);
                }
            }
        }
    }

    impl Progress {
        fn fetched(&mut self, claim: Claim, kind: &GroupKind, kills: u32) {
            let Claim { place, attempt } = claim;
            let delivery = self.deliveries.entry(place).or_default();
            let what = format!("{claim:?} of {} after {kills} kills, of which was known {delivery:?}", kind.name);
            assert!(!delivery.known.is_end(), "{what}: it had ended");
            assert!(delivery.allows(attempt - 1, kills), "{what}: it cannot be this attempt");
            let before = Claim { place, attempt: delivery.most };
            let is_held = delivery.most > 0 && delivery.kills == kills && !before.is_given_back(kind);
            assert!(!is_held, "{what}: it has two holders");
            // A release takes the attempt back, and may be done before it is told of.
            let is_released = claim.action() == Action::Release;
            let ends = claim.action() == Action::Ack || claim.dead_letter_reason(kind).is_some();
            let known = if ends { Known::Ending } else { Known::Open };
            *delivery = Delivery { least: attempt - u32::from(is_released), most: attempt, kills, known };
        }

        fn settled(&mut self, claim: Claim, kind: &GroupKind) {
            let delivery = self.deliveries.get_mut(&claim.place).expect("what is settled was fetched");
            let is_dead = claim.dead_letter_reason(kind).is_some();
            if is_dead || claim.action() == Action::Ack {
                assert_eq!((delivery.known, delivery.most), (Known::Ending, claim.attempt), "{claim:?}");
                delivery.known = if is_dead { Known::Dead } else { Known::Acked };
            }
        }

        fn check(
            &mut self,
            db: &Instance,
            stream: &str,
            kind: &GroupKind,
            events: &BTreeMap<(u32, u64), String>,
            kills: u32,
        ) {
            let group = kind.name;
            let all = DeadLetterOptions { limit: Some(usize::MAX), ..DeadLetterOptions::default() };
            let mut dead = BTreeMap::new();
            for letter in db.dead_letters(stream, group, &all).unwrap() {
                let place = (letter.event.partition(), letter.event.sequence());
                assert_eq!(events.get(&place).map(String::as_str), Some(letter.event.id().as_str()));
                if !self.dead.contains_key(&place) {
                    self.check_dead(place, letter.attempt, &letter.reason, kind, kills);
                }
                dead.insert(place, (letter.attempt, letter.reason));
            }
            for (place, letter) in &self.dead {
                assert_eq!(dead.get(place), Some(letter), "the dead letter at {place:?} of {group}");
            }
            for (place, delivery) in &self.deliveries {
                let is_lost = delivery.known == Known::Dead && !dead.contains_key(place);
                assert!(!is_lost, "{place:?} is no dead letter of {group}");
            }
            dead.keys().for_each(|place| self.deliveries.entry(*place).or_default().known = Known::Dead);
            self.dead = dead;

            let info = db.group_info(stream, group, None).unwrap();
            assert_eq!((info.inflight_count, info.dead_letter_count), (0, self.dead.len() as u64));
            let settings = (info.settings.max_attempts, info.settings.max_deliveries, info.settings.ordering);
            assert_eq!(settings, (kind.max_attempts, kind.max_deliveries, kind.ordering));
            assert_eq!(info.lag, db.lag(stream, group, None).unwrap());
            for (partition, found) in info.lag.partitions {
                let high_watermark = events.range((partition, 0)..=(partition, u64::MAX)).count() as u64;
                let frontier = found.frontier;
                assert_eq!((found.high_watermark, found.lag()), (high_watermark, high_watermark - frontier));
                let what = format!("the frontier of {group} in partition {partition} of {stream} is {frontier}");
                assert!(frontier >= self.frontiers.insert(partition, frontier).unwrap_or(0), "{what}: it went back");
                for sequence in 1..=frontier {
                    let known = &mut self.deliveries.entry((partition, sequence)).or_default().known;
                    assert_ne!(*known, Known::Open, "{what}: {sequence} is open");
                    if *known == Known::Ending {
                        *known = Known::Acked;
                    }
                }
                let next = self.deliveries.get(&(partition, frontier + 1));
                assert!(next.is_none_or(|next| !next.known.is_end()), "{what}: the next has ended as well");
            }
        }

        /// Checks that a new dead letter has a reason to be one.
        fn check_dead(&self, place: (u32, u64), attempt: u32, reason: &str, kind: &GroupKind, kills: u32) {
            let delivery = self.deliveries.get(&place).copied().unwrap_or_default();
            let is_settled = matches!(delivery.known, Known::Ending | Known::Dead)
                && delivery.most == attempt
                && Claim { place, attempt }.dead_letter_reason(kind).as_deref() == Some(reason);
            let is_buried = !delivery.known.is_end()
                && kind.max_deliveries == attempt
                && reason == max_deliveries_reason(kind.max_deliveries)
                && delivery.allows(attempt, kills);
            assert!(is_settled || is_buried, "{place:?} died at attempt {attempt} ({reason}): {delivery:?}");
        }
    }

    /// All events of a partition, whose sequences have no gaps.
    fn read_all(db: &Instance, stream: &str, partition: u32) -> Vec<Event> {
        let options = ReadOptions { limit: usize::MAX, partition, ..ReadOptions::default() };
        let events = db.read(stream, options).unwrap();
        assert!(events.iter().zip(1..).all(|(event, sequence)| event.sequence() == sequence), "{stream} {partition}");
        let info = db.stream_info(stream).unwrap();
        assert_eq!(info.partitions[partition as usize].high_watermark, events.len() as u64, "{stream} {partition}");
        events
    }

    /// A partition and a sequence.
    fn place(word: &str) -> (u32, u64) {
        let (partition, sequence) = word.split_once(':').unwrap();
        (number(partition), number(sequence))
    }

    fn claim(word: &str) -> Claim {
        let (place_word, attempt) = word.rsplit_once(':').unwrap();
        Claim { place: place(place_word), attempt: number(attempt) }
    }
}
