//! Callers of one request share it (P-10).

use super::node::{
    Node, X, ask, balance, balance_with, in_order, ordered, pool, read, text, uncached,
};
use crate::fake::{Reply, ms, s};
use futures_util::{future::join_all, poll};
use highwater::{
    CallOptions, Error, Event, Origin, Viewer,
    core::{select::Strategy, settings::Settings},
};
use std::{
    pin::pin,
    sync::{Arc, Mutex, mpsc},
};
use tokio::time::Instant;

fn slow(node: &Node, millis: u64) {
    node.fake.answer("eth_getBalance", move |params| {
        Reply::result(super::node::element(params, 1).unwrap().to_owned()).after(ms(millis))
    });
}

// P-10
#[tokio::test(start_paused = true)]
async fn ten_thousand_callers_make_one_request() {
    let (a, b) = (Node::new(100), Node::new(100));
    slow(&a, 50);
    slow(&b, 50);
    let pool = pool(&[&a, &b], uncached()).await;
    let calls = (0..10_000).map(|_| balance_with(&pool, "latest", CallOptions::default()));
    let answers: Vec<_> = join_all(calls)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    assert_eq!(a.fake.sent() + b.fake.sent(), 1);
    let first = answers[0].bytes();
    for answer in &answers {
        assert_eq!(answer.bytes(), first);
        // Not only equal: the same.
        assert_eq!(answer.bytes().as_ptr(), first.as_ptr());
    }
    let own = |answer: &&highwater::Answer| answer.origin() == Origin::Endpoint;
    assert_eq!(answers.iter().filter(own).count(), 1);
    assert_eq!(pool.cache_stats().shared, 9_999);
    // The request ended, and the next one is another.
    balance(&pool, "latest").await;
    assert_eq!(a.fake.sent() + b.fake.sent(), 2);
}

// P-10, P-28
#[tokio::test(start_paused = true)]
async fn a_shared_request_is_told() {
    let a = Node::new(100);
    slow(&a, 50);
    let (told, heard) = mpsc::channel();
    let told = Mutex::new(told);
    let pool = in_order(&[&a], uncached())
        .on_event(move |event| drop(told.lock().unwrap().send(event.clone())))
        .build()
        .unwrap();
    pool.probe().await;
    join_all((0..3).map(|_| balance(&pool, "latest"))).await;
    pool.close();
    let shared = |event: &Event| {
        matches!(
            event,
            Event::Coalesce {
                method: "eth_getBalance"
            }
        )
    };
    assert_eq!(heard.iter().filter(shared).count(), 2);
}

// P-10
#[tokio::test(start_paused = true)]
async fn the_same_request_in_another_spelling_is_shared() {
    let a = Node::new(100);
    a.fake
        .answer("eth_call", |_| Reply::result("\"0x01\"").after(ms(50)));
    let pool = pool(&[&a], uncached()).await;
    let calls = [
        "[{\"to\":\"0xAA\",\"data\":\"0xbb\"}]",
        "[{\"data\":\"0xBB\",\"to\":\"0xaa\"},\"latest\"]",
        "[ { \"to\" : \"0xaa\", \"data\" : \"0xbb\" } , \"0x64\" ]",
    ];
    join_all(calls.map(|params| read(&pool, "eth_call", params))).await;
    assert_eq!(a.fake.sent(), 1);
    // A number is no string, and `input` is not `data`.
    let calls = [
        "[{\"to\":\"0xaa\",\"gas\":1}]",
        "[{\"to\":\"0xaa\",\"gas\":\"0x1\"}]",
        "[{\"to\":\"0xaa\",\"gas\":\"1\"}]",
        "[{\"to\":\"0xaa\",\"input\":\"0x1\"}]",
    ];
    join_all(calls.map(|params| read(&pool, "eth_call", params))).await;
    assert_eq!(a.fake.sent(), 5);
}

// P-10, scenario X13
#[tokio::test(start_paused = true)]
async fn reads_at_two_heads_are_two_requests() {
    let a = Node::new(100);
    slow(&a, 500);
    let pool = pool(&[&a], uncached()).await;
    let first = balance(&pool, "latest");
    let second = async {
        tokio::time::sleep(ms(100)).await;
        a.head(101);
        pool.probe().await;
        balance(&pool, "latest").await
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!((&*first, &*second), ("\"0x64\"", "\"0x65\""));
    assert_eq!(a.fake.sent(), 2);
}

// P-10, scenario X14
#[tokio::test(start_paused = true)]
async fn pending_is_nobody_elses() {
    let a = Node::new(100);
    a.fake.answer("eth_getTransactionCount", |_| {
        Reply::result("\"0x7\"").after(ms(50))
    });
    let pool = pool(&[&a], uncached()).await;
    let count = |block: &str| {
        let (pool, params) = (pool.clone(), format!("[{X},\"{block}\"]"));
        async move { read(&pool, "eth_getTransactionCount", &params).await }
    };
    tokio::join!(count("pending"), count("pending"));
    assert_eq!(a.fake.sent(), 2);
    tokio::join!(count("latest"), count("latest"));
    assert_eq!(a.fake.sent(), 3);
}

// P-10
#[tokio::test(start_paused = true)]
async fn what_is_never_shared_is_not() {
    let a = Node::new(100);
    for method in ["eth_newFilter", "eth_sendRawTransaction"] {
        a.fake.on(method, Reply::result("\"0x1\"").after(ms(50)));
    }
    let pool = pool(&[&a], uncached()).await;
    for (method, params) in [
        ("eth_newFilter", "[{}]"),
        ("eth_sendRawTransaction", "[\"0x01\"]"),
    ] {
        let before = a.fake.count(method);
        let calls = (0..3).map(|_| ask(&pool, method, params, CallOptions::default()));
        join_all(calls).await;
        assert!(a.fake.count(method) >= before + 3, "{method}");
    }
    // A call that its caller marked goes out by itself, too.
    let solitary = CallOptions {
        solitary: true,
        ..CallOptions::default()
    };
    let calls = (0..3).map(|_| balance_with(&pool, "0x64", solitary.clone()));
    join_all(calls).await;
    assert_eq!(a.fake.count("eth_getBalance"), 3);
}

// P-10
#[tokio::test(start_paused = true)]
async fn callers_with_other_directives_or_floors_never_share() {
    let (a, b) = (Node::new(101), Node::new(100));
    let answer = |_: &str| Reply::result("\"0x01\"").after(ms(50));
    for node in [&a, &b] {
        node.fake.answer("eth_getTransactionByHash", answer);
        node.fake.answer("eth_getBalance", answer);
    }
    let pool = pool(&[&a, &b], uncached()).await;
    let seen = Viewer::new();
    let options = || CallOptions {
        viewers: vec![Viewer::new()],
        ..CallOptions::default()
    };
    let ways = [
        options(),
        CallOptions {
            strategy: Some(Arc::new(Strategy::Random)),
            ..options()
        },
        CallOptions {
            strategy: Some(Arc::new(Strategy::Random)),
            ..options()
        },
        CallOptions {
            timeout: Some(s(5)),
            ..options()
        },
        CallOptions {
            viewers: vec![seen.clone()],
            min_block: Some(101),
            ..options()
        },
    ];
    // Each of them twice: those who ask alike share.
    let calls = ways.iter().chain(&ways);
    let calls = calls.map(|way| balance_with(&pool, "latest", way.clone()));
    for answer in join_all(calls).await {
        answer.unwrap();
    }
    assert_eq!(a.fake.sent() + b.fake.sent(), ways.len());
}

// P-5, P-10
#[tokio::test(start_paused = true)]
async fn a_head_that_is_fetched_is_shared_by_those_who_ask_alike() {
    let a = Node::new(100);
    let mut settings = uncached();
    settings.reads.pin.as_mut().unwrap().forward_block_number = true;
    let pool = pool(&[&a], settings).await;
    let before = a.fake.count("eth_blockNumber");
    let way = |timeout| CallOptions {
        timeout,
        ..CallOptions::default()
    };
    let ways = [way(None), way(None), way(Some(s(5))), way(Some(s(5)))];
    let calls = ways.map(|way| ask(&pool, "eth_blockNumber", "[]", way));
    for answer in join_all(calls).await {
        assert_eq!(text(&answer.unwrap()), "\"0x64\"");
    }
    assert_eq!(a.fake.count("eth_blockNumber"), before + 2);
}

// P-10
#[tokio::test(start_paused = true)]
async fn where_sharing_is_off_every_caller_makes_its_own_request() {
    let a = Node::new(100);
    slow(&a, 50);
    let mut settings = uncached();
    settings.reads.coalesce = false;
    let pool = pool(&[&a], settings).await;
    join_all((0..3).map(|_| balance(&pool, "latest"))).await;
    assert_eq!(a.fake.sent(), 3);
    assert_eq!(pool.cache_stats().shared, 0);
}

// P-10
#[tokio::test(start_paused = true)]
async fn every_caller_has_a_deadline_of_its_own() {
    let a = Node::new(100);
    slow(&a, 3000);
    let pool = pool(&[&a], uncached()).await;
    let began = Instant::now();
    let within = |time| CallOptions {
        deadline: Some(time),
        ..CallOptions::default()
    };
    // Whoever comes first, the hasty one is told at its own time, and the others get the answer.
    for hasty_first in [true, false] {
        let began = began.elapsed();
        let start = Instant::now();
        let hasty = async {
            if !hasty_first {
                tokio::time::sleep(ms(1)).await;
            }
            let asked = Instant::now();
            let answer = balance_with(&pool, "0x64", within(ms(200))).await;
            assert!(
                matches!(answer, Err(Error::DeadlineExceeded { .. })),
                "{answer:?}"
            );
            assert_eq!(asked.elapsed(), ms(200));
        };
        let patient = async {
            if hasty_first {
                tokio::time::sleep(ms(1)).await;
            }
            balance(&pool, "0x64").await
        };
        let ((), patient) = tokio::join!(hasty, patient);
        assert_eq!(patient, "\"0x64\"");
        assert!(start.elapsed() <= ms(3010), "{began:?}");
    }
    assert_eq!(a.fake.sent(), 2);
}

// P-10: the first caller's own time is not the others'.
#[tokio::test(start_paused = true)]
async fn a_caller_with_more_time_goes_on_when_the_shared_request_has_none_left() {
    let a = Node::new(100);
    a.fake.on("eth_getBalance", Reply::hang());
    let builder = in_order(&[&a], uncached()).timeout(s(100)).deadline(s(10));
    let pool = builder.build().unwrap();
    pool.probe().await;
    let way = |deadline| CallOptions {
        deadline: Some(deadline),
        ..CallOptions::default()
    };
    let first = balance_with(&pool, "0x64", way(s(10)));
    let second = async {
        tokio::time::sleep(ms(10)).await;
        balance_with(&pool, "0x64", way(s(40))).await
    };
    let healed = async {
        tokio::time::sleep(s(9)).await;
        slow(&a, 50);
    };
    let (first, second, ()) = tokio::join!(first, second, healed);
    assert!(
        matches!(first, Err(Error::DeadlineExceeded { .. })),
        "{first:?}"
    );
    assert_eq!(text(&second.unwrap()), "\"0x64\"");
}

// P-10: the wait for a head or a floor comes off the call's own time.
#[tokio::test(start_paused = true)]
async fn what_came_before_the_request_counts_towards_the_deadline() {
    let a = Node::new(100);
    let builder = in_order(&[&a], uncached()).timeout(s(100)).deadline(s(10));
    let pool = builder.build().unwrap();
    pool.probe().await;
    tokio::time::sleep(s(3)).await;
    a.fake
        .on("eth_blockNumber", Reply::result("\"0x64\"").after(s(4)));
    a.fake.on("eth_getBalance", Reply::hang());
    let began = Instant::now();
    let answer = balance_with(&pool, "latest", CallOptions::default()).await;
    assert!(
        matches!(answer, Err(Error::DeadlineExceeded { .. })),
        "{answer:?}"
    );
    assert_eq!(began.elapsed(), s(10));
}

// P-10: each attempt, failover and backoff is news.
#[tokio::test(start_paused = true)]
async fn a_shared_request_that_moves_on_is_waited_for() {
    let (a, b) = (Node::new(100), Node::new(100));
    // Each attempt ends within its timeout, both together take longer than one may.
    a.fake.on("eth_getBalance", Reply::hang());
    b.fake.answer("eth_getBalance", |_| {
        Reply::result("\"0x64\"").after(ms(900))
    });
    let settings = Settings {
        race: 0,
        ..uncached()
    };
    let pool = ordered(&[&a, &b], settings).await;
    let way = CallOptions {
        timeout: Some(s(1)),
        ..CallOptions::default()
    };
    let calls = (0..5).map(|_| balance_with(&pool, "0x64", way.clone()));
    for answer in join_all(calls).await {
        assert_eq!(text(&answer.unwrap()), "\"0x64\"");
    }
    assert_eq!((a.fake.sent(), b.fake.sent()), (1, 1));
}

// P-10: how a request ended is everybody's, errors included.
#[tokio::test(start_paused = true)]
async fn an_error_is_shared_and_gone() {
    let a = Node::new(100);
    a.fake.on(
        "eth_call",
        Reply::error_json("{\"code\":3,\"message\":\"execution reverted\",\"data\":\"0x01\"}")
            .after(ms(50)),
    );
    let pool = pool(&[&a], uncached()).await;
    let params = format!("[{{\"to\":{X}}},\"latest\"]");
    let calls = (0..5).map(|_| ask(&pool, "eth_call", &params, CallOptions::default()));
    for answer in join_all(calls).await {
        assert!(answer.unwrap().is_error());
    }
    assert_eq!(a.fake.sent(), 1);
    drop(ask(&pool, "eth_call", &params, CallOptions::default()).await);
    assert_eq!(a.fake.sent(), 2);
    // Polled and dropped: nothing stays.
    let mut running = pin!(ask(&pool, "eth_call", &params, CallOptions::default()));
    assert!(poll!(running.as_mut()).is_pending());
}
