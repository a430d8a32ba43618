//! Time as an argument.

use std::time::{Instant, SystemTime};

/// The moment at which a decision is taken, read once by the caller.
///
/// `mono` is for every deadline, wait and age. `wall` is only for what other machines state in
/// wall-clock terms: HTTP dates, quota resets, saved-at stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Monotonic time.
    pub mono: Instant,
    /// Wall-clock time.
    pub wall: SystemTime,
}

#[cfg(test)]
pub(crate) mod tests;
