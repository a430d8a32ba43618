//! The table from an ended attempt to what it says of the transaction's fate (semantics §5, §5.1).

use super::{Echo, Form, Write};
use crate::{
    AttemptId,
    call::{Content, Delivery, Settled},
    classify::Class,
    mutant::{self, Mutant},
};

/// What one attempt says of the transaction's fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The endpoint has it.
    Accepted,
    /// It has it, by its own words, under another hash than the one that the bytes have.
    Misnamed,
    /// Proven: this endpoint does not have it, and another may take it.
    Unsent,
    /// Nobody knows.
    Open,
    /// Nobody knows, and the answer to a form that waits was `null`: its receipt may come.
    Silent,
    /// This node's verdict on the transaction; elsewhere it would be the same.
    Refused,
    /// The verdict that the sender's account is past its nonce: refused, unless it is the
    /// transaction itself that was mined.
    NonceUsed,
    /// The endpoint had it before.
    Known,
}

impl Fate {
    /// The fate that an ended attempt shows; `echo` is about the result, where there is one.
    #[must_use]
    pub fn of(settled: &Settled, write: &Write, echo: Echo) -> Self {
        match settled {
            Settled::Result { content, .. } => of_result(*content, write, echo),
            Settled::Terminal { verdict, .. } => match (verdict.class, verdict.subclass) {
                (Class::AlreadyKnown, _) => Self::Known,
                (Class::TxRejected, Some("nonce_too_low")) => Self::NonceUsed,
                // Code 4 of the Sync form: it is in the pool, and was not mined in time.
                (Class::Timeout, Some("sync_send")) => Self::Accepted,
                // Everything else that ends a call says that the transaction was not taken.
                _ => Self::Refused,
            },
            Settled::Failed {
                verdict,
                delivery,
                showable,
                ..
            } => match (delivery, verdict.class, verdict.subclass) {
                (Delivery::NotSent, _, _) => Self::Unsent,
                (Delivery::MaybeSent, _, _) if mutant::is(Mutant::OpenIsUnsent) => Self::Unsent,
                (Delivery::MaybeSent, _, _) => Self::Open,
                // This node's pool is full, or its own cap or list forbids it: not taken here. In
                // what is no JSON-RPC answer the same words prove nothing.
                (Delivery::Answered, Class::Overloaded, Some("txpool_full"))
                | (Delivery::Answered, Class::TxRejected, _)
                    if *showable =>
                {
                    Self::Unsent
                }
                (Delivery::Answered, _, _) => Self::Open,
            },
        }
    }
}

fn of_result(content: Content, write: &Write, echo: Echo) -> Fate {
    match (echo, write.form) {
        (Echo::Ours, _) => Fate::Accepted,
        (Echo::Other, Form::Hash) if write.certain => Fate::Misnamed,
        (Echo::Other, Form::Hash) => Fate::Accepted,
        // A receipt of another transaction says nothing about ours.
        (Echo::Other, Form::Receipt(_) | Form::Output) => Fate::Open,
        (Echo::Nothing, Form::Receipt(_)) if content == Content::Null => Fate::Silent,
        (Echo::Nothing, _) => Fate::Open,
    }
}

/// An ended attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Which.
    pub attempt: AttemptId,
    /// What it shows.
    pub fate: Fate,
    /// The class of an error that can be shown to the caller.
    pub showable: Option<Class>,
}

impl Ended {
    /// From the end of an attempt; `echo` is about the result, where there is one.
    #[must_use]
    pub fn of(attempt: AttemptId, settled: &Settled, write: &Write, echo: Echo) -> Self {
        let showable = match settled {
            Settled::Terminal { verdict, .. }
            | Settled::Failed {
                verdict,
                showable: true,
                ..
            } => Some(verdict.class),
            Settled::Result { .. } | Settled::Failed { .. } => None,
        };
        Self {
            attempt,
            fate: Fate::of(settled, write, echo),
            showable,
        }
    }
}
