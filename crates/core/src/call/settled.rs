//! What came of one attempt.

use crate::{breaker::Meaning, classify::Verdict, heads::Source};

/// How far a failed request got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Proven: not a byte of it reached the endpoint, or its answer proves that it had no effect.
    NotSent,
    /// Some of it may have reached the endpoint.
    MaybeSent,
    /// The endpoint answered.
    Answered,
}

/// A result that may say less than it seems to (semantics §4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Something.
    Value,
    /// `"0x"`, `"0x0"`, a zero word: believed unless the endpoint is known to be below the block.
    Zero,
    /// `null`.
    Null,
    /// `[]`.
    EmptyList,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Settled {
    /// A result.
    Result {
        /// What it says.
        content: Content,
        /// A head that can be read from it.
        head: Option<(Source, u64)>,
    },
    /// An error that is the chain's answer: the call ends with it.
    Terminal {
        /// What it means.
        verdict: Verdict,
        /// What it says of the endpoint: healthy, unless a wait is stated with it.
        meaning: Meaning,
    },
    /// A failure.
    Failed {
        /// What it means.
        verdict: Verdict,
        /// What it does to the endpoint.
        meaning: Meaning,
        /// How far the request got.
        delivery: Delivery,
        /// Whether the endpoint's answer is a JSON-RPC error, which can be shown to the caller when
        /// nothing better comes. A page, a broken envelope or a lost connection cannot.
        showable: bool,
    },
}

impl Settled {
    /// A plain result.
    pub const VALUE: Self = Self::Result {
        content: Content::Value,
        head: None,
    };
}
