//! One call as a state machine.
//!
//! Chain check, race, hedge, failover, rounds and waits share one deadline, one wait budget and one
//! retry budget. The machine decides which endpoint is asked next and when the call is over; a
//! driver carries that out. After every mutation the driver polls until it gets
//! [`Action::WaitUntil`] or [`Action::Finish`].

mod best;
mod machine;
mod plan;
mod round;
mod settled;
pub mod write;

pub use best::usefulness;
pub use machine::{Action, Leftover, Machine, Outcome, Report};
pub use plan::Plan;
pub use settled::{Content, Delivery, Settled};
