//! What came back from one attempt, judged: the one place between bytes and decisions.
//!
//! A well-formed result ends the call, whatever the HTTP status (G-2), unless it hides a failure of
//! the node. Everything else is put to the classifier (R-37). An error that every endpoint would
//! repeat is the chain's answer and ends the call too; others send it on to the next endpoint, and
//! the error is kept in case nothing better comes (R-33). The HTTP status is never shown.
//!
//! An error that is shown is made legal where it was not (hardening E8), and credentials of the
//! endpoint's URL that it repeats are masked (R-2, hardening C4). Results are never touched.

use crate::{
    pool::Node,
    secret::Scrubber,
    upstream::{RawReply, SendError, SendErrorKind},
};
use bytes::Bytes;
use highwater_core::{
    call::{Delivery, Settled},
    classify::{self, Class, Classifier, Evidence, Verdict},
    jsonrpc::{self, Id, Params, Reply, ReplyError},
};
use parking_lot::Mutex;
use std::{collections::HashSet, ops::Range, sync::Arc, time::SystemTime};

/// Most texts that are remembered as told; past it further ones are not told.
const MOST_UNKNOWN: usize = 1024;

/// What errors mean in one pool.
#[derive(Debug, Default)]
pub(crate) struct Meanings {
    /// `None`: the built-in table alone.
    rules: Option<Arc<Classifier>>,
    /// Fingerprints of texts that no rule knew and that were told already.
    told: Mutex<HashSet<u64>>,
}

impl Meanings {
    pub(crate) fn new(rules: Option<Arc<Classifier>>) -> Self {
        Self {
            rules,
            told: Mutex::default(),
        }
    }

    fn classify(&self, evidence: &Evidence<'_>) -> Option<Verdict> {
        match &self.rules {
            Some(rules) => rules.classify(evidence),
            None => classify::classify(evidence),
        }
    }

    /// Tells of a text that no rule knows, once: its fingerprint, so that an operator can add a rule,
    /// and never the text, which may repeat anything (R-2, G-7).
    fn tell_unknown(&self, label: &str, verdict: &Verdict) {
        let Some(fingerprint) = verdict.fingerprint else {
            return;
        };
        let mut told = self.told.lock();
        if told.len() >= MOST_UNKNOWN || !told.insert(fingerprint) {
            return;
        }
        drop(told);
        tracing::warn!(endpoint = %label, fingerprint = %format_args!("{fingerprint:016x}"), "an error that no rule knows");
    }
}

/// What was asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub(crate) id: u64,
    pub(crate) method: &'a str,
    pub(crate) params: Params<'a>,
}

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

/// Judges the answer to a question.
pub(crate) fn judge(
    raw: RawReply,
    question: Question<'_>,
    node: &Node,
    meanings: &Meanings,
) -> Judged {
    let scrubber = &node.scrubber;
    match jsonrpc::parse_reply(&raw.body, question.id) {
        Ok(Reply::Result(result)) => {
            let hidden = if classify::may_hide(question.method) {
                classify::classify_result(question.method, result)
            } else {
                None
            };
            let span = span(&raw.body, result);
            match hidden {
                None => {
                    let shown = Shown {
                        body: raw.body,
                        span,
                        is_error: false,
                    };
                    Judged {
                        settled: Settled::Answer,
                        shown: Some(shown),
                    }
                }
                Some(verdict) => {
                    let shown = Shown {
                        body: raw.body,
                        span,
                        is_error: false,
                    };
                    settle(verdict, Delivery::Answered, Some(shown))
                }
            }
        }
        Ok(Reply::Error(error)) => {
            let verdict = verdict(&raw, question, node, meanings);
            let delivery = delivery(raw.status, Some(verdict.class));
            let shown = show(&raw.body, &error, scrubber);
            settle(verdict, delivery, Some(shown))
        }
        Err(_) => {
            let mut verdict = verdict(&raw, question, node, meanings);
            // What is no JSON-RPC answer cannot end the call, whatever its words say.
            verdict.retry_other_endpoint = true;
            settle(verdict, delivery(raw.status, None), None)
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
    settle(
        of_class(class, Some(error.kind.word())),
        error.delivery,
        None,
    )
}

/// A verdict with the usual consequences of its class.
pub(crate) const fn of_class(class: Class, subclass: Option<&'static str>) -> Verdict {
    let (retry_other_endpoint, counts_against_endpoint) = class.usual_flags();
    Verdict {
        class,
        subclass,
        retry_other_endpoint,
        counts_against_endpoint,
        retry_after: None,
        suggested_range: None,
        fingerprint: None,
    }
}

fn settle(verdict: Verdict, delivery: Delivery, shown: Option<Shown>) -> Judged {
    let settled = if shown.is_some() && !verdict.retry_other_endpoint {
        Settled::Answer
    } else {
        Settled::Failed {
            verdict,
            delivery,
            showable: shown.is_some(),
        }
    };
    Judged { settled, shown }
}

#[cold]
fn verdict(raw: &RawReply, question: Question<'_>, node: &Node, meanings: &Meanings) -> Verdict {
    let headers = |name: &str| raw.headers.get(name)?.to_str().ok();
    let evidence = Evidence {
        params: match question.params {
            Params::Absent | Params::Null => "",
            Params::Array(raw) | Params::Object(raw) | Params::Scalar(raw) => raw,
        },
        request_id: question.id,
        headers: &headers,
        wall: SystemTime::now(),
        ..Evidence::new(question.method, raw.status, &raw.body)
    };
    // The classifier tolerates no more than the reply parser does; were it to, the parser's word
    // counts.
    let verdict = meanings
        .classify(&evidence)
        .unwrap_or_else(|| of_class(Class::MalformedEnvelope, None));
    meanings.tell_unknown(&node.label, &verdict);
    verdict
}

/// Statuses with which something in front of the node turned the request away, and the node's word
/// that it has no such method, prove that the request had no effect (R-36, semantics §5.1).
const fn delivery(status: u16, worded: Option<Class>) -> Delivery {
    match (status, worded) {
        (401 | 403 | 429, _) | (_, Some(Class::MethodUnsupported | Class::MethodBlocked)) => {
            Delivery::NotSent
        }
        _ => Delivery::Answered,
    }
}

/// The part of `body` that `part` is.
fn span(body: &[u8], part: &str) -> Range<usize> {
    jsonrpc::span_of(body, part).expect("invariant: a reply borrows from its body")
}

/// An error as the caller may see it.
fn show(body: &Bytes, error: &ReplyError<'_>, scrubber: &Scrubber) -> Shown {
    let masked = match scrubber.scrub_json(error.raw) {
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
        Ok(Reply::Error(error)) if error.legal && scrubber.scrub_json(error.raw).is_none() => {
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
