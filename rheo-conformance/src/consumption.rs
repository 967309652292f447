//! Producers and consumers as the scenarios see them: what a surface keeps by name, and the operations on it.

use crate::surface::{Args, Failure, Surface};
use crate::view;
use rheo_core::{
    Consumer, ConsumerOptions, Error, Group, Interrupt, Lease, LeaseToken, Next, Outcome, Producer, ProducerOptions,
    Work,
};
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// How long a step waits for a handler. Far more than anything takes.
const DEADLINE: Duration = Duration::from_secs(30);

/// The options that both have.
const PRODUCER_OPTIONS: &[&str] =
    &["max_demand", "lease_ms", "poll_ms", "consumer_id", "partitions", "on_failure", "retry_delay"];
const CONSUMER_OPTIONS: &[&str] = &["concurrency", "batch_size", "batch_timeout_ms", "max_lease_ms"];

/// The producers and consumers of a surface, by the names that the scenario gave them.
#[derive(Default)]
pub(crate) struct Running {
    producers: Mutex<HashMap<String, Producer>>,
    consumers: Mutex<HashMap<String, Arc<Consuming>>>,
}

/// A consumer and what its handler has been given.
struct Consuming {
    consumer: Consumer,
    script: Arc<Script>,
}

/// What a handler says, and what it saw.
#[derive(Default)]
struct Script {
    state: Mutex<State>,
    called: Condvar,
}

#[derive(Default)]
struct State {
    /// What it says of the next events; acks afterwards. Nothing: no outcome.
    outcomes: VecDeque<Option<Outcome>>,
    handled: Vec<Value>,
}

impl Script {
    /// Takes note of an event, and gives what the handler says of it.
    fn next(&self, lease: &Lease) -> Option<Outcome> {
        let mut state = self.state.lock().expect("no handler panicked");
        state.handled.push(json!({"event_id": lease.event().id().as_str(), "attempt": lease.attempt()}));
        self.called.notify_all();
        state.outcomes.pop_front().unwrap_or(Some(Outcome::Ack))
    }

    /// The events that it was called for, once there are so many.
    fn handled(&self, count: usize) -> Result<Value, Failure> {
        let state = self.state.lock().expect("no handler panicked");
        let few = |state: &mut State| state.handled.len() < count;
        let (state, time) = self.called.wait_timeout_while(state, DEADLINE, few).expect("no handler panicked");
        match time.timed_out() {
            true => Err(format!("only {} within 30 seconds", Value::from(state.handled.clone())).into()),
            false => Ok(Value::from(state.handled.clone())),
        }
    }
}

impl Running {
    /// Closes all of them. Whether closing works is for scenarios of their own.
    pub(crate) fn close(&self) {
        for (_, consuming) in self.consumers.lock().expect("no call panicked").drain() {
            let _ = consuming.consumer.close(0);
        }
        for (_, producer) in self.producers.lock().expect("no call panicked").drain() {
            let _ = producer.close(0);
        }
    }
}

impl Surface {
    /// Starts a producer or a consumer, and keeps it under this name.
    pub(crate) fn start(&self, op: &str, kept_as: Option<&str>, args: &mut Args<'_>) -> Result<Value, Failure> {
        let name = kept_as.ok_or_else(|| format!("{op} needs a name: as"))?.to_owned();
        let (stream, group) = (args.required_text("stream")?, args.required_text("group")?);
        let group = self.bound_group(&stream, &group);
        if op == "start_producer" {
            let options = args.options(PRODUCER_OPTIONS)?;
            let producer = args.end(|| {
                let mut with = ProducerOptions::new();
                options.iter().try_for_each(|(key, value)| with.set(key, value))?;
                Producer::start(&group?, &with)
            })?;
            self.running.producers.lock().expect("no call panicked").insert(name, producer);
            return Ok(Value::Null);
        }
        let options = [args.options(PRODUCER_OPTIONS)?, args.options(CONSUMER_OPTIONS)?].concat();
        let outcomes = args.list("outcomes")?.unwrap_or_default().into_iter().map(outcome).collect::<Result<_, _>>()?;
        let script = Arc::new(Script::default());
        script.state.lock().expect("nobody has it yet").outcomes = outcomes;
        let consumer = args.end(|| {
            let mut with = ConsumerOptions::new();
            options.iter().try_for_each(|(key, value)| with.set(key, value))?;
            start(&group?, &with, Arc::clone(&script))
        })?;
        let consuming = Arc::new(Consuming { consumer, script });
        self.running.consumers.lock().expect("no call panicked").insert(name, consuming);
        Ok(Value::Null)
    }

    /// An operation on the producer of this name.
    pub(crate) fn with_producer(&self, op: &str, name: &str, args: &mut Args<'_>) -> Result<Value, Failure> {
        let producer = self.running.producers.lock().expect("no call panicked").get(name).cloned();
        let producer = producer.ok_or_else(|| format!("no producer is called {name:?}"))?;
        let done = |(): ()| Value::Null;
        match op {
            "next" => {
                let (most, timeout_ms) = (args.number("most")?.unwrap_or(1), args.timeout()?);
                Ok(match args.end(|| producer.next(most, timeout_ms, None))? {
                    Next::Leases(leases) => self.seen(leases),
                    Next::Stopped => json!("stopped"),
                    _ => json!([]),
                })
            }
            "ack" | "release" | "retry" | "reject" | "fail" => {
                let lease = self.holder(&args.required("lease")?)?;
                let reason = args.text("reason")?.unwrap_or_default();
                let delay_ms = args.number("delay_ms")?;
                args.end(|| {
                    let lease = lease?;
                    match op {
                        "ack" => producer.ack(&lease),
                        "release" => producer.release(&lease),
                        "retry" => producer.retry(&lease, &reason, delay_ms),
                        "reject" => producer.reject(&lease, &reason),
                        _ => producer.fail(&lease, &reason),
                    }
                })
                .map(done)
            }
            "ack_many" => {
                let leases = args.required_list("leases")?;
                let leases = leases.iter().map(|lease| self.holder(lease)).collect::<Result<Vec<_>, _>>()?;
                args.end(|| producer.ack_many(&leases.into_iter().collect::<Result<Vec<_>, _>>()?))
                    .map(|results| view::many(results, done))
            }
            "confirm" => {
                let leases = args.required_list("leases")?;
                let leases = leases.iter().map(|lease| self.holder(lease)).collect::<Result<Vec<_>, _>>()?;
                args.end(|| {
                    let ids = leases
                        .into_iter()
                        .map(|lease| lease.map(|lease| AsRef::<LeaseToken>::as_ref(&lease).lease_id()));
                    producer.confirm(&ids.collect::<Result<Vec<_>, _>>()?)
                })
                .map(Value::from)
            }
            "inflight_count" => args.end(|| producer.inflight_count()).map(Value::from),
            "drain" => {
                let timeout_ms = args.timeout()?;
                args.end(|| producer.drain(timeout_ms)).map(Value::from)
            }
            "close_producer" => {
                let timeout_ms = args.timeout()?;
                args.end(|| producer.close(timeout_ms)).map(done)
            }
            _ => Err(format!("{op} is no operation of a producer").into()),
        }
    }

    /// An operation on the consumer of this name.
    pub(crate) fn with_consumer(&self, op: &str, name: &str, args: &mut Args<'_>) -> Result<Value, Failure> {
        let consuming = self.running.consumers.lock().expect("no call panicked").get(name).cloned();
        let consuming = consuming.ok_or_else(|| format!("no consumer is called {name:?}"))?;
        let consumer = &consuming.consumer;
        match op {
            "handled" => {
                let count = args.required_number("count")?;
                args.end(|| Ok(()))?;
                consuming.script.handled(count)
            }
            "settled" => {
                args.end(|| Ok(()))?;
                let deadline = Instant::now() + DEADLINE;
                while consumer.inflight_count()? > 0 {
                    if Instant::now() >= deadline {
                        return Err("it held leases for 30 seconds".into());
                    }
                    std::thread::yield_now();
                }
                Ok(Value::Null)
            }
            "ended" => match args.end(|| consumer.wait(DEADLINE.as_millis() as u64))? {
                true => Ok(Value::Null),
                false => Err("it did not end within 30 seconds".into()),
            },
            "inflight_count" => args.end(|| consumer.inflight_count()).map(Value::from),
            "drain" => {
                let timeout_ms = args.timeout()?;
                args.end(|| consumer.drain(timeout_ms)).map(Value::from)
            }
            "close_consumer" => {
                let timeout_ms = args.timeout()?;
                args.end(|| consumer.close(timeout_ms)).map(|()| Value::Null)
            }
            _ => Err(format!("{op} is no operation of a consumer").into()),
        }
    }
}

/// Starts a consumer whose handler says what is written.
fn start(group: &Group, options: &ConsumerOptions, script: Arc<Script>) -> Result<Consumer, Error> {
    if options.batch_size == 1 {
        let handler = move |lease: &Lease, _: &Interrupt| {
            script.next(lease).unwrap_or_else(|| Outcome::fail("the scenario gives a single event no outcome"))
        };
        return Consumer::start(group, options, handler);
    }
    Consumer::start_batches(group, options, move |work: &Work<'_>, outcomes: &mut Vec<Outcome>| {
        outcomes.extend(work.leases().iter().map_while(|lease| script.next(lease)));
    })
}

/// An outcome as it is written.
fn outcome(written: Value) -> Result<Option<Outcome>, Failure> {
    let wrong = || Failure::from(format!("{written} is not an outcome"));
    match &written {
        Value::String(name) if name == "ack" => return Ok(Some(Outcome::Ack)),
        Value::String(name) if name == "nothing" => return Ok(None),
        _ => {}
    }
    let [(kind, fields)] = &written.as_object().ok_or_else(wrong)?.iter().collect::<Vec<_>>()[..] else {
        return Err(wrong());
    };
    let reason = fields["reason"].as_str().ok_or_else(wrong)?.to_owned();
    Ok(Some(match kind.as_str() {
        "retry" => Outcome::Retry { reason, delay_ms: fields["delay_ms"].as_u64() },
        "reject" => Outcome::Reject { reason },
        "fail" => Outcome::Fail { reason },
        _ => return Err(wrong()),
    }))
}

impl Args<'_> {
    fn timeout(&mut self) -> Result<u64, Failure> {
        Ok(self.number("timeout_ms")?.unwrap_or_default())
    }

    /// Those of these options that are given, as text.
    fn options(&mut self, names: &[&'static str]) -> Result<Vec<(&'static str, String)>, Failure> {
        let mut options = Vec::new();
        for name in names {
            let Some(value) = self.take(name) else { continue };
            let text = match value {
                Value::String(text) => text,
                Value::Number(number) => number.to_string(),
                Value::Array(list) => list.iter().map(Value::to_string).collect::<Vec<_>>().join(","),
                other => return self.wrong(name, &other, "an option"),
            };
            options.push((*name, text));
        }
        Ok(options)
    }
}
