//! What the journal asks of a file system, behind two traits, so that tests can make each operation fail or lose what
//! was not synced. Knows nothing of records.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A file system. Paths are used as they are given.
pub trait Files: Send + Sync {
    /// Opens a file.
    fn open(&self, path: &Path, how: Opening) -> io::Result<Arc<dyn File>>;
    /// Makes one directory; the one above it exists.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// The names in a directory, in no order.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;
    /// Removes a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// To be read; it exists.
    Read,
    /// To be read and written; it exists.
    Write,
    /// To be written; it must not exist.
    Create,
    /// To be read and written; made if it does not exist.
    CreateOrOpen,
}

/// An open file. Closed when dropped.
pub trait File: Send + Sync {
    /// How long it is, in bytes.
    fn size(&self) -> io::Result<u64>;
    /// Reads from a position and returns how much; 0 only at the end.
    fn read_at(&self, bytes: &mut [u8], position: u64) -> io::Result<usize>;
    /// Writes at a position and returns how much of it; may be less than all.
    fn write_at(&self, bytes: &[u8], position: u64) -> io::Result<usize>;
    /// Cuts it to a length, or extends it with zeros.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Makes its content and its length durable.
    fn sync(&self) -> io::Result<()>;
    /// Takes a lock that any other opening of the file sees, also one in the same process; says whether it could.
    fn try_lock(&self, shared: bool) -> io::Result<bool>;
    /// Gives the lock up, at once: closing the file does not where a child that was just forked off has it open too.
    fn unlock(&self) -> io::Result<()>;
    /// The system's number for it, which a forked child has as well; nothing where there is none.
    fn descriptor(&self) -> Option<i32> {
        None
    }
}

impl dyn File + '_ {
    /// Reads a whole range; `UnexpectedEof` if the file ends before.
    pub(super) fn read_exact_at(&self, mut bytes: &mut [u8], mut position: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.read_at(bytes, position) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    bytes = &mut bytes[count..];
                    position += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes all of it, or fails having written some of it.
    pub(super) fn write_all_at(&self, mut bytes: &[u8], mut position: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write_at(bytes, position) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    bytes = &bytes[count..];
                    position += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The system's files.
pub struct SystemFiles;

impl Files for SystemFiles {
    fn open(&self, path: &Path, how: Opening) -> io::Result<Arc<dyn File>> {
        let mut options = fs::OpenOptions::new();
        options.read(true);
        match how {
            Opening::Read => {}
            Opening::Write => drop(options.write(true)),
            Opening::Create => drop(options.write(true).create_new(true)),
            Opening::CreateOrOpen => drop(options.write(true).create(true).truncate(false)),
        }
        Ok(Arc::new(options.open(path)?))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        // Where a directory cannot be opened as a file its names are durable on their own.
        if cfg!(windows) { Ok(()) } else { fs::File::open(path)?.sync_all() }
    }
}

impl File for fs::File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, bytes: &mut [u8], position: u64) -> io::Result<usize> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::read_at(self, bytes, position);
        #[cfg(windows)]
        return std::os::windows::fs::FileExt::seek_read(self, bytes, position);
    }

    fn write_at(&self, bytes: &[u8], position: u64) -> io::Result<usize> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::write_at(self, bytes, position);
        #[cfg(windows)]
        return std::os::windows::fs::FileExt::seek_write(self, bytes, position);
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        fs::File::set_len(self, len)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()?;
        // What has no name any more is lost when it is closed, however well it was synced.
        #[cfg(unix)]
        if std::os::unix::fs::MetadataExt::nlink(&self.metadata()?) == 0 {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the file was removed while it was open"));
        }
        Ok(())
    }

    fn try_lock(&self, shared: bool) -> io::Result<bool> {
        let locked = if shared { self.try_lock_shared() } else { fs::File::try_lock(self) };
        match locked {
            Ok(()) => Ok(true),
            Err(fs::TryLockError::WouldBlock) => Ok(false),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    fn unlock(&self) -> io::Result<()> {
        fs::File::unlock(self)
    }

    #[cfg(unix)]
    fn descriptor(&self) -> Option<i32> {
        Some(std::os::fd::AsRawFd::as_raw_fd(self))
    }
}
