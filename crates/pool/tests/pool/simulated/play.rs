//! One scenario through a pool of its own, and many of them.

use super::{
    client::{Board, Client},
    draft::generate,
    lab_node::{LabNode, Witness},
};
use highwater::{
    CallOptions, Endpoint, Event as PoolEvent, Payload, Pool, Request, Viewer,
    core::{ChainId, jsonrpc::Params, method, settings::Settings},
};
use highwater_lab::{
    chain::Quarry,
    checker::{Promises, Violation, check},
    history::{Event, Got, History},
    rng::Rng,
    scenario::Scenario,
    world,
};
use std::{
    ops::AddAssign,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
};
use tokio::time::{Instant, sleep_until, timeout};

/// What became of the reads of some scenarios.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) scenarios: u64,
    pub(crate) reads: u64,
    pub(crate) answered: u64,
    pub(crate) requests: u64,
    pub(crate) hits: u64,
    pub(crate) shared: u64,
    pub(crate) local: u64,
    pub(crate) unpinned: u64,
    pub(crate) reorgs: u64,
    pub(crate) falls: u64,
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.scenarios += other.scenarios;
        self.reads += other.reads;
        self.answered += other.answered;
        self.requests += other.requests;
        self.hits += other.hits;
        self.shared += other.shared;
        self.local += other.local;
        self.unpinned += other.unpinned;
        self.reorgs += other.reorgs;
        self.falls += other.falls;
    }
}

/// One run.
pub(crate) struct Played {
    pub(crate) totals: Totals,
    pub(crate) history: History,
    pub(crate) violations: Vec<Violation>,
}

/// Plays a scenario in a runtime of its own, in paused time, and reads its history.
pub(crate) fn play(scenario: &Scenario, quarry: &Arc<Quarry>) -> Played {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let settings = world::settings(&scenario.router);
    let (chain, nodes) = scenario.build_from(quarry);
    let (tell, told) = mpsc::channel();
    let (history, stats) = runtime.block_on(async {
        let witness = Witness::new();
        let nodes = nodes.into_iter().enumerate().map(|(place, node)| {
            let label = node.profile().name.clone();
            let node = Arc::new(Mutex::new(node));
            let witness = witness.clone();
            Endpoint::upstream(
                label,
                Arc::new(LabNode {
                    place,
                    node,
                    witness,
                }),
            )
        });
        let pool = pool(scenario, settings.clone(), nodes, tell);
        live_all(scenario, &pool, &witness).await;
        let stats = pool.cache_stats();
        pool.close();
        let history = witness.history.lock().unwrap().clone();
        (history, stats)
    });
    drop(runtime);
    let mut totals = Totals {
        scenarios: 1,
        hits: stats.hits,
        shared: stats.shared,
        local: stats.local,
        unpinned: stats.unpinned,
        ..Totals::default()
    };
    // Whoever tells has gone when the last event is told.
    for floor in told {
        totals.reorgs += 1;
        totals.falls += u64::from(floor);
    }
    for event in history.events() {
        match event {
            Event::Called { .. } => totals.reads += 1,
            Event::Answered {
                got: Got::Result(_),
                ..
            } => totals.answered += 1,
            Event::Received { .. } => totals.requests += 1,
            Event::Answered { .. } | Event::Took { .. } | Event::Served { .. } => {}
        }
    }
    let promises = Promises::pooled(scenario, &settings);
    Played {
        totals,
        violations: check(&history, &chain, &promises),
        history,
    }
}

fn pool(
    scenario: &Scenario,
    settings: Settings,
    nodes: impl Iterator<Item = Endpoint>,
    tell: mpsc::Sender<bool>,
) -> Pool {
    let mut builder = Pool::builder()
        .chain(ChainId(scenario.chain.chain_id))
        .timeout(scenario.router.attempt)
        .deadline(scenario.router.deadline)
        .settings(settings)
        .seed(scenario.seed)
        .on_event(move |event| {
            if let PoolEvent::Reorg { floor, .. } = event {
                tell.send(*floor).unwrap();
            }
        });
    for node in nodes {
        builder = builder.endpoint(node);
    }
    builder.build().unwrap()
}

/// Lets all clients live until the scenario is over.
async fn live_all(scenario: &Scenario, pool: &Pool, witness: &Witness) {
    let board = Board::default();
    let clients = (0..scenario.load.clients).map(|number| {
        let client = Client::new(scenario, number, Arc::clone(&board));
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
}

async fn live(scenario: Scenario, mut client: Client, pool: Pool, witness: Witness) {
    let (every, patience) = (scenario.load.every, scenario.load.timeout);
    let viewer = Viewer::new();
    // In half of the scenarios all clients ask at the same moments.
    let together = scenario.seed.is_multiple_of(2);
    let share = Rng::at(scenario.seed, &[u64::MAX - 1, client.number]).unit();
    let share = if together { 0.0 } else { share };
    let mut at = witness.start + every.mul_f64(share);
    let mut calls = 0;
    while at < witness.start + scenario.duration {
        sleep_until(at).await;
        let (name, params) = client.ask();
        calls += 1;
        let number = client.number * 1_000_000 + calls;
        witness.saw(Event::Called {
            at: witness.now(),
            client: client.number,
            call: number,
            id: number.to_string(),
            method: name.to_owned(),
            params: params.clone(),
        });
        let request = Request {
            method: name,
            descriptor: method::lookup(name),
            params: Params::Array(&params),
        };
        let options = CallOptions {
            viewers: vec![viewer.clone()],
            ..CallOptions::default()
        };
        let got = match timeout(patience, pool.request(request, options)).await {
            Ok(Ok(answer)) => match answer.payload() {
                Payload::Result(result) => Got::Result(result.to_owned()),
                Payload::Error(error) => Got::Error(error.to_owned()),
            },
            Ok(Err(error)) => Got::Nothing(error.to_string()),
            Err(_) => Got::Nothing("no answer in time".to_owned()),
        };
        let highest = scenario.chain.head_at(witness.now());
        client.hear(name, &got, highest);
        witness.saw(Event::Answered {
            at: witness.now(),
            call: number,
            id: Some(number.to_string()),
            got,
        });
        at = (at + every).max(Instant::now());
    }
}

/// Plays scenarios of seeds from `first` on until so many reads were made, on all cores. What was
/// found comes with its seed, lowest first.
pub(crate) fn play_many(first: u64, reads: u64) -> (Totals, Vec<(u64, Violation)>) {
    let (next, made) = (AtomicU64::new(first), AtomicU64::new(0));
    let all = Mutex::new((Totals::default(), Vec::new()));
    let work = || {
        let quarry = Arc::new(Quarry::default());
        while made.load(Ordering::Relaxed) < reads {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let played = play(&generate(seed).scenario(), &quarry);
            made.fetch_add(played.totals.reads, Ordering::Relaxed);
            let mut all = all.lock().unwrap();
            all.0 += played.totals;
            all.1
                .extend(played.violations.into_iter().map(|found| (seed, found)));
        }
    };
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
    let (totals, mut found) = all.into_inner().unwrap();
    found.sort_by_key(|(seed, violation)| (*seed, violation.at));
    (totals, found)
}
