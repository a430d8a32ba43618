//! What may be done with a method.
//!
//! The table is generated at build time from `data/methods.csv`.

mod descriptor;

pub use descriptor::{Descriptor, Failover, Lane, lookup};
