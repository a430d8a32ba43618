//! The answers that are kept: bytes and stamps, bounded (P-16).
//!
//! What may be kept and served is [`highwater_core::cache`]'s; this only holds it. Keys are whole
//! requests and compared as such: a bare hash would let a caller choose whom to collide with.

use bytes::Bytes;
use highwater_core::cache::{CacheSettings, Stamp};
use quick_cache::{Equivalent, Weighter, sync::Cache};
use std::{
    cell::Cell,
    hash::{BuildHasher, Hash, Hasher},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// What an entry costs beside its key and its bytes, about.
const OVERHEAD: u64 = 256;

/// What an answer is kept under: a whole request, with its hash, which is taken once.
#[derive(Clone, Debug)]
pub(super) struct Key {
    hash: u64,
    bytes: Box<[u8]>,
}

/// The same, borrowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sought<'a> {
    hash: u64,
    bytes: &'a [u8],
}

/// The hash of a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyHash(u64);

impl Key {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn sought(&self) -> Sought<'_> {
        Sought {
            hash: self.hash,
            bytes: &self.bytes,
        }
    }
}

impl<'a> Sought<'a> {
    /// What these bytes were when this hash was taken.
    pub(super) const fn new(hash: KeyHash, bytes: &'a [u8]) -> Self {
        Self {
            hash: hash.0,
            bytes,
        }
    }

    pub(super) const fn hash(self) -> KeyHash {
        KeyHash(self.hash)
    }

    pub(super) fn owned(self) -> Key {
        Key {
            hash: self.hash,
            bytes: Box::from(self.bytes),
        }
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl Hash for Sought<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.bytes == other.bytes
    }
}

impl Eq for Key {}

impl Equivalent<Key> for Sought<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.hash == key.hash && *self.bytes == *key.bytes
    }
}

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
}

/// Weighs entries so that both bounds hold: none is lighter than its share of the bytes.
#[derive(Clone, Debug)]
struct Weigh {
    least: u64,
}

impl Weighter<Key, Entry> for Weigh {
    fn weight(&self, key: &Key, entry: &Entry) -> u64 {
        size(&key.bytes, entry).max(self.least)
    }
}

const fn size(key: &[u8], entry: &Entry) -> u64 {
    key.len() as u64 + entry.result.len() as u64 + OVERHEAD
}

/// The store of one pool. One that is off holds nothing.
pub(super) struct Store {
    cache: Option<Cache<Key, Entry, Weigh, foldhash::quality::RandomState>>,
    hasher: foldhash::quality::RandomState,
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
            hasher: foldhash::quality::RandomState::default(),
            puts: AtomicU64::new(0),
            largest: settings.map_or(0, |settings| settings.bytes / 8),
        }
    }

    pub(super) const fn is_on(&self) -> bool {
        self.cache.is_some()
    }

    /// What an answer to this request is kept under.
    pub(super) fn key<'a>(&self, bytes: &'a [u8]) -> Sought<'a> {
        Sought {
            hash: self.hasher.hash_one(bytes),
            bytes,
        }
    }

    pub(super) fn get(&self, key: Sought<'_>) -> Option<Entry> {
        self.cache.as_ref()?.get(&key)
    }

    /// The same.
    pub(super) fn get_owned(&self, key: &Key) -> Option<Entry> {
        self.get(key.sought())
    }

    /// Keeps an answer, unless a later one is there already.
    pub(super) fn put(&self, key: Key, entry: Entry) -> bool {
        let Some(cache) = &self.cache else {
            return false;
        };
        if size(&key.bytes, &entry) > self.largest {
            return false;
        }
        let newer = |known: &Entry| {
            known.stamp.keep == entry.stamp.keep
                && known.stamp.height > entry.stamp.height
                && known.stamp.since == entry.stamp.since
        };
        if cache.peek(&key.sought()).is_some_and(|known| newer(&known)) {
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
                total.set(total.get() + size(&key.bytes, entry));
                true
            });
        }
        total.get()
    }
}
