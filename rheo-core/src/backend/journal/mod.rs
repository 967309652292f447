//! The file journal under the memory engine: one directory, no server.
//!
//! The engine decides and holds everything in memory; here lives what makes it durable. Each stream has a log of its own, a
//! registry says which streams there are, and a record holds all that one operation changed. docs/durability.md says what
//! an answer survives, docs/journal-format.md what lies on the disk.
//!
//! ```text
//! PATH/lock            held by the one process that has it open; holds its pid
//! PATH/registry/       the log of the streams
//! PATH/streams/NUMBER/ the log of a stream: its events, its groups and their progress
//! ```
//!
//! Knows nothing of how the engine stores events and deliveries: it is given bytes, and gives them back in order.

pub(crate) mod change;
pub mod files;
mod flusher;
mod health;
mod log;
mod record;
mod recovery;
mod segment;
#[cfg(feature = "test-backends")]
pub mod simulated;

pub(crate) use self::health::Health;
pub(crate) use self::log::{Log, Lost, Ticket};
pub(crate) use self::recovery::Found;

use self::change::{StreamCreated, kind};
use self::files::{File, Files, Opening};
use self::flusher::Flusher;
use self::health::failed;
use self::record::LogId;
use crate::backend::Blocking;
use crate::error::{Error, ErrorCode, Result};
use crate::fork;
use crate::lock::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Runs the program of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/durability.md")]
struct Guide;

/// When what is written is synced: what an answer survives. Every answer survives the end of the process, under each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncPolicy {
    /// Before an append and a change of streams, groups or progress by hand is answered; settles within 50 ms.
    #[default]
    Always,
    /// Every so often, in milliseconds: the end of the machine may cost what was answered since.
    Interval(u64),
    /// When the system sees fit, and when the instance is closed.
    Never,
}

impl std::str::FromStr for SyncPolicy {
    type Err = Error;

    fn from_str(text: &str) -> Result<SyncPolicy> {
        let interval = text.strip_prefix("interval:").and_then(|millis| millis.parse().ok());
        match (text, interval) {
            ("always", _) => Ok(SyncPolicy::Always),
            ("never", _) => Ok(SyncPolicy::Never),
            (_, Some(millis)) if millis > 0 => Ok(SyncPolicy::Interval(millis)),
            _ => Err(Error::invalid(format!(
                "sync is {text:?}; it takes always, never, or interval:MS with 1 ms or more"
            ))),
        }
    }
}

/// How a journal is opened, with the defaults put in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) sync: SyncPolicy,
    /// Whether a settle is answered only when it is synced.
    pub(crate) sync_settles: bool,
    /// How large a segment gets before the next begins.
    pub(crate) segment_bytes: u64,
    /// Nothing is changed, not even repaired.
    pub(crate) is_read_only: bool,
}

/// How large a segment gets when nothing is said.
pub(crate) const SEGMENT_BYTES: u64 = 64 << 20;
/// Within what time a settle that nobody waits for is synced under `always`.
const SETTLE_SYNC: Duration = Duration::from_millis(50);

/// An open journal.
pub(crate) struct Journal {
    files: Arc<dyn Files>,
    path: PathBuf,
    settings: Settings,
    health: Arc<Health>,
    registry: Log<Registry>,
    next_stream: Mutex<u64>,
    flusher: Option<Flusher>,
    /// Given up when it is closed.
    lock: Mutex<Option<HeldLock>>,
}

/// What a registry's records are lost with: nothing has to be undone, for nothing is done before they are synced.
struct Registry;

impl Lost for Registry {
    type Mark = ();

    fn undo(&self, _marks: &[()]) {}
}

/// The log of a stream.
pub(crate) struct StreamLog<L: Lost> {
    journal: Arc<Journal>,
    number: u64,
    log: Arc<Log<L>>,
}

impl Journal {
    /// Opens a journal, or makes one where there is none, and says which streams it holds.
    ///
    /// # Errors
    /// `locked` when it is open elsewhere, `corrupt` and `version_mismatch` when it cannot be read, `invalid_argument` when
    /// the path is something else, `failed` when the system refuses.
    pub(crate) fn open(
        files: Arc<dyn Files>,
        path: &Path,
        settings: Settings,
    ) -> Result<(Arc<Journal>, Vec<StreamCreated>)> {
        let is_read_only = settings.is_read_only;
        let names = prepare(&*files, path, is_read_only)?;
        let lock =
            if is_read_only && !names.contains("lock") { None } else { Some(take_lock(&*files, path, is_read_only)?) };
        // Until now somebody else may have been making it.
        let names = prepare(&*files, path, is_read_only)?;

        let (registry_path, streams_path) = (path.join("registry"), path.join("streams"));
        let make = |at: &Path| {
            let made = files.create_dir(at).and_then(|()| files.sync_dir(path));
            made.map_err(|error| failed("make the directory", at, &error))
        };
        // In this order: who finds a registry finds the rest.
        if !is_read_only && !names.contains("streams") {
            make(&streams_path)?;
        }
        let health = Arc::new(if is_read_only { Health::read_only(path) } else { Health::default() });
        let mut streams = BTreeMap::new();
        let mut deleted = BTreeSet::new();
        let mut next_stream = 0;
        let stored =
            if names.contains("registry") { recovery::look_at(&*files, &registry_path, is_read_only)? } else { None };
        let end = match stored {
            Some(segments) => recovery::recover(&*files, &registry_path, &segments, is_read_only, |found| {
                match found.kind() {
                    kind::STREAM_CREATED => {
                        let created = StreamCreated::read(found.body());
                        let created = created.filter(|created| created.number >= next_stream);
                        let created = created.ok_or_else(|| found.corrupt("it creates no stream"))?;
                        next_stream = created.number + 1;
                        streams.insert(created.number, created);
                    }
                    kind::STREAM_DELETED => {
                        let number = change::read_number(found.body());
                        let stream = number.and_then(|number| streams.remove(&number));
                        let stream = stream.ok_or_else(|| found.corrupt("it deletes a stream that there is not"))?;
                        deleted.insert(stream.number);
                    }
                    kind::CLOSED => {}
                    _ => return Err(found.corrupt("it is of no kind that a registry has")),
                }
                Ok(())
            })?,
            None if is_read_only => return Err(not_a_journal(path, "it has no registry")),
            None => {
                let orphans = files.list(&streams_path).map_err(|error| failed("list", &streams_path, &error))?;
                if !orphans.is_empty() {
                    return Err(health::corrupt(&registry_path, 0, "it is missing, and there are streams"));
                }
                if names.contains("registry") {
                    recovery::clear(&*files, &registry_path)?;
                }
                let end = log::create(&*files, &registry_path, new_id())?;
                files.sync_dir(path).map_err(|error| failed("sync", path, &error))?;
                end
            }
        };
        let registry = Log::new(Arc::clone(&files), registry_path, settings.segment_bytes, Arc::clone(&health), end);
        let delay = match settings.sync {
            _ if is_read_only => None,
            SyncPolicy::Always => Some(SETTLE_SYNC),
            SyncPolicy::Interval(millis) => Some(Duration::from_millis(millis)),
            SyncPolicy::Never => None,
        };
        let journal = Journal {
            path: path.to_owned(),
            settings,
            health,
            registry,
            next_stream: Mutex::new(next_stream),
            flusher: delay.map(Flusher::new),
            lock: Mutex::new(lock),
            files,
        };
        journal.remove_orphans(&streams, &deleted)?;
        Ok((Arc::new(journal), streams.into_values().collect()))
    }

    /// Removes the logs of streams that were being created or deleted when the process ended. A stream is registered, and that
    /// synced, before anything is written to its log: one that holds something and that the registry never knew is damage.
    fn remove_orphans(&self, streams: &BTreeMap<u64, StreamCreated>, deleted: &BTreeSet<u64>) -> Result<()> {
        let directory = self.path.join("streams");
        let names = self.files.list(&directory).map_err(|error| failed("list", &directory, &error))?;
        for name in names {
            let Ok(number) = name.parse::<u64>() else { continue };
            if streams.contains_key(&number) {
                continue;
            }
            let orphan = directory.join(&name);
            if !deleted.contains(&number) && self.holds_records(&orphan)? {
                let why =
                    format!("its end is missing: {} holds events, and it does not know that stream", orphan.display());
                return Err(health::corrupt(&self.path.join("registry"), 0, &why));
            }
            if !self.settings.is_read_only {
                recovery::clear(&*self.files, &orphan)?;
            }
        }
        Ok(())
    }

    /// Whether a log has anything behind the header of its first file.
    fn holds_records(&self, directory: &Path) -> Result<bool> {
        let look = || {
            for name in self.files.list(directory)? {
                if self.files.open(&directory.join(name), Opening::Read)?.size()? > segment::HEADER as u64 {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        look().map_err(|error| failed("read", directory, &error))
    }

    /// Reads a stream's log back, calling `apply` with each of its records.
    ///
    /// # Errors
    /// As `open`.
    pub(crate) fn recover<L: Lost>(
        self: &Arc<Journal>,
        stream: &StreamCreated,
        apply: impl FnMut(&Found<'_>) -> Result<()>,
    ) -> Result<StreamLog<L>> {
        let directory = self.stream_directory(stream.number);
        let segments = match self.files.list(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            _ => recovery::look_at(&*self.files, &directory, self.settings.is_read_only)?,
        };
        let missing = || health::corrupt(&directory, 0, &format!("the log of stream {:?} is missing", stream.name));
        let segments = segments.ok_or_else(missing)?;
        let end = recovery::recover(&*self.files, &directory, &segments, self.settings.is_read_only, apply)?;
        Ok(self.stream_log(stream.number, directory, end))
    }

    fn stream_directory(&self, number: u64) -> PathBuf {
        self.path.join("streams").join(number.to_string())
    }

    fn stream_log<L: Lost>(self: &Arc<Journal>, number: u64, directory: PathBuf, end: log::End) -> StreamLog<L> {
        let Journal { files, settings, health, .. } = &**self;
        let log = Log::new(Arc::clone(files), directory, settings.segment_bytes, Arc::clone(health), end);
        StreamLog { journal: Arc::clone(self), number, log: Arc::new(log) }
    }

    /// Makes a stream's log. It is there, durable, when this returns.
    ///
    /// # Errors
    /// `failed` when nothing is left of it, `ambiguous` when that is not known, and as `Health::check`.
    pub(crate) fn create_stream<L: Lost>(
        self: &Arc<Journal>,
        name: &str,
        partition_count: u32,
    ) -> Result<StreamLog<L>> {
        self.health.check()?;
        let mut next_stream = self.next_stream.lock();
        let number = *next_stream;
        // Not given again, also if this fails: something of it may be left.
        *next_stream += 1;
        let directory = self.stream_directory(number);
        let streams = self.path.join("streams");
        let make = || {
            let end = log::create(&*self.files, &directory, new_id())?;
            self.files.sync_dir(&streams).map_err(|error| failed("sync", &streams, &error))?;
            let created = StreamCreated { number, name: name.to_owned(), partition_count };
            let ticket = self.registry.enqueue(kind::STREAM_CREATED, [], |body| created.write(body))?;
            // Under every policy: that there is a stream must be as sure as anything that is written to it.
            self.registry.wait_synced(ticket, &Registry)?;
            Ok(end)
        };
        let made: Result<log::End> = make();
        if made.as_ref().is_err_and(|error| error.code() == ErrorCode::Failed) {
            let _ = recovery::clear(&*self.files, &directory);
        }
        Ok(self.stream_log(number, directory, made?))
    }

    /// Waits until a record is as durable as the policy wants what is not a settle.
    #[inline]
    fn wait<L: Lost>(&self, log: &Log<L>, ticket: Ticket, lost: &L) -> Result<()> {
        if self.settings.sync == SyncPolicy::Always {
            log.wait_synced(ticket, lost)
        } else {
            log.wait_written(ticket, lost)
        }
    }

    /// Which operations wait for a sync.
    pub(crate) fn blocking(&self) -> Blocking {
        let appends = self.settings.sync == SyncPolicy::Always;
        Blocking { appends, deliveries: appends && self.settings.sync_settles, reads: false }
    }

    /// That operations may change something; see `Health::check`.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        self.health.check()
    }

    /// Closes the registry, ends what runs in the background and gives up the lock. The logs of the streams come first.
    ///
    /// # Errors
    /// Those of a sync.
    pub(crate) fn close(&self) -> Result<()> {
        if let Some(flusher) = &self.flusher {
            flusher.stop();
        }
        let closed = if self.settings.is_read_only { Ok(()) } else { self.registry.close(kind::CLOSED, &Registry) };
        *self.lock.lock() = None;
        closed
    }
}

/// Records are enqueued as in any log; waiting for them goes by the journal's policy.
impl<L: Lost> Deref for StreamLog<L> {
    type Target = Log<L>;

    #[inline]
    fn deref(&self) -> &Log<L> {
        &self.log
    }
}

impl<L: Lost> StreamLog<L> {
    /// That operations may change something; see `Health::check`.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        self.journal.health.check()
    }

    /// Waits until an append, or a change of streams, groups or progress by hand, may be answered and seen.
    #[inline]
    pub(crate) fn wait(&self, ticket: Ticket, lost: &L) -> Result<()> {
        self.journal.wait(&self.log, ticket, lost)?;
        self.tell_flusher();
        Ok(())
    }

    /// Waits until a claim or a settle is written: it outlives the process. May be called with progress locked, for it
    /// waits for no sync.
    #[inline]
    pub(crate) fn wait_written(&self, ticket: Ticket, lost: &L) -> Result<()> {
        self.log.wait_written(ticket, lost)?;
        self.tell_flusher();
        Ok(())
    }

    /// Where settles are to be synced before they are answered, waits for that. No lock is held.
    #[inline]
    pub(crate) fn sync_settled(&self, ticket: Ticket, lost: &L) -> Result<()> {
        if self.journal.settings.sync_settles { self.log.wait_synced(ticket, lost) } else { Ok(()) }
    }

    #[inline]
    fn tell_flusher(&self) {
        if let Some(flusher) = &self.journal.flusher
            && self.log.became_dirty()
        {
            flusher.tell(Arc::downgrade(&self.log) as _);
        }
    }

    /// Takes the stream out of the registry, durable when this returns.
    ///
    /// # Errors
    /// As `Journal::create_stream`.
    pub(crate) fn delete(&self) -> Result<()> {
        let Journal { registry, .. } = &*self.journal;
        let ticket = registry.enqueue(kind::STREAM_DELETED, [], |body| change::put(body, self.number))?;
        // Under every policy: its files are removed next.
        registry.wait_synced(ticket, &Registry)
    }

    /// Removes the files of a stream that is deleted. What cannot be removed now is when the journal is opened next.
    pub(crate) fn remove(&self) {
        self.log.will_be_removed();
        let _ = recovery::clear(&*self.journal.files, self.log.directory());
    }

    /// Writes and syncs everything, notes that, and writes no more.
    ///
    /// # Errors
    /// Those of a write and a sync.
    pub(crate) fn close(&self, lost: &L) -> Result<()> {
        if self.journal.settings.is_read_only { Ok(()) } else { self.log.close(kind::CLOSED, lost) }
    }
}

/// Opens the journal at a path of some file system as a backend: for tests that make files fail, and lose what was not
/// synced.
///
/// # Errors
/// As [`open`](crate::open).
#[cfg(feature = "test-backends")]
pub fn open_on(
    files: Arc<dyn Files>,
    path: &Path,
    options: &crate::OpenOptions,
) -> Result<Arc<dyn crate::backend::Backend>> {
    let settings = options.journal.with_defaults(false);
    let clock = crate::Clock::new(options.clock);
    Ok(Arc::new(crate::backend::memory::MemoryBackend::open_journal(files, path, settings, clock)?))
}

fn new_id() -> LogId {
    LogId::new(crate::lease::LeaseId::random().to_bytes())
}

/// Makes sure that the path is a directory which is a journal's or may become one, and returns what is in it.
fn prepare(files: &dyn Files, path: &Path, is_read_only: bool) -> Result<std::collections::HashSet<String>> {
    let names = match files.list(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_read_only => {
            make_directories(files, path)?;
            Vec::new()
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(not_a_journal(path, "it is not a directory"));
        }
        listed => listed.map_err(|error| failed("open the journal", path, &error))?,
    };
    let stranger = names.iter().find(|name| !["lock", "registry", "streams"].contains(&name.as_str()));
    let is_ours = names.iter().any(|name| name == "registry");
    match stranger {
        Some(stranger) if !is_ours => Err(not_a_journal(path, &format!("it holds {stranger:?} and no registry"))),
        _ => Ok(names.into_iter().collect()),
    }
}

/// Makes a directory and those above it that are missing, each with a durable name.
fn make_directories(files: &dyn Files, path: &Path) -> Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let make = || files.create_dir(path).and_then(|()| files.sync_dir(parent));
    let made = match make() {
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.parent().is_some() => {
            make_directories(files, parent)?;
            make()
        }
        // Somebody else made it since.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    };
    made.map_err(|error| failed("make the directory", path, &error))
}

#[cold]
fn not_a_journal(path: &Path, why: &str) -> Error {
    Error::invalid(format!("{} is not a journal: {why}; give the path of one, or a new one", path.display()))
}

/// The lock on a journal. A forked child has no part in it.
struct HeldLock(Option<Arc<dyn File>>);

impl Drop for HeldLock {
    fn drop(&mut self) {
        fork::with_not_inherited(|list| {
            let descriptor = self.0.as_ref().and_then(|file| file.descriptor());
            list.retain(|known| Some(*known) != descriptor);
            if let Some(file) = self.0.take() {
                let _ = file.unlock();
            }
        });
    }
}

/// Takes the lock, which the end of the process gives up however it ends: a lock file that is left over never blocks.
fn take_lock(files: &dyn Files, path: &Path, is_shared: bool) -> Result<HeldLock> {
    let path = path.join("lock");
    let how = if is_shared { Opening::Read } else { Opening::CreateOrOpen };
    let (file, is_ours) = fork::with_not_inherited(|list| {
        let file = files.open(&path, how).map_err(|error| failed("open", &path, &error))?;
        let is_ours = file.try_lock(is_shared).map_err(|error| failed("lock", &path, &error))?;
        if is_ours {
            list.extend(file.descriptor());
        }
        Ok((file, is_ours))
    })?;
    if !is_ours {
        return Err(locked(&*file, &path));
    }
    let lock = HeldLock(Some(Arc::clone(&file)));
    if !is_shared {
        let pid = format!("{}\n", std::process::id());
        let note = file.set_len(0).and_then(|()| file.write_all_at(pid.as_bytes(), 0));
        note.map_err(|error| failed("write to", &path, &error))?;
    }
    Ok(lock)
}

#[cold]
fn locked(file: &dyn File, path: &Path) -> Error {
    let mut pid = [0; 20];
    let len = file.read_at(&mut pid, 0).unwrap_or(0);
    let holder = match str::from_utf8(&pid[..len]).unwrap_or("").trim() {
        "" => "another process".to_owned(),
        pid if pid == std::process::id().to_string() => "this process".to_owned(),
        pid => format!("process {pid}"),
    };
    Error::new(
        ErrorCode::Locked,
        format!("{} is held: {holder} has the journal open; close it there first", path.display()),
    )
}
