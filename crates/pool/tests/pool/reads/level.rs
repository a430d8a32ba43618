//! A second level behind the cache, for answers that never change (P-13).

use super::node::{Node, X, after, ask, builder, reading};
use crate::fake::{Reply, ms};
use bytes::Bytes;
use highwater::{
    Answer, CallOptions, Fetched, Origin, Pool, SecondLevel,
    core::{ChainId, settings::Settings},
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

/// A chain whose blocks are final at once.
const INSTANT: u64 = 43_114;

#[derive(Default)]
struct Shelf {
    values: Mutex<BTreeMap<Vec<u8>, Bytes>>,
    asked: Mutex<usize>,
    hangs: bool,
}

impl SecondLevel for Shelf {
    fn get(&self, key: &[u8]) -> Fetched {
        *self.asked.lock().unwrap() += 1;
        let value = self.values.lock().unwrap().get(key).cloned();
        let hangs = self.hangs;
        Box::pin(async move {
            if hangs {
                std::future::pending::<()>().await;
            }
            value
        })
    }

    fn put(&self, key: &[u8], value: Bytes) {
        self.values.lock().unwrap().insert(key.to_vec(), value);
    }
}

impl Shelf {
    fn len(&self) -> usize {
        self.values.lock().unwrap().len()
    }

    fn change(&self, change: impl Fn(&mut Vec<u8>)) {
        for value in self.values.lock().unwrap().values_mut() {
            let mut bytes = value.to_vec();
            change(&mut bytes);
            *value = bytes.into();
        }
    }
}

async fn before(shelf: &Arc<Shelf>, node: &Node, chain: u64, settings: Settings) -> Pool {
    let id = Reply::result(format!("\"{chain:#x}\""));
    node.fake.on("eth_chainId", id);
    let level: Arc<dyn SecondLevel> = Arc::clone(shelf) as _;
    let pool = builder(&[node], settings)
        .chain(ChainId(chain))
        .second_level(level)
        .build()
        .unwrap();
    pool.probe().await;
    pool
}

async fn block(pool: &Pool, number: u64) -> Answer {
    let params = format!("[\"{number:#x}\",false]");
    let options = CallOptions::default();
    ask(pool, "eth_getBlockByNumber", &params, options)
        .await
        .unwrap()
}

fn blocks_asked(node: &Node) -> usize {
    node.asked("eth_getBlockByNumber").len()
}

// P-13
#[tokio::test(start_paused = true)]
async fn what_one_pool_kept_for_good_another_finds() {
    let shelf = Arc::new(Shelf::default());
    let (a, b) = (Node::new(100), Node::new(100));
    let first = before(&shelf, &a, INSTANT, reading()).await;
    let kept = block(&first, 90).await;
    assert_eq!((kept.origin(), shelf.len()), (Origin::Endpoint, 1));
    let second = before(&shelf, &b, INSTANT, reading()).await;
    let found = block(&second, 90).await;
    assert_eq!((found.origin(), found.block()), (Origin::Cache, Some(90)));
    assert_eq!((found.bytes(), found.endpoint()), (kept.bytes(), "a"));
    assert_eq!(blocks_asked(&b), 0);
    let stats = second.cache_stats();
    assert_eq!((stats.second_hits, stats.hits, stats.entries), (1, 0, 1));
    // It is in memory now.
    let asked = *shelf.asked.lock().unwrap();
    assert_eq!(block(&second, 90).await.origin(), Origin::Cache);
    assert_eq!(*shelf.asked.lock().unwrap(), asked);
    assert_eq!(second.cache_stats().hits, 1);
}

// P-13, P-15
#[tokio::test(start_paused = true)]
async fn what_may_change_is_neither_given_nor_looked_for() {
    let shelf = Arc::new(Shelf::default());
    let a = Node::new(100);
    let pool = before(&shelf, &a, 1, reading()).await;
    let options = CallOptions::default();
    for (method, params) in [
        ("eth_getBalance", format!("[{X},\"latest\"]")),
        ("eth_getBlockByNumber", "[\"latest\",false]".to_owned()),
    ] {
        ask(&pool, method, &params, options.clone()).await.unwrap();
    }
    assert_eq!(*shelf.asked.lock().unwrap(), 0);
    // Not final yet on this chain.
    block(&pool, 99).await;
    assert_eq!(shelf.len(), 0);
    // Null is never kept.
    block(&pool, 101).await;
    assert_eq!(shelf.len(), 0);
    let bypass = CallOptions {
        bypass_cache: true,
        ..options
    };
    let asked = *shelf.asked.lock().unwrap();
    ask(&pool, "eth_getBlockByNumber", "[\"0x5\",false]", bypass)
        .await
        .unwrap();
    assert_eq!(*shelf.asked.lock().unwrap(), asked);
}

// P-13, hardening F1
#[tokio::test(start_paused = true)]
async fn a_value_that_is_not_the_answer_is_not_served() {
    type Change = fn(&mut Vec<u8>);
    let changes: [(&str, Change); 7] = [
        ("empty", Vec::clear),
        ("cut", |bytes| bytes.truncate(bytes.len() - 1)),
        ("cut at the stamp", |bytes| bytes.truncate(20)),
        ("another form", |bytes| bytes[0] = 2),
        ("no flag", |bytes| bytes[1] = 7),
        ("null", |bytes| {
            let at = bytes.iter().position(|byte| *byte == b'{').unwrap();
            bytes.truncate(at);
            bytes.extend_from_slice(b"null");
        }),
        ("another block", |bytes| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let at = text.find("\"number\":\"0x5a\"").unwrap();
            let at = bytes.len() - (text.len() - at);
            bytes[at..at + 15].copy_from_slice(b"\"number\":\"0x5b\"");
        }),
    ];
    for (what, change) in changes {
        let shelf = Arc::new(Shelf::default());
        let (a, b) = (Node::new(100), Node::new(100));
        block(&before(&shelf, &a, INSTANT, reading()).await, 90).await;
        shelf.change(change);
        let pool = before(&shelf, &b, INSTANT, reading()).await;
        let answer = block(&pool, 90).await;
        assert_eq!(answer.origin(), Origin::Endpoint, "{what}");
        assert_eq!(blocks_asked(&b), 1, "{what}");
        assert_eq!(pool.cache_stats().second_hits, 0, "{what}");
    }
}

// P-13
#[tokio::test(start_paused = true)]
async fn a_block_that_this_pools_heads_have_not_reached_is_not_taken_from_there() {
    let shelf = Arc::new(Shelf::default());
    let (a, b) = (Node::new(100), Node::new(80));
    block(&before(&shelf, &a, INSTANT, reading()).await, 90).await;
    let pool = before(&shelf, &b, INSTANT, reading()).await;
    assert_eq!(block(&pool, 90).await.bytes(), b"null");
    assert_eq!(pool.cache_stats().second_hits, 0);
}

// P-13, hardening F1
#[tokio::test(start_paused = true)]
async fn chains_that_share_a_store_share_no_answer() {
    let shelf = Arc::new(Shelf::default());
    let (a, b) = (Node::new(100), Node::new(100));
    block(&before(&shelf, &a, INSTANT, reading()).await, 90).await;
    let pool = before(&shelf, &b, 43_113, reading()).await;
    assert_eq!(block(&pool, 90).await.origin(), Origin::Endpoint);
}

// P-13
#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_costs_a_tenth_of_a_second() {
    let shelf = Arc::new(Shelf {
        hangs: true,
        ..Shelf::default()
    });
    let a = Node::new(100);
    let pool = before(&shelf, &a, INSTANT, reading()).await;
    let began = tokio::time::Instant::now();
    assert_eq!(block(&pool, 90).await.origin(), Origin::Endpoint);
    let took = began.elapsed();
    assert!(took >= ms(100) && took < ms(200), "{took:?}");
    after(1).await;
}
