//! Dead letter
//!
//! A delivery that was rejected, or that ran into a limit, with its reason; it is not fetched again until replayed.
//! Its stream, partition, sequence and id are its event's.

use super::boundary::{free, inner, view};
use super::event::rheo_event;
use super::values::rheo_bytes;
use rheo_core::DeadLetter;

/// One dead letter; belongs to its list. Never changes; any thread may read it, several at once.
pub struct rheo_dead_letter {
    letter: DeadLetter,
    event: rheo_event,
}

/// The event. It belongs to the dead letter. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_dead_letter_event(letter: *const rheo_dead_letter) -> *const rheo_event {
    inner(letter, |letter| Some(&letter.event))
}

/// The group's name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_dead_letter_group(letter: *const rheo_dead_letter) -> rheo_bytes {
    view(letter, |letter| letter.letter.group.as_str().into())
}

/// How often it had been delivered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_dead_letter_attempt(letter: *const rheo_dead_letter) -> u32 {
    view(letter, |letter| letter.letter.attempt)
}

/// Why, at most 1 KiB.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_dead_letter_reason(letter: *const rheo_dead_letter) -> rheo_bytes {
    view(letter, |letter| letter.letter.reason.as_str().into())
}

/// When, by the instance's clock, in microseconds since the Unix epoch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_dead_letter_dead_lettered_at(letter: *const rheo_dead_letter) -> i64 {
    view(letter, |letter| letter.letter.dead_lettered_at.as_micros())
}

/// Dead letters, ordered by partition and sequence. Never changes; any thread may read it, several at once.
pub struct rheo_dead_letter_list(Vec<rheo_dead_letter>);

impl rheo_dead_letter_list {
    pub(super) fn new(letters: Vec<DeadLetter>) -> rheo_dead_letter_list {
        let with_event = |letter: DeadLetter| rheo_dead_letter { event: rheo_event::own(letter.event.clone()), letter };
        rheo_dead_letter_list(letters.into_iter().map(with_event).collect())
    }
}

/// How many dead letters it holds; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_dead_letter_list_len(letters: *const rheo_dead_letter_list) -> usize {
    view(letters, |letters| letters.0.len())
}

/// The dead letter at a position from 0; NULL beyond the end. It belongs to the list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_dead_letter_list_get(
    letters: *const rheo_dead_letter_list,
    index: usize,
) -> *const rheo_dead_letter {
    inner(letters, |letters| letters.0.get(index))
}

/// Frees a list with its dead letters; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_dead_letter_list_free(letters: *mut rheo_dead_letter_list) {
    free(letters);
}
