//! Which transactions are being sent, or were sent lately.

use crate::{TxHash, aging::Aging};
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

/// How long a send is remembered.
const KEPT: Duration = Duration::from_secs(600);

/// Most that are remembered; the oldest go first.
const MOST: usize = 65_536;

/// The transactions that were sent within the last ten minutes, and those that are being sent. Some
/// clients send the same bytes again by themselves; "already known" then tells them what they want to
/// hear.
#[derive(Clone, Debug)]
pub struct Forwarded {
    sent: Aging<TxHash, ()>,
    /// How many calls are sending one.
    running: BTreeMap<TxHash, u32>,
}

impl Default for Forwarded {
    fn default() -> Self {
        Self {
            sent: Aging::new(KEPT, MOST),
            running: BTreeMap::new(),
        }
    }
}

impl Forwarded {
    /// A call begins to send one.
    pub fn begin(&mut self, hash: TxHash) {
        *self.running.entry(hash).or_default() += 1;
    }

    /// It is over; whether an endpoint may have got it.
    pub fn end(&mut self, hash: TxHash, sent: bool, now: Instant) {
        if let Some(running) = self.running.get_mut(&hash) {
            *running = running.saturating_sub(1);
            if *running == 0 {
                self.running.remove(&hash);
            }
        }
        if sent {
            self.sent.insert(hash, (), now);
        }
    }

    /// Whether a call other than the one that asks, which is sending it, may have brought it to an
    /// endpoint.
    #[must_use]
    pub fn by_another(&self, hash: TxHash, now: Instant) -> bool {
        let running = self.running.get(&hash).copied().unwrap_or_default();
        running > 1 || self.sent.get(hash, now).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::now::tests::origin;

    const ONE: TxHash = TxHash([1; 32]);

    //
    #[test]
    fn a_send_is_remembered_for_ten_minutes_after_its_end() {
        let zero = origin();
        let at = |seconds| zero + Duration::from_secs(seconds);
        let mut sent = Forwarded::default();
        sent.begin(ONE);
        assert!(!sent.by_another(ONE, at(0)));
        sent.end(ONE, true, at(1));
        assert!(sent.by_another(ONE, at(601)) && !sent.by_another(ONE, at(602)));
        assert!(!sent.by_another(TxHash([2; 32]), at(1)));
    }

    // what is proven unsent was not sent.
    #[test]
    fn a_call_that_sent_nothing_is_not_remembered() {
        let zero = origin();
        let mut sent = Forwarded::default();
        sent.begin(ONE);
        sent.end(ONE, false, zero);
        assert!(!sent.by_another(ONE, zero));
        assert!(sent.running.is_empty());
    }

    // the same bytes twice in one batch, say.
    #[test]
    fn two_calls_that_send_the_same_know_of_each_other() {
        let zero = origin();
        let mut sent = Forwarded::default();
        sent.begin(ONE);
        sent.begin(ONE);
        assert!(sent.by_another(ONE, zero));
        sent.end(ONE, false, zero);
        assert!(!sent.by_another(ONE, zero));
    }
}
