//! What a call may do, fixed when it starts.

use super::write::Write;
use crate::{
    EndpointId,
    breaker::MethodKey,
    learn::Need,
    method::{Descriptor, Tier},
    mutant::{self, Mutant},
    router::EndpointSet,
    select::Strategy,
    settings::{HedgeSettings, Settings},
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// When a call that many wait for is copied.
const URGENT: HedgeSettings = HedgeSettings {
    min_delay: Duration::from_millis(100),
    tails: 2.0,
};

/// Which endpoints may see a call, by what their owner says of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Privacy {
    /// All.
    #[default]
    Any,
    /// Only private ones, whatever becomes of it.
    Private,
    /// Private ones only where no other may serve it: a transaction that is sent to everybody.
    Public,
}

impl Privacy {
    /// What a method asks for by itself: whatever builders take is for private endpoints alone. A
    /// paymaster's methods stand in the same part of the table and are nobody's secret.
    #[must_use]
    pub fn of(row: &Descriptor) -> Self {
        if row.tier == Tier::Builder && row.ns != "pm" {
            Self::Private
        } else {
            Self::Any
        }
    }
}

/// Everything a call is bound by.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The method's row.
    pub method: &'static Descriptor,
    /// The method as endpoints tell it apart.
    pub key: MethodKey,
    /// When the call is over, answered or not.
    pub deadline: Instant,
    /// Longest time for one attempt.
    pub attempt_timeout: Duration,
    /// Which blocks an endpoint must hold to serve it.
    pub need: Need,
    /// Its latest block was made a number, the need's height: only endpoints known to hold it serve it
    /// (P-3).
    pub pinned: bool,
    /// The head that an endpoint must have, because the caller has seen blocks (P-8); one that is
    /// known to be below it does not serve the call.
    pub least_head: Option<u64>,
    /// Many wait for its answer: it is nobody's trial after an ejection, and a copy goes out when it is
    /// slow whatever the settings say.
    pub urgent: bool,
    /// The endpoints whose method lists name it; `None`: all. See
    /// [`Router::allowed`](crate::router::Router::allowed).
    pub allowed: Option<EndpointSet>,
    /// The one endpoint that may serve it: an id that only this endpoint knows, a pinned operation.
    pub only: Option<EndpointId>,
    /// The endpoints that are asked first while they can be: they have seen a transaction that the
    /// others may not have (semantics §4.2 W5). Such a call is not hedged.
    pub prefer: Option<EndpointSet>,
    /// Which endpoints may see it.
    pub privacy: Privacy,
    /// What binds it where it sends a raw transaction.
    pub write: Option<Box<Write>>,
    /// A strategy of the caller's own; `None`: the router's.
    pub strategy: Option<Arc<Strategy>>,
    /// One endpoint, never hedged or raced, moved on only when proven unsent: a name that the user
    /// added to R-34's list.
    pub solitary: bool,
    /// Nobody waits for it (P-18): it has one attempt, at an endpoint that can be asked now, and spends
    /// none of the retry budget; where that fails it is over.
    pub background: bool,
    /// Whoever carries the call out has room for one attempt at a time: it neither races nor hedges.
    pub one_at_a_time: bool,
}

impl Plan {
    /// A call without needs or limits beyond its times.
    #[must_use]
    pub fn new(
        method: &'static Descriptor,
        name: &str,
        deadline: Instant,
        attempt_timeout: Duration,
    ) -> Self {
        Self {
            method,
            key: MethodKey::new(method, name),
            deadline,
            attempt_timeout,
            need: Need::default(),
            pinned: false,
            least_head: None,
            urgent: false,
            allowed: None,
            only: None,
            prefer: None,
            privacy: Privacy::of(method),
            write: None,
            strategy: None,
            solitary: false,
            background: false,
            one_at_a_time: false,
        }
    }

    /// When a slow attempt is copied.
    #[must_use]
    pub fn hedge(&self, settings: &Settings) -> Option<HedgeSettings> {
        let own = self.urgent.then_some(URGENT);
        own.or(settings.hedge)
    }

    /// Whether an endpoint that is below what the call needs is never asked, even where nobody else is
    /// there.
    #[must_use]
    pub fn is_strict(&self) -> bool {
        let strict = self.pinned || self.least_head.is_some();
        strict && !mutant::is(Mutant::HoldersIgnored)
    }

    /// Whether a second endpoint may be asked although the first may have acted.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        !self.solitary && self.method.is_read()
    }
}
