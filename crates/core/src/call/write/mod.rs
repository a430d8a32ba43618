//! A send of a raw transaction: what each answer says of its fate, and what is done next.
//!
//! [`Ended::of`] is the table from an ended attempt to its [`Fate`]; [`Writes`] keeps the fates of a
//! call and says after each what comes next. It holds three promises whatever the endpoints say:
//!
//! - Under [`Policy::Once`] no second endpoint gets the transaction while the first may have it.
//! - Success is told only after an endpoint accepted the transaction, or knows it after a send of
//!   ours that may have been accepted, or shows it under our hash.
//! - Where a send may have been accepted, the end is never a plain failure: it is ambiguous, and
//!   carries the hash.
//!
//! Nothing here knows endpoints or time: whom to ask and when to give up is the machine's.

mod answer;
mod fate;
mod form;
mod forwarded;
mod state;

pub use answer::{Echo, is_receipt, matches};
pub use fate::{Ended, Fate};
pub use form::Form;
pub use forwarded::Forwarded;
pub use state::{Step, Writes};

use crate::{
    TxHash,
    jsonrpc::Params,
    method::{Descriptor, Failover},
    transaction::{Kind, Raw},
};
use std::time::Duration;

/// How long the look-up of an ambiguous end may take, beyond the time of the call itself.
pub const LOOK_UP_TIME: Duration = Duration::from_secs(3);

/// To whom a transaction is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// At most one endpoint whose acceptance is not disproven.
    Once,
    /// The same bytes to one after another, until one accepts or refuses.
    Failover,
    /// The same bytes to this many at once; the first success counts.
    Broadcast(u8),
}

/// What a send is bound by, fixed when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// To whom.
    pub policy: Policy,
    /// Look the transaction up where its fate is open. Done without being asked for where the
    /// chain's nodes do not say "already known".
    pub verify: bool,
    /// What the transaction is called.
    pub hash: TxHash,
    /// Whether every node calls it so; of a type that is not known here, an endpoint's own word for
    /// it is not contradicted.
    pub certain: bool,
    /// What the method answers with.
    pub form: Form,
    /// The same bytes were sent by us within the last ten minutes; see [`Forwarded`].
    pub resent: bool,
    /// The chain's nodes say "already known" of a transaction that they have
    /// ([`has_already_known`](crate::chains::has_already_known)).
    pub has_known: bool,
}

impl Write {
    /// A send, as far as its method and parameters tell: without look-up, not sent before, on a
    /// chain whose nodes say "already known". Nothing for a method that takes no raw transaction,
    /// and for parameters in which there is none: such a call moves on only where it is proven
    /// unsent, and no hash is known of it.
    #[must_use]
    pub fn new(row: &Descriptor, params: Params<'_>, policy: Policy) -> Option<Self> {
        let form = Form::of(row, params)?;
        let Params::Array(params) = params else {
            return None;
        };
        let raw = Raw::of_params(params)?;
        Some(Self::of_raw(row, form, &raw, policy))
    }

    /// The same of a transaction that was read already.
    #[must_use]
    pub const fn of_raw(row: &Descriptor, form: Form, raw: &Raw, policy: Policy) -> Self {
        // A submission with conditions is judged once, at the moment it is made.
        let policy = match row.failover {
            Failover::SameBytes => policy,
            Failover::Any | Failover::Unsent | Failover::None => Policy::Once,
        };
        Self {
            policy,
            verify: false,
            hash: raw.hash,
            certain: !matches!(raw.kind, Kind::Other(_)),
            form,
            resent: false,
            has_known: true,
        }
    }

    /// How many endpoints are asked at once when the call starts.
    #[must_use]
    pub fn width(&self) -> usize {
        match self.policy {
            Policy::Once | Policy::Failover => 1,
            Policy::Broadcast(count) => usize::from(count.max(1)),
        }
    }

    /// Whether an open fate is looked up.
    #[must_use]
    pub const fn looks_up(&self) -> bool {
        self.verify || !self.has_known
    }
}
