//! A call that is driven as the machine drives it, against endpoints that answer by heart.

use highwater_core::{
    AttemptId, ChainId, TxHash,
    breaker::{Meaning, Said},
    call::{
        Delivery, Settled,
        write::{Echo, Ended, Policy, Step, Write, Writes},
    },
    chains::{by_id, has_already_known},
    classify::{Class, no_headers},
    jsonrpc::Params,
    judge::{Question, Shown, Wire, judge, of_class},
    method,
};
use std::{collections::VecDeque, time::SystemTime};

/// The example of EIP-155, and what every node calls it.
pub(crate) const RAW: &str = "0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83";
pub(crate) const HASH: &str = "0x33469b22e9f636356c4160a87eb19df52b7412e8eac32a4a55ffe88ea8350788";

/// How an attempt ends.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// An answer: its HTTP status and its body.
    Answer(u16, String),
    /// The connection was refused.
    Down,
    /// The connection broke after the request was written.
    Reset,
    /// Nothing came in time.
    Hang,
}

/// A result.
pub(crate) fn result(result: &str) -> End {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
    End::Answer(200, body)
}

/// The transaction's hash, as a node answers with it.
pub(crate) fn hash() -> End {
    result(&format!("\"{HASH}\""))
}

/// An error.
pub(crate) fn error(code: i64, message: &str) -> End {
    error_with(code, message, "null")
}

/// An error with data.
pub(crate) fn error_with(code: i64, message: &str, data: &str) -> End {
    let error = format!(r#"{{"code":{code},"message":"{message}","data":{data}}}"#);
    End::Answer(
        200,
        format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#),
    )
}

/// What became of a call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Its end.
    pub(crate) step: Step,
    /// How many endpoints were asked, in their order.
    pub(crate) sent: usize,
    /// How often the transaction was looked up.
    pub(crate) looked_up: usize,
    /// How often its receipt was waited for.
    pub(crate) polled: usize,
}

impl Outcome {
    pub(crate) fn of(step: Step, sent: usize) -> Self {
        Self {
            step,
            sent,
            looked_up: 0,
            polled: 0,
        }
    }

    pub(crate) fn after_look_up(step: Step, sent: usize) -> Self {
        Self {
            looked_up: 1,
            ..Self::of(step, sent)
        }
    }

    pub(crate) fn after_polling(step: Step, sent: usize) -> Self {
        Self {
            polled: 1,
            ..Self::of(step, sent)
        }
    }
}

/// A call to be.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) write: Write,
    pub(crate) method: &'static str,
    /// What a look-up is answered with.
    pub(crate) stored: String,
    /// Whether the receipt comes in time.
    pub(crate) mined: bool,
}

/// A send of the example under a policy, on a chain like Ethereum, without look-up.
pub(crate) fn send(policy: Policy) -> Call {
    form("eth_sendRawTransaction", &format!("[\"{RAW}\"]"), policy)
}

/// The same by another method.
pub(crate) fn form(method: &'static str, params: &str, policy: Policy) -> Call {
    let write = Write::new(method::lookup(method), Params::Array(params), policy);
    let write = write.expect("a raw transaction");
    assert_eq!(write.hash.to_string(), HASH);
    Call {
        write,
        method,
        stored: "null".to_owned(),
        mined: false,
    }
}

impl Call {
    pub(crate) fn verified(mut self) -> Self {
        self.write.verify = true;
        self
    }

    pub(crate) fn resent(mut self) -> Self {
        self.write.resent = true;
        self
    }

    pub(crate) fn on(mut self, chain: u64) -> Self {
        self.write.has_known = has_already_known(by_id(ChainId(chain)));
        self
    }

    /// A look-up finds it.
    pub(crate) fn stored(self) -> Self {
        let stored = format!(r#"{{"blockHash":null,"hash":"{HASH}","nonce":"0x9"}}"#);
        Self { stored, ..self }
    }

    pub(crate) fn mined(self) -> Self {
        Self {
            mined: true,
            ..self
        }
    }

    /// How an attempt ends, as the pool tells it.
    pub(crate) fn settle(&self, end: &End) -> (Settled, Echo) {
        let fault = |class, delivery| {
            let verdict = of_class(class, None);
            let meaning = Meaning::of(&verdict, 200, Said::Nothing);
            let settled = Settled::Failed {
                verdict,
                meaning,
                delivery,
                showable: false,
            };
            (settled, Echo::Nothing)
        };
        match end {
            End::Down => fault(Class::Internal, Delivery::NotSent),
            End::Reset => fault(Class::Internal, Delivery::MaybeSent),
            End::Hang => fault(Class::Timeout, Delivery::MaybeSent),
            End::Answer(status, body) => {
                let params = format!("[\"{RAW}\"]");
                let question = Question {
                    id: 1,
                    method: self.method,
                    row: method::lookup(self.method),
                    params: Params::Array(&params),
                    head: Some(100),
                    chain: Some(1),
                    rules: None,
                };
                let wire = Wire {
                    status: *status,
                    headers: no_headers(),
                    body: body.as_bytes(),
                    wall: SystemTime::UNIX_EPOCH,
                };
                let judged = judge(&wire, &question);
                let echo = match judged.shown {
                    Some(Shown::Result(result)) => {
                        Echo::of(self.write.form, result, self.write.hash)
                    }
                    Some(Shown::Error(_)) | None => Echo::Nothing,
                };
                (judged.settled, echo)
            }
        }
    }

    pub(crate) fn ended(&self, attempt: u16, end: &End) -> Ended {
        let (settled, echo) = self.settle(end);
        Ended::of(AttemptId(attempt), &settled, &self.write, echo)
    }

    /// Runs the call: endpoints are asked in order, and those that run at once end in that order.
    pub(crate) fn run(&self, ends: &[End]) -> Outcome {
        let (mut writes, mut sent) = (Writes::new(self.write), self.write.width().min(ends.len()));
        let mut running: VecDeque<usize> = (0..sent).collect();
        let (mut looked_up, mut polled) = (0, 0);
        let mut step = if sent > 0 {
            Step::Wait
        } else {
            writes.on_exhausted()
        };
        loop {
            step = match step {
                Step::Wait => {
                    let place = running.pop_front().expect("something runs");
                    let ended = self.ended(place as u16, &ends[place]);
                    writes.on_end(&ended, running.len())
                }
                Step::Next if sent < ends.len() => {
                    running.push_back(sent);
                    sent += 1;
                    Step::Wait
                }
                Step::Next => writes.on_exhausted(),
                Step::LookUp => {
                    looked_up += 1;
                    let found = highwater_core::call::write::matches(&self.stored, self.hash());
                    writes.on_lookup(found)
                }
                Step::Receipt => {
                    polled += 1;
                    writes.on_receipt(self.mined)
                }
                Step::Answer(_)
                | Step::Hash
                | Step::Found
                | Step::Late
                | Step::Ambiguous(_)
                | Step::Failed(_) => {
                    return Outcome {
                        step,
                        sent,
                        looked_up,
                        polled,
                    };
                }
            };
        }
    }

    pub(crate) fn hash(&self) -> TxHash {
        self.write.hash
    }
}

/// The end with the answer of an attempt.
pub(crate) fn answer(attempt: u16) -> Step {
    Step::Answer(AttemptId(attempt))
}

/// The ambiguous end around the error of an attempt.
pub(crate) fn ambiguous(attempt: u16) -> Step {
    Step::Ambiguous(Some(AttemptId(attempt)))
}
