//! Which answers are kept, and when they are served again (P-11 to P-15).
//!
//! | file | what it decides |
//! |---|---|
//! | `class` | what kind of read a request is |
//! | `finality` | from which height down a chain's blocks are final |
//! | `store` | whether an answer is kept, and under what stamp |
//! | `serve` | whether a kept answer is served |
//! | `hot` | which reads are made again before anybody asks |
//!
//! This is the policy only: the bytes and the map are the owner's. It asks, in this order: the
//! [`Class`] of a request; its keys ([`Class::lookups`]); [`may_serve`] for what it finds; and after an
//! answer [`may_store`], with everything that was known when the request was *sent*. Every refusal and
//! every miss has a reason, to be counted (lessons C32).
//!
//! What is kept is stamped with the block that it was read at, and a stamp is never trusted further
//! than the hashes of [`Recent`](crate::recent::Recent) reach: a block that left the chain takes its
//! answers with it before anything else is served (P-14). A tag is never immutable, only a number or
//! a hash is (lessons C31).

mod class;
mod finality;
pub mod hot;
mod serve;
mod store;

pub use class::{Class, Uncached};
pub use finality::{Finality, Policy};
pub use hot::Refresh;
pub use serve::{Ask, Fresh, Miss, View, may_serve};
pub use store::{Answer, Keep, Refusal, Sign, Stamp, may_store};

use std::time::Duration;

/// Numbers of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSettings {
    /// Blocks that a read at `latest` may be behind the newest trusted head. Default 1.
    pub max_stale_blocks: u64,
    /// Age past which such a read is not served. Default 2 s.
    pub max_age: Duration,
    /// Most answers kept. Default 1000.
    pub entries: usize,
    /// Most bytes kept, keys included. Default 8 MiB.
    pub bytes: u64,
    /// Whether the header of a new head is fetched while reads come, one request for each head that a
    /// probe finds, so that a block that left the chain is seen (P-14). Without it only those headers
    /// count that callers ask for. Default true.
    pub headers: bool,
    /// Most keys that are read again in the background while they are read, 0 to 64; 0: none (P-18).
    /// Default 64.
    pub hot_keys: u8,
    /// How often a head is asked for while keys are hot (P-19). Default auto.
    pub refresh: Refresh,
}

impl CacheSettings {
    /// Whether every number is in range.
    ///
    /// # Errors
    /// The name of the first field that is not.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.max_age.is_zero() {
            return Err("max_age");
        }
        if self.entries == 0 {
            return Err("entries");
        }
        if self.bytes == 0 {
            return Err("bytes");
        }
        if self.hot_keys > hot::MOST {
            return Err("hot_keys");
        }
        match self.refresh {
            Refresh::Every(time) if time < hot::LEAST_TICK => return Err("refresh"),
            Refresh::Every(_) | Refresh::Auto | Refresh::Off => {}
        }
        Ok(())
    }
}

impl Default for CacheSettings {
    fn default() -> Self {
        Self {
            max_stale_blocks: 1,
            max_age: Duration::from_secs(2),
            entries: 1000,
            bytes: 8 << 20,
            headers: true,
            hot_keys: hot::MOST,
            refresh: Refresh::Auto,
        }
    }
}
