//! What became of a node's requests.

use std::collections::BTreeMap;

use super::wire::Played;
use crate::node::Exchange;

/// What became of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It got the node's whole answer.
    Answered,
    /// A fault of this kind left it without a right answer.
    Failed(&'static str),
    /// The client left before an answer that no fault held up.
    Left,
}

impl Fate {
    /// A late answer fails a request only when the client did not wait for it.
    pub(super) fn of(exchange: &Exchange, played: Played) -> Self {
        match (exchange.cue, played) {
            (Some(cue), Played::Abandoned) => Self::Failed(cue.kind),
            (Some(cue), Played::Kept | Played::Closed) if cue.spoils => Self::Failed(cue.kind),
            (Some(_) | None, Played::Kept | Played::Closed) => Self::Answered,
            (None, Played::Abandoned) => Self::Left,
        }
    }
}

/// Counts of one node, each request in exactly one of them. Connections that were refused brought
/// no request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests that got the node's whole answer; behind a wrong view it may still be wrong.
    pub answered: u64,
    /// Requests that a fault left without a right answer, by the kind of the fault.
    pub failed: BTreeMap<&'static str, u64>,
    /// Requests whose client left before an answer that no fault held up.
    pub left: u64,
}

impl Tally {
    /// All requests.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.answered + self.failures() + self.left
    }

    /// Requests that a fault left without a right answer.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// Counts one request.
    pub fn count(&mut self, fate: Fate) {
        match fate {
            Fate::Answered => self.answered += 1,
            Fate::Failed(kind) => *self.failed.entry(kind).or_default() += 1,
            Fate::Left => self.left += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Fate, Tally};
    use crate::node::{Carriage, Cue, Delivery, Exchange};
    use crate::sockets::wire::Played;

    fn fate(cue: Option<(&'static str, bool)>, played: Played) -> Fate {
        let exchange = Exchange {
            delay: Duration::ZERO,
            carriage: Carriage::Answer(Delivery::json("")),
            cue: cue.map(|(kind, spoils)| Cue { kind, spoils }),
        };
        Fate::of(&exchange, played)
    }

    // B-2
    #[test]
    fn a_late_answer_fails_only_those_who_do_not_wait() {
        let (page, slow) = (Some(("page", true)), Some(("slow", false)));
        assert_eq!(fate(page, Played::Kept), Fate::Failed("page"));
        assert_eq!(fate(page, Played::Abandoned), Fate::Failed("page"));
        assert_eq!(fate(slow, Played::Kept), Fate::Answered);
        assert_eq!(fate(slow, Played::Abandoned), Fate::Failed("slow"));
        assert_eq!(fate(None, Played::Closed), Fate::Answered);
        assert_eq!(fate(None, Played::Abandoned), Fate::Left);
    }

    #[test]
    fn every_request_is_in_one_count() {
        let mut tally = Tally::default();
        for fate in [
            Fate::Answered,
            Fate::Failed("hang"),
            Fate::Failed("hang"),
            Fate::Failed("page"),
            Fate::Left,
        ] {
            tally.count(fate);
        }
        assert_eq!((tally.requests(), tally.failures()), (5, 3));
        assert_eq!(tally.failed["hang"], 2);
    }
}
