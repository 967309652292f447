//! What a backend declares that it does: two mappings of names to booleans (contract, section 2).

use crate::error::{Error, Result};
use std::fmt;

/// The names of the guarantees, in the contract's order.
pub const GUARANTEES: [&str; 11] = [
    "durable",
    "distributed",
    "at_least_once",
    "lease_fencing",
    "partitions",
    "contiguous_frontier",
    "replay",
    "ordered_range_scan",
    "secondary_indexes",
    "batch_writes",
    "multi_process",
];

/// The names of the mechanisms, in the contract's order.
pub const MECHANISMS: [&str; 8] = [
    "atomic_compare_and_set",
    "notifications",
    "change_feed",
    "native_consumer_groups",
    "native_pending_list",
    "native_reclaim",
    "blocking_reads",
    "native_group_lag",
];

/// The guarantees that no backend may do without.
const INDISPENSABLE: [&str; 2] = ["at_least_once", "lease_fencing"];

/// What a backend guarantees and by which mechanisms. Guarantees decide which conformance scenarios apply;
/// mechanisms say how it is done.
///
/// ```
/// use rheo_core::Capabilities;
/// let capabilities = Capabilities::new([("durable", true)], [("notifications", true)])?;
/// assert_eq!(capabilities.guarantee("durable"), Some(true));
/// assert_eq!(capabilities.guarantee("lease_fencing"), Some(true));
/// assert_eq!(capabilities.guarantee("replay"), Some(false));
/// assert!(Capabilities::new([("lease_fencing", false)], []).is_err());
/// # Ok::<(), rheo_core::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    guarantees: [bool; GUARANTEES.len()],
    mechanisms: [bool; MECHANISMS.len()],
}

impl Capabilities {
    /// Builds the value; names that are left out are false, `at_least_once` and `lease_fencing` true.
    ///
    /// # Errors
    /// `invalid_argument` for an unknown name, and for `at_least_once` or `lease_fencing` given as false.
    pub fn new<'a>(
        guarantees: impl IntoIterator<Item = (&'a str, bool)>,
        mechanisms: impl IntoIterator<Item = (&'a str, bool)>,
    ) -> Result<Capabilities> {
        let mut capabilities = Capabilities { guarantees: [false; _], mechanisms: [false; _] };
        for name in INDISPENSABLE {
            set(&GUARANTEES, &mut capabilities.guarantees, "guarantee", name, true)?;
        }
        for (name, value) in guarantees {
            if !value && INDISPENSABLE.contains(&name) {
                return Err(Error::invalid(format!("guarantee {name:?} is false; no backend may do without it")));
            }
            set(&GUARANTEES, &mut capabilities.guarantees, "guarantee", name, value)?;
        }
        for (name, value) in mechanisms {
            set(&MECHANISMS, &mut capabilities.mechanisms, "mechanism", name, value)?;
        }
        Ok(capabilities)
    }

    /// The guarantees, by name.
    pub fn guarantees(&self) -> impl Iterator<Item = (&'static str, bool)> {
        GUARANTEES.into_iter().zip(self.guarantees)
    }

    /// The mechanisms, by name.
    pub fn mechanisms(&self) -> impl Iterator<Item = (&'static str, bool)> {
        MECHANISMS.into_iter().zip(self.mechanisms)
    }

    /// Whether a guarantee is given; nothing for an unknown name.
    pub fn guarantee(&self, name: &str) -> Option<bool> {
        self.guarantees().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Whether a mechanism is used; nothing for an unknown name.
    pub fn mechanism(&self, name: &str) -> Option<bool> {
        self.mechanisms().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

fn set(names: &[&str], values: &mut [bool], kind: &str, name: &str, value: bool) -> Result<()> {
    match names.iter().position(|known| *known == name) {
        Some(at) => {
            values[at] = value;
            Ok(())
        }
        None => Err(Error::invalid(format!("{name:?} is not the name of a {kind}; there are {}", names.join(", ")))),
    }
}

impl fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.guarantees()).entries(self.mechanisms()).finish()
    }
}
