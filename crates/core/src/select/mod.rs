//! Which of the endpoints that may serve a call is asked.
//!
//! | file | what it holds |
//! |---|---|
//! | `strategy` | the ways to choose |
//! | `candidate` | what a strategy is told of an endpoint |
//! | `selector` | the choice: first attempt, next attempt, racers |
//! | `weighted_sum` | four measures made comparable and added up |
//! | `least_loaded` | latency by operations under way, initial measurement, exploration |
//! | `cursor` | whose turn it is |
//!
//! Who may serve at all is settled before: a candidate is never refused here. Nothing
//! allocates but [`Selector::preview`].

mod candidate;
mod cursor;
mod least_loaded;
mod selector;
mod strategy;
mod weighted_sum;

pub use candidate::Candidate;
pub(crate) use selector::two_of;
pub use selector::{SelectSettings, Selector, Turn};
pub use strategy::Strategy;
pub use weighted_sum::Weights;
