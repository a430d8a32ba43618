//! One body there and back.

use super::{Group, Item, item::aside};
use crate::{
    inner::Inner,
    judge::{Judged, Meanings, judge, judge_failure, judge_part},
    node::Node,
    upstream::{RawReply, Repeat, SendError, SendErrorKind},
};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use highwater_core::{
    EndpointId, Now,
    call::{Delivery, Settled},
    classify::Class,
    jsonrpc::{BatchReply, span_of, split_batch_reply, write_batch},
    router::Router,
};
use std::{
    future::poll_fn,
    sync::{Arc, Weak},
    task::Poll,
    time::Duration,
};
use tokio::time::Instant;

/// Most calls that are sent alone at once after their batch was refused.
const ALONE: usize = 16;

/// Sends a group and gives every call its part of the answer. Ends early when no call waits for it.
pub(super) async fn exchange(pool: &Weak<Inner>, group: Group) {
    let Some(inner) = pool.upgrade() else {
        return;
    };
    let meanings = Arc::clone(&inner.meanings);
    drop(inner);
    let Group {
        node,
        limit,
        mut items,
        ..
    } = group;
    items.retain(|item| !item.reply.is_closed());
    let trip = Exchange {
        pool,
        node: &node,
        meanings: &meanings,
    };
    while !items.is_empty() {
        let rest = items.split_off(items.len().min(limit.max(1)));
        trip.send(items).await;
        items = rest;
    }
}

struct Exchange<'a> {
    pool: &'a Weak<Inner>,
    node: &'a Arc<Node>,
    meanings: &'a Meanings,
}

impl Exchange<'_> {
    async fn send(&self, mut items: Vec<Item>) {
        if let [_] = items.as_slice() {
            if let Some(item) = items.pop() {
                self.send_first(item).await;
            }
            return;
        }
        for (place, item) in items.iter().enumerate() {
            item.trip.begin(place != 0);
        }
        let mut body = Vec::new();
        let messages: Vec<_> = items.iter().map(|item| item.ask.message()).collect();
        write_batch(&mut body, messages.iter().map(AsRef::as_ref));
        let sent = self.post(&mut items, Bytes::from(body)).await;
        match sent {
            None => {}
            Some(Ok(raw)) => self.deal(items, raw).await,
            Some(Err(error)) if error.kind == SendErrorKind::TooLarge => self.refused(items).await,
            Some(Err(error)) => fail(items, || judge_failure(error)),
        }
    }

    /// Posts a body for as long as one of the calls has time and waits; `None`: none does.
    async fn post(&self, items: &mut [Item], body: Bytes) -> Option<Result<RawReply, SendError>> {
        let last = items.iter().map(|item| item.end).max()?;
        let timeout = left(last)?;
        let nobody = poll_fn(|context| {
            // All are asked, so that each wakes this task.
            let mut waiting = false;
            for item in items.iter_mut() {
                waiting |= item.reply.poll_closed(context).is_pending();
            }
            if waiting {
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        });
        tokio::select! {
            biased;
            sent = self.node.wired.send(body, timeout, Repeat::Elsewhere) => Some(sent),
            () = nobody => None,
        }
    }

    /// Gives each call its part.
    async fn deal(&self, items: Vec<Item>, raw: RawReply) {
        let ids: Vec<_> = items.iter().map(|item| item.ask.id()).collect();
        let split = split_batch_reply(&raw.body, &ids);
        match split {
            Ok(BatchReply::Each(parts)) => {
                self.learn(|router, endpoint, now| router.on_batch_taken(endpoint, ids.len(), now));
                let part = |part: &str| {
                    let span = span_of(&raw.body, part);
                    raw.body
                        .slice(span.expect("invariant: a part borrows from its body"))
                };
                let mut missing = Vec::new();
                // One body refused by rate is one strike, in however many elements it says so.
                let mut limited = false;
                for (item, own) in items.into_iter().zip(parts) {
                    match own {
                        Some(own) => {
                            let body = part(own);
                            let judged = judge_part(
                                raw.status,
                                &raw.headers,
                                body,
                                &item.ask,
                                self.node,
                                self.meanings,
                            );
                            let again =
                                is_limited(&judged) && std::mem::replace(&mut limited, true);
                            item.answer(if again { aside(judged) } else { judged });
                        }
                        None => missing.push(item),
                    }
                }
                self.alone(missing).await;
            }
            Ok(BatchReply::Refused(_)) => {
                if self.is_about_the_endpoint(&items, &raw) {
                    self.fail_with(items, &raw);
                } else {
                    self.refused(items).await;
                }
            }
            Err(_) if is_refusal(raw.status) => self.refused(items).await,
            Err(_) => self.fail_with(items, &raw),
        }
    }

    /// Whether the error of a whole body would meet a single call too.
    fn is_about_the_endpoint(&self, items: &[Item], raw: &RawReply) -> bool {
        let Some(first) = items.first() else {
            return false;
        };
        let judged = judge(raw.clone(), &first.ask, self.node, self.meanings);
        let (Settled::Terminal { verdict, .. } | Settled::Failed { verdict, .. }) = judged.settled
        else {
            return false;
        };
        matches!(
            verdict.class,
            Class::RateLimited
                | Class::QuotaExhausted
                | Class::Unauthorized
                | Class::Overloaded
                | Class::Syncing
                | Class::WrongChain
        )
    }

    /// The whole body failed: each call moves on, the first one tells the endpoint's books.
    fn fail_with(&self, items: Vec<Item>, raw: &RawReply) {
        let mut items = items.into_iter();
        if let Some(first) = items.next() {
            let judged = judge(raw.clone(), &first.ask, self.node, self.meanings);
            first.answer(judged);
        }
        for item in items {
            let judged = judge(raw.clone(), &item.ask, self.node, self.meanings);
            item.answer(aside(judged));
        }
    }

    /// The endpoint does not take so many calls at once: that is remembered, and each goes alone.
    async fn refused(&self, items: Vec<Item>) {
        let calls = items.len();
        self.learn(|router, endpoint, now| router.on_batch_refused(endpoint, calls, now));
        tracing::debug!(endpoint = %self.node.label, calls, "a batch was refused; its calls go alone");
        self.alone(items).await;
    }

    /// Each call goes alone, for a token of its own.
    async fn alone(&self, items: Vec<Item>) {
        let each = items.into_iter().map(|item| async move {
            let begun = self.learn(|router, endpoint, now| {
                router.begin_aside(endpoint, item.ask.question().row, now)
            });
            item.trip.begin(false);
            if begun == Some(true) {
                self.send_one(item).await;
            } else {
                let unsent = SendError {
                    kind: SendErrorKind::Reset,
                    delivery: Delivery::NotSent,
                };
                item.answer(aside(judge_failure(unsent)));
            }
        });
        stream::iter(each)
            .for_each_concurrent(ALONE, |one| one)
            .await;
    }

    async fn send_first(&self, item: Item) {
        item.trip.begin(false);
        self.send_one(item).await;
    }

    async fn send_one(&self, item: Item) {
        let message = item.ask.message();
        let mut items = [item];
        let sent = self.post(&mut items, message).await;
        let [item] = items;
        match sent {
            None => {}
            Some(Ok(raw)) => {
                let judged = judge(raw, &item.ask, self.node, self.meanings);
                item.answer(judged);
            }
            Some(Err(error)) => item.answer(judge_failure(error)),
        }
    }

    fn learn<T>(&self, what: impl FnOnce(&mut Router, EndpointId, Now) -> T) -> Option<T> {
        let inner = self.pool.upgrade()?;
        let now = inner.now();
        let mut state = inner.lock();
        let endpoint = state.place(self.node)?;
        Some(what(&mut state.router, endpoint, now))
    }
}

/// All fail in the same way; one of them tells of it.
fn fail(items: Vec<Item>, judged: impl Fn() -> Judged) {
    for (place, item) in items.into_iter().enumerate() {
        let judged = judged();
        item.answer(if place == 0 { judged } else { aside(judged) });
    }
}

fn is_limited(judged: &Judged) -> bool {
    matches!(&judged.settled, Settled::Failed { verdict, .. } if verdict.class == Class::RateLimited)
}

/// A status with which servers refuse arrays, whatever their words.
const fn is_refusal(status: u16) -> bool {
    matches!(status, 400 | 404 | 405 | 413 | 415 | 422 | 501)
}

fn left(end: Instant) -> Option<Duration> {
    let left = end.saturating_duration_since(Instant::now());
    (!left.is_zero()).then_some(left)
}
