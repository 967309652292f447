//! The native module of the Python package: `rheo._rheo`.
//!
//! It wraps the handles of rheo-core and rheo-ffi in Python classes; the package around it (`python/rheo`) holds what is
//! better said in Python: exceptions, plain values, asyncio. Who may hold the interpreter lock when is [`attached`]'s matter.

mod append;
mod args;
mod attached;
mod codec;
mod consumer;
mod decode;
mod encode;
mod errors;
mod event;
mod exit;
mod group;
mod handler;
mod instance;
mod lease;
mod options;
mod producer;
mod scan;
mod settle;
mod stream;
mod telemetry;
mod time;
mod values;
mod wait;

/// See the package's documentation; what is public is exported from `rheo` itself.
#[pyo3::pymodule(gil_used = false)]
mod _rheo {
    #[pymodule_export]
    use crate::append::{Append, encoded};
    #[pymodule_export]
    use crate::consumer::{Plan, Pool};
    #[pymodule_export]
    use crate::errors::set_errors;
    #[pymodule_export]
    use crate::event::{Event, EventIterator, event_from_parts};
    #[pymodule_export]
    use crate::exit::{close_all, forget_parent, interrupt_waits};
    #[pymodule_export]
    use crate::group::Group;
    #[pymodule_export]
    use crate::handler::{Cancel, Context, set_runtime};
    #[pymodule_export]
    use crate::instance::{Instance, find, open};
    #[pymodule_export]
    use crate::lease::{Batch, Lease};
    #[pymodule_export]
    use crate::producer::{Drain, Hand, Producer};
    #[pymodule_export]
    use crate::stream::Stream;
    #[pymodule_export]
    use crate::values::set_values;
    #[cfg(unix)]
    #[pymodule_export]
    use crate::wait::Bridge;
    #[pymodule_export]
    use crate::wait::Watch;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::attached::set_up();
        let numbers: Vec<(i32, &str)> =
            rheo_core::ErrorCode::ALL.iter().map(|code| (code.number(), code.name())).collect();
        module.add("ERRORS", numbers)?;
        let features: Vec<&str> =
            rheo::handle::FEATURES.into_iter().filter(|(_, there)| *there).map(|(name, _)| name).collect();
        module.add("FEATURES", features)?;
        module.add("VERSION", env!("CARGO_PKG_VERSION"))
    }
}
