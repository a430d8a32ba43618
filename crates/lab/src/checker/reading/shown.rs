//! Heads and headers that endpoints have told, by time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Spot;
use crate::call::members;
use crate::chain::{Chain, View};
use crate::checker::ledger::Ledger;
use crate::checker::question::quantity;

/// A head that an endpoint told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) at: Duration,
    pub(super) place: usize,
    pub(super) height: u64,
    /// It came in the first good answer to its call. Who races and loses may not be heard any more.
    first: bool,
}

/// A header that an endpoint told, asked by number or tag.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) at: Duration,
    pub(super) node: usize,
    pub(super) spot: Spot,
}

#[derive(Debug, Default)]
pub(super) struct Shown {
    heads: BTreeMap<usize, Vec<Head>>,
    /// In the order of time.
    pub(super) headers: Vec<Header>,
}

impl Shown {
    pub(super) fn new(ledger: &Ledger<'_>, chain: &Chain) -> Self {
        let mut shown = Self::default();
        let asked: BTreeMap<(usize, &str), &str> = ledger
            .reached
            .iter()
            .filter(|reached| reached.method == "eth_getBlockByNumber")
            .filter_map(|reached| Some(((reached.node, reached.id?), reached.params)))
            .collect();
        let mut answered: BTreeSet<&str> = BTreeSet::new();
        for served in &ledger.served {
            for (method, reply) in served.sound() {
                let Some(result) = reply.result.filter(|result| *result != "null") else {
                    continue;
                };
                let first = reply.id.is_some_and(|id| answered.insert(id));
                let head = match method {
                    "eth_blockNumber" => text(result).and_then(quantity),
                    "eth_capabilities" => {
                        let head = members(result, ["head"]).and_then(|[head]| head);
                        head.and_then(number)
                    }
                    "eth_getBlockByNumber" => {
                        let spot = spot(result, chain);
                        shown
                            .headers
                            .extend(spot.filter(|_| first).map(|spot| Header {
                                at: served.at,
                                node: served.node,
                                spot,
                            }));
                        let latest = reply
                            .id
                            .and_then(|id| asked.get(&(served.node, id.trim_matches('"'))))
                            .is_some_and(|params| params.contains("\"latest\""));
                        spot.filter(|_| latest).map(|spot| spot.height)
                    }
                    _ => None,
                };
                if let Some(height) = head {
                    shown.heads.entry(served.node).or_default().push(Head {
                        at: served.at,
                        place: served.place,
                        height,
                        first,
                    });
                }
            }
        }
        shown
    }

    /// The last head that an endpoint had told before a moment.
    pub(super) fn last(&self, node: usize, before: Duration) -> Option<Head> {
        let heads = self.heads.get(&node)?;
        let next = heads.partition_point(|head| head.at < before);
        heads[..next].iter().rfind(|head| head.first).copied()
    }

    /// The highest head that an endpoint had told before a place in the history.
    pub(super) fn highest(&self, node: usize, before: usize) -> Option<u64> {
        let heads = self.heads.get(&node)?;
        let told = heads.iter().take_while(|head| head.place < before);
        told.map(|head| head.height).max()
    }

    /// The highest head that anybody had told before a place in the history and that the chain had.
    pub(super) fn truly(&self, chain: &Chain, before: usize) -> Option<u64> {
        let told = |heads: &Vec<Head>| {
            let told = heads.iter().take_while(|head| head.place < before);
            let is_true = |head: &&Head| head.height <= chain.head(&View::healthy(head.at));
            told.filter(is_true).map(|head| head.height).max()
        };
        self.heads.values().filter_map(told).max()
    }

    /// The height that two of these endpoints had told before a moment, by heads that still count.
    pub(super) fn of_two(&self, nodes: &[usize], before: Duration, stale: Duration) -> Option<u64> {
        let fresh = |head: &Head| before.saturating_sub(head.at) < stale;
        let heads = nodes.iter().filter_map(|node| self.last(*node, before));
        let mut heights: Vec<u64> = heads.filter(fresh).map(|head| head.height).collect();
        heights.sort_unstable();
        heights.len().checked_sub(2).map(|second| heights[second])
    }

    /// The same by time, at every moment at which it may change.
    pub(super) fn agreed(&self, nodes: &[usize], stale: Duration) -> Vec<(Duration, u64)> {
        let heads = self.heads.values().flatten().filter(|head| head.first);
        let just_after = |at: Duration| at + Duration::from_nanos(1);
        let mut moments: Vec<_> = heads
            .flat_map(|head| [head.at, head.at + stale].map(just_after))
            .collect();
        moments.sort_unstable();
        moments.dedup();
        let agreed = moments.into_iter();
        agreed
            .filter_map(|at| Some((at, self.of_two(nodes, at, stale)?)))
            .collect()
    }
}

fn text(result: &str) -> Option<&str> {
    result.strip_prefix('"')?.strip_suffix('"')
}

fn number(block: &str) -> Option<u64> {
    let [number] = members(block, ["number"])?;
    quantity(text(number?)?)
}

fn spot(block: &str, chain: &Chain) -> Option<Spot> {
    let [hash] = members(block, ["hash"])?;
    let block = chain.shown(text(hash?)?.parse().ok()?)?;
    Some(Spot {
        height: block.height(),
        branch: block.branch,
    })
}
