//! The order of events that share a key, for groups that keep it (contract 4.13).

use super::stream::shrink;
use hashbrown::HashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The open deliveries of a group's partition that have a key, by key. Only the lowest of a key may be offered.
#[derive(Default)]
pub(super) struct KeyOrder {
    open: HashMap<Arc<str>, BTreeSet<u64>>,
    keys: HashMap<u64, Arc<str>>,
}

impl KeyOrder {
    /// Whether some delivery of this key is open.
    pub(super) fn is_busy(&self, key: &str) -> bool {
        self.open.contains_key(key)
    }

    /// Whether no earlier delivery of the same key is open; true for one without a key.
    pub(super) fn is_first(&self, sequence: u64) -> bool {
        self.keys.get(&sequence).is_none_or(|key| self.open[key].first() == Some(&sequence))
    }

    /// Takes note that a delivery is open. Returns the one that was first of its key until now, if it no longer is.
    pub(super) fn opened(&mut self, sequence: u64, key: &str) -> Option<u64> {
        let shared = match self.open.get_key_value(key) {
            Some((shared, _)) => Arc::clone(shared),
            None => Arc::from(key),
        };
        let queue = self.open.entry(Arc::clone(&shared)).or_default();
        let first = queue.first().copied();
        queue.insert(sequence);
        self.keys.insert(sequence, shared);
        first.filter(|first| sequence < *first)
    }

    /// Takes note that a delivery is no longer open. Returns the one that is first of its key now, if it was not.
    pub(super) fn closed(&mut self, sequence: u64) -> Option<u64> {
        let key = self.keys.remove(&sequence)?;
        let queue = self.open.get_mut(&key)?;
        let was_first = queue.first() == Some(&sequence);
        queue.remove(&sequence);
        let next = queue.first().copied();
        if next.is_none() {
            self.open.remove(&key);
            shrink(&mut self.open);
        }
        shrink(&mut self.keys);
        next.filter(|_| was_first)
    }

    pub(super) fn clear(&mut self) {
        self.open.clear();
        self.keys.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lowest_of_a_key_is_first() {
        let mut order = KeyOrder::default();
        assert_eq!(order.opened(5, "a"), None);
        assert_eq!(order.opened(7, "a"), None);
        assert_eq!(order.opened(6, "b"), None);
        assert!(order.is_first(5) && order.is_first(6) && order.is_first(99) && !order.is_first(7));
        assert_eq!(order.opened(3, "a"), Some(5));
        assert_eq!(order.closed(5), None);
        assert_eq!(order.closed(3), Some(7));
        assert_eq!(order.closed(7), None);
        assert!(!order.is_busy("a") && order.is_busy("b"));
    }
}
