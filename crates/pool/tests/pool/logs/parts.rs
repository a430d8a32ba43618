//! Ranges that are wider than anybody takes (P-23).

use super::node::{
    Logged, Ways, declared, error, in_order, logs, one_each, plain, read_logs, try_logs,
};
use crate::{
    fake::Reply,
    reads::node::{balance, read, text, uncached, watching},
};
use highwater::{Error, core::settings::Settings};

/// Most blocks have a log, and no count is round.
fn sparse() -> Ways {
    Ways {
        bare: (0..3000).filter(|number| number % 7 == 3).collect(),
        ..Ways::default()
    }
}

/// The logs of those blocks.
fn some_of(from: u64, to: u64) -> String {
    let places = (from..=to).filter(|number| number % 7 != 3);
    plain(&places.map(|number| (number, 0)).collect::<Vec<_>>())
}

fn limited(head: u64, most: u64, refusal: Reply) -> Logged {
    Logged::with(
        head,
        Ways {
            limit: Some((most, refusal)),
            ..sparse()
        },
    )
}

fn too_wide() -> Reply {
    Reply::error(-32602, "Block range limit exceeded.")
}

fn unsplit() -> Settings {
    let mut settings = uncached();
    settings.reads.logs.as_mut().unwrap().split = false;
    settings
}

// P-23, R-37, scenario L08
#[tokio::test(start_paused = true)]
async fn who_takes_the_range_gets_it_and_the_other_is_passed_over_next_time() {
    let refusal = Reply::error(-32602, "range 20000 exceeds limit of 10000");
    let (a, b) = (limited(25_000, 10_000, refusal), Logged::new(25_000));
    for node in [&a, &b] {
        node.now(|ways| ways.bare = (0..20_000).collect());
    }
    let pool = in_order(&[&a, &b], uncached()).await;
    for _ in 0..2 {
        assert_eq!(read_logs(&pool, 0, 20_000).await, one_each(20_000, 20_000));
    }
    assert_eq!((a.ranges().len(), b.ranges().len()), (1, 2));
    // No strike: it serves what it takes.
    assert_eq!(
        read_logs(&pool, 15_000, 20_000).await,
        one_each(20_000, 20_000)
    );
    assert_eq!(a.ranges().len(), 2);
}

// P-23, scenario L09
#[tokio::test(start_paused = true)]
async fn what_nobody_takes_whole_is_asked_for_in_parts() {
    let (a, b) = (limited(300, 100, too_wide()), limited(300, 100, too_wide()));
    let pool = declared(&[(&a, Some(100)), (&b, Some(100))], uncached()).await;
    let answer = logs(&pool, 1, 250).await;
    assert_eq!(text(&answer), some_of(1, 250));
    assert_eq!(answer.attempts(), 3);
    assert_eq!(answer.block(), Some(250));
    let mut asked = [a.ranges(), b.ranges()].concat();
    asked.sort_unstable();
    assert_eq!(asked, [(1, 50), (51, 150), (151, 250)]);
    // A part that fails fails the whole.
    for node in [&a, &b] {
        node.node.fake.answer("eth_getLogs", |params| {
            if params.contains("\"0x33\"") {
                Reply::error(-32000, "something odd")
            } else {
                Reply::result("[]")
            }
        });
    }
    let answer = try_logs(&pool, "0x1", "0xfa").await;
    assert!(
        !matches!(&answer, Ok(answer) if !answer.is_error()),
        "{answer:?}"
    );
}

// P-23, scenario L09
#[tokio::test(start_paused = true)]
async fn a_limit_that_nobody_stated_is_found() {
    let (a, b) = (limited(300, 100, too_wide()), limited(300, 100, too_wide()));
    let pool = in_order(&[&a, &b], uncached()).await;
    assert_eq!(read_logs(&pool, 1, 250).await, some_of(1, 250));
    // What was learned is used.
    let before = a.ranges().len() + b.ranges().len();
    assert_eq!(read_logs(&pool, 1, 250).await, some_of(1, 250));
    let after = a.ranges().len() + b.ranges().len();
    assert!(after - before <= 5, "{before} {after}");
}

// P-23, scenario L10
#[tokio::test(start_paused = true)]
async fn a_range_that_is_suggested_is_the_size_of_the_parts() {
    let refusal = Reply::error(
        -32602,
        "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and \
         no limit on the response size, or you can request any block range with a cap of 10K logs in \
         the response. Based on your parameters and the response size limit, this block range should \
         work: [0x0, 0x63]",
    );
    let a = limited(300, 100, refusal);
    let pool = in_order(&[&a], uncached()).await;
    assert_eq!(read_logs(&pool, 0, 199).await, some_of(0, 199));
    let mut asked = a.ranges();
    asked.sort_unstable();
    assert_eq!(asked, [(0, 99), (0, 199), (100, 199)]);
}

// P-23: limits are learned from numeric ranges only, results are no blocks
#[tokio::test(start_paused = true)]
async fn too_many_results_are_asked_for_in_smaller_parts() {
    let refusal = Reply::error(-32005, "query returned more than 20 results");
    let a = Logged::with(
        300,
        Ways {
            most: Some((20, refusal)),
            bare: (0..150).collect(),
            ..Ways::default()
        },
    );
    let pool = in_order(&[&a], uncached()).await;
    assert_eq!(read_logs(&pool, 0, 199).await, one_each(150, 199));
    assert_eq!(pool.snapshot().endpoints[0].max_log_range, None);
}

// P-23, R-37, scenario L17
#[tokio::test(start_paused = true)]
async fn a_range_limit_in_the_code_of_a_rate_limit_is_no_rate_limit() {
    let refusal = Reply::error(-32005, "Requested range exceeds maximum RPC range limit");
    let (a, b) = (limited(10_000, 5000, refusal), Logged::new(10_000));
    for node in [&a, &b] {
        node.now(|ways| ways.bare = (0..9000).collect());
    }
    let pool = in_order(&[&a, &b], uncached()).await;
    assert_eq!(read_logs(&pool, 0, 9000).await, one_each(9000, 9000));
    assert_eq!(balance(&pool, "latest").await, "\"0x2710\"");
    assert_eq!(a.node.fake.count("eth_getBalance"), 1);
    assert!(pool.snapshot().endpoints[0].max_log_range.is_some());
}

// P-23: a range of 2^64 blocks
#[tokio::test(start_paused = true)]
async fn a_range_that_takes_too_many_requests_is_an_error_that_says_so() {
    let a = limited(1_000_000, 100, too_wide());
    a.now(|ways| ways.bare = (0..1_000_001).collect());
    let pool = declared(&[(&a, Some(100))], uncached()).await;
    let ended = try_logs(&pool, "0x0", "0xf4240").await;
    assert!(
        matches!(ended, Err(Error::RangeTooWide { requests: 256, .. })),
        "{ended:?}"
    );
    assert_eq!(a.ranges(), []);
    // Above every head it is no question of size.
    a.node.fake.on("eth_getLogs", Reply::result("[]"));
    let ended = try_logs(&pool, "0x0", "0xffffffffffffffff").await.unwrap();
    assert!(error(&ended).contains("-32602"));
}

// P-23, P-24: numbers at the end of what can be written
#[tokio::test(start_paused = true)]
async fn ranges_at_and_beyond_the_highest_number_are_errors() {
    const MOST: &str = "0xffffffffffffffff";
    let (a, b) = (Logged::new(100), Logged::new(100));
    // As nodes do that cut a range at their head.
    let cutting = |params: &str| {
        let from_there = params.contains("\"fromBlock\":\"0x0\"") || params.contains("0x5f");
        Reply::result(if from_there {
            one_each(95, 100)
        } else {
            "[]".to_owned()
        })
    };
    for settings in [uncached(), unsplit(), watching()] {
        for node in [&a, &b] {
            node.node.fake.answer("eth_getLogs", cutting);
        }
        let pool = in_order(&[&a, &b], settings).await;
        for (from, to) in [
            ("0x0", MOST),
            ("0x5f", MOST),
            (MOST, MOST),
            (MOST, "latest"),
            ("0x0", "0x10000000000000000"),
            ("0x5f", "0xffffffffffffffffffffffff"),
            ("0x10000000000000000", "latest"),
        ] {
            let ended = try_logs(&pool, from, to).await;
            let told = ended.as_ref().ok().filter(|answer| answer.is_error());
            let told = told.map(error).unwrap_or_default();
            assert!(told.contains("-32602"), "{from} {to} {ended:?}");
        }
        // Turned round: for the node to say.
        let turned = Reply::error(-32602, "invalid block range params");
        for node in [&a, &b] {
            node.node.fake.on("eth_getLogs", turned.clone());
        }
        for (from, to) in [(MOST, "0x0"), (MOST, "0x64"), ("0x64", "0x0")] {
            let answer = try_logs(&pool, from, to).await.unwrap();
            assert!(error(&answer).contains("-32602"), "{from} {to}");
        }
    }
}

// P-23
#[tokio::test(start_paused = true)]
async fn with_splitting_off_the_refusal_is_the_answer() {
    let a = limited(300, 100, too_wide());
    let pool = in_order(&[&a], unsplit()).await;
    let answer = logs(&pool, 1, 250).await;
    assert!(error(&answer).contains("Block range limit exceeded"));
    assert_eq!(a.ranges(), [(1, 250)]);
}

// P-23: all parts at one head
#[tokio::test(start_paused = true)]
async fn parts_go_to_who_is_at_the_end_of_the_whole() {
    let (a, b) = (Logged::with(150, sparse()), Logged::with(300, sparse()));
    let pool = declared(&[(&a, Some(100)), (&b, Some(100))], uncached()).await;
    assert_eq!(read_logs(&pool, 1, 250).await, some_of(1, 250));
    assert_eq!((a.ranges().len(), b.ranges().len()), (0, 3));
}

// P-23: budgets and breakers are those of any call; a few parts at a time
#[tokio::test(start_paused = true)]
async fn so_many_parts_are_under_way_at_once_and_no_more() {
    let a = Logged::with(2000, sparse());
    let inner = a.node.fake.clone();
    let pool = declared(&[(&a, Some(50))], uncached()).await;
    let reading = tokio::spawn({
        let pool = pool.clone();
        async move { read_logs(&pool, 1, 1000).await }
    });
    let mut most = 0;
    while !reading.is_finished() {
        most = most.max(inner.open());
        tokio::time::sleep(std::time::Duration::from_micros(250)).await;
    }
    assert_eq!(reading.await.unwrap(), some_of(1, 1000));
    assert_eq!(most, 4);
    assert_eq!(a.ranges().len(), 20);
}

// P-23: filters with thousands of addresses
#[tokio::test(start_paused = true)]
async fn a_filter_of_thousands_of_addresses_is_a_filter() {
    let a = Logged::with(300, sparse());
    let pool = declared(&[(&a, Some(100))], uncached()).await;
    let mut all: Vec<String> = (0..5000).map(|n| format!("\"0x{n:040x}\"")).collect();
    all.push(format!("\"0x{}\"", "aa".repeat(20)));
    let params = format!(
        r#"[{{"address":[{}],"fromBlock":"0x1","toBlock":"0xc8"}}]"#,
        all.join(",")
    );
    assert_eq!(read(&pool, "eth_getLogs", &params).await, some_of(1, 200));
    assert_eq!(a.ranges(), [(1, 100), (101, 200)]);
}
