//! What shape an answer has, before anyone looks at its words.
//!
//! Members are found by a skipping reader: one pass, no recursion, no allocation, and no judgement of
//! what stands inside the values, since an error is an error however badly it is written. Only a
//! result must be sound, and that is left to the check of the hot path. Stricter than that check in
//! one point: it tolerates an id in quotes, here it makes an answer malformed. The classifier is asked
//! only after the hot path has refused an answer, so the difference shows only in answers that are
//! classified afterwards.

use memchr::memchr2;
use smallvec::SmallVec;

use super::evidence::Evidence;
use crate::jsonrpc::{Reply, parse_reply};

/// Most members of a batch that are looked at.
const MAX_BATCH: usize = 10_000;

/// The shape of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shape<'a> {
    /// A good answer to one request: the bytes of its result.
    Good(&'a str),
    /// Every member of a batch has a good answer.
    GoodBatch,
    /// An error.
    Error {
        /// The bytes of the `error` member.
        error: &'a [u8],
        /// Whether it is an object without a result beside it.
        legal: bool,
        /// Whether the id is ours, and not null or missing.
        echoed: bool,
    },
    /// A result under an id that is not ours, or in an envelope that is not sound.
    Stray(&'a [u8]),
    /// JSON that is no answer, or two at once.
    NoAnswer {
        /// The text that may still explain it.
        text: &'a [u8],
        /// Whether it is an object, as of an HTTP API's own errors.
        object: bool,
    },
    /// Not one JSON value.
    NotJson,
}

#[derive(Clone, Copy, Default)]
struct Members<'a> {
    id: Option<&'a [u8]>,
    result: Option<&'a [u8]>,
    error: Option<&'a [u8]>,
}

/// Reads a body without BOM and outer white space.
pub(super) fn read<'a>(body: &'a [u8], ev: &Evidence<'_>) -> Shape<'a> {
    let batch = ev.method == Evidence::BATCH;
    let nothing = |object| Shape::NoAnswer { text: b"", object };
    match body.first() {
        Some(b'{') => match object(body) {
            None => Shape::NotJson,
            // One object for a batch: whatever it says, the members are missing.
            Some(m) if batch => match m.error.filter(|e| *e != b"null") {
                Some(error) => Shape::Error {
                    error,
                    legal: true,
                    echoed: false,
                },
                None => nothing(true),
            },
            Some(m) => single(body, &m, ev.request_id),
        },
        Some(b'[') => match elements(body) {
            None => Shape::NotJson,
            Some(list) if batch => members(&list, ev),
            Some(list) => match (list.len(), list.first()) {
                (1, Some(one)) => match object(one) {
                    Some(m) => single(one, &m, ev.request_id),
                    None => Shape::NoAnswer {
                        text: body,
                        object: false,
                    },
                },
                _ => nothing(false),
            },
        },
        Some(b'"') if value_end(body, 0) == Some(body.len()) => Shape::NoAnswer {
            text: body,
            object: false,
        },
        Some(b'0'..=b'9' | b'-' | b't' | b'f' | b'n') if is_scalar(body) => nothing(false),
        _ => Shape::NotJson,
    }
}

fn is_scalar(body: &[u8]) -> bool {
    body.len() < 64 && serde_json::from_slice::<serde_json::Value>(body).is_ok()
}

fn single<'a>(text: &'a [u8], m: &Members<'a>, id: u64) -> Shape<'a> {
    let error = m.error.filter(|e| *e != b"null");
    let ours = m.id.is_some_and(|i| is_number(i, id));
    match (m.result, error) {
        // The check of the hot path knows more ways to be malformed: a wrong version, a member
        // twice, too deep, no UTF-8.
        (Some(result), None) => match parse_reply(text, id) {
            Ok(Reply::Result(result)) if ours => Shape::Good(result),
            Ok(_) | Err(_) => Shape::Stray(result),
        },
        (result, Some(error)) => Shape::Error {
            error,
            legal: result.is_none_or(|r| r == b"null") && error.starts_with(b"{"),
            echoed: ours,
        },
        (None, None) => Shape::NoAnswer { text, object: true },
    }
}

/// All members of a batch: the first error decides, then a missing member.
fn members<'a>(list: &[&'a [u8]], ev: &Evidence<'_>) -> Shape<'a> {
    let nothing = Shape::NoAnswer {
        text: b"",
        object: false,
    };
    let expected = expected_ids(ev.params);
    let mut answered = 0_usize;
    for element in list {
        let Some(m) = object(element) else {
            return nothing;
        };
        if let Some(error) = m.error.filter(|e| *e != b"null") {
            return Shape::Error {
                error,
                legal: error.starts_with(b"{"),
                echoed: false,
            };
        }
        let known =
            m.id.is_some_and(|id| expected.as_ref().is_none_or(|ids| ids.contains(&id)));
        if !known || m.result.is_none() {
            return nothing;
        }
        answered += 1;
    }
    if list.is_empty() || list.len() > MAX_BATCH || expected.is_some_and(|ids| answered < ids.len())
    {
        return nothing;
    }
    Shape::GoodBatch
}

/// The ids of a batch request, where its elements are known.
fn expected_ids(params: &str) -> Option<Vec<&[u8]>> {
    let list = elements(params.trim().as_bytes())?;
    let ids: Vec<_> = list
        .iter()
        .filter_map(|e| object(e).and_then(|m| m.id))
        .collect();
    (!ids.is_empty()).then_some(ids)
}

fn is_number(token: &[u8], id: u64) -> bool {
    std::str::from_utf8(token).is_ok_and(|t| t.parse::<u64>().is_ok_and(|n| n == id))
}

/// The elements of an array that is the whole text.
pub(super) fn elements(text: &[u8]) -> Option<SmallVec<[&[u8]; 4]>> {
    let mut list = SmallVec::new();
    let mut i = after_space(text, opened(text, b'[')?);
    if text.get(i) == Some(&b']') {
        return (i + 1 == text.len()).then_some(list);
    }
    loop {
        let end = value_end(text, i)?;
        if list.len() <= MAX_BATCH {
            list.push(&text[i..end]);
        }
        i = after_space(text, end);
        match text.get(i)? {
            b',' => i = after_space(text, i + 1),
            b']' => return (i + 1 == text.len()).then_some(list),
            _ => return None,
        }
    }
}

fn object(text: &[u8]) -> Option<Members<'_>> {
    let mut m = Members::default();
    each_member(text, |key, value| match key {
        b"id" => m.id = Some(value),
        b"result" => m.result = Some(value),
        b"error" => m.error = Some(value),
        _ => {}
    })
    .filter(|end| *end == text.len())?;
    Some(m)
}

/// Calls back with every member of the object that the text begins with, and returns its end;
/// nothing if it is none.
pub(super) fn each_member<'a>(
    text: &'a [u8],
    mut member: impl FnMut(&'a [u8], &'a [u8]),
) -> Option<usize> {
    let mut i = after_space(text, opened(text, b'{')?);
    if text.get(i) == Some(&b'}') {
        return Some(i + 1);
    }
    loop {
        let key_end = value_end(text, i).filter(|_| text[i] == b'"')?;
        let key = &text[i + 1..key_end - 1];
        i = after_space(text, key_end);
        if text.get(i) != Some(&b':') {
            return None;
        }
        i = after_space(text, i + 1);
        let end = value_end(text, i)?;
        member(key, &text[i..end]);
        i = after_space(text, end);
        match text.get(i)? {
            b',' => i = after_space(text, i + 1),
            b'}' => return Some(i + 1),
            _ => return None,
        }
    }
}

fn opened(text: &[u8], bracket: u8) -> Option<usize> {
    (text.first() == Some(&bracket)).then_some(1)
}

pub(super) fn after_space(text: &[u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or(b"");
    from + rest
        .iter()
        .position(|c| !matches!(c, b' ' | b'\t' | b'\n' | b'\r'))
        .unwrap_or(rest.len())
}

/// The end of the value that begins at `from`: brackets are counted and not told apart.
fn value_end(text: &[u8], from: usize) -> Option<usize> {
    match text.get(from)? {
        b'"' => string_end(text, from + 1),
        b'{' | b'[' => {
            let mut depth = 1_usize;
            let mut i = from + 1;
            while depth > 0 {
                match text.get(i)? {
                    b'"' => {
                        i = string_end(text, i + 1)?;
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                i += 1;
            }
            Some(i)
        }
        _ => {
            let rest = &text[from..];
            let n = rest
                .iter()
                .position(|c| {
                    matches!(c, b',' | b'}' | b']' | b'"' | b'{' | b'[' | b':')
                        || c.is_ascii_whitespace()
                })
                .unwrap_or(rest.len());
            (n > 0).then_some(from + n)
        }
    }
}

/// The place after the closing quote.
fn string_end(text: &[u8], from: usize) -> Option<usize> {
    closing_quote(text, from).map(|at| at + 1)
}

/// The place of the closing quote of a string whose text begins at `from`.
///
/// The next bytes are looked at one by one, since a search costs more than it saves in short strings
/// and between dense escapes; then the rest is searched.
pub(super) fn closing_quote(text: &[u8], from: usize) -> Option<usize> {
    const NEAR: usize = 16;
    let mut i = from;
    loop {
        let near = text
            .get(i..)?
            .iter()
            .take(NEAR)
            .position(|c| matches!(c, b'"' | b'\\'));
        i = match near {
            Some(n) => i + n,
            None => {
                let rest = text.get(i + NEAR..)?;
                i + NEAR + memchr2(b'"', b'\\', rest)?
            }
        };
        if text[i] == b'"' {
            return Some(i);
        }
        i += 2;
    }
}
