//! Filters under ids of ours (L-4): what was handed out, and what may be told again elsewhere.
//!
//! A filter lives at the endpoint that made it, which alone knows how far it was polled. When that
//! endpoint is gone, what its filter would have told next is made from the chain at another one: all
//! after the last block that was polled for sure, the *anchor*, less what was handed out since. That is
//! done only where it is proven to be complete: the anchor is on the other endpoint's chain, and so is
//! everything handed out after it.
//!
//! | file | what it holds |
//! |---|---|
//! | `id` | ids that cannot be guessed |
//! | `table` | whose filters there are, and when one is forgotten |
//! | `trail` | how far a filter was polled, and what of a replay is new |
//! | `changes` | what a list of changes names |
//! | `criteria` | a log filter as a question for a range of blocks |

mod changes;
mod criteria;
mod id;
mod table;
mod trail;

pub use changes::{Header, Mark, elements};
pub use criteria::Criteria;
pub use id::FilterId;
pub use table::{MOST_BY_CALLER, Table};
pub use trail::{Anchor, Kind, Replay, Trail};

#[cfg(test)]
mod tests;
