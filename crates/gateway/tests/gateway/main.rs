//! The gateway on real sockets, before scripted endpoints. Every test that shows a refusal also
//! shows that no endpoint heard of it.

#![expect(clippy::unwrap_used, reason = "a test's helper fails its test")]

mod fleet;
mod site;

mod admin;
mod batches;
mod bodies;
mod calls;
mod error_rules;
mod explain;
mod filters;
mod framing;
mod heads;
mod kept;
mod keys;
mod limits;
mod options;
mod origins;
mod paths;
mod phases;
mod reads;
mod routing;
mod sends;
mod starts;
