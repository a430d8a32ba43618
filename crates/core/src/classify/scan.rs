//! Every string of a JSON text, however nested and however broken.
//!
//! The scanner is not a validator: it reads a truncated or malformed text as far as it goes, in one
//! pass, without recursion over the input, and hands each string to the fold. A string that holds a
//! JSON object is read as one, [`MAX_UNWRAP`] levels deep, since proxies wrap the answer of the node
//! behind them. Strings of encoded data are passed over: nothing in them is text. Members named
//! `result` of the outermost object are never read: what a contract returned is not an error text.

use std::borrow::Cow;

use memchr::memmem;
use smallvec::SmallVec;

use super::envelope::closing_quote;
use super::fold::Folded;

/// How often JSON inside a string is read as JSON.
const MAX_UNWRAP: u8 = 5;
/// Deepest nesting that is told apart; below it strings belong to the last object told apart.
const MAX_DEPTH: usize = 64;
/// Most objects whose code is kept.
const MAX_OBJECTS: usize = 64;
/// Most bytes of a decoded reason that are read.
const MAX_REASON: usize = 512;
/// Longest string that is read as a number or a duration.
const MAX_NAMED: usize = 24;
/// Most strings, numbers and brackets that are looked at.
const MAX_TOKENS: u32 = 64 * 1024;
/// Most named numbers that are kept.
const MAX_FACTS: usize = 32;

/// An object of the answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Object {
    /// The object that it stands in; the first one stands in itself.
    parent: u16,
    /// Its `code`, as a number or a number in quotes.
    code: Option<i64>,
}

/// A number under a name, as in `data.rate.backoff_seconds`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fact {
    /// The name, lower case without `_` and `-`, cut to the length of the array.
    name: [u8; 24],
    len: u8,
    /// The value; negative numbers are not kept.
    pub(super) value: f64,
}

impl Fact {
    pub(super) fn name(&self) -> &[u8] {
        &self.name[..usize::from(self.len)]
    }
}

/// What an answer says: its strings, the codes beside them, and named numbers.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) folded: Folded,
    objects: SmallVec<[Object; 4]>,
    pub(super) facts: SmallVec<[Fact; 4]>,
    /// Whether any `data` string is encoded data with content (longer than `0x`).
    pub(super) encoded_data: bool,
    /// Whether any of them begins with the selector of `Error(string)` or `Panic(uint256)`.
    pub(super) solidity_data: bool,
    tokens: u32,
}

impl Said {
    /// The code that goes with a segment: its own object's, else that of the nearest one around it.
    pub(super) fn code(&self, object: u16) -> Option<i64> {
        let mut at = object;
        loop {
            let o = self.objects.get(usize::from(at))?;
            if o.code.is_some() || o.parent == at {
                return o.code;
            }
            at = o.parent;
        }
    }

    /// The outermost code.
    pub(super) fn outer_code(&self) -> Option<i64> {
        self.objects.first().and_then(|o| o.code)
    }

    /// Whether any object has this code.
    pub(super) fn has_code(&self, code: i64) -> bool {
        self.objects.iter().any(|o| o.code == Some(code))
    }

    /// Reads text that is no JSON.
    pub(super) fn read_text(&mut self, text: &[u8]) {
        let object = self.open(0);
        self.string(text, object, 0, b"");
    }

    /// Reads JSON, whole or broken.
    pub(super) fn read_json(&mut self, json: &[u8]) {
        self.json(json, 0, 0);
    }

    fn open(&mut self, parent: u16) -> u16 {
        if self.objects.len() < MAX_OBJECTS {
            self.objects.push(Object { parent, code: None });
        }
        // Bounded by MAX_OBJECTS.
        u16::try_from(self.objects.len() - 1).unwrap_or(u16::MAX)
    }

    fn json(&mut self, json: &[u8], unwrapped: u8, parent: u16) {
        let root = self.open(parent);
        let mut stack: SmallVec<[u16; 16]> = SmallVec::new();
        let mut beyond = 0_usize;
        let mut current = root;
        let mut first = true;
        let mut key: &[u8] = b"";
        let mut depth = 0_usize;
        // Members called `result` of the outermost object hold no text of the endpoint's.
        let mut skip_from: Option<usize> = None;
        let mut i = 0;
        while i < json.len() && self.folded.room() > 0 && self.tokens < MAX_TOKENS {
            self.tokens += 1;
            match json[i] {
                b'{' | b'[' => {
                    if stack.len() < MAX_DEPTH {
                        stack.push(current);
                        if json[i] == b'{' {
                            if !first {
                                current = self.open(current);
                            }
                            first = false;
                        }
                    } else {
                        beyond += 1;
                    }
                    depth += 1;
                    i += 1;
                }
                b'}' | b']' => {
                    if beyond > 0 {
                        beyond -= 1;
                    } else if let Some(outer) = stack.pop() {
                        current = outer;
                    }
                    depth = depth.saturating_sub(1);
                    key = b"";
                    i += 1;
                }
                b',' => {
                    if skip_from.is_some_and(|d| depth <= d) {
                        skip_from = None;
                    }
                    i += 1;
                }
                b'"' => {
                    let end = closing_quote(json, i + 1).unwrap_or(json.len());
                    let inner = &json[i + 1..end.min(json.len())];
                    i = (end + 1).min(json.len());
                    let after = json[i..]
                        .iter()
                        .position(|c| !c.is_ascii_whitespace())
                        .map_or(json.len(), |n| i + n);
                    if json.get(after) == Some(&b':') {
                        key = inner;
                        i = after + 1;
                        if depth == 1 && unwrapped == 0 && key == b"result" {
                            skip_from = Some(1);
                        }
                    } else if skip_from.is_none() {
                        self.member(inner, current, unwrapped, key);
                    }
                }
                b'-' | b'0'..=b'9' => {
                    let end = json[i..]
                        .iter()
                        .position(|c| !matches!(c, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
                        .map_or(json.len(), |n| i + n);
                    if skip_from.is_none() {
                        self.numeral(&json[i..end], current, key);
                    }
                    i = end;
                }
                _ => i += 1,
            }
        }
    }

    fn member(&mut self, inner: &[u8], object: u16, unwrapped: u8, key: &[u8]) {
        // Only a string with an escape is copied.
        if inner.contains(&b'\\') {
            let text = unescape(&inner[..inner.len().min(6 * self.folded.room())]);
            self.string(&text, object, unwrapped, key);
        } else {
            self.string(inner, object, unwrapped, key);
        }
    }

    fn string(&mut self, text: &[u8], object: u16, unwrapped: u8, key: &[u8]) {
        if is_data(text) {
            if key != b"message" {
                self.encoded_data |= text.len() > 2;
                self.encoded(text, object);
            }
            if text.len() <= 18 {
                self.numeral(text, object, key);
            }
            return;
        }
        // "Reverted 0x08c379a0…"
        if let Some(at) = memmem::find(&text[..text.len().min(64)], b" 0x") {
            self.encoded(&text[at + 1..], object);
        }
        if key == b"code" && text.len() <= 12 {
            self.numeral(text, object, key);
        }
        if matches!(
            key,
            b"jsonrpc" | b"id" | b"method" | b"trace_id" | b"request_id" | b"requestId"
        ) {
            return;
        }
        self.named(text, key);
        match embedded_json(text).filter(|_| unwrapped < MAX_UNWRAP) {
            Some(at) => {
                self.folded.push(&text[..at], object);
                self.json(&text[at..], unwrapped + 1, object);
            }
            None => self.folded.push(text, object),
        }
    }

    /// Notes the data of a revert, and reads its reason where it is a plain sentence.
    fn encoded(&mut self, data: &[u8], object: u16) {
        let selector = data.get(2..10).unwrap_or(b"");
        let is = |s: &[u8]| selector.eq_ignore_ascii_case(s);
        if is(b"4e487b71") || is(b"08c379a0") {
            self.solidity_data = true;
        }
        if is(b"08c379a0") {
            // Offset and length are two words of 64 digits; the reason follows them.
            let reason: SmallVec<[u8; 128]> = data
                .get(138..)
                .unwrap_or(b"")
                .as_chunks::<2>()
                .0
                .iter()
                .take(MAX_REASON)
                .map_while(|pair| {
                    std::str::from_utf8(pair)
                        .ok()
                        .and_then(|p| u8::from_str_radix(p, 16).ok())
                })
                .take_while(|c| (0x20..0x7f).contains(c))
                .collect();
            self.folded.push_reason(&reason, object);
        }
    }

    /// A number or a duration in quotes under a name: `"30"`, `"707.5ms"`.
    fn named(&mut self, text: &[u8], key: &[u8]) {
        if key.is_empty() || text.len() > MAX_NAMED || !text.first().is_some_and(u8::is_ascii_digit)
        {
            return;
        }
        if text.iter().all(|c| c.is_ascii_digit() || *c == b'.') {
            self.fact(key, text);
        } else if let Some(wait) = std::str::from_utf8(text)
            .ok()
            .and_then(super::wait::duration)
        {
            self.keep(key, wait.as_secs_f64());
        }
    }

    fn numeral(&mut self, token: &[u8], object: u16, key: &[u8]) {
        if key == b"code" {
            let parsed = std::str::from_utf8(token)
                .ok()
                .and_then(|t| t.parse::<i64>().ok());
            if let (Some(code), Some(o)) = (parsed, self.objects.get_mut(usize::from(object))) {
                o.code.get_or_insert(code);
            }
        } else {
            self.fact(key, token);
        }
    }

    fn fact(&mut self, key: &[u8], token: &[u8]) {
        if key.is_empty() || self.facts.len() >= MAX_FACTS {
            return;
        }
        let Some(value) = std::str::from_utf8(token).ok().and_then(|t| {
            t.strip_prefix("0x").map_or_else(
                || t.parse::<f64>().ok(),
                |h| u64::from_str_radix(h, 16).ok().map(|v| v as f64),
            )
        }) else {
            return;
        };
        if !value.is_finite() || value < 0.0 {
            return;
        }
        self.keep(key, value);
    }

    fn keep(&mut self, key: &[u8], value: f64) {
        if self.facts.len() >= MAX_FACTS {
            return;
        }
        let mut name = [0_u8; 24];
        let mut len = 0_u8;
        for c in key
            .iter()
            .filter(|c| !matches!(c, b'_' | b'-'))
            .take(name.len())
        {
            name[usize::from(len)] = c.to_ascii_lowercase();
            len += 1;
        }
        self.facts.push(Fact { name, len, value });
    }
}

/// `0x` and nothing but hexadecimal digits, judged by its beginning.
fn is_data(text: &[u8]) -> bool {
    text.len() >= 2
        && text[0] == b'0'
        && (text[1] | 0x20) == b'x'
        && text[2..].iter().take(64).all(u8::is_ascii_hexdigit)
        && memchr::memchr(b' ', text).is_none()
}

/// Where a JSON object begins inside a text.
fn embedded_json(text: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'{', text)
        .take(8)
        .find(|&at| text[at + 1..].iter().find(|c| !c.is_ascii_whitespace()) == Some(&b'"'))
}

/// Decodes the escapes of a JSON string; what is no escape stays as it is.
fn unescape(raw: &[u8]) -> Cow<'_, [u8]> {
    let mut out = Vec::with_capacity(raw.len());
    let mut i = 0;
    while i < raw.len() {
        if raw[i] != b'\\' {
            out.push(raw[i]);
            i += 1;
            continue;
        }
        match raw.get(i + 1) {
            Some(b'n' | b'r' | b't' | b'b' | b'f') => out.push(b' '),
            Some(b'u') => {
                let digits = raw
                    .get(i + 2..i + 6)
                    .and_then(|d| std::str::from_utf8(d).ok());
                let unit = digits.and_then(|d| u32::from_str_radix(d, 16).ok());
                // Half of a surrogate pair is no character; no rule needs one.
                let c = unit.and_then(char::from_u32).unwrap_or(' ');
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                i += if unit.is_some() { 4 } else { 0 };
            }
            Some(&c) => out.push(c),
            None => {}
        }
        i += 2;
    }
    Cow::Owned(out)
}
