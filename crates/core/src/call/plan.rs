//! What a call may do, and what came of one attempt.

use crate::{classify::Verdict, method::Descriptor};
use std::time::{Duration, Instant};

/// Everything a call is bound by, fixed when it starts.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The method's row.
    pub method: &'static Descriptor,
    /// When the call is over, answered or not.
    pub deadline: Instant,
    /// Longest time for one attempt.
    pub attempt_timeout: Duration,
}

/// How far a failed request got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Proven: not a byte of it reached the endpoint.
    NotSent,
    /// Some of it may have reached the endpoint.
    MaybeSent,
    /// The endpoint answered.
    Answered,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Settled {
    /// A result, or an error that is the chain's answer: the call ends with it.
    Answer,
    /// A failure.
    Failed {
        /// What it means.
        verdict: Verdict,
        /// How far the request got.
        delivery: Delivery,
        /// Whether the endpoint's answer is a JSON-RPC error, which can be shown to the caller when
        /// nothing better comes. A page, a broken envelope or a lost connection cannot.
        showable: bool,
    },
}
