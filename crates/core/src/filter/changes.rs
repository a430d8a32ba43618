//! What a list of changes names.

use crate::{answer::Hash, judge::quantity};
use serde::Deserialize;
use serde_json::value::RawValue;

/// One change: a log, or the hash of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mark {
    /// The block's height; a hash alone does not say.
    pub number: Option<u64>,
    /// The block's hash.
    pub hash: Hash,
    /// Place of the log in its block.
    pub index: Option<u64>,
}

/// A block by its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its height.
    pub number: u64,
    /// Its hash.
    pub hash: Hash,
    /// The hash of the block before.
    pub parent: Hash,
}

/// The elements of a list, as they are written; `None`: it is no list.
#[must_use]
pub fn elements(result: &str) -> Option<Vec<&str>> {
    let elements: Vec<&RawValue> = serde_json::from_str(result).ok()?;
    Some(elements.into_iter().map(RawValue::get).collect())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Log<'a> {
    #[serde(borrow)]
    block_number: &'a RawValue,
    #[serde(borrow)]
    block_hash: &'a RawValue,
    #[serde(borrow)]
    log_index: &'a RawValue,
    #[serde(default)]
    removed: bool,
}

impl Mark {
    /// A log, and whether it says that it left the chain; `None`: it does not say which it is.
    #[must_use]
    pub fn of_log(log: &str) -> Option<(Self, bool)> {
        let log: Log<'_> = serde_json::from_str(log).ok()?;
        let mark = Self {
            number: Some(quantity(log.block_number.get())?),
            hash: hash(log.block_hash.get())?,
            index: Some(quantity(log.log_index.get())?),
        };
        Some((mark, log.removed))
    }

    /// The hash of a block.
    #[must_use]
    pub fn of_block(text: &str) -> Option<Self> {
        Some(Self {
            number: None,
            hash: hash(text)?,
            index: None,
        })
    }
}

impl Header {
    /// The header in an answer about a block; `None`: there is none.
    #[must_use]
    pub fn read(result: &str) -> Option<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Block<'a> {
            #[serde(borrow)]
            number: &'a RawValue,
            #[serde(borrow)]
            hash: &'a RawValue,
            #[serde(borrow)]
            parent_hash: &'a RawValue,
        }
        let block: Block<'_> = serde_json::from_str(result).ok()?;
        Some(Self {
            number: quantity(block.number.get())?,
            hash: hash(block.hash.get())?,
            parent: hash(block.parent_hash.get())?,
        })
    }
}

/// 32 bytes as a JSON string of hex digits.
fn hash(text: &str) -> Option<Hash> {
    let digits = text.strip_prefix("\"0x")?.strip_suffix('"')?.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = [pair[0], pair[1]].map(|digit| char::from(digit).to_digit(16));
        *byte = u8::try_from(high? * 16 + low?).ok()?;
    }
    Some(bytes)
}
