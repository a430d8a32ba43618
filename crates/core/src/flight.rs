//! Which callers share one request in flight (P-10).
//!
//! The table only counts: who waits for what, and which flight a new caller may join. The request
//! itself runs in a task of its own and tells the table when it settles; a caller that goes away
//! leaves, and the last one to leave ends the request. So there is no first caller whose fate the
//! others share, and nothing that one of them does can leave a key stuck (lessons C29).
//!
//! The key is the caller's: chain, method, canonical parameters with the pin, permissions and routing
//! directives. What differs in any of them never meets here.

use crate::method::{Block, CacheClass, Coalesce, Found, Reading, Slot, Sticky};
use std::{
    borrow::Borrow,
    collections::HashMap,
    hash::{BuildHasher, Hash},
    time::{Duration, Instant},
};

/// A flight. Numbers are never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlightId(u64);

/// What a caller became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// The first of a new flight: start the request.
    Lead(FlightId),
    /// One more in a flight that is under way.
    Follow(FlightId),
}

/// What a caller left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Others still wait.
    Others(u32),
    /// Nobody: cancel the request. It is out of the table already.
    Nobody,
    /// The flight had settled.
    Settled,
}

/// The flights of one pool. `T` is what its owner keeps with each.
#[derive(Clone, Debug)]
pub struct Flights<K, S, T = ()> {
    /// The flight of each key that may be joined, and all that still have waiters.
    joinable: HashMap<K, Flight<T>, S>,
    /// Flights that somebody gave up on: they run on for those who still wait.
    detached: Vec<Flight<T>>,
    next: u64,
}

#[derive(Clone, Copy, Debug)]
struct Flight<T> {
    id: FlightId,
    what: T,
    waiters: u32,
    /// When its request last gave a sign of life.
    news: Instant,
}

/// How long a caller waits without news of a shared request whose attempts may take `timeout`: that
/// and a grace, which is as long again but at most a second (P-10).
#[must_use]
pub fn patience(timeout: Duration) -> Duration {
    timeout.saturating_add(timeout.min(Duration::from_secs(1)))
}

impl Joined {
    /// The flight.
    #[must_use]
    pub const fn id(self) -> FlightId {
        match self {
            Self::Lead(id) | Self::Follow(id) => id,
        }
    }
}

impl<K: Eq + Hash, S: BuildHasher, T> Flights<K, S, T> {
    /// No flights. Keys come from callers, so the hasher must be one that they cannot predict.
    #[must_use]
    pub fn new(hasher: S) -> Self {
        Self {
            joinable: HashMap::with_hasher(hasher),
            detached: Vec::new(),
            next: 0,
        }
    }

    /// Joins the flight of a key, or starts one. `begin` is called only for a new flight.
    pub fn join<Q>(&mut self, key: &Q, begin: impl FnOnce() -> (K, T), now: Instant) -> Joined
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        if let Some(flight) = self.joinable.get_mut(key) {
            flight.waiters = flight.waiters.saturating_add(1);
            return Joined::Follow(flight.id);
        }
        let id = FlightId(self.next);
        self.next += 1;
        let (key, what) = begin();
        let flight = Flight {
            id,
            what,
            waiters: 1,
            news: now,
        };
        self.joinable.insert(key, flight);
        Joined::Lead(id)
    }

    /// What is kept with a flight; `None`: it settled.
    #[must_use]
    pub fn get<Q>(&self, key: &Q, id: FlightId) -> Option<&T>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let current = self.joinable.get(key).filter(|flight| flight.id == id);
        let detached = || self.detached.iter().find(|flight| flight.id == id);
        Some(&current.or_else(detached)?.what)
    }

    /// The request began an attempt, moved on or began to wait: its callers' patience begins anew.
    pub fn news<Q>(&mut self, key: &Q, id: FlightId, now: Instant)
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        if let Some(flight) = self.flight(key, id) {
            flight.news = flight.news.max(now);
        }
    }

    /// When a caller stops waiting for news; `None`: the flight settled.
    #[must_use]
    pub fn patience_ends<Q>(&self, key: &Q, id: FlightId, timeout: Duration) -> Option<Instant>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let current = self.joinable.get(key).filter(|flight| flight.id == id);
        let flight = current.or_else(|| self.detached.iter().find(|flight| flight.id == id))?;
        flight.news.checked_add(patience(timeout))
    }

    /// A caller goes away: it has its deadline, or it was dropped.
    pub fn leave<Q>(&mut self, key: &Q, id: FlightId) -> Left
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let Some(flight) = self.flight(key, id) else {
            return Left::Settled;
        };
        flight.waiters = flight.waiters.saturating_sub(1);
        if flight.waiters > 0 {
            return Left::Others(flight.waiters);
        }
        self.remove(key, id);
        Left::Nobody
    }

    /// A caller whose patience ended leaves its flight for another: nobody joins the old one again,
    /// and those who still wait for it keep it.
    pub fn restart<Q>(
        &mut self,
        key: &Q,
        id: FlightId,
        begin: impl FnOnce() -> (K, T),
        now: Instant,
    ) -> (Left, Joined)
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        if self.joinable.get(key).is_some_and(|flight| flight.id == id)
            && let Some(flight) = self.joinable.remove(key)
        {
            self.detached.push(flight);
        }
        (self.leave(key, id), self.join(key, begin, now))
    }

    /// The request ended, in whatever way. Says how many waited for it.
    pub fn settle<Q>(&mut self, key: &Q, id: FlightId) -> u32
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.remove(key, id).map_or(0, |flight| flight.waiters)
    }

    /// How many requests are shared now, those included that are not joined any more.
    #[must_use]
    pub fn len(&self) -> usize {
        self.joinable.len() + self.detached.len()
    }

    /// Whether nothing is in flight.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many callers wait now, for all requests together.
    #[must_use]
    pub fn waiters(&self) -> u64 {
        let flights = self.joinable.values().chain(&self.detached);
        flights.map(|flight| u64::from(flight.waiters)).sum()
    }

    fn flight<Q>(&mut self, key: &Q, id: FlightId) -> Option<&mut Flight<T>>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let current = self.joinable.get_mut(key).filter(|flight| flight.id == id);
        current.or_else(|| self.detached.iter_mut().find(|flight| flight.id == id))
    }

    fn remove<Q>(&mut self, key: &Q, id: FlightId) -> Option<Flight<T>>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        // Nearly always the one that is looked for, so it is looked up once.
        if let Some((key, flight)) = self.joinable.remove_entry(key) {
            if flight.id == id {
                return Some(flight);
            }
            self.joinable.insert(key, flight);
        }
        let at = self.detached.iter().position(|flight| flight.id == id)?;
        Some(self.detached.swap_remove(at))
    }
}

/// Whether callers of a request may share it at all, when its latest block is pinned to `pin`.
///
/// Only reads, and where the table asks for it only those of which both callers surely mean one
/// block: never `pending`, nor a tag that every endpoint resolves for itself, nor `latest` without a
/// pin. A read of present state (P-6) is shared across all blocks, whatever this says.
#[must_use]
pub fn shares(found: &Found, pin: Option<u64>) -> bool {
    let row = found.row();
    if !row.is_read() || row.sticky != Sticky::None || found.reading() == Reading::Foreign {
        return false;
    }
    match row.coalesce {
        Coalesce::No => false,
        Coalesce::Yes => true,
        Coalesce::Pinned if found.reading() == Reading::NoBlock => {
            // The block is that of the transaction, or inside the parameters.
            matches!(row.cache_class, CacheClass::ByTx | CacheClass::ByHash)
        }
        Coalesce::Pinned => {
            let pinned = pin.is_some_and(|pin| !found.inverts(pin));
            let is_sure = |slot: &Slot| match slot.block {
                Block::Number(_) | Block::JsonNumber(_) | Block::Hash(_) => true,
                Block::Tag(_) | Block::Null => pinned && found.is_open(slot),
                // A member that the other form of the filter has.
                Block::Omitted => {
                    (pinned && found.is_open(slot)) || found.slots().iter().any(is_hash)
                }
            };
            let beside_range = |slot: &Slot| slot.path.key == Some("blockHash") && !is_hash(slot);
            found
                .slots()
                .iter()
                .all(|slot| is_sure(slot) || beside_range(slot))
        }
    }
}

fn is_hash(slot: &Slot) -> bool {
    matches!(slot.block, Block::Hash(_))
}
