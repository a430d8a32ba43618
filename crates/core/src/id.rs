//! Small identifiers, each a type of its own so that one cannot be used for another.

use std::fmt;

/// An EIP-155 chain id. Part of the type of everything that must not mix between chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainId(pub u64);

impl fmt::Display for ChainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Position of an endpoint in its pool. Stable for the life of one configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointId(pub u16);

impl EndpointId {
    /// No endpoint: one that is not in the pool any more. A pool has at most 65 535.
    pub const GONE: Self = Self(u16::MAX);

    /// The position as an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Number of an attempt within one call, counted from 0 in the order in which they were started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId(pub u16);

/// The address of an account.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub [u8; 20]);

impl Address {
    /// The address that a text says: `0x` and 40 digits of either case.
    #[must_use]
    pub fn of_hex(text: &str) -> Option<Self> {
        bytes(text).map(Self)
    }
}

impl fmt::Debug for Address {
    /// Not which: addresses are not to be logged (G-7).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Address")
    }
}

/// Bytes in hex, of just this length.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text
        .strip_prefix("0x")
        .or_else(|| text.strip_prefix("0X"))?;
    if digits.len() != 2 * N || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let mut all = [0; N];
    for (byte, at) in all.iter_mut().zip((0..2 * N).step_by(2)) {
        *byte = u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()?;
    }
    Some(all)
}

/// The hash of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TxHash(pub [u8; 32]);

impl TxHash {
    /// The hash that a text says: `0x` and 64 digits of either case.
    #[must_use]
    pub fn of_hex(text: &str) -> Option<Self> {
        bytes(text).map(Self)
    }
}

impl fmt::Display for TxHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TxHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
