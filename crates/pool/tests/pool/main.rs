//! The pool against scripted nodes on real sockets.

#![expect(
    clippy::unwrap_used,
    reason = "shared set-up of tests, outside test functions"
)]

mod bench;
mod cancel;
mod chain;
mod failover;
mod http;
mod limits;
mod secrets;
mod tls;
