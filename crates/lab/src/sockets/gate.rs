//! Gates: the only way in which a scripted fault waits.
//!
//! A test that sleeps is either slow or wrong on a busy machine. A gate instead stands between two
//! known moments: the test can wait until N requests are held at it (a level, so it does not matter
//! whether they came before or after the wait began) and lets them through when it has seen enough.

use std::sync::Arc;

use tokio::sync::{Semaphore, watch};

/// A door that starts closed. Clones are the same door.
#[derive(Clone, Debug)]
pub struct Gate {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    permits: Semaphore,
    waiting: watch::Sender<usize>,
}

impl Gate {
    /// A closed gate.
    #[must_use]
    pub fn new() -> Self {
        Self {
            inner: Arc::new(Inner {
                permits: Semaphore::new(0),
                waiting: watch::Sender::new(0),
            }),
        }
    }

    /// Lets `count` passages through, now or later.
    pub fn release(&self, count: usize) {
        if !self.inner.permits.is_closed() {
            self.inner.permits.add_permits(count);
        }
    }

    /// Opens the gate for good: nothing waits at it any more.
    pub fn open(&self) {
        // A closed semaphore fails every acquire at once, which is what an open door does.
        self.inner.permits.close();
    }

    /// How many passages are held right now.
    #[must_use]
    pub fn held(&self) -> usize {
        *self.inner.waiting.borrow()
    }

    /// Waits until at least `count` passages are held.
    ///
    /// Cancellation: dropping the future leaves the gate as it was.
    pub async fn wait_for_held(&self, count: usize) {
        let mut waiting = self.inner.waiting.subscribe();
        waiting
            .wait_for(|held| *held >= count)
            .await
            .expect("invariant: the sender lives in this gate");
    }

    /// Waits until the gate lets one passage through.
    ///
    /// Cancellation: dropping the future takes it out of the count of held passages and leaves its
    /// permit to others.
    pub async fn pass(&self) {
        let _held = Held::new(&self.inner);
        if let Ok(permit) = self.inner.permits.acquire().await {
            permit.forget();
        }
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

/// Keeps the count right even when the waiting future is dropped.
struct Held<'a>(&'a Inner);

impl<'a> Held<'a> {
    fn new(inner: &'a Inner) -> Self {
        inner.waiting.send_modify(|held| *held += 1);
        Self(inner)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.waiting.send_modify(|held| *held -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::Gate;

    #[tokio::test]
    async fn holds_until_released_and_counts_who_waits() {
        let gate = Gate::new();
        let (first, second) = (gate.clone(), gate.clone());
        let first = tokio::spawn(async move { first.pass().await });
        let second = tokio::spawn(async move { second.pass().await });
        gate.wait_for_held(2).await;
        assert!(!first.is_finished() && !second.is_finished());
        gate.release(1);
        gate.release(1);
        first.await.unwrap();
        second.await.unwrap();
        assert_eq!(gate.held(), 0);
    }

    #[tokio::test]
    async fn lets_everyone_through_once_open() {
        let gate = Gate::new();
        gate.open();
        gate.pass().await;
        gate.pass().await;
        gate.release(1);
        gate.pass().await;
    }

    #[tokio::test]
    async fn forgets_a_passage_that_was_given_up() {
        let gate = Gate::new();
        let held = gate.clone();
        let task = tokio::spawn(async move { held.pass().await });
        gate.wait_for_held(1).await;
        task.abort();
        task.await.unwrap_err();
        assert_eq!(gate.held(), 0);
    }
}
