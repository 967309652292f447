//! The runner itself: it sees what is wrong, and says where.

use rheo_conformance::{Failure, Runner, Scenario, Theme, Verdict};
use rheo_core::backend::Backend;
use rheo_core::backend::memory::MemoryBackend;
use rheo_core::{Clock, Instance, OpenOptions};
use serde_json::{Value, json};
use std::cell::{Cell, OnceCell};
use std::sync::Arc;

fn scenario(scenario: &Value) -> Scenario {
    let file = json!({"theme": "t", "about": "", "scenarios": [scenario]});
    Theme::from_json(&file.to_string()).unwrap().scenarios.remove(0)
}

fn run(steps: &Value) -> Verdict {
    let runner = Runner::new(|| |options: &OpenOptions| rheo_core::open("memory:", options.clone()));
    runner.run_scenario(&scenario(steps))
}

fn steps(steps: &Value) -> Verdict {
    run(&json!({"name": "s", "rule": ["4.1"], "steps": steps}))
}

fn failure(steps_of: &Value) -> Failure {
    match steps(steps_of) {
        Verdict::Failed(failure) => failure,
        other => panic!("{steps_of} is {other:?}"),
    }
}

#[test]
fn a_failure_names_the_step_the_call_and_both_sides() {
    let failure = failure(&json!([
        {"op": "create_stream", "args": {"stream": "s"}},
        {"op": "append", "args": {"stream": "s", "payload": {"json": 1}}, "expect": {"sequence": 2}}
    ]));
    assert_eq!(failure.step, "2");
    assert!(failure.call.starts_with("append {") && failure.call.contains("\"stream\":\"s\""), "{failure:?}");
    assert_eq!(failure.expected, r#"{"sequence":2}"#);
    assert!(failure.got.contains("sequence: 1 instead of 2"), "{failure:?}");
}

#[test]
fn errors_and_successes_are_not_taken_for_each_other() {
    let missing = json!({"op": "stream_info", "args": {"stream": "s"}});
    let with = |key: &str, value: Value| {
        let mut step = missing.clone();
        step[key] = value;
        json!([step])
    };
    assert!(failure(&json!([missing])).got.contains("stream_not_found"));
    assert!(failure(&with("expect", json!(null))).got.contains("stream_not_found"));
    assert!(failure(&with("expect_error", json!("group_not_found"))).got.contains("stream_not_found"));
    assert!(matches!(steps(&with("expect_error", json!("stream_not_found"))), Verdict::Passed));
    assert!(matches!(steps(&with("expect_error", json!({"number": 101}))), Verdict::Passed));
    assert!(failure(&json!([{"op": "ping", "expect_error": "closed"}])).got.contains("success"));
}

#[test]
fn mistakes_in_a_scenario_fail_it() {
    for step in [
        json!({"op": "no_such_operation", "args": {"stream": "s"}}),
        json!({"op": "ping", "args": {"stream": "s"}}),
        json!({"op": "create_stream", "args": {}}),
        json!({"op": "create_stream", "args": {"stream": 1}}),
        json!({"op": "create_stream", "args": {"stream": "s", "partition_count": -1}}),
        json!({"op": "ack", "args": {"lease": {"$ref": "nobody"}}}),
        json!({"op": "ack", "args": {"lease": {}, "reason": "none of its arguments"}}),
        json!({"op": "ping", "on": "nobody"}),
        json!({"join": "nobody"}),
    ] {
        assert_eq!(failure(&json!([step])).expected, "a well-formed step", "{step}");
    }
}

#[test]
fn malformed_files_are_refused() {
    for step in [
        json!({"op": "ping", "expects": 1}),
        json!({"op": "ping", "expect": 1, "expect_error": "closed"}),
        json!({"op": "ping", "join": "w"}),
        json!({"start": {"op": "ping"}}),
        json!({"repeat": 2}),
        json!({}),
    ] {
        let file = json!({"theme": "t", "about": "", "scenarios": [{"name": "s", "rule": [], "steps": [step]}]});
        assert!(Theme::from_json(&file.to_string()).is_err(), "{step}");
    }
}

#[test]
fn a_round_of_a_repeat_is_named() {
    let failure = failure(&json!([
        {"op": "create_stream", "args": {"stream": "s"}},
        {"repeat": 3, "steps": [
            {"op": "append", "args": {"stream": "s", "payload": {"json": 1}, "id": {"$concat": ["e", {"$index": 0}]}}},
            {"op": "get", "args": {"stream": "s", "event_id": "e2"}, "expect": null}
        ]}
    ]));
    assert_eq!(failure.step, "2.2 (round 3)");
}

#[test]
fn background_calls_are_joined() {
    let verdict = steps(&json!([
        {"op": "create_stream", "args": {"stream": "s"}},
        {"op": "create_group", "args": {"stream": "s", "group": "g"}},
        {"start": {"op": "fetch", "args": {"stream": "s", "group": "g", "wait_ms": 60_000}}, "as": "w"},
        {"op": "append", "args": {"stream": "s", "payload": {"json": 1}}},
        {"join": "w", "expect": [{"attempt": 1}], "save": "l"},
        {"op": "ack", "args": {"lease": {"$ref": "l.0"}}}
    ]));
    assert!(matches!(verdict, Verdict::Passed), "{verdict:?}");
}

#[test]
fn what_is_missing_skips() {
    for (key, value, missing) in [("requires", "durable", "the guarantee durable"), ("needs", "flaky", "flaky")] {
        let mut scenario = json!({"name": "s", "rule": [], "steps": [{"op": "no_such_operation"}]});
        scenario[key] = json!([value]);
        match run(&scenario) {
            Verdict::Skipped(reasons) => assert_eq!(reasons, [missing]),
            other => panic!("{other:?}"),
        }
    }
    let unknown = run(&json!({"name": "s", "rule": [], "requires": ["speed"], "steps": []}));
    assert!(matches!(unknown, Verdict::Failed(_)), "{unknown:?}");
}

#[test]
fn cuts_reopen_the_store_unless_a_lease_is_held() {
    let fetch = |wait: u64| json!({"op": "fetch", "args": {"stream": "s", "group": "g", "wait_ms": wait}});
    let mut held = fetch(0);
    held["save"] = json!("l");
    let steps = json!([
        {"op": "create_stream", "args": {"stream": "s"}},
        {"op": "create_group", "args": {"stream": "s", "group": "g"}},
        {"op": "advance_clock", "args": {"ms": 5}},
        {"op": "append", "args": {"stream": "s", "payload": {"json": 1}}, "expect": {"timestamp": {"$time": 5}}},
        held,
        {"op": "renew", "args": {"lease": {"$ref": "l.0"}}},
        {"op": "ack", "args": {"lease": {"$ref": "l.0"}}},
        {"start": fetch(60_000), "as": "w"},
        {"op": "append", "args": {"stream": "s", "payload": {"json": 2}}},
        {"join": "w", "expect": [{"event": {"timestamp": {"$time": 5}}}]},
        {"op": "ping"}
    ]);
    // One to begin with; then one before each of the first five steps and before the start of the background call.
    for (reopen, opens) in [(true, 7), (false, 1)] {
        let opened = Cell::new(0);
        let store = || {
            let kept: OnceCell<Arc<dyn Backend>> = OnceCell::new();
            let opened = &opened;
            move |options: &OpenOptions| {
                opened.set(opened.get() + 1);
                let backend = kept.get_or_init(|| Arc::new(MemoryBackend::new(Clock::new(options.clock))));
                Instance::with_backend(Arc::clone(backend), options.clone())
            }
        };
        let cut = scenario(&json!({"name": "s", "rule": [], "reopen": reopen, "steps": steps}));
        let verdict = Runner::new(store).cutting().run_scenario(&cut);
        assert!(matches!(verdict, Verdict::Passed), "{verdict:?}");
        assert_eq!(opened.get(), opens);
    }
}
