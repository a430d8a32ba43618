//! Methods that one endpoint does not offer.

use std::time::{Duration, Instant};

use super::gate::later;
use crate::{
    classify::{Class, Verdict},
    method::{Descriptor, MethodId, RowKind, lookup},
};

/// Most methods of one endpoint that are remembered: callers choose the names.
const MOST: usize = 256;

/// A method as an endpoint reads its name. Names that share a row of the method table because none
/// is their own are told apart by a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MethodKey {
    row: MethodId,
    name: u64,
}

impl MethodKey {
    /// The key of a method, as the caller wrote it.
    #[must_use]
    pub fn of(method: &str) -> Self {
        Self::new(lookup(method), method)
    }

    /// The same where the row is known.
    #[must_use]
    pub fn new(row: &Descriptor, method: &str) -> Self {
        Self {
            row: row.id,
            name: match row.kind {
                RowKind::Exact => 0,
                RowKind::Prefix | RowKind::Default => fnv(method.as_bytes()),
            },
        }
    }

    /// Its row in the method table.
    #[must_use]
    pub const fn row(self) -> MethodId {
        self.row
    }
}

/// FNV-1a: two names that meet only share a note on a method that the table does not know.
fn fnv(name: &[u8]) -> u64 {
    name.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Why an endpoint does not offer a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodReason {
    /// It does not know the method, or a form of it that callers need.
    Unsupported,
    /// It does not offer the method to us.
    Blocked,
    /// It allows no range that is of use.
    Range,
    /// It has no subscriptions, or no more of them.
    Subscriptions,
}

impl MethodReason {
    /// What a failed answer says of the method: the table of classes. A range limit is not among
    /// them, since it bounds a query and seldom a method.
    #[must_use]
    pub const fn of(verdict: &Verdict) -> Option<Self> {
        match verdict.class {
            Class::MethodUnsupported => Some(Self::Unsupported),
            Class::MethodBlocked => Some(Self::Blocked),
            Class::SubscriptionUnsupported => Some(Self::Subscriptions),
            Class::ExecutionRevert
            | Class::InvalidParams
            | Class::InvalidRequest
            | Class::ParseError
            | Class::TxRejected
            | Class::AlreadyKnown
            | Class::UserRejected
            | Class::RangeLimit
            | Class::Behind
            | Class::MissingHistory
            | Class::RateLimited
            | Class::QuotaExhausted
            | Class::Unauthorized
            | Class::Timeout
            | Class::Overloaded
            | Class::Internal
            | Class::BadGatewayHtml
            | Class::MalformedEnvelope
            | Class::WrongChain
            | Class::PayloadTooLarge
            | Class::Syncing
            | Class::FilterNotFound
            | Class::ReorgedBlock => None,
        }
    }
}

/// A method that is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodOff {
    /// Which.
    pub method: MethodKey,
    /// Until when.
    pub until: Instant,
    /// Why.
    pub reason: MethodReason,
}

/// All methods that are off at one endpoint, in the order of their keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Methods {
    off: Vec<(MethodOff, u64)>,
}

impl Methods {
    pub(super) fn get(&self, method: MethodKey, now: Instant) -> Option<MethodOff> {
        let (off, _) = self.off.get(self.find(method).ok()?)?;
        (now < off.until).then_some(*off)
    }

    /// Turns a method off; requests numbered below `after` were sent before. True if it was on.
    pub(super) fn turn_off(
        &mut self,
        method: MethodKey,
        length: Duration,
        reason: MethodReason,
        after: u64,
        now: Instant,
    ) -> Option<MethodOff> {
        let was_on = self.get(method, now).is_none();
        let off = MethodOff {
            method,
            until: later(now, length),
            reason,
        };
        match self.find(method) {
            Ok(at) => self.off[at] = (off, after),
            Err(_) => {
                if self.off.len() >= MOST {
                    self.make_room(now);
                }
                let at = self.find(method).unwrap_or_else(|at| at);
                self.off.insert(at, (off, after));
            }
        }
        was_on.then_some(off)
    }

    /// A request was answered: its method works, if it was sent after it was turned off.
    pub(super) fn answered(&mut self, method: MethodKey, number: u64) {
        if let Ok(at) = self.find(method)
            && number >= self.off[at].1
        {
            self.off.remove(at);
        }
    }

    pub(super) fn all(&self, now: Instant) -> impl Iterator<Item = MethodOff> + '_ {
        self.off
            .iter()
            .map(|(off, _)| *off)
            .filter(move |off| now < off.until)
    }

    fn find(&self, method: MethodKey) -> Result<usize, usize> {
        self.off.binary_search_by_key(&method, |(o, _)| o.method)
    }

    /// Forgets what is over, or else what ends first.
    fn make_room(&mut self, now: Instant) {
        self.off.retain(|(off, _)| now < off.until);
        if self.off.len() >= MOST
            && let Some(first) = (0..self.off.len()).min_by_key(|at| self.off[*at].0.until)
        {
            self.off.remove(first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::now::tests::origin;

    const HOUR: Duration = Duration::from_secs(3_600);

    //
    #[test]
    fn tells_methods_apart_that_share_a_row() {
        let known = MethodKey::of("eth_call");
        assert_eq!(known, MethodKey::of("eth_call"));
        assert_ne!(known, MethodKey::of("eth_getLogs"));
        let (one, other) = (MethodKey::of("foo_one"), MethodKey::of("foo_other"));
        assert_eq!(one.row(), other.row());
        assert_ne!(one, other);
    }

    //
    #[test]
    fn keeps_a_method_off_for_its_time() {
        let start = origin();
        let method = MethodKey::of("eth_call");
        let mut methods = Methods::default();
        assert!(
            methods
                .turn_off(method, HOUR, MethodReason::Blocked, 0, start)
                .is_some()
        );
        assert!(
            methods
                .turn_off(method, HOUR, MethodReason::Blocked, 0, start)
                .is_none()
        );
        let last = start + HOUR - Duration::from_nanos(1);
        assert!(methods.get(method, last).is_some());
        assert_eq!(methods.get(method, start + HOUR), None);
        assert_eq!(methods.all(start + HOUR).count(), 0);
        assert!(
            methods
                .turn_off(method, HOUR, MethodReason::Blocked, 0, start + HOUR)
                .is_some()
        );
    }

    //
    #[test]
    fn remembers_a_bounded_number_and_forgets_what_ends_first() {
        let start = origin();
        let mut methods = Methods::default();
        let name = |n: usize| MethodKey::of(&format!("foo_{n}"));
        for n in 0..=MOST {
            let at = start + Duration::from_secs(n as u64);
            methods.turn_off(name(n), HOUR, MethodReason::Unsupported, 0, at);
        }
        assert_eq!(methods.all(start).count(), MOST);
        assert_eq!(methods.get(name(0), start), None);
        assert!(methods.get(name(1), start).is_some());
        let off = methods.all(start).map(|o| o.method).collect::<Vec<_>>();
        assert!(off.is_sorted());
    }

    //
    #[test]
    fn reads_the_reason_from_the_class() {
        let off = Class::ALL.into_iter().filter_map(|class| {
            let (retry_other_endpoint, counts_against_endpoint) = class.usual_flags();
            let verdict = Verdict {
                class,
                subclass: None,
                retry_other_endpoint,
                counts_against_endpoint,
                retry_after: None,
                suggested_range: None,
                fingerprint: None,
            };
            Some((class, MethodReason::of(&verdict)?))
        });
        assert_eq!(
            off.collect::<Vec<_>>(),
            [
                (Class::MethodUnsupported, MethodReason::Unsupported),
                (Class::MethodBlocked, MethodReason::Blocked),
                (Class::SubscriptionUnsupported, MethodReason::Subscriptions),
            ]
        );
    }
}
