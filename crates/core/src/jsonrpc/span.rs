//! Where a part of a body lies in it.

use std::ops::Range;

/// The range of `body` that `part` borrows, for keeping the place of a part together with an owned
/// body. `None` where `part` does not lie in `body`, such as a text whose escapes were decoded.
#[must_use]
pub fn span_of(body: &[u8], part: &str) -> Option<Range<usize>> {
    let start = (part.as_ptr() as usize).checked_sub(body.as_ptr() as usize)?;
    let end = start.checked_add(part.len())?;
    (end <= body.len()).then_some(start..end)
}
