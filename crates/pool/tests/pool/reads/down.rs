//! The way down of what callers have seen (P-8).

use super::node::{
    Node, ask, balance, balance_with, block_number, listened, lose, ordered, read, reading, reorgs,
    text, watching,
};
use crate::fake::{ms, s};
use highwater::{CallOptions, Error, Viewer};

fn within(millis: u64) -> CallOptions {
    CallOptions {
        deadline: Some(ms(millis)),
        ..CallOptions::default()
    }
}

// P-8
#[tokio::test(start_paused = true)]
async fn a_floor_that_nobody_serves_for_long_enough_drops_to_the_reference_head() {
    let (a, b) = (Node::new(105), Node::new(103));
    let (pool, heard) = listened(&[&a, &b], reading()).await;
    read(&pool, "eth_getBlockByNumber", "[\"0x69\",false]").await;
    lose(&pool, &a).await;
    let began = tokio::time::Instant::now();
    let mut refused = 0;
    let answer = loop {
        match balance_with(&pool, "latest", within(2000)).await {
            Ok(answer) => break answer,
            Err(Error::Behind { block }) => {
                assert_eq!(block, 105);
                refused += 1;
            }
            Err(Error::AllEndpointsFailed { .. } | Error::DeadlineExceeded { .. }) => refused += 1,
            Err(other) => panic!("{other:?}"),
        }
        lose(&pool, &a).await;
        tokio::time::sleep(s(1)).await;
        assert!(began.elapsed() < s(60));
    };
    assert!(
        refused > 1 && began.elapsed() >= s(29),
        "{refused} in {:?}",
        began.elapsed()
    );
    assert_eq!(text(&answer), "\"0x67\"");
    assert_eq!(reorgs(&pool, &heard), [(103, 2, true)]);
}

// P-8: an outage that ended does not shorten the next one.
#[tokio::test(start_paused = true)]
async fn an_outage_that_is_over_does_not_count_towards_the_next() {
    let (a, b) = (Node::new(105), Node::new(103));
    let (pool, heard) = listened(&[&a, &b], reading()).await;
    read(&pool, "eth_getBlockByNumber", "[\"0x69\",false]").await;
    lose(&pool, &a).await;
    assert!(balance_with(&pool, "latest", within(2000)).await.is_err());
    a.down(false);
    tokio::time::sleep(s(40)).await;
    pool.probe().await;
    pool.probe().await;
    // A read at a number is served by the holder of the floor, too.
    read(&pool, "eth_getBalance", "[\"0xaa\",\"0x64\"]").await;
    lose(&pool, &a).await;
    assert!(balance_with(&pool, "latest", within(2000)).await.is_err());
    assert!(reorgs(&pool, &heard).is_empty());
}

// P-8: a block that a caller merely names starts no clock.
#[tokio::test(start_paused = true)]
async fn a_block_that_a_caller_names_does_not_begin_the_way_down() {
    let (a, b) = (Node::new(105), Node::new(103));
    let (pool, heard) = listened(&[&a, &b], reading()).await;
    let viewer = Viewer::new();
    let as_viewer = |min_block| CallOptions {
        viewers: vec![viewer.clone()],
        min_block,
        ..within(2000)
    };
    let params = "[\"0x67\",false]";
    let seen = ask(&pool, "eth_getBlockByNumber", params, as_viewer(None)).await;
    assert_eq!(seen.unwrap().block(), Some(103));
    assert!(
        balance_with(&pool, "latest", as_viewer(Some(900)))
            .await
            .is_err()
    );
    tokio::time::sleep(s(40)).await;
    pool.probe().await;
    let params = "[\"0x69\",false]";
    let seen = ask(&pool, "eth_getBlockByNumber", params, as_viewer(None)).await;
    assert_eq!(seen.unwrap().block(), Some(105));
    lose(&pool, &a).await;
    assert!(
        balance_with(&pool, "latest", as_viewer(None))
            .await
            .is_err()
    );
    assert!(reorgs(&pool, &heard).is_empty());
}

// P-7, P-8
#[tokio::test(start_paused = true)]
async fn finality_that_nobody_reaches_for_long_enough_comes_down() {
    let (a, b) = (Node::new(100), Node::new(100));
    a.finalized(80);
    b.finalized(79);
    let pool = ordered(&[&a, &b], reading()).await;
    let finalized = "[\"finalized\",false]";
    read(&pool, "eth_getBlockByNumber", finalized).await;
    a.down(true);
    let began = tokio::time::Instant::now();
    loop {
        match ask(&pool, "eth_getBlockByNumber", finalized, within(3000)).await {
            Ok(answer) => {
                assert_eq!(answer.block(), Some(79));
                break;
            }
            Err(Error::Behind { block }) => assert_eq!(block, 80),
            Err(other) => panic!("{other:?}"),
        }
        tokio::time::sleep(s(1)).await;
        assert!(began.elapsed() < s(60));
    }
    assert!(began.elapsed() >= s(29), "{:?}", began.elapsed());
}

// P-8, P-14
#[tokio::test(start_paused = true)]
async fn a_majority_on_another_chain_of_hashes_lowers_the_floor_at_once() {
    let nodes = [Node::new(100), Node::new(100), Node::new(100)];
    let (pool, heard) = listened(&[&nodes[0], &nodes[1], &nodes[2]], watching()).await;
    // The watch begins once reads come.
    block_number(&pool).await;
    balance(&pool, "latest").await;
    for head in 101..=105 {
        tokio::time::sleep(s(1)).await;
        for node in &nodes {
            node.head(head);
        }
        pool.probe().await;
    }
    assert_eq!(block_number(&pool).await, 105);
    for node in &nodes {
        node.branch(101, 1);
        node.head(103);
    }
    tokio::time::sleep(s(1)).await;
    pool.probe().await;
    assert_eq!(block_number(&pool).await, 103);
    assert_eq!(balance(&pool, "latest").await, "\"0x67\"");
    assert_eq!(reorgs(&pool, &heard), [(101, 4, true)]);
}

// P-8, R-16
#[tokio::test(start_paused = true)]
async fn one_voice_on_another_chain_lowers_nothing() {
    let nodes = [Node::new(100), Node::new(100), Node::new(100)];
    let (pool, heard) = listened(&[&nodes[0], &nodes[1], &nodes[2]], watching()).await;
    block_number(&pool).await;
    balance(&pool, "latest").await;
    for head in 101..=105 {
        tokio::time::sleep(s(1)).await;
        for node in &nodes {
            node.head(head);
        }
        pool.probe().await;
    }
    assert_eq!(block_number(&pool).await, 105);
    nodes[0].branch(101, 1);
    nodes[0].head(103);
    tokio::time::sleep(s(1)).await;
    pool.probe().await;
    assert_eq!(block_number(&pool).await, 105);
    assert!(reorgs(&pool, &heard).is_empty());
}
