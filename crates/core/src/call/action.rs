//! What a call wants done, and what it comes to.

use crate::{AttemptId, EndpointId, classify::Class};
use std::time::{Duration, Instant};

/// What the driver has to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Ask the endpoint for its chain id, tell the router, then report with
    /// [`Machine::on_check`](super::Machine::on_check).
    Check {
        /// Whom to ask.
        endpoint: EndpointId,
        /// When to give up on it.
        timeout: Duration,
    },
    /// Ask the endpoint for its head, tell the router with `on_probe` or `on_probe_failed`,
    /// then report with [`Machine::on_head`](super::Machine::on_head).
    Head {
        /// Whom to ask.
        endpoint: EndpointId,
        /// When to give up on it.
        timeout: Duration,
    },
    /// A check beside the call: it waits for nothing and nothing is reported.
    Warm {
        /// Whom to ask.
        endpoint: EndpointId,
        /// When to give up on it.
        timeout: Duration,
    },
    /// Send the request, then report with [`Machine::on_settled`](super::Machine::on_settled).
    Send {
        /// Whom to ask.
        endpoint: EndpointId,
        /// The number of this attempt.
        attempt: AttemptId,
        /// When to give up on it.
        timeout: Duration,
    },
    /// Ask the endpoint whether it has the transaction, by its hash, then report with
    /// [`Machine::on_lookup`](super::Machine::on_lookup).
    LookUp {
        /// Whom to ask.
        endpoint: EndpointId,
        /// The number of this request; it counts with the attempts.
        attempt: AttemptId,
        /// When to give up on it.
        timeout: Duration,
    },
    /// Ask the endpoint for the receipt of the transaction, then report with
    /// [`Machine::on_lookup`](super::Machine::on_lookup).
    Receipt {
        /// Whom to ask.
        endpoint: EndpointId,
        /// The number of this request; it counts with the attempts.
        attempt: AttemptId,
        /// When to give up on it.
        timeout: Duration,
    },
    /// Nothing to start; wait for a report, and poll again at this instant at the latest.
    WaitUntil(Instant),
    /// The call is over. What still runs is told by [`Machine::leftovers`](super::Machine::leftovers).
    Finish(Outcome),
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With the answer of this attempt.
    Answered(AttemptId),
    /// Every endpoint that may serve it failed, or it may not be repeated. The caller is shown the
    /// error of this attempt: the most useful one of those that have one to show.
    Failed(Option<AttemptId>),
    /// Every endpoint serves another chain.
    ChainMismatch,
    /// No endpoint at all may serve it.
    NoEndpoint,
    /// Nothing may be sent within the budgets for longer than a call waits.
    BudgetExhausted {
        /// The wait it would have needed.
        wait: Duration,
    },
    /// The deadline passed and no endpoint's error can be shown.
    DeadlineExceeded,
    /// The transaction was accepted: the answer is its hash.
    Sent,
    /// It is mined: the answer is the receipt that this request brought.
    Found(AttemptId),
    /// It was accepted, and what the caller asked for beyond that cannot be had in its time: an error
    /// with the hash.
    Late,
    /// The transaction may have been accepted, and nobody says so: an error with the hash, around the
    /// error of this attempt where one can be shown.
    Ambiguous(Option<AttemptId>),
}

/// One finished attempt, for the aggregate error.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Whom it asked.
    pub endpoint: EndpointId,
    /// `None` where no request of the call itself went there: its chain check told nothing, or it
    /// was out for a reason of its own.
    pub attempt: Option<AttemptId>,
    /// What the failure was.
    pub class: Class,
    /// The finer kind, from a closed set.
    pub subclass: Option<&'static str>,
}

/// What is to become of an attempt that still runs when its call is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// A racer, or a submission: it runs on to its own end and is settled with the router (R-35,
    ///
    Finish,
    /// A hedge or the attempt that it copied: it is cancelled.
    Cancel,
}
