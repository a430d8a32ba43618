//! Keys that are kept hot: read again before anybody asks (P-18 to P-20).

use super::node::{
    Node, X, after, ask, balance, balance_with, builder, in_order, listened, ordered, read,
    reading, text,
};
use crate::fake::{Fake, Reply, ms, s, with_profiles};
use highwater::{
    CacheEnd, CallOptions, Event, Origin, Pool,
    core::{
        ChainId,
        bucket::{Account, Budget, Rate},
        cache::{CacheSettings, Refresh, hot::MOST},
        heads::HeadSettings,
        probe::ProbeSettings,
        router::Profile,
        settings::Settings,
    },
};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Keys are kept hot; nothing else is sent beside the reads.
fn hot() -> Settings {
    with(|_| {})
}

fn with(change: impl FnOnce(&mut CacheSettings)) -> Settings {
    let mut settings = reading();
    let cache = settings.reads.cache.as_mut().unwrap();
    cache.hot_keys = MOST;
    change(cache);
    settings
}

/// Keys are kept hot, and no tick asks for a head.
fn without_ticks() -> Settings {
    with(|cache| cache.refresh = Refresh::Off)
}

/// Everybody is at this block from now on, and the pool knows it.
async fn advance(pool: &Pool, nodes: &[&Node], head: u64) {
    for node in nodes {
        node.head(head);
    }
    pool.probe().await;
    after(5).await;
}

fn balances(node: &Node) -> Vec<String> {
    node.asked("eth_getBalance")
}

fn at(block: &str) -> String {
    format!("[{X},\"{block}\"]")
}

async fn latest(pool: &Pool) -> highwater::Answer {
    balance_with(pool, "latest", CallOptions::default())
        .await
        .unwrap()
}

async fn account(pool: &Pool, number: u32) -> String {
    let params = format!("[\"0x{number:040x}\",\"latest\"]");
    read(pool, "eth_getBalance", &params).await
}

// P-18, P-28
#[tokio::test(start_paused = true)]
async fn a_key_is_read_again_at_a_new_head_before_anybody_asks() {
    let a = Node::new(100);
    let (pool, heard) = listened(&[&a], without_ticks()).await;
    latest(&pool).await;
    advance(&pool, &[&a], 105).await;
    assert_eq!(balances(&a), [at("0x64"), at("0x69")]);
    let hit = latest(&pool).await;
    assert_eq!((hit.origin(), hit.block()), (Origin::Cache, Some(105)));
    assert_eq!(balances(&a).len(), 2);
    let stats = pool.cache_stats();
    assert_eq!((stats.kept, stats.refreshes, stats.hot), (2, 1, 1));
    pool.close();
    let ends: Vec<_> = heard
        .iter()
        .filter_map(|event| match event {
            Event::Cache {
                end, stale_blocks, ..
            } => Some((end, stale_blocks)),
            _ => None,
        })
        .collect();
    let told = [
        (CacheEnd::Miss, None),
        (CacheEnd::Refresh, Some(0)),
        (CacheEnd::Hit, Some(0)),
    ];
    assert_eq!(ends, told);
}

// P-18
#[tokio::test(start_paused = true)]
async fn a_key_is_read_at_the_new_head_though_reads_are_not_pinned() {
    let a = Node::new(100);
    let mut settings = without_ticks();
    settings.reads.pin = None;
    let pool = super::node::pool(&[&a], settings).await;
    latest(&pool).await;
    advance(&pool, &[&a], 101).await;
    assert_eq!(balances(&a), [at("latest"), at("0x65")]);
    assert_eq!(text(&latest(&pool).await), "\"0x65\"");
    assert_eq!(balances(&a).len(), 2);
}

// P-18
#[tokio::test(start_paused = true)]
async fn only_those_at_the_new_head_are_asked() {
    let (a, b, c) = (Node::new(100), Node::new(100), Node::new(100));
    // `a` comes first wherever it can.
    let pool = ordered(&[&a, &b, &c], without_ticks()).await;
    latest(&pool).await;
    advance(&pool, &[&b, &c], 101).await;
    assert_eq!(balances(&a), [at("0x64")]);
    assert_eq!(balances(&b), [at("0x65")]);
    assert_eq!(balances(&c), [""; 0]);
}

// P-18
#[tokio::test(start_paused = true)]
async fn a_lone_leader_refreshes_nothing() {
    let (a, b) = (Node::new(100), Node::new(100));
    let pool = ordered(&[&a, &b], without_ticks()).await;
    latest(&pool).await;
    advance(&pool, &[&a], 101).await;
    assert_eq!((balances(&a).len(), balances(&b).len()), (1, 0));
}

// P-18
#[tokio::test(start_paused = true)]
async fn a_refresh_is_neither_raced_nor_hedged() {
    let nodes = [Node::new(100), Node::new(100), Node::new(100)];
    let all: Vec<&Node> = nodes.iter().collect();
    let mut settings = without_ticks();
    settings.race = 2;
    settings.hedge = Some(highwater::core::settings::HedgeSettings {
        min_delay: ms(1),
        tails: 0.0,
    });
    let (pool, heard) = listened(&all, settings).await;
    latest(&pool).await;
    let sent = |nodes: &[Node]| nodes.iter().map(|node| node.fake.sent()).sum::<usize>();
    assert_eq!(sent(&nodes), 2);
    for node in &nodes {
        let slow = Reply::result("\"0x7\"").after(ms(900));
        node.fake.on("eth_getBalance", slow);
    }
    advance(&pool, &all, 101).await;
    after(1000).await;
    assert_eq!(sent(&nodes), 3);
    assert_eq!(text(&latest(&pool).await), "\"0x7\"");
    pool.close();
    let races = heard
        .iter()
        .filter(|event| matches!(event, Event::Race { .. } | Event::Hedge { .. }));
    // That of the first read.
    assert_eq!(races.count(), 1);
}

// P-18
#[tokio::test(start_paused = true)]
async fn a_key_is_read_once_at_a_time_and_then_at_the_newest_head() {
    let a = Node::new(100);
    let pool = super::node::pool(&[&a], without_ticks()).await;
    latest(&pool).await;
    let slow = |params: &str| Reply::result(super::node::element(params, 1).unwrap()).after(s(1));
    a.fake.answer("eth_getBalance", slow);
    for head in [101, 102, 103] {
        advance(&pool, &[&a], head).await;
    }
    assert_eq!(balances(&a), [at("0x64"), at("0x65")]);
    after(1100).await;
    assert_eq!(balances(&a)[2..], [at("0x67")]);
    after(1100).await;
    assert_eq!(balances(&a).len(), 3);
    assert_eq!(latest(&pool).await.block(), Some(103));
}

// P-10, P-18
#[tokio::test(start_paused = true)]
async fn a_caller_joins_a_refresh_and_asks_for_itself_where_that_fails() {
    let (a, b) = (Node::new(100), Node::new(100));
    let pool = ordered(
        &[&a, &b],
        with(|cache| {
            cache.refresh = Refresh::Off;
            cache.max_stale_blocks = 0;
        }),
    )
    .await;
    latest(&pool).await;
    let slow = Reply::result("\"0x7\"").after(ms(200));
    a.fake.on("eth_getBalance", slow);
    advance(&pool, &[&a, &b], 101).await;
    let joined = latest(&pool).await;
    assert_eq!(
        (text(&joined), joined.origin()),
        ("\"0x7\"".into(), Origin::Shared)
    );
    let slow = Reply::error(-32000, "overloaded").after(ms(200));
    a.fake.on("eth_getBalance", slow);
    advance(&pool, &[&a, &b], 102).await;
    let own = latest(&pool).await;
    assert_eq!((text(&own), own.endpoint()), ("\"0x66\"".into(), "b"));
}

// P-18
#[tokio::test(start_paused = true)]
async fn a_failure_leaves_the_old_answer_and_spends_no_retry() {
    let (a, b) = (Node::new(100), Node::new(100));
    let pool = ordered(&[&a, &b], without_ticks()).await;
    let first = latest(&pool).await;
    for (head, failure) in [(101, Reply::reset()), (101, Reply::refused())] {
        a.fake.on("eth_getBalance", failure);
        advance(&pool, &[&a, &b], head).await;
    }
    let hit = latest(&pool).await;
    assert_eq!((hit.origin(), hit.bytes()), (Origin::Cache, first.bytes()));
    // One attempt, at the one endpoint, for the one head.
    assert_eq!((balances(&a).len(), balances(&b).len()), (2, 0));
    assert_eq!(pool.cache_stats().refreshes, 0);
    // A revert is no answer that could be kept.
    a.fake
        .on("eth_getBalance", Reply::error(3, "execution reverted"));
    advance(&pool, &[&a, &b], 102).await;
    assert_eq!((balances(&a).len(), balances(&b).len()), (3, 0));
    assert_eq!(pool.cache_stats().refreshes, 0);
}

// P-18
#[tokio::test(start_paused = true)]
async fn sixty_four_keys_are_hot_and_a_flood_of_others_pushes_none_out() {
    let a = Node::new(100);
    let pool = super::node::pool(&[&a], without_ticks()).await;
    for number in 0..64 {
        account(&pool, number).await;
    }
    after(1000).await;
    for number in 100..200 {
        account(&pool, number).await;
    }
    assert_eq!(pool.cache_stats().hot, 64);
    advance(&pool, &[&a], 101).await;
    let again = |number: u32| format!("[\"0x{number:040x}\",\"0x65\"]");
    let at_new = || {
        let mut asked = balances(&a);
        asked.retain(|params| params.ends_with("\"0x65\"]"));
        asked
    };
    let expected: Vec<String> = (0..64).map(again).collect();
    assert_eq!(at_new(), expected);
}

// P-18
#[tokio::test(start_paused = true)]
async fn a_key_that_is_read_again_takes_the_place_of_the_one_that_was_not_read_longest() {
    let a = Node::new(100);
    let pool = super::node::pool(&[&a], without_ticks()).await;
    for number in 0..64 {
        account(&pool, number).await;
    }
    after(1000).await;
    // All but one, from memory.
    for number in (0..64).filter(|number| *number != 7) {
        account(&pool, number).await;
    }
    account(&pool, 100).await;
    account(&pool, 100).await;
    assert_eq!(pool.cache_stats().hot, 64);
    advance(&pool, &[&a], 101).await;
    let asked = balances(&a);
    let is_hot = |number: u32| asked.contains(&format!("[\"0x{number:040x}\",\"0x65\"]"));
    assert!(is_hot(100) && is_hot(6) && is_hot(8) && !is_hot(7));
}

// P-18, P-19
#[tokio::test(start_paused = true)]
async fn without_a_read_a_key_is_idle_after_thirty_seconds_and_the_next_read_begins_anew() {
    let a = Node::new(100);
    let pool = super::node::pool(&[&a], hot()).await;
    latest(&pool).await;
    after(10_000).await;
    // A read from memory counts, and one in vain does.
    latest(&pool).await;
    after(29_900).await;
    assert_eq!(pool.cache_stats().hot, 1);
    after(200).await;
    assert_eq!(pool.cache_stats().hot, 0);
    let heads = a.fake.count("eth_blockNumber");
    assert!((38..=42).contains(&heads), "{heads}");
    let sent = a.fake.seen().len();
    after(600_000).await;
    assert_eq!(a.fake.seen().len(), sent);
    latest(&pool).await;
    let heads = a.fake.count("eth_blockNumber");
    after(10_500).await;
    assert_eq!(a.fake.count("eth_blockNumber"), heads + 10);
    assert_eq!(pool.cache_stats().hot, 1);
}

// P-19
#[tokio::test(start_paused = true)]
async fn a_tick_asks_for_the_head_and_tells_the_endpoints_life_but_not_its_latency() {
    let a = Node::new(100);
    let pool = super::node::pool(&[&a], hot()).await;
    latest(&pool).await;
    let latency = |pool: &Pool| pool.snapshot().endpoints[0].latency_ms;
    let before = latency(&pool);
    a.fake.answer("eth_blockNumber", |_| {
        Reply::result("\"0x65\"").after(ms(500))
    });
    after(1600).await;
    assert_eq!(a.fake.count("eth_blockNumber"), 2);
    assert_eq!(latency(&pool), before);
    assert_eq!(latest(&pool).await.block(), Some(101));
    assert_eq!(balances(&a), [at("0x64"), at("0x65")]);
}

// P-19, R-16
#[tokio::test(start_paused = true)]
async fn ticks_ask_the_two_best_voices_in_turn_so_that_the_head_they_agree_on_moves() {
    let nodes = [Node::new(100), Node::new(100), Node::new(100)];
    let all: Vec<&Node> = nodes.iter().collect();
    let pool = ordered(&all, hot()).await;
    latest(&pool).await;
    for second in 1..=10 {
        for node in &nodes {
            node.head(100 + second);
        }
        after(1000).await;
    }
    after(50).await;
    let ticks: Vec<usize> = nodes
        .iter()
        .map(|node| node.fake.count("eth_blockNumber") - 1)
        .collect();
    assert_eq!(ticks, [5, 5, 0]);
    assert!(latest(&pool).await.block() >= Some(108));
}

// P-19
#[tokio::test(start_paused = true)]
async fn a_tick_is_sent_once_in_the_time_that_was_set() {
    let every = |refresh: Refresh, block_time: Option<u64>| async move {
        let a = Node::new(100);
        let mut settings = with(|cache| cache.refresh = refresh);
        settings.heads = Some(HeadSettings {
            block_time: block_time.map(ms),
            ..HeadSettings::default()
        });
        let pool = super::node::pool(&[&a], settings).await;
        latest(&pool).await;
        after(24_500).await;
        a.fake.count("eth_blockNumber") - 1
    };
    assert_eq!(every(Refresh::Auto, None).await, 24);
    assert_eq!(every(Refresh::Auto, Some(250)).await, 24);
    assert_eq!(every(Refresh::Auto, Some(12_000)).await, 2);
    assert_eq!(every(Refresh::Every(s(5)), Some(12_000)).await, 4);
    assert_eq!(every(Refresh::Off, None).await, 0);
}

// P-6, P-18, P-28
#[tokio::test(start_paused = true)]
async fn present_state_is_read_again_on_every_tick() {
    const PRECOMPILE: &str = r#"[{"to":"0x0000000000000000000000000000000000000801"},"latest"]"#;
    let a = Node::new(100);
    a.fake.on("eth_chainId", Reply::result("\"0x3e7\""));
    let (told, heard) = std::sync::mpsc::channel();
    let told = std::sync::Mutex::new(told);
    let pool = builder(&[&a], hot())
        .chain(ChainId(999))
        .on_event(move |event| drop(told.lock().unwrap().send(event.clone())))
        .build()
        .unwrap();
    pool.probe().await;
    read(&pool, "eth_call", PRECOMPILE).await;
    after(10_500).await;
    // No head came.
    assert_eq!(a.asked("eth_call"), [PRECOMPILE; 11]);
    let hit = ask(&pool, "eth_call", PRECOMPILE, CallOptions::default()).await;
    assert_eq!(hit.unwrap().origin(), Origin::Cache);
    pool.close();
    let stale = heard.iter().filter_map(|event| match event {
        Event::Cache {
            end: CacheEnd::Refresh,
            stale_blocks,
            ..
        } => Some(stale_blocks),
        _ => None,
    });
    assert_eq!(stale.collect::<Vec<_>>(), [None; 10]);
}

// P-18
#[tokio::test(start_paused = true)]
async fn nothing_is_read_in_the_background_while_the_owner_is_inactive() {
    let a = Node::new(100);
    let active = Arc::new(AtomicBool::new(true));
    let seen = Arc::clone(&active);
    let pool = in_order(&[&a], hot())
        .is_active(move || seen.load(Ordering::Relaxed))
        .build()
        .unwrap();
    pool.probe().await;
    latest(&pool).await;
    active.store(false, Ordering::Relaxed);
    let sent = a.fake.seen().len();
    after(5000).await;
    assert_eq!(a.fake.seen().len(), sent);
    advance(&pool, &[&a], 101).await;
    assert_eq!(balances(&a).len(), 1);
    active.store(true, Ordering::Relaxed);
    after(1000).await;
    assert_eq!(balances(&a), [at("0x64"), at("0x65")]);
}

// P-18, R-26
#[tokio::test(start_paused = true)]
async fn nothing_is_read_in_the_background_while_no_holder_has_a_token() {
    let a = Node::new(100);
    let account = Account::new(
        "",
        &Budget {
            rate: Some(Rate {
                rps: 0.1,
                burst: 4.0,
            }),
            ..Budget::default()
        },
    );
    let profile = Profile {
        account: Arc::new(account),
        ..Profile::default()
    };
    let pool = with_profiles(&[&a.fake], vec![profile], without_ticks())
        .build()
        .unwrap();
    // The chain, the head, the read and the next head: none is left.
    pool.probe().await;
    latest(&pool).await;
    a.head(101);
    pool.probe().await;
    after(5).await;
    assert_eq!(balances(&a).len(), 1);
    assert_eq!(latest(&pool).await.origin(), Origin::Cache);
    // One for the head, and one for the key.
    after(20_000).await;
    advance(&pool, &[&a], 102).await;
    assert_eq!(balances(&a), [at("0x64"), at("0x66")]);
}

// P-18
#[tokio::test(start_paused = true)]
async fn whoever_is_ejected_is_not_asked() {
    let (a, b) = (Node::new(100), Node::new(100));
    let pool = ordered(&[&a, &b], without_ticks()).await;
    latest(&pool).await;
    super::node::lose(&pool, &a).await;
    let before = a.fake.seen().len();
    advance(&pool, &[&b], 101).await;
    assert_eq!(a.fake.seen().len(), before);
}

// P-18
#[tokio::test(start_paused = true)]
async fn a_development_chain_has_no_hot_keys() {
    let a = Node::new(100);
    a.fake.on("eth_chainId", Reply::result("\"0x7a69\""));
    let pool = builder(&[&a], hot()).chain(ChainId(31337)).build().unwrap();
    pool.probe().await;
    latest(&pool).await;
    latest(&pool).await;
    assert_eq!(pool.cache_stats().hot, 0);
    let sent = a.fake.seen().len();
    after(5000).await;
    assert_eq!(a.fake.seen().len(), sent);
}

// P-18
#[tokio::test(start_paused = true)]
async fn without_places_no_key_is_hot() {
    let a = Node::new(100);
    let pool = super::node::pool(&[&a], with(|cache| cache.hot_keys = 0)).await;
    latest(&pool).await;
    latest(&pool).await;
    advance(&pool, &[&a], 101).await;
    after(5000).await;
    assert_eq!((balances(&a).len(), pool.cache_stats().hot), (1, 0));
    assert_eq!(a.fake.count("eth_blockNumber"), 2);
}

// P-18
#[tokio::test(start_paused = true)]
async fn reads_at_a_number_and_long_requests_are_not_kept_hot() {
    let a = Node::new(100);
    let pool = super::node::pool(&[&a], without_ticks()).await;
    balance(&pool, "0x32").await;
    let long = format!(r#"[{{"data":"0x{}"}},"latest"]"#, "0".repeat(20_000));
    read(&pool, "eth_call", &long).await;
    read(&pool, "eth_call", &long).await;
    assert_eq!(pool.cache_stats().hot, 0);
}

// P-18
#[tokio::test(start_paused = true)]
async fn a_pool_that_is_closed_or_dropped_reads_nothing_more() {
    for close in [true, false] {
        let a = Node::new(100);
        let pool = super::node::pool(&[&a], hot()).await;
        latest(&pool).await;
        a.fake.on("eth_getBalance", Reply::hang());
        advance(&pool, &[&a], 101).await;
        assert_eq!(a.fake.open(), 1);
        if close {
            pool.close();
        } else {
            drop(pool);
        }
        after(1).await;
        // What was under way is given up: nobody waits for it.
        assert_eq!(a.fake.open(), 0, "close {close}");
        let sent = a.fake.seen().len();
        after(60_000).await;
        assert_eq!(a.fake.seen().len(), sent);
    }
}

// P-18, R-17
#[tokio::test(start_paused = true)]
async fn what_nobody_asked_for_does_not_keep_the_probes_going() {
    let a = Node::new(100);
    let mut settings = hot();
    settings.probe = Some(ProbeSettings {
        interval: s(4),
        jitter: 0.0,
        idle: s(10),
    });
    let pool = super::node::pool(&[&a], settings).await;
    latest(&pool).await;
    let moving = a.clone();
    for second in 1..=28 {
        moving.head(100 + second);
        after(1000).await;
    }
    // Those of the probes, at 0, 4 and 8 s, and one a second.
    let heads = a.fake.count("eth_blockNumber");
    assert!((30..=33).contains(&heads), "{heads}");
    assert!(balances(&a).len() > 25);
}

/// Requests that a minute costs in which a block comes each second and these keys are read now and
/// then.
async fn minute(nodes: usize, keys: u32) -> usize {
    let nodes: Vec<Node> = (0..nodes).map(|_| Node::new(100)).collect();
    let all: Vec<&Node> = nodes.iter().collect();
    let pool = super::node::pool(&all, hot()).await;
    for key in 0..keys {
        account(&pool, key).await;
    }
    let count = || {
        let fakes = nodes.iter().map(|node| &node.fake);
        fakes.map(|fake: &Fake| fake.seen().len()).sum::<usize>()
    };
    let before = count();
    for second in 1..=60 {
        for node in &nodes {
            node.head(100 + second);
        }
        after(1000).await;
        if second % 10 == 0 {
            for key in 0..keys {
                account(&pool, key).await;
            }
        }
    }
    let cost = count() - before;
    assert_eq!(pool.cache_stats().hot, u64::from(keys));
    // Nothing when idle.
    after(31_000).await;
    let idle = count();
    after(60_000).await;
    assert_eq!(count(), idle);
    cost
}

// P-20
#[tokio::test(start_paused = true)]
async fn a_minute_costs_one_request_a_second_and_one_for_each_key_and_block() {
    for (nodes, keys) in [(1, 1), (1, 16), (2, 4), (3, 4)] {
        let (cost, bound) = (minute(nodes, keys).await, 60 * (1 + keys as usize));
        assert!(
            cost <= bound,
            "{cost} of {bound} for {keys} keys, {nodes} nodes"
        );
        // It is no bound that nothing could reach.
        assert!(
            cost * 10 >= bound * 9,
            "{cost} of {bound} for {keys} keys, {nodes} nodes"
        );
        println!("{nodes} nodes, {keys} keys: {cost} of {bound}");
    }
}
