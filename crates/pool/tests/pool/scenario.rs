//! The lab's scenarios through the pool, in paused time: the same files, the same nodes, the same
//! checker that judges a gateway.

use crate::{
    bench::call,
    simulated::lab_node::{LabNode, Witness},
};
use highwater::{
    Endpoint, Payload, Pool,
    core::{ChainId, bucket, router::Profile, settings::Settings},
};
use highwater_lab::{
    chain::{Chain, Sender, TRANSFER},
    checker::{Breach, Promises, check},
    history::{Event, Got, History},
    rng::Rng,
    scenario::{Ask, Scenario},
};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{Instant, sleep_until, timeout};

const REORG: &str = include_str!("../../../lab/scenarios/reorg.toml");
const ROUGH: &str = include_str!("../../../lab/scenarios/rough-day.toml");
const TWO: &str = include_str!("../../../lab/scenarios/two-providers.toml");

/// One client: it asks what programs ask, out of what it was told.
struct Client {
    number: u64,
    asks: Vec<Ask>,
    rng: Rng,
    sender: Sender,
    head: u64,
    hashes: Vec<String>,
    sent: u64,
}

impl Client {
    fn new(scenario: &Scenario, number: u64) -> Self {
        let place = usize::try_from(number).unwrap();
        Self {
            number,
            asks: scenario.load.asks.clone(),
            rng: Rng::at(scenario.seed, &[u64::MAX, number]),
            sender: Sender::new(scenario.seed, scenario.chain.chain_id, place),
            head: scenario.chain.start,
            hashes: Vec::new(),
            sent: 0,
        }
    }

    fn ask(&mut self) -> (&'static str, String) {
        let place = self.rng.below(self.asks.len() as u64);
        let me = self.sender.address();
        let at = self.head - self.rng.below(8).min(self.head);
        match self.asks[usize::try_from(place).unwrap()] {
            Ask::Block => ("eth_getBlockByNumber", r#"["latest",false]"#.to_owned()),
            Ask::Balance => ("eth_getBalance", format!(r#"["{me}","latest"]"#)),
            Ask::BalanceAt => ("eth_getBalance", format!(r#"["{me}","{at:#x}"]"#)),
            Ask::Call => (
                "eth_call",
                format!(r#"[{{"to":"{me}","data":"0x{at:016x}"}},"latest"]"#),
            ),
            Ask::Logs => {
                let to = self.head;
                let range = format!(
                    r#"[{{"fromBlock":"{at:#x}","toBlock":"{to:#x}","topics":["{TRANSFER}"]}}]"#
                );
                ("eth_getLogs", range)
            }
            Ask::Receipt if !self.hashes.is_empty() => {
                let known = self.rng.below(self.hashes.len() as u64);
                let hash = &self.hashes[usize::try_from(known).unwrap()];
                ("eth_getTransactionReceipt", format!(r#"["{hash}"]"#))
            }
            Ask::Send => {
                let (raw, hash) = self.sender.transfer(self.sent);
                self.sent += 1;
                self.hashes.push(hash.to_string());
                ("eth_sendRawTransaction", format!(r#"["{raw}"]"#))
            }
            _ => ("eth_blockNumber", "[]".to_owned()),
        }
    }

    /// Learns a head, as far as the chain can have got: what a liar says of it is passed on where
    /// reads are not pinned, and a question about such a block has no answer.
    fn hear(&mut self, method: &str, got: &Got, highest: u64) {
        if let (Got::Result(result), "eth_blockNumber") = (got, method) {
            let digits = result.trim_matches('"').trim_start_matches("0x");
            let told = u64::from_str_radix(digits, 16).unwrap();
            self.head = self.head.max(told.min(highest));
        }
    }
}

/// What a run leaves behind.
struct Run {
    history: History,
    chain: Arc<Chain>,
    pool: Pool,
}

/// Runs a scenario: every client asks the pool at its times, each call within the client's patience.
async fn run(scenario: &Scenario, settings: Settings) -> Run {
    let witness = Witness::new();
    let (chain, nodes) = scenario.build();
    let mut builder = Pool::builder()
        .chain(ChainId(scenario.chain.chain_id))
        .timeout(Duration::from_secs(1))
        .deadline(scenario.load.timeout)
        .settings(settings)
        .seed(scenario.seed);
    for (place, (node, (profile, budget))) in nodes.into_iter().zip(&scenario.nodes).enumerate() {
        let rate = budget.map(|budget| bucket::Rate {
            rps: budget.rps,
            burst: budget.burst,
        });
        let budget = bucket::Budget {
            rate,
            ..bucket::Budget::default()
        };
        let lab = LabNode {
            place,
            node: Arc::new(Mutex::new(node)),
            witness: witness.clone(),
        };
        let endpoint = Endpoint::upstream(profile.name.clone(), Arc::new(lab));
        builder = builder.endpoint(endpoint.profile(Profile {
            account: Arc::new(bucket::Account::new("", &budget)),
            ..Profile::default()
        }));
    }
    let pool = builder.build().unwrap();
    let clients = (0..scenario.load.clients).map(|number| {
        let client = Client::new(scenario, number);
        tokio::spawn(live(
            scenario.clone(),
            client,
            pool.clone(),
            witness.clone(),
        ))
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.unwrap();
    }
    let history = witness.history.lock().unwrap().clone();
    Run {
        history,
        chain,
        pool,
    }
}

async fn live(scenario: Scenario, mut client: Client, pool: Pool, witness: Witness) {
    let (every, patience) = (scenario.load.every, scenario.load.timeout);
    let share = Rng::at(scenario.seed, &[u64::MAX - 1, client.number]).unit();
    let mut at = witness.start + every.mul_f64(share);
    let mut calls = 0;
    while at < witness.start + scenario.duration {
        sleep_until(at).await;
        let (method, params) = client.ask();
        calls += 1;
        let number = client.number * 1_000_000 + calls;
        witness.saw(Event::Called {
            at: witness.now(),
            client: client.number,
            call: number,
            id: number.to_string(),
            method: method.to_owned(),
            params: params.clone(),
        });
        let got = match timeout(patience, call(&pool, method, &params)).await {
            Ok(Ok(answer)) => match answer.payload() {
                Payload::Result(result) => Got::Result(result.to_owned()),
                Payload::Error(error) => Got::Error(error.to_owned()),
            },
            Ok(Err(error)) => Got::Nothing(error.to_string()),
            Err(_) => Got::Nothing("no answer in time".to_owned()),
        };
        let blocks = witness.now().as_millis() / scenario.chain.block_time.as_millis();
        let highest = scenario.chain.start + u64::try_from(blocks).unwrap();
        client.hear(method, &got, highest);
        witness.saw(Event::Answered {
            at: witness.now(),
            call: number,
            id: Some(number.to_string()),
            got,
        });
        at = (at + every).max(Instant::now());
    }
}

impl Run {
    fn breaches(&self, scenario: &Scenario) -> BTreeSet<Breach> {
        let found = check(&self.history, &self.chain, &Promises::of(scenario));
        found
            .into_iter()
            .map(|violation| violation.breach)
            .collect()
    }

    /// Calls of reads, and of those that write: made and unanswered.
    fn unanswered(&self) -> [(usize, usize); 2] {
        let mut writes = BTreeSet::new();
        let mut counts = [(0, 0); 2];
        for event in self.history.events() {
            match event {
                Event::Called { call, method, .. } => {
                    let writing = method == "eth_sendRawTransaction";
                    if writing {
                        writes.insert(*call);
                    }
                    counts[usize::from(writing)].0 += 1;
                }
                Event::Answered {
                    call,
                    got: Got::Nothing(_),
                    ..
                } => {
                    counts[usize::from(writes.contains(call))].1 += 1;
                }
                _ => {}
            }
        }
        counts
    }
}

/// The scenario, of which this many seconds are played for at most four clients.
fn scenario(text: &str, seconds: u64, seed: Option<u64>) -> Scenario {
    let mut scenario = Scenario::parse(text, seed).unwrap();
    scenario.duration = scenario.duration.min(Duration::from_secs(seconds));
    scenario.load.clients = scenario.load.clients.min(4);
    scenario
}

// B-3, B-4: pinned reads, which the other promises need, are for the layer above.
#[tokio::test(start_paused = true)]
async fn no_read_is_lost_and_routing_breaks_none_of_its_promises() {
    let library = Settings::default();
    let plays = [
        (REORG, 8, library.clone()),
        (ROUGH, 45, Settings::gateway()),
        (TWO, 25, library),
    ];
    for (text, seconds, settings) in plays {
        // A long run plays all of it.
        let scenario = match std::env::var_os("HIGHWATER_LONG") {
            Some(_) => Scenario::parse(text, None).unwrap(),
            None => scenario(text, seconds, None),
        };
        let run = run(&scenario, settings).await;
        let [(reads, lost), (writes, open)] = run.unanswered();
        assert!(
            reads > 100 && lost == 0,
            "{}: {lost} of {reads}",
            scenario.name
        );
        // A submission that may have left is not repeated (R-36).
        assert!(open * 20 <= writes, "{}: {open} of {writes}", scenario.name);
        let breaches = run.breaches(&scenario);
        for breach in [
            Breach::SentTwice,
            Breach::OverBudget,
            Breach::Invented,
            Breach::WrongCaller,
        ] {
            assert!(!breaches.contains(&breach), "{}: {breach:?}", scenario.name);
        }
        let endpoints = run.pool.snapshot().endpoints;
        assert!(endpoints.iter().all(|endpoint| endpoint.counters.sent > 0));
    }
}

// B-3
#[tokio::test(start_paused = true)]
async fn the_same_scenario_and_seed_give_the_same_history() {
    let mut hashes = Vec::new();
    for seed in [None, None, Some(12)] {
        let scenario = scenario(ROUGH, 4, seed);
        hashes.push(run(&scenario, Settings::default()).await.history.sha256());
    }
    assert_eq!(hashes[0], hashes[1]);
    assert_ne!(hashes[0], hashes[2]);
}
