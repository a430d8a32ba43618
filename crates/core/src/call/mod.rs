//! One call as a state machine.
//!
//! The machine decides which endpoint is asked next and when the call is over; a driver carries
//! that out. After every mutation the driver polls until it gets [`Action::WaitUntil`] or
//! [`Action::Finish`].

mod machine;
mod plan;

pub use machine::{Action, Machine, Outcome, Report, usefulness};
pub use plan::{Delivery, Plan, Settled};
