//! The log index in a pool (P-14, P-21, P-22).

use super::node::{Logged, Ways, in_order, list, logs, one_each, read_logs, try_logs};
use crate::{
    fake::Reply,
    reads::node::{after, hash, read, text, watching},
};
use highwater::{Answer, Origin, Pool, core::settings::Settings};

/// A pool that has read the header of its head, so that what is asked for may be kept.
async fn watched(nodes: &[&Logged], settings: Settings) -> Pool {
    let pool = in_order(nodes, settings).await;
    read(
        &pool,
        "eth_getBalance",
        "[\"0x00000000000000000000000000000000000000aa\",\"latest\"]",
    )
    .await;
    pool.probe().await;
    pool
}

async fn latest(pool: &Pool, from: u64) -> Answer {
    try_logs(pool, &format!("{from:#x}"), "latest")
        .await
        .unwrap()
}

/// A block more.
async fn grow(pool: &Pool, nodes: &[&Logged], head: u64) {
    for node in nodes {
        node.node.head(head);
    }
    pool.probe().await;
}

// P-21
#[tokio::test(start_paused = true)]
async fn a_range_inside_costs_no_request() {
    let a = Logged::new(100);
    let pool = watched(&[&a], watching()).await;
    assert_eq!(read_logs(&pool, 50, 100).await, one_each(50, 100));
    for (from, to) in [(50, 100), (60, 70), (100, 100)] {
        let answer = logs(&pool, from, to).await;
        assert_eq!(text(&answer), one_each(from, to));
        assert_eq!((answer.origin(), answer.attempts()), (Origin::Cache, 0));
        assert_eq!((answer.endpoint(), answer.block()), ("a", Some(to)));
    }
    let newest = latest(&pool, 90).await;
    assert_eq!(
        (newest.origin(), newest.block()),
        (Origin::Cache, Some(100))
    );
    assert_eq!(text(&newest), one_each(90, 100));
    assert_eq!(a.ranges(), [(50, 100)]);
    let stats = pool.cache_stats();
    assert_eq!(
        (stats.log_index, stats.log_filters, stats.log_tails),
        (4, 1, 0)
    );
    assert!(stats.avoided().contains(&("log_index", 4)));
    assert!(stats.bytes > 0);
    // What begins before it goes out, and widens it.
    assert_eq!(read_logs(&pool, 40, 60).await, one_each(40, 60));
    assert_eq!(read_logs(&pool, 40, 100).await, one_each(40, 100));
    assert_eq!(a.ranges(), [(50, 100), (40, 60)]);
}

// P-21
#[tokio::test(start_paused = true)]
async fn each_new_head_costs_the_new_blocks_only() {
    let a = Logged::new(100);
    let pool = watched(&[&a], watching()).await;
    assert_eq!(text(&latest(&pool, 50).await), one_each(50, 100));
    for head in [102, 103, 110] {
        grow(&pool, &[&a], head).await;
        after(2000).await;
        grow(&pool, &[&a], head).await;
        let answer = latest(&pool, 50).await;
        assert_eq!(text(&answer), one_each(50, head), "{head}");
        assert_eq!((answer.attempts(), answer.block()), (1, Some(head)));
    }
    assert_eq!(a.ranges(), [(50, 100), (100, 102), (102, 103), (103, 110)]);
    assert_eq!(pool.cache_stats().log_tails, 3);
}

// P-21, P-11
#[tokio::test(start_paused = true)]
async fn what_ends_at_latest_is_one_block_behind_at_most_and_a_scanner_turns_that_off() {
    for (stale, block, asked) in [(1, 100, 1), (0, 101, 2)] {
        let a = Logged::new(100);
        let mut settings = watching();
        settings.reads.cache.as_mut().unwrap().max_stale_blocks = stale;
        let pool = watched(&[&a], settings).await;
        latest(&pool, 50).await;
        grow(&pool, &[&a], 101).await;
        let params = r#"[{"fromBlock":"0x32","toBlock":"latest"}]"#;
        let options = highwater::CallOptions {
            viewers: vec![highwater::Viewer::new()],
            ..highwater::CallOptions::default()
        };
        let answer = crate::reads::node::ask(&pool, "eth_getLogs", params, options)
            .await
            .unwrap();
        assert_eq!(answer.block(), Some(block), "{stale}");
        assert_eq!(text(&answer), one_each(50, block));
        assert_eq!(a.ranges().len(), asked);
    }
}

// P-22
#[tokio::test(start_paused = true)]
async fn a_narrower_filter_is_answered_from_a_wider_index() {
    let a = Logged::new(100);
    let pool = watched(&[&a], watching()).await;
    read_logs(&pool, 50, 100).await;
    let of = |byte: &str| {
        format!(
            r#"[{{"address":["0x{}","0x{}"],"fromBlock":"0x3c","toBlock":"0x46"}}]"#,
            byte.repeat(20),
            "dd".repeat(20)
        )
    };
    assert_eq!(
        read(&pool, "eth_getLogs", &of("AA")).await,
        one_each(60, 70)
    );
    assert_eq!(read(&pool, "eth_getLogs", &of("bb")).await, "[]");
    assert_eq!(a.ranges(), [(50, 100)]);
    assert_eq!(pool.cache_stats().log_index, 2);
}

// P-14, P-21, scenario L12
#[tokio::test(start_paused = true)]
async fn blocks_that_left_the_chain_are_fetched_again() {
    let a = Logged::new(95);
    let pool = watched(&[&a], watching()).await;
    for head in 96..=100 {
        grow(&pool, &[&a], head).await;
    }
    assert_eq!(read_logs(&pool, 90, 100).await, one_each(90, 100));
    a.node.branch(98, 1);
    grow(&pool, &[&a], 101).await;
    let places: Vec<(u64, u64)> = (95..=100).map(|number| (number, 0)).collect();
    let expected = list(&places, |number| hash(number, u8::from(number > 98)));
    assert_eq!(read_logs(&pool, 95, 100).await, expected);
    assert_eq!(a.ranges(), [(90, 100), (98, 100)]);
    assert_eq!(read_logs(&pool, 95, 100).await, expected);
    assert_eq!(a.ranges().len(), 2);
}

// P-14: what comes from another chain is not put behind what is there
#[tokio::test(start_paused = true)]
async fn a_tail_of_another_branch_is_not_put_behind_the_index() {
    let a = Logged::new(100);
    let pool = watched(&[&a], watching()).await;
    read_logs(&pool, 90, 100).await;
    // Its head is told, and the header that would show the fork is not there yet.
    a.node.fake.on("eth_getBlockByNumber", Reply::hang());
    a.node.branch(98, 1);
    grow(&pool, &[&a], 101).await;
    let places: Vec<(u64, u64)> = (95..=101).map(|number| (number, 0)).collect();
    let expected = list(&places, |number| hash(number, u8::from(number > 98)));
    assert_eq!(read_logs(&pool, 95, 101).await, expected);
    assert_eq!(a.ranges(), [(90, 100), (100, 101), (95, 101)]);
}

// P-14, P-21: what an endpoint gave that nobody knows to be on the chain, before anybody told a hash that
// differs from its
#[tokio::test(start_paused = true)]
async fn logs_of_an_untold_branch_are_not_remembered_as_those_of_the_chain() {
    for (bare, last) in [(vec![], 100), ((96..=100).collect(), 95)] {
        let a = Logged::with(
            100,
            Ways {
                bare,
                ..Ways::default()
            },
        );
        let b = Logged::new(100);
        let pool = in_order(&[&a, &b], watching()).await;
        read(
            &pool,
            "eth_getBalance",
            "[\"0x00000000000000000000000000000000000000aa\",\"latest\"]",
        )
        .await;
        // The first header that is told is of the new branch.
        b.node.branch(95, 1);
        b.node.head(101);
        pool.probe().await;
        assert_eq!(read_logs(&pool, 90, 100).await, one_each(90, last));
        // A follows.
        a.node.branch(95, 1);
        a.now(|ways| ways.bare.clear());
        grow(&pool, &[&a], 101).await;
        let places: Vec<(u64, u64)> = (90..=100).map(|number| (number, 0)).collect();
        let expected = list(&places, |number| hash(number, u8::from(number > 95)));
        assert_eq!(read_logs(&pool, 90, 100).await, expected, "{last}");
    }
}

// P-21, rule suspect, scenario L07
#[tokio::test(start_paused = true)]
async fn the_newest_block_is_not_indexed_on_one_empty_list() {
    let a = Logged::with(
        100,
        Ways {
            bare: vec![100],
            ..Ways::default()
        },
    );
    let pool = watched(&[&a], watching()).await;
    assert_eq!(read_logs(&pool, 100, 100).await, "[]");
    a.now(|ways| ways.bare.clear());
    assert_eq!(read_logs(&pool, 100, 100).await, one_each(100, 100));
    // The same at the end of a longer list.
    a.now(|ways| ways.bare = vec![101]);
    grow(&pool, &[&a], 101).await;
    assert_eq!(read_logs(&pool, 95, 101).await, one_each(95, 100));
    a.now(|ways| ways.bare.clear());
    assert_eq!(read_logs(&pool, 95, 101).await, one_each(95, 101));
    assert_eq!(a.ranges().last(), Some(&(100, 101)));
}

// P-21, rule suspect: a bloom that cannot match is one more sign
#[tokio::test(start_paused = true)]
async fn a_bloom_that_cannot_match_lets_the_newest_block_be_indexed() {
    let a = Logged::with(
        100,
        Ways {
            bare: vec![100],
            ..Ways::default()
        },
    );
    let (own, parent) = (hash(100, 0), hash(99, 0));
    let mut bloom = "00".repeat(255);
    bloom.push_str("01");
    a.node.fake.on(
        "eth_getBlockByNumber",
        Reply::result(format!(
            r#"{{"number":"0x64","hash":"{own}","parentHash":"{parent}","logsBloom":"0x{bloom}","transactions":["0x1"]}}"#
        )),
    );
    let pool = watched(&[&a], watching()).await;
    let params = format!(
        r#"[{{"address":"0x{}","fromBlock":"0x60","toBlock":"0x64"}}]"#,
        "aa".repeat(20)
    );
    for _ in 0..3 {
        assert_eq!(read(&pool, "eth_getLogs", &params).await, one_each(96, 99));
    }
    assert_eq!(a.ranges(), [(96, 100)]);
}

// P-21: an explicit end is indexed only when all hold it
#[tokio::test(start_paused = true)]
async fn an_end_that_one_may_not_hold_is_not_indexed() {
    let (a, b) = (Logged::new(100), Logged::new(99));
    let pool = watched(&[&a, &b], watching()).await;
    for _ in 0..2 {
        assert_eq!(read_logs(&pool, 95, 100).await, one_each(95, 100));
    }
    assert_eq!(a.ranges().len(), 2);
    assert_eq!(pool.cache_stats().log_filters, 0);
}

// P-21
#[tokio::test(start_paused = true)]
async fn without_a_window_or_for_who_passes_the_cache_nothing_is_from_memory() {
    let a = Logged::new(100);
    let mut settings = watching();
    settings.reads.logs.as_mut().unwrap().window = 0;
    let pool = watched(&[&a], settings).await;
    for _ in 0..2 {
        read_logs(&pool, 90, 100).await;
    }
    assert_eq!(a.ranges().len(), 2);
    let mut settings = watching();
    settings.reads.logs = None;
    let pool = watched(&[&a], settings).await;
    for _ in 0..2 {
        read_logs(&pool, 90, 100).await;
    }
    assert_eq!(a.ranges().len(), 4);
    let pool = watched(&[&a], watching()).await;
    read_logs(&pool, 90, 100).await;
    let options = highwater::CallOptions {
        bypass_cache: true,
        ..highwater::CallOptions::default()
    };
    let params = r#"[{"fromBlock":"0x5a","toBlock":"0x64"}]"#;
    let answer = crate::reads::node::ask(&pool, "eth_getLogs", params, options)
        .await
        .unwrap();
    assert_eq!(answer.origin(), Origin::Endpoint);
}
