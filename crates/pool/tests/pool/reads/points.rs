//! Points that may be missing: scenarios M05, M07, M08, M11, X11, with reads on.

use super::node::{Node, X, ask, balance_with, hash, ordered, pool, read, reading};
use crate::fake::{Reply, s};
use highwater::{CallOptions, Error, Origin};

fn within() -> CallOptions {
    CallOptions {
        deadline: Some(s(5)),
        ..CallOptions::default()
    }
}

// P-9, scenario M05
#[tokio::test(start_paused = true)]
async fn a_block_above_the_head_is_null_and_no_storm() {
    let (a, b) = (Node::new(100), Node::new(100));
    let pool = pool(&[&a, &b], reading()).await;
    assert_eq!(
        read(&pool, "eth_getBlockByNumber", "[\"0x69\",false]").await,
        "null"
    );
    assert!(a.fake.sent() + b.fake.sent() <= 2);
    assert_eq!(pool.cache_stats().entries, 0);
}

// P-3, scenario M07
#[tokio::test(start_paused = true)]
async fn state_of_a_block_that_one_has_not_reached_comes_from_the_other() {
    let (a, b) = (Node::new(99), Node::new(100));
    a.fake.on("eth_call", Reply::result("\"0x\""));
    b.fake.on("eth_call", Reply::result("\"0x07\""));
    let pool = ordered(&[&a, &b], reading()).await;
    let params = format!("[{{\"to\":{X}}},\"0x64\"]");
    assert_eq!(read(&pool, "eth_call", &params).await, "\"0x07\"");
    assert_eq!(a.fake.sent(), 0);
}

// P-13, scenario M08
#[tokio::test(start_paused = true)]
async fn state_of_a_block_that_nobody_reached_is_no_answer() {
    let (a, b) = (Node::new(99), Node::new(99));
    for node in [&a, &b] {
        node.fake.on("eth_call", Reply::result("\"0x\""));
    }
    let pool = pool(&[&a, &b], reading()).await;
    let params = format!("[{{\"to\":{X}}},\"0x64\"]");
    let answer = ask(&pool, "eth_call", &params, within()).await;
    assert!(
        !matches!(&answer, Ok(answer) if !answer.is_error()),
        "{answer:?}"
    );
    assert_eq!(pool.cache_stats().entries, 0);
}

// P-13, scenario M11 as far as the cache goes
#[tokio::test(start_paused = true)]
async fn receipts_of_a_block_that_are_empty_are_not_kept() {
    let a = Node::new(300);
    let some = format!(
        "[{{\"transactionHash\":{},\"blockNumber\":\"0x5a\",\"blockHash\":\"{}\"}}]",
        super::node::transaction(1),
        hash(90, 0)
    );
    a.fake.on("eth_getBlockReceipts", Reply::result("[]"));
    let pool = pool(&[&a], reading()).await;
    let receipts = || read(&pool, "eth_getBlockReceipts", "[\"0x5a\"]");
    assert_eq!(receipts().await, "[]");
    assert_eq!(pool.cache_stats().entries, 0);
    a.fake
        .on("eth_getBlockReceipts", Reply::result(some.clone()));
    assert_eq!(receipts().await, some);
    assert_eq!(receipts().await, some);
    assert_eq!(a.fake.sent(), 2);
}

// Rule `suspect`, scenario M11
#[tokio::test(start_paused = true)]
async fn receipts_of_a_block_that_are_empty_are_asked_for_elsewhere() {
    let (a, b) = (Node::new(300), Node::new(300));
    let of = |n: u8| {
        format!(
            "{{\"transactionHash\":{},\"blockNumber\":\"0x5a\",\"blockHash\":\"{}\"}}",
            super::node::transaction(n),
            hash(90, 0)
        )
    };
    let three = format!("[{},{},{}]", of(1), of(2), of(3));
    a.fake.on("eth_getBlockReceipts", Reply::result("[]"));
    b.fake
        .on("eth_getBlockReceipts", Reply::result(three.clone()));
    let pool = ordered(&[&a, &b], reading()).await;
    let receipts = |block: &'static str| read(&pool, "eth_getBlockReceipts", block);
    assert_eq!(receipts("[\"0x5a\"]").await, three);
    let asked = || [&a, &b].map(|node| node.asked("eth_getBlockReceipts").len());
    assert_eq!(asked(), [1, 1]);
    // Where both have nothing there is nothing, and it is not kept.
    b.fake.on("eth_getBlockReceipts", Reply::result("[]"));
    assert_eq!(receipts("[\"0x5b\"]").await, "[]");
    assert_eq!(asked(), [2, 2]);
    assert_eq!(receipts("[\"0x5b\"]").await, "[]");
    assert_eq!(asked(), [3, 3]);
}

// P-16, scenario X11
#[tokio::test(start_paused = true)]
async fn what_nobody_knows_in_an_answer_is_passed_on_and_kept_as_it_is() {
    let a = Node::new(300);
    let block = format!(
        "{{\"l1BatchNumber\" : \"0x1\",\"number\":\"0x5\",\"hash\":\"{}\",\"parentHash\":\"{}\", \
         \"transactions\":[{{\"type\":\"0x71\",\"hash\":{}}}],\"size\":1e3}}",
        hash(5, 0),
        hash(4, 0),
        super::node::transaction(7)
    );
    a.fake
        .on("eth_getBlockByNumber", Reply::result(block.clone()));
    let pool = pool(&[&a], reading()).await;
    let params = "[\"0x5\",true]";
    for origin in [Origin::Endpoint, Origin::Cache] {
        let answer = ask(&pool, "eth_getBlockByNumber", params, within())
            .await
            .unwrap();
        assert_eq!(answer.origin(), origin);
        assert_eq!(answer.bytes(), block.as_bytes());
    }
}

// a method that nobody has is not waited for, whatever the caller has seen.
#[tokio::test(start_paused = true)]
async fn a_method_that_nobody_has_is_no_wait_for_a_block() {
    let a = Node::new(100);
    let pool = pool(&[&a], reading()).await;
    super::node::block_number(&pool).await;
    let began = tokio::time::Instant::now();
    for _ in 0..3 {
        let answer = ask(
            &pool,
            "eth_getProof",
            &format!("[{X},[],\"latest\"]"),
            within(),
        )
        .await;
        assert!(!matches!(answer, Err(Error::Behind { .. })), "{answer:?}");
        let by_hash = format!("[{}]", super::node::transaction(7));
        let answer = ask(&pool, "trace_transaction", &by_hash, within()).await;
        assert!(!matches!(answer, Err(Error::Behind { .. })), "{answer:?}");
    }
    assert!(began.elapsed() < s(1), "{:?}", began.elapsed());
    assert!(balance_with(&pool, "latest", within()).await.is_ok());
}
