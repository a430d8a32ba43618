//! The breakers of one endpoint, together: the endpoint, its lanes, its methods, its exclusion.

use std::time::{Duration, Instant};

use super::{
    fault::{Fault, Kind, Scope},
    gate::{Evidence, Gate, GateStand, Opened, Trial, later},
    methods::{MethodKey, MethodOff, MethodReason, Methods},
    settings::BreakerSettings,
    stand::{Change, Changes, Exclusion, Reason, Stand, join},
};
use crate::mutant::{self, Mutant};
use crate::{method::Lane, sliding::Sliding};

/// All lanes in the order of their numbers.
pub(super) const LANES: [Lane; 7] = [
    Lane::Light,
    Lane::State,
    Lane::Range,
    Lane::Trace,
    Lane::Write,
    Lane::Stream,
    Lane::Denied,
];

/// How much longer each time an endpoint is out that ran out of quota without a stated reset.
const QUOTA_GROWTH: u32 = 4;

/// One request that was sent, to be given back with how it ended: to [`Circuit::on_good`],
/// [`Circuit::on_fault`] or [`Circuit::abandon`], once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    lane: Lane,
    method: Option<MethodKey>,
    number: u64,
    sent: Sent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    Call,
    Trial,
    Probe,
}

impl Ticket {
    /// Whether the request is the trial of a half-open circuit.
    #[must_use]
    pub const fn is_trial(&self) -> bool {
        matches!(self.sent, Sent::Trial)
    }
}

/// All breakers of one endpoint.
///
/// A lane that is open leaves the others alone. Faults of the whole endpoint, stated waits, quotas
/// and drift concern all lanes. An endpoint whose URL or credential is reloaded gets a new circuit.
#[derive(Clone, Debug)]
pub struct Circuit {
    settings: BreakerSettings,
    whole: Gate,
    lanes: [Gate; LANES.len()],
    /// Good and bad answers per lane, where the share of failures ejects.
    rates: Option<Box<[Sliding; LANES.len()]>>,
    methods: Methods,
    excluded: Option<Excluded>,
    /// Number of the next request.
    next: u64,
    /// Refusals without words in a row, and the request from which on the next one counts.
    bare: (u32, u64),
    quota_next: Duration,
    /// The chain must be checked again.
    recheck: bool,
    /// That was said already in this outage.
    recheck_told: bool,
}

#[derive(Clone, Copy, Debug)]
struct Excluded {
    reason: Exclusion,
    since: Instant,
    trial_at: Option<Instant>,
    wait: Duration,
    trial: Option<Trial>,
}

impl Excluded {
    fn stand(&self, lease: Duration, now: Instant) -> Stand {
        match (self.trial_at, self.trial) {
            (Some(at), Some(trial)) if now >= at && trial.runs(lease, now) => Stand::Trial,
            (Some(at), _) if now >= at => Stand::HalfOpen,
            (trial_at, _) => Stand::Excluded {
                reason: self.reason,
                trial_at,
            },
        }
    }
}

impl Circuit {
    /// A closed circuit.
    #[must_use]
    pub fn new(settings: BreakerSettings) -> Self {
        let gate = Gate::new(&settings);
        Self {
            rates: settings
                .failure_rate
                .map(|rate| Box::new(std::array::from_fn(|_| Sliding::new(rate.window)))),
            lanes: std::array::from_fn(|_| gate.clone()),
            whole: gate,
            methods: Methods::default(),
            excluded: None,
            next: 0,
            bare: (0, 0),
            quota_next: settings.quota.first,
            recheck: false,
            recheck_told: false,
            settings,
        }
    }

    /// Other numbers from now on; how it stands stays. The share of failures is counted anew where
    /// its window changed.
    pub fn set_settings(&mut self, settings: BreakerSettings) {
        let window = |settings: &BreakerSettings| settings.failure_rate.map(|rate| rate.window);
        if window(&self.settings) != window(&settings) {
            self.rates = Self::new(settings).rates;
        }
        self.settings = settings;
    }

    /// How the endpoint stands for a call. Facts come first: an endpoint without the method is out
    /// even where an ejected one would be asked.
    #[must_use]
    pub fn stand(&self, lane: Lane, method: MethodKey, now: Instant) -> Stand {
        if self.excluded.is_none()
            && let Some(off) = self.methods.get(method, now)
        {
            return Stand::MethodOff {
                until: off.until,
                reason: off.reason,
            };
        }
        self.lane_stand(lane, now)
    }

    /// How the endpoint stands for a lane, methods left aside.
    #[must_use]
    pub fn lane_stand(&self, lane: Lane, now: Instant) -> Stand {
        let gate = self.lanes[lane as usize].stand(&self.settings, now);
        join(self.endpoint_stand(now), gate)
    }

    /// How the endpoint stands as a whole: what a probe or a snapshot asks.
    #[must_use]
    pub fn endpoint_stand(&self, now: Instant) -> Stand {
        match &self.excluded {
            Some(excluded) => excluded.stand(self.settings.trial_lease, now),
            None => Stand::from(self.whole.stand(&self.settings, now)),
        }
    }

    /// A call is sent. Where the circuit is half-open this request is the trial, so only a call that
    /// may be repeated should be sent then.
    #[must_use]
    pub fn begin(&mut self, lane: Lane, method: MethodKey, now: Instant) -> Ticket {
        let trial = self.begin_trial(lane, now);
        self.ticket(
            lane,
            Some(method),
            if trial { Sent::Trial } else { Sent::Call },
        )
    }

    /// A head probe or a chain check is sent. It is never a trial.
    #[must_use]
    pub fn begin_probe(&mut self) -> Ticket {
        self.ticket(Lane::Light, None, Sent::Probe)
    }

    /// A request ended in a way that says nothing of the health: it was cancelled, or its answer is
    /// neutral. If it was the trial, another one may follow.
    pub fn abandon(&mut self, ticket: &Ticket) {
        self.whole.abandon(ticket.number);
        self.lanes[ticket.lane as usize].abandon(ticket.number);
        if let Some(excluded) = &mut self.excluded
            && excluded.trial.is_some_and(|t| t.number == ticket.number)
        {
            excluded.trial = None;
        }
    }

    /// A healthy answer: a result or an error that every endpoint would give. It closes the circuit,
    /// unless the request was sent before the ejection; a probe clears nothing but strikes that
    /// probes alone brought.
    pub fn on_good(&mut self, ticket: &Ticket, now: Instant) -> Changes {
        let mut changes = Changes::new();
        let evidence = self.evidence(ticket, now);
        let lane = ticket.lane as usize;
        if let Some(excluded) = self.excluded {
            if excluded.trial.is_some_and(|t| t.number == ticket.number) {
                self.recheck |= !self.recheck_told;
                self.recheck_told = false;
                self.excluded = None;
                self.bare.0 = 0;
                self.whole.close(now);
                self.lanes[lane].close(now);
                changes.push(Change::Restored { lane: None });
            }
            return changes;
        }
        if evidence.by_call {
            if ticket.number >= self.bare.1 {
                self.bare.0 = 0;
            }
            if let Some(method) = ticket.method {
                self.methods.answered(method, ticket.number);
            }
            if let Some(rates) = &mut self.rates {
                rates[lane].first(now);
            }
        }
        let out = self.whole.been_out(now);
        if self.whole.good(evidence) {
            self.recheck |= out >= self.settings.recheck_after && !self.recheck_told;
            self.recheck_told = false;
            changes.push(Change::Restored { lane: None });
        }
        if self.lanes[lane].good(evidence) && changes.is_empty() {
            changes.push(Change::Restored {
                lane: Some(ticket.lane),
            });
        }
        changes
    }

    /// An answer, or the lack of one, that counts against the endpoint.
    pub fn on_fault(&mut self, ticket: &Ticket, fault: &Fault, now: Instant) -> Changes {
        let mut changes = Changes::new();
        let evidence = self.evidence(ticket, now);
        if self.excluded.is_some() {
            self.exclude_again(ticket, now, &mut changes);
            return changes;
        }
        match fault.kind {
            Kind::Refused => self.exclude(Exclusion::Refused, now, &mut changes),
            Kind::Bare403 => self.bare_403(evidence, &mut changes),
            Kind::Strike => self.strikes(ticket.lane, fault.scope, evidence, &mut changes),
            Kind::RateLimited if fault.retry_after.is_none() => {
                self.strikes(ticket.lane, fault.scope, evidence, &mut changes);
            }
            Kind::Quota => self.quota(fault.retry_after, evidence, &mut changes),
            Kind::Unusable => {
                self.hold(
                    self.settings.cooldown,
                    Reason::Unusable,
                    evidence,
                    &mut changes,
                );
            }
            Kind::RateLimited | Kind::Wait => {}
        }
        if !mutant::is(Mutant::RetryAfterIgnored)
            && let (Some(stated), None, false) =
                (fault.retry_after, self.excluded, fault.kind == Kind::Quota)
        {
            let length = if stated.is_zero() {
                self.settings.cooldown
            } else {
                stated.min(self.settings.retry_after_cap)
            };
            self.hold(length, Reason::Stated, evidence, &mut changes);
        }
        // A gate that did not count the fault does not wait for this trial any longer.
        self.abandon(ticket);
        changes
    }

    /// A trial by something larger than one request went well: whatever waits for a trial is closed,
    /// whatever lane it is of (L-6). What is ejected stays so.
    pub fn recover(&mut self, now: Instant) -> Changes {
        let mut changes = Changes::new();
        if matches!(self.endpoint_stand(now), Stand::HalfOpen | Stand::Trial) {
            self.recheck |= !self.recheck_told
                && (self.excluded.is_some()
                    || self.whole.been_out(now) >= self.settings.recheck_after);
            self.recheck_told = false;
            self.excluded = None;
            self.bare.0 = 0;
            self.whole.close(now);
            changes.push(Change::Restored { lane: None });
        }
        for lane in LANES {
            let gate = &mut self.lanes[lane as usize];
            if matches!(
                gate.stand(&self.settings, now),
                GateStand::HalfOpen | GateStand::Trial
            ) {
                gate.close(now);
                if !matches!(changes.first(), Some(Change::Restored { lane: None })) {
                    changes.push(Change::Restored { lane: Some(lane) });
                }
            }
        }
        changes
    }

    /// The endpoint is behind the others for too long: ejected on that alone.
    pub fn drift(&mut self, now: Instant) -> Changes {
        let mut changes = Changes::new();
        if self.settings.enabled && self.excluded.is_none() && self.whole.is_closed() {
            let evidence = Evidence {
                number: self.next,
                next: self.next,
                by_call: true,
                now,
            };
            self.trip_whole(Reason::Drift, evidence, &mut changes);
        }
        changes
    }

    /// The endpoint does not offer a method: it is off there for its time, and nothing else changes
    ///
    pub fn method_off(
        &mut self,
        method: MethodKey,
        reason: MethodReason,
        now: Instant,
    ) -> Option<Change> {
        if mutant::is(Mutant::MissingMethodForgotten) {
            return None;
        }
        let length = self.settings.method_off;
        self.methods
            .turn_off(method, length, reason, self.next, now)
            .map(Change::MethodOff)
    }

    /// True once after the endpoint was out for a long time, at the earliest when its cooldown is
    /// over: its chain is to be checked again.
    pub fn take_recheck(&mut self, now: Instant) -> bool {
        if mutant::is(Mutant::RecheckForgotten) {
            return false;
        }
        if std::mem::take(&mut self.recheck) {
            return true;
        }
        let half_open = matches!(self.endpoint_stand(now), Stand::HalfOpen);
        let out = match &self.excluded {
            Some(excluded) => now.saturating_duration_since(excluded.since),
            None => self.whole.been_out(now),
        };
        let due = half_open && !self.recheck_told && out >= self.settings.recheck_after;
        self.recheck_told |= due;
        due
    }

    /// Its settings.
    #[must_use]
    pub const fn settings(&self) -> &BreakerSettings {
        &self.settings
    }

    pub(super) fn strikes_of(&self, lane: Option<Lane>) -> u32 {
        let own = lane.map_or(0, |lane| self.lanes[lane as usize].strikes());
        own.saturating_add(self.whole.strikes())
    }

    pub(super) const fn bare_403s(&self) -> u32 {
        self.bare.0
    }

    pub(super) fn methods_off(&self, now: Instant) -> Vec<MethodOff> {
        self.methods.all(now).collect()
    }

    fn ticket(&mut self, lane: Lane, method: Option<MethodKey>, sent: Sent) -> Ticket {
        let number = self.next;
        self.next += 1;
        Ticket {
            lane,
            method,
            number,
            sent,
        }
    }

    fn evidence(&self, ticket: &Ticket, now: Instant) -> Evidence {
        Evidence {
            number: ticket.number,
            next: self.next,
            by_call: ticket.sent != Sent::Probe,
            now,
        }
    }

    fn begin_trial(&mut self, lane: Lane, now: Instant) -> bool {
        if self.lane_stand(lane, now) != Stand::HalfOpen {
            return false;
        }
        let number = self.next;
        if let Some(excluded) = &mut self.excluded {
            excluded.trial = Some(Trial { number, began: now });
            return true;
        }
        let whole = self.whole.begin(number, &self.settings, now);
        let lane = self.lanes[lane as usize].begin(number, &self.settings, now);
        whole || lane
    }

    fn strikes(&mut self, lane: Lane, scope: Scope, evidence: Evidence, changes: &mut Changes) {
        if !self.settings.enabled {
            return;
        }
        let settings = self.settings;
        let reason = Reason::Failures;
        let own = lane as usize;
        if !self.whole.is_closed() || !self.lanes[own].is_closed() {
            let whole = self.reopen(None, evidence);
            let lane = self.reopen(Some(lane), evidence);
            changes.extend(whole.or(lane));
        }
        let counted = match scope {
            Scope::Endpoint if self.whole.is_closed() => {
                let heeded = self.whole.heeds(evidence, &settings);
                self.whole.strike(evidence, reason, &settings);
                if heeded {
                    for gate in &mut self.lanes {
                        gate.disturb(&settings, evidence.now);
                    }
                }
                heeded
            }
            Scope::Lane if self.whole.is_closed() && self.lanes[own].is_closed() => {
                let heeded = self.lanes[own].heeds(evidence, &settings);
                self.lanes[own].strike(evidence, reason, &settings);
                if heeded {
                    self.whole.disturb(&settings, evidence.now);
                }
                heeded
            }
            Scope::Endpoint | Scope::Lane => false,
        };
        if !counted {
            return;
        }
        if mutant::is(Mutant::StrikesNeverEject) {
            return;
        }
        if self.whole.strikes() >= settings.threshold {
            self.trip_whole(reason, evidence, changes);
            return;
        }
        for lane in LANES {
            if self.strikes_of(Some(lane)) >= settings.threshold {
                self.trip_lane(lane, reason, evidence, changes);
            }
        }
        if evidence.by_call && self.fails_too_often(own, evidence.now) {
            self.trip_lane(lane, Reason::FailureRate, evidence, changes);
        }
    }

    /// A strike on a gate that is open: out again, for longer, if the gate heeds it.
    fn reopen(&mut self, lane: Option<Lane>, evidence: Evidence) -> Option<Change> {
        let gate = match lane {
            None => &mut self.whole,
            Some(lane) => &mut self.lanes[lane as usize],
        };
        if gate.is_closed() {
            return None;
        }
        let opened = gate.strike(evidence, Reason::Failures, &self.settings)?;
        if lane.is_none() {
            self.recheck_told = false;
        }
        Some(Change::ejected(lane, opened))
    }

    fn trip_whole(&mut self, reason: Reason, evidence: Evidence, changes: &mut Changes) {
        let opened = self.whole.trip(evidence, reason, &self.settings);
        self.whole_opened(opened, changes);
    }

    fn trip_lane(&mut self, lane: Lane, reason: Reason, evidence: Evidence, changes: &mut Changes) {
        let gate = &mut self.lanes[lane as usize];
        if gate.is_closed() {
            let opened = gate.trip(evidence, reason, &self.settings);
            if let Some(rates) = &mut self.rates {
                rates[lane as usize].clear();
            }
            changes.push(Change::ejected(Some(lane), opened));
        }
    }

    fn hold(
        &mut self,
        length: Duration,
        reason: Reason,
        evidence: Evidence,
        changes: &mut Changes,
    ) {
        if self.settings.enabled
            && let Some(opened) = self.whole.hold(length, reason, evidence, &self.settings)
        {
            self.whole_opened(opened, changes);
        }
    }

    fn whole_opened(&mut self, opened: Opened, changes: &mut Changes) {
        self.recheck_told = false;
        if let Some(rates) = &mut self.rates {
            rates.iter_mut().for_each(Sliding::clear);
        }
        changes.push(Change::ejected(None, opened));
    }

    fn fails_too_often(&mut self, lane: usize, now: Instant) -> bool {
        let (Some(rate), Some(rates)) = (self.settings.failure_rate, &mut self.rates) else {
            return false;
        };
        rates[lane].second(now);
        let (good, bad) = rates[lane].counts(now);
        let all = good.saturating_add(bad);
        all >= rate.answers && f64::from(bad) >= rate.share * f64::from(all)
    }

    fn quota(&mut self, stated: Option<Duration>, evidence: Evidence, changes: &mut Changes) {
        if mutant::is(Mutant::QuotaForgotten) {
            return;
        }
        let length = match stated.filter(|stated| !stated.is_zero()) {
            Some(stated) => stated.min(self.settings.quota_reset_cap),
            None if self.whole.heeds(evidence, &self.settings) => {
                if self.whole.closed_for(evidence.now) >= self.settings.reset_after {
                    self.quota_next = self.settings.quota.first;
                }
                let length = self.quota_next;
                self.quota_next = length
                    .saturating_mul(QUOTA_GROWTH)
                    .min(self.settings.quota.max);
                length
            }
            None => return,
        };
        self.hold(length, Reason::Quota, evidence, changes);
    }

    fn bare_403(&mut self, evidence: Evidence, changes: &mut Changes) {
        if evidence.number < self.bare.1 {
            return;
        }
        self.bare = (self.bare.0.saturating_add(1), evidence.next);
        if self.bare.0 >= self.settings.bare_403 {
            self.exclude(Exclusion::Forbidden, evidence.now, changes);
        } else if self.settings.enabled && self.whole.heeds(evidence, &self.settings) {
            self.trip_whole(Reason::Forbidden, evidence, changes);
        }
    }

    fn exclude(&mut self, reason: Exclusion, now: Instant, changes: &mut Changes) {
        if mutant::is(Mutant::RefusalForgotten) {
            return;
        }
        let wait = self.settings.exclusion_trial.map(|trial| trial.first);
        let trial_at = wait.map(|wait| later(now, wait));
        self.recheck_told = false;
        self.excluded = Some(Excluded {
            reason,
            since: now,
            trial_at,
            wait: wait.unwrap_or_default(),
            trial: None,
        });
        changes.push(Change::Excluded { reason, trial_at });
    }

    /// The trial of an excluded endpoint failed; whatever else arrives changes nothing.
    fn exclude_again(&mut self, ticket: &Ticket, now: Instant, changes: &mut Changes) {
        let (Some(excluded), Some(trials)) = (&mut self.excluded, self.settings.exclusion_trial)
        else {
            return;
        };
        if excluded.trial.is_some_and(|t| t.number == ticket.number) {
            excluded.trial = None;
            excluded.wait = excluded.wait.saturating_mul(2).min(trials.max);
            excluded.trial_at = Some(later(now, excluded.wait));
            self.recheck_told = false;
            changes.push(Change::Excluded {
                reason: excluded.reason,
                trial_at: excluded.trial_at,
            });
        }
    }
}
