//! Raw transactions (R-35): how the router sends them, what it remembers of them, and what callers are
//! told at the end.

use std::rc::Rc;
use std::time::Duration;

use highwater_core::call::write::{Echo, Form, Policy, Write, is_receipt, matches};
use highwater_core::call::{Outcome, Plan, Privacy};
use highwater_core::chains;
use highwater_core::jsonrpc::Params;
use highwater_core::method::{Changes, Descriptor};
use highwater_core::{AttemptId, EndpointId, Now, TxHash};

use super::super::wire::{Judged, Question, Shown};
use super::{Call, Purpose, Routed};
use crate::scenario::Writes;

/// A raw transaction that a call sends.
#[derive(Debug)]
pub(super) struct Submission {
    hash: TxHash,
    form: Form,
    /// The request that is no sending but a look at what was sent, and its method.
    looking: Option<(AttemptId, &'static str)>,
}

impl Routed {
    /// Binds a call that sends a raw transaction to the policy in force.
    pub(super) fn submit(
        &mut self,
        row: &'static Descriptor,
        params: Params<'_>,
        plan: &mut Plan,
    ) -> Option<Submission> {
        let writing = self.routing.writes?;
        if row.is_write() && row.state_changing == Changes::Mempool {
            plan.privacy = if writing.private {
                Privacy::Private
            } else {
                Privacy::Public
            };
        }
        let policy = match writing.to {
            Writes::Once => Policy::Once,
            Writes::Failover => Policy::Failover,
            Writes::Broadcast => Policy::Broadcast(writing.width),
        };
        let mut write = Write::new(row, params, policy)?;
        let chain = self.router.chain().and_then(chains::by_id);
        let usual = write.policy == Policy::Failover;
        write.verify = writing.verify.unwrap_or(usual);
        write.has_known = chains::has_already_known(chain);
        let (hash, form) = (write.hash, write.form);
        let timeout = form.timeout(plan.attempt_timeout);
        let begun = plan.deadline.checked_sub(self.routing.deadline)?;
        plan.attempt_timeout = timeout;
        plan.deadline = begun + chains::write_deadline(timeout);
        plan.write = Some(Box::new(write));
        self.forwarded.begin(hash);
        Some(Submission {
            hash,
            form,
            looking: None,
        })
    }

    /// Asks for the transaction of a call, or for its receipt.
    pub(super) fn look(
        &mut self,
        number: u64,
        (endpoint, attempt): (EndpointId, AttemptId),
        method: &'static str,
        timeout: Duration,
        at: Duration,
    ) {
        let id = self.number();
        let chain = self.chain();
        let call = self.calls.get_mut(&number);
        let Some(submission) = call.and_then(|call| call.submission.as_mut()) else {
            return;
        };
        submission.looking = Some((attempt, method));
        let params = format!("[\"{}\"]", submission.hash);
        let question = Rc::new(Question::new(id, method, &params, chain));
        let purpose = Purpose::Call(number, attempt);
        let sent = self.send(endpoint, question, purpose, timeout, at);
        if let Some(call) = self.calls.get_mut(&number) {
            call.running.push((attempt, sent));
        }
    }

    /// An attempt to send a transaction ended, or a look at what was sent.
    pub(super) fn on_submitted(
        &mut self,
        number: u64,
        attempt: AttemptId,
        judged: Judged,
        now: Now,
    ) {
        let Some(call) = self.calls.get_mut(&number) else {
            return;
        };
        let Some(submission) = &mut call.submission else {
            return;
        };
        let (hash, form) = (submission.hash, submission.form);
        let looking = submission
            .looking
            .take_if(|(looking, _)| *looking == attempt);
        let Judged { settled, shown } = judged;
        let text = match &shown {
            Some(Shown::Result(text)) => Some(text.as_str()),
            Some(Shown::Error(_)) | None => None,
        };
        if let Some((_, method)) = looking {
            let ours = text.is_some_and(|text| match method {
                "eth_getTransactionReceipt" => is_receipt(text, hash),
                _ => matches(text, hash),
            });
            if ours {
                call.kept.extend(shown.map(|shown| (attempt, shown)));
            }
            let router = &mut self.router;
            call.machine.on_lookup(router, attempt, &settled, ours, now);
            return;
        }
        let echo = text.map_or(Echo::Nothing, |text| Echo::of(form, text, hash));
        call.kept.extend(shown.map(|shown| (attempt, shown)));
        if self.forwarded.by_another(hash, now.mono) {
            call.machine.note_resent();
        }
        let router = &mut self.router;
        call.machine.on_sent(router, attempt, &settled, echo, now);
    }

    /// A call is over, or its caller has left: what was sent is remembered. Its machine still knows
    /// what runs.
    pub(super) fn remember(&mut self, call: &Call, now: Now) {
        if let Some(submission) = &call.submission {
            let sent = call.machine.may_have_sent();
            self.forwarded.end(submission.hash, sent, now.mono);
        }
    }
}

impl Call {
    /// What its caller is told at an end that no endpoint's answer tells.
    pub(super) fn answer(&self, outcome: Outcome) -> Option<Shown> {
        let Submission { hash, form, .. } = self.submission.as_ref()?;
        match outcome {
            Outcome::Sent => Some(Shown::Result(format!("\"{hash}\""))),
            Outcome::Late => Some(Shown::Error(match form {
                Form::Receipt(_) => format!(
                    r#"{{"code":4,"message":"the transaction was accepted but is not mined yet","data":"{hash}"}}"#
                ),
                Form::Hash | Form::Output => format!(
                    r#"{{"code":-32000,"message":"the transaction was accepted but its output was lost","data":{{"source":"gateway","reason":"output_lost","hash":"{hash}"}}}}"#
                ),
            })),
            Outcome::Ambiguous(attempt) => {
                let mut kept = self.kept.iter();
                let said = kept.find(|(kept, _)| Some(*kept) == attempt);
                let error = match said {
                    Some((_, Shown::Error(error))) => error.as_str(),
                    Some((_, Shown::Result(_))) | None => "null",
                };
                Some(Shown::Error(format!(
                    r#"{{"code":-32000,"message":"the transaction may have been accepted","data":{{"source":"gateway","reason":"ambiguous","hash":"{hash}","error":{error}}}}}"#
                )))
            }
            Outcome::Answered(_)
            | Outcome::Failed(_)
            | Outcome::ChainMismatch
            | Outcome::NoEndpoint
            | Outcome::BudgetExhausted { .. }
            | Outcome::DeadlineExceeded
            | Outcome::Found(_) => None,
        }
    }
}
