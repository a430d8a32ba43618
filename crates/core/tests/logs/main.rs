//! Logs: filters, the index, ranges in parts, by rule.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod chain;
mod filter;
mod index;
mod plan;
mod scan;
mod shelf;
