//! What the operations of a pool share: who waits for an endpoint, and what they have seen.

use crate::{Viewer, inner::Inner};
use highwater_core::{Now, floor::Reference, router::Router};
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{Notify, futures::Notified};

/// Wakes operations that wait when something changes that they may wait for, and knows the highest
/// block that one of them has seen.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    changes: AtomicU64,
    changed: Notify,
    /// Operations are not taken back behind what others have seen (P-8).
    viewer: Viewer,
}

impl Waiting {
    /// The router's number of changes is this one now.
    pub(crate) fn on_changes(&self, changes: u64) {
        if self.changes.load(Ordering::Relaxed) != changes {
            self.changes.store(changes, Ordering::Relaxed);
            self.changed.notify_waiters();
        }
    }

    pub(crate) fn wake(&self) {
        self.changed.notify_waiters();
    }

    /// Ready at the next change after this call.
    pub(super) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }
}

impl Inner {
    /// The highest block that an operation has seen.
    pub(super) fn seen_by_operations(&self, now: Now) -> Option<u64> {
        let mark = &self.waiting.viewer.marks().latest;
        mark.get(&self.reads.falls, now.mono)
    }

    /// An operation was told of a block, as far as that is believed.
    pub(super) fn on_seen(&self, router: &Router, height: u64, now: Now) {
        let mark = &self.waiting.viewer.marks().latest;
        let falls = &self.reads.falls;
        match router.highest_believed(now) {
            Some(bound) => mark.raise(height, Some(bound), falls),
            None => mark.raise_by(height, router.max_ahead(), falls),
        };
        mark.served();
    }

    /// No endpoint is where operations have been; after a while that binds no more (P-8).
    pub(super) fn on_unserved(&self, router: &Router, now: Now) {
        let reference = router.reference_head(now).map(|height| Reference {
            height,
            majority: router.has_majority(now),
            max_lag: router.max_lag(),
        });
        let mark = &self.waiting.viewer.marks().latest;
        mark.unserved(reference, router.stale(), &self.reads.falls, now.mono);
    }
}
