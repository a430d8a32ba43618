//! What a call asks after its transaction was sent: the look-up of an open fate, and the
//! question for a receipt.
//!
//! Both are reads, with a time of their own. What brings no answer is asked again as any read is, of
//! somebody else first; the first answer to a look-up is the only one.

use super::{
    Action, Asked, Before, Choice, Health, LOOK, Machine, Nobody, Pick, Plan, Privacy, Purpose,
    Query, Reason, Rounds, Router, Settled, State, Step, Ticket, Tiers, UNREACHABLE,
};
use crate::{AttemptId, EndpointId, Now, call::write::LOOK_UP_TIME, method, router::Moment};
use smallvec::SmallVec;
use std::time::{Duration, Instant};

/// The first pause between two questions for a receipt; it doubles twice.
pub(super) const PAUSE: Duration = Duration::from_millis(250);

/// Where the questions after a transaction stand.
#[derive(Debug, Default)]
pub(super) struct Looking {
    /// Their own end.
    until: Option<Instant>,
    /// The one under way.
    aside: Option<Ticket>,
    /// Whether "not here" is believed of whoever is asked.
    believed: bool,
    /// Whom they went to without an answer, or could not.
    asked: SmallVec<[Asked; 4]>,
    /// Endpoints whose chain was checked for them in this round.
    checked: SmallVec<[EndpointId; 2]>,
    rounds: Rounds,
    /// Questions for the receipt so far.
    polls: u32,
    /// The one that brought what was asked for.
    found: Option<AttemptId>,
}

/// Whom to ask after a transaction.
enum Whom {
    Holder(Choice),
    /// Known to be below the reference head: "not here" is not believed of it.
    Behind(Choice),
    Nobody(Nobody),
}

impl Looking {
    pub(super) const fn begin(&mut self, until: Option<Instant>) {
        self.until = until;
    }

    pub(super) const fn until(&self) -> Option<Instant> {
        self.until
    }

    pub(super) const fn found(&self) -> Option<AttemptId> {
        self.found
    }

    pub(super) const fn take_aside(&mut self) -> Option<Ticket> {
        self.aside.take()
    }

    pub(super) fn moved(&mut self, place: impl Fn(EndpointId) -> EndpointId) {
        if let Some(ticket) = &mut self.aside {
            ticket.moved_to(place(ticket.endpoint()));
        }
        self.checked.clear();
        for asked in &mut self.asked {
            asked.endpoint = place(asked.endpoint);
        }
        self.asked
            .retain(|asked| asked.endpoint != EndpointId::GONE);
    }

    fn query<'a>(&self, plan: &'a Plan, asked: &'a [Asked], purpose: Purpose) -> Query<'a> {
        Query {
            plan,
            asked,
            looked: &[],
            round: self.rounds.number(),
            purpose,
            tiers: Tiers::All,
            may_resort: false,
            waited: self.rounds.waited(),
            once_each: false,
        }
    }

    /// This round asks it no more.
    fn pass_over(&mut self, endpoint: EndpointId) {
        let round = self.rounds.number();
        match self.asked.iter_mut().find(|a| a.endpoint == endpoint) {
            Some(asked) => asked.round = round,
            None => self.asked.push(Asked {
                endpoint,
                round,
                running: false,
            }),
        }
    }
}

impl Machine {
    /// The look-up, or the question for the receipt, ended. `ours`: the answer is our transaction,
    /// or its receipt, by its hash.
    pub fn on_lookup(
        &mut self,
        router: &mut Router,
        attempt: AttemptId,
        settled: &Settled,
        ours: bool,
        now: Now,
    ) {
        let Some(sending) = &mut self.sending else {
            return;
        };
        let looking = &mut sending.looking;
        let Some(ticket) = looking.aside.take_if(|t| t.attempt() == attempt) else {
            return;
        };
        router.settle(&ticket, settled, now);
        if matches!(self.state, State::Done(_)) {
            return;
        }
        // "Not here" from below the reference head is as good as no answer.
        let answered = match settled {
            Settled::Result { .. } | Settled::Terminal { .. } => looking.believed,
            Settled::Failed { .. } => false,
        };
        let polls = sending.phase == Reason::Receipt;
        if ours {
            looking.found = Some(attempt);
            sending.seen.push(attempt);
            let step = if polls {
                sending.writes.on_receipt(true)
            } else {
                sending.writes.on_lookup(true)
            };
            self.take_step(router, step, now);
        } else if polls {
            self.ask_later(now);
        } else if answered {
            let step = sending.writes.on_lookup(false);
            self.take_step(router, step, now);
        } else {
            looking.pass_over(ticket.endpoint());
            self.state = State::Pick(Reason::LookUp);
        }
    }

    /// Asks somebody whether the transaction is there, or mined.
    pub(super) fn look(&mut self, router: &mut Router, reason: Reason, now: Now) -> Option<Action> {
        let plan = self.question(router, reason);
        loop {
            let (choice, believed) = match self.holder(router, &plan, reason, now) {
                Whom::Holder(choice) => (choice, true),
                Whom::Behind(choice) => (choice, false),
                Whom::Nobody(nobody) => {
                    self.asks_nobody(router, reason, nobody, now);
                    return None;
                }
            };
            let endpoint = choice.endpoint;
            let looking = &mut self.sending.as_mut()?.looking;
            looking.believed = believed;
            if !choice.verified {
                if looking.checked.contains(&endpoint) {
                    looking.pass_over(endpoint);
                    continue;
                }
                looking.checked.push(endpoint);
                return self.check(router, endpoint, Before::Chain, reason, now);
            }
            if reason == Reason::LookUp && !self.may_look(router, choice.health, now) {
                return None;
            }
            if let Some(action) = self.begin_look(router, &plan, endpoint, reason, now) {
                return Some(action);
            }
            // Somebody else took its token.
            self.sending.as_mut()?.looking.pass_over(endpoint);
        }
    }

    /// The question as a read of its own.
    fn question(&self, router: &Router, reason: Reason) -> Plan {
        let name = match reason {
            Reason::Receipt => "eth_getTransactionReceipt",
            Reason::First | Reason::Failed | Reason::Confirm | Reason::LookUp => {
                "eth_getTransactionByHash"
            }
        };
        let mut plan = Plan::new(method::lookup(name), name, self.deadline(), LOOK_UP_TIME);
        plan.allowed = router.allowed(name);
        plan.only = self.plan.only;
        // A hash that nobody else knows is private too.
        plan.privacy = match self.plan.privacy {
            Privacy::Private => Privacy::Private,
            Privacy::Any | Privacy::Public => Privacy::Any,
        };
        plan
    }

    fn begin_look(
        &mut self,
        router: &mut Router,
        plan: &Plan,
        endpoint: EndpointId,
        reason: Reason,
        now: Now,
    ) -> Option<Action> {
        let attempt = AttemptId(self.attempts);
        let timeout = self.timeout(now).min(LOOK_UP_TIME);
        let ticket = router.begin(endpoint, attempt, plan, timeout, now)?;
        let looking = &mut self.sending.as_mut()?.looking;
        self.attempts = self.attempts.saturating_add(1);
        looking.rounds.count();
        looking.aside = Some(ticket);
        self.state = State::Busy;
        Some(match reason {
            Reason::Receipt => Action::Receipt {
                endpoint,
                attempt,
                timeout,
            },
            Reason::First | Reason::Failed | Reason::Confirm | Reason::LookUp => Action::LookUp {
                endpoint,
                attempt,
                timeout,
            },
        })
    }

    /// A holder: at or past the reference head; for a look-up somebody who was not sent the
    /// transaction, if there is one, and anybody at all where no holder can be asked.
    fn holder(&self, router: &mut Router, plan: &Plan, reason: Reason, now: Now) -> Whom {
        let Some(sending) = &self.sending else {
            return Whom::Nobody(Nobody::default());
        };
        let looking = &sending.looking;
        if reason == Reason::LookUp {
            let sent = self.asked.iter().map(|asked| Asked {
                round: UNREACHABLE,
                running: false,
                ..*asked
            });
            let others: SmallVec<[Asked; 8]> = sent.chain(looking.asked.iter().copied()).collect();
            if let Pick::Ask(choice) =
                router.pick(&looking.query(plan, &others, Purpose::Confirm), now)
            {
                return Whom::Holder(choice);
            }
        }
        let nobody = match router.pick(&looking.query(plan, &looking.asked, Purpose::Confirm), now)
        {
            Pick::Ask(choice) => return Whom::Holder(choice),
            Pick::Nobody(nobody) => nobody,
        };
        if reason == Reason::Receipt {
            return Whom::Nobody(nobody);
        }
        // Whoever was last heard of below may have it all the same, and showing it is proof.
        if let Pick::Ask(choice) =
            router.pick(&looking.query(plan, &looking.asked, Purpose::Next), now)
        {
            return Whom::Behind(choice);
        }
        // As the first attempt of any read, where everybody is ejected.
        if nobody.all_ejected && looking.asked.is_empty() {
            let resort = Query {
                may_resort: true,
                ..looking.query(plan, &[], Purpose::First)
            };
            if let Pick::Ask(choice) = router.pick(&resort, now)
                && choice.resort
            {
                return Whom::Holder(choice);
            }
        }
        Whom::Nobody(nobody)
    }

    /// Whether a look-up may go to an endpoint in this state now. The first one is free, as a call's
    /// first attempt is; those after it are counted, and go by the budget for retries, for which
    /// they wait.
    fn may_look(&mut self, router: &mut Router, health: Health, now: Now) -> bool {
        let retry = router.settings().retry;
        let until = self.deadline();
        let Some(sending) = &mut self.sending else {
            return false;
        };
        let looking = &mut sending.looking;
        let is_first = looking.asked.is_empty();
        let is_free = looking.rounds.number() == 0 && health == Health::Good;
        let may_go_on = looking.rounds.may_go_on(&retry);
        if may_go_on && (is_first || is_free || router.spend_retry(now)) {
            return true;
        }
        let at = next_retry(router, now).filter(|_| may_go_on);
        match at.filter(|at| looking.rounds.may_wait(&retry, *at, until, now.mono)) {
            Some(at) => self.state = State::Waiting(at, Reason::LookUp),
            None => {
                if may_go_on {
                    router.tell_budget(None);
                }
                let step = sending.writes.on_lookup(false);
                self.take_step(router, step, now);
            }
        }
        false
    }

    /// Nobody can be asked now.
    fn asks_nobody(&mut self, router: &mut Router, reason: Reason, nobody: Nobody, now: Now) {
        if reason == Reason::Receipt {
            self.ask_later(now);
            return;
        }
        let until = self.deadline();
        let retry = router.settings().retry;
        let nobody = or_soon(nobody, now);
        let Some(sending) = &mut self.sending else {
            return;
        };
        let looking = &mut sending.looking;
        match looking
            .rounds
            .step(&retry, &nobody, until, router.rng(), now.mono)
        {
            Step::Round(at) => {
                looking.checked.clear();
                self.state = State::Waiting(at, Reason::LookUp);
            }
            Step::Wait(at) => self.state = State::Waiting(at, Reason::LookUp),
            Step::Stop => {
                let step = sending.writes.on_lookup(false);
                self.take_step(router, step, now);
            }
        }
    }

    /// The receipt is not there yet.
    fn ask_later(&mut self, now: Now) {
        let Some(sending) = &mut self.sending else {
            return;
        };
        let looking = &mut sending.looking;
        looking.asked.clear();
        looking.checked.clear();
        let pause = PAUSE.saturating_mul(1 << looking.polls.min(2));
        looking.polls = looking.polls.saturating_add(1);
        let at = now.mono.checked_add(pause).unwrap_or(now.mono);
        self.state = State::Waiting(at, Reason::Receipt);
    }
}

/// Where it is not known when somebody can be asked, since another call tries that one just now:
/// soon.
pub(super) fn or_soon(nobody: Nobody, now: Now) -> Nobody {
    let waits = nobody.on_trial && nobody.token.is_none() && nobody.ejection.is_none();
    let soon = now.mono.checked_add(LOOK).filter(|_| waits);
    let soon = soon.map(|at| Moment { at, asked: false });
    Nobody {
        ejection: nobody.ejection.or(soon),
        ..nobody
    }
}

/// When the budget for retries may have one again, and not so soon that others who wait for it make
/// this a busy wait. `None`: never.
pub(super) fn next_retry(router: &Router, now: Now) -> Option<Instant> {
    let soonest = now.mono.checked_add(LOOK)?;
    Some(router.next_retry(now)?.max(soonest))
}
