//! Embeds the scenario files, so that the crate runs them wherever it is built from.

use std::path::Path;
use std::{env, fs};

fn main() {
    let scenarios = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../tests/conformance");
    println!("cargo::rerun-if-changed={}", scenarios.display());
    let entries = fs::read_dir(&scenarios)
        .unwrap_or_else(|error| panic!("the scenarios are in {}, which cannot be read: {error}", scenarios.display()));
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("the directory can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    let mut list = String::from("[\n");
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.file_name().expect("a file has a name").to_string_lossy();
        list.push_str(&format!("    ({name:?}, include_str!({:?})),\n", file.display().to_string()));
    }
    list.push(']');
    let out = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("scenarios.rs");
    fs::write(&out, list).unwrap_or_else(|error| panic!("cannot write {}: {error}", out.display()));
}
