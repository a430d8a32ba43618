//! Many calls in one body.
//!
//! Each element goes through the one dispatch function and answers for itself. The answers are in
//! the order of the requests, one per element that is not a notification (G-1). No task is spawned
//! per element: dropping the batch drops all of it.
//!
//! At most [`PARALLEL`] elements run at once, of those that send transactions one. Where elements may
//! share requests, reads are not counted: they all run, so that those that choose the same
//! endpoint meet, and what is bounded, to as many, is the requests that they make ([`ClientBatch`]).
//!
//! The whole answer is bounded by `max_batch_response` (hardening B13). The first answer that does
//! not fit, and every later one, is replaced by -32003, and no further element is started once the
//! finished ones have used the bound up; only what became of a transaction is told in any case. So
//! the memory of a batch is the bound plus the answers to at most [`PARALLEL`] requests, or twice as
//! many where sends and shared reads are mixed.

use crate::{
    dispatch::{Caller, Outcome, dispatch},
    respond::{Refusal, Wire, write_answer},
};
use futures_util::stream::{FuturesOrdered, StreamExt};
use highwater::{ClientBatch, Error};
use highwater_core::{
    jsonrpc::{Call, ERROR_FRAME, Fault, Id, RESULT_FRAME, write_result},
    method::{Changes, lookup},
};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tokio::sync::Mutex;

/// Most requests of one batch under way at once (hardening B12).
pub(crate) const PARALLEL: usize = 16;

/// Runs a batch and returns the bytes of its answer; empty where nothing is owed one.
///
/// `notify` takes the notifications; their outcome is nobody's business.
pub(crate) async fn run(
    caller: &Caller<'_>,
    items: &[Result<Call<'_>, Fault<'_>>],
    notify: impl Fn(&Call<'_>),
) -> Vec<u8> {
    if !caller.chain.folds || items.len() < 2 {
        return each(caller, items, notify).await;
    }
    let batch = ClientBatch::new();
    let caller = &Caller {
        batch: Some(&batch),
        ..*caller
    };
    batch.run(each(caller, items, notify)).await
}

async fn each(
    caller: &Caller<'_>,
    items: &[Result<Call<'_>, Fault<'_>>],
    notify: impl Fn(&Call<'_>),
) -> Vec<u8> {
    let cap = caller.shared.server.max_batch_response;
    let used = &AtomicUsize::new(0);
    let turn = &Mutex::new(());
    // Elements that may not share a request, and so count.
    let alone = &AtomicUsize::new(0);
    let mut waiting = items.iter();
    let mut running = FuturesOrdered::new();
    let mut answers = Answers::new(cap);
    loop {
        while alone.load(Relaxed) < PARALLEL && used.load(Relaxed) < cap {
            let Some(item) = waiting.next() else { break };
            let (id, call) = match item {
                Err(fault) => (fault.id, Err(Refusal::Fault(fault.kind))),
                Ok(Call { id: Some(id), .. }) => (*id, Ok(item)),
                Ok(call) => {
                    notify(call);
                    continue;
                }
            };
            let counts = !is_shared(caller, item);
            alone.fetch_add(usize::from(counts), Relaxed);
            running.push_back(async move {
                let outcome = match call {
                    Err(refusal) => Outcome::Refused(refusal),
                    Ok(Ok(call)) => {
                        let _turn = if sends(call) {
                            Some(turn.lock().await)
                        } else {
                            None
                        };
                        dispatch(caller, call).await
                    }
                    Ok(Err(fault)) => Outcome::Refused(Refusal::Fault(fault.kind)),
                };
                used.fetch_add(size(&outcome), Relaxed);
                alone.fetch_sub(usize::from(counts), Relaxed);
                (id, outcome)
            });
        }
        match running.next().await {
            Some((id, outcome)) => {
                answers.push(id, &outcome);
                if answers.full {
                    used.store(cap, Relaxed);
                }
            }
            None => break,
        }
    }
    for item in waiting {
        match item {
            Err(fault) => answers.push(fault.id, &Outcome::Refused(Refusal::LargeBatchAnswer)),
            Ok(Call { id: Some(id), .. }) => {
                answers.push(*id, &Outcome::Refused(Refusal::LargeBatchAnswer));
            }
            Ok(call) => notify(call),
        }
    }
    answers.finish()
}

/// Whether the requests of an element are bounded by its batch.
fn is_shared(caller: &Caller<'_>, item: &Result<Call<'_>, Fault<'_>>) -> bool {
    let Ok(call) = item else { return false };
    caller.batch.is_some()
        && lookup(&call.method).is_read()
        && !caller.chain.never_repeat.contain(&call.method)
}

/// The answers to a batch that is refused as a whole: one per element that is owed one.
pub(crate) fn refuse(items: &[Result<Call<'_>, Fault<'_>>], wire: &Wire<'_>) -> Vec<u8> {
    let mut answers = Answers::new(usize::MAX);
    for item in items {
        let id = match item {
            Err(fault) => fault.id,
            Ok(Call { id: Some(id), .. }) => *id,
            Ok(_) => continue,
        };
        answers.open();
        wire.write(&mut answers.out, id);
    }
    answers.finish()
}

/// Appends the answer to one call.
pub(crate) fn write(out: &mut Vec<u8>, id: Id<'_>, outcome: &Outcome<'_>) {
    match outcome {
        Outcome::Answer(answer) => write_answer(out, id, answer),
        Outcome::Local(result) => write_result(out, id, result.as_bytes()),
        Outcome::Refused(refusal) => refusal.wire().write(out, id),
    }
}

/// Exact length of the answer to one call, where an endpoint or the gateway has one; 0 for a
/// refusal. An exact allocation is handed to the socket as it is.
pub(crate) fn length(id: Id<'_>, outcome: &Outcome<'_>) -> usize {
    let frame = match outcome {
        Outcome::Answer(answer) if answer.is_error() => ERROR_FRAME,
        Outcome::Answer(_) | Outcome::Local(_) => RESULT_FRAME,
        Outcome::Refused(_) => return 0,
    };
    frame + id.as_str().len() + size(outcome)
}

fn size(outcome: &Outcome<'_>) -> usize {
    match outcome {
        Outcome::Answer(answer) => answer.bytes().len(),
        Outcome::Local(result) => result.len(),
        Outcome::Refused(_) => 0,
    }
}

/// Whether it sends a transaction. Those go one after another, in the order of the batch, as a node
/// takes them: one nonce before the next.
fn sends(call: &Call<'_>) -> bool {
    let row = lookup(&call.method);
    row.is_write() && row.state_changing == Changes::Mempool
}

/// Whether it says what became of a transaction. There is room for that always: "response too large"
/// would pass for a failure of what was sent.
fn tells_of_a_send(outcome: &Outcome<'_>) -> bool {
    match outcome {
        Outcome::Answer(answer) => answer.transaction().is_some(),
        Outcome::Refused(Refusal::Upstream(error)) => matches!(**error, Error::Ambiguous { .. }),
        Outcome::Local(_) | Outcome::Refused(_) => false,
    }
}

/// The array as it grows.
struct Answers {
    out: Vec<u8>,
    cap: usize,
    full: bool,
}

impl Answers {
    fn new(cap: usize) -> Self {
        Self {
            out: Vec::new(),
            cap,
            full: false,
        }
    }

    fn push(&mut self, id: Id<'_>, outcome: &Outcome<'_>) {
        self.open();
        let before = self.out.len();
        if tells_of_a_send(outcome) {
            write(&mut self.out, id, outcome);
            self.full |= self.out.len() >= self.cap;
            return;
        }
        if !self.full {
            // The closing bracket counts too.
            if before + size(outcome) < self.cap {
                write(&mut self.out, id, outcome);
            }
            self.full = self.out.len() == before || self.out.len() >= self.cap;
        }
        if self.full {
            self.out.truncate(before);
            Refusal::LargeBatchAnswer.wire().write(&mut self.out, id);
        }
    }

    fn open(&mut self) {
        self.out.push(if self.out.is_empty() { b'[' } else { b',' });
    }

    fn finish(mut self) -> Vec<u8> {
        if !self.out.is_empty() {
            self.out.push(b']');
        }
        self.out
    }
}
