//! Whose filters there are.

use super::FilterId;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

/// A filter that nobody used for so long is forgotten, as geth does.
const IDLE: Duration = Duration::from_secs(300);
/// Most filters of one caller; past it the one that was not used longest goes.
pub const MOST_BY_CALLER: usize = 1_000;
/// Most filters of all callers, likewise.
const MOST: usize = 65_536;

/// Filters by id. Each belongs to the caller that made it; to everybody else it does not exist.
#[derive(Debug)]
pub struct Table<T> {
    filters: BTreeMap<FilterId, Entry<T>>,
    /// All of them, and those of each caller, by last use.
    by_use: BTreeSet<(Instant, FilterId)>,
    by_caller: BTreeMap<u64, BTreeSet<(Instant, FilterId)>>,
}

#[derive(Debug)]
struct Entry<T> {
    caller: u64,
    used: Instant,
    filter: T,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            filters: BTreeMap::new(),
            by_use: BTreeSet::new(),
            by_caller: BTreeMap::new(),
        }
    }
}

impl<T> Table<T> {
    /// Adds a filter under a fresh id. False: the id is taken.
    pub fn insert(&mut self, id: FilterId, caller: u64, filter: T, now: Instant) -> bool {
        self.expire(now);
        if self.filters.contains_key(&id) {
            return false;
        }
        let own = self.by_caller.get(&caller);
        let full = own.filter(|own| own.len() >= MOST_BY_CALLER);
        let longest = full.and_then(|own| own.first()).copied();
        let longest = longest.or_else(|| {
            let full = self.filters.len() >= MOST;
            self.by_use.first().filter(|_| full).copied()
        });
        if let Some((_, longest)) = longest {
            self.take(longest);
        }
        let used = now;
        self.by_use.insert((used, id));
        self.by_caller.entry(caller).or_default().insert((used, id));
        let entry = Entry {
            caller,
            used,
            filter,
        };
        self.filters.insert(id, entry);
        true
    }

    /// A filter of this caller, which is used now.
    pub fn get(&mut self, id: FilterId, caller: u64, now: Instant) -> Option<&T> {
        self.expire(now);
        let entry = self.filters.get_mut(&id)?;
        if entry.caller != caller {
            return None;
        }
        let before = std::mem::replace(&mut entry.used, now);
        self.by_use.remove(&(before, id));
        self.by_use.insert((now, id));
        if let Some(own) = self.by_caller.get_mut(&caller) {
            own.remove(&(before, id));
            own.insert((now, id));
        }
        Some(&entry.filter)
    }

    /// Takes a filter of this caller out.
    pub fn remove(&mut self, id: FilterId, caller: u64, now: Instant) -> Option<T> {
        self.expire(now);
        let is_its = self.filters.get(&id)?.caller == caller;
        is_its.then(|| self.take(id)).flatten()
    }

    /// How many there are, those included that nobody has noticed to be forgotten.
    #[must_use]
    pub fn len(&self) -> usize {
        self.filters.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.filters.is_empty()
    }

    fn expire(&mut self, now: Instant) {
        while let Some((used, id)) = self.by_use.first().copied()
            && now.saturating_duration_since(used) >= IDLE
        {
            self.take(id);
        }
    }

    fn take(&mut self, id: FilterId) -> Option<T> {
        let entry = self.filters.remove(&id)?;
        self.by_use.remove(&(entry.used, id));
        if let Some(own) = self.by_caller.get_mut(&entry.caller) {
            own.remove(&(entry.used, id));
            if own.is_empty() {
                self.by_caller.remove(&entry.caller);
            }
        }
        Some(entry.filter)
    }
}
