//! Log queries through a pool whose nodes lag, refuse, cut and follow reorganisations late, held against
//! a scan of the chain.
//!
//! An answer is right if it is what some node's chain had within the last moments: nobody can know of a
//! reorganisation before a node tells a header of it. Which logs a block has follows from its number and
//! its branch.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use highwater::{
    CallOptions, Endpoint, Payload, Pool, Request, Viewer,
    core::{
        ChainId,
        cache::CacheSettings,
        jsonrpc::Params,
        learn::{Declared, Size},
        method,
        router::Profile,
        settings::{ReadSettings, Settings},
    },
    upstream::{RawReply, SendError, SendErrorKind, Upstream},
};
use highwater_lab::{
    call::parse_calls,
    checker::{
        Breach,
        lists::{Place, compare},
    },
    rng::Rng,
};
use http::HeaderMap;
use serde_json::Value;
use std::{
    fmt::Write,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// Queries of one seed.
const OF_ONE: u64 = 200;
/// The first head.
const START: u64 = 150;
/// How long after a reorganisation answers of the branch before are excused: the latest node follows it,
/// the next block comes, a probe finds it (one in three is left out), and its header is read.
const NOTICE: Duration = Duration::from_millis(7000);
const BLOCK: Duration = Duration::from_millis(1000);
/// The deepest reorganisation. What the chain calls final is below it.
const DEEPEST: u64 = 12;
/// The chain's blocks are final after fifteen.
const CHAIN: u64 = 56;

/// The branch of each block, and since when.
#[derive(Clone)]
struct Version {
    since: Duration,
    branches: Vec<u8>,
}

struct Chain {
    start: Instant,
    versions: Vec<Version>,
}

impl Chain {
    fn at(&self, time: Duration) -> &Version {
        let later = self
            .versions
            .partition_point(|version| version.since <= time);
        &self.versions[later.saturating_sub(1)]
    }

    /// Those that some node may have been on in the last moments, newest first.
    fn lately(&self, from: Duration, to: Duration) -> impl Iterator<Item = &Version> {
        let first = self
            .versions
            .partition_point(|version| version.since <= from);
        let last = self.versions.partition_point(|version| version.since <= to);
        self.versions[first.saturating_sub(1)..last].iter().rev()
    }
}

impl Version {
    fn head(&self) -> u64 {
        self.branches.len() as u64 - 1
    }

    fn hash(&self, number: u64) -> String {
        let branch = self.branches[usize::try_from(number).unwrap()];
        format!("0x{:062x}{branch:02x}", number + 1)
    }

    /// Emitters of the logs of a block.
    fn emitters(&self, number: u64) -> Vec<u8> {
        let branch = self.branches[usize::try_from(number).unwrap()];
        let mut rng = Rng::at(u64::from(branch), &[number]);
        (0..rng.below(4))
            .map(|_| u8::try_from(rng.below(3)).unwrap())
            .collect()
    }

    fn places(&self, wanted: &[u8], from: u64, to: u64) -> Vec<Place> {
        let mut all = Vec::new();
        for height in from..=to.min(self.head()) {
            for (index, emitter) in (0..).zip(self.emitters(height)) {
                if wanted.is_empty() || wanted.contains(&emitter) {
                    let hash = self.hash(height);
                    all.push(Place {
                        height,
                        index,
                        hash,
                    });
                }
            }
        }
        all
    }
}

/// What a node does.
#[derive(Clone, Debug, Default)]
struct Habits {
    late: Duration,
    /// Most blocks of a range.
    limit: Option<u64>,
    /// Most logs, the others left out without a word.
    cap: Option<usize>,
    /// Most logs, refused past it.
    most: Option<usize>,
    /// It answers a range above its head with what it has.
    clamps: bool,
    /// One request in so many fails.
    fails: u64,
}

struct Node {
    chain: Arc<Mutex<Chain>>,
    habits: Habits,
    rng: Mutex<Rng>,
}

impl Upstream for Node {
    fn send(
        &self,
        message: Bytes,
        _timeout: Duration,
    ) -> BoxFuture<'static, Result<RawReply, SendError>> {
        let (_, calls) = parse_calls(&message);
        let call = calls[0].clone();
        let (late, fails) = {
            let mut rng = self.rng.lock().unwrap();
            let fails = self.habits.fails;
            (1 + rng.below(40), fails > 0 && rng.below(fails) == 0)
        };
        let chain = Arc::clone(&self.chain);
        let habits = self.habits.clone();
        Box::pin(async move {
            sleep(Duration::from_millis(late)).await;
            if fails && call.method == "eth_getLogs" {
                return Err(SendError {
                    kind: SendErrorKind::Reset,
                    delivery: highwater::core::call::Delivery::MaybeSent,
                });
            }
            let chain = chain.lock().unwrap();
            let now = chain.start.elapsed();
            let version = chain.at(now.saturating_sub(habits.late));
            let params: Value =
                serde_json::from_str(call.params.as_deref().unwrap_or("[]")).unwrap();
            let member = match habits.answer(version, &call.method, &params) {
                Ok(result) => format!("\"result\":{result}"),
                Err(error) => format!("\"error\":{error}"),
            };
            let id = call.id.unwrap();
            Ok(RawReply {
                status: 200,
                headers: HeaderMap::new(),
                body: format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{member}}}").into(),
            })
        })
    }
}

impl Habits {
    fn answer(&self, version: &Version, method: &str, params: &Value) -> Result<String, String> {
        let head = version.head();
        match method {
            "eth_chainId" => Ok(format!("\"{CHAIN:#x}\"")),
            "eth_blockNumber" => Ok(format!("\"{head:#x}\"")),
            "eth_getBlockByNumber" => {
                let number = quantity(&params[0]).unwrap_or(head);
                Ok(block(version, number))
            }
            "eth_getBlockByHash" => {
                let asked = params[0].as_str().unwrap();
                let number = (0..=head).rev().find(|n| version.hash(*n) == asked);
                Ok(number.map_or_else(|| "null".into(), |number| block(version, number)))
            }
            "eth_getLogs" => self.logs(version, &params[0]),
            _ => Err(error(-32601, "the method does not exist/is not available")),
        }
    }

    fn logs(&self, version: &Version, filter: &Value) -> Result<String, String> {
        let head = version.head();
        let bound = |name: &str| quantity(&filter[name]).unwrap_or(head);
        let (from, to) = (bound("fromBlock"), bound("toBlock"));
        if from > to {
            return Err(error(-32602, "invalid block range params"));
        }
        if to > head && !self.clamps {
            let text = "block range extends beyond current head block";
            return Err(error(-32602, text));
        }
        if self.limit.is_some_and(|limit| to - from >= limit) {
            return Err(error(-32602, "Block range limit exceeded."));
        }
        let mut all = version.places(&wanted(filter), from, to);
        if self.most.is_some_and(|most| all.len() > most) {
            return Err(error(-32005, "query returned more than 60 results"));
        }
        all.truncate(self.cap.unwrap_or(usize::MAX));
        let mut text = String::from("[");
        for Place {
            height,
            index,
            hash,
        } in all
        {
            let emitter = version.emitters(height)[usize::try_from(index).unwrap()];
            if text.len() > 1 {
                text.push(',');
            }
            write!(
                text,
                r#"{{"address":"{}","topics":[],"data":"0x","blockNumber":"{height:#x}","blockHash":"{hash}","logIndex":"{index:#x}"}}"#,
                address(emitter)
            )
            .unwrap();
        }
        Ok(text + "]")
    }
}

fn block(version: &Version, number: u64) -> String {
    if number > version.head() {
        return "null".into();
    }
    let (own, parent) = (version.hash(number), version.hash(number.saturating_sub(1)));
    format!(
        r#"{{"number":"{number:#x}","hash":"{own}","parentHash":"{parent}","transactions":["0x1"]}}"#
    )
}

fn quantity(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}

fn error(code: i64, message: &str) -> String {
    format!(r#"{{"code":{code},"message":"{message}"}}"#)
}

fn address(emitter: u8) -> String {
    format!("0x{}", format!("{:02x}", emitter + 0xa0).repeat(20))
}

fn wanted(filter: &Value) -> Vec<u8> {
    let of = |text: &Value| u8::from_str_radix(&text.as_str().unwrap()[2..4], 16).unwrap() - 0xa0;
    match &filter["address"] {
        Value::String(_) => vec![of(&filter["address"])],
        Value::Array(all) => all.iter().map(of).collect(),
        _ => Vec::new(),
    }
}

/// What became of the queries of some seeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) queries: u64,
    pub(crate) answered: u64,
    pub(crate) refused: u64,
    pub(crate) index: u64,
    pub(crate) tails: u64,
    pub(crate) parts: u64,
    pub(crate) reorgs: u64,
    /// What was wrong, and where.
    pub(crate) wrong: Vec<(Breach, String)>,
}

impl Totals {
    pub(crate) fn add(&mut self, other: Self) {
        self.queries += other.queries;
        self.answered += other.answered;
        self.refused += other.refused;
        self.index += other.index;
        self.tails += other.tails;
        self.parts += other.parts;
        self.reorgs += other.reorgs;
        self.wrong.extend(other.wrong);
    }
}

/// Plays the queries of a seed in paused time.
pub(crate) fn play(seed: u64) -> Totals {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(Play::new(seed).run(seed))
}

struct Play {
    rng: Rng,
    chain: Arc<Mutex<Chain>>,
    pool: Pool,
    viewer: Viewer,
    totals: Totals,
    branches: u8,
}

impl Play {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::at(seed, &[0x6c6f_6773]);
        let chain = Arc::new(Mutex::new(Chain {
            start: Instant::now(),
            versions: vec![Version {
                since: Duration::ZERO,
                branches: vec![0; usize::try_from(START + 1).unwrap()],
            }],
        }));
        let count = 1 + rng.below(4);
        let limited = rng.chance(0.4);
        let settings = Settings {
            probe: None,
            race: if rng.chance(0.3) { 2 } else { 0 },
            reads: ReadSettings {
                cache: Some(CacheSettings {
                    max_stale_blocks: rng.below(2),
                    ..CacheSettings::default()
                }),
                ..ReadSettings::default()
            },
            ..Settings::default()
        };
        let mut builder = Pool::builder()
            .chain(ChainId(CHAIN))
            .settings(settings)
            .seed(seed)
            .timeout(Duration::from_secs(2))
            .deadline(Duration::from_secs(8));
        for place in 0..count {
            let limit = (limited || rng.chance(0.2)).then(|| 20 + rng.below(60));
            let habits = Habits {
                late: Duration::from_millis([0, 0, 300, 900, 2500][pick(&mut rng, 5)]),
                limit,
                cap: rng.chance(0.3).then_some(100),
                most: rng.chance(0.2).then_some(60),
                clamps: rng.chance(0.3),
                fails: [0, 0, 10][pick(&mut rng, 3)],
            };
            let declared = habits.limit.filter(|_| rng.chance(0.5));
            let node = Node {
                chain: Arc::clone(&chain),
                habits,
                rng: Mutex::new(Rng::at(seed, &[place])),
            };
            let profile = Profile {
                declared: Declared {
                    largest: declared
                        .iter()
                        .map(|most| (Size::LogRange, *most))
                        .collect(),
                    ..Declared::default()
                },
                ..Profile::default()
            };
            builder = builder
                .endpoint(Endpoint::upstream(format!("n{place}"), Arc::new(node)).profile(profile));
        }
        Self {
            rng,
            chain,
            pool: builder.build().unwrap(),
            viewer: Viewer::new(),
            totals: Totals::default(),
            branches: 0,
        }
    }

    async fn run(mut self, seed: u64) -> Totals {
        self.pool.probe().await;
        let mut next = BLOCK;
        for _ in 0..OF_ONE {
            sleep(Duration::from_millis(self.rng.below(700))).await;
            while self.elapsed() >= next {
                self.grow(next);
                next += BLOCK;
            }
            if self.rng.chance(0.7) {
                self.pool.probe().await;
            }
            self.query(seed).await;
        }
        let stats = self.pool.cache_stats();
        self.pool.close();
        self.totals.index = stats.log_index;
        self.totals.tails = stats.log_tails;
        self.totals
    }

    fn elapsed(&self) -> Duration {
        self.chain.lock().unwrap().start.elapsed()
    }

    fn grow(&mut self, at: Duration) {
        let mut chain = self.chain.lock().unwrap();
        let mut branches = chain.versions.last().unwrap().branches.clone();
        let mut tip = *branches.last().unwrap();
        if self.rng.chance(0.06) && self.branches < 200 {
            self.branches += 1;
            tip = self.branches;
            let depth = usize::try_from(1 + self.rng.below(DEEPEST)).unwrap();
            let keep = branches.len() - depth;
            branches.truncate(keep);
            branches.resize(keep + depth, tip);
            self.totals.reorgs += 1;
        }
        branches.push(tip);
        chain.versions.push(Version {
            since: at,
            branches,
        });
    }

    async fn query(&mut self, seed: u64) {
        let head = self.chain.lock().unwrap().versions.last().unwrap().head();
        let span = [5, 20, 60, 140][pick(&mut self.rng, 4)];
        let from = head.saturating_sub(self.rng.below(span));
        let to = if self.rng.chance(0.5) {
            None
        } else {
            let most = head + u64::from(self.rng.chance(0.2)) - from;
            Some(from + self.rng.below(most + 1))
        };
        let wanted: Vec<u8> =
            [vec![], vec![], vec![0], vec![0, 1], vec![2]][pick(&mut self.rng, 5)].clone();
        let list: Vec<String> = wanted
            .iter()
            .map(|one| format!("\"{}\"", address(*one)))
            .collect();
        let filter = match &*list {
            [] => String::new(),
            [one] => format!(r#""address":{one},"#),
            all => format!(r#""address":[{}],"#, all.join(",")),
        };
        let end = to.map_or_else(|| "latest".to_owned(), |to| format!("{to:#x}"));
        let params = format!(r#"[{{{filter}"fromBlock":"{from:#x}","toBlock":"{end}"}}]"#);
        let request = Request {
            method: "eth_getLogs",
            descriptor: method::lookup("eth_getLogs"),
            params: Params::Array(&params),
        };
        let options = CallOptions {
            viewers: vec![self.viewer.clone()],
            ..CallOptions::default()
        };
        self.totals.queries += 1;
        let called = self.elapsed();
        let answer = match self.pool.request(request, options).await {
            Ok(answer) if !answer.is_error() => answer,
            Ok(_) | Err(_) => {
                self.totals.refused += 1;
                return;
            }
        };
        self.totals.answered += 1;
        self.totals.parts += u64::from(answer.attempts() > 1);
        let Payload::Result(text) = answer.payload() else {
            return;
        };
        let got = Place::all(text).unwrap();
        let chain = self.chain.lock().unwrap();
        let now = chain.start.elapsed();
        // The block that `latest` was: as the answer says, or any that a node had as its head.
        let end = to.or(answer.block());
        let mut nearest: Option<Vec<Breach>> = None;
        for version in chain.lately(called.saturating_sub(NOTICE), now) {
            // A range that the pin would turn round went out as it was written, and an empty list does not
            // say where it ends.
            let ends = match end {
                Some(end) => end..=end,
                None => from..=version.head(),
            };
            for end in ends.filter(|end| *end <= version.head()) {
                let wrong = compare(&got, &version.places(&wanted, from, end));
                if wrong.is_empty() {
                    return;
                }
                if nearest
                    .as_ref()
                    .is_none_or(|known| wrong.len() < known.len())
                {
                    nearest = Some(wrong);
                }
            }
        }
        let wrong = nearest.unwrap_or_else(|| vec![Breach::WrongHeight]);
        let told = format!(
            "seed {seed} at {called:?}: {params} from {} {:?}",
            answer.endpoint(),
            answer.origin()
        );
        self.totals
            .wrong
            .extend(wrong.into_iter().map(|breach| (breach, told.clone())));
    }
}

fn pick(rng: &mut Rng, bound: u64) -> usize {
    usize::try_from(rng.below(bound)).unwrap()
}

/// Plays seeds from `first` on until so many queries were made, on all cores.
pub(crate) fn play_many(first: u64, queries: u64) -> Totals {
    let seeds = queries.div_ceil(OF_ONE);
    let next = std::sync::atomic::AtomicU64::new(0);
    let all = Mutex::new(Totals::default());
    let work = || {
        loop {
            let seed = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if seed >= seeds {
                return;
            }
            let totals = play(first + seed);
            all.lock().unwrap().add(totals);
        }
    };
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
    let mut all = all.into_inner().unwrap();
    all.wrong.sort();
    all
}
