//! What a block reference says.
//!
//! `0x` and 64 hex digits is a hash, `0x` and 1 to 16 digits a number, the five tags are exact words,
//! an object with exactly one of `blockNumber` and `blockHash` (and `requireCanonical`) is EIP-1898,
//! an integer outside quotes is read for its height. Anything else is foreign: a pin put in its place
//! could change the question.

use super::scan::{self, Members, Span};

pub(crate) const BLOCK_HASH: &str = "blockHash";
pub(crate) const BLOCK_NUMBER: &str = "blockNumber";

/// A tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tag {
    /// The head of whoever answers.
    Latest,
    /// The safe head.
    Safe,
    /// The finalized head.
    Finalized,
    /// The block being built.
    Pending,
    /// The first block.
    Earliest,
}

/// What stands where a block belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// Nothing.
    Omitted,
    /// An explicit `null`.
    Null,
    /// A tag.
    Tag(Tag),
    /// A number as a hex string.
    Number(u64),
    /// A number outside quotes.
    JsonNumber(u64),
    /// A hash.
    Hash([u8; 32]),
}

/// The object form of EIP-1898.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectForm {
    /// The flag, where the caller gave it.
    pub require_canonical: Option<bool>,
}

/// Reads the object form; `None` is foreign. The span is that of the string or number inside.
pub(crate) fn eip_1898(text: &str, value: &Span) -> Option<(Block, ObjectForm, Span)> {
    let mut form = ObjectForm {
        require_canonical: None,
    };
    let mut found = None;
    for (name, value) in Members::new(text.as_bytes(), value.start) {
        match scan::name(text, &name) {
            "requireCanonical" if form.require_canonical.is_none() => {
                form.require_canonical = Some(match text.get(value)? {
                    "true" => true,
                    "false" => false,
                    _ => return None,
                });
            }
            name @ (BLOCK_NUMBER | BLOCK_HASH) if found.is_none() => {
                let block = scalar(text, &value)?;
                let fits = match block {
                    Block::Hash(_) => name == BLOCK_HASH,
                    Block::Tag(_) | Block::Number(_) | Block::JsonNumber(_) => name == BLOCK_NUMBER,
                    Block::Null | Block::Omitted => false,
                };
                found = Some(fits.then_some((block, value))?);
            }
            _ => return None,
        }
    }
    found.map(|(block, scalar)| (block, form, scalar))
}

/// Reads a string or number; `None` is foreign.
pub(crate) fn scalar(text: &str, span: &Span) -> Option<Block> {
    let written = text.get(span.clone())?;
    if written == "null" {
        return Some(Block::Null);
    }
    if !written.starts_with('"') {
        let digits = written.bytes().all(|byte| byte.is_ascii_digit());
        return if digits {
            written.parse().ok().map(Block::JsonNumber)
        } else {
            None
        };
    }
    // 66 characters, each written with six at most.
    if written.len() > 400 {
        return None;
    }
    let decoded = scan::string(text, span)?;
    let tag = match &*decoded {
        "latest" => Tag::Latest,
        "safe" => Tag::Safe,
        "finalized" => Tag::Finalized,
        "pending" => Tag::Pending,
        "earliest" => Tag::Earliest,
        other => return hex(other),
    };
    Some(Block::Tag(tag))
}

fn hex(text: &str) -> Option<Block> {
    let digits = text.strip_prefix("0x")?.as_bytes();
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    match digits.len() {
        1..=16 => {
            let add = |number: u64, byte: &u8| Some(number << 4 | u64::from(digit(*byte)?));
            digits.iter().try_fold(0, add).map(Block::Number)
        }
        64 => {
            let mut hash = [0; 32];
            for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
                *byte = digit(pair[0])? << 4 | digit(pair[1])?;
            }
            Some(Block::Hash(hash))
        }
        _ => None,
    }
}
