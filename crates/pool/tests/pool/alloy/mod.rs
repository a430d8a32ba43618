//! The pool as a transport of alloy, and transports of alloy as endpoints (L-1, L-2).

mod batch;
pub(crate) mod drop;
mod errors;
mod layer;
mod options;
mod provider;
mod upstream;
