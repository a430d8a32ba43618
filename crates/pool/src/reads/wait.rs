//! The wait for a block that a caller has seen and that nobody holds yet (P-5, P-8).

use super::{Call, look};
use crate::Error;
use highwater_core::{event::Event, pin::patience, router::Reader};
use std::time::Instant;

/// How long a call has waited for its floor.
#[derive(Debug, Default)]
pub(super) struct Wait {
    until: Option<Instant>,
    /// [`Reads::heads`](super::Reads::heads) before the last look.
    pub(super) heads: u64,
    /// A head was read for the call.
    pub(super) fetched: bool,
    /// Heads were read once more at the end of the wait.
    reread: bool,
}

impl Wait {
    pub(super) const fn began(&self) -> bool {
        self.until.is_some() || self.fetched
    }
}

impl Call<'_> {
    /// Waits until somebody may hold a block that nobody holds now: for the next head, at most one
    /// block time; then heads are read once more, and then it is an error (P-5, P-8).
    pub(super) async fn wait_for(&self, floor: u64, wait: &mut Wait) -> Result<(), Error> {
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
            let _ = Box::pin(self.fetch_head()).await;
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

    /// Whether somebody may serve the call once it has the block.
    pub(super) fn may_be_served(&self) -> bool {
        let state = self.inner.lock();
        let method = self.request.method;
        let allowed = state.router.allowed(method);
        let reader = Reader::new(self.request.descriptor, method, allowed.as_ref());
        state.router.may_serve(&reader, self.inner.now())
    }

    /// Nobody served what the caller has seen; true where its floor came down by that (P-8).
    pub(super) fn unserved(&self) -> bool {
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
