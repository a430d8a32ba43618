//! The calls of one client's batch.

use super::{Folded, Group, Item, exchange::exchange};
use crate::{inner::Inner, node::Node};
use highwater_core::method::Lane;
use parking_lot::Mutex;
use std::{
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    sync::{Arc, Weak},
};
use tokio::sync::Semaphore;

/// Most bodies of one client's batch under way at once (hardening B12).
const PARALLEL: usize = 16;

/// Calls that come together and may travel together: those that choose the same endpoint share one
/// request to it.
///
/// Give it to each of the calls in [`CallOptions::batch`](crate::CallOptions::batch), and have them
/// polled by [`ClientBatch::run`]. A call that is polled elsewhere travels alone.
#[derive(Clone)]
pub struct ClientBatch(Arc<Shared>);

struct Shared {
    gathering: Mutex<Gathering>,
    permits: Arc<Semaphore>,
}

#[derive(Default)]
struct Gathering {
    /// Whether somebody will send what is gathered now.
    open: bool,
    groups: Vec<(Weak<Inner>, Group)>,
}

impl Default for ClientBatch {
    fn default() -> Self {
        Self::new()
    }
}

impl ClientBatch {
    /// A batch without calls.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Shared {
            gathering: Mutex::default(),
            permits: Arc::new(Semaphore::new(PARALLEL)),
        }))
    }

    /// Runs the future that polls the calls. What they want to send in one turn is sent at its end, at
    /// most 16 bodies at a time; nothing waits for a clock.
    ///
    /// Cancellation: dropping it drops the calls; bodies that nobody waits for are given up.
    pub async fn run<T>(&self, calls: impl Future<Output = T>) -> T {
        let mut calls = pin!(calls);
        poll_fn(|context| {
            let turn = Turn::begin(self);
            let polled = calls.as_mut().poll(context);
            drop(turn);
            polled
        })
        .await
    }

    /// Takes a call in, if it is polled within [`ClientBatch::run`].
    pub(crate) fn add(
        &self,
        pool: &Arc<Inner>,
        node: &Arc<Node>,
        lane: Lane,
        limit: usize,
        make: impl FnOnce() -> (Item, Folded),
    ) -> Option<Folded> {
        let mut gathering = self.0.gathering.lock();
        if !gathering.open {
            return None;
        }
        let (item, attempt) = make();
        let mut groups = gathering.groups.iter_mut();
        let found = groups.find(|(_, group)| group.is_for(node, lane) && !group.is_full());
        match found {
            Some((_, group)) => group.push(item, limit),
            None => {
                let mut group = Group::new(Arc::clone(node), lane, limit);
                group.push(item, limit);
                gathering.groups.push((Arc::downgrade(pool), group));
            }
        }
        Some(attempt)
    }

    fn send(&self) {
        let groups = {
            let mut gathering = self.0.gathering.lock();
            gathering.open = false;
            std::mem::take(&mut gathering.groups)
        };
        for (pool, group) in groups {
            let permits = Arc::clone(&self.0.permits);
            tokio::spawn(async move {
                let _permit = permits.acquire_owned().await;
                exchange(&pool, group).await;
            });
        }
    }
}

/// While it lives, calls are gathered; then they are sent, even if one of them panicked.
struct Turn<'a>(&'a ClientBatch);

impl<'a> Turn<'a> {
    fn begin(batch: &'a ClientBatch) -> Self {
        batch.0.gathering.lock().open = true;
        Self(batch)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.send();
    }
}

impl fmt::Debug for ClientBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBatch").finish_non_exhaustive()
    }
}
