//! Endpoints that fail on cue.

pub mod call;
pub mod chain;
pub mod checker;
pub mod history;
pub mod node;
pub mod random;
pub mod rng;
pub mod scenario;
#[cfg(feature = "sockets")]
pub mod sockets;
pub mod world;
