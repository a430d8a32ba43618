//! Scenarios made by chance, and the smallest one that still shows a fault.
//!
//! A seed becomes a [`Draft`]: the lines of a scenario's file. What is run is the file, so a failure
//! is printed as what reproduces it. [`shrink`] leaves out lines, nodes, faults and time as long as
//! the failure stays.

mod draft;
mod generate;
mod sends;
mod shrink;

use std::sync::Arc;

pub use draft::{Draft, DraftNode};
pub use generate::generate;
pub use sends::{SEND_POLICIES, SENDS, SendPolicy, generate_sends};
pub use shrink::shrink;

use crate::chain::Quarry;
use crate::checker::{Promises, Violation, check};
use crate::scenario::Scenario;
use crate::world::{Outcome, Routed, run_from};

/// Runs a scenario with the engine between clients and nodes, and holds what happened against what
/// the engine promises.
#[must_use]
pub fn judge(scenario: &Scenario, quarry: &Arc<Quarry>) -> (Outcome, Vec<Violation>) {
    let outcome = run_from(scenario, &mut Routed::new(scenario), quarry);
    let promises = Promises::routed(scenario);
    let found = check(&outcome.history, &outcome.chain, &promises);
    (outcome, found)
}

#[cfg(test)]
mod tests;
