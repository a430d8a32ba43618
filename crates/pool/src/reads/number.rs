//! The newest block: `eth_blockNumber` (P-5), and a head that is read for a call (P-2).

use super::{
    Call,
    look::{self, Go},
    viewer::Bound,
    wait::Wait,
};
use crate::{Answer, CallOptions, Error, Request, answer::Origin, driver::Urgent};
use bytes::Bytes;
use highwater_core::{
    jsonrpc::Params,
    learn::Need,
    method::{find, lookup},
    pin::{self, BlockNumber},
    router::Reader,
};
use std::{fmt::Write, sync::Arc};

impl Call<'_> {
    /// Reads a head, together with everybody who needs one now (P-2).
    pub(super) async fn fetch_head(&self) -> Result<Answer, Error> {
        let row = lookup("eth_blockNumber");
        let request = Request {
            method: row.name,
            descriptor: row,
            params: Params::Array("[]"),
        };
        let found = find(row, "[]");
        let (sent, coalesce, floor) = {
            let state = self.inner.lock();
            let now = self.inner.now();
            let believed = state.router.highest_believed(now);
            let floor = self
                .viewers
                .floor(believed, &self.inner.reads.falls, now.mono);
            let sent = look::Sent {
                at: now.mono,
                since: state.sight.recent.mark(),
                lowest_head: None,
                all_hold: false,
                puts: self.inner.reads.store.puts(),
            };
            (sent, state.router.settings().reads.coalesce, floor)
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
            urgent: Some(Urgent { floor }),
        };
        let answer = Box::pin(call.go(go)).await?;
        if answer.origin == Origin::Endpoint {
            self.inner.hear_second_voice();
        }
        Ok(answer)
    }

    /// `eth_blockNumber`: what a pinned read would use (P-5).
    pub(super) async fn block_number(&mut self) -> Result<Answer, Error> {
        let row = self.request.descriptor;
        let mut wait = Wait::default();
        loop {
            wait.heads = self.inner.reads.heads();
            let now = self.inner.now();
            let falls = &self.inner.reads.falls;
            let (decided, bound, wake) = {
                let mut state = self.inner.lock();
                let wake = !wait.began() && state.router.on_look(now);
                let bound = Bound::of(&state.router, now);
                let floor = self.viewers.floor(bound.believed(), falls, now.mono);
                let cache = self.inner.cache_settings(&state.router);
                let state = &mut *state;
                let pinning = state.sight.pinning(&state.router);
                let local = state.sight.policy().is_some_and(|policy| policy.is_local());
                let router = &state.router;
                let settings = router.settings();
                let allowed = router.allowed(self.request.method);
                let reader = Reader::new(row, self.request.method, allowed.as_ref());
                let numbers = pinning.unwrap_or_default();
                let max_age = cache.map(|cache| cache.max_age).filter(|_| !local);
                let decided = if settings.heads.is_none() {
                    BlockNumber::Upstream
                } else {
                    router.block_number(&reader, floor, pinning.is_some(), max_age, &numbers, now)
                };
                (decided, bound, wake)
            };
            if wake {
                self.inner.wake_probes();
            }
            match decided {
                BlockNumber::Here(block) => {
                    self.viewers.raise(block, bound, falls);
                    let tally = &self.inner.reads.tally;
                    tally.avoided(&tally.local, self.request.descriptor);
                    let nobody = Arc::clone(&self.inner.reads.nothing);
                    return Ok(number(block, nobody, 0, Origin::Heads));
                }
                BlockNumber::Behind { floor } => Box::pin(self.wait_for(floor, &mut wait)).await?,
                BlockNumber::Upstream => {
                    let answer = Box::pin(self.fetch_head()).await?;
                    match self.lowered(&answer) {
                        None => return Ok(answer),
                        Some(Ok(block)) => {
                            let now = self.inner.now();
                            let bound = Bound::of(&self.inner.lock().router, now);
                            self.viewers.raise(block, bound, falls);
                            return Ok(number(
                                block,
                                answer.endpoint,
                                answer.attempts,
                                answer.origin,
                            ));
                        }
                        Some(Err(floor)) => Box::pin(self.wait_for(floor, &mut wait)).await?,
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
        let mut guard = self.inner.lock();
        let state = &mut *guard;
        let pinning = state.sight.pinning(&state.router);
        let believed = state.router.highest_believed(now);
        let floor = self
            .viewers
            .floor(believed, &self.inner.reads.falls, now.mono);
        let router = &state.router;
        let Some(pinning) = pinning else {
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
}

/// An answer that is a block number.
fn number(block: u64, endpoint: Arc<str>, attempts: u16, origin: Origin) -> Answer {
    let mut text = String::with_capacity("\"0x\"".len() + 16);
    let _ = write!(text, "\"{block:#x}\"");
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
