//! Which scenarios check which rule of the contract: `docs/conformance.md`, and what is wrong with a set of scenarios.

use crate::scenario::{Scenario, Step, Theme};
use rheo_core::ErrorCode;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The values of section 2.
const VALUES: &[(&str, &str)] = &[
    ("2.event", "Event: identity, time, names, metadata"),
    ("2.payload", "Payloads, byte for byte"),
    ("2.lease", "Lease"),
    ("2.token", "Token of a lease"),
    ("2.lag", "Lag"),
    ("2.group_info", "GroupInfo"),
    ("2.dead_letter", "DeadLetter"),
    ("2.page", "Page"),
    ("2.capabilities", "Capabilities"),
];

/// The operations of section 3. Every one of them must be called by some scenario.
pub const OPERATIONS: &[&str] = &[
    "open",
    "get_instance",
    "ping",
    "ensure_indexes",
    "capabilities",
    "close",
    "advance_clock",
    "create_stream",
    "delete_stream",
    "stream_info",
    "list_streams",
    "create_group",
    "update_group",
    "delete_group",
    "list_groups",
    "append",
    "append_batch",
    "read",
    "get",
    "query",
    "query_page",
    "query_stream",
    "trim",
    "fetch",
    "renew",
    "ack",
    "retry",
    "reject",
    "release",
    "renew_many",
    "ack_many",
    "retry_many",
    "reject_many",
    "release_many",
    "lag",
    "group_info",
    "dead_letters",
    "discard_dead_letters",
    "replay",
    "reset_group",
];

/// The paragraphs of section 3 that belong to no single operation.
const PARAGRAPHS: &[(&str, &str)] = &[
    ("3.order_of_checks", "Form of the arguments, stream, group, range"),
    ("3.clock", "The manual clock"),
    ("3.limits", "Limits"),
    ("3.partition_routing", "Which partition a key belongs to"),
    ("3.idempotent_append", "An id appends once"),
    ("3.visibility", "Sequences become visible in order"),
    ("3.waiting", "Waiting for work"),
    ("3.fairness", "Fair across partitions"),
];

/// The rules of section 4.
const RULES: &[(&str, &str)] = &[
    ("4.1", "Immutability"),
    ("4.2", "Fencing"),
    ("4.3", "Attempts"),
    ("4.4", "max_attempts"),
    ("4.5", "max_deliveries"),
    ("4.6", "Frontier"),
    ("4.7", "Replay"),
    ("4.8", "Reset"),
    ("4.9", "Groups are independent"),
    ("4.10", "Time"),
    ("4.11", "Reasons"),
    ("4.12", "Retention"),
    ("4.13", "Order per key"),
];

/// The rules of section 6, by what they are about.
const RUNTIME: &[(&str, &str)] = &[
    ("6.producer", "Demand, `max_demand`, options, errors at the start"),
    ("6.renewal", "Renewal, and leases that are lost"),
    ("6.settling", "Settling through the producer, `confirm`, `inflight_count`"),
    ("6.settle_errors", "Settles that fail, by class"),
    ("6.failure", "`on_failure`, `retry_delay`"),
    ("6.backoff", "Back-off after fetches that fail"),
    ("6.wakeups", "Waiting for work"),
    ("6.drain", "`drain`, `already_draining`"),
    ("6.close", "`close`"),
    ("6.consumer", "Handlers and their outcomes, options, errors at the start"),
    ("6.batches", "Batches, an outcome for each event"),
    ("6.key_order", "Each key's order with many handlers"),
    ("6.competition", "Several on one group"),
    ("6.endings", "What ends a consumer, and what does not"),
];

/// The rules of section 6 that only programs can check, with threads, signals and the real time.
const RUNTIME_OF_PROGRAMS: &[(&str, &str)] = &[
    ("6.cancel", "The signal of a handler, `max_lease_ms`"),
    ("6.threads", "Renewal on a thread of its own; few threads"),
    ("6.idle", "An idle consumer neither polls nor burns time"),
    ("6.crash", "The process dies in the middle"),
    ("6.telemetry", "What telemetry is told"),
];

/// Tests that check a rule of section 6 beside the scenarios: the rule, the file, the tests' names.
pub const PROGRAM_TESTS: &[(&str, &str, &[&str])] = &[
    (
        "6.cancel",
        "rheo-core/tests/runtime.rs",
        &["a_handler_that_does_not_return_is_told_and_left", "a_lease_is_not_renewed_beyond_its_limit"],
    ),
    ("6.settle_errors", "rheo-core/tests/runtime.rs", &["only_a_definite_failure_of_a_settle_is_repeated"]),
];

/// The failures that users of such systems reported, as far as scenarios can show them on a backend without
/// durability. Every one of them must be shown.
const FAILURE_CASES: &[(&str, &str)] = &[
    ("failure-case:1", "Late ack"),
    ("failure-case:2", "A timer fires after the ack"),
    ("failure-case:3", "A late nack corrupts attempts"),
    ("failure-case:4", "A crash loop never dead-letters"),
    ("failure-case:6", "A lowered limit strands an event"),
    ("failure-case:7", "A dead letter blocks the frontier"),
    ("failure-case:8", "The frontier passes a nacked event"),
    ("failure-case:9", "Lag is wrong after a trim"),
    ("failure-case:10", "A trimmed event leaks capacity, or another takes its place"),
    ("failure-case:11", "Inflight falls only when somebody fetches"),
    ("failure-case:12", "Heartbeat after settle"),
    ("failure-case:13", "Ack holes above a cap are lost"),
    ("failure-case:14", "Settle through the wrong group"),
    ("failure-case:15", "A hot partition starves another"),
    ("failure-case:17", "A group vanishes in the store"),
    ("failure-case:20", "A clock step stalls timers"),
    ("failure-case:21", "The write happened, an error was returned"),
    ("failure-case:28", "Close racing a blocked fetch; double close"),
    ("failure-case:31", "Integers over 2^53"),
    ("failure-case:34", "Auto-commit on poll loses data"),
    ("failure-case:35", "An empty fetch, then a timeout error"),
    ("failure-case:36", "One page cursor for all partitions; one missing event fails a whole fetch"),
];

/// The errors of section 5 that need no durability and no other processes. Every one must be given.
const ERRORS_OF_MEMORY: &[ErrorCode] = &[
    ErrorCode::StreamNotFound,
    ErrorCode::GroupNotFound,
    ErrorCode::AlreadyExists,
    ErrorCode::CursorNotFound,
    ErrorCode::StaleLease,
    ErrorCode::ReceiptMismatch,
    ErrorCode::InvalidArgument,
    ErrorCode::InvalidPartition,
    ErrorCode::InvalidPartitionCount,
    ErrorCode::InvalidReplayOpts,
    ErrorCode::ConfirmRequired,
    ErrorCode::PayloadTooLarge,
    ErrorCode::Unsupported,
    ErrorCode::BackendUnavailable,
    ErrorCode::Failed,
    ErrorCode::Ambiguous,
    ErrorCode::Timeout,
    ErrorCode::AlreadyDraining,
    ErrorCode::Closed,
];

/// What a scenario may say that it needs.
const NEEDS: &[&str] =
    &["flaky", "receipts", "bound", "signed-numbers", "signed-partitions", "token-lists", "without-redis"];

/// A part of the document: its heading, and its rules with their titles.
type Section = (&'static str, Vec<(String, String)>);

fn sections() -> Vec<Section> {
    let owned = |rules: &[(&str, &str)]| {
        rules.iter().map(|&(rule, title)| (rule.to_owned(), title.to_owned())).collect::<Vec<_>>()
    };
    let operations = OPERATIONS.iter().map(|name| (format!("3.{name}"), format!("`{name}`"))).collect();
    let errors = ErrorCode::ALL.iter().map(|code| (format!("error:{code}"), format!("`{code}`"))).collect();
    vec![
        ("Section 2: values", owned(VALUES)),
        ("Section 3: operations", operations),
        ("Section 3: what holds for several operations", owned(PARAGRAPHS)),
        ("Section 4: rules", owned(RULES)),
        ("Section 5: errors", errors),
        ("Section 6: consumption", owned(RUNTIME)),
        ("Section 6: what programs check", owned(RUNTIME_OF_PROGRAMS)),
        ("Failures that users of such systems reported", owned(FAILURE_CASES)),
    ]
}

/// The text of `docs/conformance.md`: the scenarios by rule, with their counts.
pub fn document(themes: &[Theme]) -> String {
    let count = all(themes).count();
    let steps: u64 = all(themes).map(|(_, scenario)| count_steps(&scenario.steps)).sum();
    let mut text = format!(
        "# Which scenarios check which rule\n\n\
         Generated from `tests/conformance/*.json`; do not edit. To make it anew:\n\
         `cargo run -p rheo-conformance > docs/conformance.md`. A test compares it with the scenarios.\n\n\
         {count} scenarios with {steps} steps, in {} themes. Every runner runs all of them on every backend, by name \
         and by bound\nhandles, settling by lease and by token; what does not apply is reported as skipped.\n\n\
         | theme | scenarios | what it covers |\n|---|---:|---|\n",
        themes.len()
    );
    for Theme { theme, about, scenarios } in themes {
        let _ = writeln!(text, "| [{theme}](../tests/conformance/{theme}.json) | {} | {about} |", scenarios.len());
    }
    for (heading, rules) in sections() {
        let _ = write!(text, "\n## {heading}\n\n| rule | what | number | scenarios, tests |\n|---|---|---:|---|\n");
        for (rule, title) in rules {
            let (number, names) = checks_of(themes, &rule);
            let _ = writeln!(text, "| {rule} | {title} | {number} | {names} |");
        }
    }
    text
}

/// How many scenarios and tests check a rule, and their names by theme or file.
fn checks_of(themes: &[Theme], rule: &str) -> (usize, String) {
    let mut number = 0;
    let mut groups = Vec::new();
    for theme in themes {
        let checking = theme.scenarios.iter().filter(|scenario| scenario.rule.iter().any(|checked| checked == rule));
        let names: Vec<&str> = checking.map(|scenario| scenario.name.as_str()).collect();
        if !names.is_empty() {
            number += names.len();
            groups.push(format!("**{}**: {}", theme.theme, names.join(", ")));
        }
    }
    for (_, file, tests) in PROGRAM_TESTS.iter().filter(|(checked, ..)| *checked == rule) {
        number += tests.len();
        groups.push(format!("[{file}](../{file}): {}", tests.join(", ")));
    }
    (number, if groups.is_empty() { "none yet".to_owned() } else { groups.join("; ") })
}

/// What is wrong with a set of scenarios: unknown or unchecked rules, names used twice, steps that hang in the air.
pub fn problems(themes: &[Theme]) -> Vec<String> {
    let mut problems = Vec::new();
    let known: BTreeSet<String> = sections().into_iter().flat_map(|(_, rules)| rules).map(|(rule, _)| rule).collect();
    let mut names = BTreeSet::new();
    let (mut checked, mut called) = (BTreeSet::new(), BTreeSet::new());
    for (theme, scenario) in all(themes) {
        let place = format!("{}/{}", theme.theme, scenario.name);
        if !names.insert(&scenario.name) {
            problems.push(format!("{place}: the name is used twice"));
        }
        if scenario.rule.is_empty() {
            problems.push(format!("{place}: it says not which rule it checks"));
        }
        let unknown_rules = scenario.rule.iter().filter(|rule| !known.contains(*rule));
        problems.extend(unknown_rules.map(|rule| format!("{place}: there is no rule {rule:?}")));
        let starts = |name: &&str| matches!(*name, "start_producer" | "start_consumer");
        if scenario.reopen && scenario.steps.iter().flat_map(Step::operations).any(|name| starts(&name)) {
            problems.push(format!("{place}: what it starts would not outlive a reopen"));
        }
        let unknown_needs = scenario.needs.iter().filter(|need| !NEEDS.contains(&need.as_str()));
        problems.extend(unknown_needs.map(|need| format!("{place}: nothing offers {need:?}")));
        problems.extend(
            unpaired(&scenario.steps).into_iter().map(|name| format!("{place}: {name:?} is not started and joined")),
        );
        checked.extend(scenario.rule.iter().map(String::as_str));
        called.extend(scenario.steps.iter().flat_map(Step::operations));
    }
    let errors = ERRORS_OF_MEMORY.iter().map(|code| format!("error:{code}"));
    let rules =
        [VALUES, PARAGRAPHS, RULES, RUNTIME, FAILURE_CASES].into_iter().flatten().map(|(rule, _)| (*rule).to_owned());
    let operations = OPERATIONS.iter().map(|name| format!("3.{name}"));
    let unchecked = rules.chain(operations).chain(errors).filter(|rule| !checked.contains(rule.as_str()));
    problems.extend(unchecked.map(|rule| format!("no scenario checks {rule}")));
    for (rule, _) in RUNTIME_OF_PROGRAMS {
        if !PROGRAM_TESTS.iter().any(|(checked, ..)| checked == rule) {
            problems.push(format!("no test checks {rule}"));
        }
    }
    let unknown_rules = PROGRAM_TESTS.iter().filter(|(rule, ..)| !known.contains(*rule));
    problems.extend(unknown_rules.map(|(rule, file, _)| format!("{file}: there is no rule {rule:?}")));
    let uncalled = OPERATIONS.iter().filter(|name| !called.contains(*name));
    problems.extend(uncalled.map(|name| format!("no scenario calls {name}")));
    problems
}

fn all(themes: &[Theme]) -> impl Iterator<Item = (&Theme, &Scenario)> {
    themes.iter().flat_map(|theme| theme.scenarios.iter().map(move |scenario| (theme, scenario)))
}

fn count_steps(steps: &[Step]) -> u64 {
    steps
        .iter()
        .map(|step| match step {
            Step::Repeat { count, steps } => count * count_steps(steps),
            _ => 1,
        })
        .sum()
}

/// The names of background calls that are started and not joined, or the other way round.
fn unpaired(steps: &[Step]) -> Vec<&str> {
    let mut running = BTreeSet::new();
    let mut wrong = Vec::new();
    for step in steps {
        match step {
            Step::Start(_, name) if !running.insert(name.as_str()) => wrong.push(name.as_str()),
            Step::Join { name, .. } if !running.remove(name.as_str()) => wrong.push(name),
            Step::Repeat { steps, .. } => wrong.extend(unpaired(steps)),
            _ => {}
        }
    }
    wrong.extend(running);
    wrong
}
