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
//! | [`stats`] | what the answers of an endpoint say about it |
//! | [`score`] | how good an endpoint is for one call, as one number |
//! | [`select`] | which endpoint is asked: the strategies |
//! | [`rng`] | random numbers from a seed |
//! | [`router`] | the state of the endpoints of one chain |
//! | [`call`] | one call as a state machine: check, send, wait, finish |

pub mod call;
pub mod classify;
pub mod id;
pub mod jsonrpc;
pub mod method;
pub mod now;
pub mod rng;
pub mod router;
pub mod score;
pub mod select;
pub mod stats;

pub use id::{AttemptId, ChainId, EndpointId};
pub use now::Now;
