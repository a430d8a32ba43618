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
//! [`serve`] puts the nodes of a scenario on ports of their own, in real time:
//!
//! ```
//! use highwater_lab::{scenario::Scenario, sockets};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
//! let text = "name = \"one\"\nduration = \"10s\"\n[[nodes]]\nname = \"a\"\n";
//! let scenario = Scenario::parse(text, None).expect("a valid scenario");
//! let fleet = sockets::serve(&scenario, ([127, 0, 0, 1], 0).into()).await?;
//! assert!(fleet.members()[0].url().starts_with("http://127.0.0.1:"));
//! fleet.stop().await;
//! # Ok(()) }
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `scripted` | the scripted node and its life |
//! | `script` | what it is told, and what it says on its own |
//! | `answer` | one answer: JSON-RPC layer and HTTP layer |
//! | `travel` | how a body is framed, coded, held, cut and ended |
//! | `fleet` | the nodes of a scenario, their ports and their lives |
//! | `carriage` | an answer of a simulated node as steps on a socket |
//! | `chronicle` | the clock and the history that nodes and clients share |
//! | `tally` | what became of a node's requests |
//! | `load`, `caller`, `question` | clients that ask one address, steadily, and know the right answers |
//! | `gate` | waits that a test controls |
//! | `record` | what the node saw |
//! | `rules` | which rule answers which call |
//! | `wire` | bytes in, bytes out |

mod answer;
mod caller;
mod carriage;
mod chronicle;
mod fleet;
mod gate;
mod load;
mod question;
mod record;
mod rules;
mod script;
mod scripted;
mod tally;
mod travel;
mod wire;

pub use crate::call::Call;
pub use answer::{Answer, ReplyId};
pub use chronicle::Chronicle;
pub use fleet::{Dealt, Fleet, Member, serve, serve_recorded, serve_told};
pub use gate::Gate;
pub use load::{Calls, Sample, load};
pub use question::Question;
pub use record::{Received, Record};
pub use script::ConnectionFault;
pub use scripted::{On, ScriptedNode};
pub use tally::{Fate, Tally};
pub use wire::HttpRequest;
