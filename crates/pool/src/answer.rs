//! What a call comes back with.

use bytes::Bytes;
use highwater_core::TxHash;
use std::{ops::Range, sync::Arc};

/// An endpoint's answer: its body, and where in it the result or error stands.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(crate) body: Bytes,
    /// UTF-8 in full, checked when the body was read.
    pub(crate) span: Range<usize>,
    pub(crate) is_error: bool,
    pub(crate) endpoint: Arc<str>,
    pub(crate) attempts: u16,
    pub(crate) transaction: Option<TxHash>,
    pub(crate) origin: Origin,
    pub(crate) block: Option<u64>,
}

/// Where an answer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// An endpoint answered this call.
    Endpoint,
    /// An endpoint answered another caller's identical call (P-10).
    Shared,
    /// Memory (P-11).
    Cache,
    /// The heads that the pool knows (P-5).
    Heads,
    /// The filters that the pool knows (L-4): no endpoint was asked.
    Filters,
}

/// The part of an answer that belongs to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// The bytes of `result`.
    Result(&'a str),
    /// The bytes of `error`: a legal JSON-RPC error object.
    Error(&'a str),
}

impl Answer {
    /// Result or error, borrowed from the endpoint's own bytes.
    #[must_use]
    pub fn payload(&self) -> Payload<'_> {
        let text = std::str::from_utf8(self.bytes())
            .expect("invariant: the span was cut out of checked text");
        if self.is_error {
            Payload::Error(text)
        } else {
            Payload::Result(text)
        }
    }

    /// The bytes of the result or error; with [`Answer::is_error`] what [`Answer::payload`] says,
    /// without looking at every byte again.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.body[self.span.clone()]
    }

    /// Whether the endpoint answered with an error.
    #[must_use]
    pub const fn is_error(&self) -> bool {
        self.is_error
    }

    /// Label of the endpoint that gave it; empty where the pool's own heads did.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The hash of the transaction that the call sent, computed from its bytes, whatever the answer
    /// is; `None` for all other calls, and for bytes that are no transaction.
    #[must_use]
    pub const fn transaction(&self) -> Option<TxHash> {
        self.transaction
    }

    /// Where it came from.
    #[must_use]
    pub const fn origin(&self) -> Origin {
        self.origin
    }

    /// The block that it shows: the one that `latest` was for this call, or the highest that the
    /// answer names; `None` where it names none (P-9).
    #[must_use]
    pub const fn block(&self) -> Option<u64> {
        self.block
    }

    /// The text of the result; `None` where it is an error.
    pub(crate) fn result(&self) -> Option<&str> {
        match self.payload() {
            Payload::Result(text) => Some(text),
            Payload::Error(_) => None,
        }
    }

    /// Upstream requests that this call took, chain checks not counted.
    #[must_use]
    pub const fn attempts(&self) -> u16 {
        self.attempts
    }
}
