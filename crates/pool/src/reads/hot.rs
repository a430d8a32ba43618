//! Keys that are kept hot: read again in the background before anybody asks (P-18 to P-20).
//!
//! Who is hot and who is due is [`highwater_core::cache::hot`]'s; here it is carried out. While keys
//! are hot one task looks after them: the read that made the first one hot starts it on its runtime.
//! It holds the pool weakly and ends with it, or when the last key is idle; the next read that is
//! kept starts another. It is woken when the head that the pool believes moves, and by a tick, which
//! asks one endpoint for its head.
//!
//! A key is read again as a caller would read it, through the table of shared requests, so that a
//! caller who comes meanwhile joins; but with one attempt, and where that brings no result whoever
//! joined asks for itself.

use super::{
    flights::{News, Times},
    job::Job,
    look::{Sent, direct, with_buffer},
};
use crate::{CallOptions, Error, Request, aside::read_head, ask::Ask, inner::Inner};
use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use highwater_core::{
    Now,
    cache::{
        Class, Refresh, Stamp,
        hot::{Ages, Due, HotKeys, Moment, Place},
    },
    flight,
    jsonrpc::Params,
    learn::Need,
    method::{
        CacheClass, Descriptor, EmptyIs, Found, MethodId, Resolve, Rewritten, RowKind,
        canonical_key,
    },
    router::{Reader, Router},
    select::Strategy,
    settings::Settings,
};
use smallvec::SmallVec;
use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};
use tokio::sync::Notify;

/// Longest parameters of a key that is kept hot, in bytes: a request that is larger than this costs
/// too much to be made again unasked.
const LONGEST: usize = 16 * 1024;

/// The hot keys of one pool, under its lock.
pub(crate) struct Hot {
    keys: HotKeys<Box<[u8]>, Arc<Again>>,
    /// A task looks after them.
    tended: bool,
}

/// A read that is made again.
pub(super) struct Again {
    method: Box<str>,
    params: Box<str>,
    found: Found,
    class: Class,
    strategy: Option<Arc<Strategy>>,
    timeout: Option<Duration>,
}

/// What a look found out about a key.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Heat {
    /// It is not hot, and does not become so.
    #[default]
    Cold,
    /// It is hot.
    Hot(Place),
    /// It becomes hot when its answer is kept.
    Warm,
}

/// What a request has to do with the hot keys.
#[derive(Clone, Default)]
pub(super) enum Seat {
    /// Nothing.
    #[default]
    Nowhere,
    /// Its key is hot.
    Taken(Place),
    /// Its key becomes hot when its answer is kept.
    Wanted(Arc<Again>),
    /// It was made for a hot key.
    Refresh(Place),
}

/// Whether reads of a class keep their key hot: those at `latest`, and present state (P-18). What is
/// true for a time whatever the block, such as the name of a client, is not worth it.
pub(super) fn keeps_hot(class: Class, row: &Descriptor) -> bool {
    match class {
        Class::Moving => true,
        Class::Present => row.cache_class != CacheClass::Static,
        Class::Never(_) | Class::Fixed | Class::Number(_) | Class::Hash(_) | Class::Transaction => {
            false
        }
    }
}

impl Hot {
    pub(crate) fn new(settings: &Settings) -> Self {
        let cache = settings.reads.cache.as_ref();
        Self {
            keys: HotKeys::new(cache.map_or(0, |cache| cache.hot_keys)),
            tended: false,
        }
    }

    /// The options are these from now on.
    pub(crate) fn set(&mut self, settings: &Settings) {
        let cache = settings.reads.cache.as_ref();
        self.keys.set_most(cache.map_or(0, |cache| cache.hot_keys));
    }

    pub(crate) const fn len(&self) -> usize {
        self.keys.len()
    }

    /// A key was read from memory, or in vain. False: it is not hot.
    pub(super) fn touch(&mut self, place: Option<Place>, now: Now) -> bool {
        place.is_some_and(|place| self.keys.touch(place, now.mono))
    }

    /// What is to become of a key whose answer is asked for.
    pub(super) const fn heat(&self, place: Option<Place>) -> Heat {
        match place {
            Some(place) => Heat::Hot(place),
            None if self.keys.has_room() => Heat::Warm,
            None => Heat::Cold,
        }
    }

    /// Whether a key that is read from memory and is not hot may become so.
    pub(super) fn admits(&mut self, now: Now) -> bool {
        self.keys.admits(now.mono)
    }

    /// Makes a key hot whose answer is kept. `again`: it was read before, so that it may displace
    /// another.
    pub(super) fn register(
        &mut self,
        key: &[u8],
        what: &Arc<Again>,
        again: bool,
        stamp: &Stamp,
        head: Option<u64>,
        now: Now,
    ) -> Option<Place> {
        let ages = match what.class {
            Class::Present => Ages::WithTime,
            Class::Moving
            | Class::Never(_)
            | Class::Fixed
            | Class::Number(_)
            | Class::Hash(_)
            | Class::Transaction => Ages::WithHead,
        };
        let make = || (Box::from(key), Arc::clone(what), ages);
        let place = self.keys.register(key, again, head, now.mono, make)?;
        self.keys.kept(place, stamp.height, stamp.at);
        Some(place)
    }

    /// An answer is kept: its key's place, if that is hot.
    pub(super) fn keep(
        &mut self,
        seat: &Seat,
        key: &[u8],
        stamp: &Stamp,
        head: Option<u64>,
        now: Now,
    ) -> Option<Place> {
        match seat {
            Seat::Nowhere => None,
            Seat::Taken(place) | Seat::Refresh(place) => {
                self.keys.kept(*place, stamp.height, stamp.at);
                Some(*place)
            }
            Seat::Wanted(what) => self.register(key, what, false, stamp, head, now),
        }
    }

    /// True for whoever is to [`tend`] the keys, since nobody does.
    pub(super) const fn claim(&mut self) -> bool {
        let claimed = !self.tended && !self.keys.is_empty();
        self.tended |= claimed;
        claimed
    }
}

impl Again {
    /// A read as its caller wrote it; `None`: it is not one that can be made again.
    pub(super) fn new(
        request: &Request<'_>,
        found: &Found,
        class: Class,
        options: &CallOptions,
    ) -> Option<Arc<Self>> {
        let params = match request.params {
            Params::Absent | Params::Null => "",
            Params::Array(params) => params,
            Params::Object(_) | Params::Scalar(_) => return None,
        };
        (params.len() <= LONGEST).then(|| {
            Arc::new(Self {
                method: Box::from(request.method),
                params: Box::from(params),
                found: found.clone(),
                class,
                strategy: options.strategy.clone(),
                timeout: options.timeout,
            })
        })
    }

    fn row(&self) -> &'static Descriptor {
        self.found.row()
    }

    /// The newest head for it. Most hot keys are of few methods, so it is looked for once for each.
    fn head(&self, router: &Router, known: &mut Heads, now: Now) -> Option<u64> {
        let row = self.row();
        let is_its = |(id, _): &&(MethodId, Option<u64>)| *id == row.id;
        if let Some((_, head)) = known.iter().find(is_its) {
            return *head;
        }
        let allowed = router.allowed(&self.method);
        let head = router.newest_head(&Reader::new(row, &self.method, allowed.as_ref()), now);
        // A row without a name of its own stands for many methods.
        if row.kind == RowKind::Exact {
            known.push((row.id, head));
        }
        head
    }
}

type Heads = SmallVec<[(MethodId, Option<u64>); 4]>;

/// Starts the task that looks after the hot keys, for whoever [`Hot::claim`]ed that.
pub(super) fn tend(inner: &Arc<Inner>) {
    let keeper = Keeper {
        pool: Arc::downgrade(inner),
        told: Arc::clone(&inner.reads.told),
        over: false,
    };
    tokio::spawn(keeper.run());
}

/// Whoever looks after the hot keys of a pool.
struct Keeper {
    pool: Weak<Inner>,
    told: Arc<Notify>,
    /// Nobody is left to look after.
    over: bool,
}

/// What ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Done {
    Key,
    Tick,
}

type Running = FuturesUnordered<BoxFuture<'static, Done>>;

impl Keeper {
    async fn run(mut self) {
        let mut running = Running::new();
        let mut tick = None;
        let mut ticking = false;
        while let Some(until) = self.look(&mut running, &mut tick, &mut ticking) {
            let timer = async {
                match until {
                    Some(at) => tokio::time::sleep_until(at.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.told.notified() => {}
                Some(done) = running.next(), if !running.is_empty() => {
                    ticking &= done != Done::Tick;
                }
                () = timer => {}
            }
        }
    }

    /// Begins what is due. Says when to look again, where nothing happens before; `None`: it is over.
    fn look(
        &mut self,
        running: &mut Running,
        tick: &mut Option<Instant>,
        ticking: &mut bool,
    ) -> Option<Option<Instant>> {
        let inner = self.pool.upgrade()?;
        if inner.is_closed() {
            return None;
        }
        // Not under the lock: it is the caller's code.
        let active = inner.probing.is_active();
        let now = inner.now();
        let mut guard = inner.lock();
        let state = &mut *guard;
        state.hot.keys.drop_idle(now.mono);
        let cache = inner.cache_settings(&state.router);
        let Some(cache) = cache.filter(|_| !state.hot.keys.is_empty()) else {
            if running.is_empty() {
                state.hot.tended = false;
                self.over = true;
                return None;
            }
            return Some(None);
        };
        let block_time = state.router.block_time();
        let every = cache.refresh.interval(block_time);
        let ticked = tick.is_some_and(|at| at <= now.mono);
        if ticked || tick.is_none() || every.is_none() {
            *tick = every.and_then(|every| now.mono.checked_add(every));
        }
        if active {
            let next = tick.or_else(|| {
                let every = Refresh::Auto.interval(block_time)?;
                now.mono.checked_add(every)
            });
            let moment = Moment {
                ticked,
                next: next.unwrap_or(now.mono),
                max_age: cache.max_age,
            };
            let (router, mut heads) = (&state.router, Heads::new());
            let head = |again: &Arc<Again>| again.head(router, &mut heads, now);
            for due in state.hot.keys.due(&moment, head) {
                let row = due.what.row();
                let allowed = router.allowed(&due.what.method);
                let reader = Reader::new(row, &due.what.method, allowed.as_ref());
                if !router.has_free_holder(&reader, due.head, now) {
                    continue;
                }
                state.hot.keys.begun(due.place, due.head);
                let sent = Sent {
                    at: now.mono,
                    since: state.sight.recent.mark(),
                    // Whoever is asked is there.
                    lowest_head: Some(due.head),
                    all_hold: row.empty_is == EmptyIs::Suspect
                        && router.all_hold(&reader, due.head, now),
                    puts: inner.reads.store.puts(),
                };
                let coalesce = router.settings().reads.coalesce;
                running.push(refresh(Arc::clone(&inner), due, sent, coalesce).boxed());
            }
            if ticked
                && !*ticking
                && let Some(target) = state.router.tick_target(now)
            {
                *ticking = true;
                let (pool, node) = (self.pool.clone(), Arc::clone(state.node(target)));
                let timeout = inner.timeout;
                running.push(Box::pin(async move {
                    // Its failure was taken note of, and nobody waits for it.
                    let _ = read_head(&pool, &node, timeout).await;
                    Done::Tick
                }));
            }
        }
        Some((*tick).into_iter().chain(state.hot.keys.next_idle()).min())
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if !self.over
            && let Some(inner) = self.pool.upgrade()
        {
            inner.lock().hot.tended = false;
        }
    }
}

/// A key that is being read again. Dropped, it is not any more.
struct Asking<'a> {
    inner: &'a Inner,
    place: Place,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.inner.lock().hot.keys.ended(self.place);
    }
}

/// Reads a key again at a head, only from endpoints that hold it.
async fn refresh(inner: Arc<Inner>, due: Due<Arc<Again>>, sent: Sent, coalesce: bool) -> Done {
    let Due { place, what, head } = due;
    let asking = Asking {
        inner: &inner,
        place,
    };
    let (row, found) = (what.row(), &what.found);
    let present = what.class == Class::Present;
    let pin = (found.wants_pin() && !present).then_some(head);
    let mut need = Need::found(row, found, pin);
    // Where nothing says which block it is about, it is this one all the same.
    need.height = need.height.or(Some(head));
    let mut pinned = String::new();
    let rewritten =
        pin.is_some_and(|pin| found.rewrite(&what.params, pin, &mut pinned) == Rewritten::Pinned);
    let params = match (rewritten, &*what.params) {
        (true, _) => Params::Array(&pinned),
        (false, "") => Params::Absent,
        (false, params) => Params::Array(params),
    };
    let (key, store) = with_buffer(|buffer| {
        let body = canonical_key(found, &what.method, &what.params, buffer);
        body.seal(found, &what.params, Resolve::Tagless, buffer);
        let store = Box::from(&**buffer);
        let shares = coalesce && (present || flight::shares(found, pin));
        let key = shares.then(|| {
            if let Some(pin) = pin {
                body.seal(found, &what.params, Resolve::At(pin), buffer);
            }
            direct(&what.options(), None, buffer);
            Arc::<[u8]>::from(&**buffer)
        });
        (key, store)
    });
    let timeout = what.timeout.unwrap_or(inner.timeout);
    let mut job = Some(Job {
        inner: Arc::clone(&inner),
        ask: Ask::new(inner.next_id(), row, &what.method, params),
        options: what.options(),
        found: found.clone(),
        written: Arc::clone(&inner.reads.nothing),
        class: what.class,
        pin,
        need,
        least_head: None,
        avoid: None,
        store: Some(store),
        sent,
        urgent: None,
        hot: Seat::Refresh(place),
    });
    let mut make = |news: Option<Arc<News>>| {
        let request = job.take().map(|job| job.run(timeout, news));
        async move {
            let over = Error::DeadlineExceeded {
                attempts: Vec::new(),
            };
            let Some(request) = request else {
                return Err(over);
            };
            // Whoever joined a request that brought nothing asks for itself.
            let answer = request.await.ok();
            answer.filter(|answer| !answer.is_error()).ok_or(over)
        }
    };
    match key {
        Some(key) => {
            let times = Times {
                deadline: inner.now().mono + timeout,
                outlives: false,
                timeout,
            };
            let fly = |news| make(Some(news)).boxed();
            // Whatever came of it: a failure leaves the old answer.
            let _ = inner.reads.flights.fly(key, times, fly).await;
        }
        None => drop(make(None).await),
    }
    drop(asking);
    Done::Key
}

impl Again {
    /// What the request needs of its caller's options.
    fn options(&self) -> CallOptions {
        CallOptions {
            strategy: self.strategy.clone(),
            timeout: self.timeout,
            ..CallOptions::default()
        }
    }
}
