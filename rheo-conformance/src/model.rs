//! The model test: random operations on an instance and on a deliberately simple reference, compared after every step.
//!
//! A run is cut into episodes, each on a fresh instance with a manual clock. After each step all answers and all that
//! the two know must agree: no confirmed append is lost or altered, at most one lease per event and group is live, the
//! frontier is the longest settled prefix, attempts never fall (release, replay and reset aside), lag is head −
//! frontier, and counts, dead letters, reads and queries are the reference's. Across partitions a fetch may choose;
//! there it is checked that it chose fairly and, within a partition, rightly.
//!
//! A durable store is closed, or left by a process that ends, and opened again: but for leases, all is as before. Writes
//! of it fail: the operation says so, and nothing at all has changed.
//!
//! When they differ, the steps that lead there are cut down to few and printed, with the seed that leads there again.
//!
//! - `step`: the steps, as values
//! - `generate`: which step comes next
//! - `reference`, `matching`: the contract in the plainest form
//! - `compare`: both side by side
//! - `promises`: what must hold whatever the reference says

mod compare;
mod generate;
mod matching;
mod promises;
mod random;
mod reference;
mod step;

pub use random::Random;

use compare::Pair;
use generate::Generator;
use rheo_core::{Instance, OpenOptions};
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use step::Step;

/// How many steps an episode has at most: enough for retries, replays and trims to meet, few enough to cut down.
const EPISODE: u64 = 2_000;

/// How many steps may be taken to cut a failure down.
const SHRINKING: usize = 200_000;

/// A step and its number in the episode, which its leases are named by.
type Numbered = (u64, Step);

/// A store that is opened, and that may be opened again.
pub trait Store {
    /// Opens it: empty the first time, later with what was left.
    ///
    /// # Errors
    /// As [`rheo_core::open`].
    fn open(&mut self, options: OpenOptions) -> rheo_core::Result<Instance>;

    /// What a durable store can be made to suffer; nothing for others, which are opened once.
    fn durable(&mut self) -> Option<&mut dyn Durable> {
        None
    }
}

/// What is done to a durable store. Leases end with the open that granted them; everything else stays.
pub trait Durable {
    /// Leaves of the store what the end of the process would at this moment, to be opened next. The instance that is
    /// open does it no harm any more.
    fn crash(&mut self);

    /// Makes the next write fail, once and in such a way that nothing of it is left, or takes that back.
    fn fail_next_write(&mut self, fails: bool);

    /// Whether that write has come since, and failed.
    fn write_failed(&self) -> bool;
}

impl<F: FnMut(OpenOptions) -> rheo_core::Result<Instance>> Store for F {
    fn open(&mut self, options: OpenOptions) -> rheo_core::Result<Instance> {
        self(options)
    }
}

/// Makes a new, empty store.
pub type NewStore<'a> = dyn Fn() -> Box<dyn Store + 'a> + 'a;

/// Takes `steps` random steps on instances from `open`, which gives an empty one each time it is called. The backend
/// must answer every inspection, and has to open with the options given: a manual clock and the default limits.
///
/// The first episode goes by `seed`, each further one by the next number.
///
/// # Errors
/// The first step at which instance and reference differ.
pub fn run(
    open: &dyn Fn(OpenOptions) -> rheo_core::Result<Instance>,
    seed: u64,
    steps: u64,
) -> Result<Summary, Divergence> {
    run_on(&|| Box::new(open), seed, steps)
}

/// The same on stores from `new_store`. Those that are durable are also closed, crash and are opened again, and their
/// writes fail now and then.
///
/// # Errors
/// As [`run`].
pub fn run_on(new_store: &NewStore<'_>, seed: u64, steps: u64) -> Result<Summary, Divergence> {
    let mut summary = Summary::default();
    for (episode, begin) in (0..steps).step_by(EPISODE as usize).enumerate() {
        let seed = seed.wrapping_add(episode as u64);
        run_episode(new_store, seed, EPISODE.min(steps - begin), &mut summary)?;
    }
    Ok(summary)
}

fn run_episode(new_store: &NewStore<'_>, seed: u64, steps: u64, summary: &mut Summary) -> Result<(), Divergence> {
    let mut generator = Generator::new(seed);
    let mut history = Vec::new();
    let failed = |what, history: Vec<Numbered>| Divergence::new(new_store, seed, what, history);
    let mut pair = Pair::open(new_store()).map_err(|wrong| failed(wrong.to_string(), Vec::new()))?;
    for number in 1..=steps {
        let step = generator.step(&pair);
        history.push((number, step));
        let (_, step) = &history[history.len() - 1];
        match take(&mut pair, number, step) {
            Ok(effective) => summary.count(step, effective),
            Err(what) => return Err(failed(what, history)),
        }
    }
    summary.count_failed_writes(pair.failed_writes);
    Ok(())
}

/// A panic is a finding like any other, and needs its seed as much.
fn take(pair: &mut Pair<'_>, number: u64, step: &Step) -> Result<bool, String> {
    match catch_unwind(AssertUnwindSafe(|| pair.take(number, step))) {
        Ok(verdict) => verdict.map_err(|wrong| wrong.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            Err(format!("panicked: {}", text.unwrap_or("with no text")))
        }
    }
}

/// Takes these steps on a fresh instance. Returns at which one it fails, and how.
fn retake(new_store: &NewStore<'_>, steps: &[Numbered]) -> Option<(usize, String)> {
    let mut pair = match Pair::open(new_store()) {
        Ok(pair) => pair,
        Err(wrong) => return Some((0, wrong.to_string())),
    };
    steps.iter().enumerate().find_map(|(index, (number, step))| Some((index, take(&mut pair, *number, step).err()?)))
}

/// What a run did.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// By kind of step: how many there were, and how many of them changed or gave something.
    kinds: BTreeMap<&'static str, (u64, u64)>,
}

impl Summary {
    fn count(&mut self, step: &Step, was_effective: bool) {
        let (taken, effective) = self.kinds.entry(step.kind()).or_default();
        *taken += 1;
        *effective += u64::from(was_effective);
    }

    /// What makes writes fail has its effect later.
    fn count_failed_writes(&mut self, count: u64) {
        if count > 0 {
            self.kinds.entry(Step::FailNextWrite.kind()).or_default().1 += count;
        }
    }

    /// The operations that took part, each with how often it was called and how often it changed or gave something.
    pub fn operations(&self) -> impl Iterator<Item = (&'static str, u64, u64)> {
        self.kinds.iter().map(|(kind, (taken, effective))| (*kind, *taken, *effective))
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps: u64 = self.operations().map(|(_, taken, _)| taken).sum();
        write!(f, "{steps} steps (effective/all):")?;
        self.operations().try_for_each(|(kind, taken, effective)| write!(f, " {kind} {effective}/{taken}"))
    }
}

/// Where instance and reference differ, and how to get there.
#[derive(Clone)]
pub struct Divergence {
    seed: u64,
    /// What differed in the run.
    what: String,
    taken: usize,
    /// The steps that are left, and what differs after them; nothing when taking the steps again went well.
    shrunk: Option<(Vec<Numbered>, String)>,
    /// The last steps of the run.
    last: Vec<Numbered>,
}

impl Divergence {
    fn new(new_store: &NewStore<'_>, seed: u64, what: String, history: Vec<Numbered>) -> Divergence {
        let last = history[history.len().saturating_sub(10)..].to_vec();
        Divergence { seed, what, taken: history.len(), shrunk: shrink(new_store, history), last }
    }

    /// The seed of the episode, with which it is the first of a run.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The number of the step at which it showed.
    pub fn step(&self) -> usize {
        self.taken
    }

    /// How many steps are enough to show it; nothing when it did not show again.
    pub fn shrunk_to(&self) -> Option<usize> {
        self.shrunk.as_ref().map(|(steps, _)| steps.len())
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Divergence { seed, what, taken, shrunk, last } = self;
        writeln!(f, "seed {seed}, step {taken}: {what}")?;
        let list = |f: &mut fmt::Formatter<'_>, steps: &[Numbered]| {
            steps.iter().try_for_each(|(number, step)| writeln!(f, "  {number:4} {step:?}"))
        };
        match shrunk {
            Some((steps, what)) => {
                writeln!(f, "These {} steps are enough:", steps.len())?;
                list(f, steps)?;
                writeln!(f, "after which: {what}")?;
            }
            None => {
                writeln!(f, "The same steps, taken again, went well. The last were:")?;
                list(f, last)?;
            }
        }
        write!(f, "To run it again: RHEO_MODEL_SEED={seed} RHEO_MODEL_STEPS={taken}")
    }
}

impl fmt::Debug for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Divergence {}

/// Leaves out steps, in halves, quarters and so on down to single ones, and then parts of steps, while what is left
/// still fails.
fn shrink(new_store: &NewStore<'_>, steps: Vec<Numbered>) -> Option<(Vec<Numbered>, String)> {
    let (failing, what) = retake(new_store, &steps)?;
    let mut shrinking = Shrinking { new_store, steps, what, effort: SHRINKING };
    shrinking.steps.truncate(failing + 1);
    let mut piece = shrinking.steps.len().next_power_of_two() / 2;
    while piece > 0 {
        let shorter = shrinking.without_pieces(piece);
        // Single steps are tried again until none can go.
        if piece > 1 || !shorter {
            piece /= 2;
        }
    }
    while shrinking.with_a_simpler_step() {}
    Some((shrinking.steps, shrinking.what))
}

struct Shrinking<'s, 'a> {
    new_store: &'s NewStore<'a>,
    /// Steps that fail at the last of them.
    steps: Vec<Numbered>,
    /// How they fail.
    what: String,
    /// How many steps may still be taken.
    effort: usize,
}

impl Shrinking<'_, '_> {
    /// Goes on with these steps, if they fail too.
    fn accept(&mut self, mut steps: Vec<Numbered>) -> bool {
        if steps.len() > self.effort {
            self.effort = 0;
            return false;
        }
        self.effort -= steps.len();
        let Some((failing, what)) = retake(self.new_store, &steps) else { return false };
        steps.truncate(failing + 1);
        (self.steps, self.what) = (steps, what);
        true
    }

    /// Leaves out whatever pieces of this many steps can go, the last first, and says whether any could.
    fn without_pieces(&mut self, piece: usize) -> bool {
        let mut shorter = false;
        let mut end = self.steps.len();
        while end > 0 {
            let begin = end.saturating_sub(piece);
            shorter |= self.accept([&self.steps[..begin], &self.steps[end..]].concat());
            end = begin.min(self.steps.len());
        }
        shorter
    }

    /// Takes something out of a single step, if there is one from which something can go.
    fn with_a_simpler_step(&mut self) -> bool {
        (0..self.steps.len()).any(|index| {
            let (number, step) = self.steps[index].clone();
            step.simpler().into_iter().any(|step| {
                let mut steps = self.steps.clone();
                steps[index] = (number, step);
                self.accept(steps)
            })
        })
    }
}
