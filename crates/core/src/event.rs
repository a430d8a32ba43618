//! What the router tells those who listen (P-28).
//!
//! Events name endpoints by id; the shell that owns labels turns them into words. They are collected
//! while somebody listens and cost nothing otherwise.

use crate::{
    AttemptId, ChainId, EndpointId,
    breaker::{Exclusion, Reason},
    classify::Class,
    method::{Lane, MethodId},
};
use smallvec::SmallVec;
use std::time::{Duration, Instant};

/// How one attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestEnd {
    /// With a result.
    Result,
    /// With null, or an empty answer that was not believed.
    Empty,
    /// With an error that is the chain's answer.
    Error(Class),
    /// With a failure.
    Failed(Class),
    /// It was given up: the caller left, or another attempt won.
    Cancelled,
}

/// What came of a look into the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheEnd {
    /// It was served from memory.
    Hit,
    /// It goes to an endpoint.
    Miss,
    /// A key that is kept hot was read again in the background (P-18).
    Refresh,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// An attempt ended.
    Request {
        /// Who was asked.
        endpoint: EndpointId,
        /// The row of the method.
        method: MethodId,
        /// Number of the attempt in its call.
        attempt: AttemptId,
        /// How it ended.
        end: RequestEnd,
        /// From sending to the end.
        took: Duration,
    },
    /// A call moved to another endpoint.
    Switch {
        /// Who failed it.
        from: EndpointId,
        /// Who is asked now.
        to: EndpointId,
        /// The row of the method.
        method: MethodId,
    },
    /// A call's first attempt went to several endpoints.
    Race {
        /// The row of the method.
        method: MethodId,
        /// Best first.
        racers: SmallVec<[EndpointId; 4]>,
    },
    /// A slow attempt was copied.
    Hedge {
        /// Who is slow.
        slow: EndpointId,
        /// Who got the copy.
        to: EndpointId,
        /// The row of the method.
        method: MethodId,
    },
    /// An endpoint gets no calls for a while.
    Eject {
        /// Which.
        endpoint: EndpointId,
        /// One lane of methods, or all.
        lane: Option<Lane>,
        /// Why.
        why: Reason,
        /// Until when.
        until: Instant,
    },
    /// It gets calls again.
    Restore {
        /// Which.
        endpoint: EndpointId,
        /// One lane of methods, or all.
        lane: Option<Lane>,
    },
    /// It serves another chain.
    Quarantine {
        /// Which.
        endpoint: EndpointId,
        /// The chain it serves.
        found: ChainId,
    },
    /// It refuses us.
    Exclude {
        /// Which.
        endpoint: EndpointId,
        /// Why.
        why: Exclusion,
    },
    /// One method gets no calls there for a while.
    MethodOff {
        /// Which endpoint.
        endpoint: EndpointId,
        /// Which method.
        method: MethodId,
    },
    /// An endpoint's head was read and moved, or is not believed.
    Head {
        /// Which.
        endpoint: EndpointId,
        /// The height.
        height: u64,
        /// Whether it may count.
        trusted: bool,
    },
    /// Blocks left the chain (P-14), or what callers had seen fell (P-8).
    Reorg {
        /// The highest block that stayed.
        fork: u64,
        /// How many blocks above it left, as far as is known.
        dropped: u64,
        /// Whether what callers have seen was lowered.
        floor: bool,
    },
    /// A read was looked for in memory, or made again for a key that is kept hot (P-28).
    Cache {
        /// The row of the method.
        method: MethodId,
        /// What came of it.
        end: CacheEnd,
        /// Blocks that a served answer is behind the newest head; `None`: no block says.
        stale_blocks: Option<u64>,
    },
    /// A read joined the request of another caller (P-10).
    Coalesce {
        /// The row of the method.
        method: MethodId,
    },
    /// A call was refused or cut short because nothing may be sent within the limits.
    Budget {
        /// How long until something could have been sent; `None`: the retry budget was empty.
        wait: Option<Duration>,
    },
}

/// Events that wait to be told.
#[derive(Clone, Debug, Default)]
pub struct EventQueue {
    listening: bool,
    waiting: Vec<Event>,
    lost: u64,
}

/// Most events that wait; further ones are counted as lost.
const MOST_WAITING: usize = 4096;

impl EventQueue {
    /// Starts or stops collecting.
    pub fn listen(&mut self, listening: bool) {
        self.listening = listening;
        if !listening {
            self.waiting.clear();
        }
    }

    /// Whether events are collected.
    #[must_use]
    pub const fn is_listening(&self) -> bool {
        self.listening
    }

    /// Collects an event, if somebody listens.
    pub fn push(&mut self, event: impl FnOnce() -> Event) {
        if !self.listening {
            return;
        }
        if self.waiting.len() >= MOST_WAITING {
            self.lost += 1;
            return;
        }
        self.waiting.push(event());
    }

    /// Takes what waits, oldest first, and how many were lost since the last time.
    pub fn drain(&mut self) -> (Vec<Event>, u64) {
        (
            std::mem::take(&mut self.waiting),
            std::mem::take(&mut self.lost),
        )
    }

    /// Whether something waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event() -> Event {
        Event::Restore {
            endpoint: EndpointId(1),
            lane: None,
        }
    }

    // P-28
    #[test]
    fn collects_only_while_somebody_listens() {
        let mut queue = EventQueue::default();
        queue.push(|| unreachable!("nobody listens"));
        queue.listen(true);
        queue.push(event);
        assert_eq!(queue.drain(), (vec![event()], 0));
        assert!(queue.is_empty());
    }

    // P-28
    #[test]
    fn counts_what_it_could_not_keep() {
        let mut queue = EventQueue::default();
        queue.listen(true);
        for _ in 0..MOST_WAITING + 3 {
            queue.push(event);
        }
        let (kept, lost) = queue.drain();
        assert_eq!((kept.len(), lost), (MOST_WAITING, 3));
        assert_eq!(queue.drain(), (vec![], 0));
    }
}
