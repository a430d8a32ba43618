//! What one party has seen of the chain.

use highwater_core::{
    Now,
    floor::{Falls, Mark, Marks},
    router::Router,
};
use smallvec::SmallVec;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// One party that must not be taken back in time: a key, a session, a socket, an operation (P-8).
///
/// Every answer that it gets and that names a block raises what it has seen, and later reads of the
/// same party are answered from that block on, or not at all. Cheap to clone; clones are the same
/// party. It belongs to the pool that it is used with: blocks of another chain mean nothing there.
#[derive(Clone, Debug)]
pub struct Viewer(Arc<Marks>);

impl Viewer {
    /// A party that has seen nothing yet.
    #[must_use]
    pub fn new() -> Self {
        let now = tokio::time::Instant::now().into_std();
        Self(Arc::new(Marks::new(now)))
    }

    /// Its marks.
    #[must_use]
    pub fn marks(&self) -> &Marks {
        &self.0
    }
}

impl Default for Viewer {
    fn default() -> Self {
        Self::new()
    }
}

/// What is believed of a block that is returned.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bound {
    /// Nothing above this: the highest that anybody can have reached.
    Upto(u64),
    /// No head is believed: no more blocks than this above what was seen before.
    Above(u64),
    /// It was believed already when it was asked for. What is believed now may be less than what the
    /// party has seen since, and takes nothing of that back.
    Known,
}

impl Bound {
    pub(super) fn of(router: &Router, now: Now) -> Self {
        match router.highest_believed(now) {
            Some(highest) => Self::Upto(highest),
            None => Self::Above(router.max_ahead()),
        }
    }

    /// The highest block that is believed, where some head is.
    pub(super) const fn believed(self) -> Option<u64> {
        match self {
            Self::Upto(highest) => Some(highest),
            Self::Above(_) | Self::Known => None,
        }
    }

    /// Raises a mark as far as that is believed.
    pub(super) fn raise(self, mark: &Mark, height: u64, falls: &Falls) {
        match self {
            Self::Upto(highest) => mark.raise(height, Some(highest), falls),
            Self::Above(ahead) => mark.raise_by(height, ahead, falls),
            Self::Known => mark.raise(height, None, falls),
        };
    }
}

/// Everybody on whose behalf one call is made.
#[derive(Clone, Debug)]
pub(super) struct Viewers {
    all: SmallVec<[Viewer; 2]>,
    /// A block that the caller says it has seen.
    min_block: Option<u64>,
}

impl Viewers {
    /// Those named, else the pool's own.
    pub(super) fn new(named: &[Viewer], own: &Viewer, min_block: Option<u64>) -> Self {
        let mut all = SmallVec::from(named);
        if all.is_empty() {
            all.push(own.clone());
        }
        Self { all, min_block }
    }

    /// Nobody: nothing is held against any answer.
    pub(super) fn none() -> Self {
        Self {
            all: SmallVec::new(),
            min_block: None,
        }
    }

    /// The block from which on they are answered; `believed` is the highest that anybody can have
    /// reached.
    pub(super) fn floor(&self, believed: Option<u64>, falls: &Falls, now: Instant) -> Option<u64> {
        let marks = self.all.iter().map(|viewer| &viewer.marks().latest);
        highwater_core::floor::floor(marks, believed, falls, now).max(self.min_block)
    }

    /// A block was returned to them.
    pub(super) fn raise(&self, height: u64, bound: Bound, falls: &Falls) {
        for viewer in &self.all {
            bound.raise(&viewer.marks().latest, height, falls);
        }
    }

    /// An endpoint that holds their floor answered.
    pub(super) fn served(&self) {
        for viewer in &self.all {
            viewer.marks().latest.served();
        }
    }

    /// Nobody holds their floor. The lowest fall, where a mark fell (P-8).
    pub(super) fn unserved(
        &self,
        reference: Option<highwater_core::floor::Reference>,
        stale: Duration,
        falls: &Falls,
        now: Instant,
    ) -> Option<highwater_core::floor::Dropped> {
        let dropped = self.all.iter().filter_map(|viewer| {
            let mark = &viewer.marks().latest;
            mark.unserved(reference, stale, falls, now)
        });
        dropped.max_by_key(|dropped| dropped.from)
    }

    /// The marks that answers about a tag are held against (P-7).
    pub(super) fn of(&self, tag: highwater_core::method::Tag) -> impl Iterator<Item = &Mark> {
        self.all
            .iter()
            .filter_map(move |viewer| viewer.marks().of(tag))
    }
}
