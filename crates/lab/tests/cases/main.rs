//! The correctness scenarios that concern the engine, each a test with its name: scripted nodes in
//! virtual time, the engine between them and the caller.

#![expect(
    clippy::unwrap_used,
    reason = "shared set-up of tests, outside test functions"
)]

mod chains;
mod codes;
mod heads;
mod points;
mod stage;
