//! Reads: answered from memory, pinned, shared, and only then asked for (P-1 to P-24).
//!
//! | file | what it holds |
//! |---|---|
//! | here | the way of one read through all of it |
//! | `number` | the newest block: `eth_blockNumber`, and a head that is read for a call |
//! | `wait` | the wait for a block that nobody holds yet |
//! | `look` | one look under the lock: an answer from memory, or the block to ask for |
//! | `job` | the request that is made, and what is kept of its answer |
//! | `flights` | requests that several callers share |
//! | `store` | the answers that are kept |
//! | `level` | a store behind that, for answers that never change |
//! | `receipts` | the receipts of a block, and an empty list of them |
//! | `sight` | recent hashes, the finalized block, the kind of chain |
//! | `headers` | headers that are fetched, so that a block that left the chain is seen |
//! | `viewer` | what one party has seen |
//! | `logs` | log queries: the index, ranges in parts |
//! | `tally` | counts |
//!
//! What is decided is in `core` (`pin`, `floor`, `flight`, `cache`, `recent`); here it is carried out.

mod flights;
mod headers;
mod job;
mod level;
mod logs;
mod look;
mod number;
mod receipts;
mod sight;
mod sticky;
mod store;
mod tally;
mod viewer;
mod wait;

pub use level::{Fetched, SecondLevel};
pub use tally::CacheStats;
pub use viewer::Viewer;

pub(crate) use flights::News;
pub(crate) use headers::read_header;
pub(crate) use level::Level;
pub(crate) use sight::Sight;
pub(crate) use sticky::seen;

use crate::{
    Answer, CallOptions, Error, Request,
    answer::Origin,
    ask::Ask,
    driver::{FAR, Terms, drive, text},
    inner::Inner,
};
use flights::{Flights, Times};
use highwater_core::{
    Now,
    answer::Named,
    cache::{CacheSettings, Class},
    event::Event,
    floor::{self, Falls},
    jsonrpc::Params,
    learn::Need,
    method::{Found, RowKind, Sticky, Tag, canonical_key, find},
    router::Router,
    settings::Settings,
};
use job::Job;
use look::{Go, Looked, Read, with_buffer};
use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use store::Store;
use tally::Tally;
use tokio::sync::Notify;
use viewer::{Bound, Viewers};
use wait::Wait;

/// How often an answer below a watermark is asked for elsewhere (P-7).
const WATERMARK_TRIES: u8 = 3;

/// What reads have of a pool of their own, outside its lock.
pub(crate) struct Reads {
    store: Store,
    second: Option<Level>,
    flights: Flights,
    pub(crate) falls: Falls,
    tally: Tally,
    logs: logs::Room,
    /// Whether what callers have seen binds later answers: where reads are not pinned, nothing can keep
    /// them from going back, and nothing is held against them (P-1, P-8).
    monotonic: AtomicBool,
    /// Whether reads are pinned, shared or kept at all.
    are_on: AtomicBool,
    /// Whether the heads say what the newest block is: reads are pinned, or kept (P-5).
    from_heads: AtomicBool,
    /// Of callers that name no viewer.
    own: Viewer,
    /// An empty text, shared.
    nothing: Arc<str>,
    /// Heads were read.
    moved: Notify,
    seen: AtomicU64,
}

impl Reads {
    pub(crate) fn new(settings: &Settings, second: Option<Level>) -> Self {
        let reads = Self {
            store: Store::new(logs::beside(settings).as_ref()),
            second,
            flights: Flights::new(),
            falls: Falls::default(),
            tally: Tally::default(),
            logs: logs::Room::new(),
            monotonic: AtomicBool::new(false),
            are_on: AtomicBool::new(false),
            from_heads: AtomicBool::new(false),
            own: Viewer::new(),
            nothing: Arc::from(""),
            moved: Notify::new(),
            seen: AtomicU64::new(0),
        };
        reads.set(settings);
        reads
    }

    /// A number that changes when heads were read.
    fn heads(&self) -> u64 {
        self.seen.load(Relaxed)
    }

    /// Wakes those who wait for a head, if one was read since this was last asked.
    pub(crate) fn on_heads(&self, read: u64) -> bool {
        if self.seen.load(Relaxed) == read {
            return false;
        }
        self.seen.store(read, Relaxed);
        self.moved.notify_waiters();
        true
    }

    pub(crate) fn stats(&self) -> CacheStats {
        CacheStats {
            entries: self.store.entries(),
            bytes: self.store.bytes() + self.logs.bytes(),
            log_filters: self.logs.filters(),
            waiting: self.flights.waiters(),
            ..self.tally.view()
        }
    }
}

impl Reads {
    /// The options are these from now on.
    pub(crate) fn set(&self, settings: &Settings) {
        let reads = &settings.reads;
        self.logs.set(settings);
        let heads = settings.heads.is_some();
        self.monotonic.store(heads && reads.pin.is_some(), Relaxed);
        self.are_on.store(
            reads.pin.is_some() || reads.cache.is_some() || reads.coalesce || reads.logs.is_some(),
            Relaxed,
        );
        self.from_heads.store(
            heads && (reads.pin.is_some() || reads.cache.is_some()),
            Relaxed,
        );
    }
}

impl Inner {
    /// The cache's numbers; `None`: it is off, or head checks are (P-11).
    fn cache_settings(&self, router: &Router) -> Option<CacheSettings> {
        let settings = router.settings();
        settings
            .reads
            .cache
            .filter(|_| settings.heads.is_some() && self.reads.store.is_on())
    }
}

/// Makes one call. Whatever is no plain read goes to an endpoint at once.
pub(crate) async fn request(
    inner: &Arc<Inner>,
    request: Request<'_>,
    options: CallOptions,
    avoid: Option<&str>,
) -> Result<Answer, Error> {
    if inner.is_closed() {
        return Err(Error::Closed);
    }
    let row = request.descriptor;
    let viewers = if inner.reads.monotonic.load(Relaxed) {
        Viewers::new(&options.viewers, &inner.reads.own, options.min_block)
    } else {
        Viewers::none()
    };
    let params = text(request.params);
    let found = find(row, params);
    let reads = inner.reads.are_on.load(Relaxed) && row.is_read() && row.sticky == Sticky::None;
    if !reads || options.solitary || !is_plain(&request) {
        let terms = Terms {
            need: match row.has_block() {
                true => Need::found(row, &found, None),
                false => Need::of_call(row, params),
            },
            avoid: avoid.map(Arc::from),
            ..Terms::default()
        };
        let mut answer = Box::pin(drive(inner, request, options, terms)).await?;
        if let Some(result) = answer.result() {
            answer.block = floor::seen(&found, &Named::read(row, result), None);
            raise(inner, &viewers, &answer, None, None);
        }
        return Ok(answer);
    }
    let now = inner.now();
    let mut call = Call {
        inner,
        request,
        params,
        found: &found,
        deadline: now.mono + options.deadline.unwrap_or(inner.deadline).min(FAR),
        options,
        viewers: &viewers,
        avoid: avoid.map(Arc::from),
    };
    if row.name == "eth_blockNumber" && inner.reads.from_heads.load(Relaxed) {
        return call.block_number().await;
    }
    if call.is_logs() {
        return Box::pin(call.log_query()).await;
    }
    call.read(Some(now)).await
}

/// A future in a box of its own. The box comes first, so that the future, of a few kilobytes, is written
/// where it stays.
fn in_place<F: Future>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    let room = Box::new_uninit();
    Box::into_pin(Box::write(room, make()))
}

/// Whether the name stands in a request as it is: then it can be read back from there.
fn is_plain(request: &Request<'_>) -> bool {
    let odd = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    request.descriptor.kind == RowKind::Exact || !request.method.bytes().any(odd)
}

/// Whoever got an answer has seen the block that it shows (P-9), and where it was asked for by this
/// tag, what is behind that (P-7).
fn raise(inner: &Inner, viewers: &Viewers, answer: &Answer, pin: Option<u64>, tag: Option<Tag>) {
    let Some(block) = answer.block else { return };
    let falls = &inner.reads.falls;
    if tag.is_none() && Some(block) <= pin {
        // It was believed when the call was pinned to it.
        viewers.raise(block, Bound::Known, falls);
        return;
    }
    let bound = {
        let state = inner.lock();
        Bound::of(&state.router, inner.now())
    };
    viewers.raise(block, bound, falls);
    for mark in tag.into_iter().flat_map(|tag| viewers.of(tag)) {
        bound.raise(mark, block, falls);
        mark.served();
    }
}

/// One read under way.
struct Call<'a> {
    inner: &'a Arc<Inner>,
    request: Request<'a>,
    params: &'a str,
    found: &'a Found,
    options: CallOptions,
    viewers: &'a Viewers,
    deadline: Instant,
    avoid: Option<Arc<str>>,
}

impl Call<'_> {
    /// Carries it through. `now`, where the caller has just looked at the clock.
    async fn read(&mut self, mut now: Option<Now>) -> Result<Answer, Error> {
        let tag = floor::watermark(self.found);
        let mut tries = 0;
        let mut wait = Wait::default();
        loop {
            wait.heads = self.inner.reads.heads();
            let first = tries == 0 && !wait.began();
            let now = now.take().unwrap_or_else(|| self.inner.now());
            let looked = self.look(wait.fetched, first, now);
            let (answer, pin, strict, at_floor) = match looked {
                Looked::Hit(entry, bound) => {
                    let answer = Answer {
                        span: 0..entry.result.len(),
                        body: entry.result,
                        is_error: false,
                        endpoint: entry.endpoint,
                        attempts: 0,
                        transaction: None,
                        origin: Origin::Cache,
                        block: entry.block,
                    };
                    if let Some(block) = answer.block {
                        self.viewers.raise(block, bound, &self.inner.reads.falls);
                    }
                    return Ok(answer);
                }
                Looked::Logs(served, bound) => {
                    let answer = served.answer();
                    if let Some(block) = answer.block {
                        self.viewers.raise(block, bound, &self.inner.reads.falls);
                    }
                    return Ok(answer);
                }
                Looked::FetchHead => {
                    Box::pin(self.fetch_head()).await?;
                    wait.fetched = true;
                    continue;
                }
                Looked::Behind(floor) => {
                    Box::pin(self.wait_for(floor, &mut wait)).await?;
                    continue;
                }
                Looked::Go(go) => {
                    let (pin, strict, at_floor) = (go.pin, go.strict(), go.at_floor);
                    let ended = if self.is_logs() {
                        Box::pin(self.logs(go)).await
                    } else if self.is_receipts() {
                        Box::pin(self.receipts(go)).await
                    } else {
                        self.go_at(go, now).await
                    };
                    (ended, pin, strict, at_floor)
                }
            };
            let answer = match (answer, strict) {
                // Who held the block is gone, or nobody ever did.
                (Err(Error::NoEndpoint), Some(floor)) if self.may_be_served() => {
                    Box::pin(self.wait_for(floor, &mut wait)).await?;
                    continue;
                }
                (Err(error), _) => {
                    if at_floor {
                        self.unserved();
                    }
                    return Err(error);
                }
                (Ok(answer), _) => answer,
            };
            if at_floor {
                self.viewers.served();
            }
            if let (Some(tag), Some(said)) = (tag, answer.block) {
                let now = self.inner.now();
                let falls = &self.inner.reads.falls;
                let marks = self.viewers.of(tag);
                let mark = marks.filter_map(|mark| mark.get(falls, now.mono)).max();
                if mark.is_some_and(|mark| said < mark) {
                    // This endpoint's view of finality is older than what was shown (P-7).
                    tries += 1;
                    self.avoid = Some(Arc::clone(&answer.endpoint));
                    if tries >= WATERMARK_TRIES {
                        return self.below(tag, said);
                    }
                    continue;
                }
            }
            raise(self.inner, self.viewers, &answer, pin, tag);
            return Ok(answer);
        }
    }

    /// Nobody's watermark reaches what was shown: an error, and after a while the mark comes down.
    fn below(&self, tag: Tag, said: u64) -> Result<Answer, Error> {
        let now = self.inner.now();
        let falls = &self.inner.reads.falls;
        let stale = self.inner.lock().router.stale();
        let best = floor::Reference {
            height: said,
            majority: false,
            max_lag: 0,
        };
        let mut floor = said;
        for mark in self.viewers.of(tag) {
            floor = floor.max(mark.get(falls, now.mono).unwrap_or(0));
            mark.unserved(Some(best), stale, falls, now.mono);
        }
        Err(Error::Behind { block: floor })
    }

    fn look(&self, fetched: bool, first: bool, now: Now) -> Looked {
        let read = Read {
            method: self.request.method,
            params: self.params,
            found: self.found,
            options: &self.options,
            viewers: self.viewers,
        };
        with_buffer(|buffer| {
            let key = canonical_key(self.found, self.request.method, self.params, buffer);
            read.look(self.inner, Some(key), buffer, fetched, first, now)
        })
    }

    /// Makes the request, or shares another caller's.
    async fn go(&self, go: Go) -> Result<Answer, Error> {
        self.go_at(go, self.inner.now()).await
    }

    /// The same, where the caller has just looked at the clock.
    async fn go_at(&self, go: Go, now: Now) -> Result<Answer, Error> {
        let mut pinned = String::new();
        let row = self.request.descriptor;
        let rewritten = go.pin.is_some_and(|block| {
            self.found.rewrite(self.params, block, &mut pinned)
                == highwater_core::method::Rewritten::Pinned
        });
        let params = match rewritten {
            true => Params::Array(&pinned),
            false => self.request.params,
        };
        let write = || Ask::new(self.inner.next_id(), row, self.request.method, params);
        let own = self.options.deadline.unwrap_or(self.inner.deadline);
        // Others may have more time than a caller in a hurry.
        let outlives = own < self.inner.deadline;
        let mut store = go.store;
        // Made by whoever makes the request, and once more by who gave up on it.
        let job = |store, now| Job {
            inner: Arc::clone(self.inner),
            ask: write(),
            options: self.options.of_request(),
            found: self.found.clone(),
            // Only a transaction's own hash is compared with what is written.
            written: match go.class {
                Class::Transaction => Some(Arc::from(self.params)),
                Class::Never(_)
                | Class::Fixed
                | Class::Moving
                | Class::Present
                | Class::Number(_)
                | Class::Hash(_) => None,
            },
            class: go.class,
            pin: go.pin,
            need: go.need,
            least_head: go.least_head,
            avoid: self.avoid.clone(),
            store,
            sent: go.sent,
            urgent: go.urgent,
            now,
        };
        let key = go.flight.filter(|_| self.avoid.is_none());
        let Some(key) = key else {
            return Box::pin(job(store, None).run(self.left(), None)).await;
        };
        let times = Times {
            deadline: self.deadline,
            outlives,
            timeout: self.options.timeout.unwrap_or(self.inner.timeout),
        };
        let mut first = Some(now);
        let landed = self
            .inner
            .reads
            .flights
            .fly(key, times, now.mono, |news| {
                let time = if outlives {
                    self.inner.deadline
                } else {
                    self.deadline.saturating_duration_since(news.began())
                };
                // Room first: it is written where it stays.
                in_place(|| job(store.take(), first.take()).run(time, Some(news)))
            })
            .await;
        let Some(landed) = landed else {
            return Err(Error::DeadlineExceeded {
                attempts: Vec::new(),
            });
        };
        if landed.shared {
            let tally = &self.inner.reads.tally;
            tally.avoided(&tally.shared, row);
            let mut state = self.inner.lock();
            let method = row.id;
            state.router.events().push(|| Event::Coalesce { method });
            self.inner.tell(state);
            // Another caller may have written the number that this one's `latest` became: each has seen
            // what its own question shows.
            let seen = |answer: &Answer| {
                let named = Named::read(row, answer.result()?);
                floor::seen(self.found, &named, go.pin)
            };
            return landed.ended.map(|answer| Answer {
                origin: Origin::Shared,
                block: seen(&answer),
                ..answer
            });
        }
        landed.ended
    }

    fn left(&self) -> Duration {
        self.deadline
            .saturating_duration_since(self.inner.now().mono)
    }
}
