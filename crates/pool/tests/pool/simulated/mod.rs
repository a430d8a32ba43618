//! Reads of simulated clients through a pool, in paused time, and what became of them.
//!
//! A seed is a scenario: nodes that lag, lie, die, and follow reorganisations late or never, and
//! clients that ask the same things again and again. The checker of the lab reads the history.

pub(crate) mod client;
pub(crate) mod draft;
pub(crate) mod lab_node;
pub(crate) mod logs;
pub(crate) mod play;
pub(crate) mod regressions;
