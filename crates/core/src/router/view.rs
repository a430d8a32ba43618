//! What the heads of the endpoints say to a read: the block that it is pinned to, who answers
//! `eth_blockNumber`, and how far behind an answer from memory may be (P-1, P-2, P-5, P-11).
//!
//! Only endpoints count that may serve the read: on the chain, not ejected, with the method. One
//! function looks at them, so a pin, a block number and a cached answer never disagree (lessons A7).

use super::{Identity, Router, endpoint::Endpoint};
use crate::{
    EndpointId, Now,
    breaker::{MethodKey, Stand},
    heads::{Heads, Holds, Standing},
    method::Descriptor,
    pin::{self, BlockNumber, Head, Pin, PinSettings, View},
    router::EndpointSet,
};
use smallvec::SmallVec;
use std::time::Duration;

/// Which endpoints may serve a read.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    /// Its method's row.
    pub row: &'static Descriptor,
    /// The method as endpoints tell it apart.
    pub key: MethodKey,
    /// The endpoints whose method lists name it; `None`: all ([`Router::allowed`]).
    pub allowed: Option<&'a EndpointSet>,
}

impl<'a> Reader<'a> {
    /// Who may serve a method.
    #[must_use]
    pub fn new(row: &'static Descriptor, method: &str, allowed: Option<&'a EndpointSet>) -> Self {
        Self {
            row,
            key: MethodKey::new(row, method),
            allowed,
        }
    }
}

impl Router {
    /// The block that a read's `latest` becomes, for a caller with this floor (P-2, P-8). `fetched`: a
    /// head was fetched for it just now.
    #[must_use]
    pub fn pin(
        &self,
        reader: &Reader<'_>,
        floor: Option<u64>,
        fetched: bool,
        settings: &PinSettings,
        now: Now,
    ) -> Pin {
        let heads = self.listed(reader, now);
        let view = self.view(reader, &heads, floor, fetched, now);
        pin::pin(heads.iter().copied(), &view, settings, now.mono)
    }

    /// Who answers an `eth_blockNumber` (P-5). `pinning` says whether reads are pinned, `max_age` is
    /// the cache's, where it is on.
    #[must_use]
    pub fn block_number(
        &self,
        reader: &Reader<'_>,
        floor: Option<u64>,
        pinning: bool,
        max_age: Option<Duration>,
        settings: &PinSettings,
        now: Now,
    ) -> BlockNumber {
        let heads = self.listed(reader, now);
        let view = self.view(reader, &heads, floor, false, now);
        let heads = heads.iter().copied();
        pin::block_number(heads, &view, pinning, max_age, settings, now.mono)
    }

    /// The newest head that answers from memory are measured by: the highest believed one of those
    /// that may serve the read, never above what a second voice confirmed (P-11, R-16).
    #[must_use]
    pub fn newest_head(&self, reader: &Reader<'_>, now: Now) -> Option<u64> {
        let reference = self.reference_head(now);
        let highest = self.trusted(reader, now).map(|head| head.height).max()?;
        Some(reference.map_or(highest, |reference| reference.min(highest)))
    }

    /// The lowest head of those that may serve the read; `None` where one of them is not known (P-12).
    #[must_use]
    pub fn lowest_head(&self, reader: &Reader<'_>, now: Now) -> Option<u64> {
        let heads = self.heads.as_ref()?;
        let mut lowest = None;
        for (id, _) in self.servers(reader, now) {
            let head = heads.trusted(id, now.mono)?;
            lowest = Some(lowest.map_or(head, |low: u64| low.min(head)));
        }
        lowest
    }

    /// Whether anybody may serve the read at some time: where nobody may, there is nothing to wait for.
    #[must_use]
    pub fn may_serve(&self, reader: &Reader<'_>, now: Now) -> bool {
        self.ids().any(|id| self.has_method(id, reader, now))
    }

    /// Whether every endpoint that may serve the read is known to hold a block (P-13).
    #[must_use]
    pub fn all_hold(&self, reader: &Reader<'_>, height: u64, now: Now) -> bool {
        let mut any = false;
        self.servers(reader, now).all(|(id, _)| {
            any = true;
            self.holds(id, height, now) == Holds::Yes
        }) && any
    }

    /// Whether somebody who is known to hold a block could be asked now for a read that nobody waits
    /// for: closed, and with a token (P-18).
    #[must_use]
    pub fn has_free_holder(&self, reader: &Reader<'_>, height: u64, now: Now) -> bool {
        self.servers(reader, now).any(|(id, known)| {
            let stand = known.circuit.stand(reader.row.lane, reader.key, now.mono);
            matches!(stand, Stand::Closed { .. })
                && self.holds(id, height, now) == Holds::Yes
                && known.profile.account.available(now)
        })
    }

    /// The endpoints that are known to hold a block.
    #[must_use]
    pub fn holders(&self, height: u64, now: Now) -> EndpointSet {
        let holds = |id: &EndpointId| self.holds(*id, height, now) == Holds::Yes;
        self.ids().filter(holds).collect()
    }

    /// The head of an endpoint, where it is believed.
    #[must_use]
    pub fn believed_head(&self, endpoint: EndpointId, now: Now) -> Option<u64> {
        self.heads.as_ref()?.trusted(endpoint, now.mono)
    }

    /// The highest block that callers are believed to have seen: what an endpoint may be ahead of the
    /// reference head. `None`: nothing bounds it.
    #[must_use]
    pub fn highest_believed(&self, now: Now) -> Option<u64> {
        let heads = self.heads.as_ref()?;
        let reference = heads.reference(now.mono)?;
        Some(reference.saturating_add(heads.max_ahead()))
    }

    /// Blocks that an endpoint may be ahead of the reference head and be believed.
    #[must_use]
    pub fn max_ahead(&self) -> u64 {
        self.heads.as_ref().map_or(u64::MAX, Heads::max_ahead)
    }

    /// How long a head counts.
    #[must_use]
    pub fn stale(&self) -> Duration {
        let heads = self.heads.as_ref();
        heads.map_or(Duration::from_secs(30), |heads| heads.settings().stale)
    }

    /// The voice of an endpoint: those of one backend have one.
    #[must_use]
    pub fn voice(&self, endpoint: EndpointId) -> Option<u16> {
        self.heads.as_ref()?.voice(endpoint)
    }

    /// How many voices the endpoints have.
    #[must_use]
    pub fn voices(&self) -> usize {
        let mut voices: SmallVec<[u16; 8]> = self.ids().filter_map(|id| self.voice(id)).collect();
        voices.sort_unstable();
        voices.dedup();
        voices.len()
    }

    /// How often a head was read so far: what waits for a head looks again when this changes.
    #[must_use]
    pub const fn heads_read(&self) -> u64 {
        self.heads_read
    }

    /// The chain's block time, measured or configured.
    #[must_use]
    pub fn block_time(&self) -> Option<Duration> {
        self.heads.as_ref()?.block_time()
    }

    /// Blocks that an endpoint may be behind now.
    #[must_use]
    pub fn max_lag(&self) -> u64 {
        self.heads.as_ref().map_or(0, |heads| heads.max_lag())
    }

    /// Whether two voices are behind the reference head (P-8).
    #[must_use]
    pub fn has_majority(&self, now: Now) -> bool {
        let Some(heads) = &self.heads else {
            return false;
        };
        let Some(reference) = heads.reference(now.mono) else {
            return false;
        };
        let mut voices: SmallVec<[u16; 8]> = SmallVec::new();
        for id in self.ids() {
            let there = heads.trusted(id, now.mono) >= Some(reference);
            if let (true, Some(voice)) = (there, heads.voice(id))
                && !voices.contains(&voice)
            {
                voices.push(voice);
            }
        }
        voices.len() >= 2
    }

    /// The believed heads, weighed once: what is chosen among them looks at each several times.
    fn listed(&self, reader: &Reader<'_>, now: Now) -> SmallVec<[Head; 8]> {
        self.trusted(reader, now).collect()
    }

    fn view(
        &self,
        reader: &Reader<'_>,
        heads: &[Head],
        floor: Option<u64>,
        fetched: bool,
        now: Now,
    ) -> View {
        View {
            reference: self.reference_head(now),
            max_lag: self.max_lag(),
            floor,
            // Of no interest while somebody is believed.
            remembered: heads.is_empty() && self.remembers(reader, now),
            fetched,
        }
    }

    /// Whether a head was believed once that is too old now, or is one of an endpoint that is out for
    /// a while.
    fn remembers(&self, reader: &Reader<'_>, now: Now) -> bool {
        let Some(heads) = &self.heads else {
            return false;
        };
        self.ids().any(|id| {
            self.has_method(id, reader, now)
                && match heads.standing(id, now.mono) {
                    Standing::Stale => true,
                    Standing::Unknown | Standing::NoReference | Standing::Implausible { .. } => {
                        false
                    }
                    Standing::Leading { .. } | Standing::Level { .. } | Standing::Behind { .. } => {
                        true
                    }
                }
        })
    }

    /// Whether an endpoint may serve the read, ejected or not.
    fn has_method(&self, id: EndpointId, reader: &Reader<'_>, now: Now) -> bool {
        let known = self.endpoint(id);
        !matches!(known.check.identity(), Identity::Quarantined { .. })
            && reader.allowed.is_none_or(|allowed| allowed.contains(id))
            && match known.circuit.stand(reader.row.lane, reader.key, now.mono) {
                Stand::Closed { .. } | Stand::HalfOpen | Stand::Trial | Stand::Open { .. } => true,
                Stand::MethodOff { .. } | Stand::Excluded { .. } => false,
            }
    }

    /// The believed heads of those that may serve the read.
    fn trusted<'a>(
        &'a self,
        reader: &'a Reader<'_>,
        now: Now,
    ) -> impl Iterator<Item = Head> + Clone + 'a {
        let heads = self.heads.as_ref();
        self.servers(reader, now).filter_map(move |(id, _)| {
            let heads = heads?;
            let height = heads.trusted(id, now.mono)?;
            let (_, at) = heads.last(id)?;
            Some(Head { height, at })
        })
    }

    /// Those that may serve the read now: checked, not ejected, with the method.
    fn servers<'a>(
        &'a self,
        reader: &'a Reader<'_>,
        now: Now,
    ) -> impl Iterator<Item = (EndpointId, &'a Endpoint)> + Clone + 'a {
        (0..=u16::MAX)
            .zip(&self.endpoints)
            .filter_map(move |(id, known)| {
                let id = EndpointId(id);
                let listed = reader.allowed.is_none_or(|allowed| allowed.contains(id));
                let serves = listed
                    && known.check.identity() == Identity::Verified
                    && match known.circuit.stand(reader.row.lane, reader.key, now.mono) {
                        Stand::Closed { .. } | Stand::HalfOpen => true,
                        Stand::Trial
                        | Stand::Open { .. }
                        | Stand::MethodOff { .. }
                        | Stand::Excluded { .. } => false,
                    };
                serves.then_some((id, known))
            })
    }
}

#[cfg(test)]
mod tests;
