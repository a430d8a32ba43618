//! What the answers of one endpoint say about it: the scoreboard.
//!
//! | file | what it holds |
//! |---|---|
//! | `recent` | successes and endpoint failures of the last ten seconds |
//! | `buckets` | which bucket of a ring an instant belongs to |
//!
//! Milliseconds are `f64`; nothing that is returned is ever NaN.

mod buckets;
mod recent;

pub use recent::Recent;
