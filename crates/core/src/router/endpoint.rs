//! One endpoint: what its owner says of it, and what was learned.

use super::{inflight::InFlight, methods::MethodList};
use crate::{
    breaker::{Circuit, MethodKey},
    bucket::{Account, Budget},
    classify::Class,
    identity::ChainCheck,
    learn::{Declared, Learned},
    method::Lane,
    settings::Settings,
    stats::{Books, Recent, Window},
};
use smallvec::SmallVec;
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
    /// Whether it takes private methods only for those who ask for privacy.
    pub private: bool,
    /// What it keeps and takes, as far as its owner knows: goes before what is learned.
    pub declared: Declared,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            weight: 1.0,
            tier: 0,
            group: None,
            account: Arc::new(Account::new("", &Budget::default())),
            methods: MethodList::default(),
            region_distance: 0.0,
            private: false,
            declared: Declared::default(),
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
    /// Methods for which it said lately that it has not got there yet, or not any more, without a
    /// height that would tell for which blocks: others are asked first until then.
    pub(super) shy: SmallVec<[(MethodKey, Instant); 2]>,
    /// A check beside the calls was started, and is given until then.
    pub(super) warm_until: Option<Instant>,
}

impl Endpoint {
    pub(super) fn new(profile: Profile, settings: &Settings) -> Self {
        // A method list without the check's method skips the check.
        let verify = settings.verify_chain_id && profile.methods.allows("eth_chainId");
        Self {
            check: ChainCheck::new(verify),
            circuit: Circuit::new(settings.breaker),
            books: Books::new(settings.book),
            windows: Box::new(std::array::from_fn(|_| Window::new(settings.window))),
            recent: Recent::default(),
            in_flight: InFlight::default(),
            learned: Learned::new(profile.declared.clone(), settings.learn.clone()),
            profile,
            counters: Counters::default(),
            shy: SmallVec::new(),
            warm_until: None,
        }
    }

    pub(super) fn window(&mut self, lane: Lane) -> &mut Window {
        &mut self.windows[lane_index(lane)]
    }

    /// A check beside the calls is under way.
    pub(super) fn is_warming(&self, now: Instant) -> bool {
        self.warm_until.is_some_and(|until| now < until)
    }

    /// Others are asked first for this method until then.
    pub(super) fn shun(&mut self, method: MethodKey, until: Instant, now: Instant) {
        const MOST: usize = 16;
        self.shy
            .retain(|(known, until)| *known != method && now < *until);
        if self.shy.len() >= MOST {
            self.shy.remove(0);
        }
        self.shy.push((method, until));
    }

    pub(super) fn is_shy(&self, method: MethodKey, now: Instant) -> bool {
        let mut shy = self.shy.iter();
        shy.any(|(known, until)| *known == method && now < *until)
    }
}
