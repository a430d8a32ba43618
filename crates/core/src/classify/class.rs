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

impl Class {
    /// All classes, in the order of the catalogue.
    pub const ALL: [Self; 26] = [
        Self::ExecutionRevert,
        Self::InvalidParams,
        Self::InvalidRequest,
        Self::ParseError,
        Self::TxRejected,
        Self::AlreadyKnown,
        Self::UserRejected,
        Self::RangeLimit,
        Self::Behind,
        Self::MissingHistory,
        Self::RateLimited,
        Self::QuotaExhausted,
        Self::Unauthorized,
        Self::MethodUnsupported,
        Self::MethodBlocked,
        Self::Timeout,
        Self::Overloaded,
        Self::Internal,
        Self::BadGatewayHtml,
        Self::MalformedEnvelope,
        Self::WrongChain,
        Self::PayloadTooLarge,
        Self::Syncing,
        Self::FilterNotFound,
        Self::SubscriptionUnsupported,
        Self::ReorgedBlock,
    ];

    /// The name on the wire, in labels and in the catalogue.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ExecutionRevert => "execution_revert",
            Self::InvalidParams => "invalid_params",
            Self::InvalidRequest => "invalid_request",
            Self::ParseError => "parse_error",
            Self::TxRejected => "tx_rejected",
            Self::AlreadyKnown => "already_known",
            Self::UserRejected => "user_rejected",
            Self::RangeLimit => "range_limit",
            Self::Behind => "behind",
            Self::MissingHistory => "missing_history",
            Self::RateLimited => "rate_limited",
            Self::QuotaExhausted => "quota_exhausted",
            Self::Unauthorized => "unauthorized",
            Self::MethodUnsupported => "method_unsupported",
            Self::MethodBlocked => "method_blocked",
            Self::Timeout => "timeout",
            Self::Overloaded => "overloaded",
            Self::Internal => "internal",
            Self::BadGatewayHtml => "bad_gateway_html",
            Self::MalformedEnvelope => "malformed_envelope",
            Self::WrongChain => "wrong_chain",
            Self::PayloadTooLarge => "payload_too_large",
            Self::Syncing => "syncing",
            Self::FilterNotFound => "filter_not_found",
            Self::SubscriptionUnsupported => "subscription_unsupported",
            Self::ReorgedBlock => "reorged_block",
        }
    }

    /// The flags that answers of this class have where a rule does not say otherwise: another
    /// endpoint may help; the answer counts against the endpoint.
    #[must_use]
    pub const fn usual_flags(self) -> (bool, bool) {
        match self {
            Self::ExecutionRevert
            | Self::InvalidParams
            | Self::InvalidRequest
            | Self::ParseError
            | Self::TxRejected
            | Self::AlreadyKnown
            | Self::UserRejected
            | Self::FilterNotFound => (false, false),
            Self::RangeLimit
            | Self::Behind
            | Self::MissingHistory
            | Self::MethodUnsupported
            | Self::MethodBlocked
            | Self::PayloadTooLarge
            | Self::SubscriptionUnsupported
            | Self::ReorgedBlock => (true, false),
            Self::RateLimited
            | Self::QuotaExhausted
            | Self::Unauthorized
            | Self::Timeout
            | Self::Overloaded
            | Self::Internal
            | Self::BadGatewayHtml
            | Self::MalformedEnvelope
            | Self::WrongChain
            | Self::Syncing => (true, true),
        }
    }
}

/// What an answer says about the size of a query that it would accept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct SuggestedRange {
    /// First block of the proposed range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// Last block of the proposed range, included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<u64>,
    /// Most blocks, both ends counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_blocks: Option<u64>,
    /// Most results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_results: Option<u64>,
    /// Largest answer in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

impl SuggestedRange {
    /// Whether the answer states nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
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
    /// For `range_limit`: what the answer says about the size that would pass.
    pub suggested_range: Option<SuggestedRange>,
    /// Where no rule knew the text: what identifies it, so that it is reported once
    /// ([`Verdict::is_unknown`]). Equal for texts that differ in numbers and hashes only.
    pub fingerprint: Option<u64>,
}

impl Verdict {
    /// Whether the class is a default because no rule knew the text.
    #[must_use]
    pub const fn is_unknown(&self) -> bool {
        self.fingerprint.is_some()
    }
}
