//! Scenarios: a chain, nodes with faults over time, and a load, as one TOML file with a seed.
//!
//! A scenario is checked whole before anything runs, and an error names the line. Everything that
//! happens is a function of the file and its seed.

mod class;
mod fault;
mod quantity;
mod raw;
mod router;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

pub use class::is_answer;
pub use quantity::parse_duration;
pub use router::{Choice, Preset, Retries, Routing, Seat, Writes, Writing};

use crate::chain::{ACCOUNTS, Chain, ChainSpec, Fork, Quarry, Reach};
use crate::node::{Dialect, Latency, Node, Profile, Sees, What};
use raw::{RawChain, RawLatency, RawLoad, RawNode, RawScenario};

/// The scenario of `highwater demo`, as its file.
pub const DEMO: &str = include_str!("../../scenarios/demo.toml");

/// Blocks before the start of a scenario that does not name its first block.
const KEPT: u64 = 1_024;
/// Most blocks before the start.
const MOST_BLOCKS: u64 = 100_000;

/// What simulated clients ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ask {
    /// `eth_blockNumber`.
    BlockNumber,
    /// `eth_getBlockByNumber` at `latest`.
    Block,
    /// `eth_getBalance` at `latest`.
    Balance,
    /// `eth_getBalance` at a height that this client has seen.
    BalanceAt,
    /// `eth_call` at `latest`.
    Call,
    /// `eth_getLogs` over the last blocks that this client has seen.
    Logs,
    /// `eth_getTransactionReceipt` of a transaction in a block that this client has seen.
    Receipt,
    /// `eth_sendRawTransaction` of a new transfer.
    Send,
    /// The bytes of an earlier transfer once more. Asked only where `asks` names it.
    Resend,
    /// `eth_sendRawTransaction` of another transfer with the nonce of an earlier one. Asked only where
    /// `asks` names it.
    Replace,
    /// `eth_newFilter`, different each time: a request that only one node may get. Asked only
    /// where `asks` names it.
    Filter,
}

/// The load of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// How many clients.
    pub clients: u64,
    /// Time between two calls of one client.
    pub every: Duration,
    /// How long a client waits for an answer.
    pub timeout: Duration,
    /// What they ask, with equal chance.
    pub asks: Vec<Ask>,
}

/// What a node may be asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Requests a second.
    pub rps: f64,
    /// Requests at once.
    pub burst: f64,
}

/// A checked scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// Its seed.
    pub seed: u64,
    /// How long it lasts.
    pub duration: Duration,
    /// The chain.
    pub chain: ChainSpec,
    /// The load.
    pub load: Load,
    /// Blocks by which an answer at `latest` may be behind the head.
    pub stale_blocks: u64,
    /// Most calls that may get no right answer; `None`: any number.
    pub errors: Option<u64>,
    /// How soon after the beginning of a fault calls are as fast as before; `None`: whenever.
    pub settle: Option<Duration>,
    /// The nodes, with what each may be asked.
    pub nodes: Vec<(Profile, Option<Budget>)>,
    /// The router between clients and nodes, where a run has one.
    pub router: Routing,
}

/// Why a scenario is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ScenarioError {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl ScenarioError {
    fn at(text: &str, span: &Range<usize>, message: impl Into<String>) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        Self {
            line,
            column,
            message: message.into(),
        }
    }
}

impl Scenario {
    /// Reads a scenario. `seed` takes the place of the file's.
    ///
    /// # Errors
    ///
    /// The first thing wrong, with its line.
    pub fn parse(text: &str, seed: Option<u64>) -> Result<Self, ScenarioError> {
        let raw: RawScenario = toml::from_str(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            ScenarioError::at(text, &span, error.message())
        })?;
        let at = |span: Range<usize>, message: String| ScenarioError::at(text, &span, message);
        if raw.duration.get_ref().0.is_zero() {
            return Err(at(
                raw.duration.span(),
                "a scenario lasts some time".to_owned(),
            ));
        }
        let seed = seed.or(raw.seed).unwrap_or(1);
        let mut chain = chain(text, raw.chain, seed)?;
        let load = load(text, raw.load)?;
        let mut router = router::check(text, raw.router, chain.block_time)?;
        let span = raw.nodes.span();
        let mut nodes = Vec::new();
        let mut strays = Vec::new();
        let mut groups = Vec::new();
        for raw in raw.nodes.into_inner() {
            let name = raw.name.get_ref();
            if nodes
                .iter()
                .any(|(known, _): &(Profile, _)| known.name == *name)
            {
                let message = format!("two nodes are called `{name}`");
                return Err(at(raw.name.span(), message));
            }
            router.seats.push(router::seat(text, &raw, &mut groups)?);
            nodes.push(node(text, raw, (nodes.len(), &mut strays))?);
        }
        if nodes.is_empty() {
            return Err(at(span, "a scenario needs a node".to_owned()));
        }
        place_strays(&mut chain, &mut nodes, strays);
        let stale_blocks = raw.bounds.stale_blocks.unwrap_or_else(|| stale(&chain));
        Ok(Self {
            name: raw.name,
            seed,
            duration: raw.duration.into_inner().0,
            chain,
            load,
            stale_blocks,
            errors: raw.bounds.errors,
            settle: raw.bounds.settle.map(|settle| settle.0),
            nodes,
            router,
        })
    }

    /// The chain and its nodes, ready to be asked.
    #[must_use]
    pub fn build(&self) -> (Arc<Chain>, Vec<Node>) {
        self.build_from(&Arc::default())
    }

    /// The same, with what other chains have made already.
    #[must_use]
    pub fn build_from(&self, quarry: &Arc<Quarry>) -> (Arc<Chain>, Vec<Node>) {
        let chain = Chain::from_quarry(self.chain.clone(), Arc::clone(quarry));
        let chain = Arc::new(chain);
        let nodes = self.nodes.iter().enumerate();
        let nodes = nodes
            .map(|(index, (profile, _))| {
                let node = Node::new(profile.clone(), Arc::clone(&chain), index as u64);
                node.with_luck(self.seed)
            })
            .collect();
        (chain, nodes)
    }
}

fn chain(text: &str, raw: RawChain, seed: u64) -> Result<ChainSpec, ScenarioError> {
    let default = ChainSpec::default();
    let block_time = match raw.block_time {
        Some(time) if time.get_ref().0 < Duration::from_millis(1) => {
            let message = "a block takes a millisecond at least";
            return Err(ScenarioError::at(text, &time.span(), message));
        }
        Some(time) => time.into_inner().0,
        None => default.block_time,
    };
    let transactions = match raw.transactions {
        Some(count) if *count.get_ref() > ACCOUNTS => {
            let message = format!("at most {ACCOUNTS} transactions a block");
            return Err(ScenarioError::at(text, &count.span(), message));
        }
        Some(count) => count.into_inner(),
        None => default.transactions,
    };
    let (first, start) = heights(text, (raw.first, raw.start), default.start)?;
    let mut forks: Vec<Fork> = raw
        .reorgs
        .iter()
        .map(|reorg| Fork {
            at: reorg.at.0,
            depth: reorg.depth,
            reach: Reach::Everyone,
        })
        .collect();
    forks.sort_by_key(|fork| fork.at);
    Ok(ChainSpec {
        seed: raw.seed.unwrap_or(seed),
        chain_id: raw.id.unwrap_or(default.chain_id),
        first,
        start,
        genesis_time: raw.genesis_time.unwrap_or(default.genesis_time),
        block_time,
        transactions,
        logs: raw.logs.unwrap_or(default.logs),
        safe_lag: raw.safe_lag.unwrap_or(default.safe_lag),
        finalized_lag: raw.finalized_lag.unwrap_or(default.finalized_lag),
        forks,
    })
}

/// The first block and the head at the start. Every block between them is built before the first
/// answer, so a chain at a height of millions begins near its head unless told otherwise.
fn heights(
    text: &str,
    (first, start): (Option<u64>, Option<toml::Spanned<u64>>),
    usual: u64,
) -> Result<(u64, u64), ScenarioError> {
    let Some(start) = start else {
        let first = first.unwrap_or(0);
        return Ok((first, usual.max(first)));
    };
    let (span, start) = (start.span(), start.into_inner());
    let first = first.unwrap_or_else(|| start.saturating_sub(KEPT));
    let message = match start.checked_sub(first) {
        Some(blocks) if blocks <= MOST_BLOCKS => return Ok((first, start)),
        Some(_) => format!("at most {MOST_BLOCKS} blocks before the start: raise `first`"),
        None => "the head at the start is below the first block".to_owned(),
    };
    Err(ScenarioError::at(text, &span, message))
}

fn load(text: &str, raw: RawLoad) -> Result<Load, ScenarioError> {
    let every = match raw.every {
        Some(every) if every.get_ref().0.is_zero() => {
            let message = "clients need some time between calls";
            return Err(ScenarioError::at(text, &every.span(), message));
        }
        Some(every) => every.into_inner().0,
        None => Duration::from_millis(200),
    };
    let all = || {
        vec![
            Ask::BlockNumber,
            Ask::Block,
            Ask::Balance,
            Ask::BalanceAt,
            Ask::Call,
            Ask::Logs,
            Ask::Receipt,
            Ask::Send,
        ]
    };
    let asks = raw.asks.filter(|asks| !asks.is_empty());
    Ok(Load {
        clients: raw.clients.unwrap_or(4),
        every,
        timeout: raw
            .timeout
            .map_or(Duration::from_secs(5), |timeout| timeout.0),
        asks: asks.unwrap_or_else(all),
    })
}

/// A stray fork, and where its index belongs: node and fault.
type Stray = (Fork, usize, usize);

fn node(
    text: &str,
    raw: RawNode,
    (index, strays): (usize, &mut Vec<Stray>),
) -> Result<(Profile, Option<Budget>), ScenarioError> {
    let mut faults = Vec::new();
    for raw in raw.faults {
        let span = raw.kind.span();
        let checked = fault::check(raw)
            .map_err(|message| ScenarioError::at(text, &span, format!("fault: {message}")))?;
        if let Some(fork) = checked.stray {
            strays.push((fork, index, faults.len()));
        }
        faults.push(checked.fault);
    }
    let latency = match raw.latency {
        None => Latency::Constant(Duration::from_millis(20)),
        Some(RawLatency::Constant(time)) => Latency::Constant(time.0),
        Some(RawLatency::LogNormal(raw)) => Latency::LogNormal {
            median: raw.median.0,
            sigma: raw.sigma,
        },
        Some(RawLatency::Bimodal(raw)) => Latency::Bimodal {
            fast: raw.fast.0,
            slow: raw.slow.0,
            slow_share: raw.slow_share.0,
        },
    };
    let profile = Profile {
        name: raw.name.into_inner(),
        dialect: raw.dialect.unwrap_or(Dialect::Geth),
        latency,
        faults,
    };
    let budget = raw.budget.map(|budget| Budget {
        rps: budget.rps,
        burst: budget.burst,
    });
    Ok((profile, budget))
}

/// Who is two blocks behind still counts as level, and the head by which that is told may be a
/// second old (P-2).
fn stale(chain: &ChainSpec) -> u64 {
    let block = chain.block_time.as_nanos().max(1);
    let came = Duration::from_secs(1).as_nanos().div_ceil(block);
    2 + u64::try_from(came).unwrap_or(u64::MAX - 2)
}

/// Adds stray forks after the reorgs, which keeps the reorgs in the order of their times, and tells
/// each fault the index of its fork.
fn place_strays(
    chain: &mut ChainSpec,
    nodes: &mut [(Profile, Option<Budget>)],
    strays: Vec<Stray>,
) {
    for (fork, node, fault) in strays {
        let index = chain.forks.len();
        chain.forks.push(fork);
        nodes[node].0.faults[fault].what = What::Sees(Sees::Strayed(index));
    }
}

#[cfg(test)]
mod tests;
