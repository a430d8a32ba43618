//! Putting a concrete block where a request says or means `latest`.
//!
//! The number is spliced into the caller's bytes: megabytes of call data, the spelling of other
//! numbers and the order of members stay as they were written (P-1, P-4). All places of one request
//! take the same pin, and an EIP-1898 object stays an object.

use super::{
    block::Block,
    descriptor::Descriptor,
    found::{self, Found, Slot, array_text},
};
use smallvec::SmallVec;

/// What became of the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rewritten {
    /// Nothing to change; `out` was not touched: forward the bytes as they came.
    Unchanged,
    /// The pin would have turned the range round; `out` was not touched. The reference height then
    /// counts both bounds.
    Inverted,
    /// `out` was extended by the new parameters.
    Pinned,
}

/// [`find`](found::find) and [`Found::rewrite`] in one.
pub fn rewrite(row: &'static Descriptor, params: &str, pin: u64, out: &mut String) -> Rewritten {
    found::find(row, params).rewrite(params, pin, out)
}

impl Found {
    /// Appends the parameters with `pin` in every open place to `out`.
    ///
    /// `params` must be the text that was searched.
    pub fn rewrite(&self, params: &str, pin: u64, out: &mut String) -> Rewritten {
        if !self.wants_pin() {
            return Rewritten::Unchanged;
        }
        if self.inverts(pin) {
            return Rewritten::Inverted;
        }
        let mut open: SmallVec<[(&Slot, u64); 3]> = self
            .slots()
            .iter()
            .filter(|slot| self.is_open(slot))
            .map(|slot| (slot, pin))
            .collect();
        splice(params, &mut open, out);
        Rewritten::Pinned
    }

    /// Appends the parameters of a range, a log query's, with these bounds in place of its own to `out`.
    /// `false`: it is no range, and `out` was not touched (P-23).
    ///
    /// `params` must be the text that was searched.
    pub fn with_range(&self, params: &str, from: u64, to: u64, out: &mut String) -> bool {
        let [first, last, rest @ ..] = self.slots() else {
            return false;
        };
        let is_there = |slot: &Slot| slot.block != Block::Omitted || slot.gap.is_some();
        let has_hash = rest.iter().any(|slot| matches!(slot.block, Block::Hash(_)));
        if has_hash || !is_there(first) || !is_there(last) {
            return false;
        }
        let mut bounds: SmallVec<[(&Slot, u64); 3]> = SmallVec::new();
        bounds.extend([(first, from), (last, to)]);
        splice(params, &mut bounds, out);
        true
    }
}

/// Writes numbers in the places of slots.
fn splice(params: &str, slots: &mut [(&Slot, u64)], out: &mut String) {
    let text = array_text(params);
    // Stable: two members that go to one gap keep the order of the row.
    slots.sort_by_key(|(slot, _)| slot.scalar.start);
    out.reserve(text.len() + 64);
    let mut done = 0;
    let mut filled = None;
    for (slot, number) in slots {
        out.push_str(text.get(done..slot.scalar.start).unwrap_or_default());
        done = slot.scalar.end;
        if let Some(gap) = slot.gap {
            if !gap.empty || filled == Some(gap.at) {
                out.push(',');
            }
            filled = Some(gap.at);
            if let Some(key) = slot.path.key {
                out.push('"');
                out.push_str(key);
                out.push_str("\":");
            }
        }
        push_number(*number, out);
    }
    out.push_str(text.get(done..).unwrap_or_default());
}

/// A number as nodes write it: a hex string without leading zeros.
fn push_number(number: u64, out: &mut String) {
    out.push_str("\"0x");
    let digits = (64 - number.leading_zeros()).div_ceil(4).max(1);
    for digit in (0..digits).rev() {
        let digit = (number >> (4 * digit)) as u8 & 15;
        out.push(char::from(match digit {
            0..10 => b'0' + digit,
            _ => b'a' + digit - 10,
        }));
    }
    out.push('"');
}
