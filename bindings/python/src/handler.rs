//! Handlers of consumers: what a function is given, and what becomes of what it gives.

use crate::args;
use crate::attached::{detached, in_python};
use crate::codec::Codec;
use crate::errors::does_not_pickle;
use crate::event::Event;
use crate::exit;
use crate::lease::{Batch, Lease};
use crate::settle::text_of;
use crate::wait::{self, Bridge, Signal, Watch};
use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyString};
use rheo_core::{Instance, Interrupt, Outcome};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::Waker;

static MODULE: PyOnceLock<Runtime> = PyOnceLock::new();

struct Runtime {
    /// The class of all outcomes, and the one that is met most.
    outcome: Py<PyAny>,
    ack: Py<PyAny>,
    /// Called with the handler, the names and what it raised or did.
    log_failure: Py<PyAny>,
}

/// Takes what the module needs of the package: the class of outcomes, the usual one, and what logs failures.
#[pyfunction]
pub fn set_runtime(py: Python<'_>, outcome: Py<PyAny>, ack: Py<PyAny>, log_failure: Py<PyAny>) {
    let _ = MODULE.set(py, Runtime { outcome, ack, log_failure });
}

fn runtime(py: Python<'_>) -> PyResult<&'static Runtime> {
    MODULE.get(py).ok_or_else(|| PyRuntimeError::new_err("import rheo, not its native module"))
}

/// The module that starts consumers, when the handler that there may be is one.
pub fn handled<'py>(py: Python<'py>, handler: args::Maybe<'_, 'py>) -> PyResult<Bound<'py, PyModule>> {
    let module = py.import(intern!(py, "rheo._consumer"))?;
    if let Some(handler) = handler {
        module.getattr(intern!(py, "shape"))?.call1((handler,))?;
    }
    Ok(module)
}

/// What the leases of handlers belong to.
pub struct Home {
    pub instance: Instance,
    pub codec: Codec,
}

/// What a handler is given of some leases: the event, or a list of events.
pub fn argument<'py>(
    py: Python<'py>,
    home: &Home,
    leases: &[rheo_core::Lease],
    as_list: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let event = |lease: &rheo_core::Lease| Event::new(lease.event().clone(), &home.codec);
    match leases {
        [lease] if !as_list => Ok(Bound::new(py, event(lease))?.into_any()),
        _ => Ok(PyList::new(py, leases.iter().map(event).collect::<Vec<_>>())?.into_any()),
    }
}

/// The outcomes that something a handler returned stands for, one for each event; and why it is none, to be logged.
pub fn outcomes(given: &Bound<'_, PyAny>, count: usize, as_list: bool, outcomes: &mut Vec<Outcome>) -> Option<String> {
    if given.is_none() {
        outcomes.resize(count, Outcome::Ack);
        return None;
    }
    let wrong = if as_list {
        match listed(given, count, outcomes) {
            Ok(wrong) => wrong,
            Err(error) => Some(reason_of(given.py(), &error)),
        }
    } else {
        match outcome(given) {
            Ok(outcome) => {
                outcomes.push(outcome);
                None
            }
            Err(error) => Some(error),
        }
    };
    if let Some(wrong) = &wrong {
        // Missing ones are failures.
        outcomes.resize(count, Outcome::fail(wrong.clone()));
    }
    wrong
}

/// Takes a list of outcomes; gives the first thing that is wrong with it.
fn listed(given: &Bound<'_, PyAny>, count: usize, outcomes: &mut Vec<Outcome>) -> PyResult<Option<String>> {
    let iterable = if given.is_instance_of::<PyString>() { None } else { given.try_iter().ok() };
    let Some(items) = iterable else {
        return Ok(Some(format!(
            "{}; of {count} events it takes None, or a list of {count} outcomes",
            returned(given)
        )));
    };
    let mut wrong = None;
    // What is too much says nothing of any event.
    for item in items.take(count) {
        match outcome(&item?) {
            Ok(outcome) => outcomes.push(outcome),
            Err(error) => {
                outcomes.push(Outcome::fail(error.clone()));
                wrong.get_or_insert(error);
            }
        }
    }
    let given = outcomes.len();
    if given < count {
        return Ok(Some(format!("the handler returned {given} outcomes for {count} events; it takes one for each")));
    }
    Ok(wrong)
}

fn outcome(given: &Bound<'_, PyAny>) -> Result<Outcome, String> {
    let py = given.py();
    let unknown = || {
        // A coroutine that nobody awaits would complain of it later.
        let _ = given.call_method0(intern!(py, "close"));
        format!("{}; it takes None, rheo.ACK, rheo.RELEASE, rheo.Retry(…) and rheo.Reject(…)", returned(given))
    };
    if given.is_none() {
        return Ok(Outcome::Ack);
    }
    let runtime = runtime(py).map_err(|error| reason_of(py, &error))?;
    if given.is(&runtime.ack) {
        return Ok(Outcome::Ack);
    }
    if !given.is_instance(runtime.outcome.bind(py)).unwrap_or(false) {
        return Err(unknown());
    }
    read(given).map_err(|error| reason_of(py, &error))?.ok_or_else(unknown)
}

fn read(given: &Bound<'_, PyAny>) -> PyResult<Option<Outcome>> {
    let py = given.py();
    let kind = given.getattr(intern!(py, "_kind"))?;
    let reason =
        || PyResult::Ok(text_of(Some(&given.getattr(intern!(py, "reason"))?).filter(|r| !r.is_none())).into_owned());
    Ok(match args::text("_kind", &kind)? {
        "ack" => Some(Outcome::Ack),
        "release" => Some(Outcome::Release),
        "reject" => Some(Outcome::Reject { reason: reason()? }),
        "retry" => {
            let delay = given.getattr(intern!(py, "delay_ms"))?;
            let delay_ms = args::optional_number("delay_ms", Some(&delay).filter(|delay| !delay.is_none()))?;
            Some(Outcome::Retry { reason: reason()?, delay_ms })
        }
        _ => None,
    })
}

fn returned(given: &Bound<'_, PyAny>) -> String {
    let shown = given.repr().map(|text| text.to_string_lossy().chars().take(200).collect::<String>());
    format!("the handler returned {}", shown.unwrap_or_else(|_| given.get_type().to_string()))
}

/// The reason of a delivery whose handler raised this.
pub fn reason_of(py: Python<'_>, error: &PyErr) -> String {
    let value = error.value(py);
    let name = value.get_type().name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
    match value.str().map(|text| text.to_string_lossy().into_owned()) {
        Ok(text) if !text.is_empty() => format!("{name}: {text}"),
        _ => name,
    }
}

/// Logs that a handler failed: with what it raised, or with what is wrong with what it returned.
pub fn log(py: Python<'_>, handler: &Bound<'_, PyAny>, group: &rheo_core::Group, raised: Option<&PyErr>, wrong: &str) {
    let logged = runtime(py).and_then(|runtime| {
        // With its traceback.
        let raised = raised.map(|error| error.clone_ref(py).into_value(py));
        runtime.log_failure.bind(py).call1((handler, group.stream(), group.name(), raised, wrong))
    });
    if let Err(error) = logged {
        error.write_unraisable(py, Some(handler));
    }
}

/// Calls a function from a thread of the library's. Where the interpreter ends that thread by force, which it does to threads that
/// want it at its end (before Python 3.14 by unwinding it, which no Rust code survives), the thread stays here for ever instead:
/// the process is about to end.
pub fn call<'py>(
    function: &Bound<'py, PyAny>,
    event: &Bound<'py, PyAny>,
    context: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    // Of those in the stable interface the one that makes no tuple.
    type Call = unsafe extern "C-unwind" fn(*mut ffi::PyObject, ...) -> *mut ffi::PyObject;
    struct Stay;
    impl Drop for Stay {
        fn drop(&mut self) {
            loop {
                std::thread::park();
            }
        }
    }
    let call: unsafe extern "C" fn(*mut ffi::PyObject, ...) -> *mut ffi::PyObject = ffi::PyObject_CallFunctionObjArgs;
    // SAFETY: the same function, but for what is assumed of how it ends; the black box keeps the compiler from finding out.
    let call: Call = unsafe { std::mem::transmute(std::hint::black_box(call)) };
    let (none, context) = (std::ptr::null_mut::<ffi::PyObject>(), context.map_or(std::ptr::null_mut(), Bound::as_ptr));
    let stay = Stay;
    // SAFETY: objects up to the first null, and this thread holds the interpreter.
    let result = unsafe { call(function.as_ptr(), event.as_ptr(), context, none) };
    std::mem::forget(stay);
    // SAFETY: a new reference, or nothing with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(function.py(), result) }
}

/// A plain function that handles events on the threads of a consumer.
pub struct Handler {
    pub function: Option<Py<PyAny>>,
    pub wants_context: bool,
    pub as_list: bool,
    pub home: Home,
    pub group: rheo_core::Group,
}

impl Drop for Handler {
    fn drop(&mut self) {
        // By whoever has it last, a thread of the library's.
        let (function, codec) = (self.function.take(), self.home.codec.take());
        in_python(|_| drop((function, codec)));
    }
}

impl Handler {
    /// Handles some leases.
    pub fn run(&self, py: Python<'_>, work: &rheo_core::Work<'_>, given: &mut Vec<Outcome>) {
        let _callback = exit::callback(py);
        let Some(function) = &self.function else { return };
        let function = function.bind(py);
        let count = work.leases().len();
        let (raised, wrong) = match self.call(function, work) {
            Ok(returned) => (None, outcomes(&returned, count, self.as_list, given)),
            Err(error) => {
                let reason = reason_of(py, &error);
                given.resize(count, Outcome::fail(reason.clone()));
                (Some(error), Some(reason))
            }
        };
        if let Some(wrong) = wrong {
            log(py, function, &self.group, raised.as_ref(), &wrong);
        }
    }

    fn call<'py>(&self, function: &Bound<'py, PyAny>, work: &rheo_core::Work<'_>) -> PyResult<Bound<'py, PyAny>> {
        let py = function.py();
        if !self.wants_context {
            let event = argument(py, &self.home, work.leases(), self.as_list)?;
            return call(function, &event, None);
        }
        let leases = Batch::new(work.leases().to_vec(), &self.home.instance, &self.home.codec);
        let (first, events) = (leases.at(0), leases.events(py)?);
        let cancel = Bound::new(py, Cancel::new(work.cancel().clone()))?;
        let event = if self.as_list { events.into_any() } else { first.event(py)?.into_any() };
        let context =
            Context { lease: Py::new(py, first)?, leases: Py::new(py, leases)?, cancel: cancel.clone().unbind() };
        let returned = call(function, &event, Some(Bound::new(py, context)?.as_any()));
        cancel.get().end();
        returned
    }
}

/// What a handler with a second parameter is given beside the event: the lease, and the signal to stop.
///
/// The consumer settles by what the handler returns; the lease is here to be looked at.
///
/// Example:
///     >>> done = []
///     >>> def handler(event: rheo.Event, context: rheo.Context) -> None:
///     ...     done.append((event.payload, context.lease.attempt, context.cancel.is_set()))
///     >>> with rheo.open() as db:
///     ...     db.create_stream("orders")
///     ...     db.create_group("orders", "billing")
///     ...     event = db.append("orders", {"total": 3})
///     ...     with db.consumer("orders", "billing", handler) as consumer:
///     ...         while db.lag("orders", "billing").lag:
///     ...             pass
///     >>> done
///     [({'total': 3}, 1, False)]
#[pyclass(frozen, module = "rheo")]
pub struct Context {
    lease: Py<Lease>,
    leases: Py<Batch>,
    cancel: Py<Cancel>,
}

#[pymethods]
impl Context {
    /// The lease of the event; of a batch, that of the first.
    #[getter]
    fn lease<'py>(&self, py: Python<'py>) -> Bound<'py, Lease> {
        self.lease.bind(py).clone()
    }

    /// The leases of all events, a `Batch`.
    #[getter]
    fn leases<'py>(&self, py: Python<'py>) -> Bound<'py, Batch> {
        self.leases.bind(py).clone()
    }

    /// The signal to stop, a `Cancel`.
    #[getter]
    fn cancel<'py>(&self, py: Python<'py>) -> Bound<'py, Cancel> {
        self.cancel.bind(py).clone()
    }

    #[allow(clippy::unused_self)]
    fn __reduce__(&self) -> PyResult<()> {
        Err(does_not_pickle("a handler's context", "send what you need of it"))
    }
}

/// Tells a handler that it is in vain to go on: its lease is lost, it has had the event for `max_lease_ms`, or the consumer was closed
/// before it returned. What the handler says afterwards counts for nothing, or soon will.
///
/// Like a `threading.Event` that only the consumer sets. Once the handler has returned it stays as it is.
#[pyclass(frozen, module = "rheo")]
pub struct Cancel {
    interrupt: Interrupt,
    /// `RUNNING`, or how it was when the handler returned.
    state: AtomicU8,
    /// Fired when the handler has returned.
    over: Interrupt,
}

const RUNNING: u8 = 0;
const ENDED: u8 = 1;
const ENDED_SET: u8 = 2;

impl Cancel {
    pub fn new(interrupt: Interrupt) -> Cancel {
        Cancel { interrupt, state: AtomicU8::new(RUNNING), over: Interrupt::new() }
    }

    /// The handler has returned: the interrupt will serve others.
    pub fn end(&self) {
        let state = if self.interrupt.is_fired() { ENDED_SET } else { ENDED };
        let _ = self.state.compare_exchange(RUNNING, state, Ordering::AcqRel, Ordering::Acquire);
        self.over.fire();
    }
}

#[pymethods]
impl Cancel {
    /// Whether it is in vain to go on.
    fn is_set(&self) -> bool {
        match self.state.load(Ordering::Acquire) {
            RUNNING => self.interrupt.is_fired(),
            state => state == ENDED_SET,
        }
    }

    /// Waits until it is set.
    ///
    /// Args:
    ///     timeout_ms: How long at most, in milliseconds; by default until the handler has returned.
    ///
    /// Returns:
    ///     Whether it is set.
    #[pyo3(signature = (timeout_ms=None))]
    fn wait(&self, py: Python<'_>, timeout_ms: args::Maybe<'_, '_>) -> PyResult<bool> {
        let timeout_ms = wait::timeout("timeout_ms", timeout_ms)?;
        if !self.is_set() {
            detached(py, || {
                wait::for_interrupts([&self.interrupt, &self.over], timeout_ms);
                Ok(())
            })?;
        }
        Ok(self.is_set())
    }

    /// The handler has returned.
    fn _end(&self) {
        self.end();
    }

    /// Whether it will change no more.
    fn _is_over(&self) -> bool {
        self.is_set() || self.state.load(Ordering::Acquire) != RUNNING
    }

    /// A `Watch` that tells `bridge` when it is set or over.
    #[cfg(unix)]
    fn _watch(&self, bridge: &Bound<'_, Bridge>) -> Watch {
        let signal = Arc::new(Signal::new(Some(bridge)));
        let watches = [&self.interrupt, &self.over].map(|each| each.watch(Waker::from(Arc::clone(&signal))));
        Watch::of(signal, watches)
    }

    #[allow(clippy::unused_self)]
    fn __reduce__(&self) -> PyResult<()> {
        Err(does_not_pickle("a handler's signal", "look at it here"))
    }
}
