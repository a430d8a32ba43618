//! A request that is settled by itself: its call is over, or it never had one.

use crate::inner::Inner;
use highwater_core::{call::Settled, router::Ticket};
use std::sync::Weak;

/// A request under way, without the call that began it. Dropped before its end, it is cancelled: it
/// stops counting, frees its trial and teaches nothing.
pub(crate) struct UnderWay {
    pool: Weak<Inner>,
    ticket: Option<Ticket>,
}

impl UnderWay {
    pub(crate) const fn new(pool: Weak<Inner>, ticket: Ticket) -> Self {
        Self {
            pool,
            ticket: Some(ticket),
        }
    }

    /// It ended so.
    pub(crate) fn settle(mut self, settled: &Settled) {
        if let (Some(ticket), Some(inner)) = (self.ticket.take(), self.pool.upgrade()) {
            let now = inner.now();
            let mut state = inner.lock();
            state.router.settle(&ticket, settled, now);
            inner.tell(state);
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if let (Some(ticket), Some(inner)) = (self.ticket.take(), self.pool.upgrade()) {
            let now = inner.now();
            let mut state = inner.lock();
            state.router.cancel(&ticket, now);
            inner.tell(state);
        }
    }
}
