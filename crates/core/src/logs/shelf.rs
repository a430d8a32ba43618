//! The indexes of one pool, bounded in number and bytes.

use super::{
    Ask, Filter, Found, Index, Told,
    index::{last_final, lowest},
};
use crate::{
    cache::{Miss, Refusal, View},
    mutant::{self, Mutant},
};
use smallvec::SmallVec;
use std::{collections::BTreeMap, sync::Arc};

/// Most filters that have an index.
const MOST: usize = 256;

/// What comes out of an index.
#[derive(Clone, Debug)]
pub struct Cut {
    /// What it has.
    pub found: Found,
    /// The texts of its blocks with their numbers, in order, with commas inside each and none between
    /// them.
    pub texts: Vec<(u64, Arc<str>)>,
    /// The label of whoever gave the last of its blocks.
    pub endpoint: Arc<str>,
}

#[derive(Clone, Debug)]
struct Shelved {
    index: Index,
    /// When it was last used, in uses of the shelf.
    used: u64,
}

/// The indexes of all filters that were asked for lately.
#[derive(Clone, Debug, Default)]
pub struct Shelf {
    indexes: BTreeMap<Filter, Shelved>,
    uses: u64,
    bytes: u64,
}

impl Shelf {
    /// What is there for a filter: of its own index, or of a wider one that has all (P-22).
    ///
    /// # Errors
    /// Why nothing of it can be used.
    pub fn find(&mut self, filter: &Filter, ask: &Ask, view: &View<'_>) -> Result<Cut, Miss> {
        self.uses += 1;
        let mut why = Miss::Absent;
        let mut best: Option<(Found, Filter)> = None;
        let mut void: SmallVec<[Filter; 1]> = SmallVec::new();
        // Its own first: the same bytes as from any other, without a look at each log.
        if let Some(own) = self.indexes.get_mut(filter) {
            if !own.index.settle(view) {
                void.push(filter.clone());
            } else {
                match own.index.find(ask, view) {
                    Found::Nothing(miss) => why = miss,
                    found => best = Some((found, filter.clone())),
                }
            }
        }
        if !matches!(best, Some((Found::Whole { .. }, _))) {
            for (wide, shelved) in &mut self.indexes {
                if wide == filter || !wide.covers(filter) {
                    continue;
                }
                if !shelved.index.settle(view) {
                    void.push(wide.clone());
                    continue;
                }
                let found = shelved.index.find(ask, view);
                let better = match (found, best.as_ref().map(|(found, _)| *found)) {
                    (Found::Whole { .. }, _) => true,
                    (Found::Tail { from, .. }, Some(Found::Tail { from: known, .. })) => {
                        from > known
                    }
                    (Found::Tail { .. }, None) => true,
                    (Found::Tail { .. } | Found::Nothing(_), _) => false,
                };
                if better {
                    best = Some((found, wide.clone()));
                    if matches!(found, Found::Whole { .. }) {
                        break;
                    }
                }
            }
        }
        for filter in &void {
            self.indexes.remove(filter);
        }
        if !void.is_empty() {
            self.weigh();
        }
        let (found, of) = best.ok_or(why)?;
        let uses = self.uses;
        let shelved = self.indexes.get_mut(&of).ok_or(why)?;
        shelved.used = uses;
        let to = match found {
            Found::Whole { to, .. } => to,
            Found::Tail { from, .. } if mutant::is(Mutant::TailOverlaps) => from,
            Found::Tail { from, .. } => from.saturating_sub(1),
            Found::Nothing(miss) => return Err(miss),
        };
        let narrow = (of != *filter).then_some(filter);
        Ok(Cut {
            found,
            texts: shelved.index.texts(ask.from, to, narrow),
            endpoint: Arc::clone(shelved.index.endpoint()),
        })
    }

    /// Takes up an answer, as far as it may be kept, within so many bytes for all indexes together.
    ///
    /// # Errors
    /// Why nothing of it is taken up.
    pub fn put(
        &mut self,
        filter: &Filter,
        told: &Told<'_>,
        window: u64,
        most: u64,
        view: &View<'_>,
    ) -> Result<(), Refusal> {
        let range = told.indexable(filter, window, view)?;
        self.uses += 1;
        let mut index = Index::new(told, range, view);
        if let Some(mut known) = self.indexes.remove(filter)
            && known.index.settle(view)
        {
            known.index.take(index, last_final(view));
            index = known.index;
        }
        if let Some(head) = view.head {
            index.trim(lowest(head, window));
        }
        let shelved = Shelved {
            index,
            used: self.uses,
        };
        // One that would push out most of the others is not kept.
        if cost(filter, &shelved) <= most / 2 {
            self.indexes.insert(filter.clone(), shelved);
        }
        self.weigh();
        while self.indexes.len() > MOST || self.bytes > most {
            let oldest = self.indexes.iter().min_by_key(|(_, shelved)| shelved.used);
            let Some(oldest) = oldest.map(|(filter, _)| filter.clone()) else {
                break;
            };
            self.indexes.remove(&oldest);
            self.weigh();
        }
        Ok(())
    }

    /// How many filters have an index.
    #[must_use]
    pub fn len(&self) -> usize {
        self.indexes.len()
    }

    /// Whether no filter has one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.indexes.is_empty()
    }

    /// Bytes of all of them, filters included.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The blocks that the index of a filter covers.
    #[must_use]
    pub fn range(&self, filter: &Filter) -> Option<(u64, u64)> {
        self.indexes
            .get(filter)
            .map(|shelved| shelved.index.range())
    }

    fn weigh(&mut self) {
        let all = self.indexes.iter();
        self.bytes = all.map(|(filter, shelved)| cost(filter, shelved)).sum();
    }
}

fn cost(filter: &Filter, shelved: &Shelved) -> u64 {
    filter.size() + shelved.index.bytes()
}
