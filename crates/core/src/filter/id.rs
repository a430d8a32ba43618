//! Ids of filters.

use std::{borrow::Cow, fmt};

/// The id of a filter: 128 bits that somebody drew, so that nobody finds another's by guessing.
/// Written as nodes write theirs, `0x` and hex digits without leading zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilterId(pub u128);

impl FilterId {
    /// The id in the parameters of a call about one filter; `None`: it is no id of ours.
    #[must_use]
    pub fn of_call(params: &str) -> Option<Self> {
        let (id,): (Cow<'_, str>,) = serde_json::from_str(params).ok()?;
        let digits = id.strip_prefix("0x")?;
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if digits.len() > 32 || digits.starts_with('0') || !digits.bytes().all(is_digit) {
            return None;
        }
        u128::from_str_radix(digits, 16).ok().map(Self)
    }
}

impl fmt::Display for FilterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}
