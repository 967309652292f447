//! Whether a journal can be written to, and the errors of those that cannot.

use crate::error::{Error, ErrorCode, Result};
use std::io;
use std::path::Path;
use std::sync::OnceLock;

/// Shared by all logs of a journal: after a sync that failed nothing is known of any of them (the kernel may have thrown
/// the pages away and say that all is well the next time), so nothing is written until the journal is opened anew.
#[derive(Default)]
pub(crate) struct Health(OnceLock<Ailment>);

enum Ailment {
    ReadOnly(String),
    Poisoned { path: String, cause: String },
}

impl Health {
    /// Of a journal that was opened to be read.
    pub(super) fn read_only(path: &Path) -> Health {
        Health(OnceLock::from(Ailment::ReadOnly(path.display().to_string())))
    }

    /// That operations may change something.
    ///
    /// # Errors
    /// `poisoned` after a sync that failed, `unsupported` in a journal that was opened to be read.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        match self.0.get() {
            None => Ok(()),
            Some(ailment) => Err(ailment.refusal()),
        }
    }

    /// The same for an operation that has begun.
    ///
    /// # Errors
    /// `ambiguous` after a sync that failed.
    pub(super) fn check_pending(&self) -> Result<()> {
        match self.0.get() {
            Some(Ailment::Poisoned { path, cause }) => Err(ambiguous(path, cause)),
            Some(ailment @ Ailment::ReadOnly(_)) => Err(ailment.refusal()),
            None => Ok(()),
        }
    }

    /// Takes note that it is not known what is on the disk, and returns the error for the operation that met it.
    #[cold]
    pub(super) fn poison(&self, path: &Path, what: &str, error: &io::Error) -> Error {
        let (path, cause) = (path.display().to_string(), format!("{what}: {error}"));
        let error = ambiguous(&path, &cause);
        let _ = self.0.set(Ailment::Poisoned { path, cause });
        error
    }
}

impl Ailment {
    #[cold]
    fn refusal(&self) -> Error {
        match self {
            Ailment::ReadOnly(path) => Error::new(
                ErrorCode::Unsupported,
                format!("the journal {path} was opened with mode=ro; open it without to change something"),
            ),
            Ailment::Poisoned { path, cause } => Error::new(
                ErrorCode::Poisoned,
                format!(
                    "what is on the disk in {path} is not known since an earlier failure; close the instance and open \
                     the journal anew"
                ),
            )
            .with_cause(cause),
        }
    }
}

#[cold]
fn ambiguous(path: &str, cause: &str) -> Error {
    Error::new(ErrorCode::Ambiguous, format!("whether it is stored in {path} is not known; open the journal anew"))
        .with_cause(cause)
}

/// `failed`: something was not done to a file, and nothing of it is left.
#[cold]
pub(super) fn failed(what: &str, path: &Path, error: &io::Error) -> Error {
    Error::new(ErrorCode::Failed, format!("could not {what} {}", path.display())).with_cause(error)
}

/// `corrupt`: stored data fails its check.
#[cold]
pub(super) fn corrupt(path: &Path, offset: u64, what: &str) -> Error {
    Error::new(
        ErrorCode::Corrupt,
        format!(
            "{} is damaged at offset {offset}: {what}; nothing was changed, restore it from a copy",
            path.display()
        ),
    )
}
