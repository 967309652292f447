//! In which order a query gives its events, and keeping the first few of them while scanning.

use crate::error::{Error, Result};
use crate::event::Event;
use crate::limits::truncated;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::str::FromStr;

/// What to order by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OrderField {
    /// The position in the partition.
    Sequence,
    /// The event's time.
    Timestamp,
}

impl OrderField {
    /// `sequence` or `timestamp`.
    pub const fn name(self) -> &'static str {
        match self {
            OrderField::Sequence => "sequence",
            OrderField::Timestamp => "timestamp",
        }
    }
}

/// # Errors
/// `invalid_argument` for any other name.
impl FromStr for OrderField {
    type Err = Error;

    fn from_str(name: &str) -> Result<OrderField> {
        match name {
            "sequence" => Ok(OrderField::Sequence),
            "timestamp" => Ok(OrderField::Timestamp),
            _ => Err(Error::invalid(format!(
                "order_by takes sequence or timestamp as field, not {:?}",
                truncated(name, 80)
            ))),
        }
    }
}

/// Which way to order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Lowest first.
    #[default]
    Ascending,
    /// Highest first.
    Descending,
}

impl Direction {
    /// `asc` or `desc`.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Ascending => "asc",
            Direction::Descending => "desc",
        }
    }
}

/// # Errors
/// `invalid_argument` for any other name.
impl FromStr for Direction {
    type Err = Error;

    fn from_str(name: &str) -> Result<Direction> {
        match name {
            "asc" => Ok(Direction::Ascending),
            "desc" => Ok(Direction::Descending),
            _ => Err(Error::invalid(format!("order_by takes asc or desc as direction, not {:?}", truncated(name, 80)))),
        }
    }
}

/// An event's place in an order: the lower, the earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    keys: [i128; 2],
    partition: u32,
    sequence: u64,
}

/// The order of a query. Ties go by partition ascending, then by sequence ascending, so no two events are equal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    first: (OrderField, Direction),
    /// Only ever the other field: ordering by one field again changes nothing.
    second: Option<(OrderField, Direction)>,
}

impl Order {
    /// The order that `order_by` asks for; by sequence ascending when it is empty.
    pub(crate) fn new(order_by: &[(OrderField, Direction)]) -> Order {
        let first = order_by.first().copied().unwrap_or((OrderField::Sequence, Direction::Ascending));
        Order { first, second: order_by.iter().copied().find(|(field, _)| *field != first.0) }
    }

    /// Which way a scan by (sequence, partition) has this order already; nothing when events have to be collected
    /// and sorted.
    pub(crate) fn scan_direction(&self) -> Option<Direction> {
        match self {
            Order { first: (OrderField::Sequence, direction), second: None } => Some(*direction),
            _ => None,
        }
    }

    /// The event's place. Comparing ranks compares events.
    pub(crate) fn rank(&self, event: &Event) -> Rank {
        let key = |(field, direction)| {
            let ascending = match field {
                OrderField::Sequence => i128::from(event.sequence()),
                OrderField::Timestamp => i128::from(event.timestamp().as_micros()),
            };
            match direction {
                Direction::Ascending => ascending,
                Direction::Descending => -ascending,
            }
        };
        Rank {
            keys: [key(self.first), self.second.map_or(0, key)],
            partition: event.partition(),
            sequence: event.sequence(),
        }
    }
}

/// Collects events and keeps the first `limit` of an order. It never holds more than one above the limit.
#[derive(Debug)]
pub(crate) struct TopK {
    order: Order,
    limit: Option<usize>,
    /// The last one of the kept is on top.
    kept: BinaryHeap<Ranked>,
}

impl TopK {
    /// An empty collection; without a limit it keeps everything.
    pub(crate) fn new(order: Order, limit: Option<usize>) -> TopK {
        TopK { order, limit, kept: BinaryHeap::new() }
    }

    /// Whether `push` would keep this event. Asked before matching, it spares most events the look at their payload.
    pub(crate) fn admits(&self, event: &Event) -> bool {
        match (self.limit, self.kept.peek()) {
            (Some(limit), Some(last)) if self.kept.len() >= limit => self.order.rank(event) < last.rank,
            (Some(0), None) => false,
            _ => true,
        }
    }

    /// Adds an event, which may push the last one out.
    pub(crate) fn push(&mut self, event: Event) {
        self.kept.push(Ranked { rank: self.order.rank(&event), event });
        if self.limit.is_some_and(|limit| self.kept.len() > limit) {
            self.kept.pop();
        }
    }

    /// The kept events in their order.
    pub(crate) fn into_events(self) -> Vec<Event> {
        self.kept.into_sorted_vec().into_iter().map(|ranked| ranked.event).collect()
    }
}

/// An event that compares by its rank.
#[derive(Debug)]
struct Ranked {
    rank: Rank,
    event: Event,
}

impl Ord for Ranked {
    fn cmp(&self, other: &Ranked) -> Ordering {
        self.rank.cmp(&other.rank)
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Ranked) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Ranked) -> bool {
        self.rank == other.rank
    }
}

impl Eq for Ranked {}

#[cfg(test)]
mod tests {
    use super::Direction::{Ascending, Descending};
    use super::OrderField::{Sequence, Timestamp};
    use super::*;
    use crate::query::tests::event_at;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    /// (partition, sequence, time in microseconds)
    type Place = (u32, u64, i64);

    fn sorted(order_by: &[(OrderField, Direction)], limit: Option<usize>, places: &[Place]) -> Vec<Place> {
        let mut top = TopK::new(Order::new(order_by), limit);
        for place in places {
            let event = event_at(place.0, place.1, place.2);
            let admitted = top.admits(&event);
            top.push(event.clone());
            assert_eq!(admitted, top.kept.iter().any(|ranked| ranked.event == event));
            assert!(limit.is_none_or(|limit| top.kept.len() <= limit));
        }
        let place = |event: &Event| (event.partition(), event.sequence(), event.timestamp().as_micros());
        top.into_events().iter().map(place).collect()
    }

    #[test]
    fn names_are_found_again() {
        for field in [Sequence, Timestamp] {
            assert_eq!(field.name().parse::<OrderField>(), Ok(field));
        }
        for direction in [Ascending, Descending] {
            assert_eq!(direction.name().parse::<Direction>(), Ok(direction));
        }
        assert!("partition".parse::<OrderField>().unwrap_err().message().contains("\"partition\""));
        assert!("ASC".parse::<Direction>().unwrap_err().message().contains("\"ASC\""));
    }

    #[test]
    fn ties_go_by_partition_whatever_the_direction() {
        let places = [(1, 1, 5), (0, 2, 5), (0, 1, 5), (1, 2, 4)];
        assert_eq!(sorted(&[], None, &places), [(0, 1, 5), (1, 1, 5), (0, 2, 5), (1, 2, 4)]);
        assert_eq!(sorted(&[(Sequence, Descending)], None, &places), [(0, 2, 5), (1, 2, 4), (0, 1, 5), (1, 1, 5)]);
        assert_eq!(sorted(&[(Timestamp, Ascending)], None, &places), [(1, 2, 4), (0, 1, 5), (0, 2, 5), (1, 1, 5)]);
        assert_eq!(sorted(&[(Timestamp, Descending)], None, &places), [(0, 1, 5), (0, 2, 5), (1, 1, 5), (1, 2, 4)]);
        assert_eq!(
            sorted(&[(Timestamp, Descending), (Sequence, Descending)], None, &places),
            [(0, 2, 5), (0, 1, 5), (1, 1, 5), (1, 2, 4)]
        );
        assert_eq!(
            sorted(&[(Sequence, Ascending), (Timestamp, Ascending)], None, &[(0, 1, 9), (1, 1, 3)]),
            [(1, 1, 3), (0, 1, 9)]
        );
    }

    #[test]
    fn the_ends_of_the_ranges_negate() {
        let places = [(0, 1, i64::MIN), (0, u64::MAX, i64::MAX)];
        for field in [Sequence, Timestamp] {
            assert_eq!(sorted(&[(field, Ascending)], None, &places), places);
            assert_eq!(sorted(&[(field, Descending)], None, &places), [places[1], places[0]]);
        }
    }

    #[test]
    fn scans_have_the_order_of_sequences_only() {
        let direction = |order_by: &[_]| Order::new(order_by).scan_direction();
        assert_eq!(direction(&[]), Some(Ascending));
        assert_eq!(direction(&[(Sequence, Descending)]), Some(Descending));
        assert_eq!(direction(&[(Sequence, Descending), (Sequence, Ascending)]), Some(Descending));
        assert_eq!(direction(&[(Sequence, Ascending), (Timestamp, Ascending)]), None);
        assert_eq!(direction(&[(Timestamp, Ascending)]), None);
    }

    #[test]
    fn the_first_few_are_those_of_all() {
        let mut rng = SmallRng::seed_from_u64(1);
        let orders: [&[(OrderField, Direction)]; 4] = [
            &[],
            &[(Sequence, Descending)],
            &[(Timestamp, Ascending)],
            &[(Timestamp, Descending), (Sequence, Ascending)],
        ];
        for _ in 0..50 {
            let mut places: Vec<Place> =
                (0..30).map(|i| (i % 3, u64::from(i / 3) + 1, rng.random_range(0..6))).collect();
            for i in (1..places.len()).rev() {
                places.swap(i, rng.random_range(0..=i));
            }
            for order_by in orders {
                let all = sorted(order_by, None, &places);
                for limit in [0, 1, 7, 30, usize::MAX] {
                    assert_eq!(sorted(order_by, Some(limit), &places), all[..limit.min(all.len())]);
                }
            }
        }
    }
}
