//! What came back from one attempt, judged and made ready to be shown.
//!
//! What an answer means is [`highwater_core::judge`]'s; here the bytes are cut out. An error that is
//! shown is made legal where it was not (hardening E8), and credentials of the endpoint's URL that it
//! repeats are masked (R-2, hardening C4). Results are never touched. The HTTP status is never shown.

use crate::{
    ask::Ask,
    node::Node,
    secret::Scrubber,
    upstream::{RawReply, SendError, SendErrorKind},
};
use bytes::Bytes;
use highwater_core::{
    breaker::{Meaning, Said},
    call::Settled,
    classify::{Class, Classifier, Verdict},
    jsonrpc::{self, Id, Reply, ReplyError},
    judge::{self, Question, Wire, of_class},
};
use http::HeaderMap;
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

    pub(crate) fn rules(&self) -> Option<&Classifier> {
        self.rules.as_deref()
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

/// How an attempt ended, and what of it can be shown.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) settled: Settled,
    /// The answer to give, or the error to show if nothing better comes.
    pub(crate) shown: Option<Shown>,
    /// The status of the HTTP answer; 200 for transports without one, `None` without an answer.
    pub(crate) status: Option<u16>,
}

/// The caller's part of a body.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) body: Bytes,
    pub(crate) span: Range<usize>,
    pub(crate) is_error: bool,
}

/// Judges the answer to a question.
pub(crate) fn judge(raw: RawReply, ask: &Ask, node: &Node, meanings: &Meanings) -> Judged {
    judge_part(raw.status, &raw.headers, raw.body, ask, node, meanings)
}

/// Judges the answer to a question that came with others in one body: `body` is its own part.
pub(crate) fn judge_part(
    status: u16,
    headers: &HeaderMap,
    body: Bytes,
    ask: &Ask,
    node: &Node,
    meanings: &Meanings,
) -> Judged {
    let headers = |name: &str| headers.get(name)?.to_str().ok();
    let wire = Wire {
        status,
        headers: &headers,
        body: &body,
        wall: SystemTime::now(),
    };
    let question = Question {
        rules: meanings.rules(),
        ..ask.question()
    };
    let judge::Judged { settled, shown } = judge::judge(&wire, &question);
    if let Settled::Terminal { verdict, .. } | Settled::Failed { verdict, .. } = &settled {
        meanings.tell_unknown(&node.label, verdict);
    }
    let shown = shown.map(|shown| match shown {
        judge::Shown::Result(result) => (span(&body, result), None),
        judge::Shown::Error(error) => (0..0, Some(show(&body, &error, &node.scrubber))),
    });
    let shown = shown.map(|(span, error)| {
        error.unwrap_or(Shown {
            body,
            span,
            is_error: false,
        })
    });
    Judged {
        settled,
        shown,
        status: Some(status),
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
    let verdict = of_class(class, Some(error.kind.word()));
    Judged {
        settled: Settled::Failed {
            meaning: meaning(&verdict),
            verdict,
            delivery: error.delivery,
            showable: false,
        },
        shown: None,
        status: None,
    }
}

/// What a failure that no HTTP answer told means for its endpoint.
pub(crate) fn meaning(verdict: &Verdict) -> Meaning {
    Meaning::of(verdict, 200, Said::Words)
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
