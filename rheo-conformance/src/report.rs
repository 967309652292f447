//! What became of every scenario.

use std::fmt;

/// The outcomes of a run, in the order of the scenarios. Its text ends with the counts.
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
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Outcome { theme, scenario, verdict } in &self.outcomes {
            match verdict {
                Verdict::Passed => {}
                Verdict::Failed(Failure { step, call, expected, got }) => {
                    writeln!(f, "FAILED  {theme}/{scenario}, step {step}: {call}")?;
                    writeln!(f, "        expected {expected}")?;
                    writeln!(f, "        got      {got}")?;
                }
                Verdict::Skipped(missing) => {
                    writeln!(f, "skipped {theme}/{scenario}: it needs {}", missing.join(", "))?;
                }
            }
        }
        write!(f, "{} passed, {} failed, {} skipped", self.passed(), self.failed(), self.skipped())
    }
}
