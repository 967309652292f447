//! Results
//!
//! What became of each lease of a `..._many` or `..._list`: in the order of the leases, one result each.

use super::boundary::{create, free, inner, view};
use super::error::rheo_error;
use super::values::{RHEO_OK, rheo_status};
use rheo_core::{Result, Timestamp};

/// Results. Filled by settling many leases, which replaces what was in it, also when the call fails. Filled by one
/// thread while no other uses it; read by any number.
#[derive(Default)]
pub struct rheo_results {
    len: usize,
    /// Of those that failed, with their positions; ascending.
    errors: Vec<(usize, rheo_error)>,
    /// After a renew: of each, 0 where it failed.
    expires_at: Vec<i64>,
}

impl rheo_results {
    pub(super) fn clear(&mut self) {
        self.len = 0;
        self.errors.clear();
        self.expires_at.clear();
    }

    pub(super) fn settled(&mut self, results: Vec<Result<()>>) {
        self.clear();
        self.len = results.len();
        let failed = |(at, result): (usize, Result<()>)| result.err().map(|error| (at, rheo_error(error)));
        self.errors.extend(results.into_iter().enumerate().filter_map(failed));
    }

    pub(super) fn renewed(&mut self, results: Vec<Result<Timestamp>>) {
        let expires_at = |result: &Result<Timestamp>| result.as_ref().map_or(0, |expires_at| expires_at.as_micros());
        let times = results.iter().map(expires_at).collect();
        self.settled(results.into_iter().map(|result| result.map(drop)).collect());
        self.expires_at = times;
    }

    fn error(&self, index: usize) -> Option<&rheo_error> {
        let at = self.errors.binary_search_by_key(&index, |(at, _)| *at).ok()?;
        Some(&self.errors[at].1)
    }
}

/// Makes an empty handle for results. The caller frees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_results_new(out: *mut *mut rheo_results, error: *mut *mut rheo_error) -> rheo_status {
    create(out, error, || Ok(rheo_results::default()))
}

/// How many results there are; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_results_len(results: *const rheo_results) -> usize {
    view(results, |results| results.len)
}

/// How many of them are errors; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_results_failed(results: *const rheo_results) -> usize {
    view(results, |results| results.errors.len())
}

/// The status of the lease at a position from 0; `RHEO_OK` also beyond the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_results_status(results: *const rheo_results, index: usize) -> rheo_status {
    view(results, |results| results.error(index).map_or(RHEO_OK, |error| error.0.code().number()))
}

/// The error of the lease at a position from 0; NULL where it was done, and beyond the end. It belongs to the
/// results, until they are filled again or freed; `rheo_error_clone` makes one that outlives them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_results_error(results: *const rheo_results, index: usize) -> *const rheo_error {
    inner(results, |results| results.error(index))
}

/// After a renew: when the lease at a position from 0 expires now, in microseconds since the Unix epoch. 0 where it
/// failed, and after anything else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_results_expires_at(results: *const rheo_results, index: usize) -> i64 {
    view(results, |results| results.expires_at.get(index).copied().unwrap_or(0))
}

/// Frees results; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_results_free(results: *mut rheo_results) {
    free(results);
}
