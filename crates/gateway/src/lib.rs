//! Highwater as a server.
//!
//! A client that talks to a bare node talks to it unchanged. Every call, whatever door it comes
//! through, takes one path: parse, policy, dispatch, respond.

pub mod config;

pub use config::Settings;
