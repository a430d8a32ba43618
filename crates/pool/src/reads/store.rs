//! The answers that are kept: bytes and stamps, bounded (P-16).
//!
//! What may be kept and served is [`highwater_core::cache`]'s; this only holds it. Keys are whole
//! requests and compared as such: a bare hash would let a caller choose whom to collide with.

use bytes::Bytes;
use highwater_core::cache::{CacheSettings, Stamp, hot::Place};
use quick_cache::{Weighter, sync::Cache};
use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// What an entry costs beside its key and its bytes, about.
const OVERHEAD: u64 = 256;

/// A kept answer.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) stamp: Stamp,
    /// The bytes of `result`, and nothing else.
    pub(super) result: Bytes,
    /// Who gave it.
    pub(super) endpoint: Arc<str>,
    /// The block that it shows, which a caller who gets it has seen.
    pub(super) block: Option<u64>,
    /// The place of its key among the hot ones (P-18).
    pub(super) place: Option<Place>,
}

/// Weighs entries so that both bounds hold: none is lighter than its share of the bytes.
#[derive(Clone, Debug)]
struct Weigh {
    least: u64,
}

impl Weighter<Box<[u8]>, Entry> for Weigh {
    fn weight(&self, key: &Box<[u8]>, entry: &Entry) -> u64 {
        size(key, entry).max(self.least)
    }
}

const fn size(key: &[u8], entry: &Entry) -> u64 {
    size_of_answer(key, entry.result.len())
}

const fn size_of_answer(key: &[u8], result: usize) -> u64 {
    key.len() as u64 + result as u64 + OVERHEAD
}

/// The store of one pool. One that is off holds nothing.
pub(super) struct Store {
    cache: Option<Cache<Box<[u8]>, Entry, Weigh, foldhash::quality::RandomState>>,
    /// How many answers were kept so far.
    puts: AtomicU64,
    /// An entry larger than this would push out most of the others.
    largest: u64,
}

impl Store {
    pub(super) fn new(settings: Option<&CacheSettings>) -> Self {
        let cache = settings.map(|settings| {
            Cache::with(
                settings.entries,
                settings.bytes,
                Weigh {
                    least: settings.bytes / settings.entries.max(1) as u64,
                },
                foldhash::quality::RandomState::default(),
                quick_cache::sync::DefaultLifecycle::default(),
            )
        });
        Self {
            cache,
            puts: AtomicU64::new(0),
            largest: settings.map_or(0, |settings| settings.bytes / 8),
        }
    }

    pub(super) const fn is_on(&self) -> bool {
        self.cache.is_some()
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<Entry> {
        self.cache.as_ref()?.get(key)
    }

    /// Whether an answer of so many bytes can be kept.
    pub(super) const fn fits(&self, key: &[u8], result: usize) -> bool {
        size_of_answer(key, result) <= self.largest
    }

    /// Keeps an answer, unless a later one is there already.
    pub(super) fn put(&self, key: Box<[u8]>, entry: Entry) -> bool {
        let Some(cache) = &self.cache else {
            return false;
        };
        if !self.fits(&key, entry.result.len()) {
            return false;
        }
        let newer = |known: &Entry| {
            known.stamp.keep == entry.stamp.keep
                && known.stamp.height > entry.stamp.height
                && known.stamp.since == entry.stamp.since
        };
        if cache.peek(&*key).is_some_and(|known| newer(&known)) {
            return false;
        }
        cache.insert(key, entry);
        self.puts.fetch_add(1, Relaxed);
        true
    }

    /// A number that changes when an answer was kept.
    pub(super) fn puts(&self) -> u64 {
        self.puts.load(Relaxed)
    }

    pub(super) fn entries(&self) -> u64 {
        self.cache.as_ref().map_or(0, |cache| cache.len() as u64)
    }

    /// Looks at every entry.
    pub(super) fn bytes(&self) -> u64 {
        let total = Cell::new(0);
        if let Some(cache) = &self.cache {
            // The one look at all entries that copies none of them.
            cache.retain(|key, entry| {
                total.set(total.get() + size(key, entry));
                true
            });
        }
        total.get()
    }
}
