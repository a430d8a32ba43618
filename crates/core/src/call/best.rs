//! Which of several failures a caller is shown.

use crate::{AttemptId, classify::Class};

/// The order of R-33: which of several failures tells the caller most; lower is better.
#[must_use]
pub const fn usefulness(class: Class) -> u8 {
    match class {
        Class::ExecutionRevert
        | Class::InvalidParams
        | Class::InvalidRequest
        | Class::ParseError
        | Class::TxRejected
        | Class::AlreadyKnown
        | Class::UserRejected
        | Class::FilterNotFound => 0,
        Class::MissingHistory => 2,
        Class::RangeLimit | Class::PayloadTooLarge => 3,
        Class::Behind | Class::ReorgedBlock | Class::Syncing => 4,
        Class::MethodUnsupported | Class::MethodBlocked | Class::SubscriptionUnsupported => 5,
        Class::QuotaExhausted | Class::RateLimited => 6,
        Class::Unauthorized
        | Class::WrongChain
        | Class::Overloaded
        | Class::Internal
        | Class::BadGatewayHtml
        | Class::MalformedEnvelope => 7,
        Class::Timeout => 8,
    }
}

/// The best failure so far among those that can be shown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Best(Option<(u8, AttemptId)>);

impl Best {
    /// Considers one more; of two as good the earlier stays.
    pub(super) fn consider(&mut self, class: Class, attempt: AttemptId) {
        let rank = usefulness(class);
        if self.0.is_none_or(|(best, _)| rank < best) {
            self.0 = Some((rank, attempt));
        }
    }

    pub(super) fn attempt(self) -> Option<AttemptId> {
        self.0.map(|(_, attempt)| attempt)
    }
}
