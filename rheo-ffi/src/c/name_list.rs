//! List of names

use super::boundary::{free, view};
use super::values::rheo_bytes;

/// Names of streams or groups, sorted by code point. Never changes; any thread may read it, several at once.
pub struct rheo_name_list(pub(super) Vec<String>);

/// How many names it holds; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_name_list_len(names: *const rheo_name_list) -> usize {
    view(names, |names| names.0.len())
}

/// The name at a position from 0; `data` is NULL beyond the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_name_list_get(names: *const rheo_name_list, index: usize) -> rheo_bytes {
    view(names, |names| names.0.get(index).map(String::as_str).into())
}

/// Frees a list; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_name_list_free(names: *mut rheo_name_list) {
    free(names);
}
