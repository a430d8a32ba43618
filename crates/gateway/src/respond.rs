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

use highwater::{Answer, Error, Payload, core::classify::Class};
use highwater_core::jsonrpc::{FaultKind, Id, RpcError, write_error, write_result};
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
    /// The retry budget is spent.
    #[cfg_attr(not(test), expect(dead_code, reason = "retry budgets come with the engine"))]
    Budget,
    /// The block asked for is above every endpoint's head, after the wait.
    #[cfg_attr(not(test), expect(dead_code, reason = "head tracking comes with the engine"))]
    AboveHead,
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
    /// For `Retry-After` and `data.retryAfterMs`.
    pub(crate) retry_after: Option<Duration>,
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
            Self::Key(fault) => {
                let (text, reason) = match fault {
                    KeyFault::Missing => ("an API key is required", "key_missing"),
                    KeyFault::Unknown => ("the API key is not valid", "key_unknown"),
                    KeyFault::Conflict => ("two different API keys in one request", "key_conflict"),
                    KeyFault::Chain => ("the API key does not include this chain", "key_chain"),
                    KeyFault::Origin => ("the API key is locked to other origins", "key_origin"),
                };
                let status = match fault {
                    KeyFault::Missing | KeyFault::Unknown | KeyFault::Conflict | KeyFault::Chain => S::UNAUTHORIZED,
                    KeyFault::Origin => S::FORBIDDEN,
                };
                (status, -32001, text.into(), Some(reason))
            }
            Self::Host => (S::FORBIDDEN, -32001, "host not allowed".into(), Some("host")),
            Self::Origin => (S::FORBIDDEN, -32001, "origin not allowed".into(), Some("origin")),
            Self::Route => (S::NOT_FOUND, -32001, "no such path".into(), Some("route")),
            Self::Chain => (S::NOT_FOUND, -32001, "no such chain".into(), Some("chain")),
            Self::SlowBody => {
                (S::REQUEST_TIMEOUT, -32600, "the request body came too slowly".into(), Some("slow_body"))
            }
            Self::LargeBody => {
                (S::PAYLOAD_TOO_LARGE, -32600, "the request body is too large".into(), Some("large_body"))
            }
            Self::MediaType(text) => {
                (S::UNSUPPORTED_MEDIA_TYPE, -32600, (*text).into(), Some("media_type"))
            }
            Self::Limit { .. } => {
                (S::TOO_MANY_REQUESTS, -32005, "rate limit exceeded".into(), Some("limit"))
            }
            Self::Upstream(error) => return upstream(error),
            Self::Budget => {
                (S::OK, -32011, "all upstreams failed: retry budget exhausted".into(), Some("budget"))
            }
            Self::AboveHead => (S::OK, -32000, "header not found".into(), None),
            Self::LargeBatchAnswer => (S::OK, -32003, "response too large".into(), Some("large_answer")),
            Self::Internal => (S::OK, -32603, "internal error".into(), Some("internal")),
            Self::Draining => {
                (S::SERVICE_UNAVAILABLE, -32011, "the gateway is shutting down".into(), Some("draining"))
            }
            Self::Unconfigured => {
                (S::SERVICE_UNAVAILABLE, -32011, "no chain is configured".into(), Some("unconfigured"))
            }
        };
        let retry_after = match self {
            Self::Limit { retry_after } => Some(*retry_after),
            _ => None,
        };
        Wire { status, code, message, reason, retry_after }
    }
}

impl Wire<'_> {
    /// Appends the answer to one call.
    pub(crate) fn write(&self, out: &mut Vec<u8>, id: Id<'_>) {
        let data = self.reason.map(|reason| match self.retry_after {
            None => format!(r#"{{"source":"gateway","reason":"{reason}"}}"#),
            Some(wait) => format!(
                r#"{{"source":"gateway","reason":"{reason}","retryAfterMs":{}}}"#,
                wait.as_millis()
            ),
        });
        let error = RpcError { code: self.code, message: &self.message, data: data.as_deref() };
        write_error(out, id, &error);
    }

    /// `Retry-After` in whole seconds, rounded up, at least two digits.
    pub(crate) fn retry_after_header(&self) -> Option<String> {
        let wait = self.retry_after?;
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        Some(format!("{:02}", seconds.max(1)))
    }
}

/// Appends the answer to a call that an endpoint answered: the caller's id, the endpoint's bytes.
pub(crate) fn write_answer(out: &mut Vec<u8>, id: Id<'_>, answer: &Answer) {
    match answer.payload() {
        Payload::Result(bytes) => {
            out.reserve_exact(ENVELOPE + id.as_str().len() + bytes.len());
            write_result(out, id, bytes.as_bytes());
        }
        Payload::Error(bytes) => {
            out.reserve_exact(ENVELOPE + id.as_str().len() + bytes.len());
            out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
            out.extend_from_slice(id.as_str().as_bytes());
            out.extend_from_slice(br#","error":"#);
            out.extend_from_slice(bytes.as_bytes());
            out.push(b'}');
        }
    }
}

/// Bytes around id and result, rounded up.
const ENVELOPE: usize = 40;

fn upstream(error: &Error) -> Wire<'static> {
    let (code, message, reason): (_, Cow<'static, str>, _) = match error {
        Error::AllEndpointsFailed { attempts } => {
            let cause = attempts.iter().map(|a| cause(a.class)).min();
            let text = match cause {
                Some((_, text)) => format!("all upstreams failed: {text}").into(),
                None => "all upstreams failed".into(),
            };
            (-32011, text, "all_failed")
        }
        Error::DeadlineExceeded { .. } => (-32015, "deadline exceeded".into(), "deadline"),
        Error::ChainMismatch { .. } => {
            (-32011, "every upstream serves another chain".into(), "chain_mismatch")
        }
        Error::NoEndpoint => (-32011, "no upstream serves this method".into(), "none_eligible"),
        Error::Closed => (-32011, "the pool is closed".into(), "closed"),
    };
    Wire { status: StatusCode::OK, code, message, reason: Some(reason), retry_after: None }
}

/// The cause of a failure in the order of usefulness to the caller, and its words.
fn cause(class: Class) -> (u8, &'static str) {
    match class {
        Class::ExecutionRevert
        | Class::InvalidParams
        | Class::InvalidRequest
        | Class::ParseError
        | Class::TxRejected
        | Class::AlreadyKnown
        | Class::UserRejected
        | Class::FilterNotFound
        | Class::ReorgedBlock => (0, "refused by the node"),
        Class::MethodUnsupported | Class::MethodBlocked | Class::SubscriptionUnsupported => {
            (1, "method not available")
        }
        Class::RangeLimit | Class::RateLimited | Class::QuotaExhausted | Class::PayloadTooLarge => {
            (2, "limit reached")
        }
        Class::Behind | Class::MissingHistory | Class::Syncing => (3, "data not held"),
        Class::Unauthorized
        | Class::BadGatewayHtml
        | Class::MalformedEnvelope
        | Class::WrongChain
        | Class::Internal
        | Class::Overloaded => (4, "no usable answer"),
        Class::Timeout => (5, "timed out"),
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
mod tests {
    use super::{KeyFault, Refusal, upstream};
    use highwater::{Attempt, Error, core::classify::Class};
    use highwater_core::{
        ChainId,
        jsonrpc::{FaultKind, Id},
    };
    use std::{borrow::Cow, time::Duration};

    fn all_failed(classes: &[Class]) -> Error {
        let attempts = classes
            .iter()
            .map(|&class| Attempt { endpoint: "a".into(), class, detail: None })
            .collect();
        Error::AllEndpointsFailed { attempts }
    }

    // The whole error table, row by row.
    // hardening B1, B3, B11, B12, B13, C6
    #[test]
    fn every_refusal_has_the_status_and_code_of_the_error_table() {
        let no_endpoint = Error::NoEndpoint;
        let mismatch = Error::ChainMismatch { expected: ChainId(1), found: vec![] };
        let deadline = Error::DeadlineExceeded { attempts: vec![] };
        let failed = all_failed(&[]);
        let rows: &[(Refusal<'_>, u16, i32, &str, Option<&str>)] = &[
            (Refusal::Fault(FaultKind::Parse), 200, -32700, "parse error", None),
            (Refusal::Fault(FaultKind::TooDeep), 200, -32700, "parse error: nested too deeply", None),
            (Refusal::Fault(FaultKind::EmptyBatch), 200, -32600, "empty batch", None),
            (Refusal::Fault(FaultKind::BatchTooLarge), 200, -32600, "batch too large", None),
            (Refusal::Fault(FaultKind::DuplicateMember), 200, -32600, "invalid request: duplicate member", None),
            (Refusal::Fault(FaultKind::NotAnObject), 200, -32600, "invalid request: not an object", None),
            (Refusal::Method("foo_bar"), 200, -32601, "the method foo_bar does not exist/is not available", None),
            (Refusal::Notifications, 200, -32601, "notifications not supported", None),
            (Refusal::Params, 200, -32602, "non-array args", None),
            (Refusal::Key(KeyFault::Missing), 401, -32001, "an API key is required", Some("key_missing")),
            (Refusal::Key(KeyFault::Unknown), 401, -32001, "the API key is not valid", Some("key_unknown")),
            (Refusal::Key(KeyFault::Conflict), 401, -32001, "two different API keys in one request", Some("key_conflict")),
            (Refusal::Key(KeyFault::Chain), 401, -32001, "the API key does not include this chain", Some("key_chain")),
            (Refusal::Key(KeyFault::Origin), 403, -32001, "the API key is locked to other origins", Some("key_origin")),
            (Refusal::Host, 403, -32001, "host not allowed", Some("host")),
            (Refusal::Origin, 403, -32001, "origin not allowed", Some("origin")),
            (Refusal::Route, 404, -32001, "no such path", Some("route")),
            (Refusal::Chain, 404, -32001, "no such chain", Some("chain")),
            (Refusal::SlowBody, 408, -32600, "the request body came too slowly", Some("slow_body")),
            (Refusal::LargeBody, 413, -32600, "the request body is too large", Some("large_body")),
            (Refusal::MediaType("forms are not accepted"), 415, -32600, "forms are not accepted", Some("media_type")),
            (Refusal::Limit { retry_after: Duration::from_secs(1) }, 429, -32005, "rate limit exceeded", Some("limit")),
            (Refusal::Upstream(Cow::Borrowed(&failed)), 200, -32011, "all upstreams failed", Some("all_failed")),
            (Refusal::Upstream(Cow::Borrowed(&no_endpoint)), 200, -32011, "no upstream serves this method", Some("none_eligible")),
            (Refusal::Upstream(Cow::Borrowed(&mismatch)), 200, -32011, "every upstream serves another chain", Some("chain_mismatch")),
            (Refusal::Budget, 200, -32011, "all upstreams failed: retry budget exhausted", Some("budget")),
            (Refusal::AboveHead, 200, -32000, "header not found", None),
            (Refusal::Upstream(Cow::Borrowed(&deadline)), 200, -32015, "deadline exceeded", Some("deadline")),
            (Refusal::LargeBatchAnswer, 200, -32003, "response too large", Some("large_answer")),
            (Refusal::Internal, 200, -32603, "internal error", Some("internal")),
            (Refusal::Draining, 503, -32011, "the gateway is shutting down", Some("draining")),
            (Refusal::Unconfigured, 503, -32011, "no chain is configured", Some("unconfigured")),
        ];
        for (refusal, status, code, message, reason) in rows {
            let wire = refusal.wire();
            assert_eq!(wire.status.as_u16(), *status, "{refusal:?}");
            assert_eq!(wire.code, *code, "{refusal:?}");
            assert_eq!(wire.message, *message);
            assert_eq!(wire.reason, *reason);
            let mut out = Vec::new();
            wire.write(&mut out, Id::NULL);
            let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
            assert_eq!(value["jsonrpc"], "2.0");
            assert!(value["id"].is_null() && value.get("result").is_none());
            assert_eq!(value["error"]["code"], *code);
            assert_eq!(value["error"]["message"], *message);
            match reason {
                Some(reason) => {
                    assert_eq!(value["error"]["data"]["source"], "gateway");
                    assert_eq!(value["error"]["data"]["reason"], *reason);
                }
                None => assert!(value["error"].get("data").is_none(), "as a node says it"),
            }
        }
    }

    #[test]
    fn a_limit_says_when_to_come_back_zero_padded_and_in_milliseconds() {
        for (wait, header) in [(1, "01"), (999, "01"), (1000, "01"), (1001, "02"), (65_000, "65"), (3_600_000, "3600")] {
            let refusal = Refusal::Limit { retry_after: Duration::from_millis(wait) };
            let wire = refusal.wire();
            assert_eq!(wire.retry_after_header().as_deref(), Some(header));
            let mut out = Vec::new();
            wire.write(&mut out, Id::NULL);
            let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
            assert_eq!(value["error"]["data"]["retryAfterMs"], wait);
        }
    }

    #[test]
    fn the_message_names_the_most_useful_cause_whatever_the_order() {
        let cases: [(&[Class], &str); 5] = [
            (&[Class::Timeout, Class::RateLimited], "all upstreams failed: limit reached"),
            (&[Class::RateLimited, Class::Timeout], "all upstreams failed: limit reached"),
            (&[Class::Behind, Class::BadGatewayHtml], "all upstreams failed: data not held"),
            (&[Class::MethodUnsupported, Class::RateLimited], "all upstreams failed: method not available"),
            (&[Class::Timeout], "all upstreams failed: timed out"),
        ];
        for (classes, message) in cases {
            assert_eq!(upstream(&all_failed(classes)).message, message);
        }
    }

    // hardening C15
    #[test]
    fn a_long_method_name_is_repeated_only_in_part() {
        let name = "é".repeat(1000);
        let refusal = Refusal::Method(&name);
        assert!(refusal.wire().message.len() < 320);
    }
}
