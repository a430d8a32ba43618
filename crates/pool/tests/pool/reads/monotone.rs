//! Never backwards: scenarios P06 to P08, P14 to P19, P21; P-5, P-7 to P-9.

use super::node::{
    Node, X, after, ask, balance, balance_with, block_number, ordered, pool, read, reading,
    receipt, text, transaction, uncached,
};
use crate::fake::{Reply, ms, s};
use highwater::{CallOptions, Error, Pool, Viewer, core::settings::Settings};

fn within(millis: u64) -> CallOptions {
    CallOptions {
        deadline: Some(ms(millis)),
        ..CallOptions::default()
    }
}

fn as_viewer(viewer: &Viewer) -> CallOptions {
    CallOptions {
        viewers: vec![viewer.clone()],
        ..within(5000)
    }
}

fn on_behalf_of(viewers: &[&Viewer]) -> CallOptions {
    CallOptions {
        viewers: viewers.iter().map(|viewer| (*viewer).clone()).collect(),
        ..within(5000)
    }
}

/// A block at `head` that `a` alone has was shown; then it goes down.
async fn saw_and_lost(a: &Node, b: &Node, head: u64, settings: Settings) -> Pool {
    let pool = ordered(&[a, b], settings).await;
    let params = format!("[\"{head:#x}\",false]");
    read(&pool, "eth_getBlockByNumber", &params).await;
    a.down(true);
    pool
}

// P-5, scenario P06
#[tokio::test(start_paused = true)]
async fn a_block_number_leads_to_its_block() {
    let (a, b) = (Node::new(100), Node::new(99));
    let pool = ordered(&[&b, &a], reading()).await;
    let number = block_number(&pool).await;
    assert_eq!(number, 99);
    after(5).await;
    let params = format!("[\"{number:#x}\",false]");
    let block = read(&pool, "eth_getBlockByNumber", &params).await;
    assert!(block.starts_with("{\"number\":\"0x63\""), "{block}");
}

// P-5, P-8, scenario P07
#[tokio::test(start_paused = true)]
async fn a_block_number_never_falls_below_what_was_shown() {
    let (a, b) = (Node::new(105), Node::new(103));
    let pool = saw_and_lost(&a, &b, 105, reading()).await;
    let began = tokio::time::Instant::now();
    let mut shown = Vec::new();
    while began.elapsed() < s(6) {
        if began.elapsed() >= s(5) {
            b.head(106);
        }
        match ask(&pool, "eth_blockNumber", "[]", within(150)).await {
            Ok(answer) => shown.push(text(&answer)),
            Err(Error::Behind { block }) => assert_eq!(block, 105),
            Err(Error::DeadlineExceeded { .. } | Error::AllEndpointsFailed { .. }) => {}
            Err(other) => panic!("{other:?}"),
        }
        after(50).await;
    }
    assert!(
        shown.iter().all(|n| n == "\"0x69\"" || n == "\"0x6a\""),
        "{shown:?}"
    );
    // The head that A had is too old to count by then.
    after(31_000).await;
    pool.probe().await;
    assert_eq!(block_number(&pool).await, 106);
}

// P-8, scenario P08
#[tokio::test(start_paused = true)]
async fn logs_of_the_newest_block_never_come_from_one_that_is_behind() {
    let (a, b) = (Node::new(105), Node::new(103));
    for node in [&a, &b] {
        node.fake.on("eth_getLogs", Reply::result("[]"));
    }
    let pool = saw_and_lost(&a, &b, 105, reading()).await;
    let params = "[{\"fromBlock\":\"latest\",\"toBlock\":\"latest\"}]";
    let answer = ask(&pool, "eth_getLogs", params, within(1000)).await;
    assert!(answer.is_err(), "{answer:?}");
    assert_eq!(b.fake.count("eth_getLogs"), 0);
    b.head(106);
    // The head that A had is too old to count by then.
    after(31_000).await;
    pool.probe().await;
    assert_eq!(read(&pool, "eth_getLogs", params).await, "[]");
    assert_eq!(
        b.asked("eth_getLogs"),
        ["[{\"fromBlock\":\"0x6a\",\"toBlock\":\"0x6a\"}]"]
    );
}

// P-7, scenario P14
#[tokio::test(start_paused = true)]
async fn finality_never_goes_back() {
    let (a, b) = (Node::new(100), Node::new(100));
    a.finalized(80);
    b.finalized(79);
    let pool = ordered(&[&a, &b], reading()).await;
    let finalized = "[\"finalized\",false]";
    let block = read(&pool, "eth_getBlockByNumber", finalized).await;
    assert!(block.starts_with("{\"number\":\"0x50\""), "{block}");
    a.down(true);
    let answer = ask(&pool, "eth_getBlockByNumber", finalized, within(3000)).await;
    assert!(answer.is_err(), "{answer:?}");
    b.finalized(81);
    let block = read(&pool, "eth_getBlockByNumber", finalized).await;
    assert!(block.starts_with("{\"number\":\"0x51\""), "{block}");
}

// P-7, scenario P14
#[tokio::test(start_paused = true)]
async fn an_older_view_of_finality_is_asked_for_elsewhere() {
    let (a, b) = (Node::new(100), Node::new(100));
    a.finalized(79);
    b.finalized(80);
    let pool = ordered(&[&a, &b], reading()).await;
    let finalized = "[\"finalized\",false]";
    a.down(true);
    read(&pool, "eth_getBlockByNumber", finalized).await;
    a.down(false);
    for _ in 0..3 {
        let block = read(&pool, "eth_getBlockByNumber", finalized).await;
        assert!(block.starts_with("{\"number\":\"0x50\""), "{block}");
    }
}

// P-7: one endpoint's word must not lock a caller out.
#[tokio::test(start_paused = true)]
async fn finality_beyond_every_head_is_not_remembered() {
    let (liar, b) = (Node::new(100), Node::new(100));
    liar.fake.on(
        "eth_getBlockByNumber",
        Reply::result("{\"number\":\"0xffffff\",\"hash\":\"0x01\",\"parentHash\":\"0x02\"}"),
    );
    b.finalized(80);
    let pool = ordered(&[&liar, &b], reading()).await;
    let finalized = "[\"finalized\",false]";
    read(&pool, "eth_getBlockByNumber", finalized).await;
    liar.down(true);
    let block = read(&pool, "eth_getBlockByNumber", finalized).await;
    assert!(block.starts_with("{\"number\":\"0x50\""), "{block}");
}

// P-7, scenario P15
#[tokio::test(start_paused = true)]
async fn a_node_without_the_tag_is_left_out_for_it_and_not_punished() {
    let (a, b) = (Node::new(100), Node::new(100));
    a.fake.on(
        "eth_getBlockByNumber",
        Reply::error(-32602, "the block tag finalized is not supported"),
    );
    b.finalized(80);
    let pool = ordered(&[&a, &b], reading()).await;
    for _ in 0..2 {
        let block = read(&pool, "eth_getBlockByNumber", "[\"finalized\",false]").await;
        assert!(block.starts_with("{\"number\":\"0x50\""), "{block}");
    }
    assert_eq!((a.fake.sent(), b.fake.sent()), (1, 2));
    assert_eq!(pool.snapshot().endpoints[0].error, 0.0);
}

// P-4, P-7, scenario P16
#[tokio::test(start_paused = true)]
async fn safe_is_forwarded_as_written_and_never_goes_back() {
    let (a, b) = (Node::new(100), Node::new(100));
    a.finalized(95);
    b.finalized(90);
    let pool = ordered(&[&a, &b], reading()).await;
    let safe = "[\"safe\",false]";
    for _ in 0..4 {
        let block = read(&pool, "eth_getBlockByNumber", safe).await;
        assert!(block.starts_with("{\"number\":\"0x5f\""), "{block}");
    }
    a.down(true);
    assert!(
        ask(&pool, "eth_getBlockByNumber", safe, within(3000))
            .await
            .is_err()
    );
    assert!(
        a.asked("eth_getBlockByNumber")
            .iter()
            .all(|params| params == safe)
    );
}

// P-9, scenario P17
#[tokio::test(start_paused = true)]
async fn what_was_read_in_a_receipt_binds_what_follows() {
    let (a, b, c) = (Node::new(101), Node::new(100), Node::new(100));
    let t = transaction(7);
    for node in [&a, &b, &c] {
        let answer = if std::ptr::eq(node, &a) {
            receipt(&t, 101)
        } else {
            "null".into()
        };
        node.fake
            .on("eth_getTransactionReceipt", Reply::result(answer));
    }
    let pool = pool(&[&a, &b, &c], reading()).await;
    let answer = read(&pool, "eth_getTransactionReceipt", &format!("[{t}]")).await;
    assert_eq!(answer, receipt(&t, 101));
    let before = b.fake.sent() + c.fake.sent();
    assert_eq!(block_number(&pool).await, 101);
    assert_eq!(balance(&pool, "latest").await, "\"0x65\"");
    let call = format!("[{{\"to\":{X}}},\"latest\"]");
    assert_eq!(read(&pool, "eth_call", &call).await, "\"0x65\"");
    assert_eq!(b.fake.sent() + c.fake.sent(), before);
    b.head(101);
    c.head(101);
    pool.probe().await;
    a.down(true);
    assert_eq!(
        read(&pool, "eth_getCode", &format!("[{X}]")).await,
        "\"0x65\""
    );
}

/// Every kind of answer that names a block, and what it is asked with.
fn kinds(block: u64) -> Vec<(&'static str, String, String)> {
    let t = transaction(7);
    let number = format!("\"{block:#x}\"");
    let hash = super::node::hash(block, 0);
    let parent = super::node::hash(block - 1, 0);
    let header = format!(
        "{{\"number\":{number},\"hash\":\"{hash}\",\"parentHash\":\"{parent}\",\"transactions\":[]}}"
    );
    let mined = format!("{{\"hash\":{t},\"blockNumber\":{number},\"blockHash\":\"{hash}\"}}");
    let log =
        format!("[{{\"blockNumber\":{number},\"blockHash\":\"{hash}\",\"logIndex\":\"0x0\"}}]");
    vec![
        (
            "eth_getBlockByHash",
            format!("[\"{hash}\",false]"),
            header.clone(),
        ),
        ("eth_getBlockByNumber", format!("[{number},false]"), header),
        ("eth_getTransactionByHash", format!("[{t}]"), mined),
        (
            "eth_getTransactionReceipt",
            format!("[{t}]"),
            receipt(&t, block),
        ),
        (
            "eth_getLogs",
            format!("[{{\"fromBlock\":\"0x64\",\"toBlock\":{number}}}]"),
            log.clone(),
        ),
        ("eth_getBlockReceipts", format!("[{number}]"), log),
    ]
}

// P-9, scenario P18
#[tokio::test(start_paused = true)]
async fn every_answer_that_names_a_block_moves_the_mark() {
    for (method, params, answer) in kinds(105) {
        let (a, b) = (Node::new(105), Node::new(104));
        a.fake.on(method, Reply::result(answer));
        let pool = ordered(&[&a, &b], reading()).await;
        assert_eq!(block_number(&pool).await, 104);
        let answer = ask(&pool, method, &params, CallOptions::default())
            .await
            .unwrap();
        assert_eq!(answer.block(), Some(105), "{method}");
        assert_eq!(block_number(&pool).await, 105, "{method}");
        assert_eq!(balance(&pool, "latest").await, "\"0x69\"", "{method}");
    }
}

// P-9, R-16
#[tokio::test(start_paused = true)]
async fn a_block_number_that_nobody_can_have_reached_moves_no_mark() {
    for (method, params, answer) in kinds(5000) {
        let (liar, b) = (Node::new(100), Node::new(100));
        liar.fake.on(method, Reply::result(answer));
        let pool = ordered(&[&liar, &b], reading()).await;
        // A read at that number itself goes to nobody who is known to be below it.
        drop(ask(&pool, method, &params, within(1000)).await);
        assert_eq!(block_number(&pool).await, 100, "{method}");
        assert_eq!(balance(&pool, "latest").await, "\"0x64\"", "{method}");
    }
}

// P-2, P-9: what passes through where nobody is believed binds nobody for ever.
#[tokio::test(start_paused = true)]
async fn a_lie_that_was_heard_before_any_head_was_known_binds_nobody() {
    let (liar, b) = (Node::new(100), Node::new(100));
    let t = transaction(7);
    liar.fake.on(
        "eth_getTransactionReceipt",
        Reply::result(receipt(&t, 1_000_000)),
    );
    let pool = super::node::in_order(&[&liar, &b], reading())
        .build()
        .unwrap();
    b.fake.on("eth_getTransactionReceipt", Reply::refused());
    let params = format!("[{t}]");
    read(&pool, "eth_getTransactionReceipt", &params).await;
    pool.probe().await;
    assert_eq!(block_number(&pool).await, 100);
    assert_eq!(balance(&pool, "latest").await, "\"0x64\"");
}

// P-9: what was seen before any head was known binds once heads are known.
#[tokio::test(start_paused = true)]
async fn a_receipt_that_came_before_any_head_binds_what_follows() {
    let (a, b) = (Node::new(101), Node::new(100));
    let t = transaction(7);
    for node in [&a, &b] {
        let reply = Reply::result(receipt(&t, 101));
        node.fake.on("eth_getTransactionReceipt", reply);
    }
    let pool = super::node::in_order(&[&a, &b], reading()).build().unwrap();
    read(&pool, "eth_getTransactionReceipt", &format!("[{t}]")).await;
    pool.probe().await;
    assert_eq!(block_number(&pool).await, 101);
    assert_eq!(balance(&pool, "latest").await, "\"0x65\"");
}

// P-8, scenario P19
#[tokio::test(start_paused = true)]
async fn what_one_party_has_seen_does_not_bind_another() {
    let (a, b) = (Node::new(105), Node::new(104));
    let pool = ordered(&[&a, &b], reading()).await;
    let (one, two) = (Viewer::new(), Viewer::new());
    ask(
        &pool,
        "eth_getBlockByNumber",
        "[\"0x69\",false]",
        as_viewer(&one),
    )
    .await
    .unwrap();
    a.down(true);
    // Until the pool knows that A is gone, its head counts.
    for _ in 0..3 {
        drop(balance_with(&pool, "0x68", as_viewer(&two)).await);
    }
    let number = |viewer: &Viewer| {
        let (pool, options) = (pool.clone(), as_viewer(viewer));
        async move { ask(&pool, "eth_blockNumber", "[]", options).await }
    };
    let first = number(&one).await;
    assert!(
        !matches!(&first, Ok(answer) if text(answer) != "\"0x69\""),
        "{first:?}"
    );
    assert_eq!(text(&number(&two).await.unwrap()), "\"0x68\"");
    // A call for both is bound by the higher of the two.
    let both = balance_with(&pool, "latest", on_behalf_of(&[&two, &one])).await;
    assert!(
        !matches!(&both, Ok(answer) if answer.block() < Some(105)),
        "{both:?}"
    );
    // The pool's own viewer saw nothing.
    assert_eq!(balance(&pool, "latest").await, "\"0x68\"");
}

// P-8
#[tokio::test(start_paused = true)]
async fn a_block_that_the_caller_names_binds_its_call_and_no_other() {
    let (a, b) = (Node::new(105), Node::new(104));
    let pool = pool(&[&a, &b], uncached()).await;
    let from = |block| CallOptions {
        min_block: Some(block),
        ..within(5000)
    };
    let answer = balance_with(&pool, "latest", from(105)).await.unwrap();
    assert_eq!((&*text(&answer), answer.endpoint()), ("\"0x69\"", "a"));
    let viewer = Viewer::new();
    let options = CallOptions {
        viewers: vec![viewer.clone()],
        ..from(200)
    };
    let behind = balance_with(&pool, "latest", options).await;
    assert!(
        matches!(behind, Err(Error::Behind { block: 200 })),
        "{behind:?}"
    );
    let answer = balance_with(&pool, "latest", as_viewer(&viewer)).await;
    assert_eq!(text(&answer.unwrap()), "\"0x68\"");
}

// P-5, scenario P21
#[tokio::test(start_paused = true)]
async fn a_node_that_falls_to_its_first_block_pulls_nobody_down() {
    let (a, b) = (Node::new(100), Node::new(101));
    let (pool, heard) = super::node::listened(&[&a, &b], uncached()).await;
    assert_eq!(block_number(&pool).await, 100);
    a.head(0);
    for _ in 0..5 {
        drop(
            ask(
                &pool,
                "eth_getBlockByNumber",
                "[\"latest\",false]",
                within(3000),
            )
            .await,
        );
        pool.probe().await;
        assert!(block_number(&pool).await >= 100);
        assert!(["\"0x64\"", "\"0x65\""].contains(&&*balance(&pool, "latest").await));
        after(500).await;
    }
    assert!(super::node::reorgs(&pool, &heard).is_empty());
}

// P-8, P-9: an answer that comes late, at a block that is lower than what was shown since, takes nobody back.
#[tokio::test(start_paused = true)]
async fn a_late_answer_takes_nobody_back() {
    let (a, b) = (Node::new(100), Node::new(100));
    let pool = ordered(&[&a, &b], uncached()).await;
    a.fake
        .answer("eth_getCode", |_| Reply::result("\"0x\"").after(ms(500)));
    let slow = format!("[{X},\"latest\"]");
    let late = tokio::spawn({
        let (pool, slow) = (pool.clone(), slow.clone());
        async move { read(&pool, "eth_getCode", &slow).await }
    });
    after(100).await;
    a.head(105);
    let t = transaction(1);
    a.fake
        .on("eth_getTransactionReceipt", Reply::result(receipt(&t, 105)));
    read(&pool, "eth_getTransactionReceipt", &format!("[{t}]")).await;
    late.await.unwrap();
    assert_eq!(a.asked("eth_getCode"), [format!("[{X},\"0x64\"]")]);
    a.down(true);
    let refused = ask(&pool, "eth_getBalance", &slow, within(1000)).await;
    assert!(
        refused.is_err(),
        "{:?}",
        refused.map(|answer| text(&answer))
    );
    assert_eq!(b.asked("eth_getBalance"), [""; 0]);
}
