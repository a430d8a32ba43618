//! What one answer says: the one place between bytes and decisions.
//!
//! A well-formed result ends the call, whatever the HTTP status (G-2), unless it hides a failure of
//! the node. Everything else is put to the classifier (R-37). An error that every endpoint would
//! repeat is the chain's answer and ends the call too; others send it on to the next endpoint.
//!
//! Of a result only what routing needs is looked at: whether it is empty (semantics §4.3), and the
//! head that an `eth_blockNumber` or a block at `latest` states (R-15).

use crate::{
    answer,
    breaker::{Meaning, Said},
    call::{Content, Delivery, Settled},
    classify::{self, Class, Classifier, Evidence, HeaderLookup, Verdict},
    heads::Source,
    jsonrpc::{self, Params, Reply, ReplyError},
    method::Descriptor,
};
use std::time::SystemTime;

/// What was asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The id it was sent with.
    pub id: u64,
    /// The method as it went on the wire.
    pub method: &'a str,
    /// Its row.
    pub row: &'static Descriptor,
    /// The parameters as they went on the wire.
    pub params: Params<'a>,
    /// The head that the router believes.
    pub head: Option<u64>,
    /// The chain that the endpoint should serve.
    pub chain: Option<u64>,
    /// Rules beside the built-in table.
    pub rules: Option<&'a Classifier>,
}

/// What came back.
#[derive(Clone, Copy)]
pub struct Wire<'a> {
    /// The HTTP status; 200 on a WebSocket.
    pub status: u16,
    /// The response headers.
    pub headers: HeaderLookup<'a>,
    /// The whole body.
    pub body: &'a [u8],
    /// Wall-clock time, for waits that are stated as a date.
    pub wall: SystemTime,
}

/// The part of an answer that can be shown to the caller.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown<'a> {
    /// The bytes of `result`.
    Result(&'a str),
    /// The endpoint's error.
    Error(ReplyError<'a>),
}

/// A judged answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged<'a> {
    /// How the attempt ended.
    pub settled: Settled,
    /// The answer to give, or the error to show if nothing better comes.
    pub shown: Option<Shown<'a>>,
}

/// Judges an answer.
#[must_use]
pub fn judge<'a>(wire: &Wire<'a>, question: &Question<'a>) -> Judged<'a> {
    match jsonrpc::parse_reply(wire.body, question.id) {
        Ok(Reply::Result(result)) => {
            let hidden = if classify::may_hide(question.method) {
                classify::classify_result(question.method, result)
            } else {
                None
            };
            let other = || answer::mismatch(question.row, params_text(question.params), result);
            if hidden.is_none() && other().is_some() {
                // An answer to another question, though the id is right (semantics 7 row 9).
                let verdict = of_class(Class::MalformedEnvelope, Some("not_as_asked"));
                let meaning = Meaning::of(&verdict, wire.status, Said::Words);
                return Judged {
                    settled: settle(verdict, meaning, Delivery::Answered, false),
                    shown: None,
                };
            }
            let settled = match hidden {
                None => Settled::Result {
                    content: content(result),
                    head: head(question, result),
                },
                Some(verdict) => {
                    let meaning = Meaning::of(&verdict, wire.status, Said::Words);
                    settle(verdict, meaning, Delivery::Answered, true)
                }
            };
            Judged {
                settled,
                shown: Some(Shown::Result(result)),
            }
        }
        Ok(Reply::Error(error)) => {
            let (verdict, meaning) = verdict(wire, question);
            let delivery = delivery(wire.status, Some(&verdict));
            Judged {
                settled: settle(verdict, meaning, delivery, true),
                shown: Some(Shown::Error(error)),
            }
        }
        Err(_) => {
            let (mut verdict, meaning) = verdict(wire, question);
            // What is no JSON-RPC answer cannot end the call, whatever its words say.
            verdict.retry_other_endpoint = true;
            Judged {
                settled: settle(verdict, meaning, delivery(wire.status, None), false),
                shown: None,
            }
        }
    }
}

/// A verdict with the usual consequences of its class.
#[must_use]
pub const fn of_class(class: Class, subclass: Option<&'static str>) -> Verdict {
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

/// The parameters as the method table reads them.
const fn params_text(params: Params<'_>) -> &str {
    match params {
        Params::Absent | Params::Null => "",
        Params::Array(raw) | Params::Object(raw) | Params::Scalar(raw) => raw,
    }
}

fn settle(verdict: Verdict, meaning: Meaning, delivery: Delivery, showable: bool) -> Settled {
    if showable && !verdict.retry_other_endpoint {
        Settled::Terminal { verdict, meaning }
    } else {
        Settled::Failed {
            verdict,
            meaning,
            delivery,
            showable,
        }
    }
}

#[cold]
fn verdict<'a>(wire: &Wire<'a>, question: &Question<'a>) -> (Verdict, Meaning) {
    let evidence = Evidence {
        params: match question.params {
            Params::Absent | Params::Null => "",
            Params::Array(raw) | Params::Object(raw) | Params::Scalar(raw) => raw,
        },
        head: question.head,
        expected_chain_id: question.chain,
        request_id: question.id,
        headers: wire.headers,
        wall: wire.wall,
        ..Evidence::new(question.method, wire.status, wire.body)
    };
    let found = match question.rules {
        Some(rules) => rules.classify(&evidence),
        None => classify::classify(&evidence),
    };
    // The classifier tolerates no more than the reply parser does; were it to, the parser's word
    // counts.
    let verdict = found.unwrap_or_else(|| of_class(Class::MalformedEnvelope, None));
    let said = match verdict.class {
        Class::Unauthorized | Class::BadGatewayHtml => said(question.rules, &evidence),
        _ => Said::Words,
    };
    let meaning = Meaning::of(&verdict, wire.status, said);
    (verdict, meaning)
}

/// Whether a refusal came in words (R-23).
fn said<'a>(rules: Option<&'a Classifier>, evidence: &Evidence<'a>) -> Said {
    let body = evidence.body.trim_ascii_start();
    if body.starts_with(b"<") {
        return Said::Page;
    }
    let known = match rules {
        Some(rules) => !rules.phrases(evidence).is_empty(),
        None => !classify::phrases(evidence).is_empty(),
    };
    if known { Said::Words } else { Said::Nothing }
}

/// What proves that a request had no effect (R-36, semantics §5.1, §4.3): statuses with which
/// something in front of the node turned it away unread, and words by which the endpoint says that
/// it has no such method, that it lets the caller in no further, or that nothing is taken now.
fn delivery(status: u16, worded: Option<&Verdict>) -> Delivery {
    if matches!(status, 401 | 403 | 413 | 429) {
        return Delivery::NotSent;
    }
    match worded.map(|verdict| (verdict.class, verdict.subclass)) {
        // A key of the endpoint's own may be refused after another of its nodes was asked.
        Some((Class::Unauthorized, Some("upstream_key"))) => Delivery::Answered,
        Some((
            Class::MethodUnsupported
            | Class::MethodBlocked
            | Class::RateLimited
            | Class::QuotaExhausted
            | Class::Unauthorized,
            _,
        ))
        | Some((Class::Overloaded, Some("sequencer"))) => Delivery::NotSent,
        Some(_) | None => Delivery::Answered,
    }
}

/// How much a result says.
fn content(result: &str) -> Content {
    match result {
        "null" => return Content::Null,
        "[]" => return Content::EmptyList,
        _ => {}
    }
    let digits = result
        .strip_prefix("\"0x")
        .and_then(|rest| rest.strip_suffix('"'));
    match digits {
        Some(digits) if digits.bytes().all(|digit| digit == b'0') => Content::Zero,
        Some(_) => Content::Value,
        None if result.starts_with('[') && is_empty_list(result) => Content::EmptyList,
        None => Content::Value,
    }
}

fn is_empty_list(result: &str) -> bool {
    let inside = result
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    inside.is_some_and(|inside| inside.trim_ascii().is_empty())
}

/// The head that a result states: of `eth_blockNumber`, or of a block fetched at `latest`. A block
/// fetched by hash, number or another tag is history (R-15).
fn head(question: &Question<'_>, result: &str) -> Option<(Source, u64)> {
    match question.row.name {
        "eth_blockNumber" => quantity(result).map(|height| (Source::Number, height)),
        "eth_getBlockByNumber" => {
            let Params::Array(params) = question.params else {
                return None;
            };
            let first = params.trim_ascii_start().strip_prefix('[')?;
            if !first.trim_ascii_start().starts_with("\"latest\"") {
                return None;
            }
            let at = memchr::memmem::find(result.as_bytes(), b"\"number\":")?;
            let value = result.get(at + 9..)?.trim_ascii_start();
            let end = value.get(1..)?.find('"')? + 2;
            let height = quantity(value.get(..end)?)?;
            Some((Source::LatestBlock, height))
        }
        _ => None,
    }
}

/// A hex quantity in quotes.
#[must_use]
pub fn quantity(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("\"0x")?.strip_suffix('"')?;
    // `from_str_radix` takes a sign.
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    u64::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{classify::no_headers, method};

    fn ask(method: &'static str, params: &'static str, body: &'static str) -> Settled {
        let question = Question {
            id: 1,
            method,
            row: method::lookup(method),
            params: Params::Array(params),
            head: None,
            chain: None,
            rules: None,
        };
        let wire = Wire {
            status: 200,
            headers: no_headers(),
            body: body.as_bytes(),
            wall: SystemTime::UNIX_EPOCH,
        };
        judge(&wire, &question).settled
    }

    fn result(content: Content) -> Settled {
        Settled::Result {
            content,
            head: None,
        }
    }

    // semantics §4.3
    #[test]
    fn tells_how_much_a_result_says() {
        for (body, expected) in [
            (r#"{"id":1,"result":null}"#, Content::Null),
            (r#"{"id":1,"result":[]}"#, Content::EmptyList),
            (r#"{"id":1,"result":[ ]}"#, Content::EmptyList),
            (r#"{"id":1,"result":[1]}"#, Content::Value),
            (r#"{"id":1,"result":"0x"}"#, Content::Zero),
            (r#"{"id":1,"result":"0x0"}"#, Content::Zero),
            (r#"{"id":1,"result":"0x00000000"}"#, Content::Zero),
            (r#"{"id":1,"result":"0x01"}"#, Content::Value),
            (r#"{"id":1,"result":false}"#, Content::Value),
        ] {
            assert_eq!(
                ask("eth_getBalance", "[]", body),
                result(expected),
                "{body}"
            );
        }
    }

    // R-15
    #[test]
    fn reads_heads_where_they_are_heads_and_nowhere_else() {
        let head = |method, params, body| match ask(method, params, body) {
            Settled::Result { head, .. } => head,
            other => panic!("{other:?}"),
        };
        let number = r#"{"id":1,"result":"0x64"}"#;
        let block = r#"{"id":1,"result":{"hash":"0x1","number": "0x65","transactions":[]}}"#;
        let at = |source, height| Some((source, height));
        assert_eq!(
            head("eth_blockNumber", "[]", number),
            at(Source::Number, 100)
        );
        let latest = at(Source::LatestBlock, 101);
        assert_eq!(
            head("eth_getBlockByNumber", r#"["latest",false]"#, block),
            latest
        );
        assert_eq!(
            head("eth_getBlockByNumber", r#" [ "latest" ]"#, block),
            latest
        );
        for params in [r#"["0x65",false]"#, r#"["finalized",false]"#, "[]"] {
            assert_eq!(
                head("eth_getBlockByNumber", params, block),
                None,
                "{params}"
            );
        }
        assert_eq!(head("eth_getBlockByHash", r#"["latest"]"#, block), None);
        assert_eq!(head("eth_gasPrice", "[]", number), None);
        let pending = r#"{"id":1,"result":{"number":null}}"#;
        assert_eq!(head("eth_getBlockByNumber", r#"["latest"]"#, pending), None);
    }

    // R-36, semantics §5.1
    #[test]
    fn a_failure_is_unsent_only_where_its_status_or_its_words_prove_it() {
        let row = method::lookup("eth_sendRawTransaction");
        let got = |status, body: &str| {
            let question = Question {
                id: 1,
                method: row.name,
                row,
                params: Params::Array(r#"["0x02"]"#),
                head: None,
                chain: None,
                rules: None,
            };
            let wire = Wire {
                status,
                headers: no_headers(),
                body: body.as_bytes(),
                wall: SystemTime::UNIX_EPOCH,
            };
            match judge(&wire, &question).settled {
                Settled::Failed { delivery, .. } => delivery,
                other => panic!("{status} {body}: {other:?}"),
            }
        };
        for status in [401, 403, 413, 429] {
            assert_eq!(got(status, "<html>"), Delivery::NotSent, "{status}");
        }
        for status in [404, 500, 502, 503, 504] {
            assert_eq!(got(status, "<html>"), Delivery::Answered, "{status}");
        }
        let said = |text: &str| {
            let error = format!(r#"{{"code":-32000,"message":"{text}"}}"#);
            got(
                200,
                &format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#),
            )
        };
        for text in [
            "the method eth_sendRawTransaction does not exist/is not available",
            "publishing transactions not supported by this endpoint",
            "sequencer temporarily not available",
            "currently not accepting transactions due to expected surplus being below threshold",
            "rate limit exceeded",
            "monthly quota exceeded",
            "invalid api key",
        ] {
            assert_eq!(said(text), Delivery::NotSent, "{text}");
        }
        for text in [
            "failed to publish transaction to any of the forwarding targets",
            "Failed to send transaction: connection refused",
            "Failed to send transaction: 429 Too Many Requests",
            "Failed to send transaction: the method does not exist",
            "context deadline exceeded",
            "overloaded, try again later",
            "rpc no longer tracking tx",
            "sequencer internal error",
            "could not reach the sequencer",
            "Internal error",
            "upstream: invalid api key",
            "something nobody has seen",
        ] {
            assert_eq!(said(text), Delivery::Answered, "{text}");
        }
        // What cannot be read proves nothing, whatever its words are.
        assert_eq!(got(200, "rate limit exceeded"), Delivery::Answered);
    }

    // R-37
    #[test]
    fn an_error_of_the_chain_ends_the_call_and_a_broken_answer_does_not() {
        let revert = r#"{"id":1,"error":{"code":3,"message":"execution reverted","data":"0x"}}"#;
        assert!(matches!(
            ask("eth_call", "[{}]", revert),
            Settled::Terminal {
                verdict: Verdict {
                    class: Class::ExecutionRevert,
                    ..
                },
                meaning: Meaning::Healthy,
            }
        ));
        assert!(matches!(
            ask("eth_call", "[{}]", r#"{"id":2,"result":"0x1"}"#),
            Settled::Failed {
                showable: false,
                verdict: Verdict {
                    class: Class::MalformedEnvelope,
                    ..
                },
                ..
            }
        ));
    }
}
