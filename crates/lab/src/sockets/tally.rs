//! What became of a node's answers.

use super::wire::Played;
use crate::node::{Carriage, Delivery, Ending, Exchange};

/// Counts of one node, each request in exactly one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Whole answers with status 200. What they say may still be wrong.
    pub whole: u64,
    /// Whole answers with another status.
    pub refused: u64,
    /// Answers that were cut, closed or reset.
    pub broken: u64,
    /// Answers that the client did not wait for.
    pub abandoned: u64,
}

impl Tally {
    /// All requests.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.whole + self.refused + self.broken + self.abandoned
    }

    pub(super) fn count(&mut self, exchange: &Exchange, played: Played) {
        let count = match (&exchange.carriage, played) {
            (_, Played::Abandoned) => &mut self.abandoned,
            (Carriage::Answer(delivery), Played::Kept | Played::Closed) => {
                if cut(delivery) {
                    &mut self.broken
                } else if delivery.status == 200 {
                    &mut self.whole
                } else {
                    &mut self.refused
                }
            }
            (
                Carriage::Refused | Carriage::Silence | Carriage::Closed | Carriage::Reset,
                Played::Kept | Played::Closed,
            ) => &mut self.broken,
        };
        *count += 1;
    }
}

/// Whether a body ends before its last byte.
fn cut(delivery: &Delivery) -> bool {
    match delivery.ending {
        Ending::Whole => false,
        // A compressed body is shorter than the one counted here, so this may count a cut that
        // falls behind its end; a scenario that compresses and cuts means to cut.
        Ending::ClosedAfter(after) | Ending::ResetAfter(after) => after < delivery.body.len(),
    }
}
