//! Endpoints that fail on cue.

#[cfg(feature = "sockets")]
pub mod sockets;
