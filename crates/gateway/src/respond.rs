//! The only place where an error becomes bytes on the wire.
//!
//! [`Refusal`] has one variant per row of the error table. Each has a status for the case that it
//! answers a whole request (inside a batch the status stays 200), a code, a message, and, unless a
//! node would say just the same, `data` with `source: "gateway"` and a `reason` from a closed set.
//! An endpoint's own error never comes here: its bytes pass through untouched (G-2).
//!
//! A transient refusal of one caller is -32005, which every client library backs off on. After our
//! own retries are spent the code is -32011, which none repeats by default, so that retries do not
//! multiply from layer to layer. `Retry-After` is zero-padded (`01`): legal as delay-seconds, and
//! one widely used client that would take `1` for a millisecond then falls back to its own backoff.

use highwater::{Answer, Attempt, Error, TxHash, core::classify::Class, upstream::SendErrorKind};
use highwater_core::{
    call::usefulness,
    jsonrpc::{FaultKind, Id, RpcError, write_error, write_raw_error, write_result},
};
use http::StatusCode;
use std::{borrow::Cow, time::Duration};

/// Longest part of a method name that an error repeats, in bytes.
const MAX_ECHO: usize = 256;

/// Why the gateway itself refuses or fails a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Refusal<'a> {
    /// The request is no JSON or no JSON-RPC.
    Fault(FaultKind),
    /// Unknown, denied, off by default, or not spelt as the table spells it.
    Method(&'a str),
    /// Subscriptions need a WebSocket.
    Notifications,
    /// The parameters have an impossible shape.
    Params,
    /// A header of ours that says nothing we understand.
    Header(&'static str),
    /// No key, a bad one, or one that does not reach this far.
    Key(KeyFault),
    /// A `Host` that is not ours.
    Host,
    /// An `Origin` that is not allowed.
    Origin,
    /// No such path.
    Route,
    /// No such chain.
    Chain,
    /// The body did not arrive in time.
    SlowBody,
    /// The body is larger than allowed, as sent or inflated.
    LargeBody,
    /// A form, or a content coding other than gzip.
    MediaType(&'static str),
    /// The caller's own limit, or the gateway's, is reached.
    Limit {
        /// When to come back.
        retry_after: Duration,
    },
    /// No endpoint answered.
    Upstream(Cow<'a, Error>),
    /// The answers to the earlier members of the batch used up what a batch may return.
    LargeBatchAnswer,
    /// Our own fault.
    Internal,
    /// Shutting down.
    Draining,
    /// No chain is configured.
    Unconfigured,
}

/// What is wrong with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyFault {
    /// None was given.
    Missing,
    /// It is not one of ours.
    Unknown,
    /// Two different keys in one request.
    Conflict,
    /// It does not include this chain.
    Chain,
    /// It is locked to other origins.
    Origin,
}

/// A refusal in the terms of HTTP and JSON-RPC.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wire<'a> {
    /// Status, where the refusal answers the whole request.
    pub(crate) status: StatusCode,
    /// JSON-RPC code.
    pub(crate) code: i32,
    /// JSON-RPC message, not escaped.
    pub(crate) message: Cow<'a, str>,
    /// `data.reason`; `None` where a node would give the same error without `data`.
    pub(crate) reason: Option<&'static str>,
    /// For `data.retryAfterMs`, and for `Retry-After` where the status is not 200.
    pub(crate) retry_after: Option<Duration>,
    /// The transaction of an ambiguous end: its hash, and the error that an endpoint gave.
    pub(crate) ambiguous: Option<(TxHash, Option<Cow<'a, str>>)>,
}

impl Refusal<'_> {
    /// The row of the error table.
    pub(crate) fn wire(&self) -> Wire<'_> {
        use StatusCode as S;
        let (status, code, message, reason): (_, _, Cow<'_, str>, _) = match self {
            Self::Fault(kind) => (S::OK, kind.code(), kind.to_string().into(), None),
            Self::Method(name) => {
                let name = clip(name);
                let text = format!("the method {name} does not exist/is not available");
                (S::OK, -32601, text.into(), None)
            }
            Self::Notifications => (S::OK, -32601, "notifications not supported".into(), None),
            Self::Params => (S::OK, -32602, "non-array args".into(), None),
            Self::Header(problem) => (S::OK, -32602, (*problem).into(), Some("header")),
            Self::Key(fault) => {
                let (text, reason) = match fault {
                    KeyFault::Missing => ("an API key is required", "key_missing"),
                    KeyFault::Unknown => ("the API key is not valid", "key_unknown"),
                    KeyFault::Conflict => ("two different API keys in one request", "key_conflict"),
                    KeyFault::Chain => ("the API key does not include this chain", "key_chain"),
                    KeyFault::Origin => ("the API key is locked to other origins", "key_origin"),
                };
                let status = match fault {
                    KeyFault::Missing
                    | KeyFault::Unknown
                    | KeyFault::Conflict
                    | KeyFault::Chain => S::UNAUTHORIZED,
                    KeyFault::Origin => S::FORBIDDEN,
                };
                (status, -32001, text.into(), Some(reason))
            }
            Self::Host => (
                S::FORBIDDEN,
                -32001,
                "host not allowed".into(),
                Some("host"),
            ),
            Self::Origin => (
                S::FORBIDDEN,
                -32001,
                "origin not allowed".into(),
                Some("origin"),
            ),
            Self::Route => (S::NOT_FOUND, -32001, "no such path".into(), Some("route")),
            Self::Chain => (S::NOT_FOUND, -32001, "no such chain".into(), Some("chain")),
            Self::SlowBody => (
                S::REQUEST_TIMEOUT,
                -32600,
                "the request body came too slowly".into(),
                Some("slow_body"),
            ),
            Self::LargeBody => (
                S::PAYLOAD_TOO_LARGE,
                -32600,
                "the request body is too large".into(),
                Some("large_body"),
            ),
            Self::MediaType(text) => (
                S::UNSUPPORTED_MEDIA_TYPE,
                -32600,
                (*text).into(),
                Some("media_type"),
            ),
            Self::Limit { .. } => (
                S::TOO_MANY_REQUESTS,
                -32005,
                "rate limit exceeded".into(),
                Some("limit"),
            ),
            Self::Upstream(error) => return upstream(error),
            Self::LargeBatchAnswer => (
                S::OK,
                -32003,
                "response too large".into(),
                Some("large_answer"),
            ),
            Self::Internal => (S::OK, -32603, "internal error".into(), Some("internal")),
            Self::Draining => (
                S::SERVICE_UNAVAILABLE,
                -32011,
                "the gateway is shutting down".into(),
                Some("draining"),
            ),
            Self::Unconfigured => (
                S::SERVICE_UNAVAILABLE,
                -32011,
                "no chain is configured".into(),
                Some("unconfigured"),
            ),
        };
        let retry_after = match self {
            Self::Limit { retry_after } => Some(*retry_after),
            _ => None,
        };
        Wire {
            status,
            code,
            message,
            reason,
            retry_after,
            ambiguous: None,
        }
    }
}

impl Wire<'_> {
    /// Appends the answer to one call.
    pub(crate) fn write(&self, out: &mut Vec<u8>, id: Id<'_>) {
        let data = self.reason.map(|reason| {
            let mut data = format!(r#"{{"source":"gateway","reason":"{reason}""#);
            if let Some(wait) = self.retry_after {
                data.push_str(&format!(r#","retryAfterMs":{}"#, wait.as_millis()));
            }
            if let Some((hash, error)) = &self.ambiguous {
                data.push_str(&format!(r#","hash":"{hash}""#));
                if let Some(error) = error {
                    data.push_str(&format!(r#","error":{error}"#));
                }
            }
            data.push('}');
            data
        });
        let error = RpcError {
            code: self.code,
            message: &self.message,
            data: data.as_deref(),
        };
        write_error(out, id, &error);
    }

    /// `Retry-After` in whole seconds, rounded up, at least two digits.
    pub(crate) fn retry_after_header(&self) -> Option<String> {
        let wait = self.retry_after.filter(|_| self.status != StatusCode::OK)?;
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        Some(format!("{:02}", seconds.max(1)))
    }
}

/// Appends the answer to a call that an endpoint answered: the caller's id, the endpoint's bytes.
pub(crate) fn write_answer(out: &mut Vec<u8>, id: Id<'_>, answer: &Answer) {
    if answer.is_error() {
        write_raw_error(out, id, answer.bytes());
    } else {
        write_result(out, id, answer.bytes());
    }
}

fn upstream(error: &Error) -> Wire<'_> {
    let mut retry_after = None;
    let mut ambiguous = None;
    let (code, message, reason): (_, Cow<'_, str>, _) = match error {
        // As a node says it that does not have the block.
        Error::Behind { .. } => (-32000, "header not found".into(), None),
        // As those say it whose clients then ask for less.
        Error::RangeTooWide { .. } => (
            -32602,
            format!("block range is too wide: {error}").into(),
            None,
        ),
        Error::AllEndpointsFailed { attempts } | Error::DeadlineExceeded { attempts }
            if is_above_every_head(attempts) =>
        {
            (-32000, "header not found".into(), None)
        }
        Error::AllEndpointsFailed { attempts } => {
            let text = match attempts
                .iter()
                .min_by_key(|attempt| rank(attempt))
                .map(cause)
            {
                Some(text) => format!("all upstreams failed: {text}").into(),
                None => "all upstreams failed".into(),
            };
            (-32011, text, Some("all_failed"))
        }
        Error::DeadlineExceeded { .. } => (-32015, "deadline exceeded".into(), Some("deadline")),
        Error::ChainMismatch { .. } => (
            -32011,
            "every upstream serves another chain".into(),
            Some("chain_mismatch"),
        ),
        Error::NoEndpoint => (
            -32011,
            "no upstream can serve this call".into(),
            Some("none_eligible"),
        ),
        Error::BudgetExhausted { endpoints: _, wait } => {
            retry_after = Some(*wait);
            let text = "the budgets of all upstreams are spent";
            (-32011, text.into(), Some("budget"))
        }
        Error::Ambiguous { hash, error, .. } => {
            let said = error.as_deref().and_then(Said::read);
            ambiguous = Some((*hash, error.as_deref().map(Cow::Borrowed)));
            let (code, message) = match said {
                // The endpoint's own code and words, so that whoever looks for them finds them; by
                // themselves they prove nothing here.
                Some(Said { code, message }) => (code, format!("{UNKNOWN}: {message}").into()),
                None => (-32011, UNKNOWN.into()),
            };
            (code, message, Some("ambiguous"))
        }
        Error::Closed => (-32011, "the pool is closed".into(), Some("closed")),
    };
    Wire {
        status: StatusCode::OK,
        code,
        message,
        reason,
        retry_after,
        ambiguous,
    }
}

/// What is said of a transaction of which nobody knows whether it was accepted (R-35).
const UNKNOWN: &str = "the transaction may have been accepted";

/// The code and the words of an endpoint's error.
#[derive(serde::Deserialize)]
struct Said<'a> {
    code: i32,
    #[serde(borrow)]
    message: Cow<'a, str>,
}

impl<'a> Said<'a> {
    fn read(error: &'a str) -> Option<Self> {
        serde_json::from_str(error).ok()
    }
}

/// Whether everybody that was asked is below the block that the call is about.
fn is_above_every_head(attempts: &[Attempt]) -> bool {
    !attempts.is_empty()
        && attempts
            .iter()
            .all(|attempt| attempt.class == Class::Behind)
}

/// The order of R-33, where a network that failed tells least.
fn rank(attempt: &Attempt) -> (bool, u8) {
    (is_network(attempt), usefulness(attempt.class))
}

/// Whether the attempt ended before there was any answer, other than by a timeout.
fn is_network(attempt: &Attempt) -> bool {
    use SendErrorKind::{Connect, Reset, Resolve, Tls};
    let words = [Resolve, Connect, Tls, Reset].map(SendErrorKind::word);
    attempt.detail.is_some_and(|detail| words.contains(&detail))
}

/// A failure in words for the caller.
fn cause(attempt: &Attempt) -> &'static str {
    match attempt.class {
        Class::ExecutionRevert
        | Class::InvalidParams
        | Class::InvalidRequest
        | Class::ParseError
        | Class::TxRejected
        | Class::AlreadyKnown
        | Class::UserRejected
        | Class::FilterNotFound => "refused by the node",
        Class::MissingHistory | Class::Behind | Class::ReorgedBlock | Class::Syncing => {
            "data not held"
        }
        Class::MethodUnsupported | Class::MethodBlocked | Class::SubscriptionUnsupported => {
            "method not available"
        }
        Class::RangeLimit | Class::PayloadTooLarge | Class::RateLimited | Class::QuotaExhausted => {
            "limit reached"
        }
        Class::Unauthorized
        | Class::BadGatewayHtml
        | Class::MalformedEnvelope
        | Class::WrongChain
        | Class::Internal
        | Class::Overloaded => {
            if is_network(attempt) {
                "not reachable"
            } else {
                "no usable answer"
            }
        }
        Class::Timeout => "timed out",
    }
}

/// At most [`MAX_ECHO`] bytes, cut between characters.
fn clip(text: &str) -> &str {
    let mut end = text.len().min(MAX_ECHO);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests;
