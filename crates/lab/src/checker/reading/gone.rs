//! What was shown by its hash is not null later, unless whoever says so is believed (P-8, R-37).
//!
//! Two endpoints that say null are believed. So is one at the reference head, where every other firm one
//! is further behind it than who may serve: R-37 asks for one holder's word and for one extra request,
//! which may come to nothing. Such a read has no height, so that its endpoint may be below what the
//! caller has seen (P-8), or alone on a branch of its own.

use super::shown::Shown;
use super::{Answer, Entry, Reading};
use crate::chain::Chain;
use crate::checker::ledger::Ledger;
use crate::checker::{Violation, reads};

pub(super) fn check(
    ledger: &Ledger<'_>,
    (reading, shown): (&Reading, &Shown),
    chain: &Chain,
    found: &mut Vec<Violation>,
) {
    for (violation, entry, answer) in reads::vanished(ledger, chain) {
        if !is_believed(ledger, (reading, shown), entry, answer) {
            found.push(violation);
        }
    }
}

fn is_believed(
    ledger: &Ledger<'_>,
    (reading, shown): (&Reading, &Shown),
    entry: &Entry<'_>,
    answer: &Answer<'_>,
) -> bool {
    let said = ledger.said_null(entry, answer);
    if said.len() >= 2 {
        return true;
    }
    let reference = shown.of_two(&reading.honest, answer.at, reading.stale);
    let Some((node, reference)) = said.first().zip(reference) else {
        return false;
    };
    let head = |node: usize| Some(shown.last(node, answer.at)?.height);
    let Some(own) = head(*node).filter(|own| *own >= reference) else {
        return false;
    };
    let mut others = reading.firm.iter().filter(|firm| *firm != node);
    !others.any(|firm| head(*firm).is_some_and(|head| head + reading.stale_blocks >= own))
}
