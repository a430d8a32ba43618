//! What a pool knows of its chain beside the heads: recent hashes, the finalized block, what kind of
//! chain it is. It changes together with the router, under the same lock.

use highwater_core::{
    ChainId, EndpointId, Now,
    answer::Named,
    cache::{CacheSettings, Class, Policy, View},
    chains,
    event::Event,
    floor::Falls,
    method::{Block, Found, Tag},
    pin::{PinSettings, PresentState},
    recent::{self, Header, Link, Recent},
    router::{Reader, Router},
    settings::ReadSettings,
};
use smallvec::SmallVec;
use std::time::{Duration, Instant};

/// How long headers are read after the last read that may be served from memory.
const WATCHED: Duration = Duration::from_secs(60);

/// How long a header that was asked for may take before another is asked for.
const HEADER_PATIENCE: Duration = Duration::from_secs(2);

/// What is known of the chain.
#[derive(Debug)]
pub(crate) struct Sight {
    pub(super) recent: Recent,
    /// What each voice answered last for the tag `finalized`, where it is believed.
    said_final: SmallVec<[(u16, u64); 4]>,
    /// The highest block that two of them say is final; that one says, where there is only one: what
    /// is kept for good must not hang on one endpoint's word.
    finalized: Option<u64>,
    /// The chain, once known, and what follows from it.
    chain: Option<(ChainId, Policy, PresentState)>,
    /// The reference head when last looked at.
    reference: Option<u64>,
    /// When something was last read that a block leaving the chain would make untrue.
    read: Option<Instant>,
    /// A header that is being fetched, and since when.
    asked: Option<(u64, Instant)>,
    /// The reference fell below the tip, to here, and these voices were asked which block they have
    /// there: only a majority of them tells a shorter chain from a few that are late (P-8).
    fell: Option<(u64, SmallVec<[u16; 8]>)>,
    /// The last header that was fetched leads nowhere: this one would link it.
    pub(super) missing: Option<recent::Block>,
}

impl Sight {
    pub(crate) fn new(stale: Duration) -> Self {
        Self {
            recent: Recent::new(stale),
            said_final: SmallVec::new(),
            finalized: None,
            chain: None,
            reference: None,
            read: None,
            asked: None,
            fell: None,
            missing: None,
        }
    }

    /// What follows from the chain, once it is known.
    pub(super) fn of_chain(
        &mut self,
        chain: Option<ChainId>,
        settings: &ReadSettings,
    ) -> Option<(Policy, &PresentState)> {
        let id = chain?;
        if self.chain.as_ref().is_none_or(|(known, ..)| *known != id) {
            let present = PresentState::of(chains::by_id(id)).and(&settings.present);
            self.chain = Some((id, Policy::of(id), present));
        }
        let (_, policy, present) = self.chain.as_ref()?;
        Some((*policy, present))
    }

    /// How reads are pinned; `None`: they are not. A development chain makes a block when its owner says
    /// so, who then looks at once: there no head is fresh, and each read asks for it first, unless
    /// its owner has set another time.
    pub(super) fn pinning(&mut self, router: &Router) -> Option<PinSettings> {
        let settings = router.shared_settings();
        let mut pin = settings.reads.pin.filter(|_| settings.heads.is_some())?;
        let known = self.of_chain(router.chain(), &settings.reads);
        let local = known.is_some_and(|(policy, _)| policy.is_local());
        if local && pin.fresh == PinSettings::default().fresh {
            pin.fresh = Duration::ZERO;
        }
        Some(pin)
    }

    pub(super) fn policy(&self) -> Option<Policy> {
        self.chain.as_ref().map(|(_, policy, _)| *policy)
    }

    /// Whether it is a development chain.
    pub(super) fn is_local(&self) -> bool {
        self.policy().is_some_and(|policy| policy.is_local())
    }

    /// The reference head when it was last looked at.
    pub(crate) const fn reference(&self) -> Option<u64> {
        self.reference
    }

    /// What the cache's policy is told.
    pub(super) fn view<'a>(
        &'a self,
        router: &Router,
        reader: &Reader<'_>,
        settings: Option<CacheSettings>,
        policy: Policy,
        now: Now,
    ) -> View<'a> {
        let head = router.newest_head(reader, now);
        self.at_head(head, settings, policy, now)
    }

    /// The same where the newest head is known.
    pub(super) fn at_head(
        &self,
        head: Option<u64>,
        settings: Option<CacheSettings>,
        policy: Policy,
        now: Now,
    ) -> View<'_> {
        View {
            policy,
            settings,
            head,
            finalized: self.finalized,
            recent: &self.recent,
            now: now.mono,
        }
    }

    /// A read came that may be served from memory.
    pub(super) fn on_read(&mut self, class: Class, now: Now) {
        match class {
            Class::Moving | Class::Number(_) | Class::Hash(_) | Class::Transaction => {
                self.read = Some(now.mono);
            }
            Class::Never(_) | Class::Fixed | Class::Present => {}
        }
    }

    /// The heads may have moved. A development chain that fell was set back by its owner: what was
    /// learned of it is void, and so is what callers have seen (semantics §7 row 10).
    pub(crate) fn on_heads(&mut self, router: &mut Router, falls: &Falls, now: Now) {
        let Some(reference) = router.reference_head(now) else {
            return;
        };
        let before = self.reference.replace(reference);
        let below = self.recent.tip().is_some_and(|tip| reference < tip.number);
        if !below {
            self.fell = None;
        } else if before.is_some_and(|before| reference < before)
            || self.fell.as_ref().is_some_and(|(to, _)| *to != reference)
        {
            self.fell = Some((reference, SmallVec::new()));
        }
        let (Some(before), Some(policy)) = (before, self.policy()) else {
            return;
        };
        if policy.is_reset(before, reference) {
            self.recent.restart();
            self.said_final.clear();
            self.finalized = None;
            falls.fall(reference);
            router.events().push(|| Event::Reorg {
                fork: reference,
                dropped: before - reference,
                floor: true,
            });
        }
    }

    /// A block was answered by number or tag. `endpoint` is who gave it.
    pub(super) fn on_block(
        &mut self,
        router: &mut Router,
        falls: &Falls,
        endpoint: EndpointId,
        found: &Found,
        named: &Named,
        now: Now,
    ) {
        let Some(header) = header(found, named) else {
            return;
        };
        let Some(voice) = believed(router, endpoint, header.number, now) else {
            return;
        };
        if is_tag(found, Tag::Finalized) {
            self.on_final(router, voice, header.number);
        }
        if is_tag(found, Tag::Pending) {
            return;
        }
        // An old block that a caller asks for is nobody's newest.
        let reference = router.reference_head(now).unwrap_or(header.number);
        let near = header.number.saturating_add(router.max_lag()) >= reference;
        let tip = self.recent.tip().map(|tip| tip.number);
        let newest = tip.is_none_or(|tip| header.number >= tip.min(reference));
        let link = if near && newest {
            self.recent.observe(header, voice, now.mono)
        } else if tip.is_some_and(|tip| header.number < tip) {
            self.recent.fill(header, now.mono)
        } else {
            return;
        };
        self.on_link(&link, router, falls, now);
    }

    fn on_final(&mut self, router: &Router, voice: u16, height: u64) {
        match self
            .said_final
            .iter_mut()
            .find(|(known, _)| *known == voice)
        {
            Some((_, known)) => *known = height,
            None => self.said_final.push((voice, height)),
        }
        let mut heights: SmallVec<[u64; 4]> =
            self.said_final.iter().map(|(_, height)| *height).collect();
        heights.sort_unstable_by(|a, b| b.cmp(a));
        let needed = router.voices().min(2);
        let agreed = needed.checked_sub(1).and_then(|last| heights.get(last));
        self.finalized = self.finalized.max(agreed.copied());
    }

    pub(super) fn on_link(&mut self, link: &Link, router: &mut Router, falls: &Falls, now: Now) {
        let (fork, dropped, majority) = match link {
            Link::Reorg(reorg) => (reorg.fork, reorg.dropped.len() as u64, reorg.majority),
            Link::Restarted { reorg: true } => (0, recent::WINDOW as u64, false),
            Link::Gap { missing, .. } => {
                self.missing = Some(*missing);
                return;
            }
            Link::Known
            | Link::Old
            | Link::Extended { .. }
            | Link::Rival { .. }
            | Link::Restarted { reorg: false }
            | Link::Refused(_) => return,
        };
        let mut floor = false;
        // Only a majority moves what callers have seen (P-8). Both chains have the fork: who has seen
        // that and no more is contradicted by neither.
        if let (true, Some(reference)) = (majority, router.reference_head(now)) {
            falls.fall(reference.max(fork));
            floor = true;
        }
        router.events().push(|| Event::Reorg {
            fork,
            dropped,
            floor,
        });
    }

    /// The number of the header to fetch from an endpoint that has just said its head; `None`: none
    /// is needed (P-14).
    pub(super) fn wants_header(
        &mut self,
        router: &Router,
        endpoint: EndpointId,
        now: Now,
    ) -> Option<u64> {
        let cache = router.settings().reads.cache.as_ref()?;
        let policy = self.policy()?;
        // Where nobody reads, nothing would be served by it.
        let read = self.read?;
        if now.mono.saturating_duration_since(read) > WATCHED {
            return None;
        }
        let instant = policy.finality == highwater_core::cache::Finality::Instant;
        if !cache.headers || policy.is_local() || instant {
            return None;
        }
        let reference = router.reference_head(now)?;
        let voice = believed(router, endpoint, reference, now)?;
        let holds = router.holds(endpoint, reference, now);
        if holds != highwater_core::heads::Holds::Yes {
            return None;
        }
        let known = self.recent.tip().map(|tip| tip.number);
        if known.is_some_and(|known| known >= reference) {
            let (to, asked) = self.fell.as_mut()?;
            if *to != reference || asked.contains(&voice) {
                return None;
            }
            asked.push(voice);
            return Some(reference);
        }
        let asked = self.asked.is_some_and(|(number, at)| {
            number >= reference && now.mono.saturating_duration_since(at) < HEADER_PATIENCE
        });
        if asked {
            return None;
        }
        self.asked = Some((reference, now.mono));
        Some(reference)
    }
}

/// The voice of an endpoint that may speak of a block: its head is believed and reaches it.
fn believed(router: &Router, endpoint: EndpointId, number: u64, now: Now) -> Option<u16> {
    let head = router.believed_head(endpoint, now)?;
    let bound = head.max(router.reference_head(now)?);
    // A block just above the head that was read is a newer head.
    (number <= bound.saturating_add(router.max_lag()))
        .then(|| router.voice(endpoint))
        .flatten()
}

/// The header that an answer names, where it is a block that was asked for by number or tag: one that
/// was asked for by its hash may lie on any branch (`semantics.md` H36).
fn header(found: &Found, named: &Named) -> Option<Header> {
    if found
        .slots()
        .iter()
        .any(|slot| matches!(slot.block, Block::Hash(_)))
    {
        return None;
    }
    if found.slots().len() != 1 {
        return None;
    }
    Some(Header {
        number: named.number?,
        hash: named.hash?,
        parent: named.parent?,
    })
}

fn is_tag(found: &Found, tag: Tag) -> bool {
    found
        .slots()
        .iter()
        .any(|slot| slot.block == Block::Tag(tag))
}
