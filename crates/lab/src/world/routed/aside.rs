//! Requests that belong to no call: chain checks, heads, capabilities, and the probe timer.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use highwater_core::breaker::Meaning;
use highwater_core::call::Settled;
use highwater_core::classify::{Class, Verdict};
use highwater_core::identity::Check;
use highwater_core::judge::{of_class, quantity};
use highwater_core::learn::capabilities;
use highwater_core::method::lookup;
use highwater_core::router::Identity;
use highwater_core::{ChainId, EndpointId, Now};

use super::super::wire::{Judged, Question};
use super::{Purpose, Routed, Timer};

/// What is under way beside the calls.
#[derive(Debug)]
pub(super) struct Asides {
    /// Checks under way.
    flights: BTreeMap<u64, Flight>,
    /// The check of each endpoint that a call may join.
    joinable: Vec<Option<u64>>,
    /// Whether a probe of each endpoint is under way: there is one at a time.
    probing: Vec<bool>,
}

/// A check under way: the chain where that is due, then the head where that is.
#[derive(Debug)]
struct Flight {
    endpoint: EndpointId,
    /// The request that is out.
    attempt: Option<u64>,
    /// Whether the head is asked for too.
    head: bool,
    /// When it is given up.
    end: Duration,
    waiters: Vec<Waiter>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiter {
    Call(u64),
    /// Warm: it only keeps the check going.
    Nobody,
    /// Its endpoint is probed next.
    Probe,
}

/// What goes on once a head was read, or was not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    Flight(u64),
    Call(u64),
    Probe,
}

/// What a failure is and does.
type Failure = Box<(Verdict, Meaning)>;

impl Asides {
    pub(super) fn new(endpoints: usize) -> Self {
        Self {
            flights: BTreeMap::new(),
            joinable: vec![None; endpoints],
            probing: vec![false; endpoints],
        }
    }

    fn close(&mut self, endpoint: EndpointId, flight: u64) {
        let joinable = &mut self.joinable[endpoint.index()];
        if *joinable == Some(flight) {
            *joinable = None;
        }
    }
}

impl Routed {
    /// Joins the check of an endpoint or begins one. An answer at once is why none was sent.
    pub(super) fn join(
        &mut self,
        endpoint: EndpointId,
        waiter: Waiter,
        timeout: Duration,
        at: Duration,
    ) -> Option<Verdict> {
        if let Some(number) = self.asides.joinable[endpoint.index()]
            && let Some(flight) = self.asides.flights.get_mut(&number)
        {
            flight.waiters.push(waiter);
            if let Waiter::Call(call) = waiter {
                self.wake_at(at.saturating_add(timeout), Timer::Waiter(call, number));
            }
            return None;
        }
        let now = self.now(at);
        let head = self.router.wants_head(endpoint, now);
        let chain = self.router.needs_check(endpoint);
        let begun = if chain {
            let Some(check) = self.router.begin_check(endpoint, now) else {
                return Some(of_class(Class::RateLimited, Some("budget")));
            };
            Some(check)
        } else {
            None
        };
        let number = self.number();
        let flight = Flight {
            endpoint,
            attempt: None,
            head,
            end: at.saturating_add(timeout),
            waiters: vec![waiter],
        };
        self.asides.flights.insert(number, flight);
        self.asides.joinable[endpoint.index()] = Some(number);
        match begun {
            Some(check) => {
                let purpose = Purpose::Check(number, check);
                let sent = self.send_aside(endpoint, "eth_chainId", purpose, timeout, at);
                if let Some(flight) = self.asides.flights.get_mut(&number) {
                    flight.attempt = Some(sent);
                }
            }
            None => self.on_checked_chain(number, at),
        }
        None
    }

    /// Sends a request without parameters whose token is spent.
    fn send_aside(
        &mut self,
        endpoint: EndpointId,
        method: &str,
        purpose: Purpose,
        timeout: Duration,
        at: Duration,
    ) -> u64 {
        let id = self.number();
        let question = Question::new(id, method, "[]", self.chain());
        self.send(endpoint, Rc::new(question), purpose, timeout, at)
    }

    /// A chain check ended.
    pub(super) fn on_chain(&mut self, flight: u64, check: Check, judged: &Judged, at: Duration) {
        let Some(endpoint) = self.asides.flights.get(&flight).map(|f| f.endpoint) else {
            return;
        };
        let now = self.now(at);
        match chain_id(judged) {
            Ok(found) => {
                self.router.on_chain_id(endpoint, check, found);
                self.on_checked_chain(flight, at);
            }
            Err(failure) => {
                let (verdict, meaning) = *failure;
                self.router
                    .on_check_failed(endpoint, &verdict, meaning, now);
                self.land(flight, Some(&verdict), at);
            }
        }
    }

    /// The chain is known, or was.
    fn on_checked_chain(&mut self, number: u64, at: Duration) {
        let Some(flight) = self.asides.flights.get(&number) else {
            return;
        };
        let (endpoint, left) = (flight.endpoint, flight.end.saturating_sub(at));
        if flight.head && self.router.identity(endpoint) == Identity::Verified {
            self.read_head(endpoint, After::Flight(number), left, at);
        } else {
            self.land(number, None, at);
        }
    }

    /// A check is over: all who wait for it go on.
    fn land(&mut self, number: u64, failure: Option<&Verdict>, at: Duration) {
        let Some(flight) = self.asides.flights.remove(&number) else {
            return;
        };
        let endpoint = flight.endpoint;
        self.asides.close(endpoint, number);
        for waiter in flight.waiters {
            match waiter {
                Waiter::Call(call) => self.on_check(call, endpoint, failure, at),
                Waiter::Probe => self.probe_checked(endpoint, at),
                Waiter::Nobody => {}
            }
        }
    }

    /// Tells a call that the check it waits for is over.
    pub(super) fn on_check(
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
    pub(super) fn let_go(&mut self, call: u64, number: u64) -> Option<EndpointId> {
        let flight = self.asides.flights.get_mut(&number)?;
        let waiter = Waiter::Call(call);
        let place = flight.waiters.iter().position(|known| *known == waiter)?;
        flight.waiters.remove(place);
        let (endpoint, attempt) = (flight.endpoint, flight.attempt);
        let alone = flight.waiters.is_empty();
        self.asides.close(endpoint, number);
        if alone {
            self.asides.flights.remove(&number);
            if let Some(sent) = attempt {
                self.hang_up(sent);
            }
        }
        Some(endpoint)
    }

    /// A call is gone: what it alone waited for goes with it.
    pub(super) fn leave_asides(&mut self, call: u64) {
        let flights = self.asides.flights.iter();
        let waits = flights.filter(|(_, flight)| flight.waiters.contains(&Waiter::Call(call)));
        for flight in waits.map(|(number, _)| *number).collect::<Vec<_>>() {
            self.let_go(call, flight);
        }
        let attempts = self.attempts.iter();
        let heads = attempts.filter(|(_, attempt)| {
            matches!(attempt.purpose, Purpose::Head(After::Call(own)) if own == call)
        });
        for sent in heads.map(|(number, _)| *number).collect::<Vec<_>>() {
            self.hang_up(sent);
        }
    }

    /// Asks for a head, if there is a token for it.
    pub(super) fn read_head(
        &mut self,
        endpoint: EndpointId,
        after: After,
        timeout: Duration,
        at: Duration,
    ) {
        let now = self.now(at);
        let row = lookup("eth_blockNumber");
        if !self.router.begin_aside(endpoint, row, now) {
            let spent = of_class(Class::RateLimited, Some("budget"));
            self.after_head(endpoint, after, Some(&spent), at);
            return;
        }
        let purpose = Purpose::Head(after);
        let sent = self.send_aside(endpoint, "eth_blockNumber", purpose, timeout, at);
        if let After::Flight(number) = after
            && let Some(flight) = self.asides.flights.get_mut(&number)
        {
            flight.attempt = Some(sent);
        }
    }

    /// A head was read, or was not.
    pub(super) fn on_head(
        &mut self,
        endpoint: EndpointId,
        after: After,
        judged: &Judged,
        timeout: Duration,
        at: Duration,
    ) {
        let now = self.now(at);
        let read = result(judged).and_then(|text| {
            let odd = || {
                Box::new(Judged::meaning(of_class(
                    Class::MalformedEnvelope,
                    Some("head"),
                )))
            };
            quantity(text).ok_or_else(odd)
        });
        match read {
            Ok(height) => {
                self.router.on_probe(endpoint, height, now);
                self.after_head(endpoint, after, None, at);
            }
            Err(failure) => {
                let (verdict, meaning) = *failure;
                self.router
                    .on_probe_failed(endpoint, &verdict, meaning, timeout, now);
                self.after_head(endpoint, after, Some(&verdict), at);
            }
        }
    }

    fn after_head(
        &mut self,
        endpoint: EndpointId,
        after: After,
        failure: Option<&Verdict>,
        at: Duration,
    ) {
        match after {
            // One that does not tell its head may serve all the same.
            After::Flight(flight) => {
                let grave = failure.filter(|verdict| verdict.counts_against_endpoint);
                self.land(flight, grave, at);
            }
            After::Call(number) => {
                if let Some(call) = self.calls.get_mut(&number) {
                    call.machine.on_head(endpoint);
                    self.drive(number, at);
                }
            }
            After::Probe => {
                self.asides.probing[endpoint.index()] = false;
                if failure.is_none() {
                    self.read_capabilities(endpoint, at);
                }
            }
        }
    }

    fn read_capabilities(&mut self, endpoint: EndpointId, at: Duration) {
        let now = self.now(at);
        let method = "eth_capabilities";
        if self.router.wants_capabilities(endpoint, now)
            && self.router.begin_aside(endpoint, lookup(method), now)
        {
            let timeout = self.routing.attempt;
            self.send_aside(endpoint, method, Purpose::Capabilities, timeout, at);
        }
    }

    pub(super) fn on_capabilities(&mut self, endpoint: EndpointId, judged: &Judged, now: Now) {
        let said = result(judged).ok().and_then(capabilities::parse);
        self.router.on_capabilities(endpoint, said.as_ref(), now);
    }

    /// The probe timer's moment.
    pub(super) fn tick(&mut self, at: Duration) {
        let now = self.now(at);
        for endpoint in self.router.probe_tick(true, now) {
            let probing = &mut self.asides.probing[endpoint.index()];
            if std::mem::replace(probing, true) {
                continue;
            }
            if self.router.identity(endpoint) != Identity::Unchecked {
                self.probe_checked(endpoint, at);
                continue;
            }
            let timeout = self.routing.attempt;
            if self.join(endpoint, Waiter::Probe, timeout, at).is_some() {
                self.asides.probing[endpoint.index()] = false;
            }
        }
        if let Some(next) = self.router.next_probe() {
            self.wake_at(self.moment(next), Timer::Probe);
        }
    }

    /// The probe itself, once the chain is known.
    fn probe_checked(&mut self, endpoint: EndpointId, at: Duration) {
        if self.router.identity(endpoint) == Identity::Verified {
            self.read_head(endpoint, After::Probe, self.routing.attempt, at);
        } else {
            self.asides.probing[endpoint.index()] = false;
        }
    }
}

/// The text of a result; else what the failure was.
fn result(judged: &Judged) -> Result<&str, Failure> {
    match (&judged.settled, &judged.shown) {
        (Settled::Result { .. }, Some(shown)) => Ok(shown.text()),
        (
            Settled::Failed {
                verdict, meaning, ..
            }
            | Settled::Terminal { verdict, meaning },
            _,
        ) => Err(Box::new((verdict.clone(), *meaning))),
        (Settled::Result { .. }, None) => {
            let odd = of_class(Class::MalformedEnvelope, None);
            Err(Box::new(Judged::meaning(odd)))
        }
    }
}

/// The id that a check was answered with, or what its failure means.
fn chain_id(judged: &Judged) -> Result<ChainId, Failure> {
    let not_ready = |class, detail| Err(Box::new(Judged::meaning(of_class(class, Some(detail)))));
    if let Settled::Terminal { .. } = judged.settled {
        return not_ready(Class::Internal, "error");
    }
    let shown = result(judged)?;
    match quantity(shown) {
        Some(0) => not_ready(Class::Syncing, "zero"),
        Some(id) => Ok(ChainId(id)),
        None if shown == "null" => not_ready(Class::Syncing, "null"),
        None => not_ready(Class::MalformedEnvelope, "chain_id"),
    }
}
