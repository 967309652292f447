//! Reading a log back: which records stand, where it goes on, and what of it is damage.
//!
//! Pages that were not synced reach a disk in any order, so at the end of a log there may be holes with whole records
//! behind them. Every record says up to where the log was synced when it was written. So damage at some position is
//! `corrupt` if any whole record behind it says that this position had been synced; otherwise nothing behind it was ever
//! confirmed as durable, and the log is cut there. Only the last segment can have such an end: everything before a
//! segment was synced before it was made.

use super::files::{File, Files, Opening};
use super::health::{corrupt, failed};
use super::log::End;
use super::record::{self, LogId, Record};
use super::segment::{self, BadHeader, SegmentHeader};
use crate::error::{Error, ErrorCode, Result};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::{self, Scope};

/// A record that stands, and where it lies: for whoever finds that its body makes no sense.
pub(crate) struct Found<'a> {
    record: Record<'a>,
    path: &'a Path,
    offset: u64,
}

impl Found<'_> {
    /// What its body is.
    pub(crate) fn kind(&self) -> u8 {
        self.record.kind
    }

    pub(crate) fn body(&self) -> &[u8] {
        self.record.body
    }

    /// `corrupt`, for a record whose checksum is right and whose content cannot be.
    pub(crate) fn corrupt(&self, what: &str) -> Error {
        corrupt(self.path, self.offset, what)
    }
}

/// A log's directory as it is found. Nothing is read of the segments but their headers.
pub(super) struct Segments {
    /// Ascending.
    bases: Vec<u64>,
    id: LogId,
}

/// What is in a log's directory; nothing when it was never finished being made.
///
/// # Errors
/// `corrupt` for headers that are damaged and for a segment that is missing, `version_mismatch` for those of a newer
/// release.
pub(super) fn look_at(files: &dyn Files, directory: &Path, is_read_only: bool) -> Result<Option<Segments>> {
    let names = files.list(directory).map_err(|error| failed("list", directory, &error))?;
    let mut bases: Vec<u64> = names.iter().filter_map(|name| segment::base_of(name)).collect();
    bases.sort_unstable();
    let mut id = None;
    let mut at = 0;
    while let Some(&base) = bases.get(at) {
        let path = directory.join(segment::name(base));
        let file = files.open(&path, Opening::Read).map_err(|error| failed("open", &path, &error))?;
        let len = file.size().map_err(|error| failed("read", &path, &error))?;
        let mut header = vec![0; usize::try_from(len).unwrap_or(usize::MAX).min(segment::HEADER)];
        file.read_exact_at(&mut header, 0).map_err(|error| failed("read", &path, &error))?;
        match SegmentHeader::decode(&header) {
            Ok(header) if header.base != base => {
                return Err(corrupt(&path, 0, &format!("its header says that it begins at {}", header.base)));
            }
            Ok(header) if id.is_some_and(|id| id != header.log) => {
                return Err(corrupt(&path, 0, "it belongs to another log"));
            }
            Ok(header) => id = Some(header.log),
            Err(BadHeader::Newer(version)) => {
                let message = format!(
                    "{} is of version {version} of the format, and this release reads up to {}; use a newer release",
                    path.display(),
                    segment::VERSION
                );
                return Err(Error::new(ErrorCode::VersionMismatch, message));
            }
            // It was being made, and nothing was written to it before its header was synced.
            Err(BadHeader::Damaged) if len <= segment::HEADER as u64 && at + 1 == bases.len() => {
                if !is_read_only {
                    files.remove_file(&path).map_err(|error| failed("remove", &path, &error))?;
                    files.sync_dir(directory).map_err(|error| failed("sync", directory, &error))?;
                }
                bases.pop();
                break;
            }
            Err(BadHeader::Damaged) => return Err(corrupt(&path, 0, "it has no header of a segment")),
        }
        at += 1;
    }
    match (bases.first(), id) {
        (Some(0), Some(id)) => Ok(Some(Segments { bases, id })),
        (Some(first), _) => {
            Err(corrupt(directory, 0, &format!("the segments before {} are missing", segment::name(*first))))
        }
        _ => Ok(None),
    }
}

/// Reads a log: calls `apply` with each record that stands, in order, and says where the log goes on. What is behind that
/// is cut off, and what is before it synced, before this returns.
///
/// # Errors
/// `corrupt` with the file and the offset; `failed` when a file cannot be read, cut or synced.
pub(super) fn recover(
    files: &dyn Files,
    directory: &Path,
    segments: &Segments,
    is_read_only: bool,
    mut apply: impl FnMut(&Found<'_>) -> Result<()>,
) -> Result<End> {
    let mut position = 0;
    let mut last = None;
    for (index, &base) in segments.bases.iter().enumerate() {
        let path = directory.join(segment::name(base));
        if base != position {
            let what = format!("the records from {position} to {base} are missing; so is their segment");
            return Err(corrupt(&path, 0, &what));
        }
        let is_last = index + 1 == segments.bases.len();
        let how = if is_last && !is_read_only { Opening::Write } else { Opening::Read };
        let file = files.open(&path, how).map_err(|error| failed("open", &path, &error))?;
        let failed_to_read = |error| failed("read", &path, &error);

        let len = file.size().map_err(failed_to_read)?;
        let offset = thread::scope(|scope| {
            let mut reader = SegmentReader::new(&*file, len, scope);
            while let Some((offset, bytes)) = reader.record().map_err(failed_to_read)?
                && let Some(record) = record::read(bytes, segments.id).filter(|found| found.position == position)
            {
                let len = record.len();
                apply(&Found { record, path: &path, offset })?;
                reader.pass(len as usize);
                position += len;
            }
            Ok(reader.offset)
        })?;
        if offset < len {
            if !is_last {
                return Err(corrupt(&path, offset, "a record fails its check, and was synced"));
            }
            let mut rest = vec![0; usize::try_from(len - offset).unwrap_or(usize::MAX)];
            file.read_exact_at(&mut rest, offset).map_err(failed_to_read)?;
            if let Some(proof) = proof_of_sync(&rest, position, segments.id) {
                let proof = offset + proof as u64;
                let what = format!("a record fails its check, and was synced: the record at offset {proof} says so");
                return Err(corrupt(&path, offset, &what));
            }
            if !is_read_only {
                file.set_len(offset).map_err(|error| failed("cut off the end of", &path, &error))?;
            }
        }
        if is_last {
            file.sync().map_err(|error| failed("sync", &path, &error))?;
        }
        last = Some((file, base));
    }
    let (file, base) = last.expect("a log that was looked at has a segment");
    Ok(End { file, id: segments.id, base, position })
}

/// Reads a segment from its first record on, a piece at a time, so that a piece is applied while it is in the processor's
/// cache; in a large segment another thread reads the next piece meanwhile.
struct SegmentReader<'a> {
    pieces: Pieces<'a>,
    /// Where the next record begins.
    offset: u64,
    window: Vec<u8>,
    /// What of the window is read and not passed.
    unread: Range<usize>,
}

/// How much is read at a time.
const PIECE: usize = 256 << 10;
/// How much a piece leaves free in front, for what was left of the one before.
const ROOM: usize = 4 << 10;
/// From which length on a segment is read ahead.
const LARGE: u64 = 4 << 20;

/// The pieces of a segment.
enum Pieces<'a> {
    Read(PieceReader<'a>),
    /// They come from another thread, which gets their memory back.
    Ahead(Receiver<io::Result<Vec<u8>>>, Sender<Vec<u8>>),
}

struct PieceReader<'a> {
    file: &'a dyn File,
    offset: u64,
    len: u64,
}

impl PieceReader<'_> {
    /// Reads the next piece behind some room; nothing but the room at the end.
    fn read(&mut self, mut piece: Vec<u8>) -> io::Result<Vec<u8>> {
        let count = usize::try_from(self.len - self.offset).unwrap_or(usize::MAX).min(PIECE);
        piece.resize(ROOM + count, 0);
        self.file.read_exact_at(&mut piece[ROOM..], self.offset)?;
        self.offset += count as u64;
        Ok(piece)
    }
}

impl<'a> SegmentReader<'a> {
    fn new<'scope>(file: &'a dyn File, len: u64, scope: &'scope Scope<'scope, 'a>) -> SegmentReader<'a> {
        let mut reader = PieceReader { file, offset: segment::HEADER as u64, len };
        let pieces = if len < LARGE {
            Pieces::Read(reader)
        } else {
            let (to_be_read, read) = sync_channel(2);
            let (given_back, free) = channel::<Vec<u8>>();
            (0..3).for_each(|_| given_back.send(Vec::new()).expect("the other end is here"));
            // Ends when either end of the channels is gone, or the segment is.
            scope.spawn(move || {
                for piece in free {
                    let piece = reader.read(piece);
                    let is_last = piece.as_ref().map_or(true, |piece| piece.len() == ROOM);
                    if to_be_read.send(piece).is_err() || is_last {
                        break;
                    }
                }
            });
            Pieces::Ahead(read, given_back)
        };
        SegmentReader { pieces, offset: segment::HEADER as u64, window: Vec::new(), unread: 0..0 }
    }

    /// Where the next record lies, and its bytes, if its header is one; nothing at the end.
    #[inline]
    fn record(&mut self) -> io::Result<Option<(u64, &[u8])>> {
        self.need(record::HEADER)?;
        let header = self.window[self.unread.clone()].first_chunk();
        if let Some(len) = header.and_then(record::announced_len) {
            self.need(len)?;
        }
        Ok((!self.unread.is_empty()).then(|| (self.offset, &self.window[self.unread.clone()])))
    }

    /// Reads on until so many bytes are there, or all.
    #[inline]
    fn need(&mut self, count: usize) -> io::Result<()> {
        while self.unread.len() < count && self.read_on()? {}
        Ok(())
    }

    /// Takes the next piece, with what is left of the one before in front, and says whether there was one.
    #[cold]
    fn read_on(&mut self) -> io::Result<bool> {
        let mut piece = match &mut self.pieces {
            Pieces::Read(reader) => reader.read(Vec::new())?,
            Pieces::Ahead(read, _) => match read.recv() {
                Ok(piece) => piece?,
                // The last piece was empty, and taken before.
                Err(_) => return Ok(false),
            },
        };
        let has_more = piece.len() > ROOM;
        let left = self.unread.len();
        if left <= ROOM {
            piece[ROOM - left..ROOM].copy_from_slice(&self.window[self.unread.clone()]);
            self.unread = ROOM - left..piece.len();
            std::mem::swap(&mut self.window, &mut piece);
        } else {
            // A record as large as that is put together piece by piece.
            self.window.drain(..self.unread.start);
            self.window.extend_from_slice(&piece[ROOM..]);
            self.unread = 0..self.window.len();
        }
        if let Pieces::Ahead(_, given_back) = &self.pieces {
            let _ = given_back.send(piece);
        }
        Ok(has_more)
    }

    #[inline]
    fn pass(&mut self, count: usize) {
        self.unread.start += count;
        self.offset += count as u64;
    }
}

/// Where in what is left of a segment from damage on, which begins at this position, there is a whole record which says that
/// the damaged place had been synced.
fn proof_of_sync(bytes: &[u8], damage: u64, log: LogId) -> Option<usize> {
    let mut from = 1;
    while let Some(offset) = record::find_magic(bytes, from) {
        match record::read(&bytes[offset..], log).filter(|found| found.position == damage + offset as u64) {
            Some(found) if found.synced > damage => return Some(offset),
            Some(found) => from = offset + found.len() as usize,
            None => from = offset + 1,
        }
    }
    None
}

/// Makes a log's directory ready for another try, after it was not finished being made.
pub(super) fn clear(files: &dyn Files, directory: &Path) -> Result<()> {
    let clear = || {
        for name in files.list(directory)? {
            files.remove_file(&directory.join(name))?;
        }
        files.remove_dir(directory)
    };
    clear().map_err(|error| failed("remove", directory, &error))
}
