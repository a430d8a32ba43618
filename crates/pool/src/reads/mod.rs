//! Reads: answered from memory, pinned, shared, and only then asked for (P-1 to P-17).
//!
//! | file | what it holds |
//! |---|---|
//! | here | the way of one read through all of it |
//! | `look` | one look under the lock: an answer from memory, or the block to ask for |
//! | `job` | the request that is made, and what is kept of its answer |
//! | `flights` | requests that several callers share |
//! | `store` | the answers that are kept |
//! | `sight` | recent hashes, the finalized block, the kind of chain |
//! | `headers` | headers that are fetched, so that a block that left the chain is seen |
//! | `viewer` | what one party has seen |
//! | `tally` | counts |
//!
//! What is decided is in `core` (`pin`, `floor`, `flight`, `cache`, `recent`); here it is carried out.

mod flights;
mod headers;
mod job;
mod look;
mod sight;
mod store;
mod tally;
mod viewer;

pub use tally::CacheStats;
pub use viewer::Viewer;

pub(crate) use flights::News;
pub(crate) use headers::read_header;
pub(crate) use sight::Sight;

use crate::{
    Answer, CallOptions, Error, Request,
    answer::Origin,
    ask::Ask,
    driver::{FAR, Terms, drive, text},
    inner::Inner,
};
use bytes::Bytes;
use flights::{Flights, Times};
use highwater_core::{
    answer::Named,
    cache::CacheSettings,
    event::Event,
    floor::{self, Falls},
    jsonrpc::Params,
    learn::Need,
    method::{Found, RowKind, Sticky, Tag, canonical_key, find, lookup},
    pin::{self, BlockNumber, patience},
    router::{Reader, Router},
};
use job::Job;
use look::{Go, Looked, Read, with_buffer};
use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};
use store::Store;
use tally::Tally;
use tokio::sync::Notify;
use viewer::Viewers;

/// How often an answer below a watermark is asked for elsewhere (P-7).
const WATERMARK_TRIES: u8 = 3;

/// What reads have of a pool of their own, outside its lock.
pub(crate) struct Reads {
    store: Store,
    flights: Flights,
    pub(crate) falls: Falls,
    tally: Tally,
    /// Of callers that name no viewer.
    own: Viewer,
    /// Heads were read.
    moved: Notify,
    seen: std::sync::atomic::AtomicU64,
}

impl Reads {
    pub(crate) fn new(cache: Option<&CacheSettings>) -> Self {
        Self {
            store: Store::new(cache),
            flights: Flights::new(),
            falls: Falls::default(),
            tally: Tally::default(),
            own: Viewer::new(),
            moved: Notify::new(),
            seen: std::sync::atomic::AtomicU64::new(0),
        }
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
            bytes: self.store.bytes(),
            waiting: self.flights.waiters(),
            ..self.tally.view()
        }
    }
}

impl Inner {
    /// Whether the heads say what the newest block is: reads are pinned, or kept (P-5).
    fn answers_from_heads(&self) -> bool {
        let state = self.lock();
        let settings = state.router.settings();
        let reads = &settings.reads;
        settings.heads.is_some() && (reads.pin.is_some() || reads.cache.is_some())
    }

    /// Whether what callers have seen binds later answers: where reads are not pinned, nothing can
    /// keep them from going back, and nothing is held against them (P-1, P-8).
    fn is_monotonic(&self) -> bool {
        let state = self.lock();
        let settings = state.router.settings();
        settings.heads.is_some() && settings.reads.pin.is_some()
    }

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
    let viewers = if inner.is_monotonic() {
        Viewers::new(&options.viewers, &inner.reads.own, options.min_block)
    } else {
        Viewers::none()
    };
    let params = text(request.params);
    let found = find(row, params);
    if !row.is_read() || options.solitary || row.sticky != Sticky::None || !is_plain(&request) {
        let terms = Terms {
            need: Need::of_call(row, params),
            avoid: avoid.map(Arc::from),
            ..Terms::default()
        };
        let mut answer = Box::pin(drive(inner, request, options, terms)).await?;
        if let Some(result) = answer.result() {
            answer.block = floor::seen(&found, &Named::read(row, result), None);
            raise(inner, &viewers, &answer, None);
        }
        return Ok(answer);
    }
    let mut call = Call {
        inner,
        request,
        params,
        found: &found,
        deadline: inner.now().mono + options.deadline.unwrap_or(inner.deadline).min(FAR),
        options,
        viewers: &viewers,
        avoid: avoid.map(Arc::from),
    };
    if row.name == "eth_blockNumber" && inner.answers_from_heads() {
        return call.block_number().await;
    }
    call.read().await
}

/// Whether the name stands in a request as it is: then it can be read back from there.
fn is_plain(request: &Request<'_>) -> bool {
    let odd = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    request.descriptor.kind == RowKind::Exact || !request.method.bytes().any(odd)
}

/// Whoever got an answer has seen the block that it shows (P-9), and where it was asked for by this
/// tag, what is behind that (P-7).
fn raise(inner: &Inner, viewers: &Viewers, answer: &Answer, tag: Option<Tag>) {
    let Some(block) = answer.block else { return };
    let falls = &inner.reads.falls;
    let bound = {
        let state = inner.lock();
        state.router.highest_believed(inner.now())
    };
    viewers.raise(block, bound, falls);
    for mark in tag.into_iter().flat_map(|tag| viewers.of(tag)) {
        mark.raise(block, bound, falls);
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
    async fn read(&mut self) -> Result<Answer, Error> {
        let tag = floor::watermark(self.found);
        let mut tries = 0;
        let mut wait = Wait::default();
        loop {
            wait.heads = self.inner.reads.heads();
            let looked = self.look(wait.fetched, tries == 0 && !wait.began());
            let (answer, strict, at_floor) = match looked {
                Looked::Hit(entry) => {
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
                        self.viewers.raise(block, None, &self.inner.reads.falls);
                    }
                    return Ok(answer);
                }
                Looked::FetchHead => {
                    self.fetch_head().await?;
                    wait.fetched = true;
                    continue;
                }
                Looked::Behind(floor) => {
                    self.wait_for(floor, &mut wait).await?;
                    continue;
                }
                Looked::Go(go) => {
                    let (strict, at_floor) = (go.strict(), go.at_floor);
                    (self.go(go).await, strict, at_floor)
                }
            };
            let answer = match (answer, strict) {
                // Who held the block is gone, or nobody ever did.
                (Err(Error::NoEndpoint), Some(floor)) if self.may_be_served() => {
                    self.wait_for(floor, &mut wait).await?;
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
            raise(self.inner, self.viewers, &answer, tag);
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

    fn look(&self, fetched: bool, first: bool) -> Looked {
        let read = Read {
            method: self.request.method,
            params: self.params,
            found: self.found,
            options: &self.options,
            viewers: self.viewers,
        };
        with_buffer(|buffer| {
            let key = canonical_key(self.found, self.request.method, self.params, buffer);
            read.look(self.inner, Some(key), buffer, fetched, first)
        })
    }

    /// Makes the request, or shares another caller's.
    async fn go(&self, go: Go) -> Result<Answer, Error> {
        let mut pinned = Vec::new();
        let row = self.request.descriptor;
        let rewritten = go.pin.is_some_and(|block| {
            self.found.rewrite(self.params, block, &mut pinned)
                == highwater_core::method::Rewritten::Pinned
        });
        let params = match std::str::from_utf8(&pinned) {
            Ok(text) if rewritten => Params::Array(text),
            Ok(_) | Err(_) => self.request.params,
        };
        let ask = Ask::new(self.inner.next_id(), row, self.request.method, params);
        let own = self.options.deadline.unwrap_or(self.inner.deadline);
        // Others may have more time than a caller in a hurry.
        let outlives = own < self.inner.deadline;
        let job = Job {
            inner: Arc::clone(self.inner),
            ask,
            options: self.options.clone(),
            found: self.found.clone(),
            written: if go.store.is_some() {
                Arc::from(self.params)
            } else {
                Arc::from("")
            },
            class: go.class,
            pin: go.pin,
            need: go.need,
            least_head: go.least_head,
            avoid: self.avoid.clone(),
            store: go.store,
            sent: go.sent,
        };
        let key = go.flight.filter(|_| self.avoid.is_none());
        let Some(key) = key else {
            return Box::pin(job.run(self.left(), None)).await;
        };
        let times = Times {
            deadline: self.deadline,
            outlives,
            timeout: self.options.timeout.unwrap_or(self.inner.timeout),
        };
        let landed = self
            .inner
            .reads
            .flights
            .fly(key, times, |news| {
                let time = if outlives {
                    self.inner.deadline
                } else {
                    self.left()
                };
                Box::pin(job.clone().run(time, Some(news)))
            })
            .await;
        let Some(landed) = landed else {
            return Err(Error::DeadlineExceeded {
                attempts: Vec::new(),
            });
        };
        if landed.shared {
            self.inner.reads.tally.shared.fetch_add(1, Relaxed);
            let mut state = self.inner.lock();
            let method = row.id;
            state.router.events().push(|| Event::Coalesce { method });
            self.inner.tell(state);
            return landed.ended.map(|answer| Answer {
                origin: Origin::Shared,
                ..answer
            });
        }
        landed.ended
    }

    fn left(&self) -> Duration {
        self.deadline
            .saturating_duration_since(self.inner.now().mono)
    }

    /// Reads a head, together with everybody who needs one now (P-2).
    async fn fetch_head(&self) -> Result<Answer, Error> {
        let row = lookup("eth_blockNumber");
        let request = Request {
            method: row.name,
            descriptor: row,
            params: Params::Array("[]"),
        };
        let found = find(row, "[]");
        let (sent, coalesce) = {
            let state = self.inner.lock();
            let sent = look::Sent {
                at: self.inner.now().mono,
                since: state.sight.recent.mark(),
                lowest_head: None,
                all_hold: false,
            };
            (sent, state.router.settings().reads.coalesce)
        };
        let call = Call {
            inner: self.inner,
            request,
            params: "[]",
            found: &found,
            options: CallOptions {
                deadline: Some(self.left()),
                timeout: self.options.timeout,
                strategy: self.options.strategy.clone(),
                ..CallOptions::default()
            },
            viewers: self.viewers,
            deadline: self.deadline,
            avoid: None,
        };
        let go = Go {
            class: highwater_core::cache::Class::Never(highwater_core::cache::Uncached::FromHeads),
            pin: None,
            need: Need::of_call(row, "[]"),
            least_head: None,
            at_floor: false,
            flight: coalesce.then(|| {
                // No other key begins like this.
                let mut key = b"\0head".to_vec();
                look::direct(&self.options, None, &mut key);
                Arc::from(key)
            }),
            store: None,
            sent,
        };
        Box::pin(call.go(go)).await
    }

    /// `eth_blockNumber`: what a pinned read would use (P-5).
    async fn block_number(&mut self) -> Result<Answer, Error> {
        let row = self.request.descriptor;
        let mut wait = Wait::default();
        loop {
            wait.heads = self.inner.reads.heads();
            let now = self.inner.now();
            let falls = &self.inner.reads.falls;
            let (decided, wake) = {
                let mut state = self.inner.lock();
                let wake = !wait.began() && state.router.on_call(now);
                let believed = state.router.highest_believed(now);
                let floor = self.viewers.floor(believed, falls, now.mono);
                let cache = self.inner.cache_settings(&state.router);
                let router = &state.router;
                let settings = router.settings();
                let pinning = settings.reads.pin.filter(|_| settings.heads.is_some());
                let allowed = router.allowed(self.request.method);
                let reader = Reader::new(row, self.request.method, allowed.as_ref());
                let numbers = pinning.unwrap_or_default();
                let max_age = cache.map(|cache| cache.max_age);
                let decided = if settings.heads.is_none() {
                    BlockNumber::Upstream
                } else {
                    router.block_number(&reader, floor, pinning.is_some(), max_age, &numbers, now)
                };
                (decided, wake)
            };
            if wake {
                self.inner.wake_probes();
            }
            match decided {
                BlockNumber::Here(block) => {
                    self.viewers.raise(block, None, falls);
                    self.inner.reads.tally.local.fetch_add(1, Relaxed);
                    return Ok(number(block, Arc::from(""), 0, Origin::Heads));
                }
                BlockNumber::Behind { floor } => self.wait_for(floor, &mut wait).await?,
                BlockNumber::Upstream => {
                    let answer = self.fetch_head().await?;
                    match self.lowered(&answer) {
                        None => return Ok(answer),
                        Some(Ok(block)) => {
                            self.viewers.raise(block, None, falls);
                            return Ok(number(
                                block,
                                answer.endpoint,
                                answer.attempts,
                                answer.origin,
                            ));
                        }
                        Some(Err(floor)) => self.wait_for(floor, &mut wait).await?,
                    }
                }
            }
        }
    }

    /// What the caller is told where an endpoint answered; an error: the floor below which it is.
    /// `None`: it is no number, and passes as it came.
    fn lowered(&self, answer: &Answer) -> Option<Result<u64, u64>> {
        let said = highwater_core::judge::quantity(answer.result()?)?;
        let now = self.inner.now();
        let state = self.inner.lock();
        let believed = state.router.highest_believed(now);
        let floor = self
            .viewers
            .floor(believed, &self.inner.reads.falls, now.mono);
        let router = &state.router;
        let settings = router.settings();
        let Some(pinning) = settings.reads.pin.filter(|_| settings.heads.is_some()) else {
            return Some(match floor {
                Some(floor) if said < floor => Err(floor),
                Some(_) | None => Ok(said),
            });
        };
        let row = self.request.descriptor;
        let allowed = router.allowed(self.request.method);
        let reader = Reader::new(row, self.request.method, allowed.as_ref());
        let pin = router.pin(&reader, floor, true, &pinning, now);
        Some(pin::lower(said, pin, floor))
    }

    /// Waits until somebody may hold a block that nobody holds now: for the next head, at most one
    /// block time; then heads are read once more, and then it is an error (P-5, P-8).
    async fn wait_for(&self, floor: u64, wait: &mut Wait) -> Result<(), Error> {
        // Made before the look at the number: no head is missed between the two.
        let moved = self.inner.reads.moved.notified();
        if self.unserved() {
            return Ok(());
        }
        let now = self.inner.now();
        let until = *wait.until.get_or_insert_with(|| {
            let state = self.inner.lock();
            let most = state.router.settings().retry.max_wait;
            now.mono + patience(state.router.block_time(), most)
        });
        let until = until.min(self.deadline);
        if now.mono >= until {
            if wait.reread || now.mono >= self.deadline {
                return Err(Error::Behind { block: floor });
            }
            wait.reread = true;
            // Its failure tells nothing new: nobody is known to hold the block.
            let _ = self.fetch_head().await;
            wait.fetched = true;
            return Ok(());
        }
        if self.inner.reads.heads() != wait.heads {
            return Ok(());
        }
        tokio::select! {
            biased;
            () = moved => {}
            () = tokio::time::sleep_until(until.into()) => {}
        }
        Ok(())
    }
}

impl Call<'_> {
    /// Whether somebody may serve the call once it has the block.
    fn may_be_served(&self) -> bool {
        let state = self.inner.lock();
        let method = self.request.method;
        let allowed = state.router.allowed(method);
        let reader = Reader::new(self.request.descriptor, method, allowed.as_ref());
        state.router.may_serve(&reader, self.inner.now())
    }

    /// Nobody served what the caller has seen; true where its floor came down by that (P-8).
    fn unserved(&self) -> bool {
        let now = self.inner.now();
        let mut state = self.inner.lock();
        let reference = look::reference(&state, now);
        let stale = state.router.stale();
        let falls = &self.inner.reads.falls;
        let Some(dropped) = self.viewers.unserved(reference, stale, falls, now.mono) else {
            return false;
        };
        state.router.events().push(|| Event::Reorg {
            fork: dropped.to,
            dropped: dropped.from - dropped.to,
            floor: true,
        });
        self.inner.tell(state);
        true
    }
}

/// How long a call has waited for its floor.
#[derive(Debug, Default)]
struct Wait {
    until: Option<Instant>,
    /// [`Reads::heads`] before the last look.
    heads: u64,
    /// A head was read for the call.
    fetched: bool,
    /// Heads were read once more at the end of the wait.
    reread: bool,
}

impl Wait {
    const fn began(&self) -> bool {
        self.until.is_some() || self.fetched
    }
}

/// An answer that is a block number.
fn number(block: u64, endpoint: Arc<str>, attempts: u16, origin: Origin) -> Answer {
    let text = format!("\"{block:#x}\"");
    Answer {
        span: 0..text.len(),
        body: Bytes::from(text),
        is_error: false,
        endpoint,
        attempts,
        transaction: None,
        origin,
        block: Some(block),
    }
}
