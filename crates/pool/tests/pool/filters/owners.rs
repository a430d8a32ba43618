//! Whose a filter is, how long it lives, and what its polls show.

use super::node::{Node, ask, is_not_found, logs, new, of_blocks, poll, pool, text};
use crate::bench::call_within;
use crate::fake::builder;
use crate::fake::ms;
use crate::fake::s;
use crate::fake::still;
use highwater::CallOptions;
use highwater::Error;
use highwater::core::settings::Settings;

// L-4: nobody there for now is no end
#[tokio::test(start_paused = true)]
async fn a_filter_outlives_an_outage_of_everybody() {
    let (a, b) = (Node::new(100), Node::new(100));
    let pool = pool(&[&a, &b], still());
    let id = new(&pool, "eth_newFilter").await;
    a.head(101);
    assert_eq!(logs(&poll(&pool, &id).await), of_blocks(101, 101));
    a.kill();
    b.kill();
    let options = CallOptions::default();
    let params = format!("[{id}]");
    let failed = call_within(&pool, "eth_getFilterChanges", &params, options).await;
    assert!(
        matches!(failed, Err(Error::AllEndpointsFailed { .. })),
        "{failed:?}"
    );
    b.set(|chain| (chain.down, chain.head) = (false, 109));
    b.fake.everything(None);
    tokio::time::sleep(s(60)).await;
    assert_eq!(logs(&poll(&pool, &id).await), of_blocks(102, 109));
}

// L-4: a filter belongs to who made it
#[tokio::test(start_paused = true)]
async fn a_filter_is_nobody_elses() {
    let a = Node::new(100);
    let pool = pool(&[&a], still());
    let of = |caller| CallOptions {
        caller,
        ..CallOptions::default()
    };
    let made = call_within(&pool, "eth_newFilter", "[{}]", of(1))
        .await
        .unwrap();
    let params = format!("[{}]", text(&made));
    a.head(101);
    for method in ["eth_getFilterChanges", "eth_getFilterLogs"] {
        let other = call_within(&pool, method, &params, of(2)).await.unwrap();
        is_not_found(&other);
    }
    let other = call_within(&pool, "eth_uninstallFilter", &params, of(2))
        .await
        .unwrap();
    assert_eq!(text(&other), "false");
    let own = call_within(&pool, "eth_getFilterChanges", &params, of(1))
        .await
        .unwrap();
    assert_eq!(logs(&own), of_blocks(101, 101));
}

// L-4
#[tokio::test(start_paused = true)]
async fn ids_that_are_not_ours_reach_nobody() {
    let a = Node::new(100);
    let pool = pool(&[&a], still());
    new(&pool, "eth_newFilter").await;
    let before = a.fake.sent();
    // The maker's own id among them.
    for params in ["[\"0x1\"]", "[]", "[1]", "[\"\"]", "[\"0x01\"]", "[null]"] {
        is_not_found(&ask(&pool, "eth_getFilterChanges", params).await);
        is_not_found(&ask(&pool, "eth_getFilterLogs", params).await);
        assert_eq!(
            text(&ask(&pool, "eth_uninstallFilter", params).await),
            "false"
        );
    }
    assert_eq!(a.fake.sent(), before);
}

// L-4
#[tokio::test(start_paused = true)]
async fn an_uninstalled_filter_is_gone_here_and_there() {
    let a = Node::new(100);
    let pool = pool(&[&a], still());
    let (one, two) = (
        new(&pool, "eth_newFilter").await,
        new(&pool, "eth_newFilter").await,
    );
    let end = |id: &str| format!("[{id}]");
    assert_eq!(
        text(&ask(&pool, "eth_uninstallFilter", &end(&one)).await),
        "true"
    );
    assert_eq!(a.chain.lock().unwrap().filters.len(), 1);
    assert_eq!(
        text(&ask(&pool, "eth_uninstallFilter", &end(&one)).await),
        "false"
    );
    is_not_found(&poll(&pool, &one).await);
    // Whatever its maker says.
    a.kill();
    assert_eq!(
        text(&ask(&pool, "eth_uninstallFilter", &end(&two)).await),
        "true"
    );
    is_not_found(&poll(&pool, &two).await);
}

// L-4: five minutes, as geth
#[tokio::test(start_paused = true)]
async fn a_filter_that_nobody_polls_is_forgotten() {
    let a = Node::new(100);
    let pool = pool(&[&a], still());
    let id = new(&pool, "eth_newFilter").await;
    tokio::time::sleep(s(299)).await;
    assert_eq!(logs(&poll(&pool, &id).await), []);
    tokio::time::sleep(s(301)).await;
    is_not_found(&poll(&pool, &id).await);
}

// L-4
#[tokio::test(start_paused = true)]
async fn all_logs_of_a_filter_come_from_its_maker_or_as_a_query() {
    let (a, b) = (Node::new(100), Node::new(100));
    let pool = pool(&[&a, &b], still());
    let id = new(&pool, "eth_newFilter").await;
    let all = format!("[{id}]");
    let answer = ask(&pool, "eth_getFilterLogs", &all).await;
    assert_eq!(
        (answer.endpoint(), logs(&answer)),
        ("a", of_blocks(100, 100))
    );
    a.kill();
    let answer = ask(&pool, "eth_getFilterLogs", &all).await;
    assert_eq!(
        (answer.endpoint(), logs(&answer)),
        ("b", of_blocks(100, 100))
    );
    assert_eq!(b.fake.count("eth_getLogs"), 1);
    let blocks = new(&pool, "eth_newBlockFilter").await;
    is_not_found(&ask(&pool, "eth_getFilterLogs", &format!("[{blocks}]")).await);
}

// L-4: whatever fails when, every log is told once and in order
#[tokio::test(start_paused = true)]
async fn nothing_is_lost_or_repeated_whatever_fails() {
    for seed in 0..16_u64 {
        let mut drawn = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut draw = |below: u64| {
            drawn ^= drawn << 13;
            drawn ^= drawn >> 7;
            drawn ^= drawn << 17;
            drawn % below
        };
        let nodes = [Node::new(100), Node::new(100), Node::new(100)];
        let pool = pool(&[&nodes[0], &nodes[1], &nodes[2]], still());
        let id = new(&pool, "eth_newFilter").await;
        let (mut told, mut head) = (Vec::new(), 100);
        for _ in 0..60 {
            head += draw(4);
            for node in &nodes {
                let behind = draw(3);
                node.set(|chain| {
                    chain.head = chain.head.max(head - behind.min(head - 100));
                    match draw(12) {
                        0 => chain.filters.clear(),
                        1 => chain.down = true,
                        2 => chain.deaf = true,
                        _ => (chain.down, chain.deaf) = (false, false),
                    }
                });
            }
            tokio::time::sleep(ms(500 * draw(12))).await;
            let params = format!("[{id}]");
            let polled = call_within(
                &pool,
                "eth_getFilterChanges",
                &params,
                CallOptions::default(),
            );
            // Some callers do not wait.
            let patience = if draw(6) == 0 { ms(3) } else { s(60) };
            if let Ok(Ok(answer)) = tokio::time::timeout(patience, polled).await {
                told.extend(logs(&answer));
            }
        }
        for node in &nodes {
            node.set(|chain| (chain.down, chain.deaf, chain.head) = (false, false, head));
        }
        tokio::time::sleep(s(70)).await;
        told.extend(logs(&poll(&pool, &id).await));
        assert_eq!(told, of_blocks(101, head), "seed {seed}");
    }
}

// P-8, P-9: what a filter told of has been seen
#[tokio::test(start_paused = true)]
async fn what_a_filter_told_is_seen_by_later_reads() {
    let (a, b) = (Node::new(100), Node::new(100));
    let settings = Settings {
        probe: None,
        race: 0,
        ..Settings::default()
    };
    let fakes = [&a.fake, &b.fake];
    let pool = builder(&fakes, settings).build().unwrap();
    let id = new(&pool, "eth_newFilter").await;
    a.head(105);
    b.head(105);
    let seen = poll(&pool, &id).await;
    assert_eq!(seen.block(), Some(105));
    let number = ask(&pool, "eth_blockNumber", "[]").await;
    assert_eq!(text(&number), "\"0x69\"");
}
