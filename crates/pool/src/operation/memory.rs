//! What a pinned transport failed with, so that it is known again (L-5).
//!
//! A closure may return the very error that its provider gave, or one of its own that looks like a
//! provider's. An error of the pool's making carries a number; an endpoint's own error is known by its
//! code and message.

use super::PinnedError;
use crate::Attempt;
use alloy_json_rpc::RpcError;
use alloy_transport::TransportError;
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    sync::atomic::{AtomicU64, Ordering},
};

/// Most failures of one run that are remembered, the latest ones.
const MOST: usize = 64;

static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// A number that no other error has.
pub(super) fn number() -> u64 {
    NUMBERS.fetch_add(1, Ordering::Relaxed)
}

/// The failures of one run that another endpoint may not have.
#[derive(Debug, Default)]
pub(super) struct Memory(Mutex<VecDeque<(Mark, Attempt)>>);

/// By what an error is known again.
#[derive(Debug, PartialEq, Eq)]
enum Mark {
    Number(u64),
    Response(i64, String),
}

impl Memory {
    /// An error of the pool's making.
    pub(super) fn keep(&self, error: &PinnedError, attempt: Attempt) {
        self.push(Mark::Number(error.number), attempt);
    }

    /// An endpoint's own error.
    pub(super) fn keep_response(&self, code: i64, message: &str, attempt: Attempt) {
        self.push(Mark::Response(code, message.to_owned()), attempt);
    }

    fn push(&self, mark: Mark, attempt: Attempt) {
        let mut known = self.0.lock();
        if known.len() >= MOST {
            known.pop_front();
        }
        known.push_back((mark, attempt));
    }

    /// The failure that an error tells of; `None`: it is none of this run's.
    pub(super) fn find(&self, error: &TransportError) -> Option<Attempt> {
        let mark = match error {
            RpcError::ErrorResp(own) => Mark::Response(own.code, own.message.to_string()),
            _ => Mark::Number(PinnedError::from_transport(error)?.number),
        };
        let known = self.0.lock();
        let found = known.iter().rev().find(|(known, _)| *known == mark);
        found.map(|(_, attempt)| attempt.clone())
    }
}
