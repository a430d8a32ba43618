//! Log queries through a pool whose nodes lag, refuse, cut and follow reorganisations late, held against
//! a scan of the chain.
//!
//! An answer is right if it is what some node's chain had while the query was under way. It may also be
//! what a chain before had, within the last moments, as long as the pool could not know better when the
//! query came: fewer nodes had told a header of another branch than had told one of that chain's from the
//! fork on. Which logs a block has follows from its number and its branch.

mod chain;
mod node;

use chain::{Chain, Version};
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
};
use highwater_lab::{
    checker::{
        Breach,
        lists::{Place, compare},
    },
    rng::Rng,
};
use node::{Habits, Node, address};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// Queries of one seed.
const OF_ONE: u64 = 200;
/// Seeds with this bit are of nodes that take a few blocks at once only, fewer than are not final.
pub(crate) const NARROW: u64 = 1 << 40;
/// The first head.
const START: u64 = 150;
/// How old a chain may be that nothing told denies: the latest node follows a reorganisation, the next
/// block comes, a probe finds it (one in three is left out), and its header is read.
const NOTICE: Duration = Duration::from_millis(7000);
const BLOCK: Duration = Duration::from_millis(1000);
/// The deepest reorganisation. What the chain calls final is below it.
const DEEPEST: u64 = 12;
/// The chain's blocks are final after fifteen.
const CHAIN: u64 = 56;

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
            late: Vec::new(),
            told: Vec::new(),
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
            let limit = match seed & NARROW {
                0 => (limited || rng.chance(0.2)).then(|| 20 + rng.below(60)),
                _ => Some(3 + rng.below(8)),
            };
            let late = [0, 0, 300, 900, 2500][pick(&mut rng, 5)];
            let habits = Habits {
                limit,
                cap: rng.chance(0.3).then_some(100),
                most: rng.chance(0.2).then_some(60),
                clamps: rng.chance(0.3),
                fails: [0, 0, 10][pick(&mut rng, 3)],
            };
            let declared = habits.limit.filter(|_| rng.chance(0.5));
            {
                let mut chain = chain.lock().unwrap();
                chain.late.push(Duration::from_millis(late));
                chain.told.push(None);
            }
            let node = Node {
                place: usize::try_from(place).unwrap(),
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
        let (called, denied) = {
            let chain = self.chain.lock().unwrap();
            (chain.start.elapsed(), chain.denied())
        };
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
        // The block that `latest` was: as the answer says, or any that a node had as its head.
        let end = to.or(answer.block());
        let mut nearest: Option<Vec<Breach>> = None;
        for (version, until) in chain.right(called, &denied, NOTICE) {
            // A range that the pin would turn round went out as it was written, and an empty list does not
            // say where it ends.
            let ends = match end {
                Some(end) => end..=end,
                None => from..=version.head(),
            };
            for end in ends.filter(|end| *end <= version.head() && *end < until) {
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
