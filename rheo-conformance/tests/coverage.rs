//! The scenarios cover the contract, and the table of them is up to date.

use rheo_conformance::coverage::{PROGRAM_TESTS, document, problems};
use rheo_conformance::{Theme, themes};
use std::fs;
use std::path::Path;

#[test]
fn every_rule_operation_and_error_has_a_scenario() {
    let problems = problems(&themes());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn the_committed_table_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/conformance.md");
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == document(&themes()),
        "docs/conformance.md is out of date: cargo run -p rheo-conformance > docs/conformance.md"
    );
}

#[test]
fn the_tests_that_the_table_names_exist() {
    for (rule, file, tests) in PROGRAM_TESTS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{rule}: {file}: {error}"));
        for test in *tests {
            assert!(text.contains(test), "{rule}: {file} has no {test}");
        }
    }
}

#[test]
fn what_is_wrong_with_scenarios_is_named() {
    let file = r#"{"theme": "t", "about": "", "scenarios": [
        {"name": "twice", "rule": ["4.99"], "steps": []},
        {"name": "twice", "rule": [], "needs": ["luck"], "steps": [
            {"start": {"op": "ping"}, "as": "left"},
            {"repeat": 2, "steps": [{"join": "never"}, {"op": "start_producer", "as": "p"}]}
        ]}
    ]}"#;
    let found = problems(&[Theme::from_json(file).unwrap()]);
    for part in
        ["\"4.99\"", "used twice", "says not which rule", "\"luck\"", "\"left\"", "\"never\"", "checks 4.1", "outlive"]
    {
        assert!(found.iter().any(|problem| problem.contains(part)), "{part} is not in {found:#?}");
    }
}
