//! The router of a run: its options, and the place of each node in its pool.

use std::time::Duration;

use serde::Deserialize;

use super::ScenarioError;
use super::raw::{RawNode, RawRetries, RawRouter};

/// Whose defaults hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// The library's: reads race, two further attempts, 10 s for one and 30 s for all.
    #[default]
    Library,
    /// The gateway's: no races, attempts until the deadline, 5 s for one and 9 s for all.
    Gateway,
}

/// How a node is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// The better of two by score.
    #[default]
    Adaptive,
    /// The least weighted sum.
    WeightedSum,
    /// One after the other.
    RoundRobin,
    /// Any.
    Random,
    /// Any, by weight.
    Weighted,
    /// The least latency by calls under way.
    LeastLoaded,
    /// A fresh order for every call.
    Shuffle,
}

/// Attempts beside the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retries {
    /// So many.
    Times(u16),
    /// As many as the deadline allows.
    Deadline,
}

/// To whom the router sends raw transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Writes {
    /// One node, and another only when it is proven that the first did not take it.
    Once,
    /// One after the other.
    Failover,
    /// Several at once.
    Broadcast,
}

/// How the router sends raw transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writing {
    /// To whom.
    pub to: Writes,
    /// How many nodes get one at once under [`Writes::Broadcast`].
    pub width: u8,
    /// Whether an open end is looked up; `None`: under [`Writes::Failover`].
    pub verify: Option<bool>,
    /// Whether transactions go to private nodes alone.
    pub private: bool,
}

/// The options of the router.
#[derive(Clone, Debug, PartialEq)]
pub struct Routing {
    /// Whose defaults hold for what is not here.
    pub preset: Preset,
    /// How a node is chosen.
    pub strategy: Choice,
    /// How many nodes race for a read; 0 and 1 are off.
    pub race: u16,
    /// Shortest time after which a slow read is copied; `None` is off.
    pub hedge: Option<Duration>,
    /// Attempts beside the first.
    pub retries: Retries,
    /// Longest time for one attempt.
    pub attempt: Duration,
    /// Longest time for a call.
    pub deadline: Duration,
    /// Whether failing nodes are ejected.
    pub breaker: bool,
    /// Whether heads count.
    pub heads: bool,
    /// The chain's block time, where the router knows it beforehand.
    pub block_time: Option<Duration>,
    /// Whether heads are probed.
    pub probes: bool,
    /// Whether a node is asked for its chain id first.
    pub verify: bool,
    /// How raw transactions are sent; `None`: to one node, without a look-up or a memory.
    pub writes: Option<Writing>,
    /// The place of each node, in the order of the nodes.
    pub seats: Vec<Seat>,
}

/// The place of one node in the pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seat {
    /// 0 is preferred.
    pub tier: u8,
    /// Its share against its peers.
    pub weight: f64,
    /// Nodes with the same number are one backend.
    pub group: Option<u16>,
    /// Whether it keeps what it gets from the public.
    pub private: bool,
}

/// Checks the options of a router on a chain with this block time.
pub(super) fn check(
    text: &str,
    raw: RawRouter,
    block_time: Duration,
) -> Result<Routing, ScenarioError> {
    let (race, retries, attempt, deadline) = match raw.preset {
        Preset::Library => (2, Retries::Times(2), 10, 30),
        Preset::Gateway => (0, Retries::Deadline, 5, 9),
    };
    let writes = writing(text, &raw)?;
    let retries = match raw.retries {
        None => retries,
        Some(given) => match given.get_ref() {
            RawRetries::Times(times) => Retries::Times(*times),
            RawRetries::Word(word) if word == "deadline" => Retries::Deadline,
            RawRetries::Word(_) => {
                let message = "`retries` is a number or \"deadline\"";
                return Err(ScenarioError::at(text, &given.span(), message));
            }
        },
    };
    let time = |given: Option<toml::Spanned<super::quantity::Span>>, usual| match given {
        Some(given) if given.get_ref().0.is_zero() => {
            let message = "an attempt and a call take some time";
            Err(ScenarioError::at(text, &given.span(), message))
        }
        Some(given) => Ok(given.into_inner().0),
        None => Ok(Duration::from_secs(usual)),
    };
    Ok(Routing {
        preset: raw.preset,
        strategy: raw.strategy.unwrap_or_default(),
        race: raw.race.unwrap_or(race),
        hedge: raw.hedge.map(|delay| delay.0),
        retries,
        attempt: time(raw.attempt, attempt)?,
        deadline: time(raw.deadline, deadline)?,
        breaker: raw.breaker.unwrap_or(true),
        heads: raw.heads.unwrap_or(true),
        block_time: Some(block_time).filter(|_| raw.pace.unwrap_or(true)),
        probes: raw.probes.unwrap_or(true),
        verify: raw.verify.unwrap_or(true),
        writes,
        seats: Vec::new(),
    })
}

fn writing(text: &str, raw: &RawRouter) -> Result<Option<Writing>, ScenarioError> {
    let spans = [
        raw.broadcast_to.as_ref().map(toml::Spanned::span),
        raw.verify_writes.as_ref().map(toml::Spanned::span),
        raw.private_writes.as_ref().map(toml::Spanned::span),
    ];
    let Some(to) = raw.writes else {
        return match spans.into_iter().flatten().next() {
            Some(span) => Err(ScenarioError::at(text, &span, "this needs `writes`")),
            None => Ok(None),
        };
    };
    let width = match &raw.broadcast_to {
        Some(width) if to != Writes::Broadcast || *width.get_ref() == 0 => {
            let message = "`broadcast_to` is at least 1, and goes with `writes = \"broadcast\"`";
            return Err(ScenarioError::at(text, &width.span(), message));
        }
        Some(width) => *width.get_ref(),
        None => 3,
    };
    let is = |given: &Option<toml::Spanned<bool>>| given.as_ref().map(|given| *given.get_ref());
    Ok(Some(Writing {
        to,
        width,
        verify: is(&raw.verify_writes),
        private: is(&raw.private_writes).unwrap_or(false),
    }))
}

/// The place of a node; `groups` holds the names of groups so far.
pub(super) fn seat(
    text: &str,
    raw: &RawNode,
    groups: &mut Vec<String>,
) -> Result<Seat, ScenarioError> {
    let weight = match &raw.weight {
        Some(weight) if !(*weight.get_ref() > 0.0 && weight.get_ref().is_finite()) => {
            let message = "`weight` is more than 0";
            return Err(ScenarioError::at(text, &weight.span(), message));
        }
        Some(weight) => *weight.get_ref(),
        None => 1.0,
    };
    let group = raw.group.as_ref().map(|name| {
        let known = groups.iter().position(|known| known == name);
        let index = known.unwrap_or_else(|| {
            groups.push(name.clone());
            groups.len() - 1
        });
        u16::try_from(index).unwrap_or(u16::MAX)
    });
    Ok(Seat {
        tier: raw.tier.unwrap_or(0),
        weight,
        group,
        private: raw.private,
    })
}
