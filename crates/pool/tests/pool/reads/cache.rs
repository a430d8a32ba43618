//! Reads at `latest` from memory (P-11, P-12, P-16).

use super::node::{
    Node, X, after, ask, balance, balance_with, block_number, builder, listened, misses, ordered,
    pool, read, reading, text,
};
use crate::fake::{Reply, ms};
use highwater::{
    CacheEnd, CallOptions, Event, Origin, Pool, Viewer,
    core::{ChainId, cache::CacheSettings, settings::Settings},
};

fn with(change: impl FnOnce(&mut CacheSettings)) -> Settings {
    let mut settings = reading();
    change(settings.reads.cache.as_mut().unwrap());
    settings
}

async fn latest(pool: &Pool) -> highwater::Answer {
    let options = CallOptions {
        viewers: vec![Viewer::new()],
        ..CallOptions::default()
    };
    balance_with(pool, "latest", options).await.unwrap()
}

// P-11, P-16, P-28
#[tokio::test(start_paused = true)]
async fn a_hit_is_the_bytes_of_the_answer_and_costs_no_request() {
    let a = Node::new(100);
    let (pool, heard) = listened(&[&a], reading()).await;
    let first = latest(&pool).await;
    let (hit, again) = (latest(&pool).await, latest(&pool).await);
    assert_eq!((hit.origin(), hit.attempts()), (Origin::Cache, 0));
    assert_eq!((hit.endpoint(), hit.block()), ("a", Some(100)));
    assert_eq!(hit.bytes(), first.bytes());
    // Two hits are not only equal: they are the same bytes.
    assert_eq!(hit.bytes().as_ptr(), again.bytes().as_ptr());
    assert_eq!(a.fake.sent(), 1);
    let stats = pool.cache_stats();
    assert_eq!(
        (stats.hits, stats.misses, stats.kept, stats.entries),
        (2, 1, 1, 1)
    );
    assert_eq!(misses(&stats, "absent"), 1);
    assert!(stats.bytes > 0);
    pool.close();
    let ends: Vec<_> = heard
        .iter()
        .filter_map(|event| match event {
            Event::Cache {
                method: "eth_getBalance",
                end,
                stale_blocks,
            } => Some((end, stale_blocks)),
            _ => None,
        })
        .collect();
    let hit = (CacheEnd::Hit, Some(0));
    assert_eq!(ends, [(CacheEnd::Miss, None), hit, hit]);
}

// P-11, P-28
#[tokio::test(start_paused = true)]
async fn an_answer_may_be_one_block_behind_and_says_so() {
    let a = Node::new(100);
    let (pool, heard) = listened(&[&a], reading()).await;
    latest(&pool).await;
    a.head(101);
    pool.probe().await;
    let hit = latest(&pool).await;
    assert_eq!((hit.origin(), hit.block()), (Origin::Cache, Some(100)));
    a.head(102);
    pool.probe().await;
    let fresh = latest(&pool).await;
    assert_eq!(
        (fresh.origin(), fresh.block()),
        (Origin::Endpoint, Some(102))
    );
    assert_eq!(misses(&pool.cache_stats(), "stale"), 1);
    pool.close();
    let stale = heard.iter().find_map(|event| match event {
        Event::Cache {
            end: CacheEnd::Hit,
            stale_blocks,
            ..
        } => Some(stale_blocks),
        _ => None,
    });
    assert_eq!(stale, Some(Some(1)));
}

// P-11
#[tokio::test(start_paused = true)]
async fn without_stale_blocks_an_answer_is_of_the_newest_head() {
    let a = Node::new(100);
    let pool = pool(&[&a], with(|cache| cache.max_stale_blocks = 0)).await;
    latest(&pool).await;
    assert_eq!(latest(&pool).await.origin(), Origin::Cache);
    a.head(101);
    pool.probe().await;
    assert_eq!(latest(&pool).await.block(), Some(101));
}

// P-11
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_too_old_is_asked_for_again() {
    let a = Node::new(100);
    let pool = pool(&[&a], reading()).await;
    latest(&pool).await;
    after(1900).await;
    pool.probe().await;
    assert_eq!(latest(&pool).await.origin(), Origin::Cache);
    after(200).await;
    assert_eq!(latest(&pool).await.origin(), Origin::Endpoint);
    assert_eq!(misses(&pool.cache_stats(), "age"), 1);
    assert_eq!(a.fake.sent(), 2);
}

// P-11
#[tokio::test(start_paused = true)]
async fn an_answer_below_the_callers_floor_is_a_miss() {
    let a = Node::new(100);
    let pool = pool(&[&a], reading()).await;
    balance(&pool, "latest").await;
    a.head(101);
    pool.probe().await;
    assert_eq!(block_number(&pool).await, 101);
    assert_eq!(balance(&pool, "latest").await, "\"0x65\"");
    assert_eq!(misses(&pool.cache_stats(), "floor"), 1);
    let from = CallOptions {
        viewers: vec![Viewer::new()],
        min_block: Some(102),
        ..CallOptions::default()
    };
    a.head(102);
    pool.probe().await;
    assert_eq!(
        text(&balance_with(&pool, "latest", from).await.unwrap()),
        "\"0x66\""
    );
    assert_eq!(misses(&pool.cache_stats(), "floor"), 2);
}

// P-9, P-11: a hit shows its block, too.
#[tokio::test(start_paused = true)]
async fn a_hit_binds_what_its_caller_reads_next() {
    let (a, b) = (Node::new(105), Node::new(104));
    let pool = ordered(&[&a, &b], reading()).await;
    let from = |viewer: &Viewer, min_block| CallOptions {
        viewers: vec![viewer.clone()],
        min_block,
        ..CallOptions::default()
    };
    let (one, two) = (Viewer::new(), Viewer::new());
    let first = balance_with(&pool, "latest", from(&one, Some(105)))
        .await
        .unwrap();
    assert_eq!(first.block(), Some(105));
    // A lone leader's block is above the newest head that anybody confirmed, so it is not served.
    b.head(105);
    pool.probe().await;
    let hit = balance_with(&pool, "latest", from(&two, None))
        .await
        .unwrap();
    assert_eq!(hit.block(), Some(105));
    b.head(104);
    pool.probe().await;
    let number = ask(&pool, "eth_blockNumber", "[]", from(&two, None))
        .await
        .unwrap();
    assert_eq!(text(&number), "\"0x69\"");
}

// P-12
#[tokio::test(start_paused = true)]
async fn every_spelling_of_latest_has_one_entry() {
    let a = Node::new(100);
    let pool = pool(&[&a], reading()).await;
    for params in [
        format!("[{X}]"),
        format!("[{X},\"latest\"]"),
        format!("[{X},\"0x64\"]"),
        format!("[ {} , \"latest\" ]", X.to_uppercase().replace("0X", "0x")),
    ] {
        assert_eq!(
            read(&pool, "eth_getBalance", &params).await,
            "\"0x64\"",
            "{params}"
        );
    }
    assert_eq!((a.fake.sent(), pool.cache_stats().entries), (1, 1));
    // Another number is another answer.
    assert_eq!(balance(&pool, "0x63").await, "\"0x63\"");
    assert_eq!(misses(&pool.cache_stats(), "other_block"), 1);
    // And a block that is asked for in a different form is not.
    for (method, params) in [
        ("eth_getCode", format!("[{X},\"latest\"]")),
        ("eth_getStorageAt", format!("[{X},\"0x0\",\"latest\"]")),
        ("eth_call", format!("[{{\"to\":{X}}},\"latest\"]")),
        ("eth_getBlockByNumber", "[\"latest\",false]".into()),
    ] {
        let before = a.fake.sent();
        let first = read(&pool, method, &params).await;
        assert_eq!(read(&pool, method, &params).await, first);
        assert_eq!(a.fake.sent(), before + 1, "{method}");
    }
}

// P-12
#[tokio::test(start_paused = true)]
async fn a_block_that_was_fetched_at_latest_is_stamped_with_its_own_number() {
    let a = Node::new(100);
    let mut settings = reading();
    settings.reads.pin = None;
    let pool = pool(&[&a], settings).await;
    a.head(102);
    read(&pool, "eth_getBlockByNumber", "[\"latest\",false]").await;
    a.head(103);
    pool.probe().await;
    let hit = ask(
        &pool,
        "eth_getBlockByNumber",
        "[\"latest\",false]",
        CallOptions::default(),
    )
    .await
    .unwrap();
    assert_eq!((hit.origin(), hit.block()), (Origin::Cache, Some(102)));
}

// P-12
#[tokio::test(start_paused = true)]
async fn without_a_pin_an_answer_is_stamped_with_the_lowest_head() {
    let (a, b) = (Node::new(102), Node::new(101));
    let mut settings = reading();
    settings.reads.pin = None;
    let pool = pool(&[&a, &b], settings).await;
    assert_eq!(balance(&pool, "latest").await, "\"latest\"");
    let hit = balance_with(&pool, "latest", CallOptions::default())
        .await
        .unwrap();
    assert_eq!((hit.origin(), hit.block()), (Origin::Cache, Some(101)));
    // Where one of them is unknown, nothing says at which block it was read.
    let (a, b) = (Node::new(102), Node::new(101));
    b.fake.on("eth_blockNumber", Reply::result("\"?\""));
    let mut settings = reading();
    settings.reads.pin = None;
    let pool = super::node::pool(&[&a, &b], settings).await;
    balance(&pool, "latest").await;
    let stats = pool.cache_stats();
    assert_eq!(super::node::refused(&stats, "no_stamp"), 1);
}

// P-11
#[tokio::test(start_paused = true)]
async fn bypass_serves_nothing_from_memory_and_keeps_what_it_gets() {
    let a = Node::new(100);
    let pool = pool(&[&a], reading()).await;
    balance(&pool, "latest").await;
    let bypass = CallOptions {
        bypass_cache: true,
        ..CallOptions::default()
    };
    a.fake.on("eth_getBalance", Reply::result("\"0x7\""));
    let answer = balance_with(&pool, "latest", bypass).await.unwrap();
    assert_eq!(
        (&*text(&answer), answer.origin()),
        ("\"0x7\"", Origin::Endpoint)
    );
    assert_eq!(balance(&pool, "latest").await, "\"0x7\"");
    assert_eq!(a.fake.sent(), 2);
}

// P-11
#[tokio::test(start_paused = true)]
async fn a_cache_that_is_off_holds_nothing() {
    let a = Node::new(100);
    let pool = pool(&[&a], super::node::uncached()).await;
    balance(&pool, "latest").await;
    balance(&pool, "latest").await;
    assert_eq!(a.fake.sent(), 2);
    let stats = pool.cache_stats();
    assert_eq!(
        (stats.hits, stats.misses, stats.kept, stats.entries),
        (0, 0, 0, 0)
    );
}

// P-11, R-16
#[tokio::test(start_paused = true)]
async fn an_implausible_head_neither_ages_nor_serves_an_answer() {
    let (a, b, liar) = (Node::new(100), Node::new(100), Node::new(100));
    let pool = pool(&[&a, &b, &liar], reading()).await;
    balance(&pool, "latest").await;
    liar.head(5000);
    pool.probe().await;
    let hit = balance_with(&pool, "latest", CallOptions::default())
        .await
        .unwrap();
    assert_eq!(hit.origin(), Origin::Cache);
    // Served at a number that only the liar has: nobody knows that block.
    let own = balance_with(&pool, "0x1388", CallOptions::default()).await;
    assert!(
        !matches!(&own, Ok(answer) if answer.origin() == Origin::Cache),
        "{own:?}"
    );
}

// P-16
#[tokio::test(start_paused = true)]
async fn the_cache_is_bounded_by_entries_and_by_bytes() {
    let a = Node::new(100);
    let pool = pool(&[&a], with(|cache| cache.entries = 16)).await;
    let many = |pool: &Pool, count: u32| {
        let pool = pool.clone();
        async move {
            for n in 0..count {
                let params = format!("[\"0x{n:040x}\",\"latest\"]");
                read(&pool, "eth_getBalance", &params).await;
            }
        }
    };
    many(&pool, 200).await;
    let entries = pool.cache_stats().entries;
    assert!((1..100).contains(&entries), "{entries}");
    let a = Node::new(100);
    let long = "0".repeat(2000);
    a.fake
        .on("eth_getBalance", Reply::result(format!("\"0x{long}\"")));
    let bytes = 64 * 1024;
    let pool = super::node::pool(&[&a], with(|cache| cache.bytes = bytes)).await;
    many(&pool, 200).await;
    let stats = pool.cache_stats();
    assert!(stats.bytes <= bytes && stats.entries < 40, "{stats:?}");
    assert!(stats.entries > 0 && stats.kept > stats.entries);
    // One answer that would push out most of the others is not kept.
    let huge = "0".repeat(20_000);
    a.fake
        .on("eth_getBalance", Reply::result(format!("\"0x{huge}\"")));
    let kept = stats.kept;
    read(&pool, "eth_getBalance", &format!("[{X},\"latest\"]")).await;
    assert_eq!(pool.cache_stats().kept, kept);
}

fn on_chain(node: &Node, chain: u64, settings: Settings) -> highwater::Builder {
    node.fake
        .on("eth_chainId", Reply::result(format!("\"{chain:#x}\"")));
    builder(&[node], settings).chain(ChainId(chain))
}

// P-12, semantics §7 row 10
#[tokio::test(start_paused = true)]
async fn on_a_development_chain_an_answer_lives_within_its_block() {
    let a = Node::new(5);
    let pool = on_chain(&a, 31337, reading()).build().unwrap();
    pool.probe().await;
    latest(&pool).await;
    assert_eq!(latest(&pool).await.origin(), Origin::Cache);
    a.head(6);
    pool.probe().await;
    assert_eq!(latest(&pool).await.origin(), Origin::Endpoint);
    // Nothing is for good where the owner may set the chain back.
    read(&pool, "eth_getBlockByNumber", "[\"0x2\",false]").await;
    read(&pool, "eth_getBlockByNumber", "[\"0x2\",false]").await;
    assert_eq!(a.fake.count("eth_getBlockByNumber"), 2);
    assert_eq!(super::node::refused(&pool.cache_stats(), "local_chain"), 2);
}

// P-12, P-14, semantics §7 row 10
#[tokio::test(start_paused = true)]
async fn a_development_chain_that_is_set_back_is_believed_at_once() {
    for (from, to) in [(60, 55), (5000, 3)] {
        let a = Node::new(from);
        let (told, heard) = std::sync::mpsc::channel();
        let told = std::sync::Mutex::new(told);
        let pool = on_chain(&a, 31337, with(|cache| cache.max_age = ms(60_000)))
            .on_event(move |event| drop(told.lock().unwrap().send(event.clone())))
            .build()
            .unwrap();
        pool.probe().await;
        assert_eq!(block_number(&pool).await, from);
        balance(&pool, "latest").await;
        read(&pool, "eth_chainId", "[]").await;
        a.head(to);
        pool.probe().await;
        assert_eq!(block_number(&pool).await, to, "from {from}");
        assert_eq!(balance(&pool, "latest").await, format!("\"{to:#x}\""));
        // Up to the old height again: what was read there before is of another chain.
        a.head(from);
        a.fake.on("eth_getBalance", Reply::result("\"0x7\""));
        pool.probe().await;
        assert_eq!(balance(&pool, "latest").await, "\"0x7\"");
        assert_eq!(super::node::reorgs(&pool, &heard), [(to, from - to, true)]);
    }
}
