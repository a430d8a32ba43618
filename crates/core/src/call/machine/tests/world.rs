//! Many calls side by side over endpoints that are played: answers take time, checks are shared, and
//! the clock jumps from one happening to the next.

use super::*;
use std::{cmp::Reverse, collections::BinaryHeap};

/// What a played endpoint says to a call, a chain check or a question for its head.
pub(super) trait Play {
    fn call(&mut self, endpoint: EndpointId, at: Duration) -> (Duration, Settled);

    fn check(&mut self, _: EndpointId, _: Duration) -> (Duration, Result<u64, Class>) {
        (millis(1), Ok(1))
    }

    fn head(&mut self, _: EndpointId, _: Duration) -> (Duration, Result<u64, Class>) {
        (millis(1), Ok(100))
    }
}

/// Who looks on.
pub(super) trait Watch {
    fn begins(&mut self, _: usize, _: &Plan, _: &mut Router, _: Now) {}
    fn sends(&mut self, _: usize, _: &Plan, _: EndpointId, _: &mut Router, _: Now) {}
    fn settles(&mut self, _: usize, _: &Settled) {}
    fn spends(&mut self, _: EndpointId, _: Now) {}
    fn ends(&mut self, _: usize, _: &Plan, _: &Machine, _: Outcome, _: Now) {}
}

pub(super) struct Nobody;

impl Watch for Nobody {}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Happens {
    Begin(usize),
    Settle(usize, u16),
    Checked(usize, u64),
    Headed(usize, usize),
    Wake(usize),
}

struct Flight {
    number: u64,
    check: crate::identity::Check,
    said: Result<u64, Class>,
    waiting: Vec<usize>,
}

struct Call {
    plan: Plan,
    machine: Machine,
    /// What comes of the attempts that run, and whose they are once the call is over.
    running: Vec<(u16, Settled, Option<Ticket>)>,
    head: Option<Result<u64, Class>>,
    checking: Option<EndpointId>,
    abandon_at: Option<Duration>,
    over: bool,
}

pub(super) struct World<P, W> {
    pub(super) router: Router,
    pub(super) play: P,
    pub(super) watch: W,
    /// Requests that reached an endpoint, checks and heads included.
    pub(super) requests: Vec<u32>,
    pub(super) outcomes: Vec<Option<Outcome>>,
    start: Instant,
    passed: Duration,
    queue: BinaryHeap<Reverse<(Duration, u64, Happens)>>,
    order: u64,
    calls: Vec<Call>,
    flights: Vec<Option<Flight>>,
    number: u64,
}

impl<P: Play, W: Watch> World<P, W> {
    pub(super) fn new(setup: Setup, play: P, watch: W) -> Self {
        let bench = setup.call("eth_call");
        let endpoints = bench.router.len();
        Self {
            router: bench.router,
            play,
            watch,
            requests: vec![0; endpoints],
            outcomes: Vec::new(),
            start: bench.start,
            passed: bench.passed,
            queue: BinaryHeap::new(),
            order: 0,
            calls: Vec::new(),
            flights: (0..endpoints).map(|_| None).collect(),
            number: 0,
        }
    }

    pub(super) fn now(&self) -> Now {
        Now {
            mono: self.start + self.passed,
            wall: SystemTime::UNIX_EPOCH + self.passed,
        }
    }

    pub(super) fn total(&self) -> u32 {
        self.requests.iter().sum()
    }

    pub(super) fn call_at(&mut self, at: Duration, method: &str) -> usize {
        let plan = self.plan_at(at, method);
        self.plan(at, plan, None)
    }

    /// The plan of a call that begins at this time.
    pub(super) fn plan_at(&self, at: Duration, method: &str) -> Plan {
        let row = method::lookup(method);
        let mut plan = Plan::new(row, method, self.start + at + DEADLINE, ATTEMPT);
        plan.allowed = self.router.allowed(method);
        plan
    }

    /// A call with this plan begins at this time; its caller leaves at that time.
    pub(super) fn plan(&mut self, at: Duration, plan: Plan, leaves: Option<Duration>) -> usize {
        let number = self.calls.len();
        self.calls.push(Call {
            machine: Machine::new(plan.clone()),
            plan,
            running: Vec::new(),
            head: None,
            checking: None,
            abandon_at: leaves,
            over: false,
        });
        self.outcomes.push(None);
        self.happens(at, Happens::Begin(number));
        number
    }

    /// Calls that are not over.
    pub(super) fn open_calls(&self) -> usize {
        self.calls.iter().filter(|call| !call.over).count()
    }

    /// One call after the other, each when the one before is over.
    pub(super) fn one_after_the_other(&mut self, method: &str, calls: usize) {
        for _ in 0..calls {
            let call = self.call_at(self.passed, method);
            self.run_while(|world| !world.calls[call].over);
        }
    }

    /// Until nothing happens any more.
    pub(super) fn run(&mut self) {
        self.run_while(|_| true);
    }

    fn run_while(&mut self, goes_on: impl Fn(&Self) -> bool) {
        while goes_on(self)
            && let Some(Reverse((at, _, what))) = self.queue.pop()
        {
            self.passed = self.passed.max(at);
            match what {
                Happens::Begin(call) => {
                    let now = self.now();
                    self.router.on_call(now);
                    let plan = self.calls[call].plan.clone();
                    self.watch.begins(call, &plan, &mut self.router, now);
                    if let Some(leaves) = self.calls[call].abandon_at {
                        self.happens(leaves, Happens::Wake(call));
                    }
                    self.drive(call);
                }
                Happens::Settle(call, attempt) => self.settle(call, AttemptId(attempt)),
                Happens::Checked(endpoint, number) => self.checked(endpoint, number),
                Happens::Headed(call, endpoint) => self.headed(call, EndpointId(endpoint as u16)),
                Happens::Wake(call) => self.drive(call),
            }
        }
    }

    fn happens(&mut self, at: Duration, what: Happens) {
        self.order += 1;
        self.queue.push(Reverse((at, self.order, what)));
    }

    fn settle(&mut self, call: usize, attempt: AttemptId) {
        let now = self.now();
        let running = &mut self.calls[call].running;
        let Some(place) = running.iter().position(|(number, ..)| *number == attempt.0) else {
            return;
        };
        let (_, settled, left_over) = running.remove(place);
        self.watch.settles(call, &settled);
        if let Some(ticket) = left_over {
            self.router.settle(&ticket, &settled, now);
            return;
        }
        let machine = &mut self.calls[call].machine;
        machine.on_settled(&mut self.router, attempt, &settled, now);
        self.drive(call);
    }

    /// A check of an endpoint that is under way is shared.
    fn check(&mut self, call: Option<usize>, endpoint: EndpointId, most: Duration) {
        let now = self.now();
        let index = endpoint.index();
        if let Some(flight) = &mut self.flights[index] {
            flight.waiting.extend(call);
            return;
        }
        let Some(check) = self.router.begin_check(endpoint, now) else {
            if let Some(call) = call {
                let verdict = of_class(Class::RateLimited, Some("budget"));
                self.calls[call].machine.on_check(endpoint, Some(&verdict));
                self.calls[call].checking = None;
            }
            return;
        };
        self.requests[index] += 1;
        self.watch.spends(endpoint, now);
        let (took, said) = self.play.check(endpoint, self.passed);
        let (took, said) = if took < most {
            (took, said)
        } else {
            (most, Err(Class::Timeout))
        };
        self.number += 1;
        let number = self.number;
        self.flights[index] = Some(Flight {
            number,
            check,
            said,
            waiting: call.into_iter().collect(),
        });
        self.happens(self.passed + took, Happens::Checked(index, number));
    }

    fn checked(&mut self, index: usize, number: u64) {
        let now = self.now();
        let endpoint = EndpointId(index as u16);
        let Some(flight) = self.flights[index].take_if(|flight| flight.number == number) else {
            return;
        };
        let failure = match flight.said {
            Ok(found) => {
                self.router
                    .on_chain_id(endpoint, flight.check, ChainId(found));
                (found == 0).then(|| of_class(Class::Syncing, Some("zero")))
            }
            Err(class) => {
                let verdict = of_class(class, None);
                let meaning = Meaning::of(&verdict, 200, Said::Words);
                self.router
                    .on_check_failed(endpoint, &verdict, meaning, now);
                Some(verdict)
            }
        };
        for call in flight.waiting {
            if self.calls[call]
                .checking
                .take_if(|e| *e == endpoint)
                .is_some()
            {
                self.calls[call]
                    .machine
                    .on_check(endpoint, failure.as_ref());
                self.drive(call);
            }
        }
    }

    fn headed(&mut self, call: usize, endpoint: EndpointId) {
        let now = self.now();
        match self.calls[call].head.take() {
            Some(Ok(height)) => self.router.on_probe(endpoint, height, now),
            Some(Err(class)) => {
                let verdict = of_class(class, None);
                let meaning = Meaning::of(&verdict, 200, Said::Words);
                self.router
                    .on_probe_failed(endpoint, &verdict, meaning, ATTEMPT, now);
            }
            None => {}
        }
        if !self.calls[call].over {
            self.calls[call].machine.on_head(endpoint);
            self.drive(call);
        }
    }

    /// Polls a call as its driver does, until there is nothing to do for it now.
    fn drive(&mut self, number: usize) {
        let now = self.now();
        if self.calls[number].over {
            return;
        }
        if self.calls[number]
            .abandon_at
            .is_some_and(|at| at <= self.passed)
        {
            let call = &mut self.calls[number];
            call.machine.abandon(&mut self.router, now);
            call.running.clear();
            call.over = true;
            return;
        }
        for polls in 0.. {
            assert!(polls < 100, "the machine loops");
            let action = self.calls[number].machine.poll(&mut self.router, now);
            match action {
                Action::Warm { endpoint, timeout } => self.check(None, endpoint, timeout),
                Action::Check { endpoint, timeout } => {
                    self.calls[number].checking = Some(endpoint);
                    self.check(Some(number), endpoint, timeout);
                }
                Action::Head { endpoint, .. } => {
                    let row = method::lookup("eth_blockNumber");
                    if self.router.begin_aside(endpoint, row, now) {
                        self.requests[endpoint.index()] += 1;
                        self.watch.spends(endpoint, now);
                        let (took, said) = self.play.head(endpoint, self.passed);
                        self.calls[number].head = Some(said);
                        let headed = Happens::Headed(number, endpoint.index());
                        self.happens(self.passed + took, headed);
                    } else {
                        self.calls[number].machine.on_head(endpoint);
                    }
                }
                Action::Send {
                    endpoint,
                    attempt,
                    timeout: most,
                } => {
                    self.requests[endpoint.index()] += 1;
                    self.watch.spends(endpoint, now);
                    let plan = self.calls[number].plan.clone();
                    self.watch
                        .sends(number, &plan, endpoint, &mut self.router, now);
                    let (took, said) = self.play.call(endpoint, self.passed);
                    let said = if took < most { said } else { timeout() };
                    let call = &mut self.calls[number];
                    call.running.push((attempt.0, said, None));
                    let settle = Happens::Settle(number, attempt.0);
                    self.happens(self.passed + took.min(most), settle);
                }
                Action::LookUp { .. } | Action::Receipt { .. } => panic!("nothing was sent"),
                Action::WaitUntil(at) => {
                    let at = at.saturating_duration_since(self.start);
                    assert!(at > self.passed, "a wait that is over");
                    self.happens(at, Happens::Wake(number));
                    return;
                }
                Action::Finish(outcome) => {
                    self.finish(number, outcome, now);
                    return;
                }
            }
        }
    }

    fn finish(&mut self, number: usize, outcome: Outcome, now: Now) {
        let call = &mut self.calls[number];
        call.over = true;
        self.outcomes[number] = Some(outcome);
        self.watch
            .ends(number, &call.plan, &call.machine, outcome, now);
        for (ticket, leftover) in call.machine.leftovers() {
            let attempt = ticket.attempt().0;
            match leftover {
                Leftover::Cancel => {
                    call.running.retain(|(running, ..)| *running != attempt);
                    self.router.cancel(&ticket, now);
                }
                Leftover::Finish => {
                    let of = call.running.iter_mut().find(|r| r.0 == attempt);
                    of.expect("it was sent").2 = Some(ticket);
                }
            }
        }
    }
}
