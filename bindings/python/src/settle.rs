//! Settling: one lease or many, each a lease or its token, through an instance or a group's handle.

use crate::args::{self, Given, Maybe};
use crate::attached::attached;
use crate::encode;
use crate::errors::{exception, raised, wrong_type};
use crate::lease::{Batch, Lease};
use crate::time;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use rheo_core::{Error, Group, Instance, LeaseId, LeaseToken, Producer, Result, RetryOptions, Timestamp};
use std::borrow::Cow;

/// Who settles.
pub trait Settler: Sync {
    /// Settles one.
    fn one(&self, settle: &Settle<'_>, token: &LeaseToken) -> Result<()>;
    /// Settles many.
    fn many<L: AsRef<LeaseToken>>(&self, settle: &Settle<'_>, tokens: &[L]) -> Result<Vec<Result<()>>>;
    /// Renews one.
    fn renew(&self, token: &LeaseToken, lease_ms: Option<u64>) -> Result<Timestamp>;
    /// Renews one, as a lease.
    fn renew_lease(&self, lease: &rheo_core::Lease, lease_ms: Option<u64>) -> Result<rheo_core::Lease>;
    /// Renews many.
    fn renew_many(&self, tokens: &[&LeaseToken], lease_ms: Option<u64>) -> Result<Vec<Result<Timestamp>>>;
}

macro_rules! settler {
    ($type:ty) => {
        impl Settler for $type {
            #[inline]
            fn one(&self, settle: &Settle<'_>, token: &LeaseToken) -> Result<()> {
                match settle {
                    Settle::Ack => self.ack(token),
                    Settle::Retry { reason, delay_ms } => {
                        self.retry(token, RetryOptions { reason, delay_ms: delay_ms.unwrap_or(0) })
                    }
                    Settle::Reject { reason } => self.reject(token, reason),
                    Settle::Release => self.release(token),
                }
            }

            #[inline]
            fn many<L: AsRef<LeaseToken>>(&self, settle: &Settle<'_>, tokens: &[L]) -> Result<Vec<Result<()>>> {
                match settle {
                    Settle::Ack => self.ack_many(tokens),
                    Settle::Retry { reason, delay_ms } => {
                        self.retry_many(tokens, RetryOptions { reason, delay_ms: delay_ms.unwrap_or(0) })
                    }
                    Settle::Reject { reason } => self.reject_many(tokens, reason),
                    Settle::Release => self.release_many(tokens),
                }
            }

            fn renew(&self, token: &LeaseToken, lease_ms: Option<u64>) -> Result<Timestamp> {
                self.renew_token(token, lease_ms)
            }

            fn renew_lease(&self, lease: &rheo_core::Lease, lease_ms: Option<u64>) -> Result<rheo_core::Lease> {
                <$type>::renew(self, lease, lease_ms)
            }

            fn renew_many(&self, tokens: &[&LeaseToken], lease_ms: Option<u64>) -> Result<Vec<Result<Timestamp>>> {
                <$type>::renew_many(self, tokens, lease_ms)
            }
        }
    };
}

settler!(Instance);
settler!(Group);

/// Settles and frees the slot, whatever came of it.
impl Settler for Producer {
    fn one(&self, settle: &Settle<'_>, token: &LeaseToken) -> Result<()> {
        match settle {
            Settle::Ack => self.ack(token),
            Settle::Retry { reason, delay_ms } => self.retry(token, reason, *delay_ms),
            Settle::Reject { reason } => self.reject(token, reason),
            Settle::Release => self.release(token),
        }
    }

    fn many<L: AsRef<LeaseToken>>(&self, settle: &Settle<'_>, tokens: &[L]) -> Result<Vec<Result<()>>> {
        match settle {
            Settle::Ack => self.ack_many(tokens),
            other => Ok(tokens.iter().map(|token| self.one(other, token.as_ref())).collect()),
        }
    }

    fn renew(&self, token: &LeaseToken, lease_ms: Option<u64>) -> Result<Timestamp> {
        self.group().renew_token(token, lease_ms)
    }

    fn renew_lease(&self, lease: &rheo_core::Lease, lease_ms: Option<u64>) -> Result<rheo_core::Lease> {
        self.group().renew(lease, lease_ms)
    }

    fn renew_many(&self, tokens: &[&LeaseToken], lease_ms: Option<u64>) -> Result<Vec<Result<Timestamp>>> {
        self.group().renew_many(tokens, lease_ms)
    }
}

/// How claims end.
pub enum Settle<'a> {
    Ack,
    /// Without a delay at once; with a producer after its `retry_delay`.
    Retry {
        reason: Cow<'a, str>,
        delay_ms: Option<u64>,
    },
    Reject {
        reason: Cow<'a, str>,
    },
    Release,
}

impl<'a> Settle<'a> {
    pub fn retry(reason: Maybe<'a, '_>, delay_ms: Maybe<'_, '_>) -> PyResult<Settle<'a>> {
        let delay_ms = args::optional_number("delay_ms", delay_ms)?;
        Ok(Settle::Retry { reason: text_of(reason), delay_ms })
    }

    pub fn reject(reason: Maybe<'a, '_>) -> PyResult<Settle<'a>> {
        Ok(Settle::Reject { reason: text_of(reason) })
    }

    /// Settles one lease.
    #[inline]
    pub fn one(&self, settler: &impl Settler, lease: impl AsRef<LeaseToken>) -> Result<()> {
        settler.one(self, lease.as_ref())
    }

    /// Settles many leases.
    #[inline]
    pub fn many<L: AsRef<LeaseToken>>(&self, settler: &impl Settler, leases: &[L]) -> Result<Vec<Result<()>>> {
        settler.many(self, leases)
    }

    /// Settles what Python gives as one lease.
    #[inline]
    pub fn one_given(&self, settler: &impl Settler, given: Given<'_, '_>) -> PyResult<()> {
        if let Ok(lease) = given.cast_exact::<Lease>() {
            let lease = lease.get().lease();
            return attached(given.py(), || self.one(settler, lease));
        }
        let token = token_of("lease", given)?;
        attached(given.py(), || self.one(settler, token?))
    }

    /// Settles what Python gives as many leases: a batch, or an iterable of leases and tokens.
    pub fn many_given<'py>(&self, settler: &impl Settler, given: Given<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        let py = given.py();
        if let Ok(batch) = given.cast_exact::<Batch>() {
            let leases = batch.get().leases();
            return list(py, &attached(py, || self.many(settler, leases))?);
        }
        let leases = leases_of(given)?;
        let tokens: Vec<&LeaseToken> = leases.iter().filter_map(One::token).collect();
        let results = attached(py, || self.many(settler, &tokens))?;
        let mut results = results.into_iter();
        list(py, &each(&leases, || results.next()))
    }
}

/// Does something with what Python gives as one lease.
pub fn with_token(given: Given<'_, '_>, work: impl FnOnce(&LeaseToken) -> Result<()> + Sync + Send) -> PyResult<()> {
    if let Ok(lease) = given.cast_exact::<Lease>() {
        let lease = lease.get().lease();
        return attached(given.py(), || work(lease.token()));
    }
    let token = token_of("lease", given)?;
    attached(given.py(), || work(&token?))
}

/// Renews what Python gives as one lease: gives the lease, or of a token when it expires.
pub fn renew_given<'py>(
    settler: &impl Settler,
    given: Given<'_, 'py>,
    ms: Maybe<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = given.py();
    let lease_ms = lease_ms(ms)?;
    if let Ok(lease) = given.cast_exact::<Lease>() {
        let lease = lease.get();
        let renewed = attached(py, || settler.renew_lease(lease.lease(), lease_ms))?;
        return Ok(Bound::new(py, lease.renewed(renewed))?.into_any());
    }
    let token = token_of("lease", given)?;
    time::to_python(py, attached(py, || settler.renew(&token?, lease_ms))?)
}

/// Renews what Python gives as many leases.
pub fn renew_many_given<'py>(
    settler: &impl Settler,
    given: Given<'_, 'py>,
    ms: Maybe<'_, 'py>,
) -> PyResult<Bound<'py, PyList>> {
    let py = given.py();
    let lease_ms = lease_ms(ms)?;
    let leases = match given.cast_exact::<Batch>() {
        Ok(batch) => batch.try_iter()?.map(|lease| one_of(&lease?)).collect::<PyResult<Vec<_>>>()?,
        Err(_) => leases_of(given)?,
    };
    let tokens: Vec<&LeaseToken> = leases.iter().filter_map(One::token).collect();
    let mut results = attached(py, || settler.renew_many(&tokens, lease_ms))?.into_iter();
    let items = leases.iter().zip(each(&leases, || results.next())).map(|(lease, result)| match (lease, result) {
        (_, Err(error)) => exception(py, &error),
        (One::Lease(lease), Ok(expires_at)) => {
            let lease = lease.get();
            Ok(Bound::new(py, lease.renewed(lease.lease().renewed(expires_at)))?.into_any())
        }
        (One::Token(_), Ok(expires_at)) => time::to_python(py, expires_at),
    });
    PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)
}

/// How long a renewal lasts, in milliseconds; the lease's own time when missing.
pub fn lease_ms(given: Maybe<'_, '_>) -> PyResult<Option<u64>> {
    args::optional_number("lease_ms", given)
}

/// One lease as Python gives it.
enum One<'py> {
    Lease(Bound<'py, Lease>),
    Token(Result<LeaseToken>),
}

impl One<'_> {
    fn token(&self) -> Option<&LeaseToken> {
        match self {
            One::Lease(lease) => Some(lease.get().lease().token()),
            One::Token(token) => token.as_ref().ok(),
        }
    }
}

/// A result for each: of a malformed token its error, of the others what comes next.
fn each<T>(leases: &[One<'_>], mut next: impl FnMut() -> Option<Result<T>>) -> Vec<Result<T>> {
    let missing = || Err(Error::new(rheo_core::ErrorCode::Internal, "there are too few results; please report this"));
    let result_of = |lease: &One<'_>| match lease {
        One::Token(Err(error)) => Err(error.clone()),
        _ => next().unwrap_or_else(missing),
    };
    leases.iter().map(result_of).collect()
}

fn leases_of<'py>(given: Given<'_, 'py>) -> PyResult<Vec<One<'py>>> {
    let wanted = "a batch, or an iterable of leases and tokens";
    if given.is_instance_of::<PyString>() {
        return Err(wrong_type("leases", wanted, given));
    }
    let items = given.try_iter().map_err(|_| wrong_type("leases", wanted, given))?;
    items.map(|item| one_of(&item?)).collect()
}

/// The ids of what Python gives as many leases.
pub fn lease_ids(given: Given<'_, '_>) -> PyResult<Vec<LeaseId>> {
    let id = |lease: &One<'_>| match lease {
        One::Lease(lease) => Ok(lease.get().lease().lease_id()),
        One::Token(Ok(token)) => Ok(token.lease_id()),
        One::Token(Err(error)) => Err(raised(given.py(), error)),
    };
    match given.cast_exact::<Batch>() {
        Ok(batch) => Ok(batch.get().leases().iter().map(rheo_core::Lease::lease_id).collect()),
        Err(_) => leases_of(given)?.iter().map(id).collect(),
    }
}

fn one_of<'py>(given: &Bound<'py, PyAny>) -> PyResult<One<'py>> {
    match given.cast_exact::<Lease>() {
        Ok(lease) => Ok(One::Lease(lease.clone())),
        Err(_) => token_of("leases", given).map(One::Token),
    }
}

/// The token of a text. A malformed one is an error of the lease's, not of the call's.
fn token_of(what: &str, given: Given<'_, '_>) -> PyResult<Result<LeaseToken>> {
    let Ok(text) = given.cast::<PyString>() else {
        return Err(wrong_type(what, "a Lease, or its token as str", given));
    };
    Ok(text.to_string_lossy().parse())
}

/// A reason as text. Settling never fails because of its reason (contract 4.11): what JSON does not have is shown by `str`.
pub fn text_of<'a>(reason: Maybe<'a, '_>) -> Cow<'a, str> {
    let Some(reason) = reason else { return Cow::Borrowed("") };
    if let Ok(text) = reason.cast::<PyString>() {
        return text.to_string_lossy();
    }
    let mut json = Vec::new();
    if encode::json("reason", reason, &mut json).is_ok() {
        return String::from_utf8_lossy(&json).into_owned().into();
    }
    match reason.str() {
        Ok(text) => text.to_string_lossy().into_owned().into(),
        Err(_) => reason.get_type().to_string().into(),
    }
}

/// Results as Python has them: None, or the exception of that lease.
pub fn list<'py>(py: Python<'py>, results: &[Result<()>]) -> PyResult<Bound<'py, PyList>> {
    let none = py.None().into_bound(py);
    if results.iter().all(Result::is_ok) {
        return PyList::new(py, std::iter::repeat_n(&none, results.len()));
    }
    let item = |result: &Result<()>| match result {
        Ok(()) => Ok(none.clone()),
        Err(error) => exception(py, error),
    };
    PyList::new(py, results.iter().map(item).collect::<PyResult<Vec<_>>>()?)
}
