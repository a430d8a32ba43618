//! What reads cost upstream: two hundred people open one page within a minute.
//!
//! Each page asks thirty things at once, as the page of an exchange or a lending market does: what the
//! contracts say now, the person's own balance, the newest block, the last trades with their receipts, and
//! two queries of logs. The chain makes a block a second; three nodes answer in 20 to 60 ms. What is printed
//! is how many requests reached the nodes for each call of a page, with each part of reads on and off:
//!
//! `cargo test -p highwater --test page_load -- --nocapture`
//!
//! Time is virtual and the seed fixed, so that the figures are the same wherever it runs.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../pool/simulated/lab_node.rs"]
mod lab_node;
mod page;

use highwater::{
    CallOptions, Endpoint, Pool, Request,
    core::{ChainId, jsonrpc::Params, method, settings::Settings},
};
use highwater_lab::{history::Event, rng::Rng, scenario::Scenario};
use lab_node::{LabNode, Witness};
use page::Page;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{sleep, sleep_until};

const USERS: u64 = 200;
const SPAN: Duration = Duration::from_secs(60);
const SCENARIO: &str = r#"
name = "a page"
seed = 7
duration = "70s"
[chain]
start = 130
block_time = "1s"
[load]
clients = 1
[[nodes]]
name = "one"
latency = { median = "20ms", sigma = 0.3 }
[[nodes]]
name = "two"
latency = { median = "40ms", sigma = 0.3 }
[[nodes]]
name = "three"
latency = { median = "60ms", sigma = 0.3 }
"#;

/// What became of one run.
struct Load {
    calls: u64,
    /// Requests that reached the nodes, probes, checks and headers included.
    requests: u64,
}

impl Load {
    fn each(&self) -> f64 {
        self.requests as f64 / self.calls as f64
    }
}

fn play(settings: &Settings) -> Load {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let scenario = Scenario::parse(SCENARIO, None).unwrap();
        let (chain, nodes) = scenario.build();
        let witness = Witness::new();
        let mut builder = Pool::builder()
            .chain(ChainId(scenario.chain.chain_id))
            .settings(settings.clone())
            .seed(scenario.seed);
        for (place, node) in nodes.into_iter().enumerate() {
            let label = node.profile().name.clone();
            let node = Arc::new(Mutex::new(node));
            let witness = witness.clone();
            let node = LabNode {
                place,
                node,
                witness,
            };
            builder = builder.endpoint(Endpoint::upstream(label, Arc::new(node)));
        }
        let pool = builder.build().unwrap();
        let mut rng = Rng::at(scenario.seed, &[1]);
        let mut pages = Vec::new();
        for user in 0..USERS {
            let after = SPAN.mul_f64(rng.below(1_000_000) as f64 / 1e6);
            let (pool, start) = (pool.clone(), witness.start);
            let page = Page::new(user, Arc::clone(&chain));
            pages.push(tokio::spawn(async move {
                sleep_until(start + after).await;
                page.open(&pool).await
            }));
        }
        let mut calls = 0;
        for page in pages {
            calls += page.await.unwrap();
        }
        sleep(Duration::from_millis(100)).await;
        pool.close();
        let history = witness.history.lock().unwrap();
        let received = |event: &&Event| matches!(event, Event::Received { .. });
        let requests = history.events().iter().filter(received).count() as u64;
        Load { calls, requests }
    })
}

/// The parts, and what is without each.
fn variants() -> Vec<(&'static str, Settings)> {
    let all = Settings {
        race: 0,
        ..Settings::default()
    };
    let without = |change: fn(&mut Settings)| {
        let mut settings = all.clone();
        change(&mut settings);
        settings
    };
    vec![
        ("all on", all.clone()),
        ("without pin", without(|s| s.reads.pin = None)),
        ("without coalesce", without(|s| s.reads.coalesce = false)),
        ("without cache", without(|s| s.reads.cache = None)),
        (
            "all off",
            without(|s| {
                s.reads.pin = None;
                s.reads.coalesce = false;
                s.reads.cache = None;
            }),
        ),
    ]
}

// P-20
#[test]
fn most_of_what_a_page_asks_is_answered_without_a_request() {
    let mut each = Vec::new();
    println!("| parts | calls | requests | requests a call | avoided |");
    println!("|---|---|---|---|---|");
    for (name, settings) in variants() {
        let load = play(&settings);
        assert_eq!(load.calls, USERS * page::READS, "{name}");
        println!(
            "| {name} | {} | {} | {:.3} | {:.1} % |",
            load.calls,
            load.requests,
            load.each(),
            100.0 * (1.0 - load.each()),
        );
        each.push(load.each());
    }
    let [all, others @ .., off] = &*each else {
        panic!("no variants")
    };
    assert!(*all <= 0.2, "{all}");
    assert!(*off >= 1.0, "{off}");
    for other in others {
        assert!(all <= other, "{all} {other}");
    }
}

async fn ask(pool: &Pool, name: &'static str, params: &str) -> String {
    let request = Request {
        method: name,
        descriptor: method::lookup(name),
        params: Params::Array(params),
    };
    let answer = pool.request(request, CallOptions::default()).await.unwrap();
    assert!(!answer.is_error(), "{name} {params}");
    String::from_utf8(answer.bytes().to_vec()).unwrap()
}
