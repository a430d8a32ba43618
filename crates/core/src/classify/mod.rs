//! What an answer means.

mod class;

pub use class::{Class, Verdict};
