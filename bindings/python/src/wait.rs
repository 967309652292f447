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
use rheo_core::{Error, ErrorCode, Group, Instance};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

/// What a fetch that does not wait says of when to look again.
pub type Due = rheo_core::Result<Option<std::time::Duration>>;

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
    watch: std::sync::Mutex<Option<rheo_core::backend::Watch>>,
}

struct Signal {
    is_set: AtomicBool,
    #[cfg(unix)]
    bridge: Option<Arc<std::os::unix::net::UnixStream>>,
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
        let signal = Arc::new(Signal {
            is_set: AtomicBool::new(false),
            #[cfg(unix)]
            bridge: bridge.map(|bridge| Arc::clone(&bridge.get().write)),
        });
        let waker = Waker::from(Arc::clone(&signal));
        let watch = attached(py, || match group.watch(partitions.as_deref(), &waker) {
            Ok(watch) => Ok(Some(watch)),
            // Then the loop has to look again by itself.
            Err(error) if error.code() == ErrorCode::Unsupported => Ok(None),
            Err(error) => Err(error),
        })?;
        Ok(watch.map(|watch| Watch { signal, watch: std::sync::Mutex::new(Some(watch)) }))
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
