//! Every decision of Highwater, as pure functions and state machines.
//!
//! Nothing here reads a clock, a random source or a socket. Time arrives as [`Now`], bytes arrive
//! as slices, and what should happen next is returned as a value. That is why a million calls with
//! outages can be replayed in a second, the same way every time.
//!
//! | module | what it decides |
//! |---|---|
//! | [`jsonrpc`] | what a caller's or an endpoint's bytes say, and how an answer is put together |
//! | [`method`] | what may be done with a method: its row of the method table, blocks, keys |
//! | [`classify`] | what an answer means for the call and for the endpoint |
//! | [`breaker`] | when an endpoint is taken out, and how it comes back |
//! | [`bucket`] | what may be spent at an endpoint, by rate and by allowance |
//! | [`identity`] | which chain an endpoint serves, and when to ask it again |
//! | [`retry_budget`] | how much may be retried while things go wrong |
//! | [`router`] | the state of the endpoints of one chain |
//! | [`call`] | one call as a state machine: check, send, wait, finish |

pub mod breaker;
pub mod bucket;
pub mod call;
pub mod classify;
pub mod id;
pub mod identity;
pub mod jsonrpc;
pub mod method;
pub mod now;
pub mod retry_budget;
pub mod router;
mod sliding;

pub use id::{AttemptId, ChainId, EndpointId};
pub use now::Now;
