//! Callers that leave a shared request, transports that panic, runtimes that stand still (P-10).

use super::node::{Node, X, balance, balance_with, in_order, pool, reading, text, uncached};
use crate::fake::{Reply, ms, s};
use bytes::Bytes;
use futures_util::{FutureExt, future::BoxFuture, poll};
use highwater::{
    CallOptions, Endpoint, Pool,
    core::ChainId,
    upstream::{RawReply, SendError, Upstream},
};
use highwater_lab::call::parse_calls;
use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::{runtime::Runtime, sync::Notify};

fn slow(node: &Node) {
    node.fake.answer("eth_getBalance", |params| {
        Reply::result(super::node::element(params, 1).unwrap().to_owned()).after(ms(5))
    });
}

type Running<'a> = std::pin::Pin<Box<dyn Future<Output = String> + 'a>>;

fn reader(pool: &Pool) -> Running<'_> {
    Box::pin(balance(pool, "latest"))
}

// P-10, hardening A13
#[tokio::test(start_paused = true)]
async fn the_first_caller_leaves_at_any_point_and_the_others_do_not_notice() {
    let mut finished = false;
    let mut polls = 0;
    while !finished {
        for joined in 0..=polls {
            let a = Node::new(100);
            slow(&a);
            // No head is fresh: they share the reading of one, and then the read.
            let pool = pool(&[&a], uncached()).await;
            tokio::time::sleep(s(3)).await;
            let mut first = Some(reader(&pool));
            let mut others = Vec::new();
            for step in 0..polls {
                if step == joined {
                    others = vec![reader(&pool), reader(&pool)];
                }
                if let Some(running) = &mut first
                    && poll!(running.as_mut()).is_ready()
                {
                    (first, finished) = (None, true);
                }
                for other in &mut others {
                    // A task of the pool's may have to run in between.
                    let _ = poll!(other.as_mut());
                }
                tokio::time::advance(ms(1)).await;
                if finished {
                    break;
                }
            }
            drop(first);
            if others.is_empty() {
                others = vec![reader(&pool), reader(&pool)];
            }
            if !finished {
                let others = futures_util::future::join_all(others);
                let others = tokio::time::timeout(s(60), others).await;
                assert!(others.is_ok(), "stuck after {polls}, joined at {joined}");
                let most = if joined < polls { 1 } else { 2 };
                assert!(a.fake.sent() <= most, "{polls} {joined}");
                assert_eq!(a.fake.open(), 0);
            }
        }
        polls += 1;
    }
    assert!(polls > 4, "{polls}");
}

// P-10
#[tokio::test(start_paused = true)]
async fn a_request_goes_on_without_the_caller_that_began_it() {
    let a = Node::new(100);
    slow(&a);
    let pool = pool(&[&a], uncached()).await;
    let (mut first, mut second) = (reader(&pool), reader(&pool));
    assert!(poll!(first.as_mut()).is_pending());
    assert_eq!(a.fake.sent(), 1);
    assert!(poll!(second.as_mut()).is_pending());
    drop(first);
    assert_eq!(second.await, "\"0x64\"");
    assert_eq!((a.fake.sent(), a.fake.open()), (1, 0));
}

// P-10
#[tokio::test(start_paused = true)]
async fn the_last_caller_to_leave_ends_the_request() {
    for callers in 1..=3 {
        let a = Node::new(100);
        slow(&a);
        let pool = pool(&[&a], uncached()).await;
        let mut running: Vec<_> = (0..callers).map(|_| reader(&pool)).collect();
        for one in &mut running {
            assert!(poll!(one.as_mut()).is_pending());
        }
        tokio::task::yield_now().await;
        assert_eq!((a.fake.sent(), a.fake.open()), (1, 1));
        while let Some(one) = running.pop() {
            assert_eq!(a.fake.open(), 1);
            drop(one);
            tokio::task::yield_now().await;
        }
        assert_eq!(a.fake.open(), 0, "{callers}");
        assert_eq!(pool.cache_stats().waiting, 0);
        let endpoint = &pool.snapshot().endpoints[0];
        assert_eq!((endpoint.in_flight, endpoint.counters.cancelled), (0, 1));
        // Nobody joins what was given up.
        assert_eq!(balance(&pool, "latest").await, "\"0x64\"");
        assert_eq!(a.fake.sent(), 2);
    }
}

/// A transport that works until it is told to panic.
struct Panics {
    node: Node,
    times: AtomicUsize,
    panicked: AtomicUsize,
}

impl Upstream for Panics {
    fn send(
        &self,
        message: Bytes,
        timeout: Duration,
    ) -> BoxFuture<'static, Result<RawReply, SendError>> {
        let (_, calls) = parse_calls(&message);
        let is_read = calls[0].method == "eth_getBalance";
        let left = |n: usize| n.checked_sub(1);
        if is_read && self.times.fetch_update(SeqCst, SeqCst, left).is_ok() {
            self.panicked.fetch_add(1, SeqCst);
            return Box::pin(async {
                tokio::time::sleep(ms(5)).await;
                panic!("a transport of the caller's own")
            });
        }
        self.node.fake.way().send(message, timeout)
    }
}

// P-10: nothing that breaks leaves a key stuck, and nobody waits for ever.
#[tokio::test(start_paused = true)]
async fn a_transport_that_panics_leaves_nothing_stuck() {
    for (callers, times) in [(1, 1), (2, 1), (5, 1), (5, 3), (5, usize::MAX)] {
        let node = Node::new(100);
        let way = Arc::new(Panics {
            node,
            times: AtomicUsize::new(times),
            panicked: AtomicUsize::new(0),
        });
        let upstream: Arc<dyn Upstream> = Arc::clone(&way) as Arc<dyn Upstream>;
        let pool = Pool::builder()
            .chain(ChainId(1))
            .settings(uncached())
            .endpoint(Endpoint::upstream("a", upstream))
            .build()
            .unwrap();
        pool.probe().await;
        let calls = (0..callers).map(|_| AssertUnwindSafe(balance(&pool, "0x64")).catch_unwind());
        let all = futures_util::future::join_all(calls);
        let ends = tokio::time::timeout(s(100), all).await.unwrap();
        let panicked = ends.iter().filter(|end| end.is_err()).count();
        if times == usize::MAX {
            assert_eq!(panicked, callers);
        } else if callers > 1 {
            // Two of them share again, and then everybody is alone.
            assert!(panicked <= times, "{panicked}");
        }
        let count = way.panicked.load(SeqCst);
        assert!(count <= callers + 2, "{count} of {callers}");
        way.times.store(0, SeqCst);
        assert_eq!(balance(&pool, "0x64").await, "\"0x64\"");
        assert_eq!(pool.snapshot().endpoints[0].in_flight, 0);
        assert_eq!(pool.cache_stats().waiting, 0);
    }
}

fn still_runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap()
}

// P-10: patience.
#[test]
fn a_shared_request_without_news_is_left_and_not_joined_again() {
    let node = Node::new(100);
    slow(&node);
    // Nobody drives the runtime of the first caller any more.
    let (stands, runs) = (still_runtime(), still_runtime());
    let pool = runs.block_on(pool(&[&node], uncached()));
    let way = CallOptions {
        timeout: Some(s(2)),
        ..CallOptions::default()
    };
    let mut first = Box::pin(balance_with(&pool, "0x64", way.clone()));
    stands.block_on(async {
        assert!(poll!(first.as_mut()).is_pending());
    });
    assert_eq!(node.fake.sent(), 1);
    runs.block_on(async {
        let began = tokio::time::Instant::now();
        let calls = (0..3).map(|_| balance_with(&pool, "0x64", way.clone()));
        let third = async {
            // The new request is joined, the old one is not.
            tokio::time::sleep(ms(3002)).await;
            balance_with(&pool, "0x64", way.clone()).await
        };
        let all = futures_util::future::join_all(calls);
        let (answers, third) = tokio::join!(all, third);
        for answer in answers.into_iter().chain([third]) {
            assert_eq!(text(&answer.unwrap()), "\"0x64\"");
        }
        // One timeout and a grace of a second.
        assert!(
            began.elapsed() >= ms(2999) && began.elapsed() < ms(3100),
            "{:?}",
            began.elapsed()
        );
    });
    assert_eq!(node.fake.sent(), 2);
    // The first caller's own request is there yet.
    let answer = stands.block_on(first).unwrap();
    assert_eq!(text(&answer), "\"0x64\"");
}

// P-10: a caller whose runtime ends.
#[test]
fn a_request_whose_runtime_ends_is_begun_anew() {
    let node = Node::new(100);
    slow(&node);
    let (ends, runs) = (still_runtime(), still_runtime());
    let pool = runs.block_on(pool(&[&node], uncached()));
    let mut first = Box::pin(balance_with(&pool, "0x64", CallOptions::default()));
    ends.block_on(async {
        assert!(poll!(first.as_mut()).is_pending());
    });
    let mut second = Box::pin(balance_with(&pool, "0x64", CallOptions::default()));
    runs.block_on(async {
        assert!(poll!(second.as_mut()).is_pending());
    });
    drop(ends);
    drop(first);
    assert_eq!(text(&runs.block_on(second).unwrap()), "\"0x64\"");
    assert_eq!((node.fake.sent(), node.fake.open()), (2, 0));
}

/// A transport that answers when it is told to.
struct Gate {
    node: Node,
    asked: Arc<Notify>,
    open: Arc<Notify>,
}

impl Upstream for Gate {
    fn send(
        &self,
        message: Bytes,
        timeout: Duration,
    ) -> BoxFuture<'static, Result<RawReply, SendError>> {
        let (_, calls) = parse_calls(&message);
        let waits = calls[0].method == "eth_getBalance";
        let (asked, open) = (Arc::clone(&self.asked), Arc::clone(&self.open));
        let answer = self.node.fake.way().send(message, timeout);
        Box::pin(async move {
            if waits {
                asked.notify_one();
                open.notified().await;
            }
            answer.await
        })
    }
}

// P-10: in real time, with threads.
#[test]
fn callers_on_other_threads_and_runtimes_join() {
    let (asked, open) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let node = Node::new(100);
    let gate: Arc<dyn Upstream> = Arc::new(Gate {
        node: node.clone(),
        asked: Arc::clone(&asked),
        open: Arc::clone(&open),
    });
    let pool = Pool::builder()
        .chain(ChainId(1))
        .settings(uncached())
        .endpoint(Endpoint::upstream("a", gate))
        .build()
        .unwrap();
    let many = || {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap()
    };
    let (one, two) = (many(), many());
    let call = |pool: &Pool| {
        let pool = pool.clone();
        async move { balance(&pool, "0x64").await }
    };
    let first = one.spawn(call(&pool));
    two.block_on(asked.notified());
    let others: Vec<_> = (0..64)
        .map(|n| if n % 2 == 0 { &one } else { &two }.spawn(call(&pool)))
        .collect();
    two.block_on(async {
        // The pool says how many wait, so that none of them comes too late.
        while pool.cache_stats().waiting < 65 {
            tokio::task::yield_now().await;
        }
        open.notify_one();
        assert_eq!(first.await.unwrap(), "\"0x64\"");
        for other in others {
            assert_eq!(other.await.unwrap(), "\"0x64\"");
        }
    });
    assert_eq!(node.fake.count("eth_getBalance"), 1);
    assert_eq!(pool.cache_stats().shared, 64);
}

// P-10, P-11: a read that is dropped anywhere leaves nothing, whatever runs beside it.
#[tokio::test(start_paused = true)]
async fn a_read_that_races_with_another_is_dropped_at_every_poll() {
    let mut finished = false;
    let mut polls = 0;
    while !finished {
        let (a, b) = (Node::new(100), Node::new(100));
        slow(&a);
        slow(&b);
        let pool = in_order(&[&a, &b], reading()).build().unwrap();
        let mut dropped = reader(&pool);
        let beside = format!("[{X},\"0x64\"]");
        let mut other = Box::pin(super::node::read(&pool, "eth_getBalance", &beside));
        let mut number = Box::pin(super::node::block_number(&pool));
        let (mut other_ended, mut number_ended) = (false, false);
        for _ in 0..polls {
            if poll!(dropped.as_mut()).is_ready() {
                finished = true;
                break;
            }
            other_ended = other_ended || poll!(other.as_mut()).is_ready();
            number_ended = number_ended || poll!(number.as_mut()).is_ready();
            tokio::time::advance(ms(1)).await;
        }
        drop(dropped);
        if !other_ended {
            assert_eq!(
                tokio::time::timeout(s(60), other).await.unwrap(),
                "\"0x64\""
            );
        }
        if !number_ended {
            assert_eq!(tokio::time::timeout(s(60), number).await.unwrap(), 100);
        }
        tokio::time::sleep(s(1)).await;
        assert_eq!(a.fake.open() + b.fake.open(), 0, "{polls}");
        assert_eq!(pool.cache_stats().waiting, 0, "{polls}");
        let busy = pool.snapshot().endpoints;
        assert!(
            busy.iter().all(|endpoint| endpoint.in_flight == 0),
            "{polls}"
        );
        assert_eq!(balance(&pool, "latest").await, "\"0x64\"", "{polls}");
        polls += 1;
    }
    assert!(polls > 4, "{polls}");
}
