//! Who answers `eth_blockNumber` (P-5).

use super::node::{
    Node, after, ask, balance, block_number, ordered, pool, reading, text, uncached,
};
use highwater::{
    CallOptions, Origin,
    core::{
        pin::PinSettings,
        settings::{ReadSettings, Settings},
    },
};

fn pinned(pin: PinSettings) -> Settings {
    let reads = ReadSettings {
        pin: Some(pin),
        ..reading().reads
    };
    Settings { reads, ..reading() }
}

// P-5
#[tokio::test(start_paused = true)]
async fn a_block_number_comes_from_the_heads_and_costs_no_request() {
    let (a, b) = (Node::new(102), Node::new(101));
    let pool = pool(&[&a, &b], reading()).await;
    let before = a.fake.seen().len() + b.fake.seen().len();
    let answer = ask(&pool, "eth_blockNumber", "[]", CallOptions::default())
        .await
        .unwrap();
    assert_eq!(
        (&*text(&answer), answer.origin()),
        ("\"0x65\"", Origin::Heads)
    );
    assert_eq!((answer.block(), answer.attempts()), (Some(101), 0));
    assert_eq!(a.fake.seen().len() + b.fake.seen().len(), before);
    assert_eq!(pool.cache_stats().local, 1);
    assert_eq!(balance(&pool, "latest").await, "\"0x65\"");
}

// P-5
#[tokio::test(start_paused = true)]
async fn without_a_pin_the_heads_answer_while_they_are_young_enough_for_the_cache() {
    let a = Node::new(100);
    let mut settings = reading();
    settings.reads.pin = None;
    let pool = pool(&[&a], settings).await;
    let before = a.fake.count("eth_blockNumber");
    after(1900).await;
    assert_eq!(block_number(&pool).await, 100);
    assert_eq!(a.fake.count("eth_blockNumber"), before);
    a.head(101);
    after(200).await;
    assert_eq!(block_number(&pool).await, 101);
    assert_eq!(a.fake.count("eth_blockNumber"), before + 1);
}

// P-5
#[tokio::test(start_paused = true)]
async fn an_answer_from_an_endpoint_is_lowered_to_what_a_read_would_use() {
    let (a, b) = (Node::new(102), Node::new(101));
    let forward = pinned(PinSettings {
        forward_block_number: true,
        ..PinSettings::default()
    });
    let pool = ordered(&[&a, &b], forward).await;
    let before = a.fake.count("eth_blockNumber");
    for n in 1..=3 {
        let answer = ask(&pool, "eth_blockNumber", "[]", CallOptions::default())
            .await
            .unwrap();
        assert_eq!((&*text(&answer), answer.endpoint()), ("\"0x65\"", "a"));
        assert_eq!(a.fake.count("eth_blockNumber"), before + n);
    }
    assert_eq!(pool.cache_stats().local, 0);
}

// P-5
#[tokio::test(start_paused = true)]
async fn with_stale_heads_the_next_block_number_goes_to_an_endpoint() {
    let a = Node::new(100);
    let pool = pool(&[&a], uncached()).await;
    let before = a.fake.count("eth_blockNumber");
    after(1500).await;
    a.head(101);
    assert_eq!(block_number(&pool).await, 101);
    assert_eq!(block_number(&pool).await, 101);
    assert_eq!(a.fake.count("eth_blockNumber"), before + 1);
}
