//! One log: a sequence of records in segments, written in the order in which they were enqueued.
//!
//! An operation goes through three steps. It *enqueues* its record under the locks under which it was decided, which
//! fixes the order and touches no file; it has it *written*, with everything that was enqueued before, by itself or by
//! whoever is writing; and, where the policy says so, *synced*. Of those who wait for a sync one leads and syncs for
//! all: whoever comes while a sync runs waits for that one and at most the next.
//!
//! Locks, in order: `tail`, then what `Lost` takes, then `queue`. `syncing` is taken alone.

use super::files::{File, Files, Opening};
use super::health::{Health, failed};
use super::record::{self, LogId};
use super::segment::{self, SegmentHeader};
use crate::error::{Error, Result};
use crate::lock::{Mutex, before_wait};
use parking_lot::Condvar;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A record that was enqueued.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    /// The position behind the record …
    end: u64,
    /// … among the positions given out since so many failures.
    epoch: u64,
}

/// What is to be undone when records that were enqueued are lost: called with what they were enqueued with, in their
/// order, before anything else is enqueued.
pub(crate) trait Lost: Send + Sync + 'static {
    /// What a record is enqueued with.
    type Mark: Send;

    fn undo(&self, marks: &[Self::Mark]);
}

pub(crate) struct Log<L: Lost> {
    files: Arc<dyn Files>,
    directory: PathBuf,
    id: LogId,
    segment_bytes: u64,
    health: Arc<Health>,
    queue: Mutex<Queue<L::Mark>>,
    tail: Mutex<Tail<L::Mark>>,
    /// Up to where records are in the file.
    written: AtomicU64,
    /// How often records were lost. Raised before `written` goes on.
    epoch: AtomicU64,
    /// Up to where records are known to be on the disk.
    synced: AtomicU64,
    syncing: Mutex<Syncing>,
    sync_ended: Condvar,
    /// Whether something is written that nobody waits to have synced, and the flusher knows.
    is_dirty: AtomicBool,
    /// Its files are removed, or about to be: nothing of it need outlive anything.
    is_removed: AtomicBool,
}

struct Queue<M> {
    bytes: Vec<u8>,
    marks: Vec<M>,
    /// The position behind the last record.
    end: u64,
    /// Why nothing can be enqueued right now: what was lost is being undone.
    refusing: Option<Error>,
    is_closed: bool,
}

struct Tail<M> {
    file: Arc<dyn File>,
    /// The position of the segment's first record.
    base: u64,
    /// Room that the queue's last bytes had, for the next.
    spare: Vec<u8>,
    spare_marks: Vec<M>,
    /// For each epoch that is over: up to where its records were written, and what became of the others.
    losses: Vec<(u64, Error)>,
}

#[derive(Default)]
struct Syncing {
    is_running: bool,
}

/// Where a log that is opened goes on.
pub(super) struct End {
    pub(super) file: Arc<dyn File>,
    pub(super) id: LogId,
    /// The position of the last segment's first record.
    pub(super) base: u64,
    /// The position behind the last record; it is synced up to here.
    pub(super) position: u64,
}

/// Makes a log's directory and its first segment, all of it durable but the name of the directory.
pub(super) fn create(files: &dyn Files, directory: &Path, id: LogId) -> Result<End> {
    files.create_dir(directory).map_err(|error| failed("make the directory", directory, &error))?;
    let file = create_segment(files, directory, SegmentHeader { log: id, base: 0 })?;
    Ok(End { file, id, base: 0, position: 0 })
}

/// Makes a segment, durable with its name.
fn create_segment(files: &dyn Files, directory: &Path, header: SegmentHeader) -> Result<Arc<dyn File>> {
    let path = directory.join(segment::name(header.base));
    let make = || {
        let file = files.open(&path, Opening::Create)?;
        file.write_all_at(&header.encode(), 0)?;
        file.sync()?;
        files.sync_dir(directory)?;
        Ok(file)
    };
    make().map_err(|error: io::Error| {
        // Whatever there is of it would be taken for a segment.
        let _ = files.remove_file(&path);
        failed("make the segment", &path, &error)
    })
}

impl<L: Lost> Log<L> {
    /// A log that goes on where another ended.
    pub(super) fn new(
        files: Arc<dyn Files>,
        directory: PathBuf,
        segment_bytes: u64,
        health: Arc<Health>,
        end: End,
    ) -> Log<L> {
        let End { file, id, base, position } = end;
        Log {
            files,
            directory,
            id,
            segment_bytes,
            health,
            queue: Mutex::new(Queue {
                bytes: Vec::new(),
                marks: Vec::new(),
                end: position,
                refusing: None,
                is_closed: false,
            }),
            tail: Mutex::new(Tail { file, base, spare: Vec::new(), spare_marks: Vec::new(), losses: Vec::new() }),
            written: AtomicU64::new(position),
            epoch: AtomicU64::new(0),
            synced: AtomicU64::new(position),
            syncing: Mutex::default(),
            sync_ended: Condvar::new(),
            is_dirty: AtomicBool::new(false),
            is_removed: AtomicBool::new(false),
        }
    }

    /// Puts a record behind those that were enqueued before. `marks` are what `Lost` gets if it is lost.
    ///
    /// # Errors
    /// When the journal cannot be written to; nothing is enqueued then.
    #[inline]
    pub(crate) fn enqueue(
        &self,
        kind: u8,
        marks: impl IntoIterator<Item = L::Mark>,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Ticket> {
        self.health.check()?;
        let mut queue = self.queue.lock();
        if let Some(error) = &queue.refusing {
            return Err(error.clone());
        }
        if queue.is_closed {
            return Err(Error::closed());
        }
        let Queue { bytes, end, .. } = &mut *queue;
        let before = bytes.len();
        record::push(bytes, self.id, kind, *end, self.synced.load(Ordering::Acquire), body);
        *end += (bytes.len() - before) as u64;
        queue.marks.extend(marks);
        Ok(Ticket { end: queue.end, epoch: self.epoch.load(Ordering::Relaxed) })
    }

    /// A ticket for everything that was enqueued so far.
    pub(crate) fn last_enqueued(&self) -> Ticket {
        let queue = self.queue.lock();
        Ticket { end: queue.end, epoch: self.epoch.load(Ordering::Relaxed) }
    }

    /// Returns once a record is written: then it outlives this process.
    ///
    /// # Errors
    /// `failed` when it is not there and never will be, `ambiguous` when that is not known.
    #[inline]
    pub(crate) fn wait_written(&self, ticket: Ticket, lost: &L) -> Result<()> {
        if self.reaches(&self.written, ticket) {
            return Ok(());
        }
        let mut tail = self.tail.lock();
        if !self.reaches(&self.written, ticket) && ticket.epoch == self.epoch.load(Ordering::Relaxed) {
            self.health.check_pending()?;
            self.write(&mut tail, lost)?;
        }
        tail.outcome(ticket)
    }

    /// Whether a record lies before `mark` (`written` or `synced`) and nothing was lost since it was enqueued.
    #[inline]
    fn reaches(&self, mark: &AtomicU64, ticket: Ticket) -> bool {
        // In this order: who sees a position of a later epoch sees that epoch.
        mark.load(Ordering::Acquire) >= ticket.end && self.epoch.load(Ordering::Acquire) == ticket.epoch
    }

    /// Returns once a record is synced: then it outlives the machine's power.
    ///
    /// # Errors
    /// As `wait_written`.
    pub(crate) fn wait_synced(&self, ticket: Ticket, lost: &L) -> Result<()> {
        while !self.reaches(&self.synced, ticket) {
            if self.epoch.load(Ordering::Acquire) != ticket.epoch {
                // Either it is lost as well, or it was written before, and its position is not given out again.
                self.tail.lock().outcome(ticket)?;
                if self.synced.load(Ordering::Acquire) >= ticket.end {
                    break;
                }
            }
            let mut syncing = self.syncing.lock();
            // Who led may have ended since.
            if self.reaches(&self.synced, ticket) {
                break;
            }
            self.health.check_pending()?;
            if syncing.is_running {
                before_wait();
                self.sync_ended.wait(&mut syncing);
                continue;
            }
            syncing.is_running = true;
            drop(syncing);
            let result = self.lead_sync(lost);
            self.syncing.lock().is_running = false;
            self.sync_ended.notify_all();
            result?;
        }
        Ok(())
    }

    /// Writes what is enqueued and syncs what is written. Those whose records could not be written find that out by
    /// themselves, so the only error here is that of the sync.
    fn lead_sync(&self, lost: &L) -> Result<()> {
        let (file, written) = {
            let mut tail = self.tail.lock();
            let _ = self.write(&mut tail, lost);
            (Arc::clone(&tail.file), self.written.load(Ordering::Relaxed))
        };
        self.health.check_pending()?;
        self.sync(&*file, written)
    }

    /// Syncs what is written, for the flusher; errors stay in the journal's health.
    pub(super) fn sync_written(&self) -> Result<()> {
        self.is_dirty.store(false, Ordering::SeqCst);
        let (file, written) = {
            let tail = self.tail.lock();
            (Arc::clone(&tail.file), self.written.load(Ordering::Relaxed))
        };
        if self.synced.load(Ordering::Acquire) >= written {
            return Ok(());
        }
        self.health.check()?;
        self.sync(&*file, written)
    }

    fn sync(&self, file: &dyn File, up_to: u64) -> Result<()> {
        before_wait();
        match file.sync() {
            Ok(()) => {
                self.synced.fetch_max(up_to, Ordering::AcqRel);
                Ok(())
            }
            // Nothing of it need outlive anything: who waits is answered.
            Err(_) if self.is_removed.load(Ordering::Acquire) => {
                self.synced.fetch_max(up_to, Ordering::AcqRel);
                Ok(())
            }
            Err(error) => Err(self.health.poison(&self.directory, "a sync failed", &error)),
        }
    }

    /// Whether something is written and not synced that nobody told the flusher of yet.
    #[inline]
    pub(super) fn became_dirty(&self) -> bool {
        !self.is_dirty.load(Ordering::Relaxed) && !self.is_dirty.swap(true, Ordering::SeqCst)
    }

    /// Writes everything that is enqueued. The tail is locked, so writes happen one after the other.
    fn write(&self, tail: &mut Tail<L::Mark>, lost: &L) -> Result<()> {
        let (bytes, marks) = {
            let mut queue = self.queue.lock();
            if queue.bytes.is_empty() {
                return Ok(());
            }
            let (mut bytes, mut marks) = (std::mem::take(&mut tail.spare), std::mem::take(&mut tail.spare_marks));
            std::mem::swap(&mut queue.bytes, &mut bytes);
            std::mem::swap(&mut queue.marks, &mut marks);
            (bytes, marks)
        };
        let start = self.written.load(Ordering::Relaxed);
        if start - tail.base >= self.segment_bytes {
            if self.synced.load(Ordering::Acquire) < start {
                self.sync(&*tail.file, start)?;
            }
            if let Err(error) = self.roll(tail, start) {
                return self.give_up(tail, marks, error, lost);
            }
        }
        let offset = segment::HEADER as u64 + (start - tail.base);
        if let Err(error) = tail.file.write_all_at(&bytes, offset) {
            let path = self.path_of(tail.base);
            if let Err(again) = tail.file.set_len(offset) {
                let why = format!("a write failed ({error}), and what it left could not be cut off");
                let error = self.health.poison(&path, &why, &again);
                return Err(error);
            }
            return self.give_up(tail, marks, failed("write to", &path, &error), lost);
        }
        self.written.store(start + bytes.len() as u64, Ordering::Release);
        tail.keep_room(bytes, marks);
        Ok(())
    }

    /// Begins a new segment. Everything before it is synced, so that only the last segment may lack something.
    #[cold]
    fn roll(&self, tail: &mut Tail<L::Mark>, base: u64) -> Result<()> {
        before_wait();
        tail.file = create_segment(&*self.files, &self.directory, SegmentHeader { log: self.id, base })?;
        tail.base = base;
        Ok(())
    }

    /// Takes note that everything enqueued and not written is lost, and has it undone.
    #[cold]
    fn give_up(&self, tail: &mut Tail<L::Mark>, mut marks: Vec<L::Mark>, error: Error, lost: &L) -> Result<()> {
        let more = {
            let mut queue = self.queue.lock();
            queue.refusing = Some(error.clone());
            queue.bytes.clear();
            std::mem::take(&mut queue.marks)
        };
        marks.extend(more);
        lost.undo(&marks);
        let written = self.written.load(Ordering::Relaxed);
        tail.losses.push((written, error.clone()));
        let mut queue = self.queue.lock();
        queue.end = written;
        queue.refusing = None;
        self.epoch.fetch_add(1, Ordering::AcqRel);
        Err(error)
    }

    /// Writes and syncs everything, notes that, so that damage is told from an unsynced end, and takes nothing more.
    pub(super) fn close(&self, kind: u8, lost: &L) -> Result<()> {
        let closed = self.close_synced(kind, lost);
        self.queue.lock().is_closed = true;
        closed
    }

    fn close_synced(&self, kind: u8, lost: &L) -> Result<()> {
        loop {
            self.wait_synced(self.last_enqueued(), lost)?;
            let mut queue = self.queue.lock();
            let synced = self.synced.load(Ordering::Acquire);
            // Who was under way may have enqueued something since.
            if queue.is_closed || queue.end == synced {
                if std::mem::replace(&mut queue.is_closed, true) {
                    return Ok(());
                }
                let Queue { bytes, end, .. } = &mut *queue;
                record::push(bytes, self.id, kind, *end, synced, |_| {});
                *end += record::HEADER as u64;
                break;
            }
        }
        self.wait_synced(self.last_enqueued(), lost)
    }

    /// That its files are removed next. A sync that is under way may then fail, which is nobody's loss.
    pub(super) fn will_be_removed(&self) {
        self.is_removed.store(true, Ordering::Release);
    }

    /// The directory of its segments.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    fn path_of(&self, base: u64) -> PathBuf {
        self.directory.join(segment::name(base))
    }
}

impl<M> Tail<M> {
    /// What became of a record of which it is known.
    fn outcome(&self, ticket: Ticket) -> Result<()> {
        match self.losses.get(ticket.epoch as usize) {
            Some((written, error)) if ticket.end > *written => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Keeps what was written for the next to use, unless it is large.
    fn keep_room(&mut self, mut bytes: Vec<u8>, mut marks: Vec<M>) {
        const ROOM: usize = 1 << 20;
        bytes.clear();
        marks.clear();
        if bytes.capacity() <= ROOM {
            (self.spare, self.spare_marks) = (bytes, marks);
        }
    }
}
