//! How an endpoint stands, and what changed about it.

use std::time::{Duration, Instant};

use smallvec::SmallVec;

use super::{
    gate::{GateStand, Opened},
    methods::{MethodOff, MethodReason},
};
use crate::method::Lane;

/// Why a circuit is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Failures in a row.
    Failures,
    /// The share of failures.
    FailureRate,
    /// The endpoint stated a wait.
    Stated,
    /// Its quota is exhausted.
    Quota,
    /// It turned a request away with a 403 and no word.
    Forbidden,
    /// It is behind the others for too long.
    Drift,
    /// A caller called its data unusable.
    Unusable,
}

impl Reason {
    /// The name in events, snapshots and labels.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Failures => "failures",
            Self::FailureRate => "failure_rate",
            Self::Stated => "retry_after",
            Self::Quota => "quota",
            Self::Forbidden => "forbidden",
            Self::Drift => "drift",
            Self::Unusable => "unusable",
        }
    }
}

/// Why an endpoint is excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusion {
    /// Its credential, origin or address was refused in words.
    Refused,
    /// It answered 403 without a word too often in a row.
    Forbidden,
}

impl Exclusion {
    /// The name in events, snapshots and labels.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refused => "authorization",
            Self::Forbidden => "forbidden",
        }
    }
}

/// How an endpoint stands for a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stand {
    /// It takes calls.
    Closed {
        /// Share of its calls that it should get: less than 1 for a while after it closed. A
        /// preference among endpoints and never a refusal.
        share: f64,
    },
    /// Its cooldown is over and no trial runs: one call may be the trial.
    HalfOpen,
    /// A trial runs: it counts as ejected.
    Trial,
    /// It is ejected.
    Open {
        /// Until when.
        until: Instant,
        /// Why.
        reason: Reason,
    },
    /// It does not offer the method.
    MethodOff {
        /// Until when that is believed.
        until: Instant,
        /// Why.
        reason: MethodReason,
    },
    /// It is excluded until its URL or credential is reloaded.
    Excluded {
        /// Why.
        reason: Exclusion,
        /// When one trial is let through, where trials are on.
        trial_at: Option<Instant>,
    },
}

/// What changed, for events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Ejected, or out again after a trial.
    Ejected {
        /// The lane; `None`: all of them.
        lane: Option<Lane>,
        /// Until when.
        until: Instant,
        /// Why.
        reason: Reason,
        /// How long it will have been out by then, earlier ejections without a recovery included.
        out: Duration,
    },
    /// Takes calls again.
    Restored {
        /// The lane; `None`: the endpoint.
        lane: Option<Lane>,
    },
    /// Excluded, or excluded again after a trial.
    Excluded {
        /// Why.
        reason: Exclusion,
        /// When one trial is let through, where trials are on.
        trial_at: Option<Instant>,
    },
    /// A method was turned off.
    MethodOff(MethodOff),
}

/// What one report changed: mostly nothing.
pub type Changes = SmallVec<[Change; 2]>;

impl Change {
    pub(super) const fn ejected(lane: Option<Lane>, opened: Opened) -> Self {
        Self::Ejected {
            lane,
            until: opened.until,
            reason: opened.reason,
            out: opened.out,
        }
    }
}

impl From<GateStand> for Stand {
    fn from(gate: GateStand) -> Self {
        match gate {
            GateStand::Closed { share } => Self::Closed { share },
            GateStand::HalfOpen => Self::HalfOpen,
            GateStand::Trial => Self::Trial,
            GateStand::Open { until, reason } => Self::Open { until, reason },
        }
    }
}

/// The endpoint and a lane together: the worse of both.
pub(super) fn join(endpoint: Stand, lane: GateStand) -> Stand {
    match (endpoint, lane) {
        (Stand::Excluded { .. } | Stand::MethodOff { .. }, _) => endpoint,
        (Stand::Open { until, .. }, GateStand::Open { until: other, .. }) if other > until => {
            lane.into()
        }
        (Stand::Open { .. }, _) => endpoint,
        (_, GateStand::Open { .. }) => lane.into(),
        (Stand::Trial, _) | (_, GateStand::Trial) => Stand::Trial,
        (Stand::HalfOpen, _) | (_, GateStand::HalfOpen) => Stand::HalfOpen,
        (Stand::Closed { share }, GateStand::Closed { share: other }) => Stand::Closed {
            share: share.min(other),
        },
    }
}
