//! JSON to Python's values, at access.
//!
//! Written here because no parser to be had keeps integers of any size exact, takes a lone surrogate that another language
//! wrote, and builds Python's objects without a tree of its own in between. It takes what RFC 8259 takes, nothing more.

use crate::encode::MAX_DEPTH;
use crate::errors::invalid;
use crate::scan::plain_len;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use std::cell::RefCell;

/// The value of a JSON text.
///
/// # Errors
/// `invalid_argument` with the place of the fault; `what` says whose text it is.
pub fn json<'py>(py: Python<'py>, what: &str, text: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let fault = |fault: Fault| match fault {
        Fault::At(place, wanted) => {
            invalid(py, format!("{what} is tagged json but is none: at byte {place} there should be {wanted}"))
        }
        Fault::Python(error) => error,
    };
    let text = std::str::from_utf8(text).map_err(|error| fault(Fault::At(error.valid_up_to(), "UTF-8")))?;
    KEYS.with(|keys| {
        // Taken already where collecting garbage in the middle of decoding ran code that decodes too.
        let mut keys = keys.try_borrow_mut().ok();
        Parser { py, text, at: 0, keys: keys.as_deref_mut() }.document()
    })
    .map_err(fault)
}

enum Fault {
    /// The place, and what should be there.
    At(usize, &'static str),
    Python(PyErr),
}

impl From<PyErr> for Fault {
    fn from(error: PyErr) -> Fault {
        Fault::Python(error)
    }
}

type Parsed<T> = Result<T, Fault>;

struct Parser<'a, 'py> {
    py: Python<'py>,
    text: &'a str,
    at: usize,
    keys: Option<&'a mut Keys>,
}

impl<'a, 'py> Parser<'a, 'py> {
    fn document(&mut self) -> Parsed<Bound<'py, PyAny>> {
        let value = self.value(0)?;
        self.skip_space();
        if self.at < self.text.len() { Err(Fault::At(self.at, "the end")) } else { Ok(value) }
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    #[inline]
    fn next_is(&mut self, byte: u8) -> bool {
        self.skip_space();
        let is = self.peek() == Some(byte);
        self.at += usize::from(is);
        is
    }

    fn value(&mut self, depth: usize) -> Parsed<Bound<'py, PyAny>> {
        self.skip_space();
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", PyBool::new(self.py, true).to_owned().into_any()),
            Some(b'f') => self.word("false", PyBool::new(self.py, false).to_owned().into_any()),
            Some(b'n') => self.word("null", self.py.None().into_bound(self.py)),
            _ => Err(Fault::At(self.at, "a value")),
        }
    }

    fn word(&mut self, word: &'static str, value: Bound<'py, PyAny>) -> Parsed<Bound<'py, PyAny>> {
        if !self.text[self.at..].starts_with(word) {
            return Err(Fault::At(self.at, "a value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn object(&mut self, depth: usize) -> Parsed<Bound<'py, PyAny>> {
        self.enter(depth)?;
        let dict = PyDict::new(self.py);
        if self.next_is(b'}') {
            return Ok(dict.into_any());
        }
        loop {
            self.skip_space();
            let key = self.key()?;
            if !self.next_is(b':') {
                return Err(Fault::At(self.at, "a colon"));
            }
            let value = self.value(depth + 1)?;
            dict.set_item(key, value)?;
            if self.next_is(b'}') {
                return Ok(dict.into_any());
            }
            if !self.next_is(b',') {
                return Err(Fault::At(self.at, "a comma or a closing brace"));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Parsed<Bound<'py, PyAny>> {
        self.enter(depth)?;
        let mut items = Vec::new();
        if !self.next_is(b']') {
            loop {
                items.push(self.value(depth + 1)?);
                if self.next_is(b']') {
                    break;
                }
                if !self.next_is(b',') {
                    return Err(Fault::At(self.at, "a comma or a closing bracket"));
                }
            }
        }
        Ok(PyList::new(self.py, items)?.into_any())
    }

    /// Goes past an opening bracket.
    fn enter(&mut self, depth: usize) -> Parsed<()> {
        if depth == MAX_DEPTH {
            return Err(Fault::At(self.at, "no deeper level: 200 are taken"));
        }
        self.at += 1;
        Ok(())
    }

    fn number(&mut self) -> Parsed<Bound<'py, PyAny>> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        let whole = self.at;
        let digits = self.digits()?;
        if digits > 1 && self.text.as_bytes()[whole] == b'0' {
            return Err(Fault::At(whole, "a number without leading zeros"));
        }
        let mut is_whole = true;
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
            is_whole = false;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
            is_whole = false;
        }
        let text = &self.text[start..self.at];
        if !is_whole {
            let number: f64 = text.parse().expect("JSON's numbers are Rust's");
            return Ok(PyFloat::new(self.py, number).into_any());
        }
        match text.parse::<i64>() {
            Ok(number) => Ok(number.into_pyobject(self.py).map_err(PyErr::from)?.into_any()),
            // `int` of a text of any length, but for the limit that Python has against attacks.
            Err(_) => {
                let number = self.py.get_type::<PyInt>().call1((text,));
                number.map_err(|_| Fault::At(start, "no more digits than sys.get_int_max_str_digits() allows"))
            }
        }
    }

    /// Goes past digits, at least one, and says how many.
    fn digits(&mut self) -> Parsed<usize> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err(Fault::At(self.at, "a digit")) } else { Ok(self.at - start) }
    }

    fn string(&mut self) -> Parsed<Bound<'py, PyAny>> {
        let text = match self.raw_string()? {
            Raw::Plain(text) => PyString::new(self.py, text),
            Raw::Escaped(text) => self.unescaped(text)?,
        };
        Ok(text.into_any())
    }

    fn key(&mut self) -> Parsed<Bound<'py, PyString>> {
        match self.raw_string()? {
            Raw::Plain(text) => Ok(match &mut self.keys {
                Some(keys) => keys.get(self.py, text),
                None => PyString::new(self.py, text),
            }),
            Raw::Escaped(text) => self.unescaped(text),
        }
    }

    /// Goes past a string and gives what is between its quotes.
    fn raw_string(&mut self) -> Parsed<Raw<'a>> {
        if self.peek() != Some(b'"') {
            return Err(Fault::At(self.at, "a string"));
        }
        let start = self.at + 1;
        let bytes = self.text.as_bytes();
        let mut is_plain = true;
        let mut at = start;
        loop {
            at += plain_len(&bytes[at..]);
            match bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    is_plain = false;
                    // What is escaped is a quote at most; a multibyte character goes on plainly.
                    at = bytes.len().min(at + 2);
                }
                Some(_) => return Err(Fault::At(at, "an escaped control character")),
                None => return Err(Fault::At(bytes.len(), "a closing quote")),
            }
        }
        self.at = at + 1;
        let text = &self.text[start..at];
        Ok(if is_plain { Raw::Plain(text) } else { Raw::Escaped(text) })
    }

    /// What a string with escapes says.
    #[cold]
    fn unescaped(&self, escaped: &str) -> Parsed<Bound<'py, PyString>> {
        let start = escaped.as_ptr().addr() - self.text.as_ptr().addr();
        let fault = |rest: &str| Fault::At(start + escaped.len() - rest.len(), "an escape that JSON has");
        // As UTF-8, but for lone surrogates, which Python's text holds and decodes by `surrogatepass`.
        let mut bytes = Vec::with_capacity(escaped.len());
        let mut is_unicode = true;
        let mut rest = escaped;
        while let Some(place) = rest.find('\\') {
            bytes.extend(&rest.as_bytes()[..place]);
            rest = &rest[place..];
            let Some(escape) = rest.as_bytes().get(1) else { return Err(fault(rest)) };
            let mut len = 2;
            match escape {
                b'"' | b'\\' | b'/' => bytes.push(*escape),
                b'b' => bytes.push(8),
                b'f' => bytes.push(12),
                b'n' => bytes.push(b'\n'),
                b'r' => bytes.push(b'\r'),
                b't' => bytes.push(b'\t'),
                b'u' => {
                    let unit = code_unit(rest).ok_or_else(|| fault(rest))?;
                    len = 6;
                    let low = || rest.get(6..).and_then(code_unit).filter(|low| (0xdc00..0xe000).contains(low));
                    let code = match (unit, (0xd800..0xdc00).contains(&unit).then(low).flatten()) {
                        (high, Some(low)) => {
                            len = 12;
                            0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)
                        }
                        (unit, None) => unit,
                    };
                    match char::from_u32(code) {
                        Some(character) => bytes.extend(character.encode_utf8(&mut [0; 4]).as_bytes()),
                        None => {
                            is_unicode = false;
                            bytes.extend(
                                [0xe0 | (code >> 12), 0x80 | (code >> 6 & 0x3f), 0x80 | (code & 0x3f)].map(|b| b as u8),
                            );
                        }
                    }
                }
                _ => return Err(fault(rest)),
            }
            rest = &rest[len..];
        }
        bytes.extend(rest.as_bytes());
        if is_unicode {
            let text = std::str::from_utf8(&bytes).expect("pieces of text and encoded characters");
            return Ok(PyString::new(self.py, text));
        }
        let text = self.py.get_type::<PyString>().call1((bytes.as_slice(), "utf-8", "surrogatepass"))?;
        Ok(text.cast_into().map_err(PyErr::from)?)
    }
}

/// What is between the quotes of a string.
enum Raw<'a> {
    Plain(&'a str),
    Escaped(&'a str),
}

/// The code unit of an escape that begins here, such as `\u00e9`.
fn code_unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

/// The keys that this thread met lately: the events of a stream have the same ones, and a text that is there need not be made.
struct Keys([Option<(Box<str>, Py<PyString>)>; Keys::PLACES]);

thread_local! {
    static KEYS: RefCell<Keys> = const { RefCell::new(Keys([const { None }; Keys::PLACES])) };
}

impl Keys {
    const PLACES: usize = 256;
    /// Longer keys are seldom met again, and would cost memory here.
    const MAX_LEN: usize = 48;

    #[inline]
    fn get<'py>(&mut self, py: Python<'py>, text: &str) -> Bound<'py, PyString> {
        if text.len() > Keys::MAX_LEN {
            return PyString::new(py, text);
        }
        let place = &mut self.0[Keys::place(text)];
        match place {
            Some((known, key)) if **known == *text => key.bind(py).clone(),
            _ => {
                let key = PyString::new(py, text);
                *place = Some((text.into(), key.clone().unbind()));
                key
            }
        }
    }

    #[inline]
    fn place(text: &str) -> usize {
        let hash =
            text.bytes().fold(text.len() as u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        (hash ^ hash >> 15) as usize % Keys::PLACES
    }
}
