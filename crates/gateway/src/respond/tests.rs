//! The error table, row by row.

use super::{KeyFault, Refusal, upstream};
use highwater::{Attempt, Error, core::classify::Class};
use highwater_core::{
    ChainId, TxHash,
    jsonrpc::{FaultKind, Id},
};
use std::{borrow::Cow, time::Duration};

// R-35
#[test]
fn an_ambiguous_end_has_the_hash_and_the_words_of_the_endpoint() {
    let wire = |error: Option<&str>| {
        let refusal = Refusal::Upstream(Cow::Owned(Error::Ambiguous {
            hash: TxHash([0xab; 32]),
            error: error.map(str::to_owned),
            attempts: vec![],
        }));
        let mut out = Vec::new();
        refusal.wire().write(&mut out, Id::NULL);
        String::from_utf8(out).unwrap()
    };
    let hash = TxHash([0xab; 32]);
    let none = wire(None);
    let expected = format!(
        r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":-32011,"message":"the transaction may have been accepted","data":{{"source":"gateway","reason":"ambiguous","hash":"{hash}"}}}}}}"#
    );
    assert_eq!(none, expected);
    let own = r#"{"code":-32000,"message":"nonce \"too\" low","data":"0x"}"#;
    let expected = format!(
        r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":-32000,"message":"the transaction may have been accepted: nonce \"too\" low","data":{{"source":"gateway","reason":"ambiguous","hash":"{hash}","error":{own}}}}}}}"#
    );
    assert_eq!(wire(Some(own)), expected);
}

fn all_failed(classes: &[Class]) -> Error {
    let attempts = classes
        .iter()
        .map(|&class| Attempt {
            endpoint: "a".into(),
            class,
            detail: None,
            status: None,
            retry_after: None,
        })
        .collect();
    Error::AllEndpointsFailed { attempts }
}

// The whole error table, row by row.
// hardening B1, B3, B11, B12, B13, C6
#[test]
fn every_refusal_has_the_status_and_code_of_the_error_table() {
    let no_endpoint = Error::NoEndpoint;
    let mismatch = Error::ChainMismatch {
        expected: ChainId(1),
        found: vec![],
    };
    let deadline = Error::DeadlineExceeded { attempts: vec![] };
    let failed = all_failed(&[]);
    let above = all_failed(&[Class::Behind, Class::Behind]);
    let spent = Error::BudgetExhausted {
        endpoints: vec!["a".into()],
        wait: Duration::from_millis(2500),
    };
    let rows: &[(Refusal<'_>, u16, i32, &str, Option<&str>)] = &[
        (
            Refusal::Fault(FaultKind::Parse),
            200,
            -32700,
            "parse error",
            None,
        ),
        (
            Refusal::Fault(FaultKind::TooDeep),
            200,
            -32700,
            "parse error: nested too deeply",
            None,
        ),
        (
            Refusal::Fault(FaultKind::EmptyBatch),
            200,
            -32600,
            "empty batch",
            None,
        ),
        (
            Refusal::Fault(FaultKind::BatchTooLarge),
            200,
            -32600,
            "batch too large",
            None,
        ),
        (
            Refusal::Fault(FaultKind::DuplicateMember),
            200,
            -32600,
            "invalid request: duplicate member",
            None,
        ),
        (
            Refusal::Fault(FaultKind::NotAnObject),
            200,
            -32600,
            "invalid request: not an object",
            None,
        ),
        (
            Refusal::Method("foo_bar"),
            200,
            -32601,
            "the method foo_bar does not exist/is not available",
            None,
        ),
        (
            Refusal::Notifications,
            200,
            -32601,
            "notifications not supported",
            None,
        ),
        (Refusal::Params, 200, -32602, "non-array args", None),
        (
            Refusal::Key(KeyFault::Missing),
            401,
            -32001,
            "an API key is required",
            Some("key_missing"),
        ),
        (
            Refusal::Key(KeyFault::Unknown),
            401,
            -32001,
            "the API key is not valid",
            Some("key_unknown"),
        ),
        (
            Refusal::Key(KeyFault::Conflict),
            401,
            -32001,
            "two different API keys in one request",
            Some("key_conflict"),
        ),
        (
            Refusal::Key(KeyFault::Chain),
            401,
            -32001,
            "the API key does not include this chain",
            Some("key_chain"),
        ),
        (
            Refusal::Key(KeyFault::Origin),
            403,
            -32001,
            "the API key is locked to other origins",
            Some("key_origin"),
        ),
        (Refusal::Host, 403, -32001, "host not allowed", Some("host")),
        (
            Refusal::Origin,
            403,
            -32001,
            "origin not allowed",
            Some("origin"),
        ),
        (Refusal::Route, 404, -32001, "no such path", Some("route")),
        (Refusal::Chain, 404, -32001, "no such chain", Some("chain")),
        (
            Refusal::SlowBody,
            408,
            -32600,
            "the request body came too slowly",
            Some("slow_body"),
        ),
        (
            Refusal::LargeBody,
            413,
            -32600,
            "the request body is too large",
            Some("large_body"),
        ),
        (
            Refusal::MediaType("forms are not accepted"),
            415,
            -32600,
            "forms are not accepted",
            Some("media_type"),
        ),
        (
            Refusal::Limit {
                retry_after: Duration::from_secs(1),
            },
            429,
            -32005,
            "rate limit exceeded",
            Some("limit"),
        ),
        (
            Refusal::Upstream(Cow::Borrowed(&failed)),
            200,
            -32011,
            "all upstreams failed",
            Some("all_failed"),
        ),
        (
            Refusal::Upstream(Cow::Borrowed(&no_endpoint)),
            200,
            -32011,
            "no upstream can serve this call",
            Some("none_eligible"),
        ),
        (
            Refusal::Upstream(Cow::Borrowed(&mismatch)),
            200,
            -32011,
            "every upstream serves another chain",
            Some("chain_mismatch"),
        ),
        (
            Refusal::Upstream(Cow::Borrowed(&spent)),
            200,
            -32011,
            "the budgets of all upstreams are spent",
            Some("budget"),
        ),
        (
            Refusal::Upstream(Cow::Borrowed(&above)),
            200,
            -32000,
            "header not found",
            None,
        ),
        (
            Refusal::Upstream(Cow::Borrowed(&deadline)),
            200,
            -32015,
            "deadline exceeded",
            Some("deadline"),
        ),
        (
            Refusal::LargeBatchAnswer,
            200,
            -32003,
            "response too large",
            Some("large_answer"),
        ),
        (
            Refusal::Internal,
            200,
            -32603,
            "internal error",
            Some("internal"),
        ),
        (
            Refusal::Draining,
            503,
            -32011,
            "the gateway is shutting down",
            Some("draining"),
        ),
        (
            Refusal::Unconfigured,
            503,
            -32011,
            "no chain is configured",
            Some("unconfigured"),
        ),
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
    for (wait, header) in [
        (1, "01"),
        (999, "01"),
        (1000, "01"),
        (1001, "02"),
        (65_000, "65"),
        (3_600_000, "3600"),
    ] {
        let refusal = Refusal::Limit {
            retry_after: Duration::from_millis(wait),
        };
        let wire = refusal.wire();
        assert_eq!(wire.retry_after_header().as_deref(), Some(header));
        let mut out = Vec::new();
        wire.write(&mut out, Id::NULL);
        let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(value["error"]["data"]["retryAfterMs"], wait);
    }
}

// R-27: the status is 200, so the wait is in the body alone.
#[test]
fn a_spent_budget_says_how_long_it_would_have_taken() {
    let spent = Error::BudgetExhausted {
        endpoints: vec!["a".into()],
        wait: Duration::from_millis(2500),
    };
    let wire = upstream(&spent);
    assert_eq!(wire.retry_after_header(), None);
    let mut out = Vec::new();
    wire.write(&mut out, Id::NULL);
    let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(value["error"]["data"]["retryAfterMs"], 2500);
    assert!(!String::from_utf8(out).unwrap().contains("\"a\""));
}

// One that is not below the block makes it another failure.
#[test]
fn only_when_all_are_below_the_block_it_is_not_found() {
    for classes in [&[Class::Behind, Class::Timeout][..], &[Class::Syncing], &[]] {
        assert_ne!(upstream(&all_failed(classes)).code, -32000, "{classes:?}");
    }
    let attempts = match all_failed(&[Class::Behind]) {
        Error::AllEndpointsFailed { attempts } => attempts,
        other => panic!("{other:?}"),
    };
    assert_eq!(upstream(&Error::DeadlineExceeded { attempts }).code, -32000);
}

// R-33
#[test]
fn the_message_names_the_most_useful_cause_whatever_the_order() {
    let cases: [(&[Class], &str); 8] = [
        (
            &[Class::Timeout, Class::RateLimited],
            "all upstreams failed: limit reached",
        ),
        (
            &[Class::RateLimited, Class::Timeout],
            "all upstreams failed: limit reached",
        ),
        (
            &[Class::Behind, Class::BadGatewayHtml],
            "all upstreams failed: data not held",
        ),
        (
            &[Class::MethodUnsupported, Class::RateLimited],
            "all upstreams failed: method not available",
        ),
        (&[Class::Timeout], "all upstreams failed: timed out"),
        (
            &[Class::RateLimited, Class::MissingHistory],
            "all upstreams failed: data not held",
        ),
        (
            &[Class::MethodUnsupported, Class::Behind],
            "all upstreams failed: data not held",
        ),
        (
            &[Class::Timeout, Class::Internal],
            "all upstreams failed: no usable answer",
        ),
    ];
    for (classes, message) in cases {
        assert_eq!(upstream(&all_failed(classes)).message, message);
    }
}

// R-33
#[test]
fn a_network_that_failed_tells_less_than_a_timeout() {
    let attempt = |class, detail| Attempt {
        endpoint: "a".into(),
        class,
        detail,
        status: None,
        retry_after: None,
    };
    let refused = attempt(Class::Internal, Some("connect"));
    for (attempts, message) in [
        (vec![refused.clone()], "all upstreams failed: not reachable"),
        (
            vec![refused, attempt(Class::Timeout, Some("timeout"))],
            "all upstreams failed: timed out",
        ),
    ] {
        let error = Error::AllEndpointsFailed { attempts };
        assert_eq!(upstream(&error).message, message);
    }
}

// hardening C15
#[test]
fn a_long_method_name_is_repeated_only_in_part() {
    let name = "é".repeat(1000);
    let refusal = Refusal::Method(&name);
    assert!(refusal.wire().message.len() < 320);
}
