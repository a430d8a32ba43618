//! A pool of Ethereum JSON-RPC endpoints that behaves like one good node.
//!
//! [`Pool`] takes a call, asks [`highwater_core`] which endpoint serves it, carries that out, and
//! hands back an [`Answer`] whose bytes are the endpoint's own.

mod answer;
mod ask;
mod builder;
mod check;
mod driver;
mod endpoint;
mod error;
mod judge;
mod pool;
mod secret;
pub mod upstream;
pub mod worker;

pub use answer::{Answer, Payload};
pub use builder::{Builder, ConfigError};
pub use endpoint::Endpoint;
pub use error::{Attempt, Error};
pub use highwater_core as core;
pub use pool::{CallOptions, EndpointSnapshot, Pool, Request, Snapshot};
pub use secret::{Scrubber, SecretUrl};
