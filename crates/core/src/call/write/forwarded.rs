//! Which transactions were sent lately.

use crate::TxHash;
use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, Instant},
};

/// How long a send is remembered.
const KEPT: Duration = Duration::from_secs(600);

/// Most that are remembered; the oldest go first.
const MOST: usize = 65_536;

/// The transactions that were sent within the last ten minutes. Some clients send the same bytes
/// again by themselves; "already known" then tells them what they want to hear.
#[derive(Clone, Debug, Default)]
pub struct Forwarded {
    at: BTreeMap<TxHash, Instant>,
    /// In the order in which they were noted; one that was noted again stands here twice.
    order: VecDeque<(Instant, TxHash)>,
}

impl Forwarded {
    /// One was sent: an endpoint may have it.
    pub fn note(&mut self, hash: TxHash, now: Instant) {
        self.at.insert(hash, now);
        self.order.push_back((now, hash));
        while let Some(&(at, oldest)) = self.order.front() {
            let old = now.saturating_duration_since(at) > KEPT;
            if !old && self.order.len() <= MOST {
                break;
            }
            self.order.pop_front();
            if self.at.get(&oldest) == Some(&at) {
                self.at.remove(&oldest);
            }
        }
    }

    /// Whether this one was.
    #[must_use]
    pub fn has(&self, hash: TxHash, now: Instant) -> bool {
        let at = self.at.get(&hash);
        at.is_some_and(|at| now.saturating_duration_since(*at) <= KEPT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(n: u32) -> TxHash {
        let mut hash = [0; 32];
        hash[..4].copy_from_slice(&n.to_be_bytes());
        TxHash(hash)
    }

    //
    #[test]
    fn a_send_is_remembered_for_ten_minutes_from_the_last_time() {
        let zero = crate::now::tests::origin();
        let at = |seconds| zero + Duration::from_secs(seconds);
        let mut sent = Forwarded::default();
        assert!(!sent.has(hash(1), at(0)));
        sent.note(hash(1), at(0));
        assert!(sent.has(hash(1), at(600)) && !sent.has(hash(1), at(601)));
        assert!(!sent.has(hash(2), at(1)));
        sent.note(hash(1), at(500));
        sent.note(hash(2), at(700));
        assert!(sent.has(hash(1), at(1100)) && !sent.has(hash(1), at(1101)));
    }

    //
    #[test]
    fn no_more_are_remembered_than_fit() {
        let zero = crate::now::tests::origin();
        let mut sent = Forwarded::default();
        for n in 0..70_000 {
            sent.note(hash(n), zero);
        }
        assert_eq!((sent.at.len(), sent.order.len()), (MOST, MOST));
        assert!(sent.has(hash(69_999), zero) && !sent.has(hash(0), zero));
    }
}
