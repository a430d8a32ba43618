//! The pool against scripted nodes on real sockets, and against endpoints in memory in paused time.

#![expect(
    clippy::unwrap_used,
    reason = "shared set-up of tests, outside test functions"
)]

mod abandon;
#[cfg(feature = "alloy")]
mod alloy;
mod answers;
mod batch;
mod bench;
mod building;
mod cancel;
mod chain;
mod events;
mod failover;
mod fake;
mod filters;
mod heads;
mod http;
mod limits;
mod logs;
mod missing;
#[cfg(feature = "alloy")]
mod operation;
mod persist;
mod probes;
mod race;
mod reads;
mod reconnect;
mod replace;
mod scenario;
mod secrets;
mod sends;
mod simulated;
mod simulations;
mod snapshot;
mod tls;
mod wire;
