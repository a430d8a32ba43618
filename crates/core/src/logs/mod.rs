//! Logs: which a filter means, which are remembered, and how a range that is too wide is asked for in
//! parts (P-21 to P-24).
//!
//! | file | what it holds |
//! |---|---|
//! | `bounds` | bounds that no block can have |
//! | `filter` | the normal form of a filter, what it matches, which other it covers |
//! | `list` | the logs of an answer: where each is, and whether it was asked for |
//! | `index` | the logs of one filter over the newest blocks |
//! | `shelf` | the indexes of one pool, bounded |
//! | `plan` | a range in parts: whole or not at all, in order |
//! | `caps` | counts so round that an answer may be cut |
//! | `bloom` | what a block's header says about logs in it |
//!
//! An index holds bytes as an endpoint sent them and says for which blocks it has all of them. What may
//! go in and come out is decided by the same view of heads and hashes as for the cache
//! ([`cache::View`](crate::cache::View)): nothing above the newest trusted head, nothing that left the
//! chain, nothing of the newest block on an empty list alone (rules `suspect`, `reorg`).

mod bloom;
mod bounds;
mod caps;
mod filter;
mod index;
mod list;
mod plan;
mod shelf;

pub use bloom::{Bloom, Blooms};
pub use bounds::is_beyond_numbers;
pub use caps::Caps;
pub use filter::Filter;
pub use index::{Ask, Found, Index, Piece, Told};
pub use list::{Fault, List, Log, count, is_foreign};
pub use plan::{Part, Plan, TooMany};
pub use shelf::{Cut, Shelf};

use crate::answer::Hash;

/// Numbers of the log index and of split ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// Newest blocks that an index covers; 0 keeps none (P-21). Default 1000.
    pub window: u64,
    /// Whether a range that is wider than any endpoint takes is asked for in parts (P-23). Default true.
    pub split: bool,
    /// Most requests that one call may be split into. Default 256.
    pub most_parts: u32,
    /// Parts of one call that are under way at once. Default 4.
    pub parallel: usize,
}

impl LogSettings {
    /// Whether every number is in range.
    ///
    /// # Errors
    /// The name of the first field that is not.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.most_parts < 2 {
            return Err("most_parts");
        }
        if self.parallel == 0 {
            return Err("parallel");
        }
        Ok(())
    }
}

impl Default for LogSettings {
    fn default() -> Self {
        Self {
            window: 1000,
            split: true,
            most_parts: 256,
            parallel: 4,
        }
    }
}

/// `0x` and exactly this many bytes in hex, in quotes.
fn bytes<const N: usize>(quoted: &str) -> Option<[u8; N]> {
    let digits = quoted.strip_prefix("\"0x")?.strip_suffix('"')?.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut all = [0; N];
    for (byte, pair) in all.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *byte = u8::try_from(digit(0)? << 4 | digit(1)?).ok()?;
    }
    Some(all)
}

/// A block that has logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its number.
    pub number: u64,
    /// Its hash.
    pub hash: Hash,
}
