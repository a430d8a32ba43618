//! One operation: which endpoint it gets next, and when.
//!
//! Each endpoint is tried once before any is tried again; after a full round comes one backoff as
//! calls have it. Only the deadline bounds how often, and how long it waits for an endpoint.

use super::{Fit, Ready, Reservation};
use crate::{EndpointId, Now, router::Router};
use smallvec::SmallVec;
use std::time::{Duration, Instant};

/// How often an operation looks again whether an endpoint that was behind has caught up.
const RELOOK: Duration = Duration::from_secs(1);

/// One operation from its first reservation to its end.
#[derive(Clone, Debug)]
pub struct Course {
    deadline: Instant,
    /// The next reservation is the first of an operation that may be repeated: it measures and
    /// explores.
    primary: bool,
    round: u16,
    /// Who was tried in this round.
    tried: SmallVec<[u32; 8]>,
    /// The backoff ends then.
    resume: Option<Instant>,
}

/// What an operation does next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// Begin an attempt at this endpoint.
    Run(Reservation),
    /// Look again then, or when [`Router::changes`] is another number.
    Wait(Instant),
    /// It is over.
    End(Stop),
}

/// Why an operation gets no endpoint any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Its deadline passed.
    Deadline,
    /// Every endpoint is excluded for good, some of them not by their chain.
    NoUsable,
    /// Every endpoint serves another chain.
    ChainMismatch,
    /// Every endpoint failed it, and another round would begin after the deadline.
    AllFailed,
    /// No endpoint has a token before the deadline.
    Budget {
        /// Until the first one has.
        wait: Duration,
    },
}

impl Course {
    /// An operation that must be over by then; `repeats`: whether it may run more than once.
    #[must_use]
    pub fn new(deadline: Instant, repeats: bool) -> Self {
        Self {
            deadline,
            primary: repeats,
            round: 0,
            tried: SmallVec::new(),
            resume: None,
        }
    }

    /// An attempt, or what has to come before it, failed at the endpoint.
    pub fn failed(&mut self, reservation: &Reservation) {
        self.tried.push(reservation.serial);
    }

    /// What comes next. An endpoint that is known to be below `least`, a block that operations have seen,
    /// gets none (P-8).
    pub fn next(&mut self, router: &mut Router, least: Option<u64>, now: Now) -> Next {
        if now.mono >= self.deadline {
            return Next::End(Stop::Deadline);
        }
        if let Some(resume) = self.resume.filter(|resume| now.mono < *resume) {
            return Next::Wait(resume);
        }
        self.resume = None;
        let field = Field::of(router, least, now);
        if field.lasting() == field.total {
            return Next::End(if field.excluded == 0 {
                Stop::ChainMismatch
            } else {
                Stop::NoUsable
            });
        }
        let fresh = |ready: &&Ready| !self.tried.contains(&ready.serial);
        let mut fresh: SmallVec<[Ready; 16]> = field.ready.iter().filter(fresh).copied().collect();
        if !fresh.is_empty() {
            narrow(&mut fresh);
            let primary = std::mem::take(&mut self.primary);
            return Next::Run(router.reserve(&fresh, primary));
        }
        if !field.ready.is_empty() {
            return self.another_round(router, now);
        }
        match field.soonest {
            Some(at) if at < self.deadline => Next::Wait(at),
            Some(at) if field.waits_for_tokens() => Next::End(Stop::Budget {
                wait: at.saturating_duration_since(now.mono),
            }),
            Some(_) | None => Next::Wait(self.deadline),
        }
    }

    fn another_round(&mut self, router: &mut Router, now: Now) -> Next {
        let wait = router.backoff(self.round);
        self.round = self.round.saturating_add(1);
        match now.mono.checked_add(wait) {
            Some(resume) if resume < self.deadline => {
                self.tried.clear();
                self.resume = Some(resume);
                Next::Wait(resume)
            }
            Some(_) | None => Next::End(Stop::AllFailed),
        }
    }
}

/// How all endpoints stand.
#[derive(Default)]
struct Field {
    total: usize,
    excluded: usize,
    quarantined: usize,
    spent: usize,
    ready: SmallVec<[Ready; 16]>,
    /// When the first of those that cannot be asked now can be.
    soonest: Option<Instant>,
}

impl Field {
    fn of(router: &mut Router, least: Option<u64>, now: Now) -> Self {
        let mut field = Self {
            total: router.len(),
            ..Self::default()
        };
        router.refresh(now);
        let ids = router.ids();
        for fit in ids.map(|id: EndpointId| router.fit(id, now)) {
            let at = match fit {
                Fit::Ready(ready) if router.is_below(ready.endpoint, least, now) => {
                    now.mono.checked_add(RELOOK)
                }
                Fit::Ready(ready) => {
                    field.ready.push(ready);
                    None
                }
                Fit::Spent(wait) => {
                    field.spent += 1;
                    now.mono.checked_add(wait)
                }
                Fit::Cooling(until) => Some(until),
                Fit::Tried => None,
                Fit::Excluded => {
                    field.excluded += 1;
                    None
                }
                Fit::Quarantined => {
                    field.quarantined += 1;
                    None
                }
            };
            field.soonest = match (field.soonest, at) {
                (Some(soonest), Some(at)) => Some(soonest.min(at)),
                (soonest, at) => soonest.or(at),
            };
        }
        field
    }

    /// Those that no time brings back.
    const fn lasting(&self) -> usize {
        self.excluded + self.quarantined
    }

    fn waits_for_tokens(&self) -> bool {
        self.spent > 0 && self.spent + self.lasting() == self.total
    }
}

/// Whoever is fit for everything comes before whoever is ejected for some methods, public endpoints
/// before private ones, and a lower tier before a higher one.
fn narrow(ready: &mut SmallVec<[Ready; 16]>) {
    for good in [|r: &Ready| !r.partly, |r: &Ready| !r.private] {
        if ready.iter().any(good) {
            ready.retain(|r| good(r));
        }
    }
    if let Some(tier) = ready.iter().map(|r| r.tier).min() {
        ready.retain(|r| r.tier == tier);
    }
}
