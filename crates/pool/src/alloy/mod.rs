//! The pool as a transport of alloy (L-2), and transports of alloy as endpoints of a pool.
//!
//! | file | what it holds |
//! |---|---|
//! | `transport` | the pool behind `RpcClient` and `ProviderBuilder` |
//! | `reply` | answers and errors as alloy has them |
//! | `layer` | the pool before another transport, which keeps the subscriptions |
//! | `options` | options of one call, handed over with its request |
//! | `client` | clients and providers that are set up for a pool |
//! | `upstream` | an endpoint behind any transport of alloy |

mod client;
mod layer;
mod options;
mod reply;
mod transport;
mod upstream;

pub use layer::{PoolLayer, PoolService};
pub use options::PoolCallExt;
pub use transport::PoolTransport;

pub(crate) use reply::{failure, params, success};
pub(crate) use transport::is_subscription;
