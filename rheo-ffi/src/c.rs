//! The C ABI: `include/rheo.h`, function by function. A file per noun.
//!
//! The header is generated from these files: the head comment of each becomes a section's, the comment of each
//! function its manual, so they speak to a C programmer. What holds for all of them is said once, in
//! `cbindgen.toml`, which is also where the conventions of pointers, texts and ownership are. A function here does
//! three things: it clears its outputs, turns its arguments into Rust's through `boundary`, and calls the core.

// C's names, as the header has them.
#![allow(non_camel_case_types)]
// Every function here trusts its caller's pointers to be what the header's conventions say. That is the one reason
// why they are `unsafe`, it is the same for all of them, and a block and a comment in each would say nothing more.
// What is done with a pointer is done, with its reasons, in `boundary`.
#![allow(unsafe_op_in_unsafe_fn, clippy::missing_safety_doc)]

mod boundary;

pub mod append_options;
pub mod batch;
pub mod capabilities;
pub mod consumer;
pub mod consumer_options;
pub mod dead_letter;
pub mod dead_letter_options;
pub mod error;
pub mod event;
pub mod fetch_options;
pub mod group;
pub mod group_info;
pub mod group_options;
pub mod group_settle;
pub mod instance;
pub mod interrupt;
pub mod lag;
pub mod lease;
pub mod library;
pub mod name_list;
pub mod options;
pub mod producer;
pub mod producer_options;
pub mod query;
pub mod replay_options;
pub mod reset_options;
pub mod results;
pub mod settle;
pub mod stream;
pub mod stream_info;
pub mod stream_options;
pub mod telemetry;
pub mod trim_options;
pub mod update_options;
pub mod values;
pub mod work;

#[cfg(test)]
mod tests;
