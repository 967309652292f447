//! `include/rheo.h` is what the sources stand for, and its macros say what the library says.

#[path = "../examples/header.rs"]
mod generator;

use rheo::c::{error, library};
use rheo_core::ErrorCode;
use std::ffi::CStr;
use std::fs;

fn committed() -> String {
    fs::read_to_string(generator::header_path()).unwrap()
}

/// The value of a `#define`, without the comment behind it.
fn macro_value(header: &str, name: &str) -> Option<String> {
    let define = format!("#define {name} ");
    let value = header.lines().find_map(|line| line.strip_prefix(&define))?;
    Some(value.split(" /*").next().unwrap_or(value).to_owned())
}

#[test]
fn the_committed_header_is_up_to_date() {
    assert!(
        committed() == generator::header(),
        "include/rheo.h is out of date: run `make header` and commit what it writes"
    );
}

#[test]
fn the_header_is_plain_ascii_of_bounded_width() {
    for (number, line) in committed().lines().enumerate() {
        assert!(line.is_ascii() && line.len() <= 120, "line {}: {line}", number + 1);
    }
}

#[test]
fn version_macros_say_what_the_library_says() {
    let header = committed();
    let version = static_text(library::rheo_version());
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
    assert_eq!(macro_value(&header, "RHEO_VERSION"), Some(format!("{version:?}")));
    let parts = ["MAJOR", "MINOR", "PATCH"].map(|part| macro_value(&header, &format!("RHEO_VERSION_{part}")).unwrap());
    assert_eq!(parts.join("."), version);
    let abi_version = library::rheo_abi_version().to_string();
    assert_eq!(macro_value(&header, "RHEO_ABI_VERSION"), Some(abi_version));
}

#[test]
fn every_error_has_its_constant_and_its_name() {
    let header = committed();
    let defined = header.lines().filter(|line| line.starts_with("#define RHEO_ERROR_")).count();
    assert_eq!(defined, ErrorCode::ALL.len());
    for &code in ErrorCode::ALL {
        let number = macro_value(&header, &format!("RHEO_ERROR_{}", code.name().to_uppercase()));
        assert_eq!(number, Some(code.number().to_string()));
        assert_eq!(static_text(error::rheo_status_name(code.number())), code.name());
        let class = macro_value(&header, &format!("RHEO_SETTLE_{}", code.settle_class().name().to_uppercase()));
        assert_eq!(class, Some(error::rheo_status_settle_class(code.number()).to_string()));
        let retriable = match code.retriable() {
            rheo_core::Retriable::No => "NO",
            rheo_core::Retriable::Yes => "YES",
            rheo_core::Retriable::WithSameId => "WITH_SAME_ID",
            other => panic!("{other:?} has no constant"),
        };
        let retriable = macro_value(&header, &format!("RHEO_RETRIABLE_{retriable}"));
        assert_eq!(retriable, Some(error::rheo_status_retriable(code.number()).to_string()));
    }
    assert_eq!(static_text(error::rheo_status_name(0)), "ok");
    for number in [-1, 1, 100, 902, i32::MAX, i32::MIN] {
        assert!(error::rheo_status_name(number).is_null());
        assert_eq!(error::rheo_status_settle_class(number), 0);
        assert_eq!(error::rheo_status_retriable(number), 0);
    }
}

#[test]
fn every_function_is_guarded() {
    // They cannot panic, and have nothing to hand an error to.
    let constant = ["rheo_version", "rheo_abi_version"];
    let by_number =
        ["rheo_status_name", "rheo_status_settle_class", "rheo_status_retriable", "rheo_telemetry_name_text"];
    let guards = ["call(", "change(", "create(", "find(", "view(", "view_optional(", "inner(", "free(", "guard("];
    let mut functions = 0;
    for entry in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/c")).unwrap() {
        let source = fs::read_to_string(entry.unwrap().path()).unwrap();
        for function in source.split("#[unsafe(no_mangle)]").skip(1) {
            functions += 1;
            let (signature, body) = function.split_once(" {\n").unwrap();
            let (body, _) = body.split_once("\n}").unwrap();
            let name = signature.split("fn ").nth(1).unwrap().split('(').next().unwrap();
            let guarded = guards.iter().any(|guard| body.lines().any(|line| line.starts_with(&format!("    {guard}"))));
            assert!(guarded || constant.contains(&name) || by_number.contains(&name), "{name} is not guarded");
        }
    }
    assert!(functions > 200);
}

#[test]
fn features_are_told() {
    let has = |name: &str| {
        // SAFETY: pointer and length of a text.
        unsafe { library::rheo_has_feature(name.as_ptr().cast(), name.len()) }
    };
    assert!(has("memory"));
    assert_eq!(has("test-backends"), cfg!(feature = "test-backends"));
    assert!(!has("punch-cards"));
    assert!(!has(""));
}

/// A static, NUL-terminated text of the library.
fn static_text(text: *const std::ffi::c_char) -> &'static str {
    assert!(!text.is_null());
    // SAFETY: the header says that these texts are static and NUL-terminated.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap()
}
