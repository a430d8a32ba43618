//! When an endpoint is taken out, and how it comes back.
//!
//! | file | what it holds |
//! |---|---|
//! | `settings` | every number |
//! | `fault` | what a class of answer means for the health of its endpoint |
//! | `gate` | one breaker: closed, open, half-open, its ladder |
//! | `methods` | methods that one endpoint does not offer |
//! | `circuit` | the breakers of one endpoint, together |
//! | `stand` | how an endpoint stands, and what changed about it |
//! | `view` | what snapshots and pages show |
//!
//! For each request: [`Circuit::begin`] when it is sent, then exactly one of [`Circuit::on_good`],
//! [`Circuit::on_fault`] and [`Circuit::abandon`], as [`Meaning::of`] says.

mod circuit;
mod fault;
mod gate;
mod methods;
mod settings;
mod stand;
mod view;

#[cfg(test)]
mod tests;

pub use circuit::{Circuit, Ticket};
pub use fault::{Fault, Kind, Meaning, Said, Scope};
pub use methods::{MethodKey, MethodOff, MethodReason};
pub use settings::{BreakerSettings, EXCLUSION_TRIALS, FailureRate, Growing};
pub use stand::{Change, Changes, Exclusion, Reason, Stand};
pub use view::{CircuitView, GateView};
