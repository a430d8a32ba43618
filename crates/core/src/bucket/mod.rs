//! What may be spent at an endpoint, by rate and by allowance.
//!
//! | file | what it holds |
//! |---|---|
//! | `rate` | a rate limit, and the endpoints whose rate is known |
//! | `tokens` | the token bucket |
//! | `learned` | limits that nobody stated |
//! | `period` | compute units per day and month |
//! | `account` | all of it behind one lock, shared by all who name the account |

mod account;
mod learned;
mod period;
mod rate;
mod tokens;

pub use account::{Account, AccountView, Budget};
pub use learned::LearnSettings;
pub use period::{Every, Period, Spent};
pub use rate::{Rate, known};
