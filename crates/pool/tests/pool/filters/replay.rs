//! Filters whose endpoint is gone: scenarios X01 to X03.

use super::node::{Chain, Node, is_not_found, logs, new, of_blocks, poll, pool, text};
use crate::fake::Reply;
use crate::fake::ms;
use crate::fake::s;
use crate::fake::still;
use std::sync::Arc;

// scenario X01
#[tokio::test(start_paused = true)]
async fn a_filter_goes_home() {
    let (a, b) = (Node::new(100), Node::new(100));
    let pool = pool(&[&a, &b], still());
    let id = new(&pool, "eth_newFilter").await;
    for step in 1..=5 {
        for node in [&a, &b] {
            node.head(100 + step);
        }
        let answer = poll(&pool, &id).await;
        assert_eq!(logs(&answer), of_blocks(100 + step, 100 + step));
        assert_eq!((answer.endpoint(), answer.block()), ("a", Some(100 + step)));
        tokio::time::sleep(s(4)).await;
    }
    assert_eq!(a.fake.count("eth_getFilterChanges"), 5);
    assert_eq!(b.fake.sent(), 0);
    // One block of the maker's for the filter, and one in ten seconds of polls.
    assert_eq!(a.fake.count("eth_getBlockByNumber"), 2);
}

// scenario X02: logs
#[tokio::test(start_paused = true)]
async fn a_log_filter_whose_maker_died_loses_and_repeats_nothing() {
    let (a, b) = (Node::new(100), Node::new(100));
    let pool = pool(&[&a, &b], still());
    let id = new(&pool, "eth_newFilter").await;
    a.head(103);
    b.head(103);
    assert_eq!(logs(&poll(&pool, &id).await), of_blocks(101, 103));
    b.head(107);
    a.kill();
    let answer = poll(&pool, &id).await;
    assert_eq!(logs(&answer), of_blocks(104, 107));
    assert_eq!((answer.endpoint(), answer.block()), ("b", Some(107)));
    assert_eq!(logs(&poll(&pool, &id).await), []);
    b.head(108);
    assert_eq!(logs(&poll(&pool, &id).await), of_blocks(108, 108));
    b.head(130);
    assert_eq!(logs(&poll(&pool, &id).await), of_blocks(109, 130));
    assert_eq!(b.fake.count("eth_getFilterChanges"), 0);
}

// scenario X02: blocks
#[tokio::test(start_paused = true)]
async fn a_block_filter_whose_maker_died_loses_and_repeats_nothing() {
    let (a, b) = (Node::new(100), Node::new(100));
    a.poll_with(Chain::hashes);
    let pool = pool(&[&a, &b], still());
    let id = new(&pool, "eth_newBlockFilter").await;
    a.head(103);
    let hashes = |from, to| b.chain.lock().unwrap().hashes(from, to);
    assert_eq!(text(&poll(&pool, &id).await), hashes(101, 103));
    // The other one is behind: nothing is new there.
    b.head(102);
    a.kill();
    assert_eq!(text(&poll(&pool, &id).await), "[]");
    b.head(106);
    assert_eq!(text(&poll(&pool, &id).await), hashes(104, 106));
    b.head(107);
    assert_eq!(text(&poll(&pool, &id).await), hashes(107, 107));
    // Too many to be asked for one by one.
    b.head(107 + 257);
    is_not_found(&poll(&pool, &id).await);
    is_not_found(&poll(&pool, &id).await);
}

// scenario X02: pending transactions
#[tokio::test(start_paused = true)]
async fn a_filter_of_pending_transactions_ends_with_its_maker() {
    let (a, b) = (Node::new(100), Node::new(100));
    a.poll_with(|_, _, _| "[\"0xaa\"]".into());
    let pool = pool(&[&a, &b], still());
    let id = new(&pool, "eth_newPendingTransactionFilter").await;
    assert_eq!(text(&poll(&pool, &id).await), "[\"0xaa\"]");
    a.kill();
    is_not_found(&poll(&pool, &id).await);
    assert_eq!(b.fake.sent(), 0);
}

// scenario X03
#[tokio::test(start_paused = true)]
async fn the_same_id_upstream_is_two_ids_to_callers() {
    let (a, b) = (Node::new(100), Node::new(100));
    let pool = pool(&[&a, &b], still());
    let one = new(&pool, "eth_newFilter").await;
    a.set(|chain| chain.down = true);
    let two = new(&pool, "eth_newFilter").await;
    a.set(|chain| chain.down = false);
    for node in [&a, &b] {
        assert_eq!(
            node.chain
                .lock()
                .unwrap()
                .filters
                .keys()
                .collect::<Vec<_>>(),
            [&1]
        );
    }
    assert_ne!(one, two);
    for id in [&one, &two] {
        // 128 bits, no leading zero.
        assert!(id.starts_with("\"0x") && !id.starts_with("\"0x0"), "{id}");
        assert!(id.len() > 28 && id.len() <= 36, "{id}");
    }
    a.head(101);
    b.head(102);
    assert_eq!(poll(&pool, &one).await.endpoint(), "a");
    let answer = poll(&pool, &two).await;
    assert_eq!(
        (answer.endpoint(), logs(&answer)),
        ("b", of_blocks(101, 102))
    );
}

// L-4: the maker told it to nobody
#[tokio::test(start_paused = true)]
async fn a_poll_whose_answer_is_lost_is_told_again() {
    let a = Node::new(100);
    let pool = pool(&[&a], still());
    let id = new(&pool, "eth_newFilter").await;
    a.head(102);
    assert_eq!(logs(&poll(&pool, &id).await), of_blocks(101, 102));
    a.head(104);
    // Nobody waits for the answer.
    a.set(|chain| chain.takes = s(1));
    let dropped = tokio::time::timeout(ms(100), poll(&pool, &id)).await;
    assert!(dropped.is_err());
    a.set(|chain| chain.takes = ms(5));
    assert_eq!(logs(&poll(&pool, &id).await), of_blocks(103, 104));
    // It hangs.
    let id = new(&pool, "eth_newFilter").await;
    a.head(106);
    let (chain, count) = (Arc::clone(&a.chain), a.fake.count("eth_getFilterChanges"));
    let deaf = async {
        chain.lock().unwrap().deaf = true;
        tokio::time::sleep(s(1)).await;
        chain.lock().unwrap().deaf = false;
    };
    let (answer, ()) = tokio::join!(poll(&pool, &id), deaf);
    assert_eq!(
        a.fake.count("eth_getFilterChanges"),
        count + 1,
        "asked once"
    );
    assert_eq!(logs(&answer), of_blocks(105, 106));
}

// L-4: a maker that restarted knows no filters
#[tokio::test(start_paused = true)]
async fn a_filter_that_its_maker_forgot_goes_on() {
    let a = Node::new(100);
    let pool = pool(&[&a], still());
    let id = new(&pool, "eth_newFilter").await;
    a.head(102);
    a.set(|chain| chain.filters.clear());
    assert_eq!(logs(&poll(&pool, &id).await), of_blocks(101, 102));
    a.head(103);
    assert_eq!(logs(&poll(&pool, &id).await), of_blocks(103, 103));
}

// L-4
#[tokio::test(start_paused = true)]
async fn what_cannot_be_proven_complete_ends_the_filter() {
    // Blocks that were told of are on another branch there.
    let (a, b) = (Node::new(100), Node::new(110));
    let two = pool(&[&a, &b], still());
    let id = new(&two, "eth_newFilter").await;
    a.head(103);
    assert_eq!(logs(&poll(&two, &id).await), of_blocks(101, 103));
    b.set(|chain| chain.turned = 103);
    a.kill();
    is_not_found(&poll(&two, &id).await);
    // So is the block up to which it was replayed.
    let c = Node::new(100);
    let one = pool(&[&c], still());
    let id = new(&one, "eth_newFilter").await;
    c.set(|chain| chain.filters.clear());
    c.head(102);
    assert_eq!(logs(&poll(&one, &id).await), of_blocks(101, 102));
    c.set(|chain| (chain.turned, chain.head) = (102, 105));
    is_not_found(&poll(&one, &id).await);
    // An endpoint that tells no block makes filters that live and die with it.
    let d = Node::new(100);
    d.fake.on(
        "eth_getBlockByNumber",
        Reply::error(-32601, "no such method"),
    );
    let blind = pool(&[&d], still());
    let id = new(&blind, "eth_newFilter").await;
    d.head(101);
    assert_eq!(logs(&poll(&blind, &id).await), of_blocks(101, 101));
    d.set(|chain| chain.filters.clear());
    is_not_found(&poll(&blind, &id).await);
}
