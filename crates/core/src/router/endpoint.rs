//! One endpoint: what its owner says of it, and what was learned.

use super::{inflight::InFlight, methods::MethodList};
use crate::{
    breaker::Circuit,
    bucket::Account,
    classify::Class,
    identity::ChainCheck,
    learn::Learned,
    method::Lane,
    settings::Settings,
    stats::{Books, Recent, Window},
};
use std::{collections::BTreeMap, sync::Arc, time::Instant};

/// What the owner says of an endpoint. Label and URL are the shell's.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its share of the traffic against its peers; above 0. Default 1.
    pub weight: f64,
    /// 0 is preferred; a higher tier is asked only when no lower one can serve. Default 0.
    pub tier: u8,
    /// Endpoints of one group are one backend and have one voice about heads. `None`: its own.
    pub group: Option<u16>,
    /// Whose budget its requests spend; shared by all endpoints of the account.
    pub account: Arc<Account>,
    /// Which methods it is asked.
    pub methods: MethodList,
    /// Distance to the asking region: 0, 0.5 or 1.
    pub region_distance: f64,
    /// Whether it keeps all history; `None`: nobody said.
    pub archive: Option<bool>,
    /// Whether it takes private methods only for those who ask for privacy.
    pub private: bool,
    /// Most blocks that one `eth_getLogs` may span there.
    pub max_log_range: Option<u64>,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            weight: 1.0,
            tier: 0,
            group: None,
            account: Arc::new(Account::unlimited()),
            methods: MethodList::default(),
            region_distance: 0.0,
            archive: None,
            private: false,
            max_log_range: None,
        }
    }
}

/// Number of lanes.
pub(super) const LANES: usize = 7;

/// The place of a lane in arrays.
pub(super) const fn lane_index(lane: Lane) -> usize {
    match lane {
        Lane::Light => 0,
        Lane::State => 1,
        Lane::Range => 2,
        Lane::Trace => 3,
        Lane::Write => 4,
        Lane::Stream => 5,
        Lane::Denied => 6,
    }
}

/// How many requests ended how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests that went there, checks and probes included.
    pub sent: u64,
    /// Good answers, errors of the chain included.
    pub good: u64,
    /// Failures by class.
    pub failed: BTreeMap<&'static str, u64>,
    /// Attempts that were given up and say nothing about the endpoint.
    pub cancelled: u64,
}

impl Counters {
    pub(super) fn fail(&mut self, class: Class) {
        *self.failed.entry(class.name()).or_default() += 1;
    }
}

/// Everything known of one endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub(super) profile: Profile,
    pub(super) check: ChainCheck,
    pub(super) circuit: Circuit,
    pub(super) books: Books,
    pub(super) windows: Box<[Window; LANES]>,
    pub(super) recent: Recent,
    pub(super) in_flight: InFlight,
    pub(super) learned: Learned,
    pub(super) counters: Counters,
    /// A check beside the calls was started, and is given until then.
    pub(super) warm_until: Option<Instant>,
}

impl Endpoint {
    pub(super) fn new(profile: Profile, settings: &Settings) -> Self {
        // A method list without the check's method skips the check.
        let verify = settings.verify_chain_id && profile.methods.allows("eth_chainId");
        Self {
            profile,
            check: ChainCheck::new(verify),
            circuit: Circuit::new(settings.breaker),
            books: Books::new(settings.book),
            windows: Box::new(std::array::from_fn(|_| Window::new(settings.window))),
            recent: Recent::default(),
            in_flight: InFlight::default(),
            learned: Learned::default(),
            counters: Counters::default(),
            warm_until: None,
        }
    }

    pub(super) fn window(&mut self, lane: Lane) -> &mut Window {
        &mut self.windows[lane_index(lane)]
    }
}
