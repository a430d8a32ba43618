//! One budget, shared by all endpoints and chains that name it.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use super::{
    learned::{LearnSettings, Learned},
    period::{Every, Meter, Period, Spent},
    rate::Rate,
    tokens::Tokens,
};
use crate::{
    Now,
    method::{Descriptor, MethodId},
};

/// What an account may spend.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// The rate; `None`: no limit until one is learned.
    pub rate: Option<Rate>,
    /// Allowances of compute units, at most one a day and one a month: of two of a kind the first
    /// counts.
    pub periods: Vec<Period>,
    /// How limits are learned; `None`: they are not.
    pub learn: Option<LearnSettings>,
    /// `budget = false`: no limit of any kind holds, compute units are still counted.
    pub off: bool,
}

impl Default for Budget {
    /// No rate and no allowance; limits are learned.
    fn default() -> Self {
        Self {
            rate: None,
            periods: Vec::new(),
            learn: Some(LearnSettings::default()),
            off: false,
        }
    }
}

/// A budget and what is left of it. One for all endpoints with the same `account`, one per endpoint
/// where none is named; share it in an `Arc`.
#[derive(Debug)]
pub struct Account {
    name: Box<str>,
    budget: Budget,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// What was spent before a restart has been added.
    restored: bool,
    tokens: Option<Tokens>,
    learned: Option<Learned>,
    meters: [Meter; 2],
}

/// What snapshots and pages show of an account.
#[derive(Clone, Debug, PartialEq)]
pub struct AccountView {
    /// Its name.
    pub name: String,
    /// The rate that holds now; none when unlimited.
    pub rate: Option<Rate>,
    /// The learned limit in requests a second, whether or not it is the lower one.
    pub learned_rps: Option<f64>,
    /// Whole tokens left; none when unlimited.
    pub tokens: Option<u64>,
    /// Compute units of the running day and month.
    pub spent: Vec<Spent>,
}

impl Account {
    /// An account of which nothing is spent.
    #[must_use]
    pub fn new(name: &str, budget: &Budget) -> Self {
        let meter = |every| {
            let period = budget.periods.iter().find(|p| p.every == every);
            Meter::new(every, period.copied())
        };
        Self {
            name: name.into(),
            budget: budget.clone(),
            state: Mutex::new(State {
                restored: false,
                tokens: budget.rate.map(Tokens::full),
                learned: budget.learn.map(Learned::new),
                meters: [meter(Every::Day), meter(Every::Month)],
            }),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether another account has the same name and may spend the same.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        self.name == other.name && self.budget == other.budget
    }

    /// Whether one request may be sent now.
    #[must_use]
    pub fn available(&self, now: Now) -> bool {
        self.wait(now).is_zero()
    }

    /// Time until one request may be sent: until there is a token and no allowance is spent. Zero
    /// when one may be sent now.
    #[must_use]
    pub fn wait(&self, now: Now) -> Duration {
        if self.budget.off {
            return Duration::ZERO;
        }
        let mut state = self.state();
        let token = state
            .tokens(self.budget.rate, now.mono)
            .map_or(Duration::ZERO, |tokens| tokens.wait(now.mono));
        token.max(state.until_reset(now.wall))
    }

    /// Spends one request, if it may be sent. Nothing is spent where it may not.
    pub fn take(&self, now: Now) -> bool {
        if self.budget.off {
            return true;
        }
        self.state().take(self.budget.rate, now)
    }

    /// Whole tokens left; none when unlimited.
    #[must_use]
    pub fn tokens(&self, now: Now) -> Option<u64> {
        if self.budget.off {
            return None;
        }
        let mut state = self.state();
        let spent = !state.until_reset(now.wall).is_zero();
        let tokens = state
            .tokens(self.budget.rate, now.mono)
            .map(|tokens| tokens.whole(now.mono));
        if spent { Some(0) } else { tokens }
    }

    /// Counts the compute units of a request that was sent.
    pub fn spend_units(&self, method: MethodId, units: u32, wall: SystemTime) {
        self.state().spend_units(method, units, wall);
    }

    /// Spends one request of a method and counts its compute units, if it may be sent: what
    /// [`Self::take`] and [`Self::spend_units`] do, as one step.
    pub fn take_for(&self, row: &Descriptor, now: Now) -> bool {
        let mut state = self.state();
        let may = self.budget.off || state.take(self.budget.rate, now);
        if may {
            state.spend_units(row.id, row.weight, now.wall);
        }
        may
    }

    /// Spent share, 0 to 1, of the allowance that is nearest to its end.
    #[must_use]
    pub fn burn(&self, wall: SystemTime) -> f64 {
        if self.budget.off {
            return 0.0;
        }
        let [day, month] = &mut self.state().meters;
        day.burn(wall).max(month.burn(wall))
    }

    /// A request sent at `sent` was refused as one too many.
    pub fn on_rate_limited(&self, sent: Instant, now: Instant) {
        if self.budget.off {
            return;
        }
        let mut state = self.state();
        if let Some(learned) = &mut state.learned {
            learned.refused(sent, now);
            state.tokens(self.budget.rate, now);
        }
    }

    /// What was spent, to be kept across restarts.
    #[must_use]
    pub fn totals(&self, wall: SystemTime) -> Vec<Spent> {
        self.state().totals(wall)
    }

    /// Adds what was spent before a restart; what is of an earlier period is left out. Only the first
    /// time counts, so that several pools may restore an account that they share.
    pub fn restore_totals(&self, totals: &[Spent], wall: SystemTime) {
        let mut state = self.state();
        if std::mem::replace(&mut state.restored, true) {
            return;
        }
        for total in totals {
            for meter in &mut state.meters {
                meter.restore(total, wall);
            }
        }
    }

    /// What snapshots and pages show.
    #[must_use]
    pub fn view(&self, now: Now) -> AccountView {
        let tokens = self.tokens(now);
        let mut state = self.state();
        let learned_rps = state.learned_rps(now.mono);
        AccountView {
            name: self.name.to_string(),
            rate: if self.budget.off {
                None
            } else {
                effective(self.budget.rate, learned_rps)
            },
            learned_rps,
            tokens,
            spent: state.totals(now.wall),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Counters stay usable whatever panicked while it held them.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(&mut self, set: Option<Rate>, now: Now) -> bool {
        if !self.until_reset(now.wall).is_zero() {
            return false;
        }
        let may = self
            .tokens(set, now.mono)
            .is_none_or(|tokens| tokens.take(now.mono));
        if let (true, Some(learned)) = (may, &mut self.learned) {
            learned.sent(now.mono);
        }
        may
    }

    fn spend_units(&mut self, method: MethodId, units: u32, wall: SystemTime) {
        for meter in &mut self.meters {
            meter.spend(method, u64::from(units), wall);
        }
    }

    /// The bucket at the rate that holds now; none when unlimited.
    fn tokens(&mut self, set: Option<Rate>, now: Instant) -> Option<&mut Tokens> {
        let learned = self.learned_rps(now);
        match effective(set, learned) {
            None => self.tokens = None,
            Some(rate) => self
                .tokens
                .get_or_insert_with(|| Tokens::one(rate, now))
                .set_rate(rate, now),
        }
        self.tokens.as_mut()
    }

    fn learned_rps(&mut self, now: Instant) -> Option<f64> {
        self.learned.as_mut().and_then(|learned| learned.rps(now))
    }

    fn until_reset(&mut self, wall: SystemTime) -> Duration {
        let [day, month] = &mut self.meters;
        day.wait(wall).max(month.wait(wall))
    }

    fn totals(&mut self, wall: SystemTime) -> Vec<Spent> {
        self.meters.iter_mut().map(|m| m.total(wall)).collect()
    }
}

/// The lower of the rate that is set and the learned one.
fn effective(set: Option<Rate>, learned: Option<f64>) -> Option<Rate> {
    match (set, learned) {
        (Some(set), Some(rps)) => Some(set.lowered_to(rps)),
        (Some(set), None) => Some(set),
        (None, learned) => learned.map(Rate::of),
    }
}

#[cfg(test)]
mod tests;
