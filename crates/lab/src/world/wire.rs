//! Between the bytes of the world and what the engine is told of them.

use std::time::SystemTime;

use bytes::Bytes;
use highwater_core::breaker::{Meaning, Said};
use highwater_core::call::{Delivery, Settled};
use highwater_core::classify::{Class, Verdict};
use highwater_core::jsonrpc::{Id, Params, write_request};
use highwater_core::judge::{self, Wire, of_class};
use highwater_core::method::{Descriptor, lookup};

use crate::node::Seen;

/// One request as it goes to every node that is asked.
#[derive(Debug)]
pub(super) struct Question {
    id: u64,
    method: String,
    row: &'static Descriptor,
    params: String,
    chain: Option<u64>,
    pub(super) message: Bytes,
}

/// How an attempt ended, and what of it can be shown.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) settled: Settled,
    pub(super) shown: Option<Shown>,
}

/// The caller's part of an answer.
#[derive(Debug)]
pub(super) enum Shown {
    Result(String),
    /// A whole error object.
    Error(String),
}

impl Question {
    /// `params` are an array, an object, or nothing.
    pub(super) fn new(id: u64, method: &str, params: &str, chain: Option<u64>) -> Self {
        let mut message = String::new();
        write_request(&mut message, id, method, shape(params));
        Self {
            id,
            method: method.to_owned(),
            row: lookup(method),
            params: params.to_owned(),
            chain,
            message: Bytes::from(message),
        }
    }

    /// What came back; `head` is what was believed when it was sent.
    pub(super) fn judge(&self, seen: &Seen, head: Option<u64>, wall: SystemTime) -> Judged {
        let (status, headers, body) = match seen {
            Seen::Refused => return Judged::failure(Class::Internal, "connect", Delivery::NotSent),
            Seen::Broken => return Judged::failure(Class::Internal, "reset", Delivery::MaybeSent),
            Seen::Complete {
                status,
                headers,
                body,
            } => (*status, headers, body),
        };
        let header = |name: &str| {
            let mut headers = headers.iter();
            let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.as_str())
        };
        let wire = Wire {
            status,
            headers: &header,
            body,
            wall,
        };
        let question = judge::Question {
            id: self.id,
            method: &self.method,
            row: self.row,
            params: shape(&self.params),
            head,
            chain: self.chain,
            rules: None,
        };
        let judge::Judged { settled, shown } = judge::judge(&wire, &question);
        let shown = shown.map(|shown| match shown {
            judge::Shown::Result(result) => Shown::Result(result.to_owned()),
            judge::Shown::Error(error) => {
                let mut out = Vec::new();
                error.write(&mut out, Id::NULL);
                let whole = String::from_utf8_lossy(&out);
                let object = whole.split_once(r#""error":"#).map(|(_, rest)| rest);
                let object = object.and_then(|rest| rest.strip_suffix('}'));
                Shown::Error(object.unwrap_or_default().to_owned())
            }
        });
        Judged { settled, shown }
    }
}

impl Judged {
    /// An attempt that gave no answer within its time.
    pub(super) fn timeout() -> Self {
        Self::failure(Class::Timeout, "timeout", Delivery::MaybeSent)
    }

    fn failure(class: Class, word: &'static str, delivery: Delivery) -> Self {
        let (verdict, meaning) = Self::meaning(of_class(class, Some(word)));
        Self {
            settled: Settled::Failed {
                verdict,
                meaning,
                delivery,
                showable: false,
            },
            shown: None,
        }
    }

    /// A verdict that no HTTP answer told, with what it means for its endpoint.
    pub(super) fn meaning(verdict: Verdict) -> (Verdict, Meaning) {
        let meaning = Meaning::of(&verdict, 200, Said::Words);
        (verdict, meaning)
    }
}

impl Shown {
    /// Its JSON text.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Result(text) | Self::Error(text) => text,
        }
    }

    /// The answer to a caller whose id this is.
    pub(super) fn answer(&self, id: &[u8]) -> Bytes {
        let id = std::str::from_utf8(id).unwrap_or("null");
        let (member, text) = match self {
            Self::Result(text) => ("result", text),
            Self::Error(text) => ("error", text),
        };
        Bytes::from(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"{member}":{text}}}"#
        ))
    }
}

fn shape(params: &str) -> Params<'_> {
    match params.as_bytes().first() {
        None => Params::Absent,
        Some(b'{') => Params::Object(params),
        Some(_) => Params::Array(params),
    }
}
