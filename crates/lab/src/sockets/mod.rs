//! Nodes on real sockets.
//!
//! [`ScriptedNode`] is for tests that need one fault at one moment, byte for byte:
//!
//! ```
//! use highwater_lab::sockets::{Answer, Gate, ScriptedNode};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let node = ScriptedNode::start().await;
//! let gate = Gate::new();
//! node.on("eth_call").once(Answer::result("\"0x01\"").held_by(&gate));
//! node.on("eth_call").times(2, Answer::error(-32000, "header not found"));
//! node.on("eth_getLogs").always(Answer::result("[]").truncated(7));
//! // … send requests to node.url(), wait for node.record().wait_for(1), then gate.release(1).
//! # node.stop().await; }
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `scripted` | the node, its rules and its life |
//! | `answer` | one answer: JSON-RPC layer and HTTP layer |
//! | `travel` | how a body is framed, coded, held, cut and ended |
//! | `gate` | waits that a test controls |
//! | `record` | what the node saw |
//! | `rules` | which rule answers which call |
//! | `wire` | bytes in, bytes out |

mod answer;
mod gate;
mod record;
mod rules;
mod scripted;
mod travel;
mod wire;

pub use crate::call::Call;
pub use answer::{Answer, ReplyId};
pub use gate::Gate;
pub use record::{Received, Record};
pub use scripted::{ConnectionFault, On, ScriptedNode};
pub use wire::HttpRequest;
