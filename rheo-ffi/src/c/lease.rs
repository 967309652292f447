//! Lease
//!
//! A claim on one delivery until `expires_at`, fenced by its lease id. It is settled through the instance
//! (`rheo_instance_ack` and so on). Freeing a lease or its list settles nothing: the claim ends by a settle or by
//! expiry.

use super::boundary::{create, free, inner, shared, view};
use super::error::rheo_error;
use super::event::{Held, rheo_event};
use super::values::{rheo_bytes, rheo_status};
use rheo_core::{Lease, LeaseId, Result};
use std::ptr::NonNull;
use std::sync::OnceLock;

/// One lease. Never changes; any thread may read and settle it. Views that it gives live as long as it does.
pub struct rheo_lease {
    lease: Held<Lease, Box<Lease>>,
    event: rheo_event,
    texts: OnceLock<Box<Texts>>,
}

/// What a lease keeps as bytes or not at all, as text; made when it is asked for.
struct Texts {
    lease_id: [u8; LeaseId::TEXT_LEN],
    token: OnceLock<Box<str>>,
}

impl rheo_lease {
    fn own(lease: Lease) -> rheo_lease {
        let event = rheo_event::own(lease.event().clone());
        rheo_lease { lease: Held::Own(Box::new(lease)), event, texts: OnceLock::new() }
    }

    /// A lease that lies in a list, or that a handler is given.
    #[inline]
    pub(super) fn borrowed(lease: &Lease) -> rheo_lease {
        let event = rheo_event::borrowed(lease.event());
        rheo_lease { lease: Held::Borrowed(NonNull::from(lease)), event, texts: OnceLock::new() }
    }

    #[inline]
    pub(super) fn get(&self) -> &Lease {
        self.lease.get()
    }

    pub(super) fn event(&self) -> &rheo_event {
        &self.event
    }

    fn texts(&self) -> &Texts {
        self.texts.get_or_init(|| Box::new(Texts { lease_id: self.get().lease_id().to_text(), token: OnceLock::new() }))
    }
}

/// The fence: 32 hexadecimal digits, new at each claim, kept by renew.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_lease_id(lease: *const rheo_lease) -> rheo_bytes {
    view(lease, |lease| lease.texts().lease_id.as_slice().into())
}

/// The store's own identity of the claim; the same text as the lease id where the store has none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_lease_receipt(lease: *const rheo_lease) -> rheo_bytes {
    view(lease, |lease| match lease.get().token().own_receipt() {
        Some(receipt) => receipt.into(),
        None => lease.texts().lease_id.as_slice().into(),
    })
}

/// The stream's name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_lease_stream(lease: *const rheo_lease) -> rheo_bytes {
    view(lease, |lease| lease.get().stream().into())
}

/// The group's name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_lease_group(lease: *const rheo_lease) -> rheo_bytes {
    view(lease, |lease| lease.get().group().into())
}

/// Who holds it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_lease_consumer_id(lease: *const rheo_lease) -> rheo_bytes {
    view(lease, |lease| lease.get().consumer_id().into())
}

/// The token: printable text without the event. Whoever reaches the same store can settle by it
/// (`rheo_instance_ack_token` and so on), from another thread, process or language.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_lease_token(lease: *const rheo_lease) -> rheo_bytes {
    view(lease, |lease| {
        let token = lease.texts().token.get_or_init(|| lease.get().token().to_string().into());
        rheo_bytes::from(&**token)
    })
}

/// The event that is claimed. It belongs to the lease; `rheo_event_clone` makes one that outlives it. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_lease_event(lease: *const rheo_lease) -> *const rheo_event {
    inner(lease, |lease| Some(&lease.event))
}

/// Which delivery of the event to the group this is, from 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_lease_attempt(lease: *const rheo_lease) -> u32 {
    view(lease, |lease| lease.get().attempt())
}

/// The duration asked for, in milliseconds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_lease_ms(lease: *const rheo_lease) -> i64 {
    view(lease, |lease| i64::try_from(lease.get().lease_ms()).unwrap_or(i64::MAX))
}

/// When it was claimed, by the instance's clock, in microseconds since the Unix epoch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_lease_leased_at(lease: *const rheo_lease) -> i64 {
    view(lease, |lease| lease.get().leased_at().as_micros())
}

/// When it expires, in microseconds since the Unix epoch. Informational: the store's own deadline counts. A renew
/// does not change it; that gives the new time itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_lease_expires_at(lease: *const rheo_lease) -> i64 {
    view(lease, |lease| lease.get().expires_at().as_micros())
}

/// Makes a handle of the lease that outlives its list. It is the same claim: it settles once. The caller frees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_lease_clone(
    lease: *const rheo_lease,
    out: *mut *mut rheo_lease,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || Ok(rheo_lease::own(shared("lease", lease)?.get().clone())))
}

/// Frees a lease that was cloned; NULL is fine. One that is part of a list belongs to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_lease_free(lease: *mut rheo_lease) {
    free(lease);
}

/// Leases, in order. Filled by a fetch, which replaces what was in it, also when it fails; a list that is filled
/// again uses its memory again, so that a loop of fetches allocates nothing. Filled by one thread while no other uses
/// it; read by any number.
#[derive(Default)]
pub struct rheo_lease_list {
    /// What C sees. Refers into `leases`, so it is emptied before that changes.
    views: Vec<rheo_lease>,
    leases: Vec<Lease>,
}

impl rheo_lease_list {
    /// Empties the list and lets `fetch` fill it.
    #[inline]
    pub(super) fn fill<R>(&mut self, fetch: impl FnOnce(&mut Vec<Lease>) -> Result<R>) -> Result<R> {
        self.views.clear();
        self.leases.clear();
        let result = fetch(&mut self.leases)?;
        self.views.extend(self.leases.iter().map(rheo_lease::borrowed));
        Ok(result)
    }

    pub(super) fn leases(&self) -> &[Lease] {
        &self.leases
    }
}

/// Makes an empty list. The caller frees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_lease_list_new(
    out: *mut *mut rheo_lease_list,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || Ok(rheo_lease_list::default()))
}

/// How many leases it holds; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_lease_list_len(leases: *const rheo_lease_list) -> usize {
    view(leases, |leases| leases.views.len())
}

/// The lease at a position from 0; NULL beyond the end. It belongs to the list, until that is filled again or freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_lease_list_get(leases: *const rheo_lease_list, index: usize) -> *const rheo_lease {
    inner(leases, |leases| leases.views.get(index))
}

/// Frees a list with its leases; NULL is fine. Settles nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_lease_list_free(leases: *mut rheo_lease_list) {
    free(leases);
}
