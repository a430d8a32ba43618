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
//! | [`chains`] | what is known of a chain: block time, lag, finality |
//! | [`senders`] | where an account is asked after that has sent something |
//! | [`transaction`] | what a raw transaction says of itself: hash, nonce, chain, signature |
//! | [`classify`] | what an answer means for the call and for the endpoint |
//! | [`judge`] | an answer's bytes as the end of an attempt |
//! | [`call`] | one call as a state machine: check, send, wait, finish |
//! | [`operation`] | an operation that is pinned to one endpoint: which one, and when again |
//! | [`router`] | the state of the endpoints of one chain, and who serves the next attempt |
//! | [`stats`], [`score`], [`select`] | books and windows of an endpoint, its score, the strategies |
//! | [`scores`] | what of the books is kept across a restart, and what of that is believed |
//! | [`breaker`], [`identity`] | circuits, exclusions, chain ids |
//! | [`bucket`], [`retry_budget`] | what may be sent: accounts, learned limits, retries |
//! | [`heads`], [`probe`], [`learn`] | heads and whom to believe, when to probe, what an endpoint has |
//! | [`pin`], [`floor`] | which block `latest` is for a call, and what a caller has seen already |
//! | [`flight`], [`cache`] | who shares a request, and which answers are kept and served again |
//! | [`logs`] | which logs are remembered, and how a range that is too wide is asked for in parts |
//! | [`filter`] | filters under ids of ours: whose they are, how far they were polled |
//! | [`answer`], [`recent`] | the block that an answer names, and the hashes of recent blocks |
//! | [`settings`], [`event`] | all options of the engine, all it tells |
//! | [`rng`], [`sliding`], [`id`], [`now`] | a seeded generator, sliding counts, identifiers, time |

mod aging;
pub mod answer;
pub mod breaker;
pub mod bucket;
pub mod cache;
pub mod call;
pub mod chains;
pub mod classify;
pub mod event;
pub mod filter;
pub mod flight;
pub mod floor;
pub mod heads;
pub mod id;
pub mod identity;
pub mod jsonrpc;
pub mod judge;
pub mod learn;
pub mod logs;
pub mod method;
#[cfg(feature = "mutants")]
pub mod mutant;
#[cfg(not(feature = "mutants"))]
mod mutant;
pub mod now;
pub mod operation;
pub mod pin;
pub mod probe;
pub mod recent;
pub mod retry_budget;
pub mod rng;
pub mod router;
pub mod score;
pub mod scores;
pub mod select;
pub mod senders;
pub mod settings;
pub mod sliding;
pub mod stats;
pub mod transaction;

pub use id::{Address, AttemptId, ChainId, EndpointId, TxHash};
pub use now::Now;

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
