//! Endpoints that fail on cue.

pub mod chain;
#[cfg(feature = "sockets")]
pub mod sockets;
