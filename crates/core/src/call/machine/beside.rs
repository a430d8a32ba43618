//! A second endpoint beside the first: races and hedges.

use super::{Action, LOOK, Leftover, Machine, Pick, Purpose, Strategy, Tiers};
use crate::mutant::{self, Mutant};
use crate::{EndpointId, Now, method::Racing, router::Router};
use smallvec::SmallVec;
use std::time::{Duration, Instant};

impl Machine {
    /// The first attempt of a read that may race goes to the best few at once.
    pub(super) fn race(&mut self, router: &mut Router, now: Now) -> Option<Action> {
        let wider = mutant::is(Mutant::RaceIsWider);
        let width = usize::from(router.settings().race) + usize::from(wider);
        let may = width >= 2
            && !self.plan.one_at_a_time
            && !self.is_shuffled(router)
            && (self.plan.is_repeatable() && self.plan.method.race == Racing::Yes
                || mutant::is(Mutant::SendsRace));
        if !may {
            return None;
        }
        let field = router.field(&self.query(Purpose::First, Tiers::All), width, now);
        self.warm = field.unchecked;
        let mut racers: SmallVec<[EndpointId; 4]> = SmallVec::new();
        for endpoint in field.racers {
            // Racers of one account may be more than its tokens: then the race narrows.
            if self.begin(router, endpoint, Leftover::Finish, now) {
                racers.push(endpoint);
            }
        }
        match racers.as_slice() {
            [] => return None,
            [_] => self.running[0].leftover = Leftover::Cancel,
            _ => router.tell_race(self.plan.method.id, &racers),
        }
        self.tier = field.tier;
        self.may_resort = false;
        // All of them are the call's first attempt.
        self.rounds.count();
        self.tell_begun(now)
    }

    /// Something runs: wait for it, and copy it where it is slow.
    pub(super) fn watch(&mut self, router: &mut Router, now: Now) -> Action {
        let deadline = self.deadline();
        let at = match self.hedge_at(router) {
            Some(at) if at <= now.mono => match self.hedge(router, now) {
                Some(action) => return action,
                None => self.hedge_from.filter(|_| !self.hedged),
            },
            later => later,
        };
        Action::WaitUntil(at.map_or(deadline, |at| at.min(deadline)))
    }

    /// The copy, if anybody can take it: somebody of the same tier, not ejected, whose chain is
    /// known.
    fn hedge(&mut self, router: &mut Router, now: Now) -> Option<Action> {
        self.hedged = true;
        let settings = self.plan.hedge(router.settings())?;
        let slow = self.running.first()?.ticket.endpoint();
        let row = self.plan.method;
        if !router.may_hedge(row.lane, now) || !self.rounds.may_go_on(&router.settings().retry) {
            return None;
        }
        let query = self.query(Purpose::Copy, Tiers::Only(self.tier));
        let Pick::Ask(choice) = router.pick(&query, now) else {
            return None;
        };
        let to = choice.endpoint;
        if !choice.verified {
            // Its chain check goes first, and the attempt that runs is not left alone for it.
            self.hedged = false;
            self.hedge_from = now.mono.checked_add(settings.min_delay.max(LOOK));
            let timeout = self.plan.attempt_timeout;
            return router.may_warm(to, timeout, now).then_some(Action::Warm {
                endpoint: to,
                timeout,
            });
        }
        if !router.spend_retry(now) || !self.begin(router, to, Leftover::Cancel, now) {
            return None;
        }
        self.rounds.count();
        router.tell_hedge(slow, to, row.id);
        self.tell_begun(now)
    }

    /// A fresh random order for each call leaves no room for races and hedges.
    fn is_shuffled(&self, router: &Router) -> bool {
        let own = self.plan.strategy.as_deref();
        *own.unwrap_or(&router.settings().strategy) == Strategy::Shuffle
    }

    /// When the attempt that runs is slow.
    fn hedge_at(&self, router: &Router) -> Option<Instant> {
        let settings = self.plan.hedge(router.settings())?;
        let may = !self.hedged
            && !self.plan.one_at_a_time
            && !self.is_shuffled(router)
            && self.checking.is_none()
            && self.plan.prefer.is_none()
            && (self.plan.is_repeatable() && self.plan.method.hedge == Racing::Yes
                || mutant::is(Mutant::SendsAreHedged));
        if !may {
            return None;
        }
        let first = self.running.first()?;
        let tail = router.tail(first.ticket.endpoint(), self.plan.method.id);
        let delay = tail.map_or(Duration::ZERO, |tail| tail.mul_f64(settings.tails.max(0.0)));
        let delay = if mutant::is(Mutant::HedgesAtOnce) {
            Duration::ZERO
        } else {
            delay.max(settings.min_delay)
        };
        let at = first.ticket.sent_at().checked_add(delay)?;
        Some(self.hedge_from.map_or(at, |from| from.max(at)))
    }
}
