//! Waiting for work: a thread that waits, and an event loop that watches.

use crate::args::{self, Maybe};
use crate::attached::{attached, detached};
use crate::codec::Codec;
use crate::errors::raised;
use crate::exit;
use crate::lease::Batch;
use pyo3::intern;
use pyo3::prelude::*;
use rheo::handle::{OwnedFetchOptions, wait};
use rheo_core::{ClockOption, Drain, Error, ErrorCode, Group, Instance, Interrupt, limits};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

/// What a fetch that does not wait says of when to look again.
pub type Due = rheo_core::Result<Option<Duration>>;

/// Fetches; when there is nothing and the caller waits, without the interpreter.
///
/// On the main thread the wait looks every 100 ms whether a signal came (Ctrl-C). Other threads are not given signals, and
/// wait in one piece.
#[inline]
pub fn fetch(
    py: Python<'_>,
    instance: &Instance,
    codec: &Codec,
    options: &OwnedFetchOptions,
    fetch_now: impl FnOnce(&rheo_core::FetchOptions<'_>, &mut Vec<rheo_core::Lease>) -> Due + Send,
    group: impl FnOnce() -> rheo_core::Result<Group>,
) -> PyResult<Batch> {
    let leases = attached(py, || {
        let mut leases = Vec::new();
        fetch_now(&options.as_options(), &mut leases)?;
        Ok(leases)
    })?;
    if !leases.is_empty() || options.wait_ms == 0 || options.as_options().asks_for_nothing() {
        return Ok(Batch::new(leases, instance, codec));
    }
    let group = group().map_err(|error| raised(py, &error))?;
    let leases = wait_and_fetch(py, instance, &group, options)?;
    Ok(Batch::new(leases, instance, codec))
}

#[cold]
fn wait_and_fetch(
    py: Python<'_>,
    instance: &Instance,
    group: &Group,
    options: &OwnedFetchOptions,
) -> PyResult<Vec<rheo_core::Lease>> {
    let is_main = is_main_thread(py)?;
    let (interrupt, wait_ms) = exit::interrupt(options.wait_ms);
    let options = rheo_core::FetchOptions { interrupt: Some(&interrupt), wait_ms, ..options.as_options() };
    let mut signal = None;
    let waited = {
        let signal = &mut signal;
        detached(py, move || {
            let mut leases = Vec::new();
            if !is_main {
                group.fetch_into(&options, &mut leases)?;
                return Ok(leases);
            }
            let mut check = || {
                Python::attach(|py| py.check_signals()).map_err(|raised| {
                    *signal = Some(raised);
                    Error::new(ErrorCode::Timeout, "a signal ended the wait")
                })
            };
            wait::fetch(instance, group, &options, &mut leases, &mut check)?;
            Ok(leases)
        })
    };
    match signal {
        Some(signal) => Err(signal),
        None => waited,
    }
}

/// How long a wait goes on before it is asked whether to, in milliseconds.
const PIECE_MS: u64 = 100;
/// How long a wait without an end goes on in one piece, in milliseconds.
const LONG_MS: u64 = 3_600_000;

/// How long to wait, in milliseconds; for ever when missing.
pub fn timeout(what: &str, given: Maybe<'_, '_>) -> PyResult<Option<u64>> {
    let Some(given) = given else { return Ok(None) };
    let timeout = args::number(what, given)?;
    limits::check_duration(what, timeout, 0).map_err(|error| raised(given.py(), &error))?;
    Ok(Some(timeout))
}

/// Waits for what `piece` finds: it is called with how long to wait, until it finds something, the time is over (of a manual clock too),
/// or the main thread has ended. On the main thread signals are noticed. `can_end` says that a piece ends by the interrupt, so that
/// it may be a long one.
pub fn in_pieces<T: Send>(
    py: Python<'_>,
    instance: &Instance,
    timeout_ms: Option<u64>,
    can_end: bool,
    mut piece: impl FnMut(u64, &Interrupt) -> rheo_core::Result<Option<T>> + Send,
) -> PyResult<Option<T>> {
    let is_main = is_main_thread(py)?;
    let (interrupt, most_ms) = exit::interrupt(timeout_ms.unwrap_or(u64::MAX));
    let longest = if can_end && !is_main { LONG_MS } else { PIECE_MS };
    let mut signal = None;
    let waited = {
        let signal = &mut signal;
        detached(py, move || {
            let deadline = Instant::now().checked_add(Duration::from_millis(most_ms));
            let manual_deadline = match instance.options().clock {
                ClockOption::Manual { .. } if timeout_ms.is_some_and(|ms| ms > 0) => {
                    Some(instance.now()?.plus_millis(i64::try_from(most_ms).unwrap_or(i64::MAX)))
                }
                _ => None,
            };
            let mut left_ms = most_ms;
            loop {
                if let Some(found) = piece(left_ms.min(longest), &interrupt)? {
                    return Ok(Some(found));
                }
                if let Some(deadline) = deadline {
                    left_ms = deadline.saturating_duration_since(Instant::now()).as_millis() as u64;
                }
                if manual_deadline.is_some() && instance.now().ok() >= manual_deadline {
                    left_ms = 0;
                }
                if left_ms == 0 || interrupt.is_fired() {
                    return Ok(None);
                }
                if is_main && let Err(raised) = Python::attach(|py| py.check_signals()) {
                    *signal = Some(raised);
                    return Ok(None);
                }
            }
        })
    };
    match signal {
        Some(signal) => Err(signal),
        None => waited,
    }
}

/// Drains: whether everything was settled.
pub fn drain(
    py: Python<'_>,
    instance: &Instance,
    timeout_ms: Option<u64>,
    by_handler: bool,
    begin: impl FnOnce() -> rheo_core::Result<Drain> + Send,
) -> PyResult<bool> {
    let drain = attached(py, begin)?;
    // A handler would wait for itself.
    let timeout_ms = if by_handler { Some(0) } else { timeout_ms };
    let done = in_pieces(py, instance, timeout_ms, false, |ms, _| Ok(drain.wait(ms)?.then_some(())))?;
    Ok(done.is_some())
}

/// Drains as long as there is time, then closes. What a signal raises closes at once.
pub fn close(
    py: Python<'_>,
    instance: &Instance,
    timeout_ms: Option<u64>,
    by_handler: bool,
    begin: impl FnOnce() -> rheo_core::Result<Drain> + Send,
    close: impl Fn(u64) -> rheo_core::Result<()> + Sync,
) -> PyResult<()> {
    let started = Instant::now();
    let given_ms = timeout_ms.unwrap_or(limits::MAX_DURATION_MS);
    if given_ms == 0 || by_handler {
        return detached(py, || close(given_ms));
    }
    let drained = attached(py, || match begin() {
        Ok(drain) => Ok(Some(drain)),
        // Somebody else drains, or nothing is left to be drained.
        Err(error) if error.code() == ErrorCode::Forked => Err(error),
        Err(_) => Ok(None),
    })?;
    let waited = match drained {
        Some(drain) => {
            let is_done = |ms, _: &_| match drain.wait(ms) {
                Ok(false) => Ok(None),
                // Of a closed instance there is nothing to wait for.
                _ => Ok(Some(())),
            };
            in_pieces(py, instance, timeout_ms, false, is_done)
        }
        None => Ok(Some(())),
    };
    let left_ms = given_ms.saturating_sub(started.elapsed().as_millis() as u64);
    // Those that have been settled need a moment to end.
    detached(py, || close(if matches!(waited, Ok(Some(()))) { left_ms } else { 0 }))?;
    waited.map(|_| ())
}

/// Waits until one of the interrupts fires, so long at most, or until the main thread has ended.
pub fn for_interrupts(interrupts: [&Interrupt; 2], timeout_ms: Option<u64>) {
    struct Parked(std::sync::Mutex<()>, std::sync::Condvar);
    impl Wake for Parked {
        fn wake(self: Arc<Self>) {
            drop(self.0.lock());
            self.1.notify_all();
        }
    }
    let (end, most_ms) = exit::interrupt(timeout_ms.unwrap_or(u64::MAX));
    let parked = Arc::new(Parked(std::sync::Mutex::default(), std::sync::Condvar::new()));
    let all = [interrupts[0], interrupts[1], &end];
    let _watches = all.map(|each| each.watch(Waker::from(Arc::clone(&parked))));
    let waiting = parked.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let goes_on = |(): &mut ()| !all.iter().any(|each| each.is_fired());
    let most = Duration::from_millis(most_ms.min(limits::MAX_DURATION_MS));
    drop(parked.1.wait_timeout_while(waiting, most, goes_on));
}

/// Whether this is the thread that is given signals. Found without running any code of Python's, in the middle of which the
/// interpreter could come to its end.
fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let main = py.import(intern!(py, "threading"))?.getattr(intern!(py, "_main_thread"))?;
    let main: std::ffi::c_ulong = main.getattr(intern!(py, "_ident"))?.extract()?;
    // SAFETY: it asks for the number of this thread, and has no conditions.
    Ok(main == unsafe { pyo3::ffi::PyThread_get_thread_ident() })
}

/// Where wakers write that something may be claimable, and an event loop reads it: two ends of a socket.
#[cfg(unix)]
#[pyclass(frozen)]
pub struct Bridge {
    read: std::os::unix::net::UnixStream,
    write: Arc<std::os::unix::net::UnixStream>,
}

#[cfg(unix)]
#[pymethods]
impl Bridge {
    #[new]
    fn new() -> PyResult<Bridge> {
        let (read, write) = std::os::unix::net::UnixStream::pair()?;
        read.set_nonblocking(true)?;
        write.set_nonblocking(true)?;
        Ok(Bridge { read, write: Arc::new(write) })
    }

    /// What the loop watches for something to read.
    fn fileno(&self) -> std::os::fd::RawFd {
        std::os::fd::AsRawFd::as_raw_fd(&self.read)
    }

    /// Reads all that was written.
    fn drain(&self) {
        let mut bytes = [0; 256];
        while std::io::Read::read(&mut &self.read, &mut bytes).is_ok_and(|len| len == bytes.len()) {}
    }
}

/// A watch over a group: whether something may have become claimable since it was last asked.
#[pyclass(frozen)]
pub struct Watch {
    signal: Arc<Signal>,
    watch: std::sync::Mutex<Option<Guard>>,
}

/// What ends the watch when it is dropped.
type Guard = Box<dyn std::any::Any + Send>;

/// Whether something happened, and whom to tell.
pub struct Signal {
    is_set: AtomicBool,
    #[cfg(unix)]
    bridge: Option<Arc<std::os::unix::net::UnixStream>>,
}

impl Signal {
    pub fn new(#[cfg(unix)] bridge: Option<&Bound<'_, Bridge>>) -> Signal {
        Signal {
            is_set: AtomicBool::new(false),
            #[cfg(unix)]
            bridge: bridge.map(|bridge| Arc::clone(&bridge.get().write)),
        }
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_set.swap(true, Ordering::AcqRel) {
            // A full socket is full of wake-ups.
            #[cfg(unix)]
            if let Some(bridge) = &self.bridge {
                let _ = std::io::Write::write(&mut &**bridge, &[1]);
            }
        }
    }
}

#[pymethods]
impl Watch {
    /// Whether it was woken since this was last asked.
    fn take(&self) -> bool {
        self.signal.is_set.swap(false, Ordering::AcqRel)
    }

    /// Stops watching.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let watch = self.watch.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        attached(py, || {
            drop(watch);
            Ok(())
        })
    }
}

impl Watch {
    /// Watches a group. `bridge` is told, where there is one.
    pub fn new(
        py: Python<'_>,
        #[cfg(unix)] bridge: Option<&Bound<'_, Bridge>>,
        group: &Group,
        partitions: Maybe<'_, '_>,
    ) -> PyResult<Option<Watch>> {
        let partitions = args::partitions(partitions)?;
        let signal = Arc::new(Signal::new(
            #[cfg(unix)]
            bridge,
        ));
        let waker = Waker::from(Arc::clone(&signal));
        let watch = attached(py, || match group.watch(partitions.as_deref(), &waker) {
            Ok(watch) => Ok(Some(watch)),
            // Then the loop has to look again by itself.
            Err(error) if error.code() == ErrorCode::Unsupported => Ok(None),
            Err(error) => Err(error),
        })?;
        Ok(watch.map(|watch| Watch::of(signal, watch)))
    }

    /// What wakes this signal until `guard` is dropped.
    pub fn of(signal: Arc<Signal>, guard: impl Send + 'static) -> Watch {
        Watch { signal, watch: std::sync::Mutex::new(Some(Box::new(guard))) }
    }
}

/// Fetches what is there and says in how many seconds time alone may bring more.
pub fn fetch_now(
    py: Python<'_>,
    instance: &Instance,
    group: &Group,
    codec: &Codec,
    options: &OwnedFetchOptions,
) -> PyResult<(Batch, Option<f64>)> {
    let (leases, due) = attached(py, || {
        let mut leases = Vec::new();
        let due = group.fetch_now_into(&options.as_options(), &mut leases)?;
        Ok((leases, due))
    })?;
    Ok((Batch::new(leases, instance, codec), due.map(|due| due.as_secs_f64())))
}
