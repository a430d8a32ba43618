//! Why a call has no answer.

use highwater_core::{ChainId, TxHash, classify::Class};
use std::time::Duration;

/// One entry of the aggregate error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Label of the endpoint.
    pub endpoint: String,
    /// What its failure was.
    pub class: Class,
    /// The finer kind, one word from a closed set: `connect`, `tls`, `reset`, `redirect`…
    pub detail: Option<&'static str>,
    /// The status of its HTTP answer; `None`: there was no answer, or a transport without one.
    pub status: Option<u16>,
    /// The wait that it stated, uncapped.
    pub retry_after: Option<Duration>,
}

/// A call that no endpoint answered. An endpoint's own error is an [`Answer`](crate::Answer), not
/// an `Error`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Every endpoint that may serve the call failed without a JSON-RPC answer.
    #[error("all endpoints failed")]
    AllEndpointsFailed {
        /// In order.
        attempts: Vec<Attempt>,
    },
    /// The deadline passed first.
    #[error("deadline exceeded")]
    DeadlineExceeded {
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
    /// Nothing may be sent within the budgets for longer than a call waits.
    #[error("budget exhausted: no endpoint may be asked for {} ms", wait.as_millis())]
    BudgetExhausted {
        /// Labels of the endpoints without a token.
        endpoints: Vec<String>,
        /// The wait that would have been needed.
        wait: Duration,
    },
    /// No endpoint may serve this method.
    #[error("no endpoint for this method")]
    NoEndpoint,
    /// A transaction may have been accepted, and nobody says so. It is neither sent nor failed
    /// for the caller: whoever signs again with the same nonce may replace it, whoever signs with the
    /// next one may pay twice. The hash is the thing to look for.
    #[error("the transaction {hash} may have been accepted: no endpoint's answer tells")]
    Ambiguous {
        /// The hash of the transaction.
        hash: TxHash,
        /// The most useful error that an endpoint gave, a JSON-RPC error object; of itself it proves
        /// nothing.
        error: Option<String>,
        /// Who was asked, and what came of it.
        attempts: Vec<Attempt>,
    },
    /// The caller has seen this block, or says so, and no endpoint that may serve the call got to it in
    /// time (P-5, P-8).
    #[error("no endpoint is at block {block} yet")]
    Behind {
        /// The block.
        block: u64,
    },
    /// The logs of a range take more requests than one call may make, or are larger than an answer may
    /// be (P-23): the range must be narrower. Nothing of it is lost: it is the whole or this.
    #[error("the range takes more than {requests} requests or {bytes} bytes: ask for fewer blocks")]
    RangeTooWide {
        /// Requests that one call may be split into.
        requests: u32,
        /// Bytes of the largest answer that is put together.
        bytes: u64,
    },
    /// The pool was closed.
    #[error("the pool is closed")]
    Closed,
}
