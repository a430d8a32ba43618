//! Which failures move on, and what the caller is shown.

use crate::bench::{AMPLE, SHORT, builder, call, call_within, own_error, pool, quiet, result};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use highwater::{
    Attempt, CallOptions, Endpoint, Error, Payload, Pool,
    core::{ChainId, classify::Class},
    upstream::{RawReply, SendError, Upstream},
};
use highwater_lab::sockets::{Answer, Gate, ReplyId, ScriptedNode};
use std::{sync::Arc, time::Duration};

// hardening E1, R-30
#[tokio::test]
async fn loses_no_call_when_an_endpoint_dies() {
    let (dying, other) = (ScriptedNode::start().await, ScriptedNode::start().await);
    other.set_head(200);
    // Without ejections, so that it comes back as soon as it answers.
    let mut settings = quiet(2);
    settings.breaker.enabled = false;
    let pool = builder(&[&dying, &other])
        .settings(settings)
        .build()
        .unwrap();
    assert_eq!(result(&pool, "eth_blockNumber").await, "\"0x64\"");
    dying.stop().await;
    for _ in 0..3 {
        assert_eq!(result(&pool, "eth_blockNumber").await, "\"0xc8\"");
    }
    dying.restart().await.unwrap();
    assert_eq!(result(&pool, "eth_blockNumber").await, "\"0x64\"");
}

// hardening E1 to E7, R-38
#[tokio::test]
async fn moves_on_from_every_bad_answer() {
    let good = "\"0x1\"";
    let bad = [
        Answer::close(),
        Answer::reset(),
        Answer::result(good).truncated(12),
        Answer::result(good).reset_after(12),
        Answer::html(200, "<html>welcome</html>"),
        Answer::html(502, "<html>bad gateway</html>"),
        Answer::html(403, "<html>no</html>"),
        Answer::body(200, ""),
        Answer::body(200, "{\"jsonrpc\":\"2.0\",\"id\":1,\"res"),
        Answer::body(200, "\"fine\""),
        Answer::body(500, "oops"),
        Answer::body(429, "slow down"),
        Answer::redirect(301, "http://127.0.0.1:1/"),
        Answer::result(good).with_id(ReplyId::Raw("99999".into())),
        Answer::result(good).with_id(ReplyId::Missing),
        Answer::both(good, "{\"code\":-32000,\"message\":\"no\"}"),
        Answer::neither(),
        Answer::error_json("null"),
        Answer::error_json("true"),
        Answer::error(-32005, "limit exceeded"),
        Answer::error(429, "too many"),
        Answer::error(-32000, "no key").status(401),
        Answer::error(-32000, "pay").status(402),
        Answer::error(-32000, "blocked").status(403),
        Answer::error(-32000, "late").status(408),
        Answer::error(-32000, "slow down").status(429),
        Answer::error(-32603, "broken").status(500),
        Answer::error(-32603, "broken").status(503),
    ];
    for answer in bad {
        let (failing, other) = (ScriptedNode::start().await, ScriptedNode::start().await);
        failing.on("eth_blockNumber").always(answer.clone());
        let pool = pool(&[&failing, &other]);
        let answered = call(&pool, "eth_blockNumber", "[]").await.unwrap();
        assert_eq!(
            answered.payload(),
            Payload::Result("\"0x64\""),
            "{answer:?}"
        );
        assert_eq!(
            (answered.endpoint(), answered.attempts()),
            ("b", 2),
            "{answer:?}"
        );
        assert_eq!(failing.record().count("eth_blockNumber"), 1, "{answer:?}");
    }
}

// hardening E6, E7, R-38
#[tokio::test]
async fn takes_the_tolerated_forms_of_a_good_answer() {
    let node = ScriptedNode::start().await;
    let pool = pool(&[&node]);
    for falsy in ["null", "false", "0", "\"\"", "[]"] {
        node.on("eth_call").once(Answer::result(falsy));
        assert_eq!(result(&pool, "eth_call").await, falsy);
    }
    node.on("eth_call").once(Answer::both("1", "null"));
    node.on("eth_call")
        .once(Answer::result("1").with_id(ReplyId::AsString));
    node.on("eth_call").once(Answer::result("1").status(500));
    node.on("eth_call")
        .once(Answer::result("1").content_type("text/plain"));
    for _ in 0..4 {
        assert_eq!(result(&pool, "eth_call").await, "1");
    }
}

// R-37, hardening E19, scenario M12
#[tokio::test]
async fn hands_a_nodes_own_error_on_byte_for_byte_without_asking_another() {
    let (node, other) = (ScriptedNode::start().await, ScriptedNode::start().await);
    let pool = pool(&[&node, &other]);
    let revert =
        r#"{"code": 3, "message":"execution reverted: é \u00e9", "data":"0x08c379a0", "x":1.50}"#;
    for status in [200, 400] {
        node.on("eth_call")
            .once(Answer::error_json(revert).status(status));
        assert_eq!(own_error(&pool, "eth_call").await, revert);
    }
    assert_eq!(other.record().total(), 0);
}

// hardening E8
#[tokio::test]
async fn makes_an_error_of_odd_shape_legal() {
    let node = ScriptedNode::start().await;
    let pool = pool(&[&node]);
    for (odd, legal) in [
        ("\"boom\"", r#"{"code":-32603,"message":"boom"}"#),
        (
            r#"{"code":"-32000","message":"x"}"#,
            r#"{"code":-32000,"message":"x"}"#,
        ),
        (
            r#"{"message":"x","data":[1]}"#,
            r#"{"code":-32603,"message":"x","data":[1]}"#,
        ),
    ] {
        node.on("eth_call").once(Answer::error_json(odd));
        assert_eq!(own_error(&pool, "eth_call").await, legal);
    }
}

// R-33
#[tokio::test]
async fn shows_the_best_error_when_all_fail_and_never_a_status() {
    let (limited, broken) = (ScriptedNode::start().await, ScriptedNode::start().await);
    limited
        .on("eth_call")
        .always(Answer::error(-32005, "limit exceeded").status(429));
    broken
        .on("eth_call")
        .always(Answer::error(-32603, "broken").status(500));
    for nodes in [[&limited, &broken], [&broken, &limited]] {
        let pool = pool(&nodes);
        let shown = own_error(&pool, "eth_call").await;
        assert_eq!(shown, r#"{"code":-32005,"message":"limit exceeded"}"#);
    }
}

// R-33
#[tokio::test]
async fn lists_every_attempt_in_order_when_no_error_can_be_shown() {
    let nodes = [
        ScriptedNode::start().await,
        ScriptedNode::start().await,
        ScriptedNode::start().await,
    ];
    nodes[0].on("eth_call").always(Answer::html(502, "<html>"));
    nodes[1].on("eth_call").always(Answer::close());
    nodes[2]
        .on("eth_call")
        .always(Answer::body(200, "nonsense"));
    let pool = pool(&[&nodes[0], &nodes[1], &nodes[2]]);
    let error = call(&pool, "eth_call", "[]").await.unwrap_err();
    let entry = |endpoint: &str, class, detail, status| Attempt {
        endpoint: endpoint.into(),
        class,
        detail,
        status,
        retry_after: None,
    };
    let attempts = vec![
        entry("a", Class::BadGatewayHtml, None, Some(502)),
        entry("b", Class::Internal, Some("reset"), None),
        entry("c", Class::MalformedEnvelope, None, Some(200)),
    ];
    assert_eq!(error, Error::AllEndpointsFailed { attempts });
}

// R-34, R-36, scenario W09
#[tokio::test]
async fn never_repeats_a_send_that_may_have_left() {
    for method in [
        "eth_sendRawTransaction",
        "eth_sendTransaction",
        "eth_newFilter",
    ] {
        for lost in [
            Answer::close(),
            Answer::reset(),
            Answer::html(502, "<html>"),
        ] {
            let (first, second) = (ScriptedNode::start().await, ScriptedNode::start().await);
            first.on(method).always(lost);
            let pool = pool(&[&first, &second]);
            let error = call(&pool, method, "[\"0x02\"]").await.unwrap_err();
            assert!(
                matches!(error, Error::AllEndpointsFailed { .. }),
                "{error:?}"
            );
            assert_eq!(
                (first.record().count(method), second.record().count(method)),
                (1, 0)
            );
        }
    }
}

// R-36, semantics §5.1
#[tokio::test]
async fn moves_a_send_on_when_it_provably_did_not_reach_the_node() {
    for method in ["eth_sendRawTransaction", "eth_sendTransaction"] {
        for refused in [None, Some(429), Some(401), Some(403)] {
            let (first, second) = (ScriptedNode::start().await, ScriptedNode::start().await);
            second.on(method).always(Answer::result("\"0xhash\""));
            let pool = pool(&[&first, &second]);
            result(&pool, "eth_blockNumber").await;
            match refused {
                Some(status) => first.on(method).always(Answer::body(status, "no")),
                None => first.stop().await,
            }
            assert_eq!(result(&pool, method).await, "\"0xhash\"");
            assert_eq!(second.record().count(method), 1);
        }
    }
}

// R-30
#[tokio::test]
async fn ends_at_the_deadline_whatever_hangs() {
    let (one, two) = (ScriptedNode::start().await, ScriptedNode::start().await);
    let gate = Gate::new();
    one.on("eth_call").always(Answer::hang(&gate));
    two.on("eth_call").always(Answer::hang(&gate));
    let pool = pool(&[&one, &two]);
    pool.check_all(AMPLE).await;
    let options = CallOptions {
        deadline: Some(SHORT),
        timeout: None,
        ..CallOptions::default()
    };
    let error = call_within(&pool, "eth_call", "[]", options)
        .await
        .unwrap_err();
    let Error::DeadlineExceeded { attempts } = error else {
        panic!("{error:?}")
    };
    assert_eq!((attempts.len(), attempts[0].class), (1, Class::Timeout));
    let options = CallOptions {
        timeout: Some(SHORT),
        deadline: None,
        ..CallOptions::default()
    };
    let error = call_within(&pool, "eth_call", "[]", options)
        .await
        .unwrap_err();
    let Error::AllEndpointsFailed { attempts } = error else {
        panic!("{error:?}")
    };
    assert_eq!(attempts.len(), 2);
    gate.open();
}

#[tokio::test]
async fn sends_the_callers_params_under_an_id_of_its_own() {
    let node = ScriptedNode::start().await;
    node.on("eth_call").always(Answer::result("1"));
    let pool = pool(&[&node]);
    let params = r#"[{"to":"0xAB", "x":1.0}, "latest"]"#;
    call(&pool, "eth_call", params).await.unwrap();
    call(&pool, "eth_call", params).await.unwrap();
    let calls = node.record().calls_of("eth_call");
    assert_eq!(calls[0].params.as_deref(), Some(params));
    assert_ne!(calls[0].id, calls[1].id);
}

/// Answers `eth_chainId` and nothing else, ever.
struct Mute;

impl Upstream for Mute {
    fn send(
        &self,
        message: Bytes,
        _timeout: Duration,
    ) -> BoxFuture<'static, Result<RawReply, SendError>> {
        Box::pin(async move {
            let text = String::from_utf8(message.to_vec()).unwrap();
            if !text.contains("eth_chainId") {
                std::future::pending::<()>().await;
            }
            let id = text
                .split("\"id\":")
                .nth(1)
                .unwrap()
                .split(',')
                .next()
                .unwrap();
            let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":\"0x1\"}}");
            Ok(RawReply {
                status: 200,
                headers: http::HeaderMap::new(),
                body: body.into(),
            })
        })
    }
}

// R-1, R-30
#[tokio::test(start_paused = true)]
async fn holds_a_transport_of_the_callers_own_to_its_timeout() {
    let builder = Pool::builder()
        .chain(ChainId(1))
        .settings(quiet(1))
        .timeout(Duration::from_secs(7));
    let pool = builder
        .endpoint(Endpoint::upstream("mute", Arc::new(Mute)))
        .build()
        .unwrap();
    let start = tokio::time::Instant::now();
    let error = call(&pool, "eth_call", "[]").await.unwrap_err();
    assert_eq!(start.elapsed(), Duration::from_secs(7));
    let timed_out = Attempt {
        endpoint: "mute".into(),
        class: Class::Timeout,
        detail: Some("timeout"),
        status: None,
        retry_after: None,
    };
    assert_eq!(
        error,
        Error::AllEndpointsFailed {
            attempts: vec![timed_out]
        }
    );
    assert_eq!(pool.snapshot().endpoints[0].host, "");
}

#[test]
fn names_the_pool_option_that_is_out_of_range() {
    let endpoint = || Endpoint::upstream("x", Arc::new(Mute));
    let one = || Pool::builder().endpoint(endpoint());
    let bad = [
        ("endpoints", Pool::builder()),
        ("timeout", one().timeout(Duration::ZERO)),
        ("deadline", one().deadline(Duration::from_nanos(1))),
        ("chain", one().chain(ChainId(0))),
        ("label", one().endpoint(endpoint())),
        ("label", Pool::builder().endpoint(endpoint().label(""))),
        ("max_reply", one().max_reply(0)),
        ("lanes", one().workers(0)),
    ];
    for (field, builder) in bad {
        assert_eq!(builder.build().unwrap_err().field, field);
    }
}

#[test]
fn labels_endpoints_by_their_host_and_numbers_equals() {
    let url = |text: &str| Endpoint::url(highwater::SecretUrl::parse(text).unwrap());
    let pool = Pool::builder()
        .endpoint(url("http://node.example/one-secret-key"))
        .endpoint(url("http://node.example/two-secret-key"))
        .endpoint(url("http://127.0.0.1:1/").label("node.example-2"))
        .build()
        .unwrap();
    let labels: Vec<_> = pool
        .snapshot()
        .endpoints
        .into_iter()
        .map(|e| e.label)
        .collect();
    assert_eq!(labels, ["node.example", "node.example-3", "node.example-2"]);
}
