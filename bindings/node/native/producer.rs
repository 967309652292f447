//! A producer of an instance: takes leases for the handlers and loops of this environment, and settles by what was said of them.

use crate::answer::{Answer, Claimed, STOPPED, due_ms};
use crate::function::functions;
use crate::group::{GroupData, GroupTable, Settler};
use crate::home::DUE;
use crate::js::{Js, Outcome, Value};
use crate::rows::TOKEN_WORDS;
use parking_lot::Mutex;
use rheo::handle::{Options, json, number};
use rheo_core::{
    ConsumerOptions, Drain, Group, Instance, Interrupt, LeaseId, LeaseToken, Next, Outcome as Said, Producer,
    ProducerOptions, Result,
};
use std::rc::Rc;
use std::sync::Arc;

/// A producer, and how its leases are settled.
pub(crate) struct ProducerData {
    producer: Producer,
    leases: Rc<GroupData>,
    /// What the handlers of a consumer have all their leases under.
    cancel: Option<Interrupt>,
    /// Whether handlers get lists that wait to fill, and have their leases only when they begin.
    fills: bool,
    drain: Arc<Mutex<Option<Drain>>>,
}

impl ProducerData {
    fn new(db: &Instance, producer: Producer, cancel: Option<Interrupt>, fills: bool) -> ProducerData {
        let leases = Rc::new(GroupData::new(db.clone(), Settler::Producer(producer.clone())));
        ProducerData { producer, leases, cancel, fills, drain: Arc::default() }
    }

    /// What leases are taken under.
    fn taken_under(&self) -> Option<&Interrupt> {
        self.cancel.as_ref().filter(|_| !self.fills)
    }
}

/// Starts a producer.
pub(crate) fn start(db: &Instance, group: &Group, options: &str) -> Result<ProducerData> {
    let mut given = Given(ProducerOptions::new(), ProducerOptions::set);
    json::set_all(&mut given, "options", options)?;
    Ok(ProducerData::new(db, Producer::start(group, &given.0)?, None, false))
}

/// Starts the producer of a consumer.
pub(crate) fn start_consumer(db: &Instance, group: &Group, options: &str) -> Result<ProducerData> {
    let mut given = Given(ConsumerOptions::new(), ConsumerOptions::set);
    json::set_all(&mut given, "options", options)?;
    let fills = given.0.batch_size > 1 && given.0.batch_timeout_ms > 0;
    Ok(ProducerData::new(db, Producer::for_consumer(group, &given.0)?, Some(Interrupt::new()), fills))
}

/// Options, and how they are set.
struct Given<O>(O, fn(&mut O, &str, &str) -> Result<()>);

impl<O> Options for Given<O> {
    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        if name != "partitions" {
            return self.1(&mut self.0, name, value);
        }
        // A list in JSON; there they are numbers joined by commas.
        let partitions: Vec<String> = json::partitions(name, value)?.iter().map(u32::to_string).collect();
        self.1(&mut self.0, name, &partitions.join(","))
    }
}

fn take(producer: &Producer, most: usize, cancel: Option<&Interrupt>) -> Result<Claimed> {
    let (leases, due) = match producer.next_for(most, 0, None, cancel)? {
        Next::Leases(leases) => (leases, 0),
        Next::Nothing { look_again } => (Vec::new(), due_ms(look_again)),
        _ => (Vec::new(), STOPPED),
    };
    Ok(Claimed { settler: Settler::Producer(producer.clone()), leases, due })
}

fn complete(producer: &Producer, tokens: &[LeaseToken], said: &[Said]) -> Result<Answer> {
    if said.iter().any(|said| matches!(said, Said::Fail { .. })) {
        producer.handler_failed();
    }
    producer.complete(tokens, said).map(|()| Answer::Nothing)
}

functions! {
    ProducerTable over ProducerData;

    /// Takes at most so many leases, without waiting. Nothing: then the head of the scratch memory says when to look again.
    Take = "take" "(most: number): Rows | undefined" (home, data, js, arguments) {
        let most = number("most", js.to_f64(arguments[0])? as i64)?;
        let claimed = take(&data.producer, most, data.taken_under())?;
        data.leases.note(&claimed.leases);
        Answer::Claimed(claimed).into_js(home, js, true)
    }

    /// The same on a thread of ours: rows, or in how many milliseconds to look again.
    TakeLater = "takeLater" "(most: number): Promise<RowList | number>" (home, data, js, arguments) {
        let most = number("most", js.to_f64(arguments[0])? as i64)?;
        let (producer, cancel) = (data.producer.clone(), data.taken_under().cloned());
        home.submit(js, move || take(&producer, most, cancel.as_ref()).map(Answer::Claimed))
    }

    /// A handler begins with so many leases that waited for more: its time counts from now on. For each, whether it was lost meanwhile.
    /// `wasFired` says nothing any more of what was lost before.
    Begin = "begin" "(words: Int32Array, count: number): boolean[]" (home, data, js, arguments) {
        let tokens = data.leases.tokens(js, arguments[0], js.to_f64(arguments[1])? as usize, TOKEN_WORDS)?;
        if let Some(cancel) = &data.cancel {
            data.producer.begin(&mut tokens.clone(), cancel)?;
        }
        cancelled(&data.producer, js, &tokens)
    }

    /// Settles so many leases by what their handlers said: acks, but for those that are told of by their place, a kind (1 retry, 2 reject,
    /// 3 release, 5 fail), a reason and milliseconds.
    Complete = "complete" "(words: Int32Array, count: number, others?: unknown[]): void" (home, data, js, arguments) {
        let (tokens, said) = said(data, js, arguments)?;
        complete(&data.producer, &tokens, &said)?.into_js(home, js, true)
    }

    /// The same on a thread of ours.
    CompleteLater = "completeLater" "(words: Int32Array, count: number, others?: unknown[]): Promise<void>"
        (home, data, js, arguments)
    {
        let ((tokens, said), producer) = (said(data, js, arguments)?, data.producer.clone());
        home.submit(js, move || complete(&producer, &tokens, &said))
    }

    /// Whether the signal of some lease has fired since this was asked before.
    WasFired = "wasFired" "(): boolean" (home, data, js, arguments) {
        let fired = data.cancel.as_ref().is_some_and(Interrupt::is_fired);
        if fired && let Some(cancel) = &data.cancel {
            cancel.reset();
        }
        js.boolean(fired)
    }

    /// For each of so many leases, whether its signal has fired.
    Cancelled = "cancelled" "(words: Int32Array, count: number): boolean[]" (home, data, js, arguments) {
        let tokens = data.leases.tokens(js, arguments[0], js.to_f64(arguments[1])? as usize, TOKEN_WORDS)?;
        cancelled(&data.producer, js, &tokens)
    }

    /// Frees the slots of leases that were settled elsewhere: by their ids, or the texts of their tokens.
    Confirm = "confirm" "(leases: string[]): number" (home, data, js, arguments) {
        let ids = crate::group::texts(js, arguments[0])?.iter().map(|text| lease_id(text)).collect::<Result<Vec<_>>>()?;
        js.number(data.producer.confirm(&ids)? as f64)
    }

    /// How many leases it holds.
    InflightCount = "inflightCount" "(): number" (home, data, js, arguments) {
        js.number(data.producer.inflight_count()? as f64)
    }

    /// Whether it gives no more leases.
    IsStopped = "isStopped" "(): boolean" (home, data, js, arguments) {
        js.boolean(data.producer.is_stopped()?)
    }

    /// Gives no more leases, and gives back those that nobody has. A drain is pending until `endDrain`.
    BeginDrain = "beginDrain" "(): void" (home, data, js, arguments) {
        *data.drain.lock() = Some(data.producer.begin_drain()?);
        js.undefined()
    }

    /// The same on a thread of ours.
    BeginDrainLater = "beginDrainLater" "(): Promise<void>" (home, data, js, arguments) {
        let (producer, drain) = (data.producer.clone(), Arc::clone(&data.drain));
        home.submit(js, move || {
            *drain.lock() = Some(producer.begin_drain()?);
            Ok(Answer::Nothing)
        })
    }

    /// The drain is not pending any more.
    EndDrain = "endDrain" "(): void" (home, data, js, arguments) {
        let drain = data.drain.lock().take();
        drop(drain);
        js.undefined()
    }

    /// Gives no more leases, and gives back whatever is not settled.
    Close = "close" "(): void" (home, data, js, arguments) {
        data.producer.close(0)?;
        js.undefined()
    }

    /// The same on a thread of ours.
    CloseLater = "closeLater" "(): Promise<void>" (home, data, js, arguments) {
        let producer = data.producer.clone();
        home.submit(js, move || producer.close(0).map(|()| Answer::Nothing))
    }

    /// Watches it. Gives the number under which it is told of; the head of the scratch memory says how often to look besides.
    Watch = "watch" "(): number" (home, data, js, arguments) {
        let mut poll = None;
        let number = home.receiver().watch(|waker| {
            let (watch, often) = data.producer.watch(waker)?;
            poll = often;
            Ok(watch)
        })?;
        home.set_head(DUE, due_ms(poll));
        js.number(f64::from(number))
    }

    /// What settles its leases.
    Leases = "leases" "(): NativeGroup" (home, data, js, arguments) {
        GroupTable::make(home, js, Rc::clone(&data.leases))
    }
}

fn cancelled(producer: &Producer, js: Js, tokens: &[LeaseToken]) -> Outcome<Value> {
    let cancelled = producer.cancelled(tokens)?;
    js.array(&cancelled.into_iter().map(|each| js.boolean(each)).collect::<Outcome<Vec<Value>>>()?)
}

/// The leases of the first two arguments, and what was said of them.
fn said(data: &ProducerData, js: Js, arguments: &[Value]) -> Outcome<(Vec<LeaseToken>, Vec<Said>)> {
    let count = js.to_f64(arguments[1])? as usize;
    let tokens = data.leases.tokens(js, arguments[0], count, TOKEN_WORDS)?;
    let mut said = vec![Said::Ack; tokens.len()];
    if js.is_given(arguments[2])? {
        for at in (0..js.length(arguments[2])?).step_by(4) {
            let part = |n| js.element(arguments[2], at + n);
            let place = js.to_f64(part(0)?)? as usize;
            let reason = js.to_optional_text(part(2)?)?.unwrap_or_default();
            let delay = part(3)?;
            let delay_ms = if js.is_given(delay)? { Some(number("delayMs", js.to_f64(delay)? as i64)?) } else { None };
            if let Some(each) = said.get_mut(place) {
                *each = match js.to_i32(part(1)?)? {
                    1 => Said::Retry { reason, delay_ms },
                    2 => Said::Reject { reason },
                    3 => Said::Release,
                    _ => Said::Fail { reason },
                };
            }
        }
    }
    Ok((tokens, said))
}

/// The lease id that a text is, or that the token says that it is.
fn lease_id(text: &str) -> Result<LeaseId> {
    let digits = text.len() == LeaseId::TEXT_LEN && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match u128::from_str_radix(text, 16) {
        Ok(bits) if digits => Ok(LeaseId::from_bytes(bits.to_be_bytes())),
        _ => text.parse().map(|token: LeaseToken| token.lease_id()),
    }
}
