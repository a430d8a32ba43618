//! What a request did to what is known of its endpoint.
//!
//! Every request begins here, where it spends its token and is counted, and ends here, where it
//! teaches. A request that was given up teaches nothing.

use super::{Router, endpoint::Endpoint, inflight::Slot};
use crate::mutant::{self, Mutant};
use crate::{
    AttemptId, EndpointId, Now,
    breaker::{self, Change, Changes, Meaning, MethodKey, MethodReason, Said},
    call::{Content, Delivery, Plan, Settled},
    classify::{Class, Verdict},
    event::{Event, RequestEnd},
    heads::Holds,
    learn::{Need, Size},
    method::{Descriptor, lookup},
};
use std::time::{Duration, Instant};

/// How long others are asked first after "not yet" or "not any more" without a height.
const SHUNNED: Duration = Duration::from_secs(60);

/// A request under way. Whoever holds it says how it ended, with [`Router::settle`] or
/// [`Router::cancel`], once.
#[derive(Clone, Copy, Debug)]
pub struct Ticket {
    endpoint: EndpointId,
    serial: u32,
    attempt: AttemptId,
    row: &'static Descriptor,
    need: Need,
    slot: Slot,
    sent_at: Instant,
    timeout: Duration,
    circuit: breaker::Ticket,
    key: MethodKey,
}

impl Ticket {
    /// Who was asked.
    #[must_use]
    pub const fn endpoint(&self) -> EndpointId {
        self.endpoint
    }

    /// Number of the attempt in its call.
    #[must_use]
    pub const fn attempt(&self) -> AttemptId {
        self.attempt
    }

    /// When it gives up by itself.
    #[must_use]
    pub fn gives_up_at(&self) -> Option<Instant> {
        self.sent_at.checked_add(self.timeout)
    }

    pub(crate) const fn sent_at(&self) -> Instant {
        self.sent_at
    }

    /// The endpoints were replaced: its own is this one now.
    pub(crate) const fn moved_to(&mut self, endpoint: EndpointId) {
        self.endpoint = endpoint;
    }
}

impl Router {
    /// Spends a token and counts the request. `None`: somebody else took the last token.
    pub(crate) fn begin(
        &mut self,
        endpoint: EndpointId,
        attempt: AttemptId,
        plan: &Plan,
        timeout: Duration,
        now: Now,
    ) -> Option<Ticket> {
        let known = self.endpoints.get_mut(endpoint.index())?;
        let free = attempt.0 > 0 && mutant::is(Mutant::RetriesAreFree);
        if !free && !known.profile.account.take_for(plan.method, now) {
            return None;
        }
        known.counters.send(plan.method.id);
        Some(Ticket {
            endpoint,
            serial: known.serial,
            attempt,
            row: plan.method,
            need: plan.need,
            slot: known.in_flight.start(now.mono, timeout),
            sent_at: now.mono,
            timeout,
            circuit: known.circuit.begin(plan.method.lane, plan.key, now.mono),
            key: plan.key,
        })
    }

    /// A call waits for this endpoint's check and will ask it then: it counts as busy for it.
    pub(crate) fn bind(
        &mut self,
        endpoint: EndpointId,
        timeout: Duration,
        now: Now,
    ) -> Option<Slot> {
        let known = self.endpoints.get_mut(endpoint.index())?;
        Some(known.in_flight.start(now.mono, timeout))
    }

    /// The wait is over.
    pub(crate) fn unbind(&mut self, endpoint: EndpointId, slot: Slot) {
        if let Some(known) = self.endpoints.get_mut(endpoint.index()) {
            known.in_flight.finish(slot);
        }
    }

    /// Spends a token for a request that belongs to no call: a chain check or a probe, which skip
    /// spent endpoints.
    pub fn begin_aside(&mut self, endpoint: EndpointId, row: &Descriptor, now: Now) -> bool {
        let Some(known) = self.endpoints.get_mut(endpoint.index()) else {
            return false;
        };
        if !mutant::is(Mutant::ChecksAreFree) && !known.profile.account.take_for(row, now) {
            return false;
        }
        if row.id == lookup("eth_blockNumber").id {
            known.head_sent = Some(now.mono);
        }
        known.counters.send(row.id);
        true
    }

    /// A request was given up before its end: it stops counting and teaches nothing.
    pub fn cancel(&mut self, ticket: &Ticket, now: Now) {
        let Some(ticket) = &self.placed(ticket) else {
            return;
        };
        let took = now.mono.saturating_duration_since(ticket.sent_at);
        let known = &mut self.endpoints[ticket.endpoint.index()];
        known.in_flight.finish(ticket.slot);
        known.counters.cancelled += 1;
        known.circuit.abandon(&ticket.circuit);
        if ticket.circuit.is_trial() {
            self.operations.change();
        }
        self.tell_request(ticket, RequestEnd::Cancelled, took);
    }

    /// The ticket with the place that its endpoint has now; `None` where it is gone.
    fn placed(&self, ticket: &Ticket) -> Option<Ticket> {
        let is_its = |known: &Endpoint| known.serial == ticket.serial;
        if self
            .endpoints
            .get(ticket.endpoint.index())
            .is_some_and(is_its)
        {
            return Some(*ticket);
        }
        let place = self.endpoints.iter().position(is_its)?;
        let endpoint = EndpointId(u16::try_from(place).ok()?);
        Some(Ticket {
            endpoint,
            ..*ticket
        })
    }

    /// A request ended. That of an endpoint that is gone teaches nothing.
    pub fn settle(&mut self, ticket: &Ticket, settled: &Settled, now: Now) {
        let Some(ticket) = &self.placed(ticket) else {
            return;
        };
        let took = now.mono.saturating_duration_since(ticket.sent_at);
        self.samples = self.samples.wrapping_add(1);
        let known = &mut self.endpoints[ticket.endpoint.index()];
        known.in_flight.finish(ticket.slot);
        if ticket.circuit.is_trial() {
            self.operations.change();
        }
        let end = match settled {
            Settled::Result { content, head } => {
                self.on_result(ticket, *content, took, now);
                if let Some((source, height)) = head
                    && !self.is_outdated(ticket.endpoint, *height, ticket.sent_at)
                {
                    self.on_head(ticket.endpoint, *source, *height, now);
                }
                match content {
                    Content::Value | Content::Zero => RequestEnd::Result,
                    Content::Null | Content::EmptyList => RequestEnd::Empty,
                }
            }
            Settled::Terminal { verdict, .. } if mutant::is(Mutant::TerminalIsAStrike) => {
                let fault = crate::judge::of_class(Class::Internal, None);
                let meaning = Meaning::of(&fault, 200, Said::Words);
                self.on_failure(ticket, &fault, meaning, now);
                RequestEnd::Error(verdict.class)
            }
            Settled::Terminal { verdict, meaning } => {
                self.on_result(ticket, Content::Value, took, now);
                if let Meaning::Fault(_) = meaning {
                    self.on_meaning(ticket, *meaning, now);
                }
                RequestEnd::Error(verdict.class)
            }
            Settled::Failed {
                verdict,
                meaning,
                delivery,
                ..
            } => {
                if is_unreachable(verdict, *delivery) {
                    known.unreachable();
                }
                self.on_failure(ticket, verdict, *meaning, now);
                RequestEnd::Failed(verdict.class)
            }
        };
        self.tell_request(ticket, end, took);
    }

    fn tell_request(&mut self, ticket: &Ticket, end: RequestEnd, took: Duration) {
        self.events.push(|| Event::Request {
            endpoint: ticket.endpoint,
            method: ticket.row.id,
            attempt: ticket.attempt,
            end,
            took,
        });
    }

    fn on_result(&mut self, ticket: &Ticket, content: Content, took: Duration, now: Now) {
        let (row, at, need) = (ticket.row, now.mono, &ticket.need);
        let reached = match need.height {
            Some(height) => self.holds(ticket.endpoint, height, now),
            None => Holds::Unknown,
        };
        let known = &mut self.endpoints[ticket.endpoint.index()];
        known.counters.good(row.id);
        known.recent.ok(at);
        if content == Content::Null && row.null_is_absent() {
            // Some nodes wait before they say null; that is no latency of theirs (semantics H38).
            known.books.at(now.wall).record_error_free(row.id);
            if let (Some(kind), Some(height), Holds::Yes) = (need.kind, need.height, reached) {
                known.learned.on_absent(kind, height, at);
            }
        } else {
            let ms = took.as_secs_f64() * 1e3;
            known.books.at(now.wall).record_success(row.id, ms);
            known.window(row.lane).success(ms, at);
        }
        // What it says of a block that it has not reached is not about that block.
        let says_something = content != Content::Null && content != Content::EmptyList;
        if says_something && reached != Holds::No {
            accept(known, need, at);
        }
        let changes = known.circuit.on_good(&ticket.circuit, at);
        self.tell_changes(ticket.endpoint, changes);
    }

    fn on_meaning(&mut self, ticket: &Ticket, meaning: Meaning, now: Now) {
        let circuit = &mut self.endpoints[ticket.endpoint.index()].circuit;
        let changes = match meaning {
            Meaning::Healthy => circuit.on_good(&ticket.circuit, now.mono),
            Meaning::Neutral => {
                circuit.abandon(&ticket.circuit);
                Changes::new()
            }
            Meaning::Fault(fault) => circuit.on_fault(&ticket.circuit, &fault, now.mono),
        };
        self.tell_changes(ticket.endpoint, changes);
    }

    fn on_failure(&mut self, ticket: &Ticket, verdict: &Verdict, meaning: Meaning, now: Now) {
        let (row, at) = (ticket.row, now.mono);
        let head = self.reference_head(now);
        let known = &mut self.endpoints[ticket.endpoint.index()];
        known.counters.fail(row.id, verdict.class);
        let off = teach(known, ticket, verdict, head, at);
        if verdict.counts_against_endpoint {
            known.recent.bad(at);
            known.window(row.lane).failure(at);
            if verdict.class == Class::Timeout {
                // A node's own word that it gave up may come early; the tail is ours to judge.
                let ms = ticket.timeout.as_secs_f64() * 1e3;
                known.books.at(now.wall).record_timeout(row.id, ms);
            } else {
                known.books.at(now.wall).record_failure(row.id);
            }
        }
        self.tell_changes(ticket.endpoint, off);
        self.on_meaning(ticket, meaning, now);
        if matches!(verdict.class, Class::Behind | Class::Syncing)
            && let (Some(heads), Some(height)) = (&mut self.heads, ticket.need.height)
        {
            heads.on_behind(ticket.endpoint, height, at);
        }
    }

    pub(super) fn tell_changes(
        &mut self,
        endpoint: EndpointId,
        changes: impl IntoIterator<Item = Change>,
    ) {
        for change in changes {
            match change {
                Change::Ejected { .. } | Change::Excluded { .. } => {
                    self.endpoints[endpoint.index()].operations.ejections += 1;
                }
                Change::Restored { .. } | Change::MethodOff(_) => {}
            }
            self.operations.change();
            self.events.push(|| match change {
                Change::Ejected {
                    lane,
                    until,
                    reason,
                    ..
                } => Event::Eject {
                    endpoint,
                    lane,
                    why: reason,
                    until,
                },
                Change::Restored { lane } => Event::Restore { endpoint, lane },
                Change::Excluded { reason, .. } => Event::Exclude {
                    endpoint,
                    why: reason,
                },
                Change::MethodOff(off) => Event::MethodOff {
                    endpoint,
                    method: off.method.row(),
                },
            });
        }
    }
}

/// No connection could be made. Once one can, it may lead to another node behind the same address,
/// so that counts as a reconnect; connections that come and go while an endpoint can be
/// reached do not.
pub(super) fn is_unreachable(verdict: &Verdict, delivery: Delivery) -> bool {
    let connecting = matches!(verdict.subclass, Some("connect" | "resolve" | "tls"));
    match verdict.class {
        Class::Internal => connecting,
        Class::Timeout => delivery == Delivery::NotSent,
        _ => false,
    }
}

/// For a while others are asked first for this method.
fn shun(known: &mut Endpoint, method: MethodKey, now: Instant) {
    if let Some(until) = now.checked_add(SHUNNED) {
        known.shun(method, until, now);
    }
}

/// A good answer shows what the endpoint keeps and takes.
fn accept(known: &mut Endpoint, need: &Need, now: Instant) {
    if let (Some(kind), Some(height)) = (need.kind, need.lowest) {
        known.learned.on_kept(kind, height);
    }
    if let Some(span) = need.span {
        known.learned.on_accepted(Size::LogRange, span, now);
    }
    if let Some(tag) = need.tag {
        known.learned.on_tag_resolved(tag, now);
    }
}

/// What a refusal says about what the endpoint has: no strike, and it is remembered.
fn teach(
    known: &mut Endpoint,
    ticket: &Ticket,
    verdict: &Verdict,
    head: Option<u64>,
    now: Instant,
) -> Option<Change> {
    let need = &ticket.need;
    match verdict.class {
        Class::RateLimited => known.profile.account.on_rate_limited(ticket.sent_at, now),
        Class::MissingHistory => {
            if let (Some(kind), Some(height)) = (need.kind, need.lowest) {
                known.learned.on_missing(kind, height, head, now);
            } else {
                shun(known, ticket.key, now);
            }
        }
        // Its index is still being built, say.
        Class::Behind | Class::Syncing if need.height.is_none() => shun(known, ticket.key, now),
        Class::RangeLimit => known.learned.on_range_refused(need.span, verdict, now),
        Class::WrongChain => known.check.invalidate(),
        // The method is fine; a spelling of its block is not. Without another endpoint it is asked
        // all the same.
        Class::MethodUnsupported if is_about_a_parameter(verdict) => {
            match (verdict.subclass, need.tag) {
                (Some("block_tag"), Some(tag)) => known.learned.on_tag_refused(tag, now),
                _ => shun(known, ticket.key, now),
            }
            return None;
        }
        Class::ExecutionRevert
        | Class::MethodUnsupported
        | Class::MethodBlocked
        | Class::InvalidParams
        | Class::InvalidRequest
        | Class::ParseError
        | Class::TxRejected
        | Class::AlreadyKnown
        | Class::UserRejected
        | Class::Behind
        | Class::QuotaExhausted
        | Class::Unauthorized
        | Class::Timeout
        | Class::Overloaded
        | Class::Internal
        | Class::BadGatewayHtml
        | Class::MalformedEnvelope
        | Class::PayloadTooLarge
        | Class::Syncing
        | Class::FilterNotFound
        | Class::SubscriptionUnsupported
        | Class::ReorgedBlock => {}
    }
    let reason = MethodReason::of(verdict)?;
    known.circuit.method_off(ticket.key, reason, now)
}

/// An unknown tag or form of a parameter, not an unknown method.
fn is_about_a_parameter(verdict: &Verdict) -> bool {
    matches!(verdict.subclass, Some("block_tag" | "param_form"))
}
