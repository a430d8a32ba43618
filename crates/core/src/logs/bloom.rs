//! What a block's header says about logs in it: a sign that an empty list of the newest block is true
//! (rule `suspect`).

use super::{Filter, Place, bytes};
use crate::{
    answer::Hash,
    cache::Sign,
    judge::quantity,
    method::scan::{self, Elements, Members},
};
use sha3::{Digest, Keccak256};
use std::collections::VecDeque;

/// Headers that are remembered.
const MOST: usize = 16;

/// The bloom of a header: 2048 bits, three for each address and topic of its logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bloom([u8; 256]);

impl Bloom {
    /// The bloom with these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 256]) -> Self {
        Self(bytes)
    }

    /// Whether logs of the block may name an address or a topic.
    #[must_use]
    pub fn may_hold(&self, name: &[u8]) -> bool {
        let hash = Keccak256::digest(name);
        [0, 2, 4].iter().all(|at| {
            let bit = usize::from(u16::from_be_bytes([hash[*at], hash[*at + 1]]) & 2047);
            self.0[255 - bit / 8] & (1 << (bit % 8)) != 0
        })
    }

    fn is_zero(&self) -> bool {
        self.0.iter().all(|byte| *byte == 0)
    }
}

#[derive(Clone, Debug)]
struct Seen {
    place: Place,
    bloom: Bloom,
    is_bare: bool,
}

/// The newest headers, as far as logs go.
///
/// Some chains leave the bloom at zero whatever their blocks hold: a zero is a sign only together with
/// no transactions, and a bloom that denies a log that was seen ends all trust in them.
#[derive(Clone, Debug, Default)]
pub struct Blooms {
    seen: VecDeque<Seen>,
    broken: bool,
}

impl Blooms {
    /// A block or header was answered.
    pub fn on_block(&mut self, result: &str) {
        if self.broken {
            return;
        }
        let Some(seen) = read(result) else { return };
        if self.seen.iter().any(|known| known.place == seen.place) {
            return;
        }
        if self.seen.len() == MOST {
            self.seen.pop_front();
        }
        self.seen.push_back(seen);
    }

    /// A log that a filter means is in a block.
    pub fn on_log(&mut self, number: u64, hash: &Hash, filter: &Filter) {
        let denied = self.seen.iter().any(|seen| {
            (seen.place.number, &seen.place.hash) == (number, hash)
                && (seen.is_bare || !filter.may_be_in(&seen.bloom))
        });
        if denied {
            self.broken = true;
            self.seen.clear();
        }
    }

    /// A sign that a block has no log that a filter means.
    #[must_use]
    pub fn sign(&self, number: u64, hash: &Hash, filter: &Filter) -> Option<Sign> {
        let seen = self
            .seen
            .iter()
            .find(|seen| (seen.place.number, &seen.place.hash) == (number, hash))?;
        if seen.is_bare {
            return Some(Sign::NoTransactions);
        }
        (!seen.bloom.is_zero() && !filter.may_be_in(&seen.bloom)).then_some(Sign::Bloom)
    }
}

fn read(result: &str) -> Option<Seen> {
    let open = scan::skip_blanks(result.as_bytes(), 0);
    if result.as_bytes().get(open) != Some(&b'{') {
        return None;
    }
    let (mut number, mut hash, mut bloom, mut bare) = (None, None, None, false);
    for (name, value) in Members::new(result.as_bytes(), open) {
        let written = result.get(value.clone())?;
        match scan::name(result, &name) {
            "number" => number = quantity(written),
            "hash" => hash = bytes(written),
            "logsBloom" => bloom = bytes(written).map(Bloom),
            "transactions" => {
                bare = written.starts_with('[')
                    && Elements::new(result.as_bytes(), value.start)
                        .next()
                        .is_none();
            }
            _ => {}
        }
    }
    let bloom = bloom?;
    Some(Seen {
        place: Place {
            number: number?,
            hash: hash?,
        },
        is_bare: bare && bloom.is_zero(),
        bloom,
    })
}
