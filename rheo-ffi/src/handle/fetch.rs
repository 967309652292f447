//! The options of a fetch, owning what they refer to.

use rheo_core::{FetchOptions, Interrupt};

/// How to fetch, owned.
#[derive(Clone, Default)]
pub struct OwnedFetchOptions {
    /// See [`FetchOptions::limit`].
    pub limit: Option<usize>,
    /// See [`FetchOptions::lease_ms`].
    pub lease_ms: Option<u64>,
    /// See [`FetchOptions::consumer_id`].
    pub consumer_id: Option<String>,
    /// See [`FetchOptions::partitions`].
    pub partitions: Option<Vec<u32>>,
    /// See [`FetchOptions::wait_ms`].
    pub wait_ms: u64,
    /// See [`FetchOptions::interrupt`].
    pub interrupt: Option<Interrupt>,
}

impl OwnedFetchOptions {
    /// The defaults.
    pub fn new() -> OwnedFetchOptions {
        OwnedFetchOptions::default()
    }

    /// The same as the core takes it.
    #[inline]
    pub fn as_options(&self) -> FetchOptions<'_> {
        FetchOptions {
            limit: self.limit,
            lease_ms: self.lease_ms,
            consumer_id: self.consumer_id.as_deref(),
            partitions: self.partitions.as_deref(),
            wait_ms: self.wait_ms,
            interrupt: self.interrupt.as_ref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handle::Options;

    #[test]
    fn what_is_set_is_handed_on() {
        let mut options = OwnedFetchOptions::new();
        let given =
            [("limit", "0"), ("lease_ms", "5"), ("consumer_id", "me"), ("partitions", "[1, 1]"), ("wait_ms", "7")];
        for (name, value) in given {
            options.set(name, value).unwrap();
        }
        options.interrupt = Some(Interrupt::new());
        let core = options.as_options();
        assert_eq!((core.limit, core.lease_ms, core.consumer_id), (Some(0), Some(5), Some("me")));
        assert_eq!((core.partitions, core.wait_ms), (Some(&[1, 1][..]), 7));
        options.interrupt.as_ref().unwrap().fire();
        assert!(core.interrupt.is_some_and(Interrupt::is_fired));
    }
}
