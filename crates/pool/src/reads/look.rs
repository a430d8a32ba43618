//! One look under the pool's lock: is there an answer already, and if not, at which block is it asked
//! for (P-1 to P-3, P-8, P-11)?

use super::{
    logs::Served,
    store::{Entry, Key, KeyHash, Sought},
    viewer::{Bound, Viewers},
};
use crate::{
    CallOptions,
    driver::Urgent,
    inner::{Inner, State},
};
use highwater_core::{
    Now,
    cache::{Ask, Class, Miss, Uncached, may_serve},
    event::{CacheEnd, Event},
    flight,
    floor::{self, Reference},
    learn::Need,
    method::{Body, EmptyIs, Found, Lane, Resolve},
    pin::{Pin, PinSettings},
    recent,
    router::Reader,
    settings::ReadSettings,
};
use std::{
    cell::RefCell,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Instant,
};

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Lends a buffer for a key: nearly every read needs one, and few keep it.
pub(super) fn with_buffer<T>(use_it: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut buffer = BUFFER.take();
    buffer.clear();
    let result = use_it(&mut buffer);
    if buffer.capacity() <= 64 * 1024 {
        BUFFER.set(buffer);
    }
    result
}

/// A read, as far as its caller wrote it.
pub(super) struct Read<'a> {
    pub(super) method: &'a str,
    pub(super) params: &'a str,
    pub(super) found: &'a Found,
    pub(super) options: &'a CallOptions,
    pub(super) viewers: &'a Viewers,
}

/// What was known when a request went out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) at: Instant,
    pub(super) since: recent::Mark,
    pub(super) lowest_head: Option<u64>,
    pub(super) all_hold: bool,
    /// Answers that had been kept.
    pub(super) puts: u64,
}

/// What the look said.
pub(super) enum Looked {
    /// An answer from memory, and what is believed of its block.
    Hit(Entry, Bound),
    /// Logs from the index, and what is believed of their block.
    Logs(Box<Served>, Bound),
    /// To be asked for.
    Go(Go),
    /// A head is to be read first (P-2).
    FetchHead,
    /// Nobody is at the block that the caller has seen (P-8).
    Behind(u64),
}

/// A request that is to be made.
#[derive(Clone)]
pub(super) struct Go {
    pub(super) class: Class,
    pub(super) pin: Option<u64>,
    pub(super) need: Need,
    pub(super) least_head: Option<u64>,
    /// Whoever answers it holds the caller's floor.
    pub(super) at_floor: bool,
    /// Whom it may be shared with.
    pub(super) flight: Option<Arc<[u8]>>,
    /// Where its answer may be kept.
    pub(super) store: Option<Key>,
    pub(super) sent: Sent,
    /// Many wait for it: a head that reads need.
    pub(super) urgent: Option<Urgent>,
}

impl Read<'_> {
    /// Looks. `body` is its key, in `buffer`; `fetched`: a head was read for it just now; `first`: it
    /// looks for the first time, so that what it finds is counted.
    pub(super) fn look(
        &self,
        inner: &Arc<Inner>,
        key: Option<Body>,
        buffer: &mut Vec<u8>,
        fetched: bool,
        first: bool,
        now: Now,
    ) -> Looked {
        let row = self.found.row();
        let mut guard = inner.lock();
        let state = &mut *guard;
        let wake = first && state.router.on_look(now);
        let allowed = state.router.allowed(self.method);
        let reader = Reader::new(row, self.method, allowed.as_ref());
        let bound = Bound::of(&state.router, now);
        let floor = self
            .viewers
            .floor(bound.believed(), &inner.reads.falls, now.mono);
        let chain = state.router.chain();
        let settings = state.router.shared_settings();
        let settings = &settings.reads;
        let policy = state.sight.of_chain(chain, settings);
        let present = policy
            .as_ref()
            .is_some_and(|(_, present)| present.is_read_by(self.found, self.params));
        let class = match key {
            Some(body) => Class::of(self.found, body.form(), present),
            None => Class::Never(Uncached::Unclear),
        };
        if first {
            state.sight.on_read(class, now);
        }
        let pinning = state.sight.pinning(&state.router);
        let asks_first = pinning.is_some_and(|pinning| pinning.fresh.is_zero());
        if asks_first && !fetched && self.found.wants_pin() && !present {
            inner.tell(guard);
            if wake {
                inner.wake_probes();
            }
            return Looked::FetchHead;
        }
        if class == Class::Never(Uncached::Logs)
            && let Some(served) = self.indexed(inner, state, &reader, floor, now)
        {
            inner.tell(guard);
            if wake {
                inner.wake_probes();
            }
            return Looked::Logs(Box::new(served), bound);
        }
        let mut sealed = None;
        if let (Some(body), true) = (key, inner.reads.store.is_on() && !self.options.bypass_cache) {
            let found = self.remembered(
                inner,
                state,
                &reader,
                class,
                floor,
                body,
                buffer,
                &mut sealed,
                now,
                first,
            );
            if let Some(entry) = found {
                inner.tell(guard);
                if wake {
                    inner.wake_probes();
                }
                return Looked::Hit(entry, bound);
            }
        }
        let looked = self.place(
            inner, state, &reader, class, present, floor, settings, pinning, key, buffer, sealed,
            fetched, now,
        );
        inner.tell(guard);
        if wake {
            inner.wake_probes();
        }
        looked
    }

    /// An answer from memory (P-11, P-12). `sealed`: as what the key was sealed last, and its hash.
    #[expect(clippy::too_many_arguments, reason = "one look, cut in two")]
    fn remembered(
        &self,
        inner: &Inner,
        state: &mut State,
        reader: &Reader<'_>,
        class: Class,
        floor: Option<u64>,
        body: Body,
        buffer: &mut Vec<u8>,
        sealed: &mut Option<(Resolve, KeyHash)>,
        now: Now,
        first: bool,
    ) -> Option<Entry> {
        let row = self.found.row();
        let mut why = match class {
            Class::Never(why) => Miss::Never(why),
            Class::Fixed
            | Class::Moving
            | Class::Present
            | Class::Number(_)
            | Class::Hash(_)
            | Class::Transaction => Miss::Absent,
        };
        let settings = inner.cache_settings(&state.router);
        let policy = state.sight.policy()?;
        let ask = Ask { class, floor };
        for resolve in class.lookups() {
            body.seal(self.found, self.params, resolve, buffer);
            let sought = inner.reads.store.key(buffer);
            *sealed = Some((resolve, sought.hash()));
            let Some(entry) = inner.reads.store.get(sought) else {
                continue;
            };
            let view = state
                .sight
                .view(&state.router, reader, settings, policy, now);
            match may_serve(&entry.stamp, &ask, &view) {
                Ok(fresh) => {
                    let tally = &inner.reads.tally;
                    tally.avoided(&tally.hits, row);
                    state.router.events().push(|| Event::Cache {
                        method: row.id,
                        end: CacheEnd::Hit,
                        stale_blocks: fresh.stale_blocks,
                    });
                    let block = fresh.seen.or(entry.block);
                    return Some(Entry { block, ..entry });
                }
                Err(miss) => why = miss,
            }
        }
        if first {
            inner.reads.tally.missed(why);
            if !matches!(class, Class::Never(_)) {
                state.router.events().push(|| Event::Cache {
                    method: row.id,
                    end: CacheEnd::Miss,
                    stale_blocks: None,
                });
            }
        }
        None
    }

    /// The block that it is asked for at (P-2).
    #[expect(clippy::too_many_arguments, reason = "one look, cut in two")]
    fn place(
        &self,
        inner: &Arc<Inner>,
        state: &mut State,
        reader: &Reader<'_>,
        class: Class,
        present: bool,
        floor: Option<u64>,
        settings: &ReadSettings,
        pinning: Option<PinSettings>,
        key: Option<Body>,
        buffer: &mut Vec<u8>,
        sealed: Option<(Resolve, KeyHash)>,
        fetched: bool,
        now: Now,
    ) -> Looked {
        let router = &state.router;
        let row = self.found.row();
        let wants = self.found.wants_pin() && !present;
        let mut pin = None;
        if let (true, Some(pinning)) = (wants, pinning) {
            match router.pin(reader, floor, fetched, &pinning, now) {
                Pin::At(block) => pin = Some(block),
                Pin::FetchHead => return Looked::FetchHead,
                Pin::PassThrough => {
                    inner.reads.tally.unpinned.fetch_add(1, Relaxed);
                }
                Pin::Behind { floor } => return Looked::Behind(floor),
            }
        }
        let need = Need::found(row, self.found, pin);
        let least_head = match floor {
            Some(floor) if pin.is_none() => {
                let about = need.height.is_some() || need.newest;
                Some(floor::least_head(floor, about, router.max_lag()))
            }
            Some(_) | None => None,
        };
        // First, as the buffer may be sealed so already.
        let store = match (class.storage(), key) {
            (Some(resolve), Some(body)) if inner.reads.store.is_on() => Some(match sealed {
                Some((last, hash)) if last == resolve => Sought::new(hash, buffer).owned(),
                Some(_) | None => {
                    body.seal(self.found, self.params, resolve, buffer);
                    inner.reads.store.key(buffer).owned()
                }
            }),
            (Some(_) | None, _) => None,
        };
        let flight = key
            .filter(|_| settings.coalesce && (present || flight::shares(self.found, pin)))
            .map(|body| {
                let resolve = match pin {
                    Some(block) => Resolve::At(block),
                    None if present => Resolve::Tagless,
                    None => Resolve::AsWritten,
                };
                body.seal(self.found, self.params, resolve, buffer);
                direct(self.options, least_head, buffer);
                Arc::from(&**buffer)
            });
        let mut sent = Sent {
            at: now.mono,
            since: state.sight.recent.mark(),
            lowest_head: None,
            all_hold: false,
            puts: inner.reads.store.puts(),
        };
        if store.is_some() {
            if pin.is_none() && class == Class::Moving {
                sent.lowest_head = router.lowest_head(reader, now);
            }
            let at_number = row.lane == Lane::State && matches!(class, Class::Number(_));
            let doubtful = row.empty_is == EmptyIs::Suspect || at_number;
            if let (true, Some(height)) = (doubtful, need.height) {
                sent.all_hold = router.all_hold(reader, height, now);
            }
        }
        Looked::Go(Go {
            class,
            pin,
            need,
            least_head,
            at_floor: floor.is_some_and(|floor| pin.max(least_head) >= Some(floor)),
            flight,
            store,
            sent,
            urgent: None,
        })
    }
}

/// Ends a flight's key with what else must be the same: how it is routed, and from which block on its
/// endpoints must be.
pub(super) fn direct(options: &CallOptions, least_head: Option<u64>, buffer: &mut Vec<u8>) {
    let strategy = options.strategy.as_ref();
    let strategy = strategy.map_or(0, |strategy| Arc::as_ptr(strategy) as usize as u64);
    let timeout = options.timeout.map_or(u64::MAX, |timeout| {
        u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX)
    });
    let least_head = least_head.map_or(0, |head| head.saturating_add(1));
    for word in [strategy, timeout, least_head] {
        buffer.extend_from_slice(&word.to_be_bytes());
    }
}

impl Go {
    /// The block that an endpoint must hold to serve it, where that keeps anybody out.
    pub(super) fn strict(&self) -> Option<u64> {
        let pinned = self.need.height.filter(|_| self.pin.is_some());
        pinned.or(self.pin).max(self.least_head)
    }
}

/// What marks are held against when nobody holds them (P-8).
pub(super) fn reference(state: &State, now: Now) -> Option<Reference> {
    Some(Reference {
        height: state.router.reference_head(now)?,
        majority: state.router.has_majority(now),
        max_lag: state.router.max_lag(),
    })
}
