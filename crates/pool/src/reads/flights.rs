//! Requests that several callers share (P-10).
//!
//! The table of [`highwater_core::flight`] says who shares what. A request that nobody else waits for
//! is carried by its own caller, as any call is; as soon as a second caller joins it gets a task of
//! its own, on the runtime where it began, and from then on nothing that one caller does matters to
//! the others. So sharing costs those nothing who share nothing.
//!
//! A request that breaks off, because its runtime ends or something in it panics, is nobody's: whoever
//! waited for it begins anew.

use crate::{Answer, Error};
use highwater_core::flight::{FlightId, Flights as Table, Joined, Left, patience};
use parking_lot::Mutex;
use std::{
    future::{Future, poll_fn},
    hash::{BuildHasher, Hash, Hasher},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};
use tokio::{runtime::Handle, sync::Notify, task::AbortHandle};

/// Shared requests that may break off under one caller before it makes its own.
const MOST_BROKEN: u8 = 2;

/// What must be the same for a request to be shared, with its hash: that is taken once, and a request
/// enters the table and leaves it again.
#[derive(Clone, Debug)]
struct Key {
    hash: u64,
    bytes: Arc<[u8]>,
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.bytes == other.bytes
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

type Ended = Result<Answer, Error>;
type Request = Pin<Box<dyn Future<Output = Ended> + Send>>;
type Shared = Table<Key, foldhash::quality::RandomState, Arc<Flight>>;

/// The requests of one pool that may be shared.
pub(super) struct Flights {
    table: Arc<Mutex<Shared>>,
    hasher: foldhash::quality::RandomState,
}

/// Signs of life of a request: its attempts, moves and waits.
#[derive(Debug)]
pub(crate) struct News {
    began: Instant,
    /// When the last one was, in milliseconds from the beginning.
    last: AtomicU64,
}

impl News {
    fn new(began: Instant) -> Self {
        Self {
            began,
            last: AtomicU64::new(0),
        }
    }

    /// When the request began.
    pub(super) const fn began(&self) -> Instant {
        self.began
    }

    /// Something happened.
    pub(crate) fn tell(&self, now: Instant) {
        let age = now.saturating_duration_since(self.began).as_millis();
        self.last
            .store(u64::try_from(age).unwrap_or(u64::MAX), Relaxed);
    }

    fn last(&self) -> Instant {
        let age = Duration::from_millis(self.last.load(Relaxed));
        self.began.checked_add(age).unwrap_or(self.began)
    }
}

/// One request.
struct Flight {
    carried: Mutex<Carried>,
    /// How it ended; `None`: it broke off.
    ended: OnceLock<Option<Ended>>,
    done: Notify,
    news: Arc<News>,
    runtime: Handle,
}

/// Who moves a request on.
enum Carried {
    /// Its first caller.
    Caller(Request, Option<Waker>),
    /// A task of its own.
    Task(AbortHandle),
    /// Nobody any more.
    Over,
}

/// Times of one caller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// When it stops waiting.
    pub(super) deadline: Instant,
    /// Whether the request itself may run longer than that.
    pub(super) outlives: bool,
    /// Longest time of one attempt.
    pub(super) timeout: Duration,
}

/// What a caller got.
pub(super) struct Landed {
    pub(super) ended: Ended,
    /// The request was another caller's.
    pub(super) shared: bool,
}

impl Flights {
    pub(super) fn new() -> Self {
        let hasher = foldhash::quality::RandomState::default();
        Self {
            table: Arc::new(Mutex::new(Table::new(hasher.clone()))),
            hasher,
        }
    }

    /// How many callers wait now.
    pub(super) fn waiters(&self) -> u64 {
        self.table.lock().waiters()
    }

    /// Waits for the request of a key; `make` makes it where there is none. `now`: the time as the caller
    /// has just read it. `None`: the caller's deadline came first.
    ///
    /// Cancellation: the caller leaves; the last one to leave ends the request.
    pub(super) async fn fly(
        &self,
        key: Arc<[u8]>,
        times: Times,
        mut now: Instant,
        mut make: impl FnMut(Arc<News>) -> Request,
    ) -> Option<Landed> {
        let key = Key {
            hash: self.hasher.hash_one(&*key),
            bytes: key,
        };
        let mut left: Option<FlightId> = None;
        let mut broken = 0;
        loop {
            if broken >= MOST_BROKEN {
                // Whatever breaks it, it does not break another caller's again.
                let request = make(Arc::new(News::new(now)));
                // Boxed, as what is rare below: every read's future would be larger by it.
                let ended = Box::pin(tokio::time::timeout_at(times.deadline.into(), request)).await;
                let shared = false;
                return Some(Landed {
                    ended: ended.ok()?,
                    shared,
                });
            }
            let mut seat = self.board(&key, left.take(), now, &mut make);
            let ended = match seat.leads {
                true => seat.carry(times).await,
                false => Box::pin(seat.wait(times)).await,
            };
            let shared = !seat.leads;
            match ended {
                // It ran out of another caller's time, not of this one's.
                Waited::Ended(Some(Err(Error::DeadlineExceeded { .. })))
                    if shared && self::now() < times.deadline => {}
                Waited::Ended(Some(ended)) => return Some(Landed { ended, shared }),
                Waited::Ended(None) => broken += 1,
                Waited::Deadline => return None,
                Waited::NoNews => left = Some(seat.forsake()),
            }
            now = self::now();
        }
    }

    /// Joins the request of a key, or starts it. `left`: a request that this caller gave up on, which
    /// nobody joins again.
    fn board<'a>(
        &'a self,
        key: &'a Key,
        left: Option<FlightId>,
        now: Instant,
        make: &mut impl FnMut(Arc<News>) -> Request,
    ) -> Seat<'a> {
        let mut made = None;
        let mut begin = || {
            let news = Arc::new(News::new(now));
            let request = make(Arc::clone(&news));
            let flight = Arc::new(Flight {
                carried: Mutex::new(Carried::Caller(request, None)),
                ended: OnceLock::new(),
                done: Notify::new(),
                news,
                runtime: Handle::current(),
            });
            made = Some(Arc::clone(&flight));
            (key.clone(), flight)
        };
        let mut table = self.table.lock();
        let (gone, joined) = match left {
            None => (None, table.join(key, &mut begin, now)),
            Some(id) => {
                let gone = table.get(key, id).map(Arc::clone);
                let (left, joined) = table.restart(key, id, &mut begin, now);
                (gone.filter(|_| left == Left::Nobody), joined)
            }
        };
        let (id, leads) = match joined {
            Joined::Lead(id) => (id, true),
            Joined::Follow(id) => (id, false),
        };
        let flight = made.or_else(|| table.get(key, id).map(Arc::clone));
        drop(table);
        if let Some(gone) = gone {
            gone.cancel();
        }
        let flight = flight.expect("invariant: a flight that was joined is in the table");
        let seat = Seat {
            table: &self.table,
            key,
            id,
            flight,
            leads,
            seated: true,
        };
        if !leads {
            seat.hand_over();
        }
        seat
    }
}

/// How a wait ended.
enum Waited {
    Ended(Option<Ended>),
    Deadline,
    NoNews,
}

/// A caller's place in a request. Dropped, the caller leaves.
struct Seat<'a> {
    table: &'a Arc<Mutex<Shared>>,
    key: &'a Key,
    id: FlightId,
    flight: Arc<Flight>,
    leads: bool,
    seated: bool,
}

impl Seat<'_> {
    /// Moves the request on, until it has a task of its own.
    async fn carry(&mut self, times: Times) -> Waited {
        let carried = poll_fn(|cx| self.flight.poll(cx));
        let ended = if times.outlives {
            let timer = tokio::time::sleep_until(times.deadline.into());
            tokio::select! {
                biased;
                ended = carried => ended,
                () = timer => return Waited::Deadline,
            }
        } else {
            carried.await
        };
        match ended {
            Some(Ok(ended)) => {
                self.settle(|| Some(ended.clone()));
                Waited::Ended(Some(ended))
            }
            Some(Err(panic)) => {
                self.settle(|| None);
                resume_unwind(panic)
            }
            None => Box::pin(self.wait(times)).await,
        }
    }

    /// Waits for a request that moves on by itself.
    async fn wait(&mut self, times: Times) -> Waited {
        loop {
            let done = self.flight.done.notified();
            if let Some(ended) = self.flight.ended.get() {
                return Waited::Ended(ended.clone());
            }
            let patience = self.flight.news.last().checked_add(patience(times.timeout));
            let until = patience.map_or(times.deadline, |end| end.min(times.deadline));
            let timer = tokio::time::sleep_until(until.into());
            tokio::select! {
                biased;
                () = done => {}
                () = timer => {
                    let now = now();
                    if now >= times.deadline {
                        return Waited::Deadline;
                    }
                    let last = self.flight.news.last();
                    let mut table = self.table.lock();
                    table.news(self.key, self.id, last);
                    let ends = table.patience_ends(self.key, self.id, times.timeout);
                    drop(table);
                    if ends.is_some_and(|ends| ends <= now) {
                        return Waited::NoNews;
                    }
                }
            }
        }
    }

    /// Gives the request a task of its own, if its first caller still carries it.
    fn hand_over(&self) {
        let mut carried = self.flight.carried.lock();
        if !matches!(*carried, Carried::Caller(..)) {
            return;
        }
        let Carried::Caller(request, waker) = std::mem::replace(&mut *carried, Carried::Over)
        else {
            return;
        };
        let end = End {
            table: Arc::clone(self.table),
            key: self.key.clone(),
            id: self.id,
            flight: Arc::clone(&self.flight),
            ended: None,
        };
        let task = self.flight.runtime.spawn(async move {
            let mut end = end;
            end.ended = Some(request.await);
        });
        *carried = Carried::Task(task.abort_handle());
        drop(carried);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The request that this caller carried has ended.
    fn settle(&mut self, ended: impl FnOnce() -> Option<Ended>) {
        self.seated = false;
        settle(self.table, self.key, self.id, &self.flight, 1, ended);
    }

    /// The caller gives up on the request and will begin another.
    fn forsake(mut self) -> FlightId {
        self.seated = false;
        self.id
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        if !self.seated {
            return;
        }
        let left = self.table.lock().leave(self.key, self.id);
        match left {
            Left::Nobody => self.flight.cancel(),
            // Whoever has just joined gives it a task; should that have come before, it has one.
            Left::Others(_) if self.leads => self.hand_over(),
            Left::Others(_) | Left::Settled => {}
        }
    }
}

/// The end of a request with a task of its own, however the task ends.
struct End {
    table: Arc<Mutex<Shared>>,
    key: Key,
    id: FlightId,
    flight: Arc<Flight>,
    ended: Option<Ended>,
}

impl Drop for End {
    fn drop(&mut self) {
        let ended = self.ended.take();
        settle(&self.table, &self.key, self.id, &self.flight, 0, || ended);
    }
}

/// A request has ended: whoever waits for it beside so many of `own` is told.
fn settle(
    table: &Mutex<Shared>,
    key: &Key,
    id: FlightId,
    flight: &Flight,
    own: u32,
    ended: impl FnOnce() -> Option<Ended>,
) {
    // First out of the table, so that nobody joins what has ended.
    let waiters = table.lock().settle(key, id);
    if waiters > own {
        let _ = flight.ended.set(ended());
        flight.done.notify_waiters();
    }
}

impl Flight {
    /// Moves the request on, where its first caller carries it; `None`: it has a task of its own.
    fn poll(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Ended, Box<dyn std::any::Any + Send>>>> {
        let mut carried = self.carried.lock();
        let Carried::Caller(request, waker) = &mut *carried else {
            return Poll::Ready(None);
        };
        let polled = catch_unwind(AssertUnwindSafe(|| request.as_mut().poll(cx)));
        match polled {
            Ok(Poll::Pending) => {
                match waker {
                    Some(waker) if waker.will_wake(cx.waker()) => {}
                    waker => *waker = Some(cx.waker().clone()),
                }
                Poll::Pending
            }
            Ok(Poll::Ready(ended)) => {
                *carried = Carried::Over;
                Poll::Ready(Some(Ok(ended)))
            }
            Err(panic) => {
                *carried = Carried::Over;
                Poll::Ready(Some(Err(panic)))
            }
        }
    }

    /// Nobody waits for it any more.
    fn cancel(&self) {
        let carried = std::mem::replace(&mut *self.carried.lock(), Carried::Over);
        match carried {
            Carried::Task(task) => task.abort(),
            // Dropped outside the lock.
            Carried::Caller(..) | Carried::Over => {}
        }
    }
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
