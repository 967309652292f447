//! Library
//!
//! Which library this is. The macros say what a program was compiled against, the functions what it runs with.

use super::boundary::text;
use crate::handle::{FEATURES, guard};
use std::ffi::{CStr, c_char};

/// The library's version as text, such as `"0.1.0"`: NUL-terminated, static. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn rheo_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => panic!("a version holds no NUL"),
    };
    VERSION.as_ptr()
}

/// The version of the ABI. When it is not `RHEO_ABI_VERSION`, the program and the library do not fit: see
/// `RHEO_ABI_MATCHES`. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn rheo_abi_version() -> u32 {
    const VERSION: u32 = match u32::from_str_radix(env!("RHEO_ABI_VERSION"), 10) {
        Ok(version) => version,
        Err(_) => panic!("build.rs sets a number"),
    };
    VERSION
}

/// Whether this build has a feature: `memory` and `journal` (always), `test-backends`; `sqlite`, `postgres`, `redis`
/// once there is a build with them. False for any other name. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_has_feature(name: *const c_char, name_len: usize) -> bool {
    guard(|| {
        let name = text("name", name, name_len)?;
        Ok(FEATURES.contains(&(name, true)))
    })
    .unwrap_or(false)
}
