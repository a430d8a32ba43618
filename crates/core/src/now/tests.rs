//! Where the time of tests begins.

use std::time::Instant;

/// A zero for tests, which then move time by addition only.
#[expect(
    clippy::disallowed_methods,
    reason = "an instant can only be had from the clock; any will do"
)]
pub(crate) fn origin() -> Instant {
    Instant::now()
}
