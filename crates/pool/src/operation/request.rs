//! One request of a run: once, to its endpoint, by itself.

use super::{context::Context, error::PinnedFault, sending::Sending};
use crate::{
    Attempt,
    alloy::{failure, is_subscription, params, success},
    ask::{Ask, Known},
    attempt::exchange,
    check::check,
    driver::{FAR, text},
    judge::{Judged, Shown},
    under_way::UnderWay,
    upstream::Repeat,
};
use alloy_json_rpc::{ErrorPayload, Response, SerializedRequest};
use alloy_transport::{TransportError, TransportErrorKind};
use highwater_core::{
    AttemptId,
    answer::Named,
    call::{Plan, Settled},
    classify::{Class, Verdict},
    floor,
    jsonrpc::Params,
    judge::{of_class, quantity},
    learn::Need,
    method::{Rewritten, find, lookup},
    router::{Identity, Ticket},
};
use std::{sync::Arc, time::Duration};

impl Context {
    /// Sends one request of alloy's.
    ///
    /// Cancellation: dropping the future gives the request up; it then teaches nothing.
    pub(super) async fn send(
        &self,
        request: &SerializedRequest,
    ) -> Result<Response, TransportError> {
        if is_subscription(request) {
            return Err(TransportErrorKind::pubsub_unavailable());
        }
        let (method, written) = (request.method(), params(request));
        let row = lookup(method);
        let id = || request.id().clone();
        if row.is_read()
            && let Some(block) = self.block().await?
        {
            if row.name == "eth_blockNumber" {
                return success(id(), &format!("\"{block:#x}\""));
            }
            let mut pinned = String::new();
            let rewritten = find(row, text(written)).rewrite(text(written), block, &mut pinned);
            if rewritten == Rewritten::Pinned {
                let judged = self.ask(method, Params::Array(&pinned)).await?;
                return self.response(id(), &judged);
            }
        }
        let judged = self.ask(method, written).await?;
        self.response(id(), &judged)
    }

    /// Asks the endpoint for its newest block.
    pub(super) async fn newest(&self) -> Result<u64, TransportError> {
        let judged = self.ask("eth_blockNumber", Params::Array("[]")).await?;
        let result = match (&judged.settled, &judged.shown) {
            (Settled::Result { .. }, Some(shown)) => quantity(shown_text(shown)),
            _ => None,
        };
        result.ok_or_else(|| self.failed(&of_class(Class::MalformedEnvelope, Some("head")), None))
    }

    /// One exchange, from its token to its judged end; an error where nothing was sent.
    async fn ask(&self, method: &str, params: Params<'_>) -> Result<Judged, TransportError> {
        self.verify().await?;
        let row = lookup(method);
        let (ticket, ask, meanings) = self.begin(method, params).await?;
        let under_way = UnderWay::new(self.pool.clone(), ticket);
        let mut sending = Sending::begin(&self.pool, &self.node, row, params);
        let repeat = if row.is_read() {
            Repeat::Elsewhere
        } else {
            Repeat::Never
        };
        let judged = exchange(&meanings, &self.node, &ask, self.timeout, repeat).await;
        under_way.settle(&judged.settled);
        if let Some(sending) = &mut sending {
            sending.on_end(&judged);
        }
        self.see(method, params, &judged);
        Ok(judged)
    }

    /// Notes the block that an answer shows (P-9).
    fn see(&self, method: &str, params: Params<'_>, judged: &Judged) {
        let (Settled::Result { .. }, Some(shown), Some(pool)) =
            (&judged.settled, &judged.shown, self.pool.upgrade())
        else {
            return;
        };
        let row = lookup(method);
        let result = shown_text(shown);
        let block = if row.name == "eth_blockNumber" {
            quantity(result)
        } else {
            floor::seen(&find(row, text(params)), &Named::read(row, result), None)
        };
        if let Some(block) = block {
            let now = pool.now();
            let state = pool.lock();
            pool.on_seen(&state.router, block, now);
        }
    }

    /// The chain is checked before the first request, and after a reconnect.
    async fn verify(&self) -> Result<(), TransportError> {
        for checked in [false, true] {
            let pool = self.pool()?;
            let identity = {
                let state = pool.lock();
                let place = self.place(&state);
                place.map(|place| state.router.identity(place))
            };
            match identity {
                None => return Err(self.stopped()),
                Some(Identity::Verified) => return Ok(()),
                Some(Identity::Quarantined { .. }) => {
                    let verdict = of_class(Class::WrongChain, None);
                    let attempt = self.attempt(&verdict, None);
                    return Err(self.fail(PinnedFault::WrongChain, attempt));
                }
                Some(Identity::Unchecked) if checked => break,
                Some(Identity::Unchecked) => {}
            }
            drop(pool);
            if let Some(verdict) = Box::pin(check(&self.pool, &self.node, self.timeout)).await {
                return Err(self.failed(&verdict, None));
            }
        }
        Err(self.failed(&of_class(Class::Syncing, None), None))
    }

    /// Spends a token, waiting for it as long as a call would.
    async fn begin(
        &self,
        method: &str,
        params: Params<'_>,
    ) -> Result<(Ticket, Ask, Arc<crate::judge::Meanings>), TransportError> {
        let row = lookup(method);
        let mut waited = Duration::ZERO;
        loop {
            let wait = {
                let pool = self.pool()?;
                let now = pool.now();
                let mut state = pool.lock();
                let Some(place) = self.place(&state) else {
                    return Err(self.stopped());
                };
                let timeout = self.timeout.min(FAR);
                let mut plan = Plan::new(row, method, now.mono + timeout, timeout);
                plan.need = Need::of_call(row, text(params));
                let attempt = AttemptId(self.count());
                let router = &mut state.router;
                match router.begin_pinned(place, attempt, &plan, now) {
                    Ok(ticket) => {
                        let known = Known {
                            head: router.reference_head(now),
                            chain: router.chain(),
                        };
                        let ask = Ask::new(pool.next_id(), row, method, params);
                        pool.tell(state);
                        return Ok((ticket, ask.knowing(known), Arc::clone(&pool.meanings)));
                    }
                    Err(wait) => {
                        let most = router.settings().retry.max_wait;
                        if waited.saturating_add(wait) > most {
                            let verdict = of_class(Class::RateLimited, Some("budget"));
                            let attempt = self.attempt(&verdict, None);
                            return Err(self.fail(PinnedFault::BudgetExhausted { wait }, attempt));
                        }
                        wait
                    }
                }
            };
            waited = waited.saturating_add(wait);
            tokio::time::sleep(wait).await;
        }
    }

    /// What a judged answer is for the closure: the endpoint's own words where it has some.
    fn response(
        &self,
        id: alloy_json_rpc::Id,
        judged: &Judged,
    ) -> Result<Response, TransportError> {
        match (&judged.settled, &judged.shown) {
            (Settled::Result { .. }, Some(shown)) => {
                self.on_answer();
                success(id, shown_text(shown))
            }
            (Settled::Terminal { .. }, Some(shown)) => {
                self.on_answer();
                failure(id, shown_text(shown))
            }
            (Settled::Failed { verdict, .. }, Some(shown)) if shown.is_error => {
                let text = shown_text(shown);
                if let Ok(own) = serde_json::from_str::<ErrorPayload>(text) {
                    let attempt = self.attempt(verdict, judged.status);
                    self.memory.keep_response(own.code, &own.message, attempt);
                }
                failure(id, text)
            }
            (Settled::Failed { verdict, .. } | Settled::Terminal { verdict, .. }, _) => {
                Err(self.failed(verdict, judged.status))
            }
            (Settled::Result { .. }, None) => {
                Err(self.failed(&of_class(Class::MalformedEnvelope, None), judged.status))
            }
        }
    }

    fn failed(&self, verdict: &Verdict, status: Option<u16>) -> TransportError {
        let attempt = self.attempt(verdict, status);
        self.fail(PinnedFault::Failed(attempt.clone()), attempt)
    }

    /// The place is lost: another endpoint may have one.
    fn stopped(&self) -> TransportError {
        let verdict = of_class(Class::Overloaded, Some("ejected"));
        let attempt = self.attempt(&verdict, None);
        self.fail(PinnedFault::Stopped, attempt)
    }

    fn attempt(&self, verdict: &Verdict, status: Option<u16>) -> Attempt {
        Attempt {
            endpoint: self.label().to_owned(),
            class: verdict.class,
            detail: verdict.subclass,
            status,
            retry_after: verdict.retry_after,
        }
    }
}

fn shown_text(shown: &Shown) -> &str {
    let bytes = shown.body.get(shown.span.clone()).unwrap_or_default();
    std::str::from_utf8(bytes).unwrap_or_default()
}
