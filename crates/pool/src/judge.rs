//! What came back from one attempt, judged: the one place between bytes and decisions.
//!
//! A well-formed result ends the call, whatever the HTTP status (G-2). A well-formed error ends it
//! too, unless its status or code says that this endpoint refuses or is overloaded; then another one
//! is asked, and the error is kept in case nothing better comes (R-33). Everything else is a bad
//! answer. The HTTP status is never shown to the caller.
//!
//! An error that is shown is made legal where it was not (hardening E8), and credentials of the
//! endpoint's URL that it repeats are masked (R-2, hardening C4). Results are never touched.

use crate::{
    secret::Scrubber,
    upstream::{RawReply, SendError, SendErrorKind},
};
use ::http::{HeaderMap, header};
use bytes::Bytes;
use highwater_core::{
    call::{Delivery, Settled},
    classify::{Class, Verdict},
    jsonrpc::{self, BadReply, Id, Reply, ReplyError},
};
use std::{ops::Range, time::Duration};

/// How an attempt ended, and what of it can be shown.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) settled: Settled,
    /// The answer to give, or the error to show if nothing better comes.
    pub(crate) shown: Option<Shown>,
}

/// The caller's part of a body.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) body: Bytes,
    pub(crate) span: Range<usize>,
    pub(crate) is_error: bool,
}

/// Judges the answer to the request that was sent with the id `id`.
pub(crate) fn judge(raw: RawReply, id: u64, scrubber: &Scrubber) -> Judged {
    let RawReply {
        status,
        headers,
        body,
    } = raw;
    match jsonrpc::parse_reply(&body, id) {
        Ok(Reply::Result(result)) => {
            let span = span(&body, result);
            let shown = Shown {
                body,
                span,
                is_error: false,
            };
            Judged {
                settled: Settled::Answer,
                shown: Some(shown),
            }
        }
        Ok(Reply::Error(error)) => {
            let refusal = refusal(status, error.code);
            let shown = show(&body, &error, scrubber);
            let settled = match refusal {
                None => Settled::Answer,
                Some(class) => failed(class, None, delivery(status), &headers, true),
            };
            Judged {
                settled,
                shown: Some(shown),
            }
        }
        Err(bad) => {
            let (class, subclass) = bad_answer(status, &headers, &body, bad);
            let settled = failed(class, subclass, delivery(status), &headers, false);
            Judged {
                settled,
                shown: None,
            }
        }
    }
}

/// Judges a failure below JSON-RPC.
pub(crate) fn judge_failure(error: SendError) -> Judged {
    let class = match error.kind {
        SendErrorKind::Resolve
        | SendErrorKind::Connect
        | SendErrorKind::Tls
        | SendErrorKind::Reset => Class::Internal,
        SendErrorKind::Timeout => Class::Timeout,
        SendErrorKind::TooLarge => Class::PayloadTooLarge,
        SendErrorKind::Protocol => Class::MalformedEnvelope,
    };
    let subclass = Some(error.kind.word());
    let settled = failed(class, subclass, error.delivery, &HeaderMap::new(), false);
    Judged {
        settled,
        shown: None,
    }
}

fn failed(
    class: Class,
    subclass: Option<&'static str>,
    delivery: Delivery,
    headers: &HeaderMap,
    showable: bool,
) -> Settled {
    let verdict = Verdict {
        class,
        subclass,
        retry_other_endpoint: true,
        counts_against_endpoint: class != Class::PayloadTooLarge,
        retry_after: retry_after(headers),
        suggested_range: None,
        fingerprint: None,
    };
    Settled::Failed {
        verdict,
        delivery,
        showable,
    }
}

/// Why a well-formed error is this endpoint's refusal rather than the chain's answer.
const fn refusal(status: u16, code: Option<i64>) -> Option<Class> {
    if let Some(class) = status_class(status) {
        return Some(class);
    }
    match code {
        Some(-32005 | 429) => Some(Class::RateLimited),
        _ => None,
    }
}

const fn status_class(status: u16) -> Option<Class> {
    match status {
        401 | 403 | 407 => Some(Class::Unauthorized),
        402 => Some(Class::QuotaExhausted),
        408 | 504 => Some(Class::Timeout),
        429 => Some(Class::RateLimited),
        503 => Some(Class::Overloaded),
        500..=599 => Some(Class::Internal),
        _ => None,
    }
}

/// Statuses with which something in front of the node turned the request away (R-36, semantics
/// §5.1) prove that it did not reach the node.
const fn delivery(status: u16) -> Delivery {
    match status {
        401 | 402 | 403 | 407 | 429 => Delivery::NotSent,
        _ => Delivery::Answered,
    }
}

fn bad_answer(
    status: u16,
    headers: &HeaderMap,
    body: &[u8],
    bad: BadReply,
) -> (Class, Option<&'static str>) {
    match status {
        300..=399 => return (Class::MalformedEnvelope, Some("redirect")),
        413 => return (Class::PayloadTooLarge, Some("request")),
        401 | 402 | 403 | 407 | 408 | 429 | 503 | 504 => {
            if let Some(class) = status_class(status) {
                return (class, Some("status"));
            }
        }
        _ => {}
    }
    let is_html = headers.get(header::CONTENT_TYPE).is_some_and(|value| {
        value
            .as_bytes()
            .to_ascii_lowercase()
            .starts_with(b"text/html")
    });
    if is_html || body.trim_ascii_start().first() == Some(&b'<') {
        return (Class::BadGatewayHtml, Some("html"));
    }
    if body.trim_ascii().is_empty() {
        return (Class::MalformedEnvelope, Some("empty"));
    }
    match bad {
        BadReply::NotJson => match status_class(status) {
            Some(class) => (class, Some("text")),
            None => (Class::MalformedEnvelope, Some("not_json")),
        },
        BadReply::WrongId | BadReply::MissingId => (Class::MalformedEnvelope, Some("id")),
        BadReply::TooDeep
        | BadReply::NotAReply
        | BadReply::DuplicateMember
        | BadReply::Version
        | BadReply::Both
        | BadReply::Neither
        | BadReply::ErrorShape
        | BadReply::NotABatch
        | BadReply::Missing
        | BadReply::Repeated => (Class::MalformedEnvelope, Some("envelope")),
    }
}

/// The wait in seconds that the answer states.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    value.trim().parse().ok().map(Duration::from_secs)
}

/// The part of `body` that `part` is.
fn span(body: &[u8], part: &str) -> Range<usize> {
    let start = part.as_ptr().addr() - body.as_ptr().addr();
    start..start + part.len()
}

/// An error as the caller may see it.
fn show(body: &Bytes, error: &ReplyError<'_>, scrubber: &Scrubber) -> Shown {
    let masked = match scrubber.scrub(error.raw) {
        None if error.legal => {
            return Shown {
                body: body.clone(),
                span: span(body, error.raw),
                is_error: true,
            };
        }
        None => Vec::new(),
        Some(masked) => masked.into_bytes(),
    };
    if masked.is_empty() {
        return legal(|out| error.write(out, Id::NULL), scrubber);
    }
    // Masking inside JSON can only break it where the credential was a bare number.
    let again = [
        b"{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":",
        &masked[..],
        b"}",
    ]
    .concat();
    match jsonrpc::parse_reply(&again, 0) {
        Ok(Reply::Error(error)) => legal(|out| error.write(out, Id::NULL), scrubber),
        Ok(Reply::Result(_)) | Err(_) => withheld(),
    }
}

/// Has an answer with an error written, and cuts the error out.
fn legal(write: impl FnOnce(&mut Vec<u8>), scrubber: &Scrubber) -> Shown {
    let mut out = Vec::new();
    write(&mut out);
    let body = Bytes::from(out);
    let found = match jsonrpc::parse_reply(&body, 0) {
        // Decoding escapes may have brought a credential to light.
        Ok(Reply::Error(error)) if error.legal && scrubber.scrub(error.raw).is_none() => {
            Some(span(&body, error.raw))
        }
        Ok(_) | Err(_) => None,
    };
    match found {
        Some(span) => Shown {
            body,
            span,
            is_error: true,
        },
        None => withheld(),
    }
}

fn withheld() -> Shown {
    const ERROR: &str =
        r#"{"code":-32603,"message":"the endpoint's error is withheld: it repeats a credential"}"#;
    Shown {
        body: Bytes::from_static(ERROR.as_bytes()),
        span: 0..ERROR.len(),
        is_error: true,
    }
}
