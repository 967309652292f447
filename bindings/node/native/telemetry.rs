//! The hook of an instance: copies what happened and sends it to the loop.

use crate::event_loop::Loop;
use crate::js::{Js, Outcome, Value};
use rheo_core::{ErrorCode, Telemetry, TelemetryEvent, TelemetryName};
use std::sync::Arc;
use std::time::Duration;

/// One thing that happened.
pub(crate) struct Told {
    instance: Option<Arc<str>>,
    name: TelemetryName,
    stream: Box<str>,
    group: Option<Box<str>>,
    partition: Option<u32>,
    count: u64,
    failed: u64,
    duration: Option<Duration>,
    error: Option<ErrorCode>,
}

/// A hook that sends everything to this loop. `instance` is the instance's name.
pub(crate) fn hook(event_loop: &Arc<Loop>, instance: Option<&str>) -> Telemetry {
    let (event_loop, instance) = (Arc::clone(event_loop), instance.map(Arc::from));
    Telemetry::new(move |event: &TelemetryEvent<'_>| {
        event_loop.tell(Told {
            instance: instance.clone(),
            name: event.name,
            stream: event.stream.into(),
            group: event.group.map(Into::into),
            partition: event.partition,
            count: event.count,
            failed: event.failed,
            duration: event.duration,
            error: event.error,
        });
    })
}

impl Told {
    /// As a list: name, instance, stream, group, partition, count, failed, milliseconds, error.
    pub(crate) fn to_js(&self, js: Js) -> Outcome<Value> {
        let text = |text: Option<&str>| text.map_or_else(|| js.undefined(), |text| js.string(text));
        let number = |number: Option<f64>| number.map_or_else(|| js.undefined(), |number| js.number(number));
        js.array(&[
            js.string(self.name.name())?,
            text(self.instance.as_deref())?,
            js.string(&self.stream)?,
            text(self.group.as_deref())?,
            number(self.partition.map(f64::from))?,
            js.number(self.count as f64)?,
            js.number(self.failed as f64)?,
            number(self.duration.map(|duration| duration.as_secs_f64() * 1000.0))?,
            text(self.error.map(ErrorCode::name))?,
        ])
    }
}
