//! The pool against scripted nodes on real sockets.

mod bench;
mod cancel;
mod chain;
mod failover;
mod http;
mod limits;
mod secrets;
mod tls;
