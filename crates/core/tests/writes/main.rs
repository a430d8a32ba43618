//! Sends of raw transactions, from the bytes of the answers to the end of the call: the cases of the
//! write rules, and what must hold whatever the endpoints say.
//!
//! Names of tests that begin with `w` and a number are those of the cases.

mod bench;
mod broadcast;
mod cases;
mod fates;
mod promises;
mod sync;
