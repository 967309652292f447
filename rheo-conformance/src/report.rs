//! What became of every scenario.

use rheo_core::GUARANTEES;
use std::fmt;

/// The outcomes of a run, in the order of the scenarios.
///
/// Its text goes by guarantee: how many scenarios passed, failed and were skipped, then each that failed, with the rules
/// it checks and the step that went wrong, and each that was skipped, with what is missing. The last line has the
/// counts of all.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// One for each scenario; none is left out.
    pub outcomes: Vec<Outcome>,
}

/// What became of one scenario.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The theme it belongs to.
    pub theme: String,
    /// Its name.
    pub scenario: String,
    /// What of the contract it checks, as `docs/conformance.md` names it: `4.13`, `3.fetch`, `error:stale_lease`.
    pub rules: Vec<String>,
    /// The guarantees without which it does not apply.
    pub requires: Vec<String>,
    /// What became of it.
    pub verdict: Verdict,
}

/// What became of a scenario.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Every step did what it should.
    Passed,
    /// A step did not.
    Failed(Failure),
    /// It does not apply: these guarantees or facilities are missing.
    Skipped(Vec<String>),
}

/// The step that ended a scenario.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Its position, from 1; within a repeat `3.1 (round 5)`.
    pub step: String,
    /// What was called.
    pub call: String,
    /// What should have come.
    pub expected: String,
    /// What came.
    pub got: String,
}

impl Report {
    /// How many passed.
    pub fn passed(&self) -> usize {
        self.count(|verdict| matches!(verdict, Verdict::Passed))
    }

    /// How many failed.
    pub fn failed(&self) -> usize {
        self.count(|verdict| matches!(verdict, Verdict::Failed(_)))
    }

    /// How many were skipped.
    pub fn skipped(&self) -> usize {
        self.count(|verdict| matches!(verdict, Verdict::Skipped(_)))
    }

    fn count(&self, which: impl Fn(&Verdict) -> bool) -> usize {
        self.outcomes.iter().filter(|outcome| which(&outcome.verdict)).count()
    }

    /// The outcomes that are about a guarantee; about what every backend does when missing.
    fn about(&self, guarantee: Option<&str>) -> Report {
        let outcomes = self.outcomes.iter().filter(|outcome| outcome.guarantee() == guarantee).cloned().collect();
        Report { outcomes }
    }

    fn fmt_counts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed(), self.failed(), self.skipped())
    }
}

impl Outcome {
    /// The guarantee that the scenario is about: the first that it requires. Fencing is required of every backend.
    fn guarantee(&self) -> Option<&str> {
        let fencing = self.rules.iter().any(|rule| rule == "4.2").then_some("lease_fencing");
        let required = self.requires.first().map(String::as_str).filter(|name| GUARANTEES.contains(name));
        required.or(fencing)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome { theme, scenario, rules, verdict, .. } = self;
        match verdict {
            Verdict::Passed => write!(f, "passed  {theme}/{scenario}"),
            Verdict::Failed(Failure { step, call, expected, got }) => {
                writeln!(f, "FAILED  {theme}/{scenario}, step {step}: {call}")?;
                writeln!(f, "          expected {expected}")?;
                writeln!(f, "          got      {got}")?;
                write!(f, "          checks   {}", rules.join(", "))
            }
            Verdict::Skipped(missing) => write!(f, "skipped {theme}/{scenario}: it needs {}", missing.join(", ")),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for guarantee in [None].into_iter().chain(GUARANTEES.map(Some)) {
            let part = self.about(guarantee);
            if part.outcomes.is_empty() {
                continue;
            }
            write!(f, "{}: ", guarantee.unwrap_or("every backend"))?;
            part.fmt_counts(f)?;
            writeln!(f)?;
            let mut to_tell = part.outcomes.iter().filter(|outcome| !matches!(outcome.verdict, Verdict::Passed));
            to_tell.try_for_each(|outcome| writeln!(f, "  {outcome}"))?;
        }
        self.fmt_counts(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(scenario: &str, rule: &str, requires: &[&str], verdict: Verdict) -> Outcome {
        Outcome {
            theme: "theme".to_owned(),
            scenario: scenario.to_owned(),
            rules: vec![rule.to_owned(), "3.ack".to_owned()],
            requires: requires.iter().map(|&name| name.to_owned()).collect(),
            verdict,
        }
    }

    #[test]
    fn the_text_goes_by_guarantee_and_tells_what_to_look_at() {
        let failure = Failure {
            step: "3".to_owned(),
            call: "ack {}".to_owned(),
            expected: "success".to_owned(),
            got: "the error stale_lease".to_owned(),
        };
        let missing = vec!["the guarantee replay".to_owned()];
        let report = Report {
            outcomes: vec![
                outcome("again", "4.7", &["replay", "partitions"], Verdict::Skipped(missing)),
                outcome("late", "4.2", &[], Verdict::Failed(failure)),
                outcome("plain", "4.1", &[], Verdict::Passed),
                outcome("fenced", "4.2", &[], Verdict::Passed),
                outcome("spread", "4.2", &["partitions"], Verdict::Passed),
            ],
        };
        let expected = "\
every backend: 1 passed, 0 failed, 0 skipped
lease_fencing: 1 passed, 1 failed, 0 skipped
  FAILED  theme/late, step 3: ack {}
          expected success
          got      the error stale_lease
          checks   4.2, 3.ack
partitions: 1 passed, 0 failed, 0 skipped
replay: 0 passed, 0 failed, 1 skipped
  skipped theme/again: it needs the guarantee replay
3 passed, 1 failed, 1 skipped";
        assert_eq!(report.to_string(), expected);
    }
}
