//! A pool of Ethereum JSON-RPC endpoints that behaves like one good node.
//!
//! [`Pool`] takes a call, asks [`highwater_core`] which endpoint serves it, carries that out, and
//! hands back an [`Answer`] whose bytes are the endpoint's own.
//!
//! ```no_run
//! use highwater::{CallOptions, Endpoint, Payload, Pool, Request, SecretUrl};
//! use highwater::core::{ChainId, jsonrpc::Params, method};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let one = SecretUrl::parse("https://ethereum-rpc.publicnode.com")?;
//! let two = SecretUrl::parse("https://eth.drpc.org")?;
//! let pool = Pool::builder()
//!     .chain(ChainId(1))
//!     .endpoint(Endpoint::url(one))
//!     .endpoint(Endpoint::url(two))
//!     .on_event(|event| println!("{event:?}"))
//!     .build()?;
//! let request = Request {
//!     method: "eth_blockNumber",
//!     descriptor: method::lookup("eth_blockNumber"),
//!     params: Params::Array("[]"),
//! };
//! let answer = pool.request(request, CallOptions::default()).await?;
//! match answer.payload() {
//!     Payload::Result(result) => println!("{} says {result}", answer.endpoint()),
//!     Payload::Error(error) => println!("{} refuses: {error}", answer.endpoint()),
//! }
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "alloy")]
mod alloy;
mod answer;
mod aside;
mod ask;
mod attempt;
mod builder;
mod check;
mod costs;
mod driver;
mod endpoint;
mod error;
mod event;
mod explain;
mod filters;
mod fold;
mod inner;
mod judge;
mod listen;
mod network;
mod node;
mod nonce;
#[cfg(feature = "alloy")]
mod operation;
mod persist;
mod pool;
mod probe;
mod reads;
mod replace;
mod secret;
mod sender;
mod sends;
mod set;
mod snapshot;
mod totals;
mod under_way;
pub mod upstream;
pub mod worker;

#[cfg(feature = "alloy")]
pub use alloy::{PoolCallExt, PoolLayer, PoolService, PoolTransport};
pub use answer::{Answer, Origin, Payload};
pub use builder::{Builder, ConfigError};
pub use costs::{Costs, EndpointCosts};
pub use endpoint::Endpoint;
pub use error::{Attempt, Error};
pub use event::{CacheEnd, EndpointName, Event, PersistEnd, RequestEnd};
pub use explain::{Considered, Decision, Explanation};
pub use fold::ClientBatch;
pub use highwater_core as core;
pub use highwater_core::{
    TxHash,
    call::write::Policy as SendPolicy,
    scores::{Restored, Scores, ScoresError},
};
pub use network::Network;
#[cfg(feature = "alloy")]
pub use operation::{
    AttemptError, Cause, EndpointDataError, Failure, OperationError, OperationOptions, Pinned,
    PinnedError, PinnedFault, UnknownEndpoint,
};
pub use persist::{FileStore, Store, StoreError};
pub use pool::{CallOptions, Pool, Request};
pub use reads::{CacheStats, Fetched, SecondLevel, Viewer};
pub use secret::{Scrubber, SecretUrl};
pub use sends::Sends;
pub use set::{PoolSet, UnknownNetwork};
pub use snapshot::{Counters, EndpointSnapshot, MethodCounters, Snapshot};
#[cfg(feature = "alloy")]
pub use tokio_util::sync::CancellationToken;
pub use totals::{Totals, TotalsError};

/// The examples of the README are tests.
#[cfg(all(doctest, feature = "alloy"))]
#[doc = include_str!("../README.md")]
mod readme {}
