//! One request of ours as it goes on the wire, written once and shared by all its attempts.

use bytes::Bytes;
use bytestring::ByteString;
use highwater_core::{
    ChainId,
    jsonrpc::{Params, write_request},
    judge::Question,
    method::Descriptor,
};
use std::ops::Range;

const BEFORE_ID: &str = r#"{"jsonrpc":"2.0","id":"#;
const BEFORE_NAME: &str = r#","method":""#;
const BEFORE_PARAMS: &str = r#"","params":"#;

/// A written request that still knows its parts.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    id: u64,
    row: &'static Descriptor,
    message: ByteString,
    method: Range<usize>,
    params: (Shape, Range<usize>),
    known: Known,
}

/// What was believed when a request was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known {
    /// The head.
    pub(crate) head: Option<u64>,
    /// The chain that the endpoint should serve.
    pub(crate) chain: Option<ChainId>,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Array,
    Object,
    Scalar,
}

impl Ask {
    /// Writes a request.
    pub(crate) fn new(id: u64, row: &'static Descriptor, method: &str, params: Params<'_>) -> Self {
        let mut message = String::new();
        write_request(&mut message, id, method, params);
        let (shape, raw) = match params {
            Params::Object(raw) if params.is_named() => (Shape::Object, raw),
            // What goes out in their place.
            Params::Absent | Params::Null | Params::Object(_) => (Shape::Array, "[]"),
            Params::Array(raw) => (Shape::Array, raw),
            Params::Scalar(raw) => (Shape::Scalar, raw),
        };
        // The parameters come last, and the name, perhaps escaped, between two fixed pieces.
        let end = message.len().saturating_sub(1);
        let begin = end.saturating_sub(raw.len());
        let digits = id.checked_ilog10().unwrap_or(0) as usize + 1;
        let name =
            BEFORE_ID.len() + digits + BEFORE_NAME.len()..begin.saturating_sub(BEFORE_PARAMS.len());
        Self {
            id,
            row,
            method: name,
            message: ByteString::from(message),
            params: (shape, begin..end),
            known: Known::default(),
        }
    }

    /// The id that its answer must have.
    pub(crate) const fn id(&self) -> u64 {
        self.id
    }

    /// The bytes to send.
    pub(crate) fn message(&self) -> Bytes {
        self.message.as_bytes().clone()
    }

    /// The same request, with what was believed when it was sent.
    pub(crate) fn knowing(&self, known: Known) -> Self {
        Self {
            known,
            ..self.clone()
        }
    }

    /// Notes what is believed now that it is sent.
    pub(crate) fn know(&mut self, known: Known) {
        self.known = known;
    }

    /// What was asked.
    pub(crate) fn question(&self) -> Question<'_> {
        let text = |range: &Range<usize>| self.message.get(range.clone()).unwrap_or_default();
        let (shape, range) = &self.params;
        Question {
            id: self.id,
            method: text(&self.method),
            row: self.row,
            params: match shape {
                Shape::Array => Params::Array(text(range)),
                Shape::Object => Params::Object(text(range)),
                Shape::Scalar => Params::Scalar(text(range)),
            },
            head: self.known.head,
            chain: self.known.chain.map(|chain| chain.0),
            rules: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_core::method::lookup;

    // R-37
    #[test]
    fn reads_back_what_was_asked() {
        let all = [
            (Params::Absent, Params::Array("[]")),
            (Params::Null, Params::Array("[]")),
            (Params::Object("{}"), Params::Array("[]")),
            (Params::Array("[1]"), Params::Array("[1]")),
            (Params::Object(r#"{"a":1}"#), Params::Object(r#"{"a":1}"#)),
            (Params::Scalar("7"), Params::Scalar("7")),
        ];
        for (params, expected) in all {
            for method in ["eth_call", "m", "a_name_that_nobody_knows"] {
                for id in [0, 9, 10, u64::MAX] {
                    let ask = Ask::new(id, lookup(method), method, params);
                    let question = ask.question();
                    assert_eq!(question.method, method);
                    assert_eq!(question.params, expected);
                }
            }
        }
        let odd = Ask::new(1, lookup("x"), "x\"y", Params::Null);
        assert_eq!(odd.question().method, r#"x\"y"#);
    }
}
