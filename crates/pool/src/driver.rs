//! Carries out what the call machine decides.
//!
//! One attempt runs at a time. It ends by itself within its timeout; only a transport of the
//! caller's own is held to that by a timer here. The request is written once and its bytes are
//! shared by all attempts. Nothing is spawned, so a dropped call leaves nothing behind.

use crate::{
    Answer, Attempt, CallOptions, Error, Request,
    check::check,
    judge::{Judged, Question, Shown, judge, judge_failure},
    pool::Inner,
    upstream::Repeat,
};
use bytes::Bytes;
use highwater_core::{
    AttemptId, EndpointId, Now,
    call::{Action, Machine, Outcome, Plan, Settled},
    jsonrpc::write_request,
};
use smallvec::SmallVec;
use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

/// Deadlines are cut here, a year, so that adding one to an instant cannot overflow.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// Makes one call.
pub(crate) async fn drive(
    inner: &Inner,
    request: Request<'_>,
    options: CallOptions,
) -> Result<Answer, Error> {
    let mut now = read_clock();
    let plan = Plan {
        method: request.descriptor,
        deadline: now.mono + options.deadline.unwrap_or(inner.deadline).min(FAR),
        attempt_timeout: options.timeout.unwrap_or(inner.timeout),
    };
    let Request { method, params, .. } = request;
    let question = Question {
        id: inner.next_id(),
        method,
        params,
    };
    let mut message = Vec::new();
    write_request(&mut message, question.id, method, params);
    let message = Bytes::from(message);
    let mut machine = Machine::new(plan);
    let mut kept: SmallVec<[(AttemptId, EndpointId, Shown); 1]> = SmallVec::new();
    loop {
        let action = machine.poll(&inner.router.lock(), now);
        match action {
            Action::Check { endpoint, timeout } => {
                let failure = check(inner, endpoint, timeout).await;
                machine.on_check(endpoint, failure.as_ref());
                now = read_clock();
            }
            Action::Send {
                endpoint,
                attempt,
                timeout,
            } => {
                let repeat = if request.descriptor.is_read() {
                    Repeat::Elsewhere
                } else {
                    Repeat::Never
                };
                let sent = send(inner, endpoint, question, message.clone(), timeout, repeat);
                let Judged { settled, shown } = sent.await;
                kept.extend(shown.map(|shown| (attempt, endpoint, shown)));
                machine.on_settled(attempt, &settled);
                if let Settled::Failed { verdict, .. } = &settled {
                    let label = &inner.node(endpoint).label;
                    tracing::debug!(endpoint = %label, class = ?verdict.class, "attempt failed");
                    now = read_clock();
                }
            }
            // Only with nothing under way, which this machine does not ask for before it is over.
            Action::WaitUntil(at) => {
                tokio::time::sleep_until(at.into()).await;
                now = read_clock();
            }
            Action::Finish(outcome) => return finish(inner, &machine, outcome, kept),
        }
    }
}

async fn send(
    inner: &Inner,
    endpoint: EndpointId,
    question: Question<'_>,
    message: Bytes,
    timeout: Duration,
    repeat: Repeat,
) -> Judged {
    let node = inner.node(endpoint);
    match node.wired.send(message, timeout, repeat).await {
        Ok(raw) => judge(raw, question, node, &inner.meanings),
        Err(error) => judge_failure(error),
    }
}

fn finish(
    inner: &Inner,
    machine: &Machine,
    outcome: Outcome,
    kept: SmallVec<[(AttemptId, EndpointId, Shown); 1]>,
) -> Result<Answer, Error> {
    let shown = match outcome {
        Outcome::Answered(attempt) | Outcome::Failed(Some(attempt)) => {
            kept.into_iter().find(|(kept, ..)| *kept == attempt)
        }
        Outcome::Failed(None)
        | Outcome::ChainMismatch
        | Outcome::NoEndpoint
        | Outcome::DeadlineExceeded => None,
    };
    if let Some((
        _,
        endpoint,
        Shown {
            body,
            span,
            is_error,
        },
    )) = shown
    {
        let endpoint = Arc::clone(&inner.node(endpoint).label);
        return Ok(Answer {
            body,
            span,
            is_error,
            endpoint,
            attempts: machine.attempts(),
        });
    }
    Err(match outcome {
        Outcome::Answered(_) | Outcome::Failed(_) => Error::AllEndpointsFailed {
            attempts: attempts(inner, machine),
        },
        Outcome::DeadlineExceeded => Error::DeadlineExceeded {
            attempts: attempts(inner, machine),
        },
        Outcome::ChainMismatch => inner.chain_mismatch(),
        Outcome::NoEndpoint => Error::NoEndpoint,
    })
}

fn attempts(inner: &Inner, machine: &Machine) -> Vec<Attempt> {
    let entry = |report: &highwater_core::call::Report| Attempt {
        endpoint: inner.node(report.endpoint).label.to_string(),
        class: report.class,
        detail: report.subclass,
    };
    machine.reports().iter().map(entry).collect()
}

/// The pool's one look at the clocks. Tokio's, so that paused time works.
fn read_clock() -> Now {
    let mono: Instant = tokio::time::Instant::now().into_std();
    Now {
        mono,
        wall: SystemTime::now(),
    }
}
