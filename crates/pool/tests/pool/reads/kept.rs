//! What is kept for good, and what is never kept (P-13, P-15).

use super::node::{
    Node, X, after, ask, balance, builder, hash, pool, read, reading, receipt, refused,
    transaction, watching,
};
use crate::fake::Reply;
use highwater::{
    CallOptions, Origin, Pool,
    core::{ChainId, settings::Settings},
};

/// A pool on another chain, whose heads were just read.
async fn on_chain(nodes: &[&Node], chain: u64, settings: Settings) -> Pool {
    for node in nodes {
        let id = Reply::result(format!("\"{chain:#x}\""));
        node.fake.on("eth_chainId", id);
    }
    let pool = builder(nodes, settings)
        .chain(ChainId(chain))
        .build()
        .unwrap();
    pool.probe().await;
    pool
}

/// Asks twice with much time in between; true where the second answer came from memory.
async fn is_kept(pool: &Pool, method: &str, params: &str) -> bool {
    let first = ask(pool, method, params, CallOptions::default())
        .await
        .unwrap();
    after(10_000).await;
    pool.probe().await;
    let second = ask(pool, method, params, CallOptions::default())
        .await
        .unwrap();
    let kept = second.origin() == Origin::Cache;
    assert!(!kept || first.bytes() == second.bytes());
    kept
}

/// Reads about one block, and their answers.
fn about(node: &Node, block: u64) -> Vec<(&'static str, String)> {
    let t = transaction(u8::try_from(block % 256).unwrap());
    let number = format!("\"{block:#x}\"");
    let own = hash(block, 0);
    let place = format!("\"blockNumber\":{number},\"blockHash\":\"{own}\"");
    let log = format!("[{{{place},\"logIndex\":\"0x0\"}}]");
    for (method, answer) in [
        (
            "eth_getTransactionByHash",
            format!("{{\"hash\":{t},{place}}}"),
        ),
        ("eth_getTransactionReceipt", receipt(&t, block)),
        ("eth_getBlockReceipts", log.clone()),
        ("eth_getLogs", log),
        (
            "eth_getTransactionByBlockNumberAndIndex",
            format!("{{\"hash\":{t},{place}}}"),
        ),
    ] {
        node.fake.on(method, Reply::result(answer));
    }
    vec![
        ("eth_getBlockByNumber", format!("[{number},false]")),
        ("eth_getBlockByHash", format!("[\"{own}\",false]")),
        ("eth_getTransactionByHash", format!("[{t}]")),
        ("eth_getTransactionReceipt", format!("[{t}]")),
        ("eth_getBlockReceipts", format!("[{number}]")),
        ("eth_getLogs", format!("[{{\"blockHash\":\"{own}\"}}]")),
        (
            "eth_getTransactionByBlockNumberAndIndex",
            format!("[{number},\"0x0\"]"),
        ),
        ("eth_getBalance", format!("[{X},{number}]")),
    ]
}

// P-13
#[tokio::test(start_paused = true)]
async fn with_instant_finality_everything_is_kept_at_once() {
    let a = Node::new(100);
    let pool = on_chain(&[&a], 43114, reading()).await;
    for (method, params) in about(&a, 100) {
        assert!(is_kept(&pool, method, &params).await, "{method}");
    }
}

// P-13
#[tokio::test(start_paused = true)]
async fn with_a_tag_everything_is_kept_once_the_tag_is_there() {
    let a = Node::new(300);
    a.finalized(250);
    let pool = pool(&[&a], reading()).await;
    // Its depth is 96, and so it is without the tag.
    for (method, params) in about(&a, 204) {
        assert!(is_kept(&pool, method, &params).await, "{method}");
    }
    for (method, params) in about(&a, 205) {
        assert!(!is_kept(&pool, method, &params).await, "{method}");
    }
    read(&pool, "eth_getBlockByNumber", "[\"finalized\",false]").await;
    for (method, params) in about(&a, 250) {
        assert!(is_kept(&pool, method, &params).await, "{method}");
    }
    for (method, params) in about(&a, 251) {
        assert!(!is_kept(&pool, method, &params).await, "{method}");
    }
    assert!(refused(&pool.cache_stats(), "unlinked") > 0);
}

// P-13
#[tokio::test(start_paused = true)]
async fn with_a_depth_everything_is_kept_that_far_below_the_head() {
    // Rootstock: the tag is not to be asked for, its depth is 100.
    let a = Node::new(300);
    a.finalized(299);
    let pool = on_chain(&[&a], 30, reading()).await;
    for (method, params) in about(&a, 200) {
        assert!(is_kept(&pool, method, &params).await, "{method}");
    }
    for (method, params) in about(&a, 201) {
        assert!(!is_kept(&pool, method, &params).await, "{method}");
    }
}

// P-13
#[tokio::test(start_paused = true)]
async fn before_that_it_is_kept_under_its_hash_while_the_hashes_are_known() {
    let a = Node::new(100);
    let pool = pool(&[&a], watching()).await;
    balance(&pool, "latest").await;
    a.head(101);
    after(1000).await;
    pool.probe().await;
    for (method, params) in about(&a, 101) {
        let asked = || ask(&pool, method, &params, CallOptions::default());
        asked().await.unwrap();
        a.head(101);
        let second = asked().await.unwrap();
        assert_eq!(second.origin(), Origin::Cache, "{method}");
    }
    // And goes on to be while the chain grows on it.
    for head in 102..=110 {
        a.head(head);
        after(1000).await;
        pool.probe().await;
    }
    let params = "[\"0x65\",false]";
    let later = ask(
        &pool,
        "eth_getBlockByNumber",
        params,
        CallOptions::default(),
    )
    .await;
    assert_eq!(later.unwrap().origin(), Origin::Cache);
}

// P-13
#[tokio::test(start_paused = true)]
async fn state_at_a_number_is_kept_only_where_all_hold_the_block() {
    let (a, b) = (Node::new(100), Node::new(99));
    let pool = on_chain(&[&a, &b], 43114, reading()).await;
    assert!(is_kept(&pool, "eth_getBalance", &format!("[{X},\"0x63\"]")).await);
    let fresh = Node::new(100);
    let unknown = Node::new(100);
    unknown.fake.on("eth_blockNumber", Reply::result("\"?\""));
    let pool = on_chain(&[&fresh, &unknown], 43114, reading()).await;
    assert!(!is_kept(&pool, "eth_getBalance", &format!("[{X},\"0x63\"]")).await);
    assert_eq!(refused(&pool.cache_stats(), "not_all_hold"), 2);
}

// P-13, scenario M02
#[tokio::test(start_paused = true)]
async fn null_is_never_kept() {
    let (a, b) = (Node::new(101), Node::new(101));
    for node in [&a, &b] {
        for method in ["eth_getTransactionReceipt", "eth_getTransactionByHash"] {
            node.fake.on(method, Reply::result("null"));
        }
    }
    let pool = on_chain(&[&a, &b], 43114, reading()).await;
    let t = format!("[{}]", transaction(7));
    assert_eq!(read(&pool, "eth_getTransactionReceipt", &t).await, "null");
    assert!(a.fake.sent() + b.fake.sent() <= 2);
    assert!(!is_kept(&pool, "eth_getTransactionReceipt", &t).await);
    assert!(!is_kept(&pool, "eth_getTransactionByHash", &t).await);
    let gone = format!("[\"{}\",false]", hash(999, 0));
    assert!(!is_kept(&pool, "eth_getBlockByHash", &gone).await);
    let stats = pool.cache_stats();
    assert_eq!((stats.entries, stats.kept), (0, 0));
    assert_eq!(refused(&stats, "null"), 7);
}

// P-13, rule suspect
#[tokio::test(start_paused = true)]
async fn an_empty_list_is_not_kept_without_a_further_sign() {
    let a = Node::new(100);
    a.fake.on("eth_getBlockReceipts", Reply::result("[]"));
    a.fake.on("eth_getLogs", Reply::result("[ ]"));
    let pool = on_chain(&[&a], 43114, reading()).await;
    assert!(!is_kept(&pool, "eth_getBlockReceipts", "[\"0x5a\"]").await);
    let by_hash = format!("[{{\"blockHash\":\"{}\"}}]", hash(90, 0));
    assert!(!is_kept(&pool, "eth_getLogs", &by_hash).await);
    assert!(refused(&pool.cache_stats(), "empty") >= 2);
}

// P-15
#[tokio::test(start_paused = true)]
async fn errors_and_reverts_are_never_kept() {
    let a = Node::new(100);
    let pool = on_chain(&[&a], 43114, reading()).await;
    for error in [
        "{\"code\":3,\"message\":\"execution reverted\",\"data\":\"0x01\"}",
        "{\"code\":-32602,\"message\":\"invalid argument 0\"}",
    ] {
        a.fake.on("eth_call", Reply::error_json(error));
        for block in ["latest", "0x10"] {
            let params = format!("[{{\"to\":{X}}},\"{block}\"]");
            assert!(!is_kept(&pool, "eth_call", &params).await);
        }
    }
    let stats = pool.cache_stats();
    assert_eq!((stats.entries, refused(&stats, "error")), (0, 8));
}

// P-15
#[tokio::test(start_paused = true)]
async fn what_is_never_kept_is_not() {
    let a = Node::new(100);
    a.finalized(90);
    for method in [
        "eth_gasPrice",
        "eth_maxPriorityFeePerGas",
        "eth_feeHistory",
        "eth_syncing",
    ] {
        a.fake.on(method, Reply::result("\"0x1\""));
    }
    a.fake.on(
        "eth_getLogs",
        Reply::result(format!(
            "[{{\"blockNumber\":\"0x63\",\"blockHash\":\"{}\"}}]",
            hash(99, 0)
        )),
    );
    let pool = on_chain(&[&a], 43114, reading()).await;
    let call = format!("[{{\"to\":{X}}}]");
    let at = |block: &str| format!("[{X},\"{block}\"]");
    for (method, params) in [
        ("eth_gasPrice", "[]".to_owned()),
        ("eth_maxPriorityFeePerGas", "[]".into()),
        ("eth_feeHistory", "[\"0x1\",\"latest\",[]]".into()),
        ("eth_estimateGas", call.clone()),
        ("eth_getTransactionCount", at("latest")),
        ("eth_getTransactionCount", at("pending")),
        ("eth_getBalance", at("pending")),
        ("eth_getBalance", at("safe")),
        ("eth_getBalance", at("finalized")),
        ("eth_getBalance", at("earliest")),
        ("eth_getBlockByNumber", "[\"finalized\",false]".into()),
        (
            "eth_getLogs",
            "[{\"fromBlock\":\"0x60\",\"toBlock\":\"0x63\"}]".into(),
        ),
        // A member that nobody knows may change what is meant.
        ("eth_call", format!("[{{\"to\":{X},\"odd\":1}},\"0x10\"]")),
    ] {
        assert!(!is_kept(&pool, method, &params).await, "{method} {params}");
    }
    assert_eq!(pool.cache_stats().entries, 0);
    assert!(is_kept(&pool, "eth_getTransactionCount", &at("0x10")).await);
}

// P-13
#[tokio::test(start_paused = true)]
async fn what_never_changes_is_asked_for_once() {
    let a = Node::new(100);
    a.fake.on("net_version", Reply::result("\"1\""));
    let pool = pool(&[&a], reading()).await;
    for method in ["eth_chainId", "net_version"] {
        let before = a.fake.count(method);
        assert!(is_kept(&pool, method, "[]").await, "{method}");
        assert_eq!(a.fake.count(method), before + 1);
    }
}

// P-13: what is not about what was asked for is nobody's answer.
#[tokio::test(start_paused = true)]
async fn an_answer_about_another_block_or_transaction_is_not_kept() {
    let a = Node::new(100);
    let (t, other) = (transaction(7), transaction(8));
    a.fake.on(
        "eth_getTransactionReceipt",
        Reply::result(receipt(&other, 50)),
    );
    let pool = on_chain(&[&a], 43114, reading()).await;
    let params = format!("[{t}]");
    drop(
        ask(
            &pool,
            "eth_getTransactionReceipt",
            &params,
            CallOptions::default(),
        )
        .await,
    );
    assert_eq!(pool.cache_stats().entries, 0);
}

// P-15: every refusal has a word.
#[tokio::test(start_paused = true)]
async fn a_block_above_every_head_is_not_kept() {
    let a = Node::new(100);
    let pool = on_chain(&[&a], 43114, reading()).await;
    a.head(102);
    read(&pool, "eth_getBlockByNumber", "[\"0x66\",false]").await;
    let stats = pool.cache_stats();
    assert_eq!((stats.entries, refused(&stats, "above_head")), (0, 1));
}
