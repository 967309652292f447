//! An instance: what is called by names, and the way to what is bound; and the library as a whole.

use crate::answer::Answer;
use crate::function::functions;
use crate::group::{GroupData, GroupTable, Settler, Settling, texts};
use crate::js::{Js, Outcome, Value};
use crate::operations::Call;
use crate::producer::{self, ProducerTable};
use crate::stream::StreamTable;
use crate::telemetry;
use rheo::handle::{FEATURES, Options, json};
use rheo_core::{Instance, OpenOptions, Result};
use std::sync::Arc;

/// An instance.
pub(crate) struct InstanceData {
    pub(crate) db: Instance,
}

functions! {
    InstanceTable over InstanceData;

    /// Calls an operation, with its options as JSON.
    CallNow = "call" "(operation: string, stream: string, group: string, text: string | undefined, options: string | undefined): unknown"
        (home, data, js, arguments)
    {
        call_of(js, arguments)?.perform(&data.db)?.into_js(home, js, false)
    }

    /// The same on a thread of ours.
    CallLater = "callLater"
        "(operation: string, stream: string, group: string, text: string | undefined, options: string | undefined): Promise<unknown>"
        (home, data, js, arguments)
    {
        let (call, db) = (call_of(js, arguments)?, data.db.clone());
        home.submit(js, move || call.perform(&db))
    }

    /// Moves the manual clock.
    AdvanceClock = "advanceClock" "(ms: number): bigint" (home, data, js, arguments) {
        let millis = rheo::handle::number("ms", js.to_f64(arguments[0])? as i64)?;
        js.big_int(data.db.advance_clock(millis)?.as_micros())
    }

    /// Settles leases by the texts of their tokens.
    SettleTexts = "settleTexts"
        "(kind: number, reason: string | undefined, millis: number | undefined, tokens: string[]): unknown[] | undefined"
        (home, data, js, arguments)
    {
        let texts = texts(js, arguments[3])?;
        Settling::new(js, arguments)?.texts(&data.db, None, &texts)?.into_js(home, js, true)
    }

    /// The same on a thread of ours.
    SettleTextsLater = "settleTextsLater"
        "(kind: number, reason: string | undefined, millis: number | undefined, tokens: string[]): Promise<unknown[] | undefined>"
        (home, data, js, arguments)
    {
        let (settling, texts, db) = (Settling::new(js, arguments)?, texts(js, arguments[3])?, data.db.clone());
        home.submit(js, move || settling.texts(&db, None, &texts))
    }

    /// A stream, its name resolved once.
    BindStream = "stream" "(stream: string): NativeStream" (home, data, js, arguments) {
        StreamTable::make(home, js, data.db.stream(&js.to_text(arguments[0])?)?)
    }

    /// A group, its names resolved once.
    BindGroup = "group" "(stream: string, group: string): NativeGroup" (home, data, js, arguments) {
        let group = data.db.group(&js.to_text(arguments[0])?, &js.to_text(arguments[1])?)?;
        GroupTable::make(home, js, GroupData::new(data.db.clone(), Settler::Group(group)))
    }

    /// Starts a producer of a group, with its options as JSON.
    StartProducer = "producer" "(stream: string, group: string, options: string): NativeProducer" (home, data, js, arguments) {
        let group = data.db.group(&js.to_text(arguments[0])?, &js.to_text(arguments[1])?)?;
        let started = producer::start(&data.db, &group, &js.to_text(arguments[2])?)?;
        ProducerTable::make(home, js, started)
    }

    /// Starts the producer of a consumer of a group, with its options as JSON.
    StartConsumer = "consumer" "(stream: string, group: string, options: string): NativeProducer" (home, data, js, arguments) {
        let group = data.db.group(&js.to_text(arguments[0])?, &js.to_text(arguments[1])?)?;
        let started = producer::start_consumer(&data.db, &group, &js.to_text(arguments[2])?)?;
        ProducerTable::make(home, js, started)
    }

    /// What the backend guarantees and how, as JSON.
    Capabilities = "capabilities" "(): string" (home, data, js, arguments) {
        let capabilities = data.db.capabilities();
        let named = |names: Vec<(&str, bool)>| -> serde_json::Map<String, serde_json::Value> {
            names.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
        };
        let (guarantees, mechanisms) =
            (named(capabilities.guarantees().collect()), named(capabilities.mechanisms().collect()));
        js.string(&serde_json::json!({"guarantees": guarantees, "mechanisms": mechanisms}).to_string())
    }

    /// What may wait for something outside this process: appends, deliveries, reads.
    Blocking = "blocking" "(): [boolean, boolean, boolean]" (home, data, js, arguments) {
        let blocking = data.db.blocking();
        js.array(&[js.boolean(blocking.appends)?, js.boolean(blocking.deliveries)?, js.boolean(blocking.reads)?])
    }

    /// The name that it was opened with.
    Name = "instanceName" "(): string | undefined" (home, data, js, arguments) {
        Answer::Text(data.db.name().map(str::to_owned)).into_js(home, js, true)
    }

    /// Whether it was closed.
    IsClosed = "isClosed" "(): boolean" (home, data, js, arguments) {
        js.boolean(data.db.is_closed())
    }

    /// Whether its clock moves by hand.
    IsManual = "isManual" "(): boolean" (home, data, js, arguments) {
        js.boolean(matches!(data.db.options().clock, rheo_core::ClockOption::Manual { .. }))
    }
}

fn call_of(js: Js, arguments: &[Value]) -> Outcome<Call> {
    Ok(Call {
        operation: js.to_text(arguments[0])?,
        stream: js.to_text(arguments[1])?,
        group: js.to_text(arguments[2])?,
        text: js.to_optional_text(arguments[3])?,
        options: js.to_optional_text(arguments[4])?,
    })
}

functions! {
    LibraryTable over ();

    /// Opens an instance, with its options as JSON. Telemetry goes to this environment's loop.
    Open = "open" "(url: string, options: string, telemetry: boolean): NativeInstance" (home, data, js, arguments) {
        let (url, options) = opening(home.event_loop(), js, arguments)?;
        Answer::Instance(Some(rheo_core::open(&url, options)?)).into_js(home, js, true)
    }

    /// The same on a thread of ours.
    OpenLater = "openLater" "(url: string, options: string, telemetry: boolean): Promise<NativeInstance>"
        (home, data, js, arguments)
    {
        let (url, options) = opening(home.event_loop(), js, arguments)?;
        home.submit(js, move || rheo_core::open(&url, options).map(|db| Answer::Instance(Some(db))))
    }

    /// The open instance of this name.
    Get = "get" "(name: string): NativeInstance | undefined" (home, data, js, arguments) {
        Answer::Instance(rheo_core::get(&js.to_text(arguments[0])?)).into_js(home, js, true)
    }

    /// Ends a watch.
    Unwatch = "unwatch" "(number: number): void" (home, data, js, arguments) {
        home.receiver().unwatch(js.to_f64(arguments[0])? as u32);
        js.undefined()
    }

    /// Looks at once at what other threads, and telemetry, have sent to this loop.
    Drain = "drain" "(): void" (home, data, js, arguments) {
        home.receiver().receive(js)?;
        js.undefined()
    }

    /// Whether this build has a feature; undefined where there is none of the name.
    HasFeature = "hasFeature" "(name: string): boolean | undefined" (home, data, js, arguments) {
        let name = js.to_text(arguments[0])?;
        match FEATURES.iter().find(|(known, _)| *known == name) {
            Some((_, built)) => js.boolean(*built),
            None => js.undefined(),
        }
    }

    /// The library's version.
    Version = "version" "(): string" (home, data, js, arguments) {
        js.string(env!("CARGO_PKG_VERSION"))
    }
}

fn opening(event_loop: &Arc<crate::event_loop::Loop>, js: Js, arguments: &[Value]) -> Outcome<(String, OpenOptions)> {
    let (url, text) = (js.to_text(arguments[0])?, js.to_text(arguments[1])?);
    let mut given = Given::default();
    json::set_all(&mut given, "options", &text)?;
    let mut options = given.0;
    if js.to_bool(arguments[2])? {
        options.telemetry = Some(telemetry::hook(event_loop, options.name.as_deref()));
    }
    Ok((url, options))
}

/// The options of opening. In JSON, what has 64 bits may be text.
#[derive(Default)]
struct Given(OpenOptions);

impl Options for Given {
    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        self.0.set(name, value)
    }
}
