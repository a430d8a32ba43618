//! Calls that send raw transactions.

use super::{Ask, Call, Next, Node, Outcome, Shown};
use crate::{Error, inner::State, judge::Judged};
use highwater_core::{
    AttemptId, EndpointId, Now,
    call::write::{Echo, Form, is_receipt, matches},
    jsonrpc::Params,
    method::lookup,
};
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

impl Call<'_> {
    /// Asks an endpoint for the transaction or its receipt.
    pub(super) fn look(
        &mut self,
        state: &State,
        endpoint: EndpointId,
        attempt: AttemptId,
        timeout: Duration,
        method: &'static str,
    ) -> Next {
        if let Some(submission) = &mut self.submission {
            submission.looking = Some((attempt, method));
        }
        if endpoint == EndpointId::GONE {
            return Next::Gone(attempt);
        }
        let node = Arc::clone(state.node(endpoint));
        self.sent.push((attempt, Arc::clone(&node)));
        Next::Look(node, attempt, timeout, method)
    }

    /// The question after the transaction.
    pub(super) fn question(&self, method: &'static str) -> Ask {
        let hash = self.submission.as_ref().map(|sent| sent.hash.to_string());
        let params = format!("[\"{}\"]", hash.unwrap_or_default());
        let id = self.inner.next_id();
        Ask::new(id, lookup(method), method, Params::Array(&params))
    }

    /// An attempt to send it ended, or a look at what was sent.
    pub(super) fn on_submitted(
        &mut self,
        state: &mut State,
        attempt: AttemptId,
        judged: Judged,
        now: Now,
    ) {
        let Some(submission) = &mut self.submission else {
            return;
        };
        let (hash, form) = (submission.hash, submission.form);
        let looking = submission
            .looking
            .take_if(|(looking, _)| *looking == attempt);
        let Judged { settled, shown, .. } = judged;
        let text = shown.as_ref().filter(|shown| !shown.is_error);
        let text = text.and_then(|shown| shown.body.get(shown.span.clone()));
        let text = text.and_then(|bytes| std::str::from_utf8(bytes).ok());
        if let Some((_, method)) = looking {
            let ours = text.is_some_and(|text| match method {
                "eth_getTransactionReceipt" => is_receipt(text, hash),
                _ => matches(text, hash),
            });
            if ours {
                self.kept.extend(shown.map(|shown| (attempt, shown)));
            }
            self.machine
                .on_lookup(&mut state.router, attempt, &settled, ours, now);
            return;
        }
        let echo = text.map_or(Echo::Nothing, |text| Echo::of(form, text, hash));
        if echo == Echo::Other
            && form == Form::Hash
            && let Some(node) = self.node(attempt)
        {
            tracing::warn!(endpoint = %node.label, "the hash of a transaction is not that of its bytes");
        }
        self.kept.extend(shown.map(|shown| (attempt, shown)));
        if state.sent.forwarded.by_another(hash, now.mono) {
            self.machine.note_resent();
        }
        self.machine
            .on_sent(&mut state.router, attempt, &settled, echo, now);
    }

    /// The call is over, or its caller has left: what was sent is remembered.
    pub(super) fn remember(&mut self) {
        let Some(submission) = self.submission.as_deref() else {
            return;
        };
        let (hash, sent) = (submission.hash, self.machine.may_have_sent());
        let seen = self.machine.seen_by().iter();
        let seen: Vec<u64> = seen
            .filter_map(|attempt| Some(self.node(*attempt)?.number))
            .collect();
        // Outside the lock: it takes a while.
        let account = (!seen.is_empty()).then(|| submission.account()).flatten();
        let now = self.inner.now().mono;
        let mut state = self.inner.lock();
        state.sent.forwarded.end(hash, sent, now);
        if let Some((account, nonce)) = account {
            state.sent.senders.sent(account, nonce, hash, seen, now);
            self.inner.has_sent.store(true, Ordering::Relaxed);
        }
    }

    /// The end of a call whose answer no endpoint gave.
    pub(super) fn of_submission(&mut self, outcome: Outcome) -> Option<(Arc<Node>, Shown)> {
        let submission = self.submission.as_deref()?;
        let shown = match outcome {
            Outcome::Sent => submission.hash_answer(),
            _ => submission.late_answer(),
        };
        let seen = self.machine.seen_by().first();
        let node = seen.and_then(|attempt| self.node(*attempt));
        let node = node.or_else(|| self.sent.last().map(|(_, node)| node))?;
        Some((Arc::clone(node), shown))
    }

    /// Nobody knows whether it was accepted.
    pub(super) fn ambiguous(&mut self, attempt: Option<AttemptId>) -> Error {
        let said = attempt.and_then(|attempt| self.shown(attempt));
        let attempts = self.attempts();
        match self.submission.as_deref() {
            Some(submission) => submission.ambiguous(said.map(|(_, shown)| shown), attempts),
            None => Error::AllEndpointsFailed { attempts },
        }
    }
}
