//! What a node does wrong, when, and to which requests.
//!
//! Three families, by where they strike: what the node *sees* of the chain, what it *says* to one
//! call, and how its answer is *carried*. One exchange may suffer several.

use std::time::Duration;

use crate::chain::View;

/// A fault over a stretch of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// First moment.
    pub from: Duration,
    /// Moment after the last; `None` lasts for ever.
    pub until: Option<Duration>,
    /// Time from one beginning to the next, for a fault that comes back; longer than it lasts.
    pub every: Option<Duration>,
    /// Share of requests it strikes, from 0 to 1. Faults of sight strike all.
    pub share: f64,
    /// Methods it strikes, `*` at the end matching any rest; empty strikes all.
    pub methods: Vec<String>,
    /// What it does.
    pub what: What,
}

impl Fault {
    /// Whether it is in force at a moment.
    #[must_use]
    pub fn active(&self, at: Duration) -> bool {
        self.began(at).is_some()
    }

    /// When the turn began that is in force at a moment; `None` when none is.
    #[must_use]
    pub fn began(&self, at: Duration) -> Option<Duration> {
        let begin = self.turn(at)?;
        let past = at.saturating_sub(begin);
        self.length()
            .is_none_or(|length| past < length)
            .then_some(begin)
    }

    /// The next moment after `at` at which it begins or ends.
    #[must_use]
    pub fn next_change(&self, at: Duration) -> Option<Duration> {
        let Some(begin) = self.turn(at) else {
            return Some(self.from);
        };
        let end = self.length().map(|length| begin.saturating_add(length));
        let next = self.every.map(|every| begin.saturating_add(every));
        [end, next]
            .into_iter()
            .flatten()
            .filter(|change| *change > at)
            .min()
    }

    /// Beginning of the last turn that began by then.
    fn turn(&self, at: Duration) -> Option<Duration> {
        let past = at.checked_sub(self.from)?;
        let Some(every) = self.every.filter(|every| !every.is_zero()) else {
            return Some(self.from);
        };
        // Scenario times are far below the 584 years that fit.
        let into = past.as_nanos() % every.as_nanos();
        let into = Duration::from_nanos(u64::try_from(into).unwrap_or(u64::MAX));
        Some(at.saturating_sub(into))
    }

    fn length(&self) -> Option<Duration> {
        self.until.map(|until| until.saturating_sub(self.from))
    }

    /// Whether it strikes a method.
    #[must_use]
    pub fn covers(&self, method: &str) -> bool {
        self.methods.is_empty() || self.methods.iter().any(|pattern| covers(pattern, method))
    }

    /// How far its time has run, from 0 to 1; 1 when it has no end.
    #[must_use]
    pub fn progress(&self, at: Duration) -> f64 {
        let (Some(length), Some(begin)) = (self.length(), self.turn(at)) else {
            return 1.0;
        };
        if length.is_zero() {
            return 1.0;
        }
        let past = at.saturating_sub(begin).as_secs_f64();
        (past / length.as_secs_f64()).clamp(0.0, 1.0)
    }
}

/// Whether a pattern names a method; `trace_*` names all that begin with `trace_`.
#[must_use]
pub(crate) fn covers(pattern: &str, method: &str) -> bool {
    pattern
        .strip_suffix('*')
        .map_or(pattern == method, |prefix| method.starts_with(prefix))
}

/// A fault's effect.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// On what the node sees.
    Sees(Sees),
    /// On what it says to a call.
    Says(Says),
    /// On how an answer travels.
    Carries(Carries),
}

/// A view of the chain that is not the newest, or not the chain's.
#[derive(Clone, Debug, PartialEq)]
pub enum Sees {
    /// The head is so many blocks behind.
    Lag(u64),
    /// The head stands where it was when the fault began.
    Stuck,
    /// Everything is seen so long after it happened: new blocks, and reorgs too.
    Delayed(Duration),
    /// `eth_blockNumber` claims so many blocks that do not exist.
    Ahead(u64),
    /// A share of requests sees a head so many blocks lower, as behind a balancer.
    Backwards {
        /// How much lower.
        blocks: u64,
        /// Share of requests.
        share: f64,
    },
    /// The node is on a fork of its own; an index into the chain's forks.
    Strayed(usize),
    /// The node answers for another chain.
    WrongChain(u64),
    /// State older than so many blocks is gone.
    PrunedState(u64),
    /// Blocks, receipts and logs older than so many blocks are gone as well.
    PrunedBlocks(u64),
    /// The tags `safe` and `finalized` name nothing.
    NoTags,
    /// Limits of `eth_getLogs`.
    LogLimit {
        /// Most blocks of a range.
        blocks: Option<u64>,
        /// Most logs of an answer.
        results: Option<usize>,
    },
    /// This share of logs is missing from every answer, without a word.
    ShortLogs(f64),
    /// These methods do not exist here.
    NoMethod,
    /// Receipts and transactions are null for so long after their block.
    LateReceipts(Duration),
    /// Of transactions it takes what it is sent, shows it to nobody, and passes nothing on; it knows
    /// none that waits, and only the nonces of those that are mined.
    Forgets,
}

impl Sees {
    /// What is left of a view under this fault, which began at `from`. What differs from request to
    /// request is not told here.
    fn bend(&self, view: &mut View, from: Duration) {
        match self {
            Self::Lag(blocks) => view.lag = view.lag.saturating_add(*blocks),
            Self::Stuck => view.at = view.at.min(from),
            Self::Delayed(late) => view.at = view.at.saturating_sub(*late),
            Self::Strayed(fork) => view.stray = Some(*fork),
            Self::Ahead(_)
            | Self::Backwards { .. }
            | Self::WrongChain(_)
            | Self::PrunedState(_)
            | Self::PrunedBlocks(_)
            | Self::NoTags
            | Self::LogLimit { .. }
            | Self::ShortLogs(_)
            | Self::NoMethod
            | Self::LateReceipts(_)
            | Self::Forgets => {}
        }
    }
}

/// What a node with these faults sees of the chain at a moment, as far as no chance is in it.
#[must_use]
pub fn view(faults: &[Fault], at: Duration) -> View {
    let mut view = View::healthy(at);
    for fault in faults {
        if let (What::Sees(sees), Some(from)) = (&fault.what, fault.began(at)) {
            sees.bend(&mut view, from);
        }
    }
    view
}

/// A wrong answer to one call.
#[derive(Clone, Debug, PartialEq)]
pub enum Says {
    /// This error instead of an answer.
    Error {
        /// HTTP status, where the call is alone in its request.
        status: u16,
        /// JSON-RPC code.
        code: i64,
        /// Message.
        message: String,
        /// `data`, as JSON text.
        data: Option<String>,
    },
    /// An id that nobody asked with.
    WrongId,
    /// The id as a string.
    StringId,
    /// No id.
    MissingId,
    /// In a batch, the answer twice; alone, nothing.
    Twice,
    /// In a batch, no answer to this call.
    Omitted,
    /// A result and an error.
    Both,
    /// Neither result nor error.
    Neither,
    /// A null result.
    Null,
    /// The answer for so many blocks below the one that was asked for.
    Older(u64),
    /// A sent transaction lands, and the connection ends before the answer.
    LostSend,
}

/// An answer that arrives badly, late or not at all.
#[derive(Clone, Debug, PartialEq)]
pub enum Carries {
    /// Later by this much; a ramp grows from nothing to it over the fault's time.
    Slow {
        /// How much.
        add: Duration,
        /// Whether it grows.
        ramp: bool,
    },
    /// Connections are refused.
    Down,
    /// No answer ever.
    Hang,
    /// The connection closes without an answer.
    Close,
    /// The connection is reset without an answer.
    Reset,
    /// The connection is reset after so many bytes of the body.
    ResetBody(usize),
    /// The connection closes after so many bytes of a longer body.
    Truncate(usize),
    /// The body pauses after so many bytes.
    Stall {
        /// Bytes before the pause.
        after: usize,
        /// Length of the pause.
        pause: Duration,
    },
    /// The body comes in pieces with pauses between.
    Drip {
        /// Bytes of a piece.
        piece: usize,
        /// Pause before each.
        every: Duration,
    },
    /// This status and body instead of an answer.
    Page {
        /// HTTP status.
        status: u16,
        /// Content type.
        content_type: String,
        /// Body.
        body: String,
        /// `Retry-After`, in seconds.
        retry_after: Option<u64>,
    },
    /// The body is cut in the middle of the JSON, with the length to match.
    InvalidJson,
    /// A valid answer with a result of so many bytes.
    Huge(usize),
    /// The body is compressed.
    Gzip,
    /// More than `rate` requests a second, after `burst`, are refused with 429.
    RateLimit {
        /// Requests a second.
        rate: f64,
        /// Requests at once.
        burst: f64,
        /// `Retry-After`, in seconds; none when absent.
        retry_after: Option<u64>,
        /// Whether each client has its own bucket.
        per_client: bool,
    },
    /// After so many requests all are refused.
    Quota(u64),
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Carries, Fault, What, covers};

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn is_in_force_from_its_first_moment_to_before_its_last() {
        let fault = Fault {
            from: S,
            until: Some(S * 3),
            every: None,
            share: 1.0,
            methods: vec!["trace_*".into(), "eth_call".into()],
            what: What::Carries(Carries::Hang),
        };
        assert!(!fault.active(S / 2) && fault.active(S) && !fault.active(S * 3));
        assert!((fault.progress(S * 2) - 0.5).abs() < 1e-9);
        assert!(fault.covers("trace_block") && fault.covers("eth_call"));
        assert!(!fault.covers("eth_callMany"));
        assert!(covers("*", "anything"));
        assert_eq!(fault.next_change(S / 2), Some(S));
        assert_eq!(fault.next_change(S), Some(S * 3));
        assert_eq!(fault.next_change(S * 3), None);
    }

    // B-2
    #[test]
    fn comes_back_after_its_period() {
        let fault = Fault {
            from: S,
            until: Some(S * 3),
            every: Some(S * 5),
            share: 1.0,
            methods: Vec::new(),
            what: What::Carries(Carries::Hang),
        };
        let active: Vec<u32> = (0..14).filter(|second| fault.active(S * *second)).collect();
        assert_eq!(active, [1, 2, 6, 7, 11, 12]);
        assert_eq!(fault.began(S * 7), Some(S * 6));
        assert!((fault.progress(S * 7) - 0.5).abs() < 1e-9);
        let changes = [0, 1, 3, 5, 6].map(|second| fault.next_change(S * second));
        assert_eq!(changes, [1, 3, 6, 6, 8].map(|second| Some(S * second)));
    }
}
