//! How much is going on at once, and the bounds on it (hardening A8, G-9).
//!
//! Calls in flight are counted over all workers. A single request counts one, a batch as many as
//! may run at once. Past the bound the answer is a 429 that costs no upstream call.

use std::sync::atomic::{
    AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed},
};
use tokio::sync::Notify;

/// A bounded count.
#[derive(Debug)]
pub(crate) struct Gauge {
    now: AtomicUsize,
    most: usize,
    idle: Notify,
}

/// A part of a [`Gauge`], given back when dropped.
#[derive(Debug)]
pub(crate) struct Permit<G: AsRef<Gauge>> {
    gauge: G,
    count: usize,
}

impl Gauge {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            now: AtomicUsize::new(0),
            most,
            idle: Notify::new(),
        }
    }

    /// Takes `count`, unless that would cross the bound.
    pub(crate) fn take<G: AsRef<Self>>(gauge: G, count: usize) -> Option<Permit<G>> {
        let this = gauge.as_ref();
        let before = this.now.fetch_add(count, Relaxed);
        if before.saturating_add(count) > this.most {
            this.give_back(count);
            return None;
        }
        Some(Permit { gauge, count })
    }

    /// How many are taken.
    pub(crate) fn now(&self) -> usize {
        self.now.load(Acquire)
    }

    /// Waits until none is taken.
    pub(crate) async fn idle(&self) {
        loop {
            let notified = self.idle.notified();
            if self.now() == 0 {
                return;
            }
            notified.await;
        }
    }

    fn give_back(&self, count: usize) {
        if self.now.fetch_sub(count, AcqRel) == count {
            // Cheap where nobody waits, and only a shutdown ever does.
            self.idle.notify_waiters();
        }
    }
}

impl AsRef<Self> for Gauge {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl<G: AsRef<Gauge>> Permit<G> {
    /// Takes `count` whatever the bound: for work that was let in already.
    pub(crate) fn beyond_the_bound(gauge: G, count: usize) -> Self {
        gauge.as_ref().now.fetch_add(count, Relaxed);
        Self { gauge, count }
    }

    /// How much of the gauge it is.
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// Takes in another part of the same gauge.
    pub(crate) fn join(&mut self, mut other: Self) {
        self.count += std::mem::take(&mut other.count);
    }

    /// The way to the gauge that was given to [`Gauge::take`].
    pub(crate) const fn gauge(&self) -> &G {
        &self.gauge
    }
}

impl<G: AsRef<Gauge>> Drop for Permit<G> {
    fn drop(&mut self) {
        self.gauge.as_ref().give_back(self.count);
    }
}

#[cfg(test)]
mod tests {
    use super::Gauge;

    // hardening A8
    #[test]
    fn refuses_past_the_bound_and_takes_back_what_is_dropped() {
        let gauge = Gauge::new(3);
        let one = Gauge::take(&gauge, 1).unwrap();
        let two = Gauge::take(&gauge, 2).unwrap();
        assert!(Gauge::take(&gauge, 1).is_none());
        assert_eq!(gauge.now(), 3);
        drop(two);
        assert!(Gauge::take(&gauge, 3).is_none());
        assert_eq!(gauge.now(), 1);
        drop(one);
        assert_eq!(gauge.now(), 0);
    }
}
