//! The classes of the error catalogue and what is derived from one answer.

use std::time::Duration;

/// What kind of failure an answer is. A good answer has no class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The EVM ran and reverted or halted, or gas estimation cannot succeed.
    ExecutionRevert,
    /// The parameters are wrong and every endpoint would say so.
    InvalidParams,
    /// The request is wrong and every endpoint would say so.
    InvalidRequest,
    /// The endpoint could not parse the request.
    ParseError,
    /// A verdict on a transaction that was sent or simulated.
    TxRejected,
    /// The node already has this very transaction.
    AlreadyKnown,
    /// A person refused in a wallet.
    UserRejected,
    /// A log or trace query is too wide or matches too much.
    RangeLimit,
    /// The node has not reached what was asked for.
    Behind,
    /// The node does not keep, or does not give, the old data.
    MissingHistory,
    /// Too many requests now.
    RateLimited,
    /// A day's or month's allowance has run out.
    QuotaExhausted,
    /// Key, origin or address is refused.
    Unauthorized,
    /// This node does not know the method, the tag or the form of a parameter.
    MethodUnsupported,
    /// It knows the method but does not offer it to this caller.
    MethodBlocked,
    /// The request took too long, on the server's side or on ours.
    Timeout,
    /// No capacity, no upstream, a full pool, a shutdown.
    Overloaded,
    /// A fault of the node or gateway, and everything unknown.
    Internal,
    /// A page or plain text from something in front of the node.
    BadGatewayHtml,
    /// Not a usable JSON-RPC answer.
    MalformedEnvelope,
    /// The endpoint serves another chain.
    WrongChain,
    /// A size limit that has nothing to do with a block range.
    PayloadTooLarge,
    /// The node says that it is not ready.
    Syncing,
    /// A filter or subscription id is unknown.
    FilterNotFound,
    /// No subscriptions here, or no more of them.
    SubscriptionUnsupported,
    /// A block named by hash is not part of the chain any more.
    ReorgedBlock,
}

/// What one failed answer means for the call and for the endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The class.
    pub class: Class,
    /// The finer kind, from a closed set.
    pub subclass: Option<&'static str>,
    /// Another endpoint may give a good answer to the same request.
    pub retry_other_endpoint: bool,
    /// The answer lowers this endpoint's standing.
    pub counts_against_endpoint: bool,
    /// The wait that the answer states, uncapped.
    pub retry_after: Option<Duration>,
}
