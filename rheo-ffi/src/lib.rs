//! Rheo at the boundary to other languages.
//!
//! [`handle`] is what every foreign surface shares: panics turned into errors, options by name, values from JSON,
//! waits that can be interrupted. It is safe Rust and knows no language. [`c`] is the C ABI over it (feature
//! `c-abi`); `include/rheo.h` is generated from that module and is its manual.

#[cfg(feature = "c-abi")]
pub mod c;
pub mod handle;
