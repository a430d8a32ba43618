//! Logs: filters, the index, ranges in parts, by rule.

mod chain;
mod filter;
mod index;
mod plan;
mod scan;
mod shelf;
