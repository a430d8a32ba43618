//! What was shown by its hash is not null later, unless whoever says so is believed (P-8, R-37).
//!
//! Two endpoints that say null are believed. So is one at the reference head where nobody else says
//! anything: R-37 asks for one holder's word and for one extra request, which may go to an endpoint that
//! is down, and there is nobody to send it to where every other firm one is further behind than who may
//! serve. Such a read has no height, so that its endpoint may be below what the caller has seen (P-8),
//! or on another branch.

use super::shown::Shown;
use super::{Answer, Entry, Reading};
use crate::chain::Chain;
use crate::checker::ledger::Ledger;
use crate::checker::{Violation, reads};
use crate::node::{Carries, Fault, What};

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
    let Some(node) = said.first() else {
        return false;
    };
    let reference = shown.of_two(&reading.honest, answer.at, reading.stale);
    let head = |node: usize| Some(shown.last(node, answer.at)?.height);
    let Some(own) = head(*node).filter(|own| reference.is_some_and(|known| *own >= known)) else {
        return false;
    };
    let during = |place: usize| (entry.place..answer.place).contains(&place);
    let asked = ledger.reached.iter().filter(|one| during(one.place));
    let mut asked = asked.filter(|one| one.method == entry.method && one.params == entry.raw);
    let is_down = |fault: &Fault| {
        fault.what == What::Carries(Carries::Down)
            && [entry.called, answer.at].iter().any(|at| fault.active(*at))
    };
    let mut faults = reading.faults.iter().enumerate();
    let is_spent = asked.any(|one| one.node != *node)
        || faults.any(|(place, faults)| place != *node && faults.iter().any(is_down));
    let mut others = reading.firm.iter().filter(|firm| *firm != node);
    is_spent
        || !others.any(|firm| head(*firm).is_some_and(|head| head + reading.stale_blocks >= own))
}
