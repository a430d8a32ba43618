//! What is learned about one endpoint beside its health: how far back it keeps data, how much it
//! takes at once, which tags it knows (R-37, `semantics.md` §7 rows 2, 4 and 19).
//!
//! | file | what it holds |
//! |---|---|
//! | `need` | which blocks, data and sizes a request needs |
//! | `learned` | what is known of one endpoint |
//! | `declared` | what the configuration says of it |
//! | `limit` | the largest size that is taken |
//! | `capabilities` | reading the answer to `eth_capabilities` |
//!
//! Nothing here is a strike. Everything learned is forgotten after a time, and evidence of the
//! contrary takes it back at once, so that an endpoint never stays out for what it was (lessons A2).

pub mod capabilities;
mod declared;
mod learned;
mod limit;
mod need;

#[cfg(test)]
mod tests;

pub use capabilities::{Capabilities, Kept};
pub use declared::{Declared, Size};
pub use learned::{LearnSettings, Learned};
pub use need::{Data, Need};
