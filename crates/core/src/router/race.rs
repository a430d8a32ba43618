//! Who is asked at once: who races for the first answer to a read, who gets a
//! transaction that is broadcast.

use super::{
    EndpointId, Router,
    pick::{Health, Query, strategy},
    standing::{Eligible, Standing},
};
use crate::Now;
use smallvec::SmallVec;
use std::sync::Arc;

/// Who may race.
#[derive(Clone, Debug, Default)]
pub(crate) struct Field {
    /// Best first; none, or two at least.
    pub(crate) racers: SmallVec<[EndpointId; 4]>,
    /// They could race but for their chain check.
    pub(crate) unchecked: SmallVec<[EndpointId; 4]>,
    pub(crate) tier: u8,
}

impl Router {
    /// The best `width` endpoints of the lowest tier that can serve: verified, not ejected, with a
    /// token.
    pub(crate) fn field(&mut self, query: &Query<'_>, width: usize, now: Now) -> Field {
        self.look(now);
        let mut standing: Standing = self.standings(query, now).flatten().collect();
        self.able(&mut standing, query, now);
        let mut ready = Standing::new();
        self.ready(&standing, query, false, now, &mut ready);
        let Some(tier) = ready.first().map(|e| e.tier) else {
            return Field::default();
        };
        if self.tier_waits(&standing, tier, query, now).is_some() {
            return Field::default();
        }
        let unchecked = ready.iter().filter(|e| !e.verified).map(|e| e.endpoint);
        let unchecked = unchecked.collect();
        ready.retain(|e| e.verified && !self.looks_first(e, query.plan, now));
        // Whoever came back from an ejection races along: its trial costs nobody time.
        let trial = ready.iter().find(|e| e.is_trial()).map(|e| e.endpoint);
        ready.retain(|e| Eligible::is_closed(e));
        self.ramp(&mut ready);
        let width = width.saturating_sub(usize::from(trial.is_some()));
        let alone = width.min(ready.len()) + usize::from(trial.is_some()) < 2;
        // Where all of them fail, a second one beside the first only doubles the load.
        let all_fail = ready.iter().all(|e| self.health(e, now) == Health::Failing);
        if alone || all_fail {
            // The ordinary first attempt; no strategy's turn is used up.
            return Field {
                racers: SmallVec::new(),
                unchecked,
                tier,
            };
        }
        let settings = Arc::clone(&self.settings);
        let strategy = strategy(query.plan, &settings);
        let candidates = self.candidates(&ready, query.plan, strategy, now);
        let mut order = SmallVec::new();
        self.selector
            .order(strategy, &candidates, &mut self.rng, &mut order, width);
        let racers = order.iter().filter_map(|&i| ready.get(i));
        let racers: SmallVec<_> = racers.map(|e| e.endpoint).chain(trial).collect();
        if let Some(best) = racers.first() {
            self.keep_decision(query.plan, *best, now);
        }
        Field {
            racers,
            unchecked,
            tier,
        }
    }

    /// The best `width` endpoints of the lowest tier that can take a broadcast: verified, closed, with
    /// a token; and who could be among them but for a chain check that is worth waiting for.
    pub(crate) fn audience(&mut self, query: &Query<'_>, width: usize, now: Now) -> Field {
        self.look(now);
        let mut standing: Standing = self.standings(query, now).flatten().collect();
        self.able(&mut standing, query, now);
        let mut ready = Standing::new();
        self.ready(&standing, query, false, now, &mut ready);
        let Some(tier) = ready.first().map(|e| e.tier) else {
            return Field::default();
        };
        let unchecked = ready.iter().filter(|e| !e.verified).map(|e| e.endpoint);
        let unchecked = unchecked
            .filter(|endpoint| self.is_worth_a_check(*endpoint, now))
            .collect();
        ready.retain(|e| e.verified);
        // Whoever came back from an ejection gets it too, beyond the width: others have it anyway.
        let trial = ready.iter().find(|e| e.is_trial()).map(|e| e.endpoint);
        ready.retain(|e| e.is_closed());
        let settings = Arc::clone(&self.settings);
        let strategy = strategy(query.plan, &settings);
        let candidates = self.candidates(&ready, query.plan, strategy, now);
        let mut order = SmallVec::new();
        self.selector
            .order(strategy, &candidates, &mut self.rng, &mut order, width);
        let trial = trial.filter(|_| !order.is_empty());
        let chosen = order.iter().filter_map(|&i| ready.get(i));
        Field {
            racers: chosen.map(|e| e.endpoint).chain(trial).collect(),
            unchecked,
            tier,
        }
    }
}
