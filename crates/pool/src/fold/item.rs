//! One call of a body that several share.

use super::Folded;
use crate::{
    ask::Ask,
    judge::{Judged, judge_failure},
    upstream::{SendError, SendErrorKind},
};
use highwater_core::{
    breaker::Meaning,
    call::{Delivery, Settled},
    classify::Class,
};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use tokio::{sync::oneshot, time::Instant};

/// A call that waits for its part of an answer.
pub(crate) struct Item {
    pub(super) ask: Ask,
    /// When its attempt is over.
    pub(super) end: Instant,
    pub(super) trip: Arc<Trip>,
    pub(super) reply: oneshot::Sender<Judged>,
}

impl Item {
    /// A call, and the future of its attempt.
    pub(crate) fn new(ask: Ask, end: Instant) -> (Self, Folded) {
        let (reply, answer) = oneshot::channel();
        let trip = Arc::new(Trip::default());
        let item = Self {
            ask,
            end,
            trip: Arc::clone(&trip),
            reply,
        };
        let attempt = async move {
            match tokio::time::timeout_at(end, answer).await {
                Ok(Ok(judged)) => judged,
                Err(_) => trip.lost(SendErrorKind::Timeout),
                // Whoever had it is gone without a word, perhaps because there is no time left.
                Ok(Err(_)) if Instant::now() >= end => trip.lost(SendErrorKind::Timeout),
                Ok(Err(_)) => trip.lost(SendErrorKind::Reset),
            }
        };
        (item, Box::pin(attempt))
    }

    pub(super) fn answer(self, judged: Judged) {
        // Nobody waits any more: its call is over.
        let _gone = self.reply.send(judged);
    }
}

/// What the calls of one body know of it.
#[derive(Debug, Default)]
pub(super) struct Trip {
    sent: AtomicBool,
    /// Whether a failure of the whole body was reported by another call already.
    pub(super) told: AtomicBool,
}

impl Trip {
    pub(super) fn begin(&self, told: bool) {
        self.told.store(told, Ordering::Relaxed);
        self.sent.store(true, Ordering::Release);
    }

    fn lost(&self, kind: SendErrorKind) -> Judged {
        let sent = self.sent.load(Ordering::Acquire);
        let delivery = if sent {
            Delivery::MaybeSent
        } else {
            Delivery::NotSent
        };
        let judged = judge_failure(SendError { kind, delivery });
        if sent && !self.told.load(Ordering::Relaxed) {
            judged
        } else {
            aside(judged)
        }
    }
}

/// A failure that another call reports too: it sends this call on and does nothing to the endpoint.
pub(super) fn aside(mut judged: Judged) -> Judged {
    match &mut judged.settled {
        Settled::Failed {
            verdict, meaning, ..
        } => {
            *meaning = Meaning::Neutral;
            verdict.counts_against_endpoint = false;
            // It would be counted toward a learned rate.
            if verdict.class == Class::RateLimited {
                verdict.class = Class::Overloaded;
            }
        }
        Settled::Terminal { meaning, .. } => *meaning = Meaning::Neutral,
        Settled::Result { .. } => {}
    }
    judged
}
