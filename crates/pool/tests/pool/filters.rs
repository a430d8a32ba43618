//! Filters under ids of ours (L-4).

use crate::{
    bench::call_within,
    fake::{Fake, Reply, builder, ms, s, still},
};
use highwater::{
    Answer, CallOptions, Error, Origin, Payload, Pool,
    core::{router::Profile, settings::Settings},
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

/// A node with a chain of two logs in each block, and filters.
#[derive(Clone)]
struct Node {
    fake: Fake,
    chain: Arc<Mutex<Chain>>,
}

struct Chain {
    head: u64,
    /// Blocks from here on are of another branch.
    turned: u64,
    filters: BTreeMap<u64, u64>,
    next: u64,
    down: bool,
    /// Requests that are received and whose answer is lost.
    deaf: bool,
    takes: Duration,
}

impl Chain {
    fn hash(&self, number: u64) -> String {
        let branch = u8::from(number >= self.turned);
        format!("\"0x{number:062x}{branch:02x}\"")
    }

    fn block(&self, number: u64) -> String {
        if number > self.head {
            return "null".into();
        }
        let (hash, parent) = (self.hash(number), self.hash(number - 1));
        format!(r#"{{"number":"{number:#x}","hash":{hash},"parentHash":{parent}}}"#)
    }

    fn logs(&self, from: u64, to: u64) -> String {
        let logs = (from..=to.min(self.head)).flat_map(|number| {
            let hash = self.hash(number);
            [0, 1].map(|index| {
                format!(
                    r#"{{"blockNumber":"{number:#x}","blockHash":{hash},"logIndex":"{index:#x}"}}"#
                )
            })
        });
        format!("[{}]", logs.collect::<Vec<_>>().join(","))
    }

    fn hashes(&self, from: u64, to: u64) -> String {
        let hashes = (from..=to).map(|number| self.hash(number));
        format!("[{}]", hashes.collect::<Vec<_>>().join(","))
    }

    fn reply(&self, result: String) -> Reply {
        if self.deaf {
            return Reply::hang();
        }
        Reply::result(result).after(self.takes)
    }
}

fn number(text: &Value) -> u64 {
    let digits = text.as_str().unwrap().strip_prefix("0x").unwrap();
    u64::from_str_radix(digits, 16).unwrap()
}

impl Node {
    fn new(head: u64) -> Self {
        let chain = Arc::new(Mutex::new(Chain {
            head,
            turned: u64::MAX,
            filters: BTreeMap::new(),
            next: 1,
            down: false,
            deaf: false,
            takes: ms(5),
        }));
        let node = Self {
            fake: Fake::at(head),
            chain,
        };
        node.on("eth_blockNumber", |chain, _| {
            format!("\"{:#x}\"", chain.head)
        });
        node.on("eth_getBlockByNumber", |chain, params| match &params[0] {
            Value::String(tag) if tag == "latest" => chain.block(chain.head),
            height => chain.block(number(height)),
        });
        node.on("eth_getLogs", |chain, params| {
            let bound = |name: &str| match &params[0][name] {
                Value::String(tag) if tag == "latest" => chain.head,
                Value::Null => chain.head,
                height => number(height),
            };
            chain.logs(bound("fromBlock"), bound("toBlock"))
        });
        for method in [
            "eth_newFilter",
            "eth_newBlockFilter",
            "eth_newPendingTransactionFilter",
        ] {
            node.on(method, |chain, _| {
                let id = chain.next;
                chain.next += 1;
                chain.filters.insert(id, chain.head);
                format!("\"{id:#x}\"")
            });
        }
        node.poll_with(Chain::logs);
        node.on("eth_getFilterLogs", |chain, _| {
            chain.logs(chain.head, chain.head)
        });
        node.on("eth_uninstallFilter", |chain, params| {
            chain
                .filters
                .remove(&number(&params[0]))
                .is_some()
                .to_string()
        });
        node
    }

    /// What its filters tell of new blocks.
    fn poll_with(&self, tell: fn(&Chain, u64, u64) -> String) {
        let chain = Arc::clone(&self.chain);
        self.fake.answer("eth_getFilterChanges", move |params| {
            let mut chain = chain.lock().unwrap();
            if chain.down {
                return Reply::refused();
            }
            let params: Value = serde_json::from_str(params).unwrap();
            let (id, head) = (number(&params[0]), chain.head);
            let Some(polled) = chain.filters.get_mut(&id) else {
                return Reply::error(-32000, "filter not found");
            };
            let from = std::mem::replace(polled, head) + 1;
            chain.reply(tell(&chain, from, head))
        });
    }

    fn on(&self, method: &str, answer: impl Fn(&mut Chain, &Value) -> String + Send + 'static) {
        let chain = Arc::clone(&self.chain);
        self.fake.answer(method, move |params| {
            let mut chain = chain.lock().unwrap();
            if chain.down {
                return Reply::refused();
            }
            let params = serde_json::from_str(params).unwrap_or_default();
            let result = answer(&mut chain, &params);
            chain.reply(result)
        });
    }

    fn set(&self, change: impl FnOnce(&mut Chain)) {
        change(&mut self.chain.lock().unwrap());
    }

    fn head(&self, head: u64) {
        self.set(|chain| chain.head = head);
    }

    fn kill(&self) {
        self.set(|chain| chain.down = true);
        self.fake.everything(Some(Reply::refused()));
    }
}

/// A pool that asks `a` first.
fn pool(nodes: &[&Node], settings: Settings) -> Pool {
    let fakes: Vec<_> = nodes.iter().map(|node| &node.fake).collect();
    let profile = |weight| Profile {
        weight,
        ..Profile::default()
    };
    let weights = [1e6, 1.0, 1e-6];
    let profiles = weights.into_iter().take(nodes.len()).map(profile).collect();
    crate::fake::with_profiles(&fakes, profiles, settings)
        .timeout(s(2))
        .build()
        .unwrap()
}

async fn ask(pool: &Pool, method: &str, params: &str) -> Answer {
    call_within(pool, method, params, CallOptions::default())
        .await
        .unwrap()
}

fn text(answer: &Answer) -> &str {
    match answer.payload() {
        Payload::Result(text) | Payload::Error(text) => text,
    }
}

async fn new(pool: &Pool, method: &str) -> String {
    let params = if method == "eth_newFilter" {
        "[{}]"
    } else {
        "[]"
    };
    let answer = ask(pool, method, params).await;
    assert!(!answer.is_error(), "{}", text(&answer));
    text(&answer).to_owned()
}

async fn poll(pool: &Pool, id: &str) -> Answer {
    ask(pool, "eth_getFilterChanges", &format!("[{id}]")).await
}

/// The logs of a poll as height and index.
fn logs(answer: &Answer) -> Vec<(u64, u64)> {
    assert!(!answer.is_error(), "{}", text(answer));
    let logs: Value = serde_json::from_str(text(answer)).unwrap();
    let logs = logs.as_array().unwrap().iter();
    logs.map(|log| (number(&log["blockNumber"]), number(&log["logIndex"])))
        .collect()
}

fn of_blocks(from: u64, to: u64) -> Vec<(u64, u64)> {
    (from..=to)
        .flat_map(|block| [(block, 0), (block, 1)])
        .collect()
}

#[track_caller]
fn is_not_found(answer: &Answer) {
    assert!(answer.is_error());
    assert_eq!(
        text(answer),
        r#"{"code":-32000,"message":"filter not found"}"#
    );
    assert_eq!(answer.origin(), Origin::Filters);
}

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

// L-4: nobody there for now is no end
#[tokio::test(start_paused = true)]
async fn a_filter_outlives_an_outage_of_everybody() {
    let (a, b) = (Node::new(100), Node::new(100));
    let pool = pool(&[&a, &b], still());
    let id = new(&pool, "eth_newFilter").await;
    a.head(101);
    assert_eq!(logs(&poll(&pool, &id).await), of_blocks(101, 101));
    a.kill();
    b.kill();
    let options = CallOptions::default();
    let params = format!("[{id}]");
    let failed = call_within(&pool, "eth_getFilterChanges", &params, options).await;
    assert!(
        matches!(failed, Err(Error::AllEndpointsFailed { .. })),
        "{failed:?}"
    );
    b.set(|chain| (chain.down, chain.head) = (false, 109));
    b.fake.everything(None);
    tokio::time::sleep(s(60)).await;
    assert_eq!(logs(&poll(&pool, &id).await), of_blocks(102, 109));
}

// L-4: a filter belongs to who made it
#[tokio::test(start_paused = true)]
async fn a_filter_is_nobody_elses() {
    let a = Node::new(100);
    let pool = pool(&[&a], still());
    let of = |caller| CallOptions {
        caller,
        ..CallOptions::default()
    };
    let made = call_within(&pool, "eth_newFilter", "[{}]", of(1))
        .await
        .unwrap();
    let params = format!("[{}]", text(&made));
    a.head(101);
    for method in ["eth_getFilterChanges", "eth_getFilterLogs"] {
        let other = call_within(&pool, method, &params, of(2)).await.unwrap();
        is_not_found(&other);
    }
    let other = call_within(&pool, "eth_uninstallFilter", &params, of(2))
        .await
        .unwrap();
    assert_eq!(text(&other), "false");
    let own = call_within(&pool, "eth_getFilterChanges", &params, of(1))
        .await
        .unwrap();
    assert_eq!(logs(&own), of_blocks(101, 101));
}

// L-4
#[tokio::test(start_paused = true)]
async fn ids_that_are_not_ours_reach_nobody() {
    let a = Node::new(100);
    let pool = pool(&[&a], still());
    new(&pool, "eth_newFilter").await;
    let before = a.fake.sent();
    // The maker's own id among them.
    for params in ["[\"0x1\"]", "[]", "[1]", "[\"\"]", "[\"0x01\"]", "[null]"] {
        is_not_found(&ask(&pool, "eth_getFilterChanges", params).await);
        is_not_found(&ask(&pool, "eth_getFilterLogs", params).await);
        assert_eq!(
            text(&ask(&pool, "eth_uninstallFilter", params).await),
            "false"
        );
    }
    assert_eq!(a.fake.sent(), before);
}

// L-4
#[tokio::test(start_paused = true)]
async fn an_uninstalled_filter_is_gone_here_and_there() {
    let a = Node::new(100);
    let pool = pool(&[&a], still());
    let (one, two) = (
        new(&pool, "eth_newFilter").await,
        new(&pool, "eth_newFilter").await,
    );
    let end = |id: &str| format!("[{id}]");
    assert_eq!(
        text(&ask(&pool, "eth_uninstallFilter", &end(&one)).await),
        "true"
    );
    assert_eq!(a.chain.lock().unwrap().filters.len(), 1);
    assert_eq!(
        text(&ask(&pool, "eth_uninstallFilter", &end(&one)).await),
        "false"
    );
    is_not_found(&poll(&pool, &one).await);
    // Whatever its maker says.
    a.kill();
    assert_eq!(
        text(&ask(&pool, "eth_uninstallFilter", &end(&two)).await),
        "true"
    );
    is_not_found(&poll(&pool, &two).await);
}

// L-4: five minutes, as geth
#[tokio::test(start_paused = true)]
async fn a_filter_that_nobody_polls_is_forgotten() {
    let a = Node::new(100);
    let pool = pool(&[&a], still());
    let id = new(&pool, "eth_newFilter").await;
    tokio::time::sleep(s(299)).await;
    assert_eq!(logs(&poll(&pool, &id).await), []);
    tokio::time::sleep(s(301)).await;
    is_not_found(&poll(&pool, &id).await);
}

// L-4
#[tokio::test(start_paused = true)]
async fn all_logs_of_a_filter_come_from_its_maker_or_as_a_query() {
    let (a, b) = (Node::new(100), Node::new(100));
    let pool = pool(&[&a, &b], still());
    let id = new(&pool, "eth_newFilter").await;
    let all = format!("[{id}]");
    let answer = ask(&pool, "eth_getFilterLogs", &all).await;
    assert_eq!(
        (answer.endpoint(), logs(&answer)),
        ("a", of_blocks(100, 100))
    );
    a.kill();
    let answer = ask(&pool, "eth_getFilterLogs", &all).await;
    assert_eq!(
        (answer.endpoint(), logs(&answer)),
        ("b", of_blocks(100, 100))
    );
    assert_eq!(b.fake.count("eth_getLogs"), 1);
    let blocks = new(&pool, "eth_newBlockFilter").await;
    is_not_found(&ask(&pool, "eth_getFilterLogs", &format!("[{blocks}]")).await);
}

// L-4: whatever fails when, every log is told once and in order
#[tokio::test(start_paused = true)]
async fn nothing_is_lost_or_repeated_whatever_fails() {
    for seed in 0..16_u64 {
        let mut drawn = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut draw = |below: u64| {
            drawn ^= drawn << 13;
            drawn ^= drawn >> 7;
            drawn ^= drawn << 17;
            drawn % below
        };
        let nodes = [Node::new(100), Node::new(100), Node::new(100)];
        let pool = pool(&[&nodes[0], &nodes[1], &nodes[2]], still());
        let id = new(&pool, "eth_newFilter").await;
        let (mut told, mut head) = (Vec::new(), 100);
        for _ in 0..60 {
            head += draw(4);
            for node in &nodes {
                let behind = draw(3);
                node.set(|chain| {
                    chain.head = chain.head.max(head - behind.min(head - 100));
                    match draw(12) {
                        0 => chain.filters.clear(),
                        1 => chain.down = true,
                        2 => chain.deaf = true,
                        _ => (chain.down, chain.deaf) = (false, false),
                    }
                });
            }
            tokio::time::sleep(ms(500 * draw(12))).await;
            let params = format!("[{id}]");
            let polled = call_within(
                &pool,
                "eth_getFilterChanges",
                &params,
                CallOptions::default(),
            );
            // Some callers do not wait.
            let patience = if draw(6) == 0 { ms(3) } else { s(60) };
            if let Ok(Ok(answer)) = tokio::time::timeout(patience, polled).await {
                told.extend(logs(&answer));
            }
        }
        for node in &nodes {
            node.set(|chain| (chain.down, chain.deaf, chain.head) = (false, false, head));
        }
        tokio::time::sleep(s(70)).await;
        told.extend(logs(&poll(&pool, &id).await));
        assert_eq!(told, of_blocks(101, head), "seed {seed}");
    }
}

// P-8, P-9: what a filter told of has been seen
#[tokio::test(start_paused = true)]
async fn what_a_filter_told_is_seen_by_later_reads() {
    let (a, b) = (Node::new(100), Node::new(100));
    let settings = Settings {
        probe: None,
        race: 0,
        ..Settings::default()
    };
    let fakes = [&a.fake, &b.fake];
    let pool = builder(&fakes, settings).build().unwrap();
    let id = new(&pool, "eth_newFilter").await;
    a.head(105);
    b.head(105);
    let seen = poll(&pool, &id).await;
    assert_eq!(seen.block(), Some(105));
    let number = ask(&pool, "eth_blockNumber", "[]").await;
    assert_eq!(text(&number), "\"0x69\"");
}
