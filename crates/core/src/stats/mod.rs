//! What the answers of one endpoint say about it: the scoreboard.
//!
//! | file | what it holds |
//! |---|---|
//! | `book` | averages of latency, tail and error that follow the newest answers |
//! | `books` | one book for the endpoint, one per method, and how they are blended |
//! | `window` | five minutes of one lane: percentiles, error rate, slope |
//! | `histogram` | latencies counted in bins |
//! | `trend` | whether the median of bucket after bucket rises |
//! | `recent` | successes and endpoint failures of the last ten seconds |
//! | `buckets` | which bucket of a ring an instant belongs to |
//!
//! Milliseconds are `f64`; nothing that is returned is ever NaN. What each answer does to the books
//!
//!
//! | answer | [`Books`] |
//! |---|---|
//! | a result, or an error that the chain decided (a revert) | [`Books::record_success`] |
//! | one whose duration says nothing of the endpoint (an `absent` null that took long) | [`Books::record_error_free`] |
//! | an endpoint failure that came back, however fast | [`Books::record_failure`] |
//! | a timeout, a hang | [`Books::record_timeout`] |
//! | `behind`, history, range, method and size classes; a caller's abort | nothing |
//! | a head probe that worked; one that did not | [`Books::cool`]; [`Books::push_tail`] |

mod book;
mod books;
mod buckets;
mod histogram;
mod recent;
mod trend;
mod window;

pub use book::{Book, BookSettings};
pub use books::{Blended, Books};
pub use recent::Recent;
pub use window::{Window, WindowSettings};
