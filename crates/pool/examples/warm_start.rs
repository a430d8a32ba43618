//! What a warm start is worth: the first hundred calls of a pool that knows nothing, and of one that
//! was given the scores of a pool before it (P-25).
//!
//! `cargo run --profile ci -p highwater --example warm_start [-- SEEDS]`: five nodes of the lab, two of
//! them slow, in virtual time; a hundred calls one after the other, for ten seeds unless told
//! otherwise. The same seeds give the same table.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use highwater::{
    CallOptions, Endpoint, Pool, Request, Scores,
    core::{
        ChainId,
        call::Delivery,
        jsonrpc::Params,
        method,
        select::{Strategy, Weights},
        settings::{ReadSettings, Settings},
    },
    upstream::{RawReply, SendError, SendErrorKind, Upstream},
};
use highwater_lab::{
    node::{Node, Seen},
    scenario::Scenario,
};
use http::HeaderMap;
use std::{
    error::Error,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, sleep};

const SCENARIO: &str = r#"
name = "warm start"
duration = "10m"
[chain]
block_time = "12s"
[load]
clients = 1
every = "1s"
timeout = "5s"
[[nodes]]
name = "near"
latency = { median = "30ms", sigma = 0.3 }
[[nodes]]
name = "far"
latency = { median = "60ms", sigma = 0.3 }
[[nodes]]
name = "farther"
latency = { median = "90ms", sigma = 0.3 }
[[nodes]]
name = "slow"
latency = { median = "900ms", sigma = 0.3 }
[[nodes]]
name = "slower"
latency = { median = "1600ms", sigma = 0.3 }
"#;

/// Calls that are measured of each pool.
const CALLS: u64 = 100;
/// Calls after which a pool has learned what it can be asked for.
const LEARNING: u64 = 200;
/// Longer than any good answer.
const SLOW: Duration = Duration::from_millis(500);

fn main() -> Result<(), Box<dyn Error>> {
    let seeds = match std::env::args().nth(1) {
        Some(text) => text.parse()?,
        None => 10,
    };
    println!(
        "first {CALLS} calls, {seeds} seeds, five endpoints of which two are slow: over {} ms\n",
        SLOW.as_millis()
    );
    println!("| strategy | race | start | p50 | p99 | slow | slow among the first ten |");
    println!("|---|---|---|---|---|---|---|");
    for (name, strategy, race) in [
        ("adaptive", Strategy::Adaptive, 0),
        ("adaptive", Strategy::Adaptive, 2),
        ("weighted-sum", Strategy::WeightedSum(Weights::default()), 0),
        ("least-loaded", Strategy::LeastLoaded, 0),
    ] {
        let settings = Settings {
            strategy,
            race,
            // Every call is a request: what is measured is the choice of its endpoint.
            reads: ReadSettings::off(),
            ..Settings::gateway()
        };
        let (mut cold, mut warm) = (Vec::new(), Vec::new());
        for seed in 0..seeds {
            let scores = played(seed, &settings, None, &mut cold)?;
            played(seed, &settings, Some(&scores), &mut warm)?;
        }
        let race = match race {
            0 => "off".to_owned(),
            width => width.to_string(),
        };
        for (start, times) in [("cold", &mut cold), ("warm", &mut warm)] {
            let first = times
                .chunks(CALLS as usize)
                .flat_map(|of_one| &of_one[..10]);
            let first = slow_share(first);
            let slow = slow_share(times.iter());
            times.sort_unstable();
            let [p50, p99] = [0.5, 0.99].map(|share| quantile(times, share));
            println!(
                "| {name} | {race} | {start} | {p50} ms | {p99} ms | {slow:.1} % | {first:.1} % |"
            );
        }
    }
    Ok(())
}

/// The times of the first calls of a pool, and what it has learned in the end.
fn played(
    seed: u64,
    settings: &Settings,
    scores: Option<&Scores>,
    times: &mut Vec<Duration>,
) -> Result<Scores, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()?;
    runtime.block_on(async {
        let pool = pool(seed, settings)?;
        if let Some(scores) = scores {
            pool.restore_scores(scores)?;
        }
        for number in 0..LEARNING {
            let params = format!(r#"[{{"to":"0x{number:040x}"}},"latest"]"#);
            let request = Request {
                method: "eth_call",
                descriptor: method::lookup("eth_call"),
                params: Params::Array(&params),
            };
            let begun = Instant::now();
            pool.request(request, CallOptions::default()).await?;
            if number < CALLS {
                times.push(begun.elapsed());
            }
        }
        let scores = pool.scores();
        pool.close();
        Ok(scores)
    })
}

fn pool(seed: u64, settings: &Settings) -> Result<Pool, Box<dyn Error>> {
    let scenario = Scenario::parse(SCENARIO, Some(seed)).map_err(|error| format!("{error:?}"))?;
    let start = Instant::now();
    let builder = Pool::builder()
        .chain(ChainId(scenario.chain.chain_id))
        .settings(settings.clone())
        .seed(seed);
    let (_, nodes) = scenario.build();
    let pool = nodes.into_iter().fold(builder, |builder, node| {
        let label = node.profile().name.clone();
        let node = Arc::new(Mutex::new(node));
        builder.endpoint(Endpoint::upstream(label, Arc::new(Way { node, start })))
    });
    Ok(pool.build()?)
}

/// The way to a node of the lab.
struct Way {
    node: Arc<Mutex<Node>>,
    start: Instant,
}

impl Upstream for Way {
    fn send(
        &self,
        message: Bytes,
        _timeout: Duration,
    ) -> BoxFuture<'static, Result<RawReply, SendError>> {
        let (node, start) = (Arc::clone(&self.node), self.start);
        Box::pin(async move {
            let exchange = {
                let mut node = node.lock().unwrap_or_else(PoisonError::into_inner);
                node.ask(start.elapsed(), "pool", &message)
            };
            match exchange.seen() {
                Some((after, Seen::Complete { status, body, .. })) => {
                    sleep(after).await;
                    Ok(RawReply {
                        status,
                        headers: HeaderMap::new(),
                        body,
                    })
                }
                // No fault is played.
                Some((_, Seen::Refused | Seen::Broken)) | None => Err(SendError {
                    kind: SendErrorKind::Reset,
                    delivery: Delivery::MaybeSent,
                }),
            }
        })
    }
}

/// How many of them are slow, in per cent.
fn slow_share<'a>(times: impl Iterator<Item = &'a Duration>) -> f64 {
    let (mut slow, mut all) = (0_u32, 0_u32);
    for time in times {
        all += 1;
        slow += u32::from(*time > SLOW);
    }
    100.0 * f64::from(slow) / f64::from(all.max(1))
}

/// The time that this share of the sorted times does not exceed, in milliseconds.
fn quantile(sorted: &[Duration], share: f64) -> u128 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    let place = rank.saturating_sub(1);
    sorted.get(place).map_or(0, Duration::as_millis)
}
