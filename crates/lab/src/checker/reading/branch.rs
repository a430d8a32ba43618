//! Nothing from a block that left the chain (P-13, P-14).
//!
//! An endpoint that is late answers from the branch that the network has left, and nobody can tell:
//! such an answer is excused as long as some endpoint has the block on its chain. What is kept is held
//! to more: it is not served once as many endpoints have told headers that deny its block as headers
//! that confirm it, and however few have told any, not for longer than it takes to be told. Of state
//! nobody can tell the branch: there only those headers count that were not known when it was given.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::shown::Shown;
use super::{Read, Reading, Spot};
use crate::chain::{Chain, View};
use crate::checker::{Breach, Violation};

pub(super) fn check(
    reads: &[Read<'_, '_>],
    (reading, shown): (&Reading, &Shown),
    chain: &Chain,
    found: &mut Vec<Violation>,
) {
    let mut statements = Statements {
        reading,
        shown,
        chain,
        next: 0,
        last: BTreeMap::new(),
    };
    for read in reads {
        let (entry, answer) = (read.entry, read.answer);
        // Who asks for a block by its hash wants that block, orphan or not.
        let by_hash = entry.method == "eth_getBlockByHash" || entry.raw.contains("blockHash");
        let Some(spot) = read.spot.filter(|_| !by_hash) else {
            continue;
        };
        if let (true, false, Some(given)) = (
            read.newest,
            read.entry.method == "eth_blockNumber",
            read.kept,
        ) && entry.called.saturating_sub(given) > reading.max_age
        {
            found.push(Violation {
                breach: Breach::TooStale,
                at: answer.at,
                call: Some(entry.call),
                detail: format!("an answer from memory was last served at {given:?}"),
            });
        }
        let mut report = |detail: String| {
            found.push(Violation {
                breach: Breach::Orphaned,
                at: answer.at,
                call: Some(entry.call),
                detail,
            });
        };
        let age = if read.newest {
            reading.max_age
        } else {
            reading.max_age.max(reading.notice)
        };
        // What is asked for was seen when it was asked for, by whoever asked first.
        let from = match read.kept {
            Some(_) => entry.called.saturating_sub(age),
            None => read.asked,
        };
        let on_the_chain = chain.branch(&View::healthy(entry.called), spot.height) == spot.branch;
        if !on_the_chain && !reading.in_sight(chain, spot, from, answer.at) {
            let height = spot.height;
            report(format!(
                "no endpoint had this block {height} since {from:?}"
            ));
            continue;
        }
        statements.until(entry.called);
        if let Some(given) = read.kept
            && !on_the_chain
            && reading.is_sure()
            && let names = names_its_block(entry.method)
            && (names || !statements.known(spot, given, entry.called))
            && let Some((deny, confirm)) = statements.against(spot, names, entry.called)
        {
            report(format!(
                "block {} is served from memory; {deny} endpoints had told another one, {confirm} \
                 this one",
                spot.height
            ));
        }
    }
}

/// Whether an answer says which block it is about, hash and all.
fn names_its_block(method: &str) -> bool {
    !matches!(method, "eth_getBalance" | "eth_call" | "eth_getStorageAt")
}

/// The newest header of each endpoint.
struct Statements<'a> {
    reading: &'a Reading,
    shown: &'a Shown,
    chain: &'a Chain,
    next: usize,
    /// As far as it is surely its newest.
    last: BTreeMap<usize, (Duration, Spot)>,
}

impl Statements<'_> {
    /// Hears what was told before a moment.
    fn until(&mut self, moment: Duration) {
        while let Some(header) = self.shown.headers.get(self.next) {
            if header.at >= moment {
                break;
            }
            self.next += 1;
            // An old block that somebody asks for by its number is nobody's newest; it may show that
            // its endpoint has gone over to another branch.
            let heads = self.reading.honest.iter();
            let heads = heads.filter_map(|node| self.shown.last(*node, header.at));
            let newest = heads.map(|head| head.height).max();
            if newest.is_none_or(|newest| header.spot.height >= newest) {
                self.last.insert(header.node, (header.at, header.spot));
            } else if let Some((_, known)) = self.last.get(&header.node)
                && self.chain.ancestor(known.branch, header.spot.height) != header.spot.branch
            {
                self.last.remove(&header.node);
            }
        }
    }

    /// Whether a header of the branch on which the network is now was told by some moment: who answered
    /// from another one then was behind, or had gone back.
    fn known(&self, spot: Spot, by: Duration, now: Duration) -> bool {
        let present = self.chain.branch(&View::healthy(now), spot.height);
        let told = self.shown.headers.iter().take_while(|told| told.at <= by);
        told.map(|told| told.spot).any(|told| {
            told.height >= spot.height && self.chain.ancestor(told.branch, spot.height) == present
        })
    }

    /// How many endpoints deny a block and confirm it, where those who deny it are as many. A state
    /// (`names`: false) passes for one of the chain that most are on, whichever that is.
    fn against(&self, spot: Spot, names: bool, now: Duration) -> Option<(usize, usize)> {
        let stale = self.reading.stale;
        let fresh = |(_, (at, _)): &(&usize, &(Duration, Spot))| now.saturating_sub(*at) <= stale;
        let (mut deny, mut parting) = (Vec::new(), spot.height);
        let present = self.chain.branch(&View::healthy(now), spot.height);
        for (node, (_, told)) in self.last.iter().filter(fresh) {
            let firm = self.reading.firm.contains(node)
                && self.shown.last(*node, now).is_some_and(|head| {
                    head.height >= told.height && now.saturating_sub(head.at) < stale
                });
            // One that is on neither branch says nothing of where the network went.
            let other = told.height >= spot.height
                && self.chain.ancestor(told.branch, spot.height) == present;
            if firm && other && self.contradicts(*told, spot, now) {
                deny.push(*node);
                parting = parting.min(self.parting(*told, spot));
            }
        }
        // What an endpoint said may count as its newest word for as long as heads do.
        let told = self.shown.headers.iter().take_while(|told| told.at < now);
        let confirm: BTreeSet<usize> = told
            .filter(|told| now.saturating_sub(told.at) <= stale && !deny.contains(&told.node))
            .filter(|told| {
                let at = |branch| self.chain.ancestor(branch, parting);
                let other = !names && at(told.spot.branch) != at(present);
                told.spot.height >= parting && (other || at(told.spot.branch) == at(spot.branch))
            })
            .map(|told| told.node)
            .collect();
        let (deny, confirm) = (deny.len(), confirm.len());
        (deny > 0 && deny >= confirm).then_some((deny, confirm))
    }

    /// Whether the hashes that were told show that a header and a block are on different branches: one of
    /// the block's was told that reaches the header, or its parent.
    fn contradicts(&self, header: Spot, spot: Spot, now: Duration) -> bool {
        let parting = self.parting(header, spot);
        let own = self.chain.ancestor(spot.branch, parting);
        let told = self.shown.headers.iter().take_while(|told| told.at < now);
        told.map(|told| told.spot).any(|told| {
            told.height + 1 >= header.height
                && told.height >= parting
                && self.chain.ancestor(told.branch, parting) == own
        })
    }

    /// The lowest height at which two blocks are on different branches.
    fn parting(&self, a: Spot, b: Spot) -> u64 {
        let mut height = a.height.min(b.height);
        let differ =
            |height| self.chain.ancestor(a.branch, height) != self.chain.ancestor(b.branch, height);
        while height > 0 && differ(height - 1) {
            height -= 1;
        }
        height
    }
}
