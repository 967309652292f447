//! A stream, its name resolved once: what appends to it.

use crate::answer::Answer;
use crate::function::functions;
use crate::home::{COUNT, Home, SCRATCH_ROWS};
use crate::js::{Failure, Js, Outcome, Value};
use crate::rows::{self, WORDS};
use crate::scan::end_of_value;
use rheo::handle::{Batch, OwnedAppendOptions};
use rheo_core::{Append, AppendOptions, Encoding, Error, ErrorCode, Event, Result, Stream, Timestamp};
use std::rc::Rc;

/// What is kept of the memory that texts are read into.
const KEPT_BYTES: usize = 1 << 20;
/// How many values stand for the options of an append: id, key, type, metadata, timestamp, partition.
const OPTIONS: usize = 6;
/// How many stand for an item: its payload, whether that is JSON, and its options.
const ITEM: usize = 2 + OPTIONS;

functions! {
    StreamTable over Stream;

    /// Appends one payload of JSON text with no options; the event's row is then in the scratch memory.
    AppendText = "append" "(text: string): void" (home, stream, js, arguments) {
        let mut buffer = home.buffer.borrow_mut();
        buffer.clear();
        js.read_string(arguments[0], &mut buffer)?;
        let event = stream.append(&Append::json(&*buffer));
        buffer.shrink_to(KEPT_BYTES);
        let event = event?;
        if !home.with_scratch(|words| rows::put_position(words, &event)) {
            return Err(no_uuid().into());
        }
        js.undefined()
    }

    /// Appends one payload with options.
    AppendOne = "appendOne"
        "(payload: string | Uint8Array, isJson: boolean, id?: string, key?: string, type?: string, metadata?: string, timestamp?: bigint, partition?: number): Rows"
        (home, stream, js, arguments)
    {
        let items = items_of(js, &arguments[..ITEM])?;
        let event = append_one(stream, &items)?;
        rows::to_scratch(home, js, [(&event, None)].into_iter())
    }

    /// The same on a thread of ours.
    AppendOneLater = "appendOneLater"
        "(payload: string | Uint8Array, isJson: boolean, id?: string, key?: string, type?: string, metadata?: string, timestamp?: bigint, partition?: number): Promise<RowList>"
        (home, stream, js, arguments)
    {
        let (items, stream) = (items_of(js, &arguments[..ITEM])?, stream.clone());
        home.submit(js, move || append_one(&stream, &items).map(|event| Answer::Events(vec![event], None)))
    }

    /// Appends the elements of a list of JSON values with no options. Their rows are in the scratch memory, or in what is returned.
    AppendList = "appendList" "(list: string, count: number): ArrayBuffer | undefined" (home, stream, js, arguments) {
        let mut buffer = home.buffer.borrow_mut();
        buffer.clear();
        js.read_string(arguments[0], &mut buffer)?;
        let given = append_list(home, js, stream, &buffer, js.to_f64(arguments[1])? as usize);
        buffer.shrink_to(KEPT_BYTES);
        given
    }

    /// Appends items, each given by as many values as `appendOne` takes, under shared options.
    AppendItems = "appendItems" "(items: unknown[], shared: unknown[]): Rows" (home, stream, js, arguments) {
        let (items, shared) = items_and_shared(js, arguments[0], arguments[1])?;
        let events = stream.append_batch(items.items(), &shared.as_options())?;
        rows::to_scratch(home, js, events.iter().map(|event| (event, None)))
    }

    /// The same on a thread of ours.
    AppendItemsLater = "appendItemsLater" "(items: unknown[], shared: unknown[]): Promise<RowList>"
        (home, stream, js, arguments)
    {
        let ((items, shared), stream) = (items_and_shared(js, arguments[0], arguments[1])?, stream.clone());
        home.submit(js, move || {
            stream.append_batch(items.items(), &shared.as_options()).map(|events| Answer::Events(events, None))
        })
    }
}

fn append_one(stream: &Stream, items: &Batch) -> Result<Event> {
    match items.items() {
        [item] => stream.append(item),
        items => {
            Err(Error::new(ErrorCode::Internal, format!("{} items instead of one; please report it", items.len())))
        }
    }
}

/// Appends the elements of a JSON list and writes their rows, with where each payload lies in the list.
fn append_list(home: &Rc<Home>, js: Js, stream: &Stream, list: &[u8], count: usize) -> Outcome<Value> {
    let mut items = Vec::with_capacity(count);
    let mut at = 1;
    while at < list.len() && list[at] != b']' {
        let end = end_of_value(list, at).ok_or_else(|| broken("the list does not end"))?;
        items.push(Append::json(&list[at..end]));
        at = end + usize::from(list.get(end) == Some(&b','));
    }
    if items.len() != count {
        return Err(broken(&format!("{count} payloads are {} in the list", items.len())).into());
    }
    let events = stream.append_batch(&items, &AppendOptions::default())?;
    let write = |words: &mut [i32]| {
        let is_ascii = list.is_ascii();
        let (mut position, mut all) = (1, true);
        for ((event, item), row) in events.iter().zip(&items).zip(words.chunks_exact_mut(WORDS)) {
            let length = if is_ascii { item.payload.len() } else { rows::utf16_len(item.payload) };
            all &= rows::put_position(row, event);
            rows::put_payload(row, position, length);
            position += length + 1;
        }
        if all { Ok(()) } else { Err(no_uuid()) }
    };
    home.set_head(COUNT, count as i32);
    if count <= SCRATCH_ROWS {
        home.with_scratch(|words| write(words))?;
        return js.undefined();
    }
    let words = count * WORDS;
    let (memory, start) = js.array_buffer(words * size_of::<i32>())?;
    // SAFETY: the memory is new, so nobody else uses it, and has so many words.
    write(unsafe { std::slice::from_raw_parts_mut(start, words) })?;
    Ok(memory)
}

/// Events without an id of their own get a UUID, on every backend.
#[cold]
fn no_uuid() -> Error {
    broken("the backend made an id that is no UUID")
}

#[cold]
fn broken(why: &str) -> Error {
    Error::new(ErrorCode::Internal, format!("{why}; please report it"))
}

fn items_and_shared(js: Js, items: Value, shared: Value) -> Outcome<(Batch, OwnedAppendOptions)> {
    Ok((items_of(js, &elements(js, items)?)?, options_of(js, &elements(js, shared)?)?))
}

fn elements(js: Js, array: Value) -> Outcome<Vec<Value>> {
    (0..js.length(array)?).map(|index| js.element(array, index)).collect()
}

/// Copies what is to be appended.
fn items_of(js: Js, values: &[Value]) -> Outcome<Batch> {
    let mut items = Batch::new();
    let mut text = Vec::new();
    for (index, item) in values.chunks_exact(ITEM).enumerate() {
        let options = options_of(js, &item[2..])?;
        let encoding = if js.to_bool(item[1])? { Encoding::Json } else { Encoding::Bytes };
        let mut push = |payload: &[u8]| items.push(&Append { payload, encoding, options: options.as_options() });
        let pushed = if js.is_string(item[0])? {
            text.clear();
            js.read_string(item[0], &mut text)?;
            push(&text)
        } else {
            js.with_bytes(item[0], push)?
        };
        pushed.map_err(|error| match values.len() {
            ITEM => error,
            _ => Error::new(error.code(), format!("item {index}: {}", error.message())),
        })?;
    }
    Ok(items)
}

fn options_of(js: Js, values: &[Value]) -> Outcome<OwnedAppendOptions> {
    let mut options = OwnedAppendOptions::new();
    let [id, key, event_type, metadata, timestamp, partition] = *values else { return Ok(options) };
    if let Some(id) = js.to_optional_text(id)? {
        options.set_id(&id);
    }
    if let Some(key) = js.to_optional_text(key)? {
        options.set_key(&key);
    }
    if let Some(event_type) = js.to_optional_text(event_type)? {
        options.set_type(&event_type);
    }
    if let Some(metadata) = js.to_optional_text(metadata)? {
        options.set_metadata(&metadata);
    }
    if js.is_given(timestamp)? {
        options.timestamp = Some(Timestamp::from_micros(js.to_i64(timestamp)?));
    }
    if js.is_given(partition)? {
        options.partition = Some(partition_of(js.to_f64(partition)?)?);
    }
    Ok(options)
}

fn partition_of(number: f64) -> Outcome<u32> {
    if number >= 0.0 && number <= f64::from(u32::MAX) {
        return Ok(number as u32);
    }
    let message = format!("partition is {number}; partitions are numbered from 0");
    Err(Failure::Rheo(Error::new(ErrorCode::InvalidPartition, message)))
}
