//! Logs: answered from the index, fetched where something is missing, in parts where a range is too wide
//! for everybody (P-21 to P-24).
//!
//! | file | what it holds |
//! |---|---|
//! | here | what the room keeps, and the way of one query |
//! | `indexed` | what the index has, and what is put into it |
//! | `gather` | the requests of one query, until every block of its range is there |
//! | `part` | one of them, and what an error says of its size |
//! | `merge` | the answers as one |
//!
//! Only `eth_getLogs` comes here. A query that is wholly answered by one endpoint keeps that endpoint's
//! bytes; whatever comes from the index or in parts has the bytes of each log.

mod gather;
mod indexed;
mod merge;
mod part;

pub(super) use indexed::Served;

use super::{Call, look::Go};
use crate::{Answer, Attempt, Error, answer::Origin, inner::State};
use bytes::Bytes;
use highwater_core::{
    Now,
    answer::Hash,
    cache::CacheSettings,
    classify::Class,
    heads::Holds,
    logs::{Caps, LogSettings, Part, Shelf, count, is_beyond_numbers},
    method::Block,
    router::{Reader, Router},
    settings::Settings,
};
use parking_lot::Mutex;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

/// How often a query begins anew because its pieces turned out to be of different chains.
const TRIES: usize = 3;

/// The part of the cache's bytes that indexes may take.
const SHARE: u64 = 4;

/// What the node of the specification says of a range that ends above its head.
const BEYOND: &str = r#"{"code":-32602,"message":"block range extends beyond current head block"}"#;

/// What is kept for log queries.
pub(super) struct Room {
    on: AtomicBool,
    /// Taken under the pool's lock.
    shelf: Mutex<Shelf>,
    caps: Mutex<Caps>,
}

impl Room {
    pub(super) fn new() -> Self {
        Self {
            on: AtomicBool::new(false),
            shelf: Mutex::default(),
            caps: Mutex::default(),
        }
    }

    pub(super) fn set(&self, settings: &Settings) {
        self.on.store(settings.reads.logs.is_some(), Relaxed);
    }

    /// Whether log queries come here.
    pub(super) fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    /// Bytes of all indexes.
    pub(super) fn bytes(&self) -> u64 {
        self.shelf.lock().bytes()
    }

    /// How many filters have an index.
    pub(super) fn filters(&self) -> u64 {
        self.shelf.lock().len() as u64
    }
}

/// What of the cache is left for answers, beside the indexes: both count against its bytes (P-21).
pub(super) fn beside(settings: &Settings) -> Option<CacheSettings> {
    let cache = settings.reads.cache?;
    let shares = settings.reads.logs.is_some_and(|logs| logs.window > 0);
    let taken = if shares { cache.bytes / SHARE } else { 0 };
    Some(CacheSettings {
        bytes: cache.bytes - taken,
        ..cache
    })
}

/// The numbers of log queries; `None`: they are reads like any other.
fn settings(router: &Router) -> Option<LogSettings> {
    router.settings().reads.logs
}

impl Call<'_> {
    /// Whether this is a log query that the room answers.
    pub(super) fn is_logs(&self) -> bool {
        self.request.method == "eth_getLogs" && self.inner.reads.logs.is_on()
    }

    /// Makes a log query. An end above every head is said as the specification says it: nobody who
    /// answered holds it (P-24).
    pub(super) async fn log_query(&mut self) -> Result<Answer, Error> {
        if is_beyond_numbers(self.params) {
            return Ok(self.beyond(0));
        }
        let error = match self.read(None).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let is_behind = |attempts: &[Attempt]| {
            let mut all = attempts.iter();
            all.any(|attempt| attempt.class == Class::Behind)
        };
        let attempts = match &error {
            Error::AllEndpointsFailed { attempts } | Error::DeadlineExceeded { attempts }
                if is_behind(attempts) =>
            {
                attempts.len()
            }
            Error::Behind { .. } => 0,
            _ => return Err(error),
        };
        let asked = self.found.reference(None);
        let above = asked.high.max(asked.low).is_some_and(|end| {
            let state = self.inner.lock();
            let head = state.router.reference_head(self.inner.now());
            head.is_none_or(|head| end > head)
        });
        if !above {
            return Err(error);
        }
        Ok(self.beyond(u16::try_from(attempts).unwrap_or(u16::MAX)))
    }

    /// That a range ends above every head.
    fn beyond(&self, attempts: u16) -> Answer {
        Answer {
            body: Bytes::from_static(BEYOND.as_bytes()),
            span: 0..BEYOND.len(),
            is_error: true,
            endpoint: Arc::clone(&self.inner.reads.nothing),
            attempts,
            transaction: None,
            origin: Origin::Heads,
            block: None,
        }
    }

    /// Answers a log query whose newest block is known.
    pub(super) async fn logs(&self, go: Go) -> Result<Answer, Error> {
        if let Some(hash) = self.named_hash() {
            return self.logs_by_hash(go, hash).await;
        }
        let range = match self.found.bounds(go.pin) {
            Some((from, Some(to))) if from <= to => Part { from, to },
            // Tags, and what is turned round: for the endpoints to say.
            Some(_) | None => return self.go(go).await,
        };
        let mut go = go;
        let binds = go.pin.is_none() && self.binds(range.to).await;
        if binds {
            go.pin = Some(range.to);
        }
        let mut remembers = true;
        for _ in 0..TRIES {
            match self.gather(&go, range, remembers).await {
                Ok(Some(answer)) => {
                    if go.pin.is_none() && self.is_short(&answer, range.to) {
                        return Err(Error::Behind { block: range.to });
                    }
                    return Ok(answer);
                }
                Ok(None) => remembers = false,
                // Who holds it cannot be asked now: another one may have got there.
                Err(Error::NoEndpoint) if binds => go.pin = None,
                Err(error) => return Err(error),
            }
        }
        // Whatever is asked, the chain is another one by then.
        Err(Error::Behind { block: range.to })
    }

    /// Whether somebody is known to hold the end of a range, so that nobody else need be asked; a head is
    /// read where nobody is (P-24).
    async fn binds(&self, end: u64) -> bool {
        match self.held(end) {
            Some(true) => true,
            None => false,
            Some(false) => {
                // Its failure tells nothing new.
                let _ = Box::pin(self.fetch_head()).await;
                self.held(end) == Some(true)
            }
        }
    }

    /// `None`: no head is known.
    fn held(&self, end: u64) -> Option<bool> {
        let now = self.inner.now();
        let state = self.inner.lock();
        state.router.reference_head(now)?;
        let method = self.request.method;
        let allowed = state.router.allowed(method);
        let reader = Reader::new(self.request.descriptor, method, allowed.as_ref());
        Some(state.router.one_holds(&reader, end, now))
    }

    /// Whether a list may have been cut at a head: whoever gave it is not known to be at the end, and the
    /// list does not get there (P-24).
    fn is_short(&self, answer: &Answer, end: u64) -> bool {
        if answer.is_error() || answer.block == Some(end) {
            return false;
        }
        let now = self.inner.now();
        let state = self.inner.lock();
        if state.router.reference_head(now).is_none() {
            return false;
        }
        let endpoint = state.labelled(&answer.endpoint);
        endpoint.is_none_or(|endpoint| state.router.holds(endpoint, end, now) != Holds::Yes)
    }

    fn named_hash(&self) -> Option<Hash> {
        self.found.slots().iter().find_map(|slot| match slot.block {
            Block::Hash(hash) => Some(hash),
            Block::Omitted
            | Block::Null
            | Block::Tag(_)
            | Block::Number(_)
            | Block::JsonNumber(_) => None,
        })
    }

    /// The logs of one block by its hash. Some nodes answer an empty list for a block that they have
    /// never seen: another one is asked before that is believed (rule `suspect`, L16).
    async fn logs_by_hash(&self, go: Go, hash: Hash) -> Result<Answer, Error> {
        let mut first = self.go(go.clone()).await?;
        let is_empty = |answer: &Answer| {
            answer
                .result()
                .is_some_and(|result| count(result) == Some(0))
        };
        let believed = !is_empty(&first)
            || first.origin == Origin::Cache
            || self.vouches(&first.endpoint, &hash);
        if believed {
            return Ok(first);
        }
        let again = Call {
            avoid: Some(Arc::clone(&first.endpoint)),
            options: self.options.clone(),
            ..*self
        };
        match again.go(go).await {
            // Nobody else can say.
            Err(_) => Ok(first),
            Ok(mut second) => {
                second.attempts = second.attempts.saturating_add(first.attempts);
                // Who has not seen the block, or has no answer, does not make the list true or false.
                if second.is_error() && !self.is_unknown(&second) {
                    first.attempts = second.attempts;
                    return Ok(first);
                }
                Ok(second)
            }
        }
    }

    /// Whether an endpoint holds the block with a hash, as far as that is known, or nobody else may be
    /// asked.
    fn vouches(&self, label: &str, hash: &Hash) -> bool {
        let now = self.inner.now();
        let state = self.inner.lock();
        let method = self.request.method;
        let allowed = state.router.allowed(method);
        let reader = Reader::new(self.request.descriptor, method, allowed.as_ref());
        if state.router.servers_of(&reader, now) < 2 {
            return true;
        }
        holds_hash(&state, label, hash, now)
    }
}

/// Whether an endpoint's head reaches a block that is on the chain, and it is on no other branch.
fn holds_hash(state: &State, label: &str, hash: &Hash, now: Now) -> bool {
    let recent = &state.sight.recent;
    let Some(endpoint) = state.labelled(label) else {
        return false;
    };
    let voice = state.router.voice(endpoint);
    if voice.is_some_and(|voice| recent.is_rival(voice, now.mono)) {
        return false;
    }
    recent
        .number_of(hash)
        .is_some_and(|number| state.router.holds(endpoint, number, now) == Holds::Yes)
}
