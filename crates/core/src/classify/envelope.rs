//! What shape an answer has, before anyone looks at its words.
//!
//! Stricter than the check that good answers pass on the hot path: that one tolerates an id in
//! quotes, here it makes an answer malformed. The classifier is asked only after the hot path has
//! refused an answer, so the difference shows only in logs that are classified afterwards.

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::evidence::Evidence;
use crate::jsonrpc::{Reply, parse_reply};

/// The shape of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shape<'a> {
    /// A good answer to one request: the bytes of its result.
    Good(&'a str),
    /// Every member of a batch has a good answer.
    GoodBatch,
    /// An error; `legal` if its id is ours or null and it has no result beside it.
    Error {
        /// The bytes of the `error` member.
        error: &'a str,
        /// Whether the envelope around it is in order.
        legal: bool,
        /// Whether the id is ours, and not null or missing.
        echoed: bool,
    },
    /// A result under an id that is not ours.
    Stray(&'a str),
    /// JSON that is no answer, or two at once.
    NoAnswer {
        /// The text that may still explain it.
        text: &'a str,
        /// Whether it is an object, as of an HTTP API's own errors.
        object: bool,
    },
    /// Not one JSON value.
    NotJson,
}

#[derive(Default)]
struct Members<'a> {
    id: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

/// Reads a body without BOM and outer white space.
pub(super) fn read<'a>(body: &'a [u8], ev: &Evidence<'_>) -> Shape<'a> {
    let text = match std::str::from_utf8(body) {
        Ok(text) => text,
        Err(_) => return Shape::NotJson,
    };
    let Ok(value) = serde_json::from_str::<&RawValue>(text) else {
        return Shape::NotJson;
    };
    let text = value.get();
    let batch = ev.method == Evidence::BATCH;
    match text.as_bytes().first() {
        Some(b'{') => match object(text) {
            // One object for a batch: whatever it says, the members are missing.
            Some(m) if batch => m.error.filter(|e| e.get() != "null").map_or(
                Shape::NoAnswer {
                    text: "",
                    object: true,
                },
                |e| Shape::Error {
                    error: e.get(),
                    legal: true,
                    echoed: false,
                },
            ),
            Some(m) => single(text, &m, ev.request_id),
            None => Shape::NoAnswer { text, object: true },
        },
        Some(b'[') if batch => members(text, ev),
        Some(b'[') => match elements(text).as_deref() {
            Some([one]) => match object(one.get()) {
                Some(m) => single(one.get(), &m, ev.request_id),
                None => Shape::NoAnswer {
                    text,
                    object: false,
                },
            },
            _ => Shape::NoAnswer {
                text: "",
                object: false,
            },
        },
        Some(b'"') => Shape::NoAnswer {
            text,
            object: false,
        },
        _ => Shape::NoAnswer {
            text: "",
            object: false,
        },
    }
}

fn single<'a>(text: &'a str, m: &Members<'a>, id: u64) -> Shape<'a> {
    let error = m.error.map(RawValue::get).filter(|e| *e != "null");
    let ours = m.id.is_some_and(|i| is_number(i.get(), id));
    match (m.result.map(RawValue::get), error) {
        // A false beside a result is how some servers say "no error".
        (Some(result), None) => {
            // The check of the hot path knows more ways to be malformed: a wrong version, a member
            // twice, too deep.
            let sound = ours && matches!(parse_reply(text.as_bytes(), id), Ok(Reply::Result(_)));
            if sound {
                Shape::Good(result)
            } else {
                Shape::Stray(result)
            }
        }
        (result, Some(error)) => Shape::Error {
            error,
            legal: result.is_none_or(|r| r == "null") && error.starts_with('{'),
            echoed: ours,
        },
        (None, None) => Shape::NoAnswer { text, object: true },
    }
}

/// All members of a batch: the first error decides, then a missing member.
fn members<'a>(text: &'a str, ev: &Evidence<'_>) -> Shape<'a> {
    let nothing = Shape::NoAnswer {
        text: "",
        object: false,
    };
    let Some(list) = elements(text) else {
        return nothing;
    };
    let expected = expected_ids(ev.params);
    let mut answered = 0_usize;
    let mut missing = false;
    let mut failed = None;
    for element in &list {
        let Some(m) = object(element.get()) else {
            return nothing;
        };
        let known = m.id.map(RawValue::get).is_some_and(|id| {
            expected
                .as_ref()
                .is_none_or(|ids| ids.iter().any(|want| want.get() == id))
        });
        match single(element.get(), &Members { id: None, ..m }, 0) {
            Shape::Error {
                error,
                legal,
                echoed,
            } => {
                answered += 1;
                failed = failed.or(Some(Shape::Error {
                    error,
                    legal,
                    echoed,
                }));
            }
            // Without an id that could be compared, `single` calls a good member no answer.
            Shape::Good(_)
            | Shape::Stray(_)
            | Shape::GoodBatch
            | Shape::NotJson
            | Shape::NoAnswer { .. } => {
                if known && m.result.is_some() {
                    answered += 1
                } else {
                    missing = true
                }
            }
        }
    }
    if let Some(failed) = failed {
        return failed;
    }
    if missing || list.is_empty() || expected.is_some_and(|ids| answered < ids.len()) {
        return nothing;
    }
    Shape::GoodBatch
}

/// The ids of a batch request, where its elements are known.
fn expected_ids(params: &str) -> Option<Vec<&RawValue>> {
    let list = elements(params)?;
    let ids: Vec<_> = list
        .into_iter()
        .filter_map(|e| object(e.get()).and_then(|m| m.id))
        .collect();
    (!ids.is_empty()).then_some(ids)
}

fn is_number(token: &str, id: u64) -> bool {
    token.parse::<u64>().is_ok_and(|n| n == id)
}

fn elements(text: &str) -> Option<Vec<&RawValue>> {
    struct List;
    impl<'de> Visitor<'de> for List {
        type Value = Vec<&'de RawValue>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut list = Vec::new();
            while let Some(element) = seq.next_element::<&RawValue>()? {
                list.push(element);
            }
            Ok(list)
        }
    }
    serde_json::Deserializer::from_str(text)
        .deserialize_seq(List)
        .ok()
}

fn object(text: &str) -> Option<Members<'_>> {
    struct Object;
    impl<'de> Visitor<'de> for Object {
        type Value = Members<'de>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut m = Members::default();
            while let Some(key) = map.next_key::<Key>()? {
                let slot = match key {
                    Key::Id => &mut m.id,
                    Key::Result => &mut m.result,
                    Key::Error => &mut m.error,
                    Key::Other => {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    }
                };
                *slot = Some(map.next_value()?);
            }
            Ok(m)
        }
    }
    serde_json::Deserializer::from_str(text)
        .deserialize_map(Object)
        .ok()
}

#[derive(Clone, Copy, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Key {
    Id,
    Result,
    Error,
    #[serde(other)]
    Other,
}
