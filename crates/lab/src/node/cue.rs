//! Which fault an exchange suffers, for reports.

use super::exchange::{Carriage, Delivery};
use super::fault::{Carries, Says};

/// The fault that an exchange suffers; the gravest where there are several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cue {
    /// Its kind, as it is called in a scenario.
    pub kind: &'static str,
    /// Whether it leaves the request without a right answer. Otherwise the answer is right but
    /// late, and lost only on a client that does not wait.
    pub spoils: bool,
}

impl Cue {
    pub(super) const fn spoiling(kind: &'static str) -> Self {
        Self { kind, spoils: true }
    }

    pub(super) const fn delaying(kind: &'static str) -> Self {
        Self {
            kind,
            spoils: false,
        }
    }

    /// The graver of two, the first of equals.
    pub(super) fn graver(first: Option<Self>, second: Option<Self>) -> Option<Self> {
        match (first, second) {
            (Some(first), _) if first.spoils => Some(first),
            (_, Some(second)) if second.spoils => Some(second),
            (first, second) => first.or(second),
        }
    }

    /// What a wrong answer to one call amounts to.
    pub(super) fn said(says: &Says, batch: bool) -> Option<Self> {
        match says {
            // Alone in its request, a call gets one of the two equal answers.
            Says::Twice if !batch => None,
            Says::Error { .. }
            | Says::WrongId
            | Says::StringId
            | Says::MissingId
            | Says::Twice
            | Says::Omitted
            | Says::Both
            | Says::Neither
            | Says::Null
            | Says::Older(_)
            | Says::LostSend => Some(Self::spoiling(says.kind())),
        }
    }

    /// What a fault of carriage does to this answer.
    pub(super) fn carried(carries: &Carries, carriage: &Carriage) -> Option<Self> {
        let cuts = |after: usize| match carriage {
            Carriage::Answer(Delivery { body, .. }) => after < body.len(),
            Carriage::Refused | Carriage::Silence | Carriage::Closed | Carriage::Reset => false,
        };
        match carries {
            Carries::ResetBody(after) | Carries::Truncate(after) => {
                cuts(*after).then_some(Self::spoiling(carries.kind()))
            }
            Carries::InvalidJson => Some(Self::spoiling(carries.kind())),
            Carries::Stall { .. } | Carries::Drip { .. } | Carries::Huge(_) => {
                Some(Self::delaying(carries.kind()))
            }
            // These decide before there is an answer, and decided to let this one be.
            Carries::Slow { .. }
            | Carries::Down
            | Carries::Hang
            | Carries::Close
            | Carries::Reset
            | Carries::Page { .. }
            | Carries::RateLimit { .. }
            | Carries::Quota(_)
            | Carries::Gzip => None,
        }
    }
}
