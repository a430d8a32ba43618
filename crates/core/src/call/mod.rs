//! One call as a state machine.
//!
//! Chain check, race, hedge, failover, rounds and waits share one deadline, one wait budget and one
//! retry budget. The machine decides which endpoint is asked next and when the call is over; a
//! driver carries that out. After every mutation the driver polls until it gets
//! [`Action::WaitUntil`] or [`Action::Finish`]. A call that sends a raw transaction goes by [`mod@write`].

mod action;
mod best;
mod machine;
mod plan;
mod round;
mod settled;
pub mod write;

pub use action::{Action, Leftover, Outcome, Report};
pub use best::usefulness;
pub use machine::Machine;
pub use plan::{Plan, Privacy};
pub(crate) use round::backoff;
pub use settled::{Content, Delivery, Settled};
