//! Logs: from holders only, from the index, in parts (P-21 to P-24).

mod by_hash;
mod caps;
mod holders;
mod index;
mod node;
mod parts;
mod simulated;
