//! Just enough RLP to walk a signed transaction: bounds are checked, nothing is copied.

use smallvec::SmallVec;

/// More items than any list that is walked here has.
pub(super) const MOST: usize = 20;

/// One item: its payload, and how it stands on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<'a> {
    pub(super) list: bool,
    pub(super) payload: &'a [u8],
    /// With its header.
    pub(super) whole: &'a [u8],
}

impl<'a> Item<'a> {
    /// The item that is all of `bytes`.
    pub(super) fn only(bytes: &'a [u8]) -> Option<Self> {
        let (item, rest) = Self::first(bytes)?;
        rest.is_empty().then_some(item)
    }

    /// The item that `bytes` begin with, and what follows. Only the one shortest form is read, as by
    /// every node.
    fn first(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let lead = *bytes.first()?;
        let (list, header, length) = match lead {
            0..=0x7f => (false, 0, 1),
            0x80..=0xb7 => (false, 1, usize::from(lead - 0x80)),
            0xb8..=0xbf => long(bytes, lead - 0xb7).map(|(h, n)| (false, h, n))?,
            0xc0..=0xf7 => (true, 1, usize::from(lead - 0xc0)),
            0xf8..=0xff => long(bytes, lead - 0xf7).map(|(h, n)| (true, h, n))?,
        };
        let end = length.checked_add(header)?;
        let whole = bytes.get(..end)?;
        let payload = whole.get(header..)?;
        // A small byte stands for itself.
        if lead == 0x81 && payload.first().is_some_and(|byte| *byte < 0x80) {
            return None;
        }
        let item = Self {
            list,
            payload,
            whole,
        };
        Some((item, bytes.get(end..)?))
    }

    /// What a list holds; nothing for a string, for a broken list and for one of more than [`MOST`].
    pub(super) fn items(&self) -> Option<SmallVec<[Item<'a>; MOST]>> {
        if !self.list {
            return None;
        }
        let (mut items, mut rest) = (SmallVec::new(), self.payload);
        while !rest.is_empty() {
            if items.len() == MOST {
                return None;
            }
            let (item, after) = Self::first(rest)?;
            items.push(item);
            rest = after;
        }
        Some(items)
    }

    /// A number of at most 64 bits.
    pub(super) fn number(&self) -> Option<u64> {
        let word = self.word()?;
        let (high, low) = word.split_at(24);
        if high.iter().any(|byte| *byte != 0) {
            return None;
        }
        low.try_into().ok().map(u64::from_be_bytes)
    }

    /// A number of at most 256 bits.
    pub(super) fn word(&self) -> Option<[u8; 32]> {
        if self.list || self.payload.first() == Some(&0) {
            return None;
        }
        let mut word = [0; 32];
        let start = word.len().checked_sub(self.payload.len())?;
        word[start..].copy_from_slice(self.payload);
        Some(word)
    }
}

/// The length of the header and of the payload behind a header with `count` bytes of length.
fn long(bytes: &[u8], count: u8) -> Option<(usize, usize)> {
    let header = 1 + usize::from(count);
    let digits = bytes.get(1..header)?;
    if digits.first() == Some(&0) {
        return None;
    }
    let length = digits
        .iter()
        .fold(0_u64, |n, byte| n << 8 | u64::from(*byte));
    if length < 56 {
        return None;
    }
    Some((header, usize::try_from(length).ok()?))
}

/// The header of a list whose payload has this length.
pub(super) fn list_header(length: usize) -> SmallVec<[u8; 9]> {
    let mut header = SmallVec::new();
    match u8::try_from(length) {
        Ok(short) if short < 56 => header.push(0xc0 + short),
        Ok(_) | Err(_) => {
            let digits = length.to_be_bytes();
            let zeros = digits.iter().take_while(|byte| **byte == 0).count();
            header.push(0xf7 + (digits.len() - zeros) as u8);
            header.extend_from_slice(&digits[zeros..]);
        }
    }
    header
}

/// A number as an item.
pub(super) fn number(value: u64) -> SmallVec<[u8; 9]> {
    let digits = value.to_be_bytes();
    let zeros = digits.iter().take_while(|byte| **byte == 0).count();
    let digits = &digits[zeros..];
    let mut item = SmallVec::new();
    if !matches!(digits, [0..=0x7f]) {
        item.push(0x80 + digits.len() as u8);
    }
    item.extend_from_slice(digits);
    item
}
