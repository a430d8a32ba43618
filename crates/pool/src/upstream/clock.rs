//! The one timer of an attempt.

use super::fault::{SendError, SendErrorKind};
use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    task::coop::has_budget_remaining,
    time::{Instant, Sleep},
};

/// Timeouts are cut here, a year, so that adding one to an instant cannot overflow.
pub(super) const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// The one timer of an attempt. Its limit moves; the timer is touched only when that matters.
pub(super) struct Clock<'a> {
    pub(super) sleep: Pin<&'a mut Sleep>,
    pub(super) limit: Instant,
}

impl Clock<'_> {
    pub(super) fn set(&mut self, limit: Instant) {
        if self.limit != limit {
            self.limit = limit;
            self.sleep.as_mut().reset(limit);
        }
    }

    /// What was polled, or `None` once the limit has passed. A task that has used up its turn gets no
    /// word from a timer, and one that does so every time, because an endpoint never stops sending
    /// what is no answer, would never be found late; so it looks at the clock (hardening E2).
    pub(super) fn bound<T>(&mut self, cx: &mut Context<'_>, polled: Poll<T>) -> Poll<Option<T>> {
        if let Poll::Ready(value) = polled {
            return Poll::Ready(Some(value));
        }
        if !has_budget_remaining() && Instant::now() >= self.limit {
            return Poll::Ready(None);
        }
        self.sleep.as_mut().poll(cx).map(|()| None)
    }

    /// Runs the making of a connection until the limit.
    pub(super) async fn within<T>(
        &mut self,
        limit: Instant,
        mut opening: Pin<Box<impl Future<Output = Result<T, SendErrorKind>>>>,
    ) -> Result<T, SendError> {
        self.set(limit);
        let opened = poll_fn(|cx| {
            let polled = opening.as_mut().poll(cx);
            self.bound(cx, polled)
        });
        match opened.await {
            Some(opened) => opened.map_err(SendError::unsent),
            None => Err(SendError::unsent(SendErrorKind::Timeout)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use tokio::task::consume_budget;

    // hardening E2
    #[tokio::test(start_paused = true)]
    async fn a_limit_is_seen_by_a_task_that_has_used_up_its_turn() {
        let limit = Instant::now();
        let mut clock = Clock {
            sleep: pin!(tokio::time::sleep_until(limit)),
            limit,
        };
        let bounded = poll_fn(|cx| {
            while has_budget_remaining() {
                let _ = pin!(consume_budget()).poll(cx);
            }
            Poll::Ready(clock.bound(cx, Poll::<()>::Pending))
        });
        assert_eq!(bounded.await, Poll::Ready(None));
    }
}
