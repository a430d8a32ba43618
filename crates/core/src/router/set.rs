//! A set of endpoints.

use crate::EndpointId;
use smallvec::{SmallVec, smallvec};

/// A set of endpoints of one router; without allocation for up to 128 of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointSet {
    words: SmallVec<[u64; 2]>,
}

impl EndpointSet {
    /// The empty set.
    #[must_use]
    pub fn new() -> Self {
        Self {
            words: smallvec![0; 2],
        }
    }

    /// Adds an endpoint.
    pub fn insert(&mut self, endpoint: EndpointId) {
        let (word, bit) = (endpoint.index() / 64, endpoint.index() % 64);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << bit;
    }

    /// Whether an endpoint is in it.
    #[must_use]
    pub fn contains(&self, endpoint: EndpointId) -> bool {
        let (word, bit) = (endpoint.index() / 64, endpoint.index() % 64);
        self.words.get(word).is_some_and(|w| w & (1 << bit) != 0)
    }

    /// Takes everything out.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }
}

impl FromIterator<EndpointId> for EndpointSet {
    fn from_iter<I: IntoIterator<Item = EndpointId>>(endpoints: I) -> Self {
        let mut set = Self::new();
        for endpoint in endpoints {
            set.insert(endpoint);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_what_was_put_in_and_nothing_else() {
        let members = [
            EndpointId(0),
            EndpointId(63),
            EndpointId(64),
            EndpointId(700),
        ];
        let mut set: EndpointSet = members.into_iter().collect();
        for id in 0..800 {
            let id = EndpointId(id);
            assert_eq!(set.contains(id), members.contains(&id));
        }
        assert!(!set.is_empty());
        set.clear();
        assert!(set.is_empty());
    }
}
