//! Operations that are pinned to one endpoint (L-5, L-6): which endpoint an attempt gets, when the
//! next attempt begins, and how it ends when there is none.
//!
//! | file | what it holds |
//! |---|---|
//! | `course` | one operation: rounds, backoffs, waits |
//! | `books` | what is known of operations, of one endpoint and of all |
//!
//! Who is fit for an operation, and which of them is reserved, is the router's
//! ([`Router::reserve`](crate::router::Router)): endpoints have one circuit for calls and operations.

mod books;
mod course;

pub(crate) use books::{EndpointBook, RouterBook};
pub use course::{Course, Next, Stop};

use crate::EndpointId;
use std::time::{Duration, Instant};

/// A place at an endpoint, for one attempt of an operation. Whoever holds it gives it back with
/// [`Router::release`](crate::router::Router::release), once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    pub(crate) endpoint: EndpointId,
    pub(crate) serial: u32,
    pub(crate) number: u64,
    /// Ejections of the endpoint until then.
    pub(crate) ejections: u64,
    pub(crate) trial: bool,
}

impl Reservation {
    /// Where the endpoint was when this was made.
    #[must_use]
    pub const fn endpoint(&self) -> EndpointId {
        self.endpoint
    }

    /// Whether it is the one trial of an endpoint whose cooldown is over.
    #[must_use]
    pub const fn is_trial(&self) -> bool {
        self.trial
    }
}

/// How an endpoint stands for an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fit {
    /// It takes one now.
    Ready(Ready),
    /// It has no token for so long.
    Spent(Duration),
    /// It is ejected.
    Cooling(Instant),
    /// Somebody tries it; nobody knows for how long.
    Tried,
    /// It is excluded for good.
    Excluded,
    /// It serves another chain.
    Quarantined,
}

/// An endpoint that takes an operation now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ready {
    pub(crate) endpoint: EndpointId,
    pub(crate) serial: u32,
    pub(crate) tier: u8,
    pub(crate) private: bool,
    /// It comes back from an ejection, and this would be its trial.
    pub(crate) trial: bool,
    /// It is ejected for methods that an operation may do without.
    pub(crate) partly: bool,
}
