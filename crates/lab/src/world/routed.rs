//! The product's router as a subject: the engine of `core` alone, without a socket or a runtime.
//!
//! It carries out what the machines of `core` decide, as the library's driver does: chain checks
//! that are shared by the calls that wait for them, warm checks, probes, racers that run on after
//! their call is over, and a timer for every attempt, since the world tells nothing of one that
//! never ends. Time is the world's, counted from one instant.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use highwater_core::bucket::{Account, Budget, Rate};
use highwater_core::call::{Action, Leftover, Machine, Outcome, Plan, Settled};
use highwater_core::classify::{Class, Verdict};
use highwater_core::heads::HeadSettings;
use highwater_core::identity::Check;
use highwater_core::jsonrpc::{self, Limits, Message, Params};
use highwater_core::judge::{of_class, quantity};
use highwater_core::learn::Need;
use highwater_core::method::lookup;
use highwater_core::router::{Identity, Profile, Router, Ticket};
use highwater_core::select::{Strategy, Weights};
use highwater_core::settings::{HedgeSettings, RetryCount, Settings};
use highwater_core::{AttemptId, ChainId, EndpointId, Now};

use super::subject::{Incoming, Order, Subject};
use super::wire::{Judged, Question, Shown};
use crate::node::Seen;
use crate::scenario::{Choice, Preset, Retries, Routing, Scenario};

/// Longest time for one probe.
const PROBE: Duration = Duration::from_secs(4);

/// A router between clients and nodes.
#[derive(Debug)]
pub struct Routed {
    router: Router,
    base: Instant,
    genesis: SystemTime,
    routing: Routing,
    calls: BTreeMap<u64, Call>,
    attempts: BTreeMap<u64, Attempt>,
    checks: BTreeMap<u64, Flight>,
    /// The check of each endpoint that a call may join.
    joinable: Vec<Option<u64>>,
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
    purpose: Purpose,
}

#[derive(Debug)]
enum Purpose {
    /// For a call, as this attempt of its machine.
    Call(u64, AttemptId),
    /// Its call is over.
    Loser(Box<Ticket>),
    /// A chain check.
    Check(Check),
    /// A head that this call waits for.
    Head(u64),
    /// A head probe.
    Probe,
}

/// A chain check under way; its number is its attempt's.
#[derive(Debug)]
struct Flight {
    endpoint: EndpointId,
    waiters: Vec<Waiter>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiter {
    Call(u64),
    /// Warm: it only keeps the check going.
    Nobody,
    /// Its endpoint is probed next.
    Probe,
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
            joinable: vec![None; profiles.len()],
            router: Router::new(settings, Some(chain), profiles, seed),
            base: Instant::now(),
            genesis: SystemTime::UNIX_EPOCH + genesis,
            routing: routing.clone(),
            calls: BTreeMap::new(),
            attempts: BTreeMap::new(),
            checks: BTreeMap::new(),
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
                Action::Head { endpoint, timeout } => self.look(number, endpoint, timeout, at),
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
            purpose,
        };
        self.attempts.insert(number, attempt);
        number
    }

    /// Asks an endpoint for its head before a call goes there.
    fn look(&mut self, call: u64, endpoint: EndpointId, timeout: Duration, at: Duration) {
        let now = self.now(at);
        if self
            .router
            .begin_aside(endpoint, lookup("eth_blockNumber"), now)
        {
            let id = self.number();
            let question = Rc::new(Question::new(id, "eth_blockNumber", "[]", None));
            self.send(endpoint, question, Purpose::Head(call), timeout, at);
        } else if let Some(call) = self.calls.get_mut(&call) {
            call.machine.on_head(endpoint);
        }
    }

    /// Joins the chain check of an endpoint or begins one. An answer at once is why none was sent.
    fn join(
        &mut self,
        endpoint: EndpointId,
        waiter: Waiter,
        timeout: Duration,
        at: Duration,
    ) -> Option<Verdict> {
        if let Some(number) = self.joinable[endpoint.index()]
            && let Some(flight) = self.checks.get_mut(&number)
        {
            flight.waiters.push(waiter);
            if let Waiter::Call(call) = waiter {
                self.wake_at(at.saturating_add(timeout), Timer::Waiter(call, number));
            }
            return None;
        }
        let now = self.now(at);
        let Some(check) = self.router.begin_check(endpoint, now) else {
            return Some(of_class(Class::RateLimited, Some("budget")));
        };
        let id = self.number();
        let question = Question::new(id, "eth_chainId", "[]", None);
        let purpose = Purpose::Check(check);
        let number = self.send(endpoint, Rc::new(question), purpose, timeout, at);
        self.joinable[endpoint.index()] = Some(number);
        let waiters = vec![waiter];
        self.checks.insert(number, Flight { endpoint, waiters });
        None
    }

    /// An attempt is over, with an answer or without.
    fn settle(&mut self, number: u64, attempt: Attempt, judged: Judged, at: Duration) {
        let now = self.now(at);
        let endpoint = attempt.endpoint;
        match attempt.purpose {
            Purpose::Call(number, attempt) => {
                let Some(call) = self.calls.get_mut(&number) else {
                    return;
                };
                call.running.retain(|(running, _)| *running != attempt);
                call.kept.extend(judged.shown.map(|shown| (attempt, shown)));
                let settled = judged.settled;
                call.machine
                    .on_settled(&mut self.router, attempt, &settled, now);
                self.drive(number, at);
            }
            Purpose::Loser(ticket) => self.router.settle(&ticket, &judged.settled, now),
            Purpose::Check(check) => {
                let failure = match chain_id(&judged) {
                    Ok(found) => {
                        self.router.on_chain_id(endpoint, check, found);
                        None
                    }
                    Err(judged) => {
                        let (verdict, meaning) = *judged;
                        self.router
                            .on_check_failed(endpoint, &verdict, meaning, now);
                        Some(verdict)
                    }
                };
                self.checked(number, failure.as_ref(), at);
            }
            Purpose::Probe => self.on_head(endpoint, judged, now),
            Purpose::Head(number) => {
                self.on_head(endpoint, judged, now);
                if let Some(call) = self.calls.get_mut(&number) {
                    call.machine.on_head(endpoint);
                }
                self.drive(number, at);
            }
        }
    }

    fn on_head(&mut self, endpoint: EndpointId, judged: Judged, now: Now) {
        match judged.settled {
            Settled::Result { .. } => {
                let shown = judged.shown.as_ref();
                if let Some(height) = shown.and_then(|shown| quantity(shown.text())) {
                    self.router.on_probe(endpoint, height, now);
                }
            }
            Settled::Terminal { verdict, meaning }
            | Settled::Failed {
                verdict, meaning, ..
            } => self
                .router
                .on_probe_failed(endpoint, &verdict, meaning, PROBE, now),
        }
    }

    /// A check is over: all who wait for it go on.
    fn checked(&mut self, number: u64, failure: Option<&Verdict>, at: Duration) {
        let Some(Flight { endpoint, waiters }) = self.checks.remove(&number) else {
            return;
        };
        let joinable = &mut self.joinable[endpoint.index()];
        if *joinable == Some(number) {
            *joinable = None;
        }
        for waiter in waiters {
            match waiter {
                Waiter::Call(call) => self.on_check(call, endpoint, failure, at),
                Waiter::Probe if self.router.identity(endpoint) == Identity::Verified => {
                    self.probe(endpoint, at);
                }
                Waiter::Probe | Waiter::Nobody => {}
            }
        }
    }

    fn on_check(
        &mut self,
        number: u64,
        endpoint: EndpointId,
        failure: Option<&Verdict>,
        at: Duration,
    ) {
        if let Some(call) = self.calls.get_mut(&number) {
            call.machine.on_check(endpoint, failure);
            self.drive(number, at);
        }
    }

    /// A call lets go of a check that took too long: the next call begins a new one.
    fn let_go(&mut self, call: u64, number: u64) -> Option<EndpointId> {
        let flight = self.checks.get_mut(&number)?;
        let waiter = Waiter::Call(call);
        let place = flight.waiters.iter().position(|known| *known == waiter)?;
        flight.waiters.remove(place);
        let (endpoint, alone) = (flight.endpoint, flight.waiters.is_empty());
        let joinable = &mut self.joinable[endpoint.index()];
        if *joinable == Some(number) {
            *joinable = None;
        }
        if alone {
            self.checks.remove(&number);
            self.attempts.remove(&number);
            self.orders.push(Order::Drop { attempt: number });
        }
        Some(endpoint)
    }

    fn finish(&mut self, number: u64, outcome: Outcome, at: Duration) {
        let Some(mut call) = self.calls.remove(&number) else {
            return;
        };
        let now = self.now(at);
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
                    self.router.cancel(&ticket, now);
                    self.attempts.remove(sent);
                    self.orders.push(Order::Drop { attempt: *sent });
                }
            }
        }
        let shown = match outcome {
            Outcome::Answered(attempt) | Outcome::Failed(Some(attempt)) => {
                call.kept.iter().find(|(kept, _)| *kept == attempt)
            }
            Outcome::Failed(None)
            | Outcome::ChainMismatch
            | Outcome::NoEndpoint
            | Outcome::BudgetExhausted { .. }
            | Outcome::DeadlineExceeded => None,
        };
        self.orders.push(match shown {
            Some((_, shown)) => Order::Answer {
                call: number,
                body: shown.answer(&call.id),
            },
            None => Order::Fail {
                call: number,
                why: format!("{outcome:?}"),
            },
        });
    }

    fn probe(&mut self, endpoint: EndpointId, at: Duration) {
        let now = self.now(at);
        let row = lookup("eth_blockNumber");
        if !self.router.begin_aside(endpoint, row, now) {
            return;
        }
        let id = self.number();
        let question = Question::new(id, "eth_blockNumber", "[]", self.chain());
        self.send(endpoint, Rc::new(question), Purpose::Probe, PROBE, at);
    }

    fn tick(&mut self, at: Duration) {
        let now = self.now(at);
        for endpoint in self.router.probe_tick(true, now) {
            if self.router.needs_check(endpoint) {
                let _ = self.join(endpoint, Waiter::Probe, PROBE, at);
            } else {
                self.probe(endpoint, at);
            }
        }
        if let Some(next) = self.router.next_probe() {
            self.wake_at(self.moment(next), Timer::Probe);
        }
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
        if row.has_block() {
            plan.need = Need::of(row, params);
        }
        let id = self.number();
        let question = Question::new(id, &asked.method, params, self.chain());
        let call = Call {
            machine: Machine::new(plan),
            id: asked.id.map_or_else(Bytes::new, |id| {
                Bytes::copy_from_slice(id.as_str().as_bytes())
            }),
            question: Rc::new(question),
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
            if matches!(seen, Seen::Refused) {
                // Whoever listens there next is asked for its chain again.
                self.router.on_reconnected(attempt.endpoint);
            }
            self.settle(number, attempt, judged, at);
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
                    self.settle(number, attempt, Judged::timeout(), at);
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
            call.machine.abandon(&mut self.router, now);
            for (_, sent) in call.running {
                self.attempts.remove(&sent);
                self.orders.push(Order::Drop { attempt: sent });
            }
            let checks = self.checks.iter();
            let waits = |flight: &Flight| flight.waiters.contains(&Waiter::Call(number));
            let waiting = checks.filter(|(_, flight)| waits(flight)).map(|(n, _)| *n);
            for check in waiting.collect::<Vec<_>>() {
                self.let_go(number, check);
            }
        }
        self.told()
    }
}

/// The id that a check was answered with, or what its failure means.
fn chain_id(judged: &Judged) -> Result<ChainId, Box<(Verdict, highwater_core::breaker::Meaning)>> {
    let not_ready = |class, detail| Err(Box::new(Judged::meaning(of_class(class, Some(detail)))));
    let shown = match (&judged.settled, &judged.shown) {
        (
            Settled::Failed {
                verdict, meaning, ..
            },
            _,
        ) => return Err(Box::new((verdict.clone(), *meaning))),
        (Settled::Result { .. }, Some(shown)) => shown.text(),
        (Settled::Terminal { .. } | Settled::Result { .. }, _) => {
            return not_ready(Class::Internal, "error");
        }
    };
    match quantity(shown) {
        Some(0) => not_ready(Class::Syncing, "zero"),
        Some(id) => Ok(ChainId(id)),
        None if shown == "null" => not_ready(Class::Syncing, "null"),
        None => not_ready(Class::MalformedEnvelope, "chain_id"),
    }
}

/// The engine's options.
fn settings(routing: &Routing) -> Settings {
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
    settings.heads = routing.heads.then(HeadSettings::default);
    settings.probe = settings.probe.filter(|_| routing.probes);
    settings.verify_chain_id = routing.verify;
    settings
}
