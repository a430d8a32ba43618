//! Headers of new heads, and blocks that leave the chain (P-14).

use super::node::{
    Node, X, after, ask, balance, block_number, hash, listened, misses, pool, read, reading,
    receipt, refused, reorgs, transaction, watching,
};
use crate::fake::Reply;
use highwater::{CallOptions, Origin, Pool, core::settings::Settings};

/// A pool whose watch has begun: a read came.
async fn watched(nodes: &[&Node], settings: Settings) -> Pool {
    let pool = pool(nodes, settings).await;
    balance(&pool, "latest").await;
    pool
}

async fn grow(pool: &Pool, nodes: &[&Node], heads: impl IntoIterator<Item = u64>) {
    for head in heads {
        for node in nodes {
            node.head(head);
        }
        after(1000).await;
        pool.probe().await;
    }
}

fn headers(nodes: &[&Node]) -> usize {
    let of = |node: &&Node| {
        node.fake.count("eth_getBlockByNumber") + node.fake.count("eth_getBlockByHash")
    };
    nodes.iter().map(of).sum()
}

async fn origin(pool: &Pool, method: &str, params: &str) -> Origin {
    let answer = ask(pool, method, params, CallOptions::default()).await;
    answer.unwrap().origin()
}

// P-14
#[tokio::test(start_paused = true)]
async fn one_header_is_read_for_each_new_head() {
    let (a, b, c) = (Node::new(100), Node::new(100), Node::new(100));
    let nodes = [&a, &b, &c];
    let pool = watched(&nodes, watching()).await;
    assert_eq!(headers(&nodes), 0);
    pool.probe().await;
    assert_eq!(headers(&nodes), 1);
    for _ in 0..3 {
        after(1000).await;
        pool.probe().await;
    }
    assert_eq!(headers(&nodes), 1);
    grow(&pool, &nodes, 101..=105).await;
    assert_eq!(headers(&nodes), 6);
}

// P-14
#[tokio::test(start_paused = true)]
async fn no_header_is_read_where_nothing_would_be_served_by_it() {
    // Nobody reads.
    let a = Node::new(100);
    let idle = pool(&[&a], watching()).await;
    grow(&idle, &[&a], 101..=103).await;
    assert_eq!(headers(&[&a]), 0);
    // Headers, or the cache, are off.
    for settings in [reading(), super::node::uncached()] {
        let a = Node::new(100);
        let pool = watched(&[&a], settings).await;
        grow(&pool, &[&a], 101..=103).await;
        assert_eq!(headers(&[&a]), 0);
    }
    // A block is final at once.
    let a = Node::new(100);
    a.fake.on("eth_chainId", Reply::result("\"0xa86a\""));
    let builder = super::node::builder(&[&a], watching());
    let pool = builder
        .chain(highwater::core::ChainId(43114))
        .build()
        .unwrap();
    pool.probe().await;
    balance(&pool, "latest").await;
    grow(&pool, &[&a], 101..=103).await;
    assert_eq!(headers(&[&a]), 0);
}

// P-14
#[tokio::test(start_paused = true)]
async fn a_gap_is_closed_by_hashes_and_what_was_kept_below_is_served_on() {
    let a = Node::new(100);
    let pool = watched(&[&a], watching()).await;
    grow(&pool, &[&a], [101]).await;
    let block = "[\"0x65\",false]";
    read(&pool, "eth_getBlockByNumber", block).await;
    grow(&pool, &[&a], [110]).await;
    // Above the tip are 102 to 110: one by number, the others by hash.
    assert_eq!(a.fake.count("eth_getBlockByHash"), 8);
    assert_eq!(
        origin(&pool, "eth_getBlockByNumber", block).await,
        Origin::Cache
    );
}

// P-14
#[tokio::test(start_paused = true)]
async fn a_gap_that_is_too_long_is_given_up_and_so_is_what_was_kept_below_it() {
    let a = Node::new(100);
    let pool = watched(&[&a], watching()).await;
    grow(&pool, &[&a], [101]).await;
    let block = "[\"0x65\",false]";
    read(&pool, "eth_getBlockByNumber", block).await;
    grow(&pool, &[&a], [140]).await;
    assert_eq!(a.fake.count("eth_getBlockByHash"), 16);
    assert_eq!(
        origin(&pool, "eth_getBlockByNumber", block).await,
        Origin::Endpoint
    );
    assert_eq!(misses(&pool.cache_stats(), "unlinked"), 1);
    // The chain began anew, and goes on.
    grow(&pool, &[&a], [141, 142]).await;
    assert_eq!(a.fake.count("eth_getBlockByHash"), 16);
    let newest = "[\"0x8e\",false]";
    read(&pool, "eth_getBlockByNumber", newest).await;
    assert_eq!(
        origin(&pool, "eth_getBlockByNumber", newest).await,
        Origin::Cache
    );
}

// P-14
#[tokio::test(start_paused = true)]
async fn a_block_that_left_takes_its_answers_with_it_and_is_told() {
    let (a, b) = (Node::new(100), Node::new(100));
    let nodes = [&a, &b];
    let (pool, heard) = listened(&nodes, watching()).await;
    balance(&pool, "latest").await;
    grow(&pool, &nodes, 101..=103).await;
    let t = transaction(7);
    for node in nodes {
        node.fake
            .on("eth_getTransactionReceipt", Reply::result(receipt(&t, 102)));
    }
    let reads = [
        ("eth_getBlockByNumber", "[\"0x66\",false]".to_owned()),
        (
            "eth_getBlockByHash",
            format!("[\"{}\",false]", hash(102, 0)),
        ),
        ("eth_getTransactionReceipt", format!("[{t}]")),
        ("eth_getBalance", format!("[{X},\"latest\"]")),
    ];
    let below = ("eth_getBlockByNumber", "[\"0x65\",false]");
    read(&pool, below.0, below.1).await;
    for (method, params) in &reads {
        read(&pool, method, params).await;
        assert_eq!(
            origin(&pool, method, params).await,
            Origin::Cache,
            "{method}"
        );
    }
    for node in nodes {
        node.branch(101, 1);
        node.fake
            .on("eth_getTransactionReceipt", Reply::result("null"));
    }
    grow(&pool, &nodes, [104]).await;
    for (method, params) in &reads {
        let answer = ask(&pool, method, params, CallOptions::default())
            .await
            .unwrap();
        assert_eq!(answer.origin(), Origin::Endpoint, "{method}");
    }
    assert_eq!(origin(&pool, below.0, below.1).await, Origin::Cache);
    assert!(misses(&pool.cache_stats(), "orphaned") >= 3);
    let told = reorgs(&pool, &heard);
    assert!(matches!(told.as_slice(), [(101, 2, _)]), "{told:?}");
}

// P-14: through what callers ask for, with no header of the pool's own.
#[tokio::test(start_paused = true)]
async fn a_block_that_a_caller_is_answered_shows_a_reorganisation_too() {
    let a = Node::new(100);
    let (pool, heard) = listened(&[&a], reading()).await;
    let block = |n: u64| format!("[\"{n:#x}\",false]");
    for head in 100..=103 {
        a.head(head);
        pool.probe().await;
        read(&pool, "eth_getBlockByNumber", &block(head)).await;
    }
    read(&pool, "eth_getBlockByNumber", &block(103)).await;
    let before = a.fake.sent();
    assert_eq!(
        origin(&pool, "eth_getBlockByNumber", &block(103)).await,
        Origin::Cache
    );
    assert_eq!(a.fake.sent(), before);
    a.branch(102, 1);
    a.head(104);
    pool.probe().await;
    read(&pool, "eth_getBlockByNumber", &block(104)).await;
    // Its parent is not known yet; then it is.
    let answer = ask(
        &pool,
        "eth_getBlockByNumber",
        &block(103),
        CallOptions::default(),
    )
    .await;
    let answer = answer.unwrap();
    assert_eq!(answer.origin(), Origin::Endpoint);
    assert!(super::node::text(&answer).contains(&a.hash(103)));
    assert_eq!(reorgs(&pool, &heard), [(102, 1, true)]);
}

// P-14: as many voices for another block as for ours.
#[tokio::test(start_paused = true)]
async fn a_height_that_is_disputed_is_neither_served_nor_kept() {
    let (a, b) = (Node::new(100), Node::new(100));
    let nodes = [&a, &b];
    let mut settings = watching();
    settings.strategy = highwater::core::select::Strategy::RoundRobin;
    let pool = watched(&nodes, settings).await;
    grow(&pool, &nodes, [101]).await;
    // At 102 they differ.
    b.branch(101, 1);
    grow(&pool, &nodes, [102]).await;
    let newest = "[\"0x66\",false]";
    let bypass = || CallOptions {
        bypass_cache: true,
        ..CallOptions::default()
    };
    // Both say what they have there.
    for _ in 0..4 {
        ask(&pool, "eth_getBlockByNumber", newest, bypass())
            .await
            .unwrap();
    }
    let mut hashes = Vec::new();
    for _ in 0..4 {
        let answer = ask(
            &pool,
            "eth_getBlockByNumber",
            newest,
            CallOptions::default(),
        );
        let answer = answer.await.unwrap();
        hashes.push((answer.origin(), answer.endpoint().to_owned()));
    }
    assert!(
        hashes.iter().all(|(origin, _)| *origin == Origin::Endpoint),
        "{hashes:?}"
    );
    let stats = pool.cache_stats();
    let doubts = ["disputed", "off_chain", "rival"].map(|why| refused(&stats, why));
    assert!(doubts.iter().sum::<u64>() >= 2, "{stats:?}");
    // What is below the fork is nobody's dispute.
    let below = "[\"0x65\",false]";
    read(&pool, "eth_getBlockByNumber", below).await;
    assert_eq!(
        origin(&pool, "eth_getBlockByNumber", below).await,
        Origin::Cache
    );
}

// P-14, R-16
#[tokio::test(start_paused = true)]
async fn a_header_of_one_liar_empties_nothing_and_moves_nothing() {
    let (a, b, liar) = (Node::new(100), Node::new(100), Node::new(100));
    let nodes = [&a, &b, &liar];
    let (pool, heard) = listened(&nodes, watching()).await;
    balance(&pool, "latest").await;
    grow(&pool, &nodes, 101..=104).await;
    let block = "[\"0x66\",false]";
    read(&pool, "eth_getBlockByNumber", block).await;
    // A branch of its own that goes further than the honest chain, and ends nowhere.
    liar.branch(60, 9);
    liar.head(105);
    liar.fake.on("eth_getBlockByHash", Reply::result("null"));
    for _ in 0..3 {
        after(500).await;
        pool.probe().await;
        drop(
            ask(
                &pool,
                "eth_getBlockByNumber",
                "[\"latest\",false]",
                CallOptions {
                    bypass_cache: true,
                    ..CallOptions::default()
                },
            )
            .await,
        );
    }
    assert!(block_number(&pool).await <= 105);
    assert!(reorgs(&pool, &heard).is_empty());
}

// P-14, R-16
#[tokio::test(start_paused = true)]
async fn a_block_far_above_every_head_is_no_header() {
    let (a, liar) = (Node::new(100), Node::new(100));
    let (pool, heard) = listened(&[&a, &liar], watching()).await;
    balance(&pool, "latest").await;
    grow(&pool, &[&a, &liar], 101..=102).await;
    let block = "[\"0x65\",false]";
    read(&pool, "eth_getBlockByNumber", block).await;
    let far = format!(
        "{{\"number\":\"0x1388\",\"hash\":\"{}\",\"parentHash\":\"{}\",\"transactions\":[]}}",
        hash(5000, 9),
        hash(4999, 9)
    );
    for node in [&a, &liar] {
        node.fake
            .on("eth_getBlockByNumber", Reply::result(far.clone()));
    }
    drop(
        ask(
            &pool,
            "eth_getBlockByNumber",
            "[\"latest\",false]",
            CallOptions::default(),
        )
        .await,
    );
    assert_eq!(
        origin(&pool, "eth_getBlockByNumber", block).await,
        Origin::Cache
    );
    assert!(reorgs(&pool, &heard).is_empty());
}

// P-14, scenario M17
#[tokio::test(start_paused = true)]
async fn a_block_of_a_side_chain_by_its_hash_moves_nothing() {
    let a = Node::new(100);
    let (pool, heard) = listened(&[&a], watching()).await;
    balance(&pool, "latest").await;
    grow(&pool, &[&a], [101, 102]).await;
    let side = format!(
        "{{\"number\":\"0x65\",\"hash\":\"{}\",\"parentHash\":\"{}\",\"transactions\":[]}}",
        hash(101, 9),
        hash(100, 0)
    );
    a.fake.on("eth_getBlockByHash", Reply::result(side.clone()));
    let params = format!("[\"{}\",false]", hash(101, 9));
    assert_eq!(read(&pool, "eth_getBlockByHash", &params).await, side);
    let own = read(&pool, "eth_getBlockByNumber", "[\"0x65\",false]").await;
    assert!(own.contains(&hash(101, 0)), "{own}");
    assert_eq!(block_number(&pool).await, 102);
    assert_eq!(
        origin(&pool, "eth_getBlockByHash", &params).await,
        Origin::Endpoint
    );
    assert!(reorgs(&pool, &heard).is_empty());
}

// P-14: an old block that somebody reads is no head.
#[tokio::test(start_paused = true)]
async fn reading_old_blocks_does_not_make_the_chain_begin_there() {
    let (a, b) = (Node::new(1000), Node::new(1000));
    let nodes = [&a, &b];
    let (pool, heard) = listened(&nodes, watching()).await;
    for number in [5_u64, 6, 7, 500, 8] {
        let params = format!("[\"{number:#x}\",false]");
        read(&pool, "eth_getBlockByNumber", &params).await;
    }
    grow(&pool, &nodes, [1000, 1001, 1002]).await;
    let newest = "[\"0x3ea\",false]";
    read(&pool, "eth_getBlockByNumber", newest).await;
    assert_eq!(
        origin(&pool, "eth_getBlockByNumber", newest).await,
        Origin::Cache
    );
    assert!(reorgs(&pool, &heard).is_empty());
}

// P-13, P-14, scenario M13
#[tokio::test(start_paused = true)]
async fn a_read_at_a_hash_is_asked_again_when_the_hash_has_left() {
    let (a, b) = (Node::new(100), Node::new(100));
    let nodes = [&a, &b];
    let pool = watched(&nodes, watching()).await;
    grow(&pool, &nodes, [101, 102]).await;
    for node in nodes {
        node.fake.on("eth_call", Reply::result("\"0x07\""));
    }
    let block = format!(
        "{{\"blockHash\":\"{}\",\"requireCanonical\":true}}",
        hash(102, 0)
    );
    let params = format!("[{{\"to\":{X}}},{block}]");
    assert_eq!(read(&pool, "eth_call", &params).await, "\"0x07\"");
    assert_eq!(origin(&pool, "eth_call", &params).await, Origin::Cache);
    let sent = [a.asked("eth_call"), b.asked("eth_call")].concat();
    assert_eq!(sent, [&*params]);
    for node in nodes {
        node.branch(101, 1);
        let gone = Reply::error(-32000, "hash is not currently canonical");
        node.fake.on("eth_call", gone);
    }
    grow(&pool, &nodes, [103]).await;
    let answer = ask(&pool, "eth_call", &params, CallOptions::default()).await;
    assert!(
        answer.as_ref().map_or(true, highwater::Answer::is_error),
        "{answer:?}"
    );
}

// P-12, P-14
#[tokio::test(start_paused = true)]
async fn a_read_at_latest_of_a_block_that_left_is_not_served() {
    let (a, b) = (Node::new(100), Node::new(100));
    let nodes = [&a, &b];
    let mut settings = watching();
    settings.reads.cache.as_mut().unwrap().max_stale_blocks = 5;
    settings.reads.cache.as_mut().unwrap().max_age = std::time::Duration::from_secs(100);
    let pool = watched(&nodes, settings).await;
    grow(&pool, &nodes, [101, 102]).await;
    let own = || CallOptions {
        viewers: vec![highwater::Viewer::new()],
        ..CallOptions::default()
    };
    let code = || ask(&pool, "eth_getCode", "[\"0xaa\",\"latest\"]", own());
    assert_eq!(code().await.unwrap().block(), Some(102));
    assert_eq!(code().await.unwrap().origin(), Origin::Cache);
    for node in nodes {
        node.branch(101, 1);
    }
    grow(&pool, &nodes, [103]).await;
    let answer = code().await.unwrap();
    assert_eq!(
        (answer.origin(), answer.block()),
        (Origin::Endpoint, Some(103))
    );
}
