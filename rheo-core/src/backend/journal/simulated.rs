//! A file system in memory that fails when it is told to, and that loses what was not synced: to test with.
//!
//! It keeps apart what was written and what was synced. [`SimulatedFiles::crash`] gives a file system as the power might
//! leave this one: of what was written since the last sync any pages may be there, of files and names made since any may be
//! missing.

use super::files::{File, Files, Opening};
use parking_lot::{Condvar, Mutex, MutexGuard};
use rand::Rng;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is lost or kept as a whole.
const PAGE: usize = 4096;

/// A file system. Clones are the same one.
#[derive(Clone, Default)]
pub struct SimulatedFiles(Arc<Shared>);

#[derive(Default)]
struct Shared {
    disk: Mutex<Disk>,
    /// A file was synced, a sync is held, or syncs go on.
    changed: Condvar,
}

#[derive(Default)]
struct Disk {
    /// The names there are, each with the number of its file; directories have none.
    names: BTreeMap<PathBuf, Option<u64>>,
    /// The names that are durable.
    durable: BTreeMap<PathBuf, Option<u64>>,
    contents: BTreeMap<u64, Content>,
    next_file: u64,
    /// Which opening of a file holds its lock.
    locks: BTreeMap<u64, Vec<u64>>,
    next_opening: u64,
    fault: Option<Fault>,
    calls: u64,
    /// Whether syncs of files are held, and how many are.
    holds_syncs: bool,
    held_syncs: usize,
}

impl From<Disk> for SimulatedFiles {
    fn from(disk: Disk) -> SimulatedFiles {
        SimulatedFiles(Arc::new(Shared { disk: Mutex::new(disk), changed: Condvar::new() }))
    }
}

#[derive(Clone, Default)]
struct Content {
    written: Vec<u8>,
    synced: Vec<u8>,
    /// The shortest that it was since the last sync.
    shortest: usize,
}

/// Which call fails, and how. Calls that only read do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The first call that fails, from 0.
    pub call: u64,
    /// How many calls fail from then on.
    pub count: u64,
    /// How they fail.
    pub kind: FaultKind,
}

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// With an I/O error, and nothing is done.
    Error,
    /// A write writes half, and the next call fails; others fail as with `Error`.
    Short,
    /// With "no space left", after a write has written half.
    NoSpace,
    /// With an I/O error, after a write has written all; others fail as with `Error`.
    Late,
    /// Syncs alone fail, and what they were to sync may be anywhere; other calls do not count.
    Sync,
    /// Writes alone fail, after all was written; other calls do not count.
    LateWrite,
}

/// What a call does, as far as faults care.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    Write,
    Sync,
    Other,
}

impl SimulatedFiles {
    /// An empty file system.
    pub fn new() -> SimulatedFiles {
        SimulatedFiles::default()
    }

    /// Makes calls fail from now on, and counts them anew.
    pub fn fail(&self, fault: Option<Fault>) {
        let mut disk = self.disk();
        disk.fault = fault;
        disk.calls = 0;
    }

    /// How many calls there were since the last `fail`.
    pub fn calls(&self) -> u64 {
        self.disk().calls
    }

    /// Holds syncs of files back until they are let go on.
    pub fn hold_syncs(&self, hold: bool) {
        self.disk().holds_syncs = hold;
        self.0.changed.notify_all();
    }

    /// Waits until a sync is held.
    pub fn wait_for_a_held_sync(&self) {
        let mut disk = self.disk();
        while disk.held_syncs == 0 {
            self.0.changed.wait(&mut disk);
        }
    }

    /// Waits until everything that was written to a file is synced.
    pub fn wait_until_synced(&self, path: &Path) {
        let mut disk = self.disk();
        while let Some(content) = disk.file(path).ok().and_then(|file| disk.contents.get(&file))
            && content.synced != content.written
        {
            self.0.changed.wait(&mut disk);
        }
    }

    /// The file system as it is, for a process that was killed: nothing is lost, and nobody holds a lock.
    pub fn kill(&self) -> SimulatedFiles {
        let disk = self.disk();
        SimulatedFiles::from(Disk {
            names: disk.names.clone(),
            durable: disk.durable.clone(),
            contents: disk.contents.clone(),
            next_file: disk.next_file,
            ..Disk::default()
        })
    }

    /// The file system as the power may leave it.
    pub fn crash(&self, random: &mut impl Rng) -> SimulatedFiles {
        let disk = self.disk();
        // What was made since, and is not known to be durable, is there or not; so is what is in it.
        let mut names: BTreeMap<PathBuf, Option<u64>> = BTreeMap::new();
        let all: BTreeMap<&PathBuf, &Option<u64>> = disk.durable.iter().chain(&disk.names).collect();
        for (path, file) in all {
            let above = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let is_reachable = above.is_none_or(|parent| names.contains_key(parent));
            if is_reachable && (disk.durable.contains_key(path) || random.random()) {
                names.insert(path.clone(), *file);
            }
        }
        // What was removed since is gone or not.
        let removed: Vec<PathBuf> = names.keys().filter(|path| !disk.names.contains_key(*path)).cloned().collect();
        for path in removed.iter().rev() {
            if random.random() && !names.keys().any(|other| other.parent() == Some(path)) {
                names.remove(path);
            }
        }
        let contents = names.values().flatten().filter_map(|file| {
            let left = disk.contents.get(file)?.crash(random);
            Some((*file, Content { written: left.clone(), shortest: left.len(), synced: left }))
        });
        let contents = contents.collect();
        SimulatedFiles::from(Disk {
            durable: names.clone(),
            names,
            contents,
            next_file: disk.next_file,
            ..Disk::default()
        })
    }

    /// What a file holds.
    pub fn content(&self, path: &Path) -> Option<Vec<u8>> {
        let disk = self.disk();
        let file = (*disk.names.get(path)?)?;
        Some(disk.contents[&file].written.clone())
    }

    /// Changes what a file holds, as damage would: it counts as synced.
    pub fn damage(&self, path: &Path, damage: impl FnOnce(&mut Vec<u8>)) {
        let mut disk = self.disk();
        let file = disk.names.get(path).copied().flatten();
        if let Some(content) = file.and_then(|file| disk.contents.get_mut(&file)) {
            damage(&mut content.written);
            content.synced = content.written.clone();
            content.shortest = content.written.len();
        }
    }

    /// Every file there is.
    pub fn paths(&self) -> Vec<PathBuf> {
        let disk = self.disk();
        disk.names.iter().filter(|(_, file)| file.is_some()).map(|(path, _)| path.clone()).collect()
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.0.disk.lock()
    }
}

impl Content {
    /// What the power may leave of it.
    fn crash(&self, random: &mut impl Rng) -> Vec<u8> {
        // Its length may be any that it had since the last sync.
        let (least, most) = (self.shortest.min(self.synced.len()), self.written.len().max(self.synced.len()));
        let len = match random.random_range(0..4) {
            0 => self.synced.len(),
            1 => self.written.len(),
            2 => least,
            _ => random.random_range(least..=most),
        };
        let mut left = vec![0; len];
        for (number, page) in left.chunks_mut(PAGE).enumerate() {
            let synced = self.synced.get(number * PAGE..).unwrap_or(&[]);
            let written = self.written.get(number * PAGE..).unwrap_or(&[]);
            let is_unchanged = synced.len() >= page.len() && written.get(..page.len()) == synced.get(..page.len());
            let from = if is_unchanged || random.random() { synced } else { written };
            let count = from.len().min(page.len());
            page[..count].copy_from_slice(&from[..count]);
        }
        left
    }
}

impl Disk {
    /// Counts a call that changes something, and says how it fails, if it does.
    fn call(&mut self, call: Call) -> Option<FaultKind> {
        let fault = self.fault;
        match fault.map(|fault| fault.kind) {
            Some(FaultKind::Sync) if call != Call::Sync => return None,
            Some(FaultKind::LateWrite) if call != Call::Write => return None,
            _ => {}
        }
        let call = self.calls;
        self.calls += 1;
        let fault = fault?;
        (fault.call..fault.call.saturating_add(fault.count)).contains(&call).then_some(fault.kind)
    }

    fn check(&mut self, call: Call) -> io::Result<()> {
        match self.call(call) {
            None => Ok(()),
            Some(FaultKind::NoSpace) => Err(io::ErrorKind::StorageFull.into()),
            Some(_) => Err(io::Error::other("an injected fault")),
        }
    }

    fn file(&self, path: &Path) -> io::Result<u64> {
        match self.names.get(path) {
            Some(Some(file)) => Ok(*file),
            Some(None) => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn add(&mut self, path: &Path, file: Option<u64>) -> io::Result<()> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        if parent.is_some_and(|parent| self.names.get(parent) != Some(&None)) {
            return Err(io::ErrorKind::NotFound.into());
        }
        if self.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.names.insert(path.to_owned(), file);
        Ok(())
    }
}

impl Files for SimulatedFiles {
    fn open(&self, path: &Path, how: Opening) -> io::Result<Arc<dyn File>> {
        let mut disk = self.disk();
        let exists = disk.names.contains_key(path);
        if how == Opening::Create || how == Opening::CreateOrOpen && !exists {
            disk.check(Call::Other)?;
            let file = disk.next_file;
            disk.add(path, Some(file))?;
            disk.next_file += 1;
            disk.contents.insert(file, Content::default());
        }
        let file = disk.file(path)?;
        disk.next_opening += 1;
        Ok(Arc::new(SimulatedFile { disk: self.clone(), file, opening: disk.next_opening }))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.disk();
        disk.check(Call::Other)?;
        disk.add(path, None)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let disk = self.disk();
        match disk.names.get(path) {
            None => return Err(io::ErrorKind::NotFound.into()),
            Some(Some(_)) => return Err(io::ErrorKind::NotADirectory.into()),
            Some(None) => {}
        }
        let inside = disk.names.keys().filter(|name| name.parent() == Some(path));
        Ok(inside.filter_map(|name| Some(name.file_name()?.to_string_lossy().into_owned())).collect())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.disk();
        disk.check(Call::Other)?;
        disk.file(path)?;
        disk.names.remove(path);
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.disk();
        disk.check(Call::Other)?;
        if disk.names.keys().any(|name| name.parent() == Some(path)) {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        disk.names.remove(path).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.disk();
        disk.check(Call::Sync)?;
        let path = if path == Path::new(".") { Path::new("") } else { path };
        let inside = |name: &Path| name.parent() == Some(path);
        let now: Vec<(PathBuf, Option<u64>)> =
            disk.names.iter().filter(|(name, _)| inside(name)).map(|(name, file)| (name.clone(), *file)).collect();
        // What was removed is gone with all that was in it.
        let gone: Vec<PathBuf> =
            disk.durable.keys().filter(|name| inside(name) && !disk.names.contains_key(*name)).cloned().collect();
        disk.durable.retain(|name, _| !gone.iter().any(|gone| name.starts_with(gone)));
        disk.durable.extend(now);
        Ok(())
    }
}

struct SimulatedFile {
    disk: SimulatedFiles,
    file: u64,
    opening: u64,
}

impl File for SimulatedFile {
    fn size(&self) -> io::Result<u64> {
        Ok(self.disk.disk().contents[&self.file].written.len() as u64)
    }

    fn read_at(&self, bytes: &mut [u8], position: u64) -> io::Result<usize> {
        let disk = self.disk.disk();
        let written = &disk.contents[&self.file].written;
        let from = written.get(position as usize..).unwrap_or(&[]);
        let count = from.len().min(bytes.len());
        bytes[..count].copy_from_slice(&from[..count]);
        Ok(count)
    }

    fn write_at(&self, bytes: &[u8], position: u64) -> io::Result<usize> {
        let mut disk = self.disk.disk();
        let fault = disk.call(Call::Write);
        let count = match fault {
            None => bytes.len(),
            Some(FaultKind::Short | FaultKind::NoSpace) => (bytes.len() / 2).max(1),
            Some(FaultKind::Late | FaultKind::LateWrite) => bytes.len(),
            Some(_) => return Err(io::Error::other("an injected fault")),
        };
        if let Some(content) = disk.contents.get_mut(&self.file) {
            let (start, end) = (position as usize, position as usize + count);
            if content.written.len() < end {
                content.written.resize(end, 0);
            }
            content.written[start..end].copy_from_slice(&bytes[..count]);
        }
        match fault {
            Some(FaultKind::NoSpace) => Err(io::ErrorKind::StorageFull.into()),
            Some(FaultKind::Late | FaultKind::LateWrite) => Err(io::Error::other("an injected fault")),
            Some(FaultKind::Short) => {
                // The rest of the write is the next call.
                if let Some(fault) = &mut disk.fault
                    && fault.count == 1
                {
                    fault.call += 1;
                    fault.kind = FaultKind::Error;
                }
                Ok(count)
            }
            _ => Ok(count),
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut disk = self.disk.disk();
        disk.check(Call::Other)?;
        if let Some(content) = disk.contents.get_mut(&self.file) {
            content.written.resize(len as usize, 0);
            content.shortest = content.shortest.min(len as usize);
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut disk = self.disk.disk();
        disk.held_syncs += 1;
        self.disk.0.changed.notify_all();
        while disk.holds_syncs {
            self.disk.0.changed.wait(&mut disk);
        }
        disk.held_syncs -= 1;
        disk.check(Call::Sync)?;
        if let Some(content) = disk.contents.get_mut(&self.file) {
            content.synced = content.written.clone();
            content.shortest = content.written.len();
        }
        self.disk.0.changed.notify_all();
        Ok(())
    }

    fn try_lock(&self, shared: bool) -> io::Result<bool> {
        let mut disk = self.disk.disk();
        let holders = disk.locks.entry(self.file).or_default();
        let is_free = holders.iter().all(|holder| *holder == self.opening);
        if is_free && !shared {
            holders.push(self.opening);
        }
        Ok(is_free)
    }

    fn unlock(&self) -> io::Result<()> {
        if let Some(holders) = self.disk.disk().locks.get_mut(&self.file) {
            holders.retain(|holder| *holder != self.opening);
        }
        Ok(())
    }
}

impl Drop for SimulatedFile {
    fn drop(&mut self) {
        let _ = self.unlock();
    }
}
