//! The scenario files as values. `tests/conformance/README.md` says what each part means.

use serde::Deserialize;
use serde_json::{Map, Value};

/// The scenario files of this release: name and text.
const FILES: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

/// One file: the scenarios of one theme.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Theme {
    /// The theme's name, which is the file's.
    pub theme: String,
    /// What it covers, in a sentence.
    pub about: String,
    /// The scenarios, in the file's order.
    pub scenarios: Vec<Scenario>,
}

/// One scenario: steps that begin with an empty store.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Unique among all scenarios.
    pub name: String,
    /// What of the contract it checks.
    pub rule: Vec<String>,
    /// The guarantees without which it makes no sense.
    #[serde(default)]
    pub requires: Vec<String>,
    /// What the runner, the surface or the store must offer.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Whether it may be cut by a reopen.
    #[serde(default = "yes")]
    pub reopen: bool,
    /// What the instance is opened with, beside the runner's own.
    #[serde(default)]
    pub options: Map<String, Value>,
    /// What is done, in order.
    pub steps: Vec<Step>,
}

fn yes() -> bool {
    true
}

/// One step of a scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "StepText")]
pub enum Step {
    /// A call.
    Call(Call, Wanted),
    /// A call in a thread of its own, kept under this name.
    Start(Call, String),
    /// Waits for the call of that name; `meanwhile` is made again and again until it has ended.
    Join {
        /// The name it was started under.
        name: String,
        /// What is called until then.
        meanwhile: Option<Call>,
        /// What must have come of it.
        wanted: Wanted,
    },
    /// Steps that are done several times.
    Repeat {
        /// How often.
        count: u64,
        /// The steps.
        steps: Vec<Step>,
    },
}

/// An operation and its arguments.
#[derive(Clone, Debug)]
pub struct Call {
    /// The contract's name of the operation.
    pub op: String,
    /// The arguments, with references and generated values in them.
    pub args: Map<String, Value>,
    /// The instance it is called on; the one under test when missing.
    pub on: Option<String>,
    /// Under which name it is kept: an opened instance, a producer, a consumer.
    pub kept_as: Option<String>,
}

/// What must come of a call, and whether the result is kept.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// What must come of it.
    pub expected: Expected,
    /// Under which name the result is kept.
    pub save: Option<String>,
}

/// What must come of a call.
#[derive(Clone, Debug)]
pub enum Expected {
    /// Anything but an error.
    Success,
    /// A result that matches.
    Result(Value),
    /// An error that matches.
    Error(Value),
}

/// A step as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepText {
    op: Option<String>,
    #[serde(default)]
    args: Map<String, Value>,
    on: Option<String>,
    r#as: Option<String>,
    start: Option<CallText>,
    join: Option<String>,
    meanwhile: Option<CallText>,
    repeat: Option<u64>,
    steps: Option<Vec<Step>>,
    save: Option<String>,
    #[serde(default, deserialize_with = "present")]
    expect: Option<Value>,
    expect_error: Option<Value>,
}

/// A call inside another step.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallText {
    op: String,
    #[serde(default)]
    args: Map<String, Value>,
    on: Option<String>,
}

/// `"expect": null` expects nothing; that is not the same as no `expect`.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl From<CallText> for Call {
    fn from(text: CallText) -> Call {
        Call { op: text.op, args: text.args, on: text.on, kept_as: None }
    }
}

impl TryFrom<StepText> for Step {
    type Error = String;

    fn try_from(text: StepText) -> Result<Step, String> {
        let expected = match (text.expect, text.expect_error) {
            (None, None) => Expected::Success,
            (Some(result), None) => Expected::Result(result),
            (None, Some(error)) => Expected::Error(error),
            (Some(_), Some(_)) => return Err("a step has expect or expect_error, not both".into()),
        };
        let wanted = Wanted { expected, save: text.save };
        let unused = wanted.save.is_none() && matches!(wanted.expected, Expected::Success);
        match (text.op, text.start, text.join, text.repeat, text.meanwhile, text.steps) {
            (Some(op), None, None, None, None, None) => {
                Ok(Step::Call(Call { op, args: text.args, on: text.on, kept_as: text.r#as }, wanted))
            }
            (None, Some(call), None, None, None, None) if unused => {
                Ok(Step::Start(call.into(), text.r#as.ok_or("start needs a name: as")?))
            }
            (None, None, Some(name), None, meanwhile, None) => {
                Ok(Step::Join { name, meanwhile: meanwhile.map(Call::from), wanted })
            }
            (None, None, None, Some(count), None, Some(steps)) if unused => Ok(Step::Repeat { count, steps }),
            _ => Err("a step is one call, start, join or repeat, with what belongs to it".into()),
        }
    }
}

impl Step {
    /// The operations that the step calls.
    pub fn operations(&self) -> Vec<&str> {
        match self {
            Step::Call(call, _) | Step::Start(call, _) => vec![&call.op],
            Step::Join { meanwhile, .. } => meanwhile.iter().map(|call| call.op.as_str()).collect(),
            Step::Repeat { steps, .. } => steps.iter().flat_map(Step::operations).collect(),
        }
    }
}

impl Theme {
    /// Reads a theme from the text of a file.
    ///
    /// # Errors
    /// A text that says where the file is wrong.
    pub fn from_json(text: &str) -> Result<Theme, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }
}

/// The themes of this release, by name.
///
/// # Panics
/// When an embedded file is malformed, which the crate's own tests rule out.
pub fn themes() -> Vec<Theme> {
    let read = |&(file, text): &(&str, &str)| {
        let theme = Theme::from_json(text).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(file.strip_suffix(".json"), Some(theme.theme.as_str()), "a theme has the name of its file");
        theme
    };
    FILES.iter().map(read).collect()
}
