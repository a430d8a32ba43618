//! The chain check.

use crate::bench::{AMPLE, SHORT, call, call_within, pool, result, url};
use highwater::{
    Attempt, CallOptions, Endpoint, Error, Pool,
    core::{ChainId, classify::Class, router::Identity},
};
use highwater_lab::sockets::{Answer, Gate, ScriptedNode};

//
#[tokio::test]
async fn asks_every_endpoint_for_its_chain_once_before_its_first_call() {
    let node = ScriptedNode::start().await;
    let pool = pool(&[&node]);
    for _ in 0..3 {
        result(&pool, "eth_blockNumber").await;
    }
    let asked: Vec<_> = node
        .record()
        .calls()
        .into_iter()
        .map(|call| call.method)
        .collect();
    assert_eq!(
        asked,
        [
            "eth_chainId",
            "eth_blockNumber",
            "eth_blockNumber",
            "eth_blockNumber"
        ]
    );
    let answer = call(&pool, "eth_blockNumber", "[]").await.unwrap();
    assert_eq!((answer.endpoint(), answer.attempts()), ("a", 1));
}

//
#[tokio::test]
async fn shares_one_check_between_calls_at_the_same_time() {
    let node = ScriptedNode::start().await;
    let gate = Gate::new();
    node.on("eth_chainId")
        .once(Answer::result("\"0x1\"").held_by(&gate));
    let pool = pool(&[&node]);
    let calls: Vec<_> = (0..10)
        .map(|_| {
            let pool = pool.clone();
            tokio::spawn(async move { result(&pool, "eth_blockNumber").await })
        })
        .collect();
    gate.wait_for_held(1).await;
    // The first caller gives up; the others still get its check.
    calls[0].abort();
    tokio::task::yield_now().await;
    gate.open();
    for call in calls.into_iter().skip(1) {
        assert_eq!(call.await.unwrap(), "\"0x64\"");
    }
    assert_eq!(node.record().count("eth_chainId"), 1);
}

// R-19, hardening E10, scenario X05
#[tokio::test]
async fn sends_nothing_to_an_endpoint_on_another_chain() {
    let (wrong, right) = (ScriptedNode::start().await, ScriptedNode::start().await);
    wrong.set_chain_id(10);
    let pool = pool(&[&wrong, &right]);
    for _ in 0..3 {
        result(&pool, "eth_blockNumber").await;
    }
    wrong.set_chain_id(1);
    result(&pool, "eth_blockNumber").await;
    assert_eq!(
        (wrong.record().total(), wrong.record().count("eth_chainId")),
        (1, 1)
    );
    let identity = pool.snapshot().endpoints[0].identity;
    assert_eq!(identity, Identity::Quarantined { found: ChainId(10) });
}

// R-19, scenario X06
#[tokio::test]
async fn names_every_endpoint_when_all_serve_another_chain() {
    let (one, two) = (ScriptedNode::start().await, ScriptedNode::start().await);
    one.set_chain_id(10);
    two.set_chain_id(137);
    let pool = pool(&[&one, &two]);
    let error = call(&pool, "eth_call", "[]").await.unwrap_err();
    let found = vec![
        ("a".to_owned(), ChainId(10)),
        ("b".to_owned(), ChainId(137)),
    ];
    assert_eq!(
        error,
        Error::ChainMismatch {
            expected: ChainId(1),
            found
        }
    );
    assert_eq!(
        one.record().count("eth_call") + two.record().count("eth_call"),
        0
    );
}

// R-19, scenario X07
#[tokio::test]
async fn takes_a_node_that_is_not_ready_for_no_wrong_chain_and_asks_again() {
    for answer in [
        Answer::result("null"),
        Answer::result("\"0x0\""),
        Answer::error(-32000, "invalid chain id"),
        Answer::error(-32601, "the method eth_chainId does not exist"),
        Answer::result("\"0x10000000000000000000\""),
        Answer::result("\"0x+1\""),
        Answer::result("1"),
        Answer::html(503, "<h1>starting</h1>"),
        Answer::close(),
        Answer::reset(),
    ] {
        let (slow, other) = (ScriptedNode::start().await, ScriptedNode::start().await);
        let told = format!("{answer:?}");
        slow.on("eth_chainId").once(answer);
        let pool = pool(&[&slow, &other]);
        let first = call(&pool, "eth_blockNumber", "[]").await.unwrap();
        assert_eq!((first.endpoint(), first.attempts()), ("b", 1));
        let unchecked = pool.snapshot().endpoints[0].identity;
        assert_eq!(unchecked, Identity::Unchecked, "{told}");
        let second = call(&pool, "eth_blockNumber", "[]").await.unwrap();
        assert_eq!(second.endpoint(), "a");
        assert_eq!(slow.record().count("eth_chainId"), 2);
    }
}

//
#[tokio::test]
async fn starts_a_new_check_after_a_call_that_timed_out_waiting_for_one() {
    let node = ScriptedNode::start().await;
    let gate = Gate::new();
    node.on("eth_chainId").once(Answer::hang(&gate));
    let pool = pool(&[&node]);
    let patient = tokio::spawn({
        let pool = pool.clone();
        async move { call(&pool, "eth_blockNumber", "[]").await }
    });
    gate.wait_for_held(1).await;
    let hasty = CallOptions {
        timeout: Some(SHORT),
        deadline: None,
        ..CallOptions::default()
    };
    let error = call_within(&pool, "eth_blockNumber", "[]", hasty)
        .await
        .unwrap_err();
    let timed_out = Attempt {
        endpoint: "a".into(),
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
    assert_eq!(result(&pool, "eth_blockNumber").await, "\"0x64\"");
    assert_eq!(node.record().count("eth_chainId"), 2);
    gate.open();
    patient.await.unwrap().unwrap_err();
}

//
#[tokio::test]
async fn learns_the_chain_from_the_first_endpoint_that_answers() {
    let node = ScriptedNode::start().await;
    node.set_chain_id(8453);
    let pool = Pool::builder()
        .endpoint(Endpoint::url(url(&node)))
        .build()
        .unwrap();
    assert_eq!(pool.chain_id(), None);
    result(&pool, "eth_blockNumber").await;
    assert_eq!(pool.chain_id(), Some(ChainId(8453)));
}

//
#[tokio::test]
async fn asks_nobody_where_the_check_is_off() {
    let node = ScriptedNode::start().await;
    node.set_chain_id(5);
    let builder = Pool::builder().chain(ChainId(1)).verify_chain_id(false);
    let pool = builder.endpoint(Endpoint::url(url(&node))).build().unwrap();
    result(&pool, "eth_blockNumber").await;
    assert_eq!(node.record().count("eth_chainId"), 0);
}

//
#[tokio::test]
async fn checks_all_endpoints_at_once_and_tells_what_it_found() {
    let nodes = [
        ScriptedNode::start().await,
        ScriptedNode::start().await,
        ScriptedNode::start().await,
    ];
    nodes[1].set_chain_id(10);
    nodes[2].stop().await;
    let pool = pool(&[&nodes[0], &nodes[1], &nodes[2]]);
    let snapshot = pool.check_all(AMPLE).await;
    assert_eq!(snapshot.chain, Some(ChainId(1)));
    let known: Vec<_> = snapshot
        .endpoints
        .iter()
        .map(|endpoint| {
            (
                endpoint.label.as_str(),
                endpoint.host.as_str(),
                endpoint.identity,
            )
        })
        .collect();
    assert_eq!(
        known,
        [
            ("a", "127.0.0.1", Identity::Verified),
            (
                "b",
                "127.0.0.1",
                Identity::Quarantined { found: ChainId(10) }
            ),
            ("c", "127.0.0.1", Identity::Unchecked),
        ]
    );
    pool.check_all(AMPLE).await;
    assert_eq!(nodes[0].record().count("eth_chainId"), 1);
}
