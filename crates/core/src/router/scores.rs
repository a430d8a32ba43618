//! What was learned, kept across a restart (P-25).

use super::Router;
use crate::{
    EndpointId, Now,
    scores::{Restored, Scores},
    stats::Books,
};
use std::time::Duration;

impl Router {
    /// A copy of the books of every endpoint in order, for [`Scores::of`]: made under the lock, and
    /// written outside it.
    #[must_use]
    pub fn books(&self) -> Vec<Books> {
        let books = self.endpoints.iter().map(|known| known.books.clone());
        books.collect()
    }

    /// Samples that calls gave so far: where it has not moved, there is nothing new to keep.
    #[must_use]
    pub const fn samples(&self) -> u64 {
        self.samples
    }

    /// Puts in what was learned before a restart (P-25, P-26). Untrusted: what is unknown, odd, too
    /// old or of the future is dropped, latencies are cut at `timeout`, and nothing that was measured
    /// since is touched.
    pub fn restore_scores(
        &mut self,
        scores: &Scores,
        place: impl Fn(&str) -> Option<EndpointId>,
        timeout: Duration,
        now: Now,
    ) -> Restored {
        let (admitted, mut dropped) = scores.admitted(place, timeout, now.wall);
        let mut books = 0;
        for (endpoint, method, book) in admitted {
            let known = self.endpoints.get_mut(endpoint.index());
            if known.is_some_and(|known| known.books.restore(method, book)) {
                books += 1;
            } else {
                dropped += 1;
            }
        }
        Restored { books, dropped }
    }
}
