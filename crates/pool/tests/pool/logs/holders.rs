//! Logs come from whoever holds the end of the range (P-4, P-24).

use super::node::{Logged, error, in_order, logs, one_each, plain, try_logs};
use crate::{
    fake::{Reply, ms},
    reads::node::{ask, balance_with, idle, ordered, read, text, uncached},
};
use highwater::{
    CallOptions, Pool, Viewer,
    core::{ChainId, settings::Settings},
};

const BEYOND: &str = "block range extends beyond current head block";

// P-24, scenario L01
#[tokio::test(start_paused = true)]
async fn who_is_below_the_end_is_not_asked() {
    let (a, b) = (Logged::new(100), Logged::new(106));
    a.node.fake.on("eth_getLogs", Reply::result("[]"));
    let both = plain(&[(101, 0), (104, 0)]);
    b.node.fake.on("eth_getLogs", Reply::result(both.clone()));
    let pool = in_order(&[&a, &b], uncached()).await;
    let answer = logs(&pool, 95, 105).await;
    assert_eq!(text(&answer), both);
    assert!(idle(&a.node));
}

// P-24, scenario L02
#[tokio::test(start_paused = true)]
async fn a_range_above_every_head_is_an_error_and_never_empty() {
    let (a, b) = (Logged::new(100), Logged::new(100));
    a.node.fake.on("eth_getLogs", Reply::result("[]"));
    let refusal = Reply::error(-32602, BEYOND);
    b.node.fake.on("eth_getLogs", refusal);
    let pool = in_order(&[&a, &b], uncached()).await;
    let answer = logs(&pool, 95, 110).await;
    assert!(error(&answer).contains("-32602"), "{answer:?}");
    // The same where nobody says so.
    b.node.down(true);
    let answer = logs(&pool, 95, 110).await;
    assert!(error(&answer).contains("-32602"), "{answer:?}");
}

// P-4, scenario L03
#[tokio::test(start_paused = true)]
async fn latest_is_the_block_that_all_hold() {
    let (a, b) = (Logged::new(100), Logged::new(102));
    let pool = in_order(&[&a, &b], uncached()).await;
    for _ in 0..2 {
        let answer = try_logs(&pool, "0x63", "latest").await.unwrap();
        assert_eq!(text(&answer), one_each(99, 100));
        assert_eq!(answer.block(), Some(100));
        a.node.down(true);
    }
    assert_eq!(a.ranges()[0], (99, 100));
    assert_eq!(b.ranges(), [(99, 100)]);
}

// P-4, P-24, scenario L04
#[tokio::test(start_paused = true)]
async fn a_range_that_the_pin_would_turn_round_stays_as_it_is() {
    let a = Logged::new(100);
    a.node.fake.on("eth_getLogs", Reply::result("[]"));
    let pool = in_order(&[&a], uncached()).await;
    let answer = try_logs(&pool, "0x65", "latest").await.unwrap();
    assert!(error(&answer).contains("-32602"), "{answer:?}");
    // Nobody at 101 was there to be asked; who is there later gets it as it was written.
    a.node.head(101);
    pool.probe().await;
    let there = try_logs(&pool, "0x65", "latest").await.unwrap();
    assert_eq!(text(&there), "[]");
    let asked = a.node.asked("eth_getLogs");
    let last = asked.last().unwrap();
    assert!(
        last.contains("\"0x65\"") && !last.contains("0x64"),
        "{asked:?}"
    );
}

// P-4, scenario L05
#[tokio::test(start_paused = true)]
async fn a_filter_without_bounds_is_about_the_newest_block() {
    let a = Logged::new(100);
    let pool = in_order(&[&a], uncached()).await;
    let params = format!(r#"[{{"address":"0x{}"}}]"#, "aa".repeat(20));
    assert_eq!(
        read(&pool, "eth_getLogs", &params).await,
        one_each(100, 100)
    );
    assert_eq!(a.ranges(), [(100, 100)]);
}

async fn within(pool: &Pool, params: &str) -> Result<highwater::Answer, highwater::Error> {
    let options = CallOptions {
        deadline: Some(ms(4000)),
        ..CallOptions::default()
    };
    ask(pool, "eth_getLogs", params, options).await
}

// P-24, scenario L14
#[tokio::test(start_paused = true)]
async fn a_list_that_was_cut_at_a_head_is_never_an_answer() {
    let (a, b) = (Logged::new(100), Logged::new(106));
    a.now(|ways| ways.until = 100);
    let pool = in_order(&[&a, &b], uncached()).await;
    assert_eq!(text(&logs(&pool, 95, 105).await), one_each(95, 105));
    assert!(idle(&a.node));
    b.node.down(true);
    let params = r#"[{"fromBlock":"0x5f","toBlock":"0x69"}]"#;
    let answer = within(&pool, params).await;
    assert!(
        !matches!(&answer, Ok(answer) if !answer.is_error()),
        "{answer:?}"
    );
    // B is back within the deadline.
    let asked = tokio::spawn({
        let pool = pool.clone();
        async move { within(&pool, params).await }
    });
    tokio::time::sleep(ms(300)).await;
    b.node.down(false);
    if let Ok(answer) = asked.await.unwrap()
        && !answer.is_error()
    {
        assert_eq!(text(&answer), one_each(95, 105));
    }
}

// P-4, R-14, scenario L15
#[tokio::test(start_paused = true)]
async fn a_limit_that_trips_on_the_tag_is_not_met() {
    let a = Logged::new(100);
    a.node.fake.answer("eth_getLogs", |params| {
        if params.contains("latest") {
            Reply::error(-32602, "exceed maximum block range 100")
        } else {
            Reply::result(one_each(50, 100))
        }
    });
    let pool = in_order(&[&a], uncached()).await;
    let answer = try_logs(&pool, "0x32", "latest").await.unwrap();
    assert_eq!(text(&answer), one_each(50, 100));
    assert_eq!(pool.snapshot().endpoints[0].max_log_range, None);
}

// R-37, scenario L13
#[tokio::test(start_paused = true)]
async fn a_range_that_is_turned_round_is_the_callers_fault() {
    let (a, b) = (Logged::new(100), Logged::new(100));
    let refusal = Reply::error(-32602, "invalid block range params");
    for node in [&a, &b] {
        node.node.fake.on("eth_getLogs", refusal.clone());
    }
    let pool = in_order(&[&a, &b], uncached()).await;
    for _ in 0..5 {
        let answer = logs(&pool, 100, 90).await;
        assert!(error(&answer).contains("invalid block range params"));
    }
    assert!(a.node.fake.sent() <= 5 && b.node.fake.sent() <= 5);
    b.node.fake.on("eth_getBalance", Reply::result("\"0x1\""));
    assert_eq!(
        crate::reads::node::balance(&pool, "latest").await,
        "\"0x64\""
    );
}

// R-37, scenario C04
#[tokio::test(start_paused = true)]
async fn a_block_that_one_has_not_reached_is_lag_whatever_it_calls_it() {
    let (o, b) = (Logged::new(101), Logged::new(101));
    for node in [&o, &b] {
        node.node.fake.on("eth_chainId", Reply::result("\"0x3e7\""));
    }
    let refusal = Reply::error(-32602, "invalid block range");
    o.node.fake.on("eth_getLogs", refusal);
    let settings: Settings = uncached();
    let pool = crate::reads::node::in_order(&[&o.node, &b.node], settings)
        .chain(ChainId(999))
        .build()
        .unwrap();
    pool.probe().await;
    // Its head says 101 and its logs end at 100.
    assert_eq!(text(&logs(&pool, 101, 101).await), one_each(101, 101));
    assert_eq!(o.node.fake.count("eth_getLogs"), 1);
    // Whoever has not seen that block may be served by it: no strike.
    let options = CallOptions {
        viewers: vec![Viewer::new()],
        ..CallOptions::default()
    };
    let balance = balance_with(&pool, "0x64", options).await.unwrap();
    assert_eq!(text(&balance), "\"0x64\"");
    assert_eq!(o.node.fake.count("eth_getBalance"), 1);
}

// P-23: every log that is served was asked for
#[tokio::test(start_paused = true)]
async fn an_answer_to_another_filter_is_no_answer() {
    let (a, b) = (Logged::new(100), Logged::new(100));
    let foreign = one_each(99, 100).replace(&"aa".repeat(20), &"bb".repeat(20));
    a.node.fake.on("eth_getLogs", Reply::result(foreign));
    let pool = ordered(&[&a.node, &b.node], uncached()).await;
    let params = format!(
        r#"[{{"fromBlock":"0x63","toBlock":"0x64","address":"0x{}"}}]"#,
        "AA".repeat(20)
    );
    assert_eq!(read(&pool, "eth_getLogs", &params).await, one_each(99, 100));
    assert_eq!((a.node.fake.sent(), b.node.fake.sent()), (1, 1));
}
