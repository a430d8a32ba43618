//! The product's router as a subject: the engine of `core` alone, without a socket or a runtime.
//!
//! It carries out what the machines of `core` decide, as the library's driver does: attempts, racers
//! that run on after their call is over, a timer for every attempt, since the world tells nothing of
//! one that never ends, and, in `aside`, everything that belongs to no call. Time is the world's,
//! counted from one instant.

mod aside;
mod sends;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use highwater_core::bucket::{Account, Budget, Rate};
use highwater_core::call::write::Forwarded;
use highwater_core::call::{Action, Leftover, Machine, Outcome, Plan};
use highwater_core::classify::Class;
use highwater_core::heads::HeadSettings;
use highwater_core::identity::Check;
use highwater_core::jsonrpc::{self, Limits, Message, Params};
use highwater_core::judge::of_class;
use highwater_core::learn::Need;
use highwater_core::method::lookup;
use highwater_core::router::{Profile, Router, Ticket};
use highwater_core::select::{Strategy, Weights};
use highwater_core::settings::{HedgeSettings, RetryCount, Settings};
use highwater_core::{AttemptId, ChainId, EndpointId, Now};

use super::subject::{Incoming, Order, Subject};
use super::wire::{Judged, Question, Shown};
use crate::node::Seen;
use crate::scenario::{Choice, Preset, Retries, Routing, Scenario};
use aside::{After, Asides, Waiter};
use sends::Submission;

/// A router between clients and nodes.
#[derive(Debug)]
pub struct Routed {
    router: Router,
    base: Instant,
    genesis: SystemTime,
    routing: Routing,
    calls: BTreeMap<u64, Call>,
    attempts: BTreeMap<u64, Attempt>,
    asides: Asides,
    /// What was sent lately.
    forwarded: Forwarded,
    timers: BTreeMap<u64, Timer>,
    /// Number of the last attempt, question or timer.
    last: u64,
    orders: Vec<Order>,
}

/// A call under way.
#[derive(Debug)]
struct Call {
    machine: Machine,
    id: Bytes,
    question: Rc<Question>,
    /// The raw transaction that it sends.
    submission: Option<Submission>,
    /// What of its attempts' answers can be shown.
    kept: Vec<(AttemptId, Shown)>,
    /// The attempts of this call that are under way, by their numbers here.
    running: Vec<(AttemptId, u64)>,
    /// The earliest moment at which it will be woken.
    wake: Option<Duration>,
}

/// A request under way.
#[derive(Debug)]
struct Attempt {
    endpoint: EndpointId,
    question: Rc<Question>,
    /// The head that was believed when it was sent.
    head: Option<u64>,
    timeout: Duration,
    purpose: Purpose,
}

#[derive(Debug)]
enum Purpose {
    /// For a call, as this attempt of its machine.
    Call(u64, AttemptId),
    /// Its call is over.
    Loser(Box<Ticket>),
    /// A chain check, for those who wait for this flight.
    Check(u64, Check),
    /// A head.
    Head(After),
    /// What an endpoint keeps.
    Capabilities,
}

#[derive(Clone, Copy, Debug)]
enum Timer {
    Call(u64),
    Attempt(u64),
    /// A call's patience with a check that somebody else began.
    Waiter(u64, u64),
    Probe,
}

impl Routed {
    /// The router that a scenario describes, over its nodes.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let budgets = scenario.nodes.iter().map(|(_, budget)| budget);
        let budgets = budgets.map(|budget| {
            budget.map(|budget| Rate {
                rps: budget.rps,
                burst: budget.burst,
            })
        });
        let genesis = Duration::from_secs(scenario.chain.genesis_time);
        Self::over(
            &scenario.router,
            budgets.collect(),
            (ChainId(scenario.chain.chain_id), genesis),
            scenario.seed,
        )
    }

    /// A router over endpoints with these rates on a chain that begins at this Unix time.
    #[must_use]
    pub fn over(
        routing: &Routing,
        rates: Vec<Option<Rate>>,
        (chain, genesis): (ChainId, Duration),
        seed: u64,
    ) -> Self {
        let seats = routing.seats.iter().zip(rates);
        let profiles: Vec<Profile> = seats
            .map(|(seat, rate)| Profile {
                weight: seat.weight,
                tier: seat.tier,
                group: seat.group,
                private: seat.private,
                account: Arc::new(Account::new(
                    "",
                    &Budget {
                        rate,
                        ..Budget::default()
                    },
                )),
                ..Profile::default()
            })
            .collect();
        let settings = Arc::new(settings(routing));
        Self {
            asides: Asides::new(profiles.len()),
            router: Router::new(settings, Some(chain), profiles, seed),
            base: Instant::now(),
            genesis: SystemTime::UNIX_EPOCH + genesis,
            routing: routing.clone(),
            calls: BTreeMap::new(),
            attempts: BTreeMap::new(),
            forwarded: Forwarded::default(),
            timers: BTreeMap::new(),
            last: 0,
            orders: Vec::new(),
        }
    }

    /// The router, to be looked at.
    pub const fn router(&mut self) -> &mut Router {
        &mut self.router
    }

    /// A moment of the world as the router is told it.
    #[must_use]
    pub fn now(&self, at: Duration) -> Now {
        Now {
            mono: self.base + at,
            wall: self.genesis + at,
        }
    }

    fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn wake_at(&mut self, at: Duration, timer: Timer) {
        let token = self.number();
        self.timers.insert(token, timer);
        self.orders.push(Order::Wake { at, token });
    }

    fn moment(&self, instant: Instant) -> Duration {
        instant.saturating_duration_since(self.base)
    }

    /// Polls a call until it waits or is over.
    fn drive(&mut self, number: u64, at: Duration) {
        let now = self.now(at);
        loop {
            let Some(call) = self.calls.get_mut(&number) else {
                return;
            };
            match call.machine.poll(&mut self.router, now) {
                Action::Check { endpoint, timeout } => {
                    if let Some(verdict) = self.join(endpoint, Waiter::Call(number), timeout, at)
                        && let Some(call) = self.calls.get_mut(&number)
                    {
                        call.machine.on_check(endpoint, Some(&verdict));
                    }
                }
                Action::Head { endpoint, timeout } => {
                    self.read_head(endpoint, After::Call(number), timeout, at);
                }
                Action::Warm { endpoint, timeout } => {
                    let _ = self.join(endpoint, Waiter::Nobody, timeout, at);
                }
                Action::Send {
                    endpoint,
                    attempt,
                    timeout,
                } => {
                    let question = Rc::clone(&call.question);
                    let purpose = Purpose::Call(number, attempt);
                    let sent = self.send(endpoint, question, purpose, timeout, at);
                    if let Some(call) = self.calls.get_mut(&number) {
                        call.running.push((attempt, sent));
                    }
                }
                Action::LookUp {
                    endpoint,
                    attempt,
                    timeout,
                } => {
                    let method = "eth_getTransactionByHash";
                    self.look(number, (endpoint, attempt), method, timeout, at);
                }
                Action::Receipt {
                    endpoint,
                    attempt,
                    timeout,
                } => {
                    let method = "eth_getTransactionReceipt";
                    self.look(number, (endpoint, attempt), method, timeout, at);
                }
                Action::WaitUntil(until) => {
                    let until = until.saturating_duration_since(self.base);
                    if call.wake.is_none_or(|planned| until < planned) {
                        call.wake = Some(until);
                        self.wake_at(until, Timer::Call(number));
                    }
                    return;
                }
                Action::Finish(outcome) => {
                    self.finish(number, outcome, at);
                    return;
                }
            }
        }
    }

    fn send(
        &mut self,
        endpoint: EndpointId,
        question: Rc<Question>,
        purpose: Purpose,
        timeout: Duration,
        at: Duration,
    ) -> u64 {
        let number = self.number();
        self.orders.push(Order::Send {
            attempt: number,
            node: endpoint.index(),
            body: question.message.clone(),
        });
        self.wake_at(at.saturating_add(timeout), Timer::Attempt(number));
        let head = self.router.reference_head(self.now(at));
        let attempt = Attempt {
            endpoint,
            question,
            head,
            timeout,
            purpose,
        };
        self.attempts.insert(number, attempt);
        number
    }

    /// Hangs up on a request.
    fn hang_up(&mut self, number: u64) {
        self.attempts.remove(&number);
        self.orders.push(Order::Drop { attempt: number });
    }

    /// An attempt is over, with an answer or without.
    fn settle(&mut self, attempt: Attempt, judged: Judged, at: Duration) {
        let now = self.now(at);
        let endpoint = attempt.endpoint;
        match attempt.purpose {
            Purpose::Call(number, attempt) => {
                let Some(call) = self.calls.get_mut(&number) else {
                    return;
                };
                call.running.retain(|(running, _)| *running != attempt);
                if call.submission.is_some() {
                    self.on_submitted(number, attempt, judged, now);
                } else {
                    call.kept.extend(judged.shown.map(|shown| (attempt, shown)));
                    let settled = judged.settled;
                    call.machine
                        .on_settled(&mut self.router, attempt, &settled, now);
                }
                self.drive(number, at);
            }
            Purpose::Loser(ticket) => self.router.settle(&ticket, &judged.settled, now),
            Purpose::Check(flight, check) => self.on_chain(flight, check, &judged, at),
            Purpose::Head(after) => self.on_head(endpoint, after, &judged, attempt.timeout, at),
            Purpose::Capabilities => self.on_capabilities(endpoint, &judged, now),
        }
    }

    fn finish(&mut self, number: u64, outcome: Outcome, at: Duration) {
        let Some(mut call) = self.calls.remove(&number) else {
            return;
        };
        let now = self.now(at);
        self.remember(&call, now);
        for (ticket, leftover) in call.machine.leftovers() {
            let running = call.running.iter();
            let mut running = running.filter(|(attempt, _)| *attempt == ticket.attempt());
            let Some((_, sent)) = running.next() else {
                continue;
            };
            match leftover {
                Leftover::Finish => {
                    if let Some(attempt) = self.attempts.get_mut(sent) {
                        attempt.purpose = Purpose::Loser(Box::new(ticket));
                    }
                }
                Leftover::Cancel => {
                    let sent = *sent;
                    self.router.cancel(&ticket, now);
                    self.hang_up(sent);
                }
            }
        }
        let shown = match outcome {
            Outcome::Answered(attempt)
            | Outcome::Failed(Some(attempt))
            | Outcome::Found(attempt) => call.kept.iter().find(|(kept, _)| *kept == attempt),
            Outcome::Failed(None)
            | Outcome::ChainMismatch
            | Outcome::NoEndpoint
            | Outcome::BudgetExhausted { .. }
            | Outcome::DeadlineExceeded
            | Outcome::Sent
            | Outcome::Late
            | Outcome::Ambiguous(_) => None,
        };
        self.orders.push(match shown {
            Some((_, shown)) => Order::Answer {
                call: number,
                body: shown.answer(&call.id),
            },
            None => match call.answer(outcome) {
                Some(shown) => Order::Answer {
                    call: number,
                    body: shown.answer(&call.id),
                },
                None => Order::Fail {
                    call: number,
                    why: format!("{outcome:?}"),
                },
            },
        });
    }

    fn chain(&self) -> Option<u64> {
        self.router.chain().map(|chain| chain.0)
    }

    fn told(&mut self) -> Vec<Order> {
        std::mem::take(&mut self.orders)
    }
}

impl Subject for Routed {
    fn asked(&mut self, incoming: &Incoming, at: Duration) -> Vec<Order> {
        let now = self.now(at);
        let message = jsonrpc::parse(&incoming.body, &Limits::default());
        let Ok(Message::Single(Ok(asked))) = message else {
            self.orders.push(Order::Fail {
                call: incoming.call,
                why: "no JSON-RPC request".to_owned(),
            });
            return self.told();
        };
        let row = lookup(&asked.method);
        let standing = self.router.on_call(now);
        let deadline = now.mono + self.routing.deadline;
        let mut plan = Plan::new(row, &asked.method, deadline, self.routing.attempt);
        plan.allowed = self.router.allowed(&asked.method);
        let params = match asked.params {
            Params::Absent | Params::Null => "",
            Params::Array(raw) | Params::Object(raw) | Params::Scalar(raw) => raw,
        };
        plan.need = Need::of_call(row, params);
        let submission = self.submit(row, asked.params, &mut plan);
        let id = self.number();
        let question = Question::new(id, &asked.method, params, self.chain());
        let call = Call {
            machine: Machine::new(plan),
            id: asked.id.map_or_else(Bytes::new, |id| {
                Bytes::copy_from_slice(id.as_str().as_bytes())
            }),
            question: Rc::new(question),
            submission,
            kept: Vec::new(),
            running: Vec::new(),
            wake: None,
        };
        self.calls.insert(incoming.call, call);
        if standing && let Some(next) = self.router.next_probe() {
            self.wake_at(self.moment(next), Timer::Probe);
        }
        self.drive(incoming.call, at);
        self.told()
    }

    fn ended(&mut self, number: u64, seen: &Seen, at: Duration) -> Vec<Order> {
        if let Some(attempt) = self.attempts.remove(&number) {
            let wall = self.now(at).wall;
            let judged = attempt.question.judge(seen, attempt.head, wall);
            self.settle(attempt, judged, at);
        }
        self.told()
    }

    fn wake(&mut self, token: u64, at: Duration) -> Vec<Order> {
        match self.timers.remove(&token) {
            Some(Timer::Call(number)) => {
                if let Some(call) = self.calls.get_mut(&number) {
                    if call.wake.is_some_and(|planned| planned <= at) {
                        call.wake = None;
                    }
                    self.drive(number, at);
                }
            }
            Some(Timer::Attempt(number)) => {
                if let Some(attempt) = self.attempts.remove(&number) {
                    self.orders.push(Order::Drop { attempt: number });
                    self.settle(attempt, Judged::timeout(), at);
                }
            }
            Some(Timer::Waiter(call, number)) => {
                if let Some(endpoint) = self.let_go(call, number) {
                    let late = of_class(Class::Timeout, Some("timeout"));
                    self.on_check(call, endpoint, Some(&late), at);
                }
            }
            Some(Timer::Probe) => self.tick(at),
            None => {}
        }
        self.told()
    }

    fn left(&mut self, number: u64, at: Duration) -> Vec<Order> {
        if let Some(mut call) = self.calls.remove(&number) {
            let now = self.now(at);
            self.remember(&call, now);
            call.machine.abandon(&mut self.router, now);
            for (_, sent) in call.running {
                self.hang_up(sent);
            }
            self.leave_asides(number);
        }
        self.told()
    }
}

/// The engine's options.
#[must_use]
pub fn settings(routing: &Routing) -> Settings {
    let mut settings = match routing.preset {
        Preset::Library => Settings::default(),
        Preset::Gateway => Settings::gateway(),
    };
    settings.strategy = match routing.strategy {
        Choice::Adaptive => Strategy::Adaptive,
        Choice::WeightedSum => Strategy::WeightedSum(Weights::default()),
        Choice::RoundRobin => Strategy::RoundRobin,
        Choice::Random => Strategy::Random,
        Choice::Weighted => Strategy::Weighted,
        Choice::LeastLoaded => Strategy::LeastLoaded,
        Choice::Shuffle => Strategy::Shuffle,
    };
    settings.race = routing.race;
    settings.hedge = routing.hedge.map(|min_delay| HedgeSettings {
        min_delay,
        ..HedgeSettings::default()
    });
    settings.retry.count = match routing.retries {
        Retries::Times(times) => RetryCount::Times(times),
        Retries::Deadline => RetryCount::Deadline,
    };
    settings.breaker.enabled = routing.breaker;
    settings.heads = routing.heads.then(|| HeadSettings {
        block_time: routing.block_time,
        ..HeadSettings::default()
    });
    settings.probe = settings.probe.filter(|_| routing.probes);
    settings.verify_chain_id = routing.verify;
    settings
}
