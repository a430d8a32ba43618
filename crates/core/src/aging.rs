//! Entries that are forgotten after a time.

use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, Instant},
};

/// A map whose entries are kept for a time after they were last written, and of which there are at
/// most so many: the oldest go first.
#[derive(Clone, Debug)]
pub(crate) struct Aging<K, V> {
    kept: Duration,
    most: usize,
    entries: BTreeMap<K, (Instant, V)>,
    /// In the order in which they were written; one that was written again stands here twice.
    order: VecDeque<(Instant, K)>,
}

impl<K: Copy + Ord, V> Aging<K, V> {
    pub(crate) const fn new(kept: Duration, most: usize) -> Self {
        Self {
            kept,
            most,
            entries: BTreeMap::new(),
            order: VecDeque::new(),
        }
    }

    /// Writes an entry; it is kept for the whole time from now on.
    pub(crate) fn insert(&mut self, key: K, value: V, now: Instant) {
        self.entries.insert(key, (now, value));
        self.order.push_back((now, key));
        while let Some(&(at, oldest)) = self.order.front() {
            let old = now.saturating_duration_since(at) > self.kept;
            if !old && self.order.len() <= self.most {
                break;
            }
            self.order.pop_front();
            if self
                .entries
                .get(&oldest)
                .is_some_and(|(last, _)| *last == at)
            {
                self.entries.remove(&oldest);
            }
        }
    }

    pub(crate) fn get(&self, key: K, now: Instant) -> Option<&V> {
        let (at, value) = self.entries.get(&key)?;
        (now.saturating_duration_since(*at) <= self.kept).then_some(value)
    }

    pub(crate) fn remove(&mut self, key: K) -> Option<V> {
        self.entries.remove(&key).map(|(_, value)| value)
    }

    /// Whether nothing is kept; entries that are too old may still count.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::now::tests::origin;

    const KEPT: Duration = Duration::from_secs(60);

    #[test]
    fn an_entry_is_kept_from_the_last_time_it_was_written() {
        let zero = origin();
        let at = |seconds| zero + Duration::from_secs(seconds);
        let mut kept = Aging::new(KEPT, 100);
        assert!(kept.is_empty() && kept.get(1, at(0)).is_none());
        kept.insert(1, "a", at(0));
        assert_eq!(kept.get(1, at(60)), Some(&"a"));
        assert_eq!(kept.get(1, at(61)), None);
        kept.insert(1, "b", at(50));
        kept.insert(2, "c", at(70));
        assert_eq!(kept.get(1, at(110)), Some(&"b"));
        assert_eq!(kept.remove(1), Some("b"));
        kept.insert(3, "d", at(200));
        assert_eq!((kept.entries.len(), kept.order.len()), (1, 1));
    }

    #[test]
    fn no_more_are_kept_than_fit() {
        let zero = origin();
        let mut kept = Aging::new(KEPT, 100);
        for key in 0..1000 {
            kept.insert(key, (), zero);
        }
        assert_eq!((kept.entries.len(), kept.order.len()), (100, 100));
        assert!(kept.get(999, zero).is_some() && kept.get(899, zero).is_none());
    }
}
