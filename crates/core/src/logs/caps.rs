//! Counts so round that an answer may be cut (H07 of the semantics: some endpoints cut at 100, 256, 1000
//! or 10 000 logs and say nothing).

use std::collections::BTreeMap;
use std::sync::Arc;

/// Endpoints that are remembered.
const MOST: usize = 1024;

/// How many logs each endpoint has been seen to answer at once. Only a longer answer shows that it does not
/// cut at a count: one that turned out to be whole may have been as long as the cap by chance.
#[derive(Clone, Debug, Default)]
pub struct Caps {
    seen: BTreeMap<Arc<str>, u64>,
}

impl Caps {
    /// Whether an answer with so many logs may be cut. An endpoint that has answered more is believed.
    #[must_use]
    pub fn is_suspect(&self, endpoint: &str, count: u64) -> bool {
        is_round(count) && self.seen.get(endpoint).is_none_or(|most| *most <= count)
    }

    /// An endpoint answered so many logs.
    pub fn on_answer(&mut self, endpoint: &Arc<str>, count: u64) {
        if let Some(most) = self.seen.get_mut(endpoint) {
            *most = count.max(*most);
        } else if self.seen.len() < MOST {
            self.seen.insert(Arc::clone(endpoint), count);
        }
    }

    /// So many of an endpoint turned out to be cut: nothing it answered before says otherwise.
    pub fn on_cut(&mut self, endpoint: &Arc<str>, count: u64) {
        if let Some(most) = self.seen.get_mut(endpoint) {
            *most = count.min(*most);
        }
    }
}

/// Whether a count is one at which endpoints cut.
const fn is_round(count: u64) -> bool {
    count > 0 && (count.is_multiple_of(100) || count == 256 || count == 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    // P-23
    #[test]
    fn a_round_count_is_suspect_until_more_was_seen() {
        let (mut caps, a): (_, Arc<str>) = (Caps::default(), Arc::from("a"));
        for count in [100, 200, 256, 1000, 1024, 2000, 5000, 10_000, 20_000] {
            assert!(caps.is_suspect("a", count), "{count}");
        }
        for count in [0, 1, 99, 101, 999, 12_345] {
            assert!(!caps.is_suspect("a", count), "{count}");
        }
        caps.on_answer(&a, 1000);
        assert!(caps.is_suspect("a", 1000));
        assert!(!caps.is_suspect("a", 900));
        caps.on_answer(&a, 1001);
        assert!(!caps.is_suspect("a", 1000));
        assert!(caps.is_suspect("b", 1000) && caps.is_suspect("a", 1100));
        caps.on_cut(&a, 1000);
        assert!(caps.is_suspect("a", 1000));
    }
}
