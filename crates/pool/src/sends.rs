//! Sending raw transactions (R-35): what the owner wants, what is remembered, what a call shows at its
//! end.

use crate::{Error, judge::Shown, sender};
use bytes::Bytes;
use highwater_core::{
    Address, AttemptId, TxHash,
    call::{
        Privacy,
        write::{Form, Forwarded, Policy, Write},
    },
    chains::{self, Chain},
    jsonrpc::Params,
    method::{Changes, Descriptor},
    senders::Senders,
    transaction::Raw,
};
use std::time::Duration;

/// How raw transactions are sent (R-35).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sends {
    /// To whom. Default: failover.
    pub policy: Policy,
    /// Whether a transaction whose fate is open is looked up by its hash before the call ends. On
    /// chains whose nodes do not say "already known" that is always done. Default: with failover.
    pub verify: Option<bool>,
    /// Whether they go to private endpoints alone. Default: to private ones only where there is no
    /// other.
    pub private: bool,
    /// Longest time for one attempt; the whole call has 2 s more. Default: that of the chain (R-30).
    pub timeout: Option<Duration>,
}

impl Default for Sends {
    fn default() -> Self {
        Self {
            policy: Policy::Failover,
            verify: None,
            private: false,
            timeout: None,
        }
    }
}

impl Sends {
    /// Which endpoints may see a call of this method.
    pub(crate) fn privacy(&self, row: &Descriptor) -> Privacy {
        let to_everybody = row.is_write() && row.state_changing == Changes::Mempool;
        match Privacy::of(row) {
            Privacy::Private => Privacy::Private,
            Privacy::Any | Privacy::Public if !to_everybody => Privacy::Any,
            Privacy::Any | Privacy::Public if self.private => Privacy::Private,
            Privacy::Any | Privacy::Public => Privacy::Public,
        }
    }

    /// Longest time for one attempt and for the whole call of a submission (R-30).
    pub(crate) fn times(
        &self,
        sent: Option<&Submission>,
        chain: Option<&Chain>,
        timeout: Option<Duration>,
        deadline: Option<Duration>,
    ) -> (Duration, Duration) {
        let timeout = timeout.unwrap_or_else(|| {
            let plain = self.timeout.unwrap_or_else(|| chains::write_timeout(chain));
            sent.map_or(plain, |sent| sent.form.timeout(plain))
        });
        (
            timeout,
            deadline.unwrap_or_else(|| chains::write_deadline(timeout)),
        )
    }
}

/// What a pool remembers of what was sent through it.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) forwarded: Forwarded,
    pub(crate) senders: Senders,
}

/// A raw transaction that a call sends. Its bytes are not kept.
#[derive(Debug)]
pub(crate) struct Submission {
    pub(crate) hash: TxHash,
    pub(crate) form: Form,
    raw: Raw,
    /// The attempt that is no sending but a look at what was sent, and its method.
    pub(crate) looking: Option<(AttemptId, &'static str)>,
}

impl Submission {
    /// What is read of the parameters; `None` where there is no raw transaction in them.
    pub(crate) fn of(row: &Descriptor, params: Params<'_>) -> Option<Box<Self>> {
        let form = Form::of(row, params)?;
        let Params::Array(params) = params else {
            return None;
        };
        let raw = Raw::of_params(params)?;
        Some(Box::new(Self {
            hash: raw.hash,
            form,
            raw,
            looking: None,
        }))
    }

    /// What the call is bound by.
    pub(crate) fn write(
        &self,
        row: &Descriptor,
        sends: &Sends,
        solitary: bool,
        chain: Option<&Chain>,
    ) -> Write {
        let policy = if solitary { Policy::Once } else { sends.policy };
        let mut write = Write::of_raw(row, self.form, &self.raw, policy);
        let verify = write.policy == Policy::Failover;
        write.verify = sends.verify.unwrap_or(verify);
        write.has_known = chains::has_already_known(chain);
        write
    }

    /// Whose it is and its number there, where that can be told from the bytes.
    pub(crate) fn account(&self) -> Option<(Address, u64)> {
        let signed = self.raw.signed.as_ref()?;
        Some((sender::of(signed)?, signed.nonce))
    }

    /// The answer to a call whose transaction was accepted.
    pub(crate) fn hash_answer(&self) -> Shown {
        shown(format!("\"{}\"", self.hash), false)
    }

    /// The answer to a call that wanted more than an acceptance, and did not get it in its time: for
    /// the form that waits the code of its own timeout (EIP-7966).
    pub(crate) fn late_answer(&self) -> Shown {
        let hash = self.hash;
        let error = match self.form {
            Form::Receipt(_) => format!(
                r#"{{"code":4,"message":"the transaction was accepted but is not mined yet","data":"{hash}"}}"#
            ),
            Form::Hash | Form::Output => format!(
                r#"{{"code":-32000,"message":"the transaction was accepted but its output was lost","data":{{"source":"gateway","reason":"output_lost","hash":"{hash}"}}}}"#
            ),
        };
        shown(error, true)
    }

    /// The error of a call of which nobody knows whether its transaction was accepted.
    pub(crate) fn ambiguous(&self, said: Option<Shown>, attempts: Vec<crate::Attempt>) -> Error {
        let said = said.filter(|shown| shown.is_error);
        let error = said.and_then(|shown| {
            let bytes = shown.body.get(shown.span)?;
            Some(std::str::from_utf8(bytes).ok()?.to_owned())
        });
        Error::Ambiguous {
            hash: self.hash,
            error,
            attempts,
        }
    }
}

fn shown(text: String, is_error: bool) -> Shown {
    let span = 0..text.len();
    Shown {
        body: Bytes::from(text),
        span,
        is_error,
    }
}
