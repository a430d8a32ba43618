//! One request of reads, from its first attempt to what is kept of its answer.
//!
//! It owns what it needs, since it may outlive the caller that began it.

use super::{
    flights::News,
    level,
    look::Sent,
    store::{Entry, Key},
};
use crate::{
    Answer, CallOptions, Error, Request,
    answer::Origin,
    ask::Ask,
    driver::{Carried, Terms, Urgent, carry},
    inner::Inner,
};
use bytes::Bytes;
use highwater_core::{
    Now,
    answer::Named,
    cache::{self, Class, may_store},
    event::{CacheEnd, Event},
    floor,
    learn::Need,
    method::{EmptyIs, Found},
    router::{Reader, Router},
};
use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

/// A request that is ready to go.
pub(super) struct Job {
    pub(super) inner: Arc<Inner>,
    pub(super) ask: Ask,
    pub(super) options: CallOptions,
    pub(super) found: Found,
    /// The parameters as the caller wrote them, where they are compared with what comes back.
    pub(super) written: Option<Arc<str>>,
    pub(super) class: Class,
    pub(super) pin: Option<u64>,
    pub(super) need: Need,
    pub(super) least_head: Option<u64>,
    pub(super) avoid: Option<Arc<str>>,
    /// Where its answer would be kept.
    pub(super) store: Option<Key>,
    pub(super) sent: Sent,
    /// Many wait for it.
    pub(super) urgent: Option<Urgent>,
    /// The time, where it has just been looked at.
    pub(super) now: Option<Now>,
}

impl Job {
    /// Makes the request within this time, and learns from its answer.
    #[expect(
        clippy::manual_async_fn,
        reason = "an async function holds its arguments twice"
    )]
    pub(super) fn run(
        mut self,
        deadline: Duration,
        news: Option<Arc<News>>,
    ) -> impl Future<Output = Result<Answer, Error>> + Send {
        async move {
            if let Some(answer) = self.kept_since() {
                return Ok(answer);
            }
            if self.inner.reads.second.is_some() {
                // That takes a while.
                self.now = None;
                if let Some(answer) = Box::pin(self.kept_elsewhere()).await {
                    return Ok(answer);
                }
            }
            let avoid = self.avoid.take();
            let options = CallOptions {
                deadline: Some(deadline),
                ..std::mem::take(&mut self.options)
            };
            let question = self.ask.question();
            let request = Request {
                method: question.method,
                descriptor: question.row,
                params: question.params,
            };
            let terms = Terms {
                need: self.need,
                pinned: self.pin.is_some() && self.need.height.is_some(),
                least_head: self.least_head,
                avoid,
                urgent: self.urgent,
                news,
                now: self.now,
                ..Terms::default()
            };

            let Carried { mut answer, now } =
                carry(&self.inner, request, self.ask.clone(), options, terms).await?;
            self.learn(&mut answer, now);
            Ok(answer)
        }
    }

    /// The parameters as the caller wrote them, where that matters.
    pub(super) fn written(&self) -> &str {
        self.written.as_deref().unwrap_or_default()
    }

    /// What another caller's request left in memory after this one's had looked there: it ended before
    /// this one could join it.
    fn kept_since(&self) -> Option<Answer> {
        let store = &self.inner.reads.store;
        let key = self.store.as_ref().filter(|_| !self.options.bypass_cache)?;
        if store.puts() == self.sent.puts {
            return None;
        }
        let entry = store.get_owned(key)?;
        let fits = entry.stamp.at >= self.sent.at
            && entry.stamp.since == self.sent.since
            && self.class == Class::Moving
            && entry.stamp.height >= self.pin;
        fits.then(|| Answer {
            span: 0..entry.result.len(),
            body: entry.result,
            is_error: false,
            endpoint: entry.endpoint,
            attempts: 0,
            transaction: None,
            origin: Origin::Cache,
            block: entry.block,
        })
    }

    /// The newest head that its answer is held against.
    pub(super) fn newest_head(&self, router: &Router, now: Now) -> Option<u64> {
        // What it was pinned to is none of an endpoint's claims: at the head that the pool believes it
        // is told apart from nothing but an empty list (rule `suspect`).
        if let (Class::Moving, Some(pin)) = (self.class, self.pin)
            && self.found.row().empty_is != EmptyIs::Suspect
            && let Some(reference) = router.reference_head(now)
            && pin <= reference
        {
            return Some(reference);
        }
        let method = self.ask.question().method;
        let allowed = router.allowed(method);
        let reader = Reader::new(self.found.row(), method, allowed.as_ref());
        router.newest_head(&reader, now)
    }

    fn learn(&mut self, answer: &mut Answer, now: Now) {
        if answer.is_error() {
            if let Class::Never(_) = self.class {
            } else if self.store.is_some() {
                self.inner.reads.tally.refused(cache::Refusal::Error);
            }
            return;
        }
        let row = self.found.row();
        let result = answer.result().unwrap_or_default();
        let named = Named::read(row, result);
        let inner = &self.inner;
        let mut state = inner.lock();
        let place = state.labelled(&answer.endpoint);
        let state_ref = &mut *state;
        if let Some(endpoint) = place
            && named.parent.is_some()
        {
            let falls = &inner.reads.falls;
            let router = &mut state_ref.router;
            state_ref
                .sight
                .on_block(router, falls, endpoint, &self.found, &named, now);
        }
        let block = floor::seen(&self.found, &named, self.pin);
        let kept = self.store.is_some().then(|| {
            let router = &state_ref.router;
            let settings = inner.cache_settings(router);
            let policy = state_ref.sight.policy();
            let Some(policy) = policy else {
                return Err(cache::Refusal::NoStamp);
            };
            let voice = place.and_then(|endpoint| router.voice(endpoint));
            let recent = &state_ref.sight.recent;
            let told = cache::Answer {
                class: self.class,
                found: &self.found,
                params: self.written(),
                pin: self.pin,
                result: Some(result),
                named,
                lowest_head: self.sent.lowest_head,
                all_hold: self.sent.all_hold,
                rival: voice.is_some_and(|voice| recent.is_rival(voice, now.mono)),
                sign: None,
                at: self.sent.at,
                since: self.sent.since,
            };
            let head = self.newest_head(router, now);
            let view = state_ref.sight.at_head(head, settings, policy, now);
            may_store(&told, &view)
        });
        inner.tell(state);
        match (kept, self.store.take()) {
            (Some(Ok(stamp)), Some(key)) => {
                let entry = Entry {
                    stamp,
                    result: exact(answer),
                    endpoint: Arc::clone(&answer.endpoint),
                    block: block.or(stamp.height),
                };
                level::keep(inner, key.bytes(), &entry);
                if inner.reads.store.put(key, entry) {
                    inner.reads.tally.refreshes.fetch_add(1, Relaxed);
                    let mut state = inner.lock();
                    state.router.events().push(|| Event::Cache {
                        method: row.id,
                        end: CacheEnd::Refresh,
                        stale_blocks: None,
                    });
                    inner.tell(state);
                }
            }
            (Some(Err(why)), _) => inner.reads.tally.refused(why),
            (Some(Ok(_)), None) | (None, _) => {}
        }
        answer.block = block;
    }
}

/// The bytes of a result alone. A small one is copied once, here, since what it was cut from is a
/// connection's whole buffer; a large one keeps the buffer that it fills.
fn exact(answer: &Answer) -> Bytes {
    const LARGE: usize = 16 * 1024;
    if answer.span.len() < LARGE {
        Bytes::copy_from_slice(answer.bytes())
    } else {
        answer.body.slice(answer.span.clone())
    }
}
