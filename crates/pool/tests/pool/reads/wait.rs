//! Waiting for a block that nobody holds yet (P-5, P-8).

use super::node::{Node, ask, balance_with, block_number, pool, reading, text, uncached};
use crate::fake::{Reply, ms, s};
use highwater::{CallOptions, Error};
use tokio::time::Instant;

fn from(block: u64) -> CallOptions {
    CallOptions {
        min_block: Some(block),
        deadline: Some(s(20)),
        ..CallOptions::default()
    }
}

// P-8
#[tokio::test(start_paused = true)]
async fn a_call_goes_on_as_soon_as_a_head_is_read_that_holds_its_block() {
    let a = Node::new(100);
    let pool = pool(&[&a], uncached()).await;
    let began = Instant::now();
    let call = balance_with(&pool, "latest", from(101));
    let moves = async {
        tokio::time::sleep(ms(300)).await;
        a.head(101);
        pool.probe().await;
    };
    let (answer, ()) = tokio::join!(call, moves);
    assert_eq!(text(&answer.unwrap()), "\"0x65\"");
    assert!(began.elapsed() < ms(320), "{:?}", began.elapsed());
}

// P-5, P-8
#[tokio::test(start_paused = true)]
async fn a_call_waits_for_one_block_time_reads_a_head_once_more_and_gives_up() {
    for (block_time, waited) in [(Some(ms(700)), ms(700)), (None, s(2)), (Some(s(60)), s(2))] {
        let a = Node::new(100);
        let mut settings = uncached();
        settings.heads.as_mut().unwrap().block_time = block_time;
        let pool = pool(&[&a], settings).await;
        let before = a.fake.count("eth_blockNumber");
        let began = Instant::now();
        let answer = balance_with(&pool, "latest", from(101)).await;
        assert!(
            matches!(answer, Err(Error::Behind { block: 101 })),
            "{answer:?}"
        );
        let over = began.elapsed() - waited;
        assert!(over < ms(10), "{:?} {block_time:?}", began.elapsed());
        assert!(a.fake.count("eth_blockNumber") <= before + 2);
    }
}

// P-5, P-8: what a read of the head at the end of the wait finds is in time.
#[tokio::test(start_paused = true)]
async fn the_head_that_is_read_at_the_end_of_the_wait_counts() {
    let a = Node::new(100);
    let pool = pool(&[&a], uncached()).await;
    let moves = async {
        tokio::time::sleep(ms(300)).await;
        a.head(101);
    };
    let (answer, ()) = tokio::join!(balance_with(&pool, "latest", from(101)), moves);
    assert_eq!(text(&answer.unwrap()), "\"0x65\"");
}

// P-8
#[tokio::test(start_paused = true)]
async fn no_wait_is_longer_than_the_call() {
    for (method, params) in [
        ("eth_getBalance", "[\"0xaa\",\"latest\"]"),
        ("eth_getBalance", "[\"0xaa\",\"0x64\"]"),
        ("eth_blockNumber", "[]"),
        ("eth_getLogs", "[{}]"),
    ] {
        let a = Node::new(100);
        a.fake.on("eth_getLogs", Reply::result("[]"));
        let pool = pool(&[&a], reading()).await;
        for deadline in [ms(1), ms(50), ms(500)] {
            let began = Instant::now();
            let options = CallOptions {
                deadline: Some(deadline),
                ..from(900)
            };
            let answer = ask(&pool, method, params, options).await;
            assert!(answer.is_err(), "{method} {params} {answer:?}");
            assert!(
                began.elapsed() <= deadline + ms(1),
                "{method} {:?}",
                began.elapsed()
            );
        }
    }
}

// P-8
#[tokio::test(start_paused = true)]
async fn heads_that_move_all_the_time_do_not_keep_a_call_waiting() {
    let a = Node::new(100);
    let pool = pool(&[&a], uncached()).await;
    let began = Instant::now();
    let moves = async {
        for head in 101..600 {
            a.head(head);
            pool.probe().await;
            tokio::time::sleep(ms(10)).await;
        }
    };
    let call = async {
        let answer = balance_with(&pool, "latest", from(100_000)).await;
        assert!(
            matches!(answer, Err(Error::Behind { block: 100_000 })),
            "{answer:?}"
        );
        assert!(began.elapsed() < s(3), "{:?}", began.elapsed());
    };
    tokio::join!(call, moves);
    assert!(block_number(&pool).await >= 500);
}

// P-5: no token, no request, however many ask.
#[tokio::test(start_paused = true)]
async fn callers_that_wait_for_a_block_do_not_storm() {
    let a = Node::new(100);
    let pool = pool(&[&a], uncached()).await;
    let before = a.fake.seen().len();
    let calls = (0..500).map(|_| balance_with(&pool, "latest", from(101)));
    for answer in futures_util::future::join_all(calls).await {
        assert!(
            matches!(answer, Err(Error::Behind { block: 101 })),
            "{answer:?}"
        );
    }
    assert!(
        a.fake.seen().len() <= before + 3,
        "{}",
        a.fake.seen().len() - before
    );
}
