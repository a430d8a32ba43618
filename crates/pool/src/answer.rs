//! What a call comes back with.

use bytes::Bytes;
use std::{ops::Range, sync::Arc};

/// An endpoint's answer: its body, and where in it the result or error stands.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(crate) body: Bytes,
    pub(crate) span: Range<usize>,
    pub(crate) is_error: bool,
    pub(crate) endpoint: Arc<str>,
    pub(crate) attempts: u16,
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
    /// Result or error.
    #[must_use]
    pub fn payload(&self) -> Payload<'_> {
        todo!()
    }

    /// Label of the endpoint that gave it.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Upstream requests that this call took, chain checks not counted.
    #[must_use]
    pub const fn attempts(&self) -> u16 {
        self.attempts
    }
}
