//! What a pool tells those who listen (P-28).

use crate::inner::State;
use highwater_core::{
    ChainId, EndpointId,
    breaker::{Exclusion, Reason},
    event as core,
    method::{Lane, MethodId},
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

pub use highwater_core::event::{CacheEnd, RequestEnd};

/// Names an endpoint. Never by its URL (R-2, L-7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointName {
    /// The chain of its pool, once known.
    pub chain: Option<ChainId>,
    /// Its place in the pool, from 0, when this was said.
    pub number: usize,
    /// Its label, unique in the pool.
    pub label: Arc<str>,
    /// The bare host name; empty for a transport of the caller's own.
    pub host: Arc<str>,
}

/// Something that happened in a pool.
///
/// Methods are named by their row of the method table: the name, a prefix ending in `*`, or `*` for
/// those that no row names, so that callers cannot make up names.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// An attempt ended.
    Request {
        /// Who was asked.
        endpoint: EndpointName,
        /// The method.
        method: &'static str,
        /// Number of the attempt in its call, from 0.
        attempt: u16,
        /// How it ended.
        end: RequestEnd,
        /// From sending to the end.
        took: Duration,
    },
    /// A call moved to another endpoint.
    Switch {
        /// Who failed it.
        from: EndpointName,
        /// Who is asked now.
        to: EndpointName,
        /// The method.
        method: &'static str,
    },
    /// A call's first attempt went to several endpoints.
    Race {
        /// The method.
        method: &'static str,
        /// Best first.
        racers: Vec<EndpointName>,
    },
    /// A slow attempt was copied.
    Hedge {
        /// Who is slow.
        slow: EndpointName,
        /// Who got the copy.
        to: EndpointName,
        /// The method.
        method: &'static str,
    },
    /// An endpoint gets no calls for a while.
    Eject {
        /// Which.
        endpoint: EndpointName,
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
        endpoint: EndpointName,
        /// One lane of methods, or all.
        lane: Option<Lane>,
    },
    /// It serves another chain and gets nothing until its URL changes.
    Quarantine {
        /// Which.
        endpoint: EndpointName,
        /// The chain it serves.
        found: ChainId,
    },
    /// It refuses us and gets nothing until its URL or credential changes.
    Exclude {
        /// Which.
        endpoint: EndpointName,
        /// Why.
        why: Exclusion,
    },
    /// One method gets no calls there for a while.
    MethodOff {
        /// Which endpoint.
        endpoint: EndpointName,
        /// Which method.
        method: &'static str,
    },
    /// An endpoint's head was read and moved, or is not believed.
    Head {
        /// Which.
        endpoint: EndpointName,
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
    /// A read was looked for in memory, or made again for a key that is kept hot (P-28). A hit tells only this.
    Cache {
        /// The method.
        method: &'static str,
        /// What came of it.
        end: CacheEnd,
        /// Blocks that a served answer is behind the newest head; `None`: no block says.
        stale_blocks: Option<u64>,
    },
    /// A read joined the request of another caller (P-10).
    Coalesce {
        /// The method.
        method: &'static str,
    },
    /// A call was refused or cut short because nothing may be sent within the limits.
    Budget {
        /// How long until something could have been sent; `None`: the retry budget was empty.
        wait: Option<Duration>,
    },
    /// The listener was too slow, and this many events that happened before this one were lost.
    Lost {
        /// How many.
        count: u64,
    },
}

impl Event {
    /// What the router told, in the words of this state.
    pub(crate) fn named(event: core::Event, state: &State) -> Self {
        let name = |id: EndpointId| state.name(id);
        match event {
            core::Event::Request {
                endpoint,
                method,
                attempt,
                end,
                took,
            } => Self::Request {
                endpoint: name(endpoint),
                method: method_name(method),
                attempt: attempt.0,
                end,
                took,
            },
            core::Event::Switch { from, to, method } => Self::Switch {
                from: name(from),
                to: name(to),
                method: method_name(method),
            },
            core::Event::Race { method, racers } => Self::Race {
                method: method_name(method),
                racers: racers.into_iter().map(name).collect(),
            },
            core::Event::Hedge { slow, to, method } => Self::Hedge {
                slow: name(slow),
                to: name(to),
                method: method_name(method),
            },
            core::Event::Eject {
                endpoint,
                lane,
                why,
                until,
            } => Self::Eject {
                endpoint: name(endpoint),
                lane,
                why,
                until,
            },
            core::Event::Restore { endpoint, lane } => Self::Restore {
                endpoint: name(endpoint),
                lane,
            },
            core::Event::Quarantine { endpoint, found } => Self::Quarantine {
                endpoint: name(endpoint),
                found,
            },
            core::Event::Exclude { endpoint, why } => Self::Exclude {
                endpoint: name(endpoint),
                why,
            },
            core::Event::MethodOff { endpoint, method } => Self::MethodOff {
                endpoint: name(endpoint),
                method: method_name(method),
            },
            core::Event::Head {
                endpoint,
                height,
                trusted,
            } => Self::Head {
                endpoint: name(endpoint),
                height,
                trusted,
            },
            core::Event::Reorg {
                fork,
                dropped,
                floor,
            } => Self::Reorg {
                fork,
                dropped,
                floor,
            },
            core::Event::Cache {
                method,
                end,
                stale_blocks,
            } => Self::Cache {
                method: method_name(method),
                end,
                stale_blocks,
            },
            core::Event::Coalesce { method } => Self::Coalesce {
                method: method_name(method),
            },
            core::Event::Budget { wait } => Self::Budget { wait },
        }
    }
}

/// The row of a method by name.
pub(crate) fn method_name(method: MethodId) -> &'static str {
    method.descriptor().map_or("*", |row| row.name)
}
