//! Consumers: what is to be run, and the threads that run plain functions. Those that run coroutines are event loops': see `producer`.

use crate::args::Maybe;
use crate::attached::{attached, in_worker};
use crate::codec::{self, Codec, Running};
use crate::errors::exception;
use crate::handler::{Handler, Home};
use crate::producer::Producer;
use crate::wait;
use pyo3::prelude::*;
use rheo_core::{Consumer, ConsumerOptions, Group, Instance};
use std::sync::PoisonError;

/// A consumer that is to be started once its handler is known.
#[pyclass(frozen)]
pub struct Plan {
    pub group: Group,
    pub instance: Instance,
    pub codec: Codec,
    pub options: ConsumerOptions,
    pub as_list: bool,
}

#[pymethods]
impl Plan {
    /// The stream's name.
    #[getter]
    fn stream(&self) -> &str {
        self.group.stream()
    }

    /// The group's name.
    #[getter]
    fn group(&self) -> &str {
        self.group.name()
    }

    /// The instance.
    #[getter]
    fn instance(&self) -> crate::instance::Instance {
        crate::instance::Instance::of(self.instance.clone(), self.codec.clone())
    }

    /// How many handlers run at a time.
    #[getter]
    fn concurrency(&self) -> usize {
        self.options.concurrency
    }

    /// How long a batch may take to fill, in milliseconds.
    #[getter]
    fn batch_timeout_ms(&self) -> u64 {
        self.options.batch_timeout_ms
    }

    /// Starts a plain function on threads.
    fn pool(&self, py: Python<'_>, handler: Py<PyAny>, wants_context: bool) -> PyResult<Pool> {
        let home = Home { instance: self.instance.clone(), codec: self.codec.clone() };
        let (group, as_list) = (self.group.clone(), self.as_list);
        let handler = Handler { function: Some(handler), wants_context, as_list, home, group };
        let consumer = attached(py, || {
            Consumer::start_batches(&self.group, &self.options, move |work, outcomes| {
                in_worker(|py| handler.run(py, work, outcomes));
            })
        })?;
        keep(&self.instance, Running::Pool(consumer.clone()));
        Ok(Pool { consumer, instance: self.instance.clone() })
    }

    /// Starts what an event loop takes leases from for its handlers.
    fn producer(&self, py: Python<'_>) -> PyResult<Producer> {
        let producer = attached(py, || rheo_core::Producer::for_consumer(&self.group, &self.options))?;
        keep(&self.instance, Running::Loop(producer.clone()));
        Ok(Producer::new(producer, &self.instance, &self.codec, Some((self.options.batch_size, self.as_list))))
    }
}

/// An open instance keeps its consumers, so that one of which nobody else knows goes on.
fn keep(instance: &Instance, running: Running) {
    let opened = codec::of(instance);
    let mut all = opened.running.lock().unwrap_or_else(PoisonError::into_inner);
    let (going, ended) = std::mem::take(&mut *all).into_iter().partition(Running::is_running);
    *all = going;
    all.push(running);
    drop(all);
    drop::<Vec<Running>>(ended);
}

/// The threads that run a plain function.
#[pyclass(frozen)]
pub struct Pool {
    consumer: Consumer,
    instance: Instance,
}

#[pymethods]
impl Pool {
    fn drain(&self, py: Python<'_>, timeout_ms: Maybe<'_, '_>) -> PyResult<bool> {
        let timeout_ms = wait::timeout("timeout_ms", timeout_ms)?;
        wait::drain(py, &self.instance, timeout_ms, self.consumer.is_called_by_handler(), || {
            self.consumer.begin_drain()
        })
    }

    fn close(&self, py: Python<'_>, timeout_ms: Maybe<'_, '_>) -> PyResult<()> {
        let timeout_ms = wait::timeout("timeout_ms", timeout_ms)?;
        let begin = || self.consumer.begin_drain();
        let close = |ms| self.consumer.close(ms);
        wait::close(py, &self.instance, timeout_ms, self.consumer.is_called_by_handler(), begin, close)
    }

    fn wait(&self, py: Python<'_>, timeout_ms: Maybe<'_, '_>) -> PyResult<bool> {
        let timeout_ms = wait::timeout("timeout_ms", timeout_ms)?;
        let timeout_ms = if self.consumer.is_called_by_handler() { Some(0) } else { timeout_ms };
        let piece = |ms, _: &_| Ok(self.consumer.wait(ms)?.then_some(()));
        Ok(wait::in_pieces(py, &self.instance, timeout_ms, false, piece)?.is_some())
    }

    #[getter]
    fn is_running(&self, py: Python<'_>) -> PyResult<bool> {
        attached(py, || self.consumer.is_running())
    }

    #[getter]
    fn inflight_count(&self, py: Python<'_>) -> PyResult<usize> {
        attached(py, || self.consumer.inflight_count())
    }

    #[getter]
    fn failure<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let failure = attached(py, || self.consumer.failure())?;
        failure.map(|error| exception(py, &error)).transpose()
    }
}
