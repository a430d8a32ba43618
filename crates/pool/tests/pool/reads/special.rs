//! Chains with ways of their own: scenarios C01, C02, C03, C04, C05, C06, C07 as far as reads go.

use super::node::{
    Node, X, after, ask, builder, ordered, read, reading, receipt, refused, transaction,
};
use crate::fake::{Fake, Reply, ms};
use highwater::{
    CacheEnd, CallOptions, Error, Event, Origin, Pool,
    core::{ChainId, learn::Declared, router::Profile, select::Strategy, settings::Settings},
};
use std::sync::{Mutex, mpsc};

async fn on_chain(nodes: &[&Node], chain: u64, mut settings: Settings) -> Pool {
    for node in nodes {
        let id = Reply::result(format!("\"{chain:#x}\""));
        node.fake.on("eth_chainId", id);
    }
    settings.strategy = Strategy::Weighted;
    let profile = |place: i32| Profile {
        weight: 1e12_f64.powi(-place),
        ..Profile::default()
    };
    let fakes: Vec<&Fake> = nodes.iter().map(|node| &node.fake).collect();
    let profiles = (0..).take(nodes.len()).map(profile).collect();
    let builder = crate::fake::with_profiles(&fakes, profiles, settings);
    let pool = builder.chain(ChainId(chain)).build().unwrap();
    pool.probe().await;
    pool
}

const PRECOMPILE: &str = "{\"to\":\"0x0000000000000000000000000000000000000809\"}";

// P-6, P-28, scenario C01
#[tokio::test(start_paused = true)]
async fn a_precompile_that_reads_the_present_is_shared_by_all_blocks_and_kept_by_age() {
    let (a, b) = (Node::new(100), Node::new(101));
    for node in [&a, &b] {
        node.fake.on("eth_chainId", Reply::result("\"0x3e7\""));
        node.fake
            .answer("eth_call", |_| Reply::result("\"0x07\"").after(ms(50)));
    }
    let (told, heard) = mpsc::channel();
    let told = Mutex::new(told);
    let pool = builder(&[&a, &b], reading())
        .chain(ChainId(999))
        .on_event(move |event| drop(told.lock().unwrap().send(event.clone())))
        .build()
        .unwrap();
    pool.probe().await;
    let latest = format!("[{PRECOMPILE},\"latest\"]");
    let number = format!("[{PRECOMPILE},\"0x63\"]");
    tokio::join!(
        read(&pool, "eth_call", &latest),
        read(&pool, "eth_call", &latest),
        read(&pool, "eth_call", &number),
    );
    read(&pool, "eth_call", &latest).await;
    read(&pool, "eth_call", &number).await;
    let asked = [a.asked("eth_call"), b.asked("eth_call")].concat();
    assert_eq!(asked, [&*latest]);
    // A new head does not matter, age does.
    for node in [&a, &b] {
        node.head(110);
    }
    pool.probe().await;
    let hit = ask(&pool, "eth_call", &latest, CallOptions::default())
        .await
        .unwrap();
    assert_eq!((hit.origin(), hit.block()), (Origin::Cache, None));
    after(2000).await;
    read(&pool, "eth_call", &latest).await;
    assert_eq!(a.asked("eth_call").len() + b.asked("eth_call").len(), 2);
    // Another address is pinned as everywhere.
    let plain = "[{\"to\":\"0x0000000000000000000000000000000000000709\"},\"latest\"]";
    read(&pool, "eth_call", plain).await;
    let asked = [a.asked("eth_call"), b.asked("eth_call")].concat();
    assert!(
        asked.iter().any(|params| params.contains("\"0x6e\"")),
        "{asked:?}"
    );
    pool.close();
    let mut hits = heard.iter().filter_map(|event| match event {
        Event::Cache {
            end: CacheEnd::Hit,
            stale_blocks,
            ..
        } => Some(stale_blocks),
        _ => None,
    });
    assert!(hits.all(|stale| stale.is_none()));
}

// P-13, scenario C02
#[tokio::test(start_paused = true)]
async fn what_may_be_the_present_is_never_kept_as_the_state_of_a_block() {
    let (official, b) = (Node::new(100), Node::new(105));
    official
        .fake
        .on("eth_getBalance", Reply::result("\"0xdead\""));
    b.fake.on("eth_getBalance", Reply::result("\"0x07\""));
    let pool = on_chain(&[&official, &b], 999, reading()).await;
    let params = format!("[{X},\"0x69\"]");
    for _ in 0..2 {
        assert_eq!(read(&pool, "eth_getBalance", &params).await, "\"0x07\"");
    }
    assert_eq!((official.fake.sent(), b.fake.sent()), (0, 2));
    let stats = pool.cache_stats();
    assert_eq!(stats.entries, 0);
    assert!(refused(&stats, "present_state") + refused(&stats, "above_head") == 2);
}

// P-13, scenario C03
#[tokio::test(start_paused = true)]
async fn state_that_nobody_keeps_is_an_error_and_not_the_present_state() {
    let official = |node: &Node| {
        let id = Reply::result("\"0x3e7\"");
        node.fake.on("eth_chainId", id);
        node.fake.on("eth_getBalance", Reply::result("\"0x7\""));
        Profile {
            declared: Declared::known("rpc.hyperliquid.xyz", "/evm"),
            ..Profile::default()
        }
    };
    let old = format!("[{X},\"0x32\"]");
    let o = Node::new(100);
    let profile = official(&o);
    let pool = crate::fake::with_profiles(&[&o.fake], vec![profile], reading());
    let pool = pool.chain(ChainId(999)).build().unwrap();
    pool.probe().await;
    let refused = ask(&pool, "eth_getBalance", &old, CallOptions::default()).await;
    assert!(matches!(refused, Err(Error::NoEndpoint)), "{refused:?}");
    assert_eq!(o.asked("eth_getBalance"), [""; 0]);
    // What is new it answers, and an archive the rest.
    let latest = format!("[{X},\"latest\"]");
    assert_eq!(read(&pool, "eth_getBalance", &latest).await, "\"0x7\"");
    let (o, archive) = (Node::new(100), Node::new(100));
    let profiles = vec![official(&o), Profile::default()];
    archive.fake.on("eth_chainId", Reply::result("\"0x3e7\""));
    let pool = crate::fake::with_profiles(&[&o.fake, &archive.fake], profiles, reading());
    let pool = pool.chain(ChainId(999)).build().unwrap();
    pool.probe().await;
    assert_eq!(read(&pool, "eth_getBalance", &old).await, "\"0x32\"");
}

// P-24, R-37, scenario C04
#[tokio::test(start_paused = true)]
async fn logs_of_a_block_that_one_has_not_reached_are_no_fault_of_it() {
    let (official, b) = (Node::new(100), Node::new(101));
    let log = "[{\"blockNumber\":\"0x65\"}]";
    official
        .fake
        .on("eth_getLogs", Reply::error(-32602, "invalid block range"));
    b.fake.on("eth_getLogs", Reply::result(log));
    let pool = on_chain(&[&official, &b], 999, reading()).await;
    let params = "[{\"fromBlock\":\"0x65\",\"toBlock\":\"0x65\"}]";
    assert_eq!(read(&pool, "eth_getLogs", params).await, log);
    assert_eq!(pool.snapshot().endpoints[0].error, 0.0);
}

// R-37, scenario C05
#[tokio::test(start_paused = true)]
async fn unfinalized_data_is_lag() {
    let (a, b) = (Node::new(100), Node::new(101));
    a.fake.on(
        "eth_call",
        Reply::error(-32000, "cannot query unfinalized data"),
    );
    let pool = on_chain(&[&a, &b], 43114, reading()).await;
    let params = format!("[{{\"to\":{X}}},\"0x65\"]");
    assert_eq!(read(&pool, "eth_call", &params).await, "\"0x65\"");
    let a = &pool.snapshot().endpoints[0];
    assert_eq!((a.error, a.excess_lag), (0.0, None));
}

// P-13, scenario C06 as far as the cache goes
#[tokio::test(start_paused = true)]
async fn a_receipt_of_a_block_that_is_not_there_yet_is_not_kept() {
    let a = Node::new(100);
    let t = transaction(7);
    let pool = on_chain(&[&a], 8453, reading()).await;
    let params = format!("[{t}]");
    // A pre-confirmation names the block that is being built, or none.
    for answer in [
        receipt(&t, 101),
        format!("{{\"transactionHash\":{t},\"blockNumber\":null,\"blockHash\":null}}"),
    ] {
        a.fake
            .on("eth_getTransactionReceipt", Reply::result(answer.clone()));
        assert_eq!(
            read(&pool, "eth_getTransactionReceipt", &params).await,
            answer
        );
        assert_eq!(pool.cache_stats().entries, 0);
    }
}

// P-13, scenario C07
#[tokio::test(start_paused = true)]
async fn a_round_without_a_block_is_null_and_is_not_kept() {
    let (a, b) = (Node::new(100), Node::new(100));
    for node in [&a, &b] {
        node.fake.on("eth_getBlockByNumber", Reply::result("null"));
    }
    let pool = on_chain(&[&a, &b], 314, reading()).await;
    let params = "[\"0x46\",false]";
    assert_eq!(read(&pool, "eth_getBlockByNumber", params).await, "null");
    assert!(a.fake.sent() >= 1 && b.fake.sent() >= 1);
    assert_eq!(pool.cache_stats().entries, 0);
    for endpoint in pool.snapshot().endpoints {
        assert_eq!(endpoint.error, 0.0);
    }
    // Nobody moved: an ordinary pool is as it was.
    drop(ordered(&[&a, &b], reading()));
}
