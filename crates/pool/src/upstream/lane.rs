//! The connections of one worker.
//!
//! Unused HTTP/1.1 connections form a stack: the warmest is taken first, and those at the bottom
//! grow old and are closed. An HTTP/2 connection is one for all calls of the lane, opened once:
//! callers that come meanwhile wait for it. A keeper task per lane, alive only while something lies
//! unused, closes what is old or was closed by the other side.

use super::link::Link;
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http2;
use parking_lot::Mutex;
use std::{
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::{runtime, sync::OwnedSemaphorePermit, task::AbortHandle, time::Instant};

/// The ages at which connections are given up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ages {
    pub(super) idle: Duration,
    pub(super) total: Duration,
    pub(super) max_idle: usize,
}

/// One worker's connections to one endpoint.
pub(super) struct Lane {
    ages: Ages,
    state: Mutex<State>,
    /// Held while a connection is opened that may turn out to be shared.
    pub(super) opening: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    idle: Vec<Link>,
    shared: Option<Shared>,
    keeper: Option<AbortHandle>,
}

/// An HTTP/2 connection.
pub(super) struct Shared {
    pub(super) sender: http2::SendRequest<Full<Bytes>>,
    pub(super) born: Instant,
    pub(super) last_used: Instant,
    pub(super) runtime: runtime::Id,
    pub(super) _permit: Option<OwnedSemaphorePermit>,
}

impl Lane {
    pub(super) fn new(ages: Ages) -> Arc<Self> {
        Arc::new(Self {
            ages,
            state: Mutex::new(State::default()),
            opening: tokio::sync::Mutex::new(()),
        })
    }

    /// Takes the warmest unused connection that belongs to this runtime.
    pub(super) fn take(&self, runtime: runtime::Id, now: Instant) -> Option<Link> {
        loop {
            let mut state = self.state.lock();
            let position = state
                .idle
                .iter()
                .rposition(|link| link.runtime == runtime)?;
            let link = state.idle.remove(position);
            // Closing a connection is a system call: not under the lock.
            drop(state);
            if !self.ages.is_over(link.born, link.idle_since, now) {
                return Some(link);
            }
        }
    }

    /// Puts a connection back.
    pub(super) fn put(self: &Arc<Self>, link: Link) {
        let mut state = self.state.lock();
        if state.idle.len() < self.ages.max_idle {
            state.idle.push(link);
            self.keep(&mut state);
        } else {
            drop(state);
            drop(link);
        }
    }

    /// The shared connection, if there is a live one.
    pub(super) fn shared(
        &self,
        runtime: runtime::Id,
        now: Instant,
    ) -> Option<http2::SendRequest<Full<Bytes>>> {
        let mut state = self.state.lock();
        let shared = state.shared.as_mut()?;
        let over = self.ages.is_over(shared.born, shared.last_used, now);
        if over || shared.runtime != runtime || shared.sender.is_closed() {
            let gone = state.shared.take();
            drop(state);
            drop(gone);
            return None;
        }
        shared.last_used = now;
        Some(shared.sender.clone())
    }

    /// Makes this the shared connection.
    pub(super) fn share(self: &Arc<Self>, shared: Shared) {
        let mut state = self.state.lock();
        let replaced = state.shared.replace(shared);
        self.keep(&mut state);
        drop(state);
        drop(replaced);
    }

    /// Closes one unused connection, to make room for another.
    pub(super) fn evict(&self) {
        let mut state = self.state.lock();
        let oldest = if state.idle.is_empty() {
            None
        } else {
            Some(state.idle.remove(0))
        };
        drop(state);
        drop(oldest);
    }

    fn keep(self: &Arc<Self>, state: &mut State) {
        if state.keeper.as_ref().is_none_or(AbortHandle::is_finished) {
            let period = (self.ages.idle / 2).max(Duration::from_millis(1));
            let keeper = tokio::spawn(keep(Arc::downgrade(self), period));
            state.keeper = Some(keeper.abort_handle());
        }
    }

    /// Closes what is old or dead; says whether nothing is left to look after.
    fn sweep(&self, now: Instant) -> bool {
        let mut state = self.state.lock();
        let mut kept = Vec::new();
        let mut gone = Vec::new();
        for mut link in state.idle.drain(..) {
            if self.ages.is_over(link.born, link.idle_since, now) || !link.is_usable() {
                gone.push(link);
            } else {
                kept.push(link);
            }
        }
        state.idle = kept;
        let shared = state.shared.take_if(|shared| {
            self.ages.is_over(shared.born, shared.last_used, now) || shared.sender.is_closed()
        });
        let empty = state.idle.is_empty() && state.shared.is_none();
        if empty {
            state.keeper = None;
        }
        drop(state);
        drop((gone, shared));
        empty
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        if let Some(keeper) = self.state.get_mut().keeper.take() {
            keeper.abort();
        }
    }
}

impl Ages {
    fn is_over(self, born: Instant, used: Instant, now: Instant) -> bool {
        now.saturating_duration_since(used) >= self.idle
            || now.saturating_duration_since(born) >= self.total
    }
}

async fn keep(lane: Weak<Lane>, period: Duration) {
    loop {
        tokio::time::sleep(period).await;
        let Some(lane) = lane.upgrade() else { return };
        if lane.sweep(Instant::now()) {
            return;
        }
    }
}
