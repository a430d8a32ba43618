//! One endpoint: what its owner says of it, and what was learned.

use super::{inflight::InFlight, methods::MethodList};
use crate::{
    breaker::{Circuit, MethodKey, Stand},
    bucket::{Account, Budget},
    classify::Class,
    identity::ChainCheck,
    learn::{Declared, Learned},
    method::{Lane, MethodId},
    operation::EndpointBook,
    settings::Settings,
    stats::{Books, Recent, Window},
};
use smallvec::SmallVec;
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

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
    /// Whether it keeps what it is sent from the public: it gets the methods of builders and
    /// transactions that are to stay private, and public ones only where nobody else can take them.
    pub private: bool,
    /// What it keeps and takes, as far as its owner knows: goes before what is learned.
    pub declared: Declared,
    /// Price of a compute unit, in whatever money its owner counts; finite and at least 0. `None`:
    /// not stated. It decides nothing; money is counted by it (P-28).
    pub price: Option<f64>,
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
            price: None,
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

/// How many requests about one row of the method table ended how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodCount {
    /// The row.
    pub method: MethodId,
    /// Requests that went there, checks and probes included.
    pub sent: u64,
    /// Good answers, errors of the chain included.
    pub good: u64,
    /// Failures.
    pub failed: u64,
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
    /// By row of the method table, in its order.
    pub methods: Vec<MethodCount>,
}

impl Counters {
    pub(super) fn send(&mut self, method: MethodId) {
        self.sent += 1;
        self.of(method).sent += 1;
    }

    pub(super) fn good(&mut self, method: MethodId) {
        self.good += 1;
        self.of(method).good += 1;
    }

    pub(super) fn fail(&mut self, method: MethodId, class: Class) {
        *self.failed.entry(class.name()).or_default() += 1;
        self.of(method).failed += 1;
    }

    fn of(&mut self, method: MethodId) -> &mut MethodCount {
        let place = self.methods.binary_search_by_key(&method, |m| m.method);
        let place = place.unwrap_or_else(|place| {
            let count = MethodCount {
                method,
                sent: 0,
                good: 0,
                failed: 0,
            };
            self.methods.insert(place, count);
            place
        });
        &mut self.methods[place]
    }
}

/// Everything known of one endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    /// Its number for the life of the router: requests under way find it by that when the endpoints
    /// are replaced, and never meet another one in its place.
    pub(super) serial: u32,
    pub(super) profile: Profile,
    pub(super) check: ChainCheck,
    pub(super) circuit: Circuit,
    pub(super) books: Books,
    pub(super) windows: Box<[Window; LANES]>,
    pub(super) recent: Recent,
    pub(super) in_flight: InFlight,
    pub(super) learned: Learned,
    pub(super) counters: Counters,
    /// Operations that are pinned to it.
    pub(super) operations: EndpointBook,
    /// Methods for which it said lately that it has not got there yet, or not any more, without a
    /// height that would tell for which blocks: others are asked first until then.
    pub(super) shy: SmallVec<[(MethodKey, Instant); 2]>,
    /// A check beside the calls was started, and is given until then.
    pub(super) warm_until: Option<Instant>,
    /// When its last check was begun, and when it was last asked for its head outside the timer.
    pub(super) check_began: Option<Instant>,
    pub(super) head_asked: Option<Instant>,
    /// When its head was last asked for beside the calls.
    pub(super) head_sent: Option<Instant>,
}

impl Endpoint {
    pub(super) fn new(serial: u32, profile: Profile, settings: &Settings) -> Self {
        Self {
            serial,
            check: ChainCheck::new(verifies(&profile, settings)),
            circuit: Circuit::new(settings.breaker),
            books: Books::new(settings.book),
            windows: Box::new(std::array::from_fn(|_| Window::new(settings.window))),
            recent: Recent::default(),
            in_flight: InFlight::default(),
            learned: Learned::new(profile.declared.clone(), settings.learn.clone()),
            profile,
            counters: Counters::default(),
            operations: EndpointBook::default(),
            shy: SmallVec::new(),
            warm_until: None,
            check_began: None,
            head_asked: None,
            head_sent: None,
        }
    }

    /// The same endpoint under what its owner says now. What was learned stays, as far as it was
    /// measured by the same rules.
    pub(super) fn carry(
        mut self,
        profile: Profile,
        before: &Settings,
        settings: &Settings,
    ) -> Self {
        self.check.set_verify(verifies(&profile, settings));
        self.circuit.set_settings(settings.breaker);
        self.books.set_settings(settings.book);
        if before.window != settings.window {
            self.windows = Box::new(std::array::from_fn(|_| Window::new(settings.window)));
        }
        self.learned
            .set_settings(profile.declared.clone(), settings.learn.clone());
        // One budget of the endpoint's own goes on; a named one is shared by its owner, who says
        // which it is.
        let account = Arc::clone(&self.profile.account);
        self.profile = profile;
        if account.name().is_empty() && account.is_like(&self.profile.account) {
            self.profile.account = account;
        }
        self
    }

    /// What has to be asked again before the next call: its chain, after a long ejection.
    pub(super) fn refresh_check(&mut self, now: Instant) {
        if self.circuit.take_recheck(now) {
            self.check.invalidate();
        }
    }

    /// No connection could be made: whoever answers next may be another node.
    pub(super) fn unreachable(&mut self) {
        self.check.invalidate();
        self.learned.on_reconnected();
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

    /// Whether its head was asked for by itself within this time.
    pub(super) fn head_asked_within(&self, time: Duration, now: Instant) -> bool {
        self.head_asked
            .is_some_and(|asked| now.saturating_duration_since(asked) < time)
    }

    /// Whether its head was asked for by itself within this time, and nothing came of it yet.
    pub(super) fn head_under_way(&self, time: Duration, now: Instant) -> bool {
        self.head_sent.is_some_and(|sent| {
            self.head_asked.is_none_or(|asked| asked < sent)
                && now.saturating_duration_since(sent) < time
        })
    }

    /// Whether it may be asked for its head.
    pub(super) fn tells_head(&self, now: Instant) -> bool {
        self.profile.methods.allows("eth_blockNumber")
            && match self
                .circuit
                .stand(Lane::Light, MethodKey::of("eth_blockNumber"), now)
            {
                Stand::Closed { .. } | Stand::HalfOpen => true,
                Stand::Trial
                | Stand::Open { .. }
                | Stand::MethodOff { .. }
                | Stand::Excluded { .. } => false,
            }
    }
}

/// A method list without the check's method skips the check.
fn verifies(profile: &Profile, settings: &Settings) -> bool {
    settings.verify_chain_id && profile.methods.allows("eth_chainId")
}
