//! A raw transaction of an operation, in the pool's memory of sends.

use crate::{inner::Inner, judge::Judged, node::Node, sends::Submission};
use highwater_core::{
    call::write::{Echo, Fate, Policy, Write},
    jsonrpc::Params,
    method::Descriptor,
};
use std::sync::{Arc, Weak, atomic::Ordering};

/// A raw transaction on its way to the endpoint of an operation. However its request ends, given up
/// too, the pool remembers it as one that a call sent: the same bytes that come again are met with that,
/// and the account is asked after where its transaction is.
pub(super) struct Sending {
    pool: Weak<Inner>,
    node: Arc<Node>,
    submission: Box<Submission>,
    write: Write,
    fate: Fate,
}

impl Sending {
    /// `None` where a request sends no raw transaction. Until it ends, nobody knows its fate.
    pub(super) fn begin(
        pool: &Weak<Inner>,
        node: &Arc<Node>,
        row: &Descriptor,
        params: Params<'_>,
    ) -> Option<Self> {
        let inner = pool.upgrade()?;
        let submission = Submission::of(row, params)?;
        let write = Write::new(row, params, Policy::Once)?;
        inner.lock().sent.forwarded.begin(submission.hash);
        Some(Self {
            pool: Weak::clone(pool),
            node: Arc::clone(node),
            submission,
            write,
            fate: Fate::Open,
        })
    }

    /// What the end of the request says of the transaction.
    pub(super) fn on_end(&mut self, judged: &Judged) {
        let text = judged.shown.as_ref().filter(|shown| !shown.is_error);
        let text = text.and_then(|shown| shown.body.get(shown.span.clone()));
        let text = text.and_then(|bytes| std::str::from_utf8(bytes).ok());
        let (form, hash) = (self.submission.form, self.submission.hash);
        let echo = text.map_or(Echo::Nothing, |text| Echo::of(form, text, hash));
        self.fate = Fate::of(&judged.settled, &self.write, echo);
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        let Some(pool) = self.pool.upgrade() else {
            return;
        };
        let is_there = match self.fate {
            Fate::Accepted | Fate::Misnamed | Fate::Known => true,
            Fate::Unsent | Fate::Open | Fate::Silent | Fate::Refused | Fate::NonceUsed => false,
        };
        // Outside the lock: it takes a while.
        let account = is_there.then(|| self.submission.account()).flatten();
        let (hash, now) = (self.submission.hash, pool.now().mono);
        let mut state = pool.lock();
        let sent = self.fate != Fate::Unsent;
        state.sent.forwarded.end(hash, sent, now);
        if let Some((account, nonce)) = account {
            let at = vec![self.node.number];
            state.sent.senders.sent(account, nonce, hash, at, now);
            pool.has_sent.store(true, Ordering::Relaxed);
        }
    }
}
