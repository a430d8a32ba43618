//! How an operation, and a request of it, can end.

use crate::Attempt;
use highwater_core::ChainId;
use std::time::Duration;

/// Why an operation has no value (L-5). `E` is what its closure fails with.
#[derive(Debug, thiserror::Error)]
pub enum OperationError<E> {
    /// No pool serves this network.
    #[error(transparent)]
    UnknownNetwork(#[from] crate::UnknownNetwork),
    /// Every endpoint is excluded until its URL or credential changes.
    #[error("no usable endpoint: all are excluded")]
    NoUsableEndpoint {
        /// What failed until then.
        attempts: Vec<Attempt>,
    },
    /// Every endpoint serves another chain.
    #[error("every endpoint serves another chain than {expected}")]
    ChainMismatch {
        /// The chain that was expected.
        expected: ChainId,
        /// Label and chain id of each.
        found: Vec<(String, ChainId)>,
    },
    /// Every endpoint failed it, and there was no time for another round.
    #[error("all endpoints failed")]
    AllEndpointsFailed {
        /// In order.
        attempts: Vec<Attempt>,
        /// What the closure failed with the last time; `None`: it never began.
        last: Option<E>,
    },
    /// Its time was over, while it ran or waited for an endpoint.
    #[error("the operation's time is over")]
    TimedOut {
        /// What failed until then.
        attempts: Vec<Attempt>,
        /// What the closure failed with the last time, if it did.
        last: Option<E>,
    },
    /// No endpoint may be asked within its time.
    #[error("budget exhausted: no endpoint may be asked for {} ms", wait.as_millis())]
    BudgetExhausted {
        /// Labels of the endpoints without a token.
        endpoints: Vec<String>,
        /// The wait that would have been needed.
        wait: Duration,
    },
    /// The closure called the endpoint's data unusable, and is not run again.
    #[error("the data of the endpoint {endpoint} is unusable")]
    EndpointData {
        /// The endpoint's label.
        endpoint: String,
        /// What the closure said.
        #[source]
        error: E,
    },
    /// It was cancelled by its token.
    #[error("the operation was cancelled")]
    Cancelled,
    /// The pool was closed.
    #[error("the pool is closed")]
    Closed,
    /// What the closure failed with; nothing is wrong with the pool.
    #[error(transparent)]
    Failed(E),
}

/// Says that an endpoint's answers are legal but of no use: the run ends, the endpoint cools down for
/// 5 s without a strike (L-6), and [`execute_with_retry`](crate::Pool::execute_with_retry) runs the
/// closure again elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("endpoint data unusable: {reason}")]
pub struct EndpointDataError {
    /// What is wrong with it, in the caller's words.
    pub reason: String,
}

impl EndpointDataError {
    /// With a reason.
    #[must_use]
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}

/// No endpoint of the pool has this label.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no endpoint is called {0:?}")]
pub struct UnknownEndpoint(pub String);

/// Why a request of a pinned provider has no answer. It is within alloy's error, and
/// [`PinnedError::from_transport`] finds it; an endpoint's own JSON-RPC error stays what it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault}")]
pub struct PinnedError {
    /// What happened.
    pub fault: PinnedFault,
    /// The endpoint's label.
    pub endpoint: String,
    /// No other has it: by this the pool knows its own error again.
    pub(super) number: u64,
}

/// What kept a request of a pinned provider from being answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PinnedFault {
    /// The endpoint failed.
    #[error("the endpoint failed: {}", .0.class.name())]
    Failed(Attempt),
    /// The endpoint was ejected or replaced since the run began; nothing was sent.
    #[error("the endpoint is not in use any more")]
    Stopped,
    /// The run is over; nothing was sent.
    #[error("the operation's run is over")]
    Ended,
    /// The endpoint has no token for longer than a call waits; nothing was sent.
    #[error("budget exhausted for {} ms", .wait.as_millis())]
    BudgetExhausted {
        /// The wait that would have been needed.
        wait: Duration,
    },
    /// The endpoint serves another chain; nothing was sent.
    #[error("the endpoint serves another chain")]
    WrongChain,
    /// The pool was closed; nothing was sent (L-1).
    #[error("the pool is closed")]
    Closed,
}
