//! Which block `latest` is: scenarios P01 to P05, P09 to P13, P20, P22, M14.

use super::node::{
    Node, X, after, balance, balance_with, block_number, idle, listened, ordered, pool, read,
    reading, text, uncached,
};
use crate::fake::{Reply, ms, s};
use highwater::{
    CallOptions, Event, Origin, Viewer,
    core::{
        breaker::Stand,
        probe::ProbeSettings,
        settings::{HedgeSettings, Settings},
    },
};

// P-1, P-2, P-3, scenario P01
#[tokio::test(start_paused = true)]
async fn latest_is_the_lowest_head_near_the_highest_and_goes_to_its_holders() {
    let (a, b, c) = (Node::new(102), Node::new(101), Node::new(90));
    let pool = pool(&[&a, &b, &c], uncached()).await;
    for _ in 0..10 {
        assert_eq!(balance(&pool, "latest").await, "\"0x65\"");
    }
    assert_eq!(a.fake.sent() + b.fake.sent(), 10);
    assert!(idle(&c));
}

// P-3, scenario P02
#[tokio::test(start_paused = true)]
async fn a_call_keeps_its_block_when_it_fails_over() {
    let (a, b) = (Node::new(102), Node::new(101));
    let pool = ordered(&[&a, &b], uncached()).await;
    let moved = b.clone();
    a.fake.answer("eth_call", move |_| {
        moved.head(102);
        Reply::error(-32603, "internal error")
    });
    let params = format!("[{{\"to\":{X}}}]");
    assert_eq!(read(&pool, "eth_call", &params).await, "\"0x65\"");
    let sent = format!("[{{\"to\":{X}}},\"0x65\"]");
    assert_eq!(a.asked("eth_call"), [&*sent]);
    assert_eq!(b.asked("eth_call"), [sent]);
}

// P-3
#[tokio::test(start_paused = true)]
async fn racers_and_hedges_ask_for_one_block() {
    let hedging = Settings {
        hedge: Some(HedgeSettings::default()),
        ..uncached()
    };
    let racing = Settings {
        race: 2,
        ..uncached()
    };
    for settings in [hedging, racing] {
        let nodes = [Node::new(101), Node::new(102), Node::new(90)];
        let pool = ordered(&nodes.each_ref(), settings).await;
        let call = format!("[{{\"to\":{X}}}]");
        // A hedge waits for what is known of the method's times.
        for _ in 0..20 {
            read(&pool, "eth_call", &call).await;
        }
        let before = nodes.each_ref().map(|node| node.asked("eth_call").len());
        for node in &nodes {
            let moved = nodes.clone();
            node.fake.answer("eth_call", move |params| {
                // While the call is under way the others go on.
                moved[0].head(110);
                moved[1].head(110);
                let block = params.rsplit('"').nth(1).unwrap_or_default();
                Reply::result(format!("\"{block}\"")).after(s(2))
            });
        }
        assert_eq!(read(&pool, "eth_call", &call).await, "\"0x65\"");
        let asked: Vec<_> = nodes
            .iter()
            .zip(before)
            .map(|(node, before)| node.asked("eth_call").split_off(before))
            .collect();
        let sent = format!("[{{\"to\":{X}}},\"0x65\"]");
        assert_eq!(asked, [vec![sent.clone()], vec![sent], vec![]]);
    }
}

// P-4, scenario P03
#[tokio::test(start_paused = true)]
async fn a_block_that_was_left_out_is_filled_in_where_it_means_latest() {
    let (a, b) = (Node::new(100), Node::new(101));
    let pool = pool(&[&a, &b], uncached()).await;
    let call = format!("[{{\"to\":{X}}}]");
    for (method, params, sent) in [
        (
            "eth_call",
            call.as_str(),
            format!("[{{\"to\":{X}}},\"0x64\"]"),
        ),
        ("eth_getCode", &format!("[{X}]"), format!("[{X},\"0x64\"]")),
        (
            "eth_getStorageAt",
            &format!("[{X},\"0x0\"]"),
            format!("[{X},\"0x0\",\"0x64\"]"),
        ),
    ] {
        let before = params.to_owned();
        assert_eq!(read(&pool, method, params).await, "\"0x64\"");
        let asked = [a.asked(method), b.asked(method)].concat();
        assert_eq!(asked, [sent]);
        // The caller's own text is what it was.
        assert_eq!(params, before);
    }
}

// P-4, scenario P04
#[tokio::test(start_paused = true)]
async fn a_block_that_nodes_disagree_about_stays_left_out() {
    let a = Node::new(100);
    let pool = pool(&[&a], reading()).await;
    let params = format!("[{{\"to\":{X}}}]");
    for method in ["eth_estimateGas", "eth_createAccessList"] {
        read(&pool, method, &params).await;
        assert_eq!(a.asked(method), [params.as_str()]);
    }
}

// P-4, scenario P05
#[tokio::test(start_paused = true)]
async fn a_tag_that_was_given_is_pinned() {
    let a = Node::new(100);
    let pool = pool(&[&a], reading()).await;
    let params = format!("[{{\"to\":{X}}},\"latest\"]");
    assert_eq!(read(&pool, "eth_estimateGas", &params).await, "\"0x64\"");
    assert_eq!(
        a.asked("eth_estimateGas"),
        [format!("[{{\"to\":{X}}},\"0x64\"]")]
    );
}

// P-4, scenario M14
#[tokio::test(start_paused = true)]
async fn a_tag_in_an_object_is_pinned_in_its_object() {
    let a = Node::new(100);
    let pool = pool(&[&a], reading()).await;
    let params = format!("[{X},{{\"blockNumber\":\"latest\"}}]");
    read(&pool, "eth_getBalance", &params).await;
    assert_eq!(
        a.asked("eth_getBalance"),
        [format!("[{X},{{\"blockNumber\":\"0x64\"}}]")]
    );
}

// P-4
#[tokio::test(start_paused = true)]
async fn what_names_its_block_itself_is_sent_as_it_was_written() {
    let a = Node::new(100);
    let pool = pool(&[&a], uncached()).await;
    let hash = super::node::hash(99, 0);
    for block in [
        "\"pending\"".to_owned(),
        "\"safe\"".into(),
        "\"finalized\"".into(),
        "\"earliest\"".into(),
        "\"0x063\"".into(),
        "\"0X63\"".into(),
        format!("{{ \"blockHash\" : \"{hash}\" }}"),
    ] {
        let params = format!("[ {X} , {block} ]");
        read(&pool, "eth_getBalance", &params).await;
        assert_eq!(a.asked("eth_getBalance").last().unwrap(), &params);
    }
}

// P-4, scenarios L04 and L05 as far as the pin goes
#[tokio::test(start_paused = true)]
async fn bounds_that_were_left_out_are_pinned_and_a_range_is_never_turned_round() {
    let a = Node::new(100);
    a.fake.on("eth_getLogs", Reply::result("[]"));
    let pool = pool(&[&a], uncached()).await;
    read(&pool, "eth_getLogs", "[{\"address\":\"0xaa\"}]").await;
    assert_eq!(
        a.asked("eth_getLogs"),
        ["[{\"address\":\"0xaa\",\"fromBlock\":\"0x64\",\"toBlock\":\"0x64\"}]"]
    );
    a.head(101);
    let params = "[{\"fromBlock\":\"0x65\",\"toBlock\":\"latest\"}]";
    read(&pool, "eth_getLogs", params).await;
    let sent = &a.asked("eth_getLogs")[1];
    assert!(
        [params, "[{\"fromBlock\":\"0x65\",\"toBlock\":\"0x65\"}]"].contains(&sent.as_str()),
        "{sent}"
    );
}

// P-2, R-16, scenario P09
#[tokio::test(start_paused = true)]
async fn a_liar_ahead_never_sets_the_pin() {
    let (a, b, liar) = (Node::new(100), Node::new(101), Node::new(5000));
    let pool = pool(&[&a, &b, &liar], uncached()).await;
    assert_eq!(block_number(&pool).await, 100);
    for _ in 0..10 {
        assert_eq!(balance(&pool, "latest").await, "\"0x64\"");
    }
    assert!(idle(&liar));
}

// P-2, R-16, scenario P10
#[tokio::test(start_paused = true)]
async fn where_nobody_is_believed_the_tag_passes_through_and_is_counted() {
    let (a, b) = (Node::new(100), Node::new(5000));
    let (pool, heard) = listened(&[&a, &b], reading()).await;
    let answer = balance_with(&pool, "latest", CallOptions::default());
    let answer = answer.await.unwrap();
    assert_eq!((&*text(&answer), answer.block()), ("\"latest\"", None));
    assert_eq!(pool.cache_stats().unpinned, 1);
    let snapshot = pool.snapshot();
    assert_eq!(snapshot.reference_head, None);
    assert!(snapshot.endpoints.iter().all(|e| e.excess_lag.is_none()));
    pool.close();
    let untrusted = |event: &Event| matches!(event, Event::Head { trusted: false, .. });
    assert!(heard.iter().any(|event| untrusted(&event)));
}

// P-2, R-7, scenario P12
#[tokio::test(start_paused = true)]
async fn a_node_that_is_stuck_does_not_hold_the_pin_back() {
    let (stuck, moving) = (Node::new(100), Node::new(100));
    let settings = Settings {
        probe: Some(ProbeSettings::default()),
        ..uncached()
    };
    let pool = pool(&[&stuck, &moving], settings).await;
    balance(&pool, "latest").await;
    for second in 1..=30 {
        moving.head(100 + second);
        after(1000).await;
    }
    let before = stuck.fake.sent();
    pool.probe().await;
    assert_eq!(balance(&pool, "latest").await, "\"0x82\"");
    assert_eq!(stuck.fake.sent(), before);
    let stuck = &pool.snapshot().endpoints[0];
    assert_eq!((stuck.error, stuck.counters.failed.len()), (0.0, 0));
}

// P-2, scenario P13
#[tokio::test(start_paused = true)]
async fn an_idle_chain_is_pinned_to_where_it_stands() {
    let (a, b) = (Node::new(50), Node::new(50));
    let settings = Settings {
        probe: Some(ProbeSettings::default()),
        ..uncached()
    };
    let pool = pool(&[&a, &b], settings).await;
    for _ in 0..5 {
        assert_eq!(balance(&pool, "latest").await, "\"0x32\"");
        after(4000).await;
    }
    assert_eq!(balance(&pool, "latest").await, "\"0x32\"");
    for endpoint in pool.snapshot().endpoints {
        assert_eq!((endpoint.excess_lag, endpoint.error), (None, 0.0));
        let stand = endpoint.circuit.endpoint.stand;
        assert!(matches!(stand, Stand::Closed { .. }), "{stand:?}");
    }
}

// P-2, scenario P20
#[tokio::test(start_paused = true)]
async fn where_no_head_is_fresh_one_is_read_first_by_all_together() {
    let (a, b) = (Node::new(100), Node::new(100));
    let pool = pool(&[&a, &b], uncached()).await;
    after(3000).await;
    a.head(103);
    b.head(103);
    let heads = || a.fake.count("eth_blockNumber") + b.fake.count("eth_blockNumber");
    let before = heads();
    let reads = (0..20).map(|_| balance(&pool, "latest"));
    let blocks = futures_util::future::join_all(reads).await;
    assert_eq!(heads(), before + 1);
    // The other's reading is old, and a block that it held it still holds.
    assert!(blocks.iter().all(|block| block == "\"0x64\""), "{blocks:?}");
    assert_eq!(pool.cache_stats().unpinned, 0);
}

// P-2: one endpoint that hangs must not hold up all reads.
#[tokio::test(start_paused = true)]
async fn a_head_that_many_wait_for_is_asked_elsewhere_when_it_is_slow() {
    let (a, b) = (Node::new(100), Node::new(100));
    let pool = ordered(&[&a, &b], uncached()).await;
    after(3000).await;
    a.fake.on("eth_blockNumber", Reply::hang());
    let start = tokio::time::Instant::now();
    let reads = (0..20).map(|_| balance(&pool, "latest"));
    let blocks = futures_util::future::join_all(reads).await;
    assert!(start.elapsed() < ms(500), "{:?}", start.elapsed());
    assert!(blocks.iter().all(|block| block == "\"0x64\""), "{blocks:?}");
}

// P-2, scenario P20
#[tokio::test(start_paused = true)]
async fn where_no_head_can_be_read_nothing_is_pinned_to_an_old_one() {
    let a = Node::new(100);
    let pool = pool(&[&a], uncached()).await;
    after(3000).await;
    a.fake.on("eth_blockNumber", Reply::refused());
    let answer = balance_with(&pool, "latest", CallOptions::default());
    assert!(answer.await.is_err());
    assert!(idle(&a));
}

// P-4, scenario P22
#[tokio::test(start_paused = true)]
async fn a_node_that_wants_its_block_gets_it() {
    let a = Node::new(100);
    for method in ["eth_getBalance", "eth_call"] {
        a.fake
            .answer(method, |params| match super::node::element(params, 1) {
                Some(block) => Reply::result(block.to_owned()),
                None => Reply::error(-32602, "Invalid block param (block not found)"),
            });
    }
    let pool = pool(&[&a], reading()).await;
    let balance = format!("[{X}]");
    assert_eq!(read(&pool, "eth_getBalance", &balance).await, "\"0x64\"");
    let call = format!("[{{\"to\":{X}}}]");
    assert_eq!(read(&pool, "eth_call", &call).await, "\"0x64\"");
}

// P-1, P-5, P-11
#[tokio::test(start_paused = true)]
async fn without_head_checks_nothing_is_pinned_kept_or_answered_here() {
    let a = Node::new(100);
    let settings = Settings {
        heads: None,
        ..reading()
    };
    let pool = pool(&[&a], settings).await;
    assert_eq!(balance(&pool, "latest").await, "\"latest\"");
    assert_eq!(balance(&pool, "latest").await, "\"latest\"");
    assert_eq!(a.fake.sent(), 2);
    let before = a.fake.count("eth_blockNumber");
    a.head(90);
    assert_eq!(block_number(&pool).await, 90);
    assert_eq!(a.fake.count("eth_blockNumber"), before + 1);
    let stats = pool.cache_stats();
    assert_eq!(
        (stats.hits, stats.kept, stats.entries, stats.local),
        (0, 0, 0, 0)
    );
}

// P-3
#[tokio::test(start_paused = true)]
async fn racers_and_hedges_carry_the_same_block() {
    let (a, b) = (Node::new(101), Node::new(100));
    for node in [&a, &b] {
        node.fake.answer("eth_getBalance", |params| {
            Reply::result(super::node::element(params, 1).unwrap().to_owned()).after(ms(20))
        });
    }
    let settings = Settings {
        race: 2,
        ..uncached()
    };
    let pool = pool(&[&a, &b], settings).await;
    assert_eq!(balance(&pool, "latest").await, "\"0x64\"");
    after(100).await;
    let sent = format!("[{X},\"0x64\"]");
    assert_eq!(a.asked("eth_getBalance"), [&*sent]);
    assert_eq!(b.asked("eth_getBalance"), [sent]);
}

// P-3
#[tokio::test(start_paused = true)]
async fn a_pinned_read_goes_to_nobody_whose_head_is_unknown() {
    let (known, mute) = (Node::new(100), Node::new(100));
    mute.fake.on("eth_blockNumber", Reply::result("\"?\""));
    let pool = pool(&[&known, &mute], uncached()).await;
    known.fake.on("eth_getBalance", Reply::refused());
    let options = CallOptions {
        deadline: Some(s(5)),
        ..CallOptions::default()
    };
    let answer = balance_with(&pool, "latest", options);
    assert!(answer.await.is_err());
    assert!(idle(&mute));
}

// P-5
#[tokio::test(start_paused = true)]
async fn the_block_of_an_answer_is_the_one_it_was_pinned_to() {
    let a = Node::new(100);
    let pool = pool(&[&a], reading()).await;
    for origin in [Origin::Endpoint, Origin::Cache] {
        let answer = balance_with(&pool, "latest", CallOptions::default());
        let answer = answer.await.unwrap();
        assert_eq!((answer.origin(), answer.block()), (origin, Some(100)));
    }
}

// P-2, P-8: where the best endpoint is a block behind what the caller has seen, its head confirms nothing,
// and another one is asked for it; else every call would ask it again.
#[tokio::test(start_paused = true)]
async fn a_head_is_read_from_one_that_is_where_the_caller_was() {
    let (a, b) = (Node::new(104), Node::new(105));
    let pool = ordered(&[&a, &b], reading()).await;
    let viewer = Viewer::new();
    let seen = |min_block| CallOptions {
        viewers: vec![viewer.clone()],
        min_block,
        bypass_cache: true,
        ..CallOptions::default()
    };
    after(2000).await;
    let first = balance_with(&pool, "latest", seen(Some(105)))
        .await
        .unwrap();
    assert_eq!((text(&first).as_str(), first.endpoint()), ("\"0x69\"", "b"));
    let heads = || [&a, &b].map(|node| node.fake.count("eth_blockNumber"));
    let before = heads();
    for _ in 0..5 {
        after(100).await;
        let next = balance_with(&pool, "latest", seen(None)).await.unwrap();
        assert_eq!(text(&next), "\"0x69\"");
    }
    assert_eq!(heads(), before);
}
