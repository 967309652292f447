//! A group, its names resolved once: what fetches from it and settles its leases.

use crate::answer::{Answer, Claimed, NEVER, due_ms};
use crate::function::functions;
use crate::js::{Js, Outcome, Value};
use crate::rows::{self, TOKEN_WORDS, WORDS};
use rheo::handle::{OwnedFetchOptions, json, number, settle_tokens, wait};
use rheo_core::backend::Binding;
use rheo_core::{
    Error, ErrorCode, Group, Instance, Lease, LeaseContext, LeaseId, LeaseToken, Outcome as Said, Producer, Result,
    RetryOptions, Timestamp,
};
use std::cell::RefCell;
use std::sync::Arc;

/// Through whom leases are settled.
#[derive(Clone)]
pub(crate) enum Settler {
    /// Their group.
    Group(Group),
    /// The producer that they came from, whose slots are free then.
    Producer(Producer),
}

impl Settler {
    fn group(&self) -> &Group {
        match self {
            Settler::Group(group) => group,
            Settler::Producer(producer) => producer.group(),
        }
    }

    /// Gives back what did not reach who asked for it. What cannot be given back expires.
    pub(crate) fn give_back(&self, leases: &[Lease]) {
        match self {
            Settler::Group(group) => drop(group.release_many(leases)),
            Settler::Producer(producer) => drop(producer.complete(leases, &vec![Said::Release; leases.len()])),
        }
    }
}

/// A group of an instance.
pub(crate) struct GroupData {
    db: Instance,
    group: Group,
    settler: Settler,
    /// That of the last leases: what the backend noted there spares a settle the look-up of names.
    context: RefCell<Arc<LeaseContext>>,
    leases: RefCell<Vec<Lease>>,
}

impl GroupData {
    pub(crate) fn new(db: Instance, settler: Settler) -> GroupData {
        let group = settler.group().clone();
        let consumer = "".into();
        let context = LeaseContext::new(group.stream().into(), group.name().into(), consumer, Binding::default());
        GroupData { db, group, settler, context: RefCell::new(context), leases: RefCell::default() }
    }

    /// The tokens that are in the first rows of these words, each so many words long.
    pub(crate) fn tokens(&self, js: Js, words: Value, count: usize, length: usize) -> Outcome<Vec<LeaseToken>> {
        let context = self.context.borrow();
        js.with_words(words, |words| {
            words
                .chunks_exact(length.clamp(TOKEN_WORDS, WORDS))
                .take(count)
                .map(|row| rows::token(row, &context))
                .collect()
        })
    }

    pub(crate) fn note(&self, leases: &[Lease]) {
        if let Some(lease) = leases.first() {
            let context = lease.token().context();
            let mut noted = self.context.borrow_mut();
            if !Arc::ptr_eq(&noted, context) {
                *noted = Arc::clone(context);
            }
        }
    }
}

/// How leases are settled.
#[derive(Clone)]
pub(crate) struct Settling {
    kind: i32,
    reason: String,
    /// The delay of a retry, the duration of a renewal.
    millis: Option<u64>,
}

const ACK: i32 = 0;
const RETRY: i32 = 1;
const REJECT: i32 = 2;
const RELEASE: i32 = 3;
const RENEW: i32 = 4;
const FAIL: i32 = 5;

impl Settling {
    /// From three arguments: the kind (0 ack, 1 retry, 2 reject, 3 release, 4 renew, 5 fail), a reason, milliseconds.
    pub(crate) fn new(js: Js, arguments: &[Value]) -> Outcome<Settling> {
        let kind = js.to_i32(arguments[0])?;
        if kind == ACK {
            return Ok(Settling { kind, reason: String::new(), millis: None });
        }
        let reason = js.to_optional_text(arguments[1])?.unwrap_or_default();
        let millis = if js.is_given(arguments[2])? {
            let what = if kind == RETRY { "delayMs" } else { "leaseMs" };
            Some(number(what, js.to_f64(arguments[2])? as i64)?)
        } else {
            None
        };
        Ok(Settling { kind, reason, millis })
    }

    fn retry(&self) -> RetryOptions<'_> {
        RetryOptions { reason: &self.reason, delay_ms: self.millis.unwrap_or(0) }
    }

    fn one(&self, settler: &Settler, token: &LeaseToken) -> Result<Answer> {
        match (settler, self.kind) {
            (Settler::Group(group), ACK) => group.ack(token),
            (Settler::Group(group), RETRY) => group.retry(token, self.retry()),
            (Settler::Group(group), REJECT) => group.reject(token, &self.reason),
            (Settler::Group(group), RELEASE) => group.release(token),
            (Settler::Producer(producer), ACK) => producer.ack(token),
            (Settler::Producer(producer), RETRY) => producer.retry(token, &self.reason, self.millis),
            (Settler::Producer(producer), REJECT) => producer.reject(token, &self.reason),
            (Settler::Producer(producer), RELEASE) => producer.release(token),
            (Settler::Producer(producer), FAIL) => producer.fail(token, &self.reason),
            (Settler::Group(_), FAIL) => {
                Err(Error::invalid("a group does not know what becomes of failures; a producer does"))
            }
            _ => return settler.group().renew_token(token, self.millis).map(Answer::Time),
        }
        .map(|()| Answer::Nothing)
    }

    fn many<L: AsRef<LeaseToken>>(&self, settler: &Settler, tokens: &[L]) -> Result<Vec<Result<()>>> {
        let group = settler.group();
        let producer = match settler {
            Settler::Producer(producer) => Some(producer),
            Settler::Group(_) => None,
        };
        let each = |settle: &dyn Fn(&LeaseToken) -> Result<()>| Ok(tokens.iter().map(|t| settle(t.as_ref())).collect());
        let results = match (producer, self.kind) {
            // Each waits as long as its own attempt says.
            (Some(producer), RETRY) if self.millis.is_none() => {
                return each(&|token| producer.retry(token, &self.reason, None));
            }
            (Some(producer), FAIL) => return each(&|token| producer.fail(token, &self.reason)),
            (_, ACK) => group.ack_many(tokens),
            (_, RETRY) => group.retry_many(tokens, self.retry()),
            (_, REJECT) => group.reject_many(tokens, &self.reason),
            _ => group.release_many(tokens),
        };
        if let Some(producer) = producer {
            let ids: Vec<LeaseId> = tokens.iter().map(|token| token.as_ref().lease_id()).collect();
            producer.confirm(&ids)?;
        }
        results
    }

    fn rows(&self, settler: &Settler, tokens: &[LeaseToken]) -> Result<Answer> {
        if self.kind == RENEW {
            return settler.group().renew_many(tokens, self.millis).map(Answer::Renewed);
        }
        self.many(settler, tokens).map(Answer::Settled)
    }

    /// By the texts of tokens, through a settler or, without one, whatever group they are of.
    pub(crate) fn texts(&self, db: &Instance, settler: Option<&Settler>, texts: &[String]) -> Result<Answer> {
        let texts = texts.iter().map(|text| Ok(&**text));
        if self.kind == RENEW {
            let renew = |tokens: &[&LeaseToken]| -> Result<Vec<Result<Timestamp>>> {
                match settler {
                    Some(settler) => settler.group().renew_many(tokens, self.millis),
                    None => db.renew_many(tokens, self.millis),
                }
            };
            return settle_tokens(texts, renew).map(Answer::Renewed);
        }
        let settle = |tokens: &[&LeaseToken]| match (settler, self.kind) {
            (Some(settler), _) => self.many(settler, tokens),
            (None, ACK) => db.ack_many(tokens),
            (None, RETRY) => db.retry_many(tokens, self.retry()),
            (None, REJECT) => db.reject_many(tokens, &self.reason),
            (None, _) => db.release_many(tokens),
        };
        settle_tokens(texts, settle).map(Answer::Settled)
    }
}

functions! {
    GroupTable over GroupData;

    /// Claims what is claimable, without waiting. Nothing: then the head of the scratch memory says when to look again.
    Fetch = "fetch" "(limit?: number, leaseMs?: number, consumerId?: string, partitions?: string): Rows | undefined"
        (home, data, js, arguments)
    {
        let options = fetch_options(js, arguments)?;
        let mut leases = data.leases.borrow_mut();
        let due = data.group.fetch_now_into(&options.as_options(), &mut leases)?;
        if leases.is_empty() {
            home.set_head(crate::home::DUE, due_ms(due));
            return js.undefined();
        }
        data.note(&leases);
        let given = rows::to_scratch(home, js, leases.iter().map(|lease| (lease.event(), Some(lease))));
        if given.is_err() {
            let _ = data.group.release_many(&leases);
        }
        // What is lent to a buffer keeps itself alive.
        leases.clear();
        leases.shrink_to(1024);
        given
    }

    /// The same on a thread of ours: rows, or in how many milliseconds to look again.
    FetchLater = "fetchLater"
        "(limit?: number, leaseMs?: number, consumerId?: string, partitions?: string): Promise<RowList | number>"
        (home, data, js, arguments)
    {
        let (options, group) = (fetch_options(js, arguments)?, data.group.clone());
        home.submit(js, move || {
            let mut leases = Vec::new();
            let due = group.fetch_now_into(&options.as_options(), &mut leases)?;
            Ok(Answer::Claimed(Claimed { settler: Settler::Group(group), leases, due: due_ms(due) }))
        })
    }

    /// Claims what is claimable, and blocks this thread until there is something or the wait is over. `check` is called now and
    /// then: when it cannot be, because the worker is being ended, the wait ends.
    FetchWaiting = "fetchWaiting"
        "(limit: number | undefined, leaseMs: number | undefined, consumerId: string | undefined, partitions: string | undefined, waitMs: number, check: () => void): Rows | undefined"
        (home, data, js, arguments)
    {
        let mut options = fetch_options(js, arguments)?;
        options.wait_ms = number("waitMs", js.to_f64(arguments[4])? as i64)?;
        let mut leases = Vec::new();
        let mut check = || {
            let ended = |_| Error::new(ErrorCode::Timeout, "the thread is being ended");
            js.invoke(arguments[5], &[]).map(drop).map_err(ended)
        };
        wait::fetch(&data.db, &data.group, &options.as_options(), &mut leases, &mut check)?;
        data.note(&leases);
        Answer::Claimed(Claimed { settler: data.settler.clone(), leases, due: NEVER }).into_js(home, js, true)
    }

    /// Settles the lease whose words are in the first row of the scratch memory.
    Settle = "settle" "(kind: number, reason?: string, millis?: number): bigint | undefined" (home, data, js, arguments) {
        let token = home.with_scratch(|words| rows::token(words, &data.context.borrow()));
        if js.to_i32(arguments[0])? == ACK
            && let Settler::Group(group) = &data.settler
        {
            group.ack(&token)?;
            return js.undefined();
        }
        Settling::new(js, arguments)?.one(&data.settler, &token)?.into_js(home, js, true)
    }

    /// The same on a thread of ours.
    SettleLater = "settleLater" "(kind: number, reason?: string, millis?: number): Promise<bigint | undefined>"
        (home, data, js, arguments)
    {
        let token = home.with_scratch(|words| rows::token(words, &data.context.borrow()));
        let (settling, settler) = (Settling::new(js, arguments)?, data.settler.clone());
        home.submit(js, move || settling.one(&settler, &token))
    }

    /// Settles the leases of so many rows, which are so many words long. A list if one failed, or if expiries are the answer.
    SettleMany = "settleMany"
        "(kind: number, reason: string | undefined, millis: number | undefined, words: Int32Array, count: number, length: number): unknown[] | undefined"
        (home, data, js, arguments)
    {
        let settling = Settling::new(js, arguments)?;
        let tokens = tokens(data, js, arguments)?;
        settling.rows(&data.settler, &tokens)?.into_js(home, js, true)
    }

    /// The same on a thread of ours.
    SettleManyLater = "settleManyLater"
        "(kind: number, reason: string | undefined, millis: number | undefined, words: Int32Array, count: number, length: number): Promise<unknown[] | undefined>"
        (home, data, js, arguments)
    {
        let settling = Settling::new(js, arguments)?;
        let (tokens, settler) = (tokens(data, js, arguments)?, data.settler.clone());
        home.submit(js, move || settling.rows(&settler, &tokens))
    }

    /// Settles leases by the texts of their tokens; those of other groups are stale.
    SettleTexts = "settleTexts"
        "(kind: number, reason: string | undefined, millis: number | undefined, tokens: string[]): unknown[] | undefined"
        (home, data, js, arguments)
    {
        let texts = texts(js, arguments[3])?;
        Settling::new(js, arguments)?.texts(&data.db, Some(&data.settler), &texts)?.into_js(home, js, true)
    }

    /// The same on a thread of ours.
    SettleTextsLater = "settleTextsLater"
        "(kind: number, reason: string | undefined, millis: number | undefined, tokens: string[]): Promise<unknown[] | undefined>"
        (home, data, js, arguments)
    {
        let (settling, texts) = (Settling::new(js, arguments)?, texts(js, arguments[3])?);
        let (db, settler) = (data.db.clone(), data.settler.clone());
        home.submit(js, move || settling.texts(&db, Some(&settler), &texts))
    }

    /// The text of the token of the lease in the first row of the scratch memory.
    Token = "token" "(): string" (home, data, js, arguments) {
        let token = home.with_scratch(|words| rows::token(words, &data.context.borrow()));
        js.string(&token.to_string())
    }

    /// Who the leases of the last fetch belong to.
    ConsumerId = "consumerId" "(): string" (home, data, js, arguments) {
        js.string(data.context.borrow().consumer_id())
    }

    /// Watches the group. Gives the number under which it is told of.
    Watch = "watch" "(partitions?: string): number" (home, data, js, arguments) {
        let partitions = partitions(js, arguments[0])?;
        let number = home.receiver().watch(|waker| data.group.watch(partitions.as_deref(), waker))?;
        js.number(f64::from(number))
    }
}

fn fetch_options(js: Js, arguments: &[Value]) -> Outcome<OwnedFetchOptions> {
    let mut options = OwnedFetchOptions::new();
    if js.is_given(arguments[0])? {
        options.limit = Some(number("limit", js.to_f64(arguments[0])? as i64)?);
    }
    if js.is_given(arguments[1])? {
        options.lease_ms = Some(number("leaseMs", js.to_f64(arguments[1])? as i64)?);
    }
    options.consumer_id = js.to_optional_text(arguments[2])?;
    options.partitions = partitions(js, arguments[3])?;
    Ok(options)
}

fn partitions(js: Js, value: Value) -> Outcome<Option<Vec<u32>>> {
    match js.to_optional_text(value)? {
        Some(text) => Ok(Some(json::partitions("partitions", &text)?)),
        None => Ok(None),
    }
}

fn tokens(data: &GroupData, js: Js, arguments: &[Value]) -> Outcome<Vec<LeaseToken>> {
    let (count, length) = (js.to_f64(arguments[4])? as usize, js.to_f64(arguments[5])? as usize);
    data.tokens(js, arguments[3], count, length)
}

pub(crate) fn texts(js: Js, array: Value) -> Outcome<Vec<String>> {
    (0..js.length(array)?).map(|index| js.to_text(js.element(array, index)?)).collect()
}
