//! Runs scenarios against a store.

use crate::matching::{difference, shown};
use crate::report::{self, Outcome, Report, Verdict};
use crate::scenario::{Call, Expected, Scenario, Step, Theme};
use crate::surface::{Failure, Leases, Surface, open_options};
use crate::value::Values;
use crate::view;
use rheo_core::{ClockOption, Instance, LeaseToken, OpenOptions, Result};
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long a join waits. Far more than anything takes, and less than the minute that a missed wake-up costs.
const JOIN_DEADLINE: Duration = Duration::from_secs(30);

/// How operations are called: every assertion holds in each way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// Through bound handles instead of by name.
    pub bound: bool,
    /// Settling by token instead of by lease.
    pub by_token: bool,
}

impl Way {
    /// Every way.
    pub const ALL: [Way; 4] = [
        Way { bound: false, by_token: false },
        Way { bound: true, by_token: false },
        Way { bound: false, by_token: true },
        Way { bound: true, by_token: true },
    ];
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let handles = if self.bound { "bound" } else { "by name" };
        let holders = if self.by_token { "by token" } else { "by lease" };
        write!(f, "{handles}, {holders}")
    }
}

/// Opens a store: the first time it is empty, later it is what it was when it was closed.
type OpenStore<'a> = Box<dyn Fn(&OpenOptions) -> Result<Instance> + 'a>;

/// Runs scenarios against one kind of store.
///
/// ```
/// use rheo_conformance::{Runner, themes};
///
/// let runner = Runner::new(|| |options: &rheo_core::OpenOptions| rheo_core::open("memory:", options.clone()));
/// let lifecycle: Vec<_> = themes().into_iter().filter(|theme| theme.theme == "lifecycle").collect();
/// let report = runner.run(&lifecycle);
/// assert_eq!(report.failed(), 0, "{report}");
/// ```
pub struct Runner<'a> {
    stores: Box<dyn Fn() -> OpenStore<'a> + 'a>,
    offers: BTreeSet<String>,
    way: Way,
    cuts: bool,
}

impl<'a> Runner<'a> {
    /// A runner that takes a new, empty store from `stores` for each scenario. A store is a function that opens it;
    /// what is durable gives back the same store when it is called again.
    pub fn new<S>(stores: impl Fn() -> S + 'a) -> Runner<'a>
    where
        S: Fn(&OpenOptions) -> Result<Instance> + 'a,
    {
        Runner {
            stores: Box::new(move || Box::new(stores())),
            offers: BTreeSet::new(),
            way: Way::default(),
            cuts: false,
        }
    }

    /// Says that the store or its backend offers something that scenarios may need, such as `flaky` or `receipts`.
    #[must_use]
    pub fn offering(mut self, facility: &str) -> Runner<'a> {
        self.offers.insert(facility.to_owned());
        self
    }

    /// Calls in this way.
    #[must_use]
    pub fn way(mut self, way: Way) -> Runner<'a> {
        self.way = way;
        self
    }

    /// Cuts scenarios that allow it: before each step the instance is closed and the store opened again, unless a
    /// lease is held or a step runs in the background. For what is `durable`.
    #[must_use]
    pub fn cutting(mut self) -> Runner<'a> {
        self.cuts = true;
        self
    }

    /// Runs every scenario of these themes, and reports on each.
    pub fn run(&self, themes: &[Theme]) -> Report {
        let outcome = |theme: &Theme, scenario: &Scenario| Outcome {
            theme: theme.theme.clone(),
            scenario: scenario.name.clone(),
            rules: scenario.rule.clone(),
            requires: scenario.requires.clone(),
            verdict: self.run_scenario(scenario),
        };
        let of_theme = |theme: &'_ Theme| -> Vec<Outcome> {
            theme.scenarios.iter().map(|scenario| outcome(theme, scenario)).collect()
        };
        Report { outcomes: themes.iter().flat_map(of_theme).collect() }
    }

    /// Runs one scenario.
    pub fn run_scenario(&self, scenario: &Scenario) -> Verdict {
        let offered = |need: &str| self.offers.contains(need) || need == "bound" && self.way.bound;
        let missing: Vec<String> = scenario.needs.iter().filter(|need| !offered(need)).cloned().collect();
        if !missing.is_empty() {
            return Verdict::Skipped(missing);
        }
        let opening = || Value::Object(scenario.options.clone()).to_string();
        let mut run = match Run::begin(self, scenario) {
            Ok(run) => run,
            Err(got) => return failed("0", format!("open {}", opening()), "success".into(), got),
        };
        let capabilities = run.instances[UNDER_TEST].instance.capabilities();
        let mut missing = Vec::new();
        for name in &scenario.requires {
            match capabilities.guarantee(name) {
                Some(true) => {}
                Some(false) => missing.push(format!("the guarantee {name}")),
                None => return failed("0", "requires".into(), "a guarantee".into(), format!("{name:?}")),
            }
        }
        if !missing.is_empty() {
            return Verdict::Skipped(missing);
        }
        match run.steps(&scenario.steps, "", None) {
            Ok(()) => Verdict::Passed,
            Err(failure) => Verdict::Failed(failure),
        }
    }
}

fn failed(step: &str, call: String, expected: String, got: String) -> Verdict {
    Verdict::Failed(report::Failure { step: step.to_owned(), call, expected, got })
}

/// The name under which a run keeps the instance under test.
const UNDER_TEST: &str = "";

/// What came of a call.
type Answer = Result<Value, Failure>;

/// What a call is made on, its arguments, and the call as text.
type Prepared = (Arc<Surface>, Map<String, Value>, String);

/// A call that runs in a thread of its own.
struct Background {
    call: String,
    answer: Receiver<Answer>,
}

/// One run of a scenario.
struct Run<'r, 'a> {
    runner: &'r Runner<'a>,
    scenario: &'r Scenario,
    /// How the store under test is opened again.
    open: OpenStore<'a>,
    options: OpenOptions,
    instances: HashMap<String, Arc<Surface>>,
    /// Instances that no step can name, and the stores of further ones, kept to the end.
    unnamed: Vec<Instance>,
    further: Vec<OpenStore<'a>>,
    leases: Leases,
    saved: HashMap<String, Value>,
    background: HashMap<String, Background>,
    /// The lease ids that a fetch gave and that no settle has ended.
    held: BTreeSet<String>,
    unique: String,
}

impl Drop for Run<'_, '_> {
    fn drop(&mut self) {
        for surface in self.instances.values() {
            surface.running.close();
        }
        let named = self.instances.values().map(|surface| &surface.instance);
        for instance in named.chain(&self.unnamed) {
            // The scenario is over; whether closing works is for scenarios of their own.
            let _ = instance.close();
        }
    }
}

impl<'r, 'a> Run<'r, 'a> {
    fn begin(runner: &'r Runner<'a>, scenario: &'r Scenario) -> Result<Run<'r, 'a>, String> {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        let unique = format!("{}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed));
        let values = Values { saved: &HashMap::new(), index: None, unique: &unique };
        let fields = values.resolve_fields(&scenario.options)?;
        let options = open_options(&fields).map_err(|failure| described(&failure))?;
        let open = (runner.stores)();
        let instance = open(&options).map_err(|error| error.to_string())?;
        let leases = Leases::default();
        let surface = Surface::new(instance, runner.way, Arc::clone(&leases));
        Ok(Run {
            runner,
            scenario,
            open,
            options,
            instances: HashMap::from([(UNDER_TEST.to_owned(), Arc::new(surface))]),
            unnamed: Vec::new(),
            further: Vec::new(),
            leases,
            saved: HashMap::new(),
            background: HashMap::new(),
            held: BTreeSet::new(),
            unique,
        })
    }

    fn steps(&mut self, steps: &[Step], within: &str, index: Option<u64>) -> Result<(), report::Failure> {
        for (step, number) in steps.iter().zip(1..) {
            let place = match index {
                None => format!("{number}"),
                Some(round) => format!("{within}.{number} (round {})", round + 1),
            };
            self.step(step, &place, index)?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step, place: &str, index: Option<u64>) -> Result<(), report::Failure> {
        let at = |Mismatch { call, expected, got }| report::Failure { step: place.to_owned(), call, expected, got };
        self.cut().map_err(at)?;
        let (made, wanted) = match step {
            Step::Call(call, wanted) => (self.call(call, index), wanted),
            Step::Join { name, meanwhile, wanted } => (self.join(name, meanwhile.as_ref(), index), wanted),
            Step::Start(call, name) => return self.start(call, name, index).map_err(at),
            Step::Repeat { count, steps } => {
                return (0..*count).try_for_each(|round| self.steps(steps, place, Some(round)));
            }
        };
        let (call, answer) = made.map_err(at)?;
        let result = self.compare(&call, answer, &wanted.expected, index).map_err(at)?;
        if let Some(name) = &wanted.save {
            self.saved.insert(name.clone(), result);
        }
        Ok(())
    }

    /// Cuts the scenario where that is asked for and allowed.
    fn cut(&mut self) -> Result<(), Mismatch> {
        let instance = &self.instances[UNDER_TEST].instance;
        let quiet = self.held.is_empty() && self.background.is_empty() && !instance.is_closed();
        if !self.runner.cuts || !self.scenario.reopen || !quiet {
            return Ok(());
        }
        let reopened = || {
            let mut options = self.options.clone();
            if matches!(options.clock, ClockOption::Manual { .. }) {
                options.clock = ClockOption::Manual { start: Some(instance.now()?) };
            }
            instance.close()?;
            (self.open)(&options)
        };
        let instance = reopened().map_err(|error| Mismatch {
            call: "a cut by reopen".into(),
            expected: "success".into(),
            got: error.to_string(),
        })?;
        let surface = Surface::new(instance, self.runner.way, Arc::clone(&self.leases));
        self.instances.insert(UNDER_TEST.to_owned(), Arc::new(surface));
        Ok(())
    }

    fn values(&self, index: Option<u64>) -> Values<'_> {
        Values { saved: &self.saved, index, unique: &self.unique }
    }

    /// The instance of a call, its arguments with everything put in, and the call as text.
    fn prepare(&self, call: &Call, index: Option<u64>) -> Result<Prepared, Mismatch> {
        let op = &call.op;
        let args = self.values(index).resolve_fields(&call.args).map_err(|error| Mismatch::scenario(op, error))?;
        let on = call.on.as_deref().unwrap_or(UNDER_TEST);
        let surface =
            self.instances.get(on).ok_or_else(|| Mismatch::scenario(op, format!("no instance is called {on:?}")))?;
        let text = format!("{op} {}", shown(&args));
        Ok((Arc::clone(surface), args, text))
    }

    fn call(&mut self, call: &Call, index: Option<u64>) -> Result<(String, Answer), Mismatch> {
        let (surface, args, text) = self.prepare(call, index)?;
        let kept_as = call.kept_as.as_deref();
        let answer = match call.op.as_str() {
            "open" => self.open_another(args, kept_as),
            "get_instance" => self.get_instance(&args, kept_as),
            op => {
                let given = lease_ids(&args);
                let answer = caught(&surface, op, kept_as, args);
                self.note_leases(op, &given, &answer);
                answer
            }
        };
        Ok((text, answer))
    }

    fn start(&mut self, call: &Call, name: &str, index: Option<u64>) -> Result<(), Mismatch> {
        let (surface, args, text) = self.prepare(call, index)?;
        let (sender, answer) = channel();
        let op = call.op.clone();
        // The thread ends with its call; once the run is over, nobody listens.
        thread::spawn(move || drop(sender.send(caught(&surface, &op, None, args))));
        self.background.insert(name.to_owned(), Background { call: text, answer });
        Ok(())
    }

    fn join(&mut self, name: &str, meanwhile: Option<&Call>, index: Option<u64>) -> Result<(String, Answer), Mismatch> {
        let Some(Background { call, answer }) = self.background.remove(name) else {
            return Err(Mismatch::scenario("join", format!("nothing was started as {name:?}")));
        };
        let deadline = Instant::now() + JOIN_DEADLINE;
        let patience = if meanwhile.is_some() { Duration::from_millis(1) } else { JOIN_DEADLINE };
        loop {
            match answer.recv_timeout(patience) {
                Ok(answer) => {
                    self.note_leases("fetch", &[], &answer);
                    return Ok((call, answer));
                }
                Err(_) if Instant::now() >= deadline => {
                    let (expected, got) = ("an answer".into(), "none within 30 seconds".into());
                    return Err(Mismatch { call, expected, got });
                }
                Err(_) => {
                    let Some(meanwhile) = meanwhile else { continue };
                    let (text, answer) = self.call(meanwhile, index)?;
                    self.compare(&text, answer, &Expected::Success, index)?;
                }
            }
        }
    }

    fn open_another(&mut self, mut args: Map<String, Value>, kept_as: Option<&str>) -> Answer {
        let url = match args.remove("url") {
            None => None,
            Some(Value::String(url)) => Some(url),
            Some(other) => return Err(format!("url is {other}, which is not text").into()),
        };
        let options = open_options(&args)?;
        let instance = match url {
            Some(url) => rheo_core::open(&url, options)?,
            None => {
                self.further.push((self.runner.stores)());
                self.further[self.further.len() - 1](&options)?
            }
        };
        self.keep(instance, kept_as);
        Ok(Value::Null)
    }

    fn get_instance(&mut self, args: &Map<String, Value>, kept_as: Option<&str>) -> Answer {
        let name = args.get("name").and_then(Value::as_str).ok_or("get_instance takes a name")?;
        let Some(instance) = rheo_core::get(name) else { return Ok(Value::Null) };
        let view = view::instance(&instance);
        self.keep(instance, kept_as);
        Ok(view)
    }

    fn keep(&mut self, instance: Instance, kept_as: Option<&str>) {
        match kept_as {
            Some(name) => {
                let surface = Surface::new(instance, self.runner.way, Arc::clone(&self.leases));
                self.instances.insert(name.to_owned(), Arc::new(surface));
            }
            None => self.unnamed.push(instance),
        }
    }

    /// Keeps account of the leases that the scenario holds: which were given to the call, and what came of it.
    fn note_leases(&mut self, op: &str, given: &[String], answer: &Answer) {
        let Ok(answer) = answer else { return };
        match op {
            "fetch" => self.held.extend(answer.as_array().into_iter().flatten().filter_map(lease_id)),
            "ack" | "retry" | "reject" | "release" => self.held.retain(|held| !given.contains(held)),
            "ack_many" | "retry_many" | "reject_many" | "release_many" => {
                let results = answer.as_array().into_iter().flatten();
                for (id, _) in given.iter().zip(results).filter(|(_, result)| result.is_null()) {
                    self.held.remove(id);
                }
            }
            _ => {}
        }
    }

    /// Compares what came with what is expected, and gives the result back.
    fn compare(&self, call: &str, answer: Answer, expected: &Expected, index: Option<u64>) -> Result<Value, Mismatch> {
        let resolve = |value| self.values(index).resolve(value).map_err(|error| Mismatch::scenario(call, error));
        let mismatch = |expected: String, got: String| Mismatch { call: call.to_owned(), expected, got };
        match (expected, answer) {
            (_, Err(Failure::Scenario(text))) => Err(Mismatch::scenario(call, text)),
            (_, Err(Failure::Panic(text))) => Err(mismatch("no panic".into(), format!("a panic: {text}"))),
            (Expected::Success, Ok(result)) => Ok(result),
            (Expected::Result(wanted), Ok(result)) => {
                let wanted = resolve(wanted)?;
                match difference(&wanted, &result) {
                    None => Ok(result),
                    Some(difference) => Err(mismatch(shown(&wanted), format!("{} ({difference})", shown(&result)))),
                }
            }
            (Expected::Error(wanted), Err(Failure::Error(error))) => {
                let wanted = match resolve(wanted)? {
                    Value::String(code) => Value::Object(Map::from_iter([("code".to_owned(), Value::String(code))])),
                    wanted => wanted,
                };
                let view = view::error(&error);
                match difference(&wanted, &view) {
                    None => Ok(view),
                    Some(difference) => Err(mismatch(shown(&wanted), format!("{error} ({difference})"))),
                }
            }
            (Expected::Error(wanted), Ok(result)) => {
                Err(mismatch(format!("the error {wanted}"), format!("success: {}", shown(&result))))
            }
            (Expected::Result(wanted), Err(Failure::Error(error))) => {
                Err(mismatch(shown(wanted), format!("the error {error}")))
            }
            (Expected::Success, Err(Failure::Error(error))) => {
                Err(mismatch("success".into(), format!("the error {error}")))
            }
        }
    }
}

/// Calls an operation. A panic of the library fails the step that met it, and the other scenarios still run.
fn caught(surface: &Surface, op: &str, kept_as: Option<&str>, args: Map<String, Value>) -> Answer {
    catch_unwind(AssertUnwindSafe(|| surface.call(op, kept_as, args))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref().copied());
        Err(Failure::Panic(text.unwrap_or("without a text").to_owned()))
    })
}

/// The id of a lease, given as itself or as its token.
fn lease_id(holder: &Value) -> Option<String> {
    match holder {
        Value::String(token) => token.parse().ok().map(|token: LeaseToken| token.lease_id().to_string()),
        lease => lease["lease_id"].as_str().map(str::to_owned),
    }
}

/// The ids of the leases in a settle's arguments, in order; empty text for what is none.
fn lease_ids(args: &Map<String, Value>) -> Vec<String> {
    let one = args.get("lease").into_iter();
    let many = args.get("leases").and_then(Value::as_array).into_iter().flatten();
    one.chain(many).map(|holder| lease_id(holder).unwrap_or_default()).collect()
}

fn described(failure: &Failure) -> String {
    match failure {
        Failure::Error(error) => error.to_string(),
        Failure::Scenario(text) | Failure::Panic(text) => text.clone(),
    }
}

/// A step that did not do what it should.
struct Mismatch {
    call: String,
    expected: String,
    got: String,
}

impl Mismatch {
    /// A mistake in the scenario itself.
    fn scenario(call: &str, text: impl Into<String>) -> Mismatch {
        Mismatch { call: call.to_owned(), expected: "a well-formed step".into(), got: text.into() }
    }
}
