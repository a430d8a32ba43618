//! The task that looks after the hot keys, and the reads that it makes.

use super::{Again, Seat, Views};
use crate::{
    Error,
    aside::read_head,
    ask::Ask,
    inner::{Inner, State},
    reads::{
        flights::{News, Times},
        job::Job,
        look::{Sent, direct, with_buffer},
    },
};
use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use highwater_core::{
    Now,
    cache::{
        Class, Refresh,
        hot::{Due, Moment, Place},
    },
    flight,
    jsonrpc::Params,
    learn::Need,
    method::{Resolve, Rewritten, canonical_key},
};
use std::{
    sync::{Arc, Weak},
    time::Instant,
};
use tokio::sync::Notify;

/// Starts the task that looks after the hot keys, for whoever [`Hot::claim`]ed that.
pub(in crate::reads) fn tend(inner: &Arc<Inner>) {
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
        let mut begun = Vec::new();
        let mut target = None;
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
            begun = state.begin_due(&moment, inner.reads.store.puts(), now);
            if ticked && !*ticking {
                target = state.router.tick_target(now);
            }
        }
        let target = target.map(|target| Arc::clone(state.node(target)));
        let coalesce = state.router.settings().reads.coalesce;
        let next = (*tick).into_iter().chain(state.hot.keys.next_idle()).min();
        drop(guard);
        for (due, sent) in begun {
            let asking = Asking {
                inner: Arc::clone(&inner),
                place: due.place,
            };
            running.push(refresh(asking, due, sent, coalesce).boxed());
        }
        if let Some(node) = target {
            *ticking = true;
            let (pool, timeout) = (self.pool.clone(), inner.timeout);
            running.push(Box::pin(async move {
                // Its failure was taken note of, and nobody waits for it.
                let _ = read_head(&pool, &node, timeout).await;
                Done::Tick
            }));
        }
        Some(next)
    }
}

impl State {
    /// The keys that are due and can be read again now; they count as being read.
    fn begin_due(&mut self, moment: &Moment, puts: u64, now: Now) -> Vec<(Due<Arc<Again>>, Sent)> {
        let (router, mut views) = (&self.router, Views::new());
        let head = |again: &Arc<Again>| again.view(router, &mut views, now).head;
        let due = self.hot.keys.due(moment, head);
        let mut begun = Vec::with_capacity(due.len());
        for due in due {
            let view = due.what.view(router, &mut views, now);
            if !view.is_free {
                continue;
            }
            self.hot.keys.begun(due.place, due.head);
            let sent = Sent {
                at: now.mono,
                since: self.sight.recent.mark(),
                // Whoever is asked is there.
                lowest_head: Some(due.head),
                all_hold: view.all_hold,
                puts,
            };
            begun.push((due, sent));
        }
        begun
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
struct Asking {
    inner: Arc<Inner>,
    place: Place,
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.inner.lock().hot.keys.ended(self.place);
    }
}

/// Reads a key again at a head, only from endpoints that hold it.
async fn refresh(asking: Asking, due: Due<Arc<Again>>, sent: Sent, coalesce: bool) -> Done {
    let Due { place, what, head } = due;
    let inner = &asking.inner;
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
        inner: Arc::clone(inner),
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
    Done::Key
}
