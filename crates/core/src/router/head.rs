//! Heads, probes and drift.

use super::{Identity, Router, settle::is_unreachable};
use crate::mutant::{self, Mutant};
use crate::{
    EndpointId, Now,
    breaker::{Meaning, MethodKey, MethodReason, Stand},
    call::{Delivery, Plan},
    classify::{Class, Verdict},
    event::Event,
    heads::{HeadsView, Holds, Source},
    learn::Capabilities,
    method::{Lane, lookup},
};
use smallvec::SmallVec;
use std::time::{Duration, Instant};

/// Least time between two looks at a head for the sake of a call.
const RELOOK: Duration = Duration::from_millis(200);

impl Router {
    /// A head was read.
    pub fn on_head(&mut self, endpoint: EndpointId, source: Source, height: u64, now: Now) {
        let Some(heads) = &mut self.heads else { return };
        self.heads_read += 1;
        let seen = heads.observe(endpoint, source, height, now.mono);
        if seen.moved {
            self.operations.change();
        }
        if seen.moved || !seen.trusted {
            self.events.push(|| Event::Head {
                endpoint,
                height,
                trusted: seen.trusted,
            });
        }
        self.open_drifted(now);
    }

    /// Whether a head that was asked for at this moment says nothing new: a later one was higher. An
    /// answer that took longer than the next one is no fall.
    pub(super) fn is_outdated(&self, endpoint: EndpointId, height: u64, sent: Instant) -> bool {
        let last = self.heads.as_ref().and_then(|heads| heads.last(endpoint));
        let late = last.is_some_and(|(last, at)| height < last && sent < at);
        late && !mutant::is(Mutant::LateHeadsCount)
    }

    /// Endpoints too far behind for too long get no calls, without an error of theirs.
    fn open_drifted(&mut self, now: Now) {
        let Some(heads) = &self.heads else { return };
        if mutant::is(Mutant::DriftTolerated) {
            return;
        }
        let drifted: SmallVec<[EndpointId; 4]> = heads.drifted(now.mono).collect();
        for endpoint in drifted {
            let Some(known) = self.endpoints.get_mut(endpoint.index()) else {
                continue;
            };
            let changes = known.circuit.drift(now.mono);
            self.tell_changes(endpoint, changes);
        }
    }

    /// The head that the pool believes.
    #[must_use]
    pub fn reference_head(&self, now: Now) -> Option<u64> {
        self.heads.as_ref()?.reference(now.mono)
    }

    /// Whether an endpoint holds a block.
    #[must_use]
    pub fn holds(&self, endpoint: EndpointId, height: u64, now: Now) -> Holds {
        self.heads.as_ref().map_or(Holds::Unknown, |heads| {
            heads.holds(endpoint, height, now.mono)
        })
    }

    /// Whether the chain may have made a block by `end`; with head checks off nobody knows.
    pub(crate) fn may_reach(&self, height: u64, end: Instant, now: Now) -> bool {
        let heads = self.heads.as_ref();
        heads.is_none_or(|heads| heads.may_reach(height, end, now.mono))
    }

    /// The heads as they are shown; `None` where head checks are off.
    #[must_use]
    pub fn heads_view(&self, now: Now) -> Option<HeadsView> {
        self.heads.as_ref().map(|heads| heads.view(now.mono))
    }

    /// Whether an endpoint is not known to be at the head that the pool believes.
    pub(crate) fn is_below_reference(&self, endpoint: EndpointId, now: Now) -> bool {
        let Some(heads) = &self.heads else {
            return false;
        };
        let reference = heads.reference(now.mono);
        reference.is_some_and(|reference| heads.head(endpoint, now.mono) < Some(reference))
    }

    /// Whether an endpoint is to be asked for its head before it gets a call: one of a tier that the
    /// probe timer leaves alone, when calls move there. At most once in the time in which a
    /// head stays fresh, whatever comes of it.
    #[must_use]
    pub fn wants_head(&self, endpoint: EndpointId, now: Now) -> bool {
        let (Some(heads), Some(known)) = (&self.heads, self.endpoints.get(endpoint.index())) else {
            return false;
        };
        if known.profile.tier <= self.base_tier || self.settings.probe.is_none() {
            return false;
        }
        let stale = heads.settings().stale;
        heads.head(endpoint, now.mono).is_none()
            && !known.head_asked_within(stale, now.mono)
            && known.tells_head(now.mono)
    }

    /// Whether the head of an endpoint that was below the block is to be read again before this call
    /// goes there: what was read is old, and what such a call is told from below the block is not
    /// believed (P-24). A block proves itself. Not for every call of a burst.
    pub(crate) fn rereads_head(&self, endpoint: EndpointId, plan: &Plan, now: Now) -> bool {
        if mutant::is(Mutant::HeadsAreNotReread) {
            return false;
        }
        let unproven = match plan.method.lane {
            Lane::State | Lane::Range | Lane::Trace => true,
            Lane::Light | Lane::Write | Lane::Stream | Lane::Denied => plan.is_strict(),
        };
        let known = self.endpoints.get(endpoint.index());
        let old = known.is_some_and(|known| {
            !known.head_asked_within(RELOOK, now.mono) && known.tells_head(now.mono)
        });
        unproven && old
    }

    /// Whether to ask an endpoint for `eth_capabilities`: once, after a reconnect, and again when
    /// what it said is forgotten. Only beside a probe.
    #[must_use]
    pub fn wants_capabilities(&self, endpoint: EndpointId, now: Now) -> bool {
        let key = MethodKey::of("eth_capabilities");
        self.endpoints.get(endpoint.index()).is_some_and(|known| {
            known.learned.wants_capabilities(now.mono)
                && known.profile.methods.allows("eth_capabilities")
                && matches!(
                    known.circuit.stand(Lane::Light, key, now.mono),
                    Stand::Closed { .. }
                )
        })
    }

    /// What an endpoint said of itself; `None`: nothing that can be read, or it does not know the
    /// method. Neither is a sample nor a strike: whoever asked it just probed it.
    pub fn on_capabilities(&mut self, endpoint: EndpointId, said: Option<&Capabilities>, now: Now) {
        let Some(known) = self.endpoints.get_mut(endpoint.index()) else {
            return;
        };
        match said {
            Some(said) => {
                known.counters.good(lookup("eth_capabilities").id);
                known.learned.on_capabilities(said, now.mono);
            }
            None => known.learned.on_no_capabilities(now.mono),
        }
        if let Some(height) = said.and_then(|said| said.head) {
            self.on_head(endpoint, Source::Capabilities, height, now);
        }
    }

    /// Nobody drives the probe timer any more: the next call finds it standing and says so.
    pub const fn stop_probes(&mut self) {
        self.probes.stop();
    }

    /// When the probe timer is to be looked at again; `None`: not before the next call.
    #[must_use]
    pub fn next_probe(&self) -> Option<Instant> {
        self.settings.probe?;
        self.probes.next()
    }

    /// The probe timer's moment has come: whom to ask for its head now, each after its chain check
    /// where one is due. `active` is what the owner says of itself.
    pub fn probe_tick(&mut self, active: bool, now: Now) -> SmallVec<[EndpointId; 8]> {
        let Some(settings) = self.settings.probe else {
            return SmallVec::new();
        };
        if mutant::is(Mutant::ProbesNever) {
            self.probes.stop();
            return SmallVec::new();
        }
        if !self.probes.tick(&settings, active, &mut self.rng, now.mono) {
            return SmallVec::new();
        }
        if mutant::is(Mutant::ProbesAreActivity) {
            self.probes.on_call(now.mono);
        }
        self.probe_targets(now)
    }

    /// The owner became active; true where a probe tick is due at once.
    pub fn on_active(&mut self, now: Now) -> bool {
        match self.settings.probe {
            Some(settings) => self.probes.on_active(&settings, now.mono),
            None => false,
        }
    }

    /// Whom a probe would ask now: not the ejected, not those without the method or without a
    /// token, nobody above the tier in use.
    pub fn probe_targets(&mut self, now: Now) -> SmallVec<[EndpointId; 8]> {
        self.look(now);
        let key = MethodKey::of("eth_blockNumber");
        let mut targets: SmallVec<[(u8, EndpointId); 8]> = SmallVec::new();
        let mut in_use = None;
        for id in self.ids() {
            let known = &mut self.endpoints[id.index()];
            known.refresh_check(now.mono);
            let usable = !matches!(known.check.identity(), Identity::Quarantined { .. })
                && match known.circuit.stand(Lane::Light, key, now.mono) {
                    Stand::Closed { .. } | Stand::HalfOpen => true,
                    Stand::Trial
                    | Stand::Open { .. }
                    | Stand::MethodOff { .. }
                    | Stand::Excluded { .. } => false,
                }
                && known.profile.account.available(now);
            if !usable {
                continue;
            }
            let tier = known.profile.tier;
            in_use = Some(in_use.map_or(tier, |lowest: u8| lowest.min(tier)));
            if known.profile.methods.allows("eth_blockNumber") {
                targets.push((tier, id));
            }
        }
        targets
            .into_iter()
            .filter(|(tier, _)| Some(*tier) == in_use)
            .map(|(_, id)| id)
            .collect()
    }

    /// Whom to ask for its head beside the calls, because one voice alone has shown the newest blocks:
    /// they count when a second one has shown them, and until the next probe reads would stay
    /// behind. The best of the other voices that is not being asked. `None`: nobody leads by more than
    /// half of what an endpoint may be behind, there is nobody else to ask, or probes are off.
    pub fn second_voice(&mut self, now: Now) -> Option<EndpointId> {
        self.settings.probe?;
        let heads = self.heads.as_ref()?;
        let reference = heads.reference(now.mono)?;
        let trusted = |id: EndpointId| Some((heads.trusted(id, now.mono)?, id));
        let (height, leader) = self.ids().filter_map(trusted).max()?;
        if height.saturating_sub(reference) <= heads.max_lag() / 2 {
            return None;
        }
        let (voice, stale) = (heads.voice(leader), heads.settings().stale);
        self.head_tellers(now).into_iter().find(|id| {
            self.voice(*id) != voice && !self.endpoint(*id).head_under_way(stale, now.mono)
        })
    }

    /// Those that may be asked for their head beside the calls, the best first: checked, closed and
    /// with a token, in the lowest tier that has any.
    fn head_tellers(&mut self, now: Now) -> SmallVec<[EndpointId; 8]> {
        self.look(now);
        let row = lookup("eth_blockNumber");
        let key = MethodKey::of(row.name);
        let plan = Plan::new(row, row.name, now.mono, Duration::ZERO);
        let mut fit: SmallVec<[(u8, f64, EndpointId); 8]> = SmallVec::new();
        for id in self.ids() {
            let known = self.endpoint(id);
            let stand = known.circuit.stand(Lane::Light, key, now.mono);
            if known.check.identity() == Identity::Verified
                && matches!(stand, Stand::Closed { .. })
                && known.profile.account.available(now)
                && known.profile.methods.allows(row.name)
            {
                let tier = known.profile.tier;
                fit.push((tier, self.parts(id, &plan, now).1.total, id));
            }
        }
        fit.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        let lowest = fit.first().map(|(tier, ..)| *tier);
        fit.retain(|(tier, ..)| Some(*tier) == lowest);
        fit.into_iter().map(|(.., id)| id).collect()
    }

    /// A probe answered with a head: it cools the error rate and touches no latency.
    pub fn on_probe(&mut self, endpoint: EndpointId, height: u64, now: Now) {
        let Some(known) = self.endpoints.get_mut(endpoint.index()) else {
            return;
        };
        known.counters.good(lookup("eth_blockNumber").id);
        known.head_asked = Some(now.mono);
        let sent = known.head_sent;
        known.books.cool();
        let ticket = known.circuit.begin_probe();
        let changes = known.circuit.on_good(&ticket, now.mono);
        self.tell_changes(endpoint, changes);
        if !sent.is_some_and(|sent| self.is_outdated(endpoint, height, sent)) {
            self.on_head(endpoint, Source::Probe, height, now);
        }
    }

    /// A probe failed: it pushes the tail.
    pub fn on_probe_failed(
        &mut self,
        endpoint: EndpointId,
        verdict: &Verdict,
        meaning: Meaning,
        timeout: Duration,
        now: Now,
    ) {
        let Some(known) = self.endpoints.get_mut(endpoint.index()) else {
            return;
        };
        known
            .counters
            .fail(lookup("eth_blockNumber").id, verdict.class);
        known.head_asked = Some(now.mono);
        if is_unreachable(verdict, Delivery::MaybeSent) {
            known.unreachable();
        }
        if verdict.class == Class::RateLimited {
            known.profile.account.on_rate_limited(now.mono, now.mono);
        }
        // A node without the method is left alone and not called ill (lessons P5).
        if let Some(reason) = MethodReason::of(verdict) {
            let key = MethodKey::of("eth_blockNumber");
            let off = known.circuit.method_off(key, reason, now.mono);
            self.tell_changes(endpoint, off);
            return;
        }
        if !verdict.counts_against_endpoint {
            return;
        }
        known.books.push_tail(timeout.as_secs_f64() * 1e3);
        self.on_aside_failed(endpoint, meaning, now);
    }

    /// A request that belongs to no call failed.
    pub(super) fn on_aside_failed(&mut self, endpoint: EndpointId, meaning: Meaning, now: Now) {
        let Meaning::Fault(fault) = meaning else {
            return;
        };
        let Some(known) = self.endpoints.get_mut(endpoint.index()) else {
            return;
        };
        let ticket = known.circuit.begin_probe();
        let changes = known.circuit.on_fault(&ticket, &fault, now.mono);
        self.tell_changes(endpoint, changes);
    }
}
