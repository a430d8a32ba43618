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
//! | [`chains`] | what is known of a chain beforehand: its row of the table of chains |
//! | [`heads`] | where each endpoint is on the chain, and the reference head they agree on |
//! | [`learn`] | what an endpoint keeps and takes, and what a request needs of it |
//! | [`router`] | the state of the endpoints of one chain |
//! | [`call`] | one call as a state machine: check, send, wait, finish |

pub mod call;
pub mod chains;
pub mod classify;
pub mod heads;
pub mod id;
pub mod jsonrpc;
pub mod learn;
pub mod method;
pub mod now;
pub mod router;

pub use id::{AttemptId, ChainId, EndpointId};
pub use now::Now;
