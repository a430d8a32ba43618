//! Which logs a filter means (P-21, P-22).

use super::bytes;
use crate::{
    answer::Hash,
    method::{
        array_text,
        scan::{self, Elements, Members, Span},
    },
};
use smallvec::SmallVec;

/// Positions that a log can have.
const TOPICS: usize = 4;

/// A filter's normal form: two that are equal mean the same logs to every node.
///
/// Addresses and the choices of a position are sets, whatever their order, spelling or case. The number
/// of positions stays as it is written: some nodes leave out logs with fewer topics than the filter has
/// positions, even where the last ones match anything, and others do not.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Filter {
    /// Sorted; none: any address.
    addresses: Vec<[u8; 20]>,
    /// Sorted; none: anything.
    topics: SmallVec<[Vec<Hash>; TOPICS]>,
}

impl Filter {
    /// Reads the first parameter. `None` for whatever nodes may read in different ways: empty lists, a
    /// null among choices, a member that stands twice or that is not known.
    #[must_use]
    pub fn read(params: &str) -> Option<Self> {
        let text = array_text(params);
        let open = scan::skip_blanks(text.as_bytes(), 0);
        if text.as_bytes().get(open) != Some(&b'[') {
            return None;
        }
        let mut elements = Elements::new(text.as_bytes(), open);
        let object = elements.next()?;
        if elements.next().is_some() || text.as_bytes().get(object.start) != Some(&b'{') {
            return None;
        }
        let (mut addresses, mut topics) = (None, None);
        for (name, value) in Members::new(text.as_bytes(), object.start) {
            let slot = match scan::name(text, &name) {
                "address" => &mut addresses,
                "topics" => &mut topics,
                "fromBlock" | "toBlock" | "blockHash" => continue,
                _ => return None,
            };
            if slot.replace(value).is_some() {
                return None;
            }
        }
        Some(Self {
            addresses: match addresses {
                Some(value) => choices(text, &value)?,
                None => Vec::new(),
            },
            topics: match topics {
                Some(value) => positions(text, &value)?,
                None => SmallVec::new(),
            },
        })
    }

    /// Whether it means a log. A position that matches anything also matches a topic that is not there:
    /// nodes disagree about it.
    #[must_use]
    pub fn matches(&self, address: &[u8; 20], topics: &[Hash]) -> bool {
        let emitted = self.addresses.is_empty() || self.addresses.binary_search(address).is_ok();
        emitted
            && self.topics.iter().enumerate().all(|(place, choices)| {
                choices.is_empty()
                    || topics
                        .get(place)
                        .is_some_and(|topic| choices.binary_search(topic).is_ok())
            })
    }

    /// Whether every log that another filter means, at any node, is one that this filter means at every
    /// node, and the other's can be told from them (P-22).
    #[must_use]
    pub fn covers(&self, narrow: &Self) -> bool {
        if self == narrow {
            return true;
        }
        // Where its last position matches anything, nodes differ on what it means.
        if narrow.topics.last().is_some_and(Vec::is_empty) {
            return false;
        }
        self.topics.len() <= narrow.topics.len()
            && is_within(&narrow.addresses, &self.addresses)
            && self
                .topics
                .iter()
                .zip(&narrow.topics)
                .all(|(wide, narrow)| is_within(narrow, wide))
    }

    /// Whether a block with this bloom can have a log that it means.
    #[must_use]
    pub fn may_be_in(&self, bloom: &super::Bloom) -> bool {
        let emitted = self.addresses.is_empty()
            || self.addresses.iter().any(|address| bloom.may_hold(address));
        emitted
            && self.topics.iter().all(|choices| {
                choices.is_empty() || choices.iter().any(|topic| bloom.may_hold(topic))
            })
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn size(&self) -> u64 {
        let topics: usize = self.topics.iter().map(Vec::len).sum();
        (self.addresses.len() * 20 + topics * 32) as u64
    }
}

/// Whether one set of choices is within another; an empty one is everything.
fn is_within<T: Ord>(narrow: &[T], wide: &[T]) -> bool {
    wide.is_empty()
        || (!narrow.is_empty() && narrow.iter().all(|one| wide.binary_search(one).is_ok()))
}

/// One value or a list of them, sorted; null is anything.
fn choices<const N: usize>(text: &str, value: &Span) -> Option<Vec<[u8; N]>> {
    let written = text.get(value.clone())?;
    if written == "null" {
        return Some(Vec::new());
    }
    if !written.starts_with('[') {
        return Some(vec![bytes(written)?]);
    }
    let mut all = Vec::new();
    for element in Elements::new(text.as_bytes(), value.start) {
        all.push(bytes(text.get(element)?)?);
    }
    if all.is_empty() {
        return None;
    }
    all.sort_unstable();
    all.dedup();
    Some(all)
}

fn positions(text: &str, value: &Span) -> Option<SmallVec<[Vec<Hash>; TOPICS]>> {
    let written = text.get(value.clone())?;
    if written == "null" {
        return Some(SmallVec::new());
    }
    if !written.starts_with('[') {
        return None;
    }
    let mut all = SmallVec::new();
    for element in Elements::new(text.as_bytes(), value.start) {
        if all.len() == TOPICS {
            return None;
        }
        all.push(choices(text, &element)?);
    }
    Some(all)
}
