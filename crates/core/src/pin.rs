//! Which block `latest` is, for one call (P-1 to P-6).
//!
//! Every read that says or means `latest` is made to say a number, the same one in every attempt,
//! racer and hedge, and goes only to endpoints known to hold it (P-3). The number is the lowest head
//! among those that may serve the call and are within `max_lag` of the highest, so that all of them
//! can (P-2), and it never lies below what the caller has seen (P-8).
//!
//! One function makes the view, and everything that speaks of a latest block calls it: reads, and the
//! answers to `eth_blockNumber` (P-5, lessons A7).

use crate::{
    chains::{Chain, Quirk},
    method::{
        Found, Rewritten, array_text,
        scan::{self, Elements, Members},
    },
    mutant::{self, Mutant},
};
use std::{
    ops::RangeInclusive,
    time::{Duration, Instant},
};

/// Numbers of pinning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinSettings {
    /// Age below which a head is fresh enough to pin a call to. Default 1 s.
    pub fresh: Duration,
    /// Send every `eth_blockNumber` to an endpoint (P-5). Default false.
    pub forward_block_number: bool,
}

impl Default for PinSettings {
    fn default() -> Self {
        Self {
            fresh: Duration::from_secs(1),
            forward_block_number: false,
        }
    }
}

/// The trusted head of an endpoint that may serve the call: chain-checked, not quarantined or
/// ejected, with the method. See [`Heads::trusted`](crate::heads::Heads::trusted).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The height.
    pub height: u64,
    /// When it was read.
    pub at: Instant,
}

/// What is known when a call is pinned.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// The reference head: what two voices have reached. A head above it that nobody else
    /// confirmed never sets the pin.
    pub reference: Option<u64>,
    /// Blocks that an endpoint may be behind.
    pub max_lag: u64,
    /// The caller's floor: the highest of its marks (P-8).
    pub floor: Option<u64>,
    /// Some endpoint's head was believed once and is too old now to be trusted: there is something to
    /// fetch before the tag has to pass through.
    pub remembered: bool,
    /// A head was fetched for this call just now, so that age does not matter any more. If that fetch
    /// failed, its failure is the call's, and nothing is pinned.
    pub fetched: bool,
}

/// What to do with a call that means `latest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pin {
    /// Send this number in its place, to endpoints that hold it.
    At(u64),
    /// No head is fresh enough: one `eth_blockNumber`, shared by all that need it, then ask again.
    FetchHead,
    /// No head is trusted: the tag passes through as written, outside the monotonic promise, and is
    /// counted.
    PassThrough,
    /// The caller has seen this block, and no endpoint that may serve it is known to hold it: wait for
    /// the next head, at most one block time ([`patience`]), then it is the error `behind`.
    Behind {
        /// The block that the caller has seen.
        floor: u64,
    },
}

/// Chooses the block.
#[must_use]
pub fn pin(
    heads: impl Iterator<Item = Head> + Clone,
    view: &View,
    settings: &PinSettings,
    now: Instant,
) -> Pin {
    choose(heads, view, settings.fresh, now)
}

fn choose(
    heads: impl Iterator<Item = Head> + Clone,
    view: &View,
    fresh: Duration,
    now: Instant,
) -> Pin {
    let floor = view.floor.unwrap_or(0);
    // A lone leader counts as being where the others are, or where the caller was already.
    let bound = view
        .reference
        .filter(|_| !mutant::is(Mutant::LiarSetsPin))
        .map_or(u64::MAX, |reference| reference.max(floor));
    let is_fresh = |head: &Head| now.saturating_duration_since(head.at) < fresh;
    let heads = heads.map(move |head| Head {
        height: head.height.min(bound),
        at: head.at,
    });
    let Some(highest) = heads.clone().map(|head| head.height).max() else {
        return if view.remembered && !view.fetched {
            Pin::FetchHead
        } else {
            Pin::PassThrough
        };
    };
    let lowest_allowed = highest.saturating_sub(view.max_lag).max(floor);
    let mut lowest = None;
    let (mut any_fresh, mut confirmed) = (false, view.fetched);
    for head in heads {
        let fresh = is_fresh(&head);
        any_fresh |= fresh;
        if head.height >= lowest_allowed {
            lowest = Some(lowest.map_or(head.height, |low: u64| low.min(head.height)));
            confirmed |= fresh;
        }
    }
    match lowest {
        Some(_) if !confirmed => Pin::FetchHead,
        Some(block) => Pin::At(block),
        // Somebody may have reached the floor since it was last asked.
        None if view.fetched || any_fresh => Pin::Behind { floor },
        None => Pin::FetchHead,
    }
}

/// How long a call waits for an endpoint to reach its floor: one block time, where it is known; never
/// longer than `max_wait`.
#[must_use]
pub fn patience(block_time: Option<Duration>, max_wait: Duration) -> Duration {
    block_time.unwrap_or(max_wait).min(max_wait)
}

/// Writes the parameters of a request that is pinned.
///
/// `found` must have been made from `params`. The parameters are to be sent as they came unless this
/// says [`Rewritten::Pinned`]; then `out` was extended by the new ones. Without a change `out` is not
/// touched and nothing is allocated.
pub fn apply(found: &Found, params: &str, pin: Pin, out: &mut String) -> Rewritten {
    match pin {
        Pin::At(block) => found.rewrite(params, block, out),
        Pin::FetchHead | Pin::PassThrough | Pin::Behind { .. } => Rewritten::Unchanged,
    }
}

/// Who answers `eth_blockNumber` (P-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockNumber {
    /// This pool, with the block that a pinned read would use. No token is spent.
    Here(u64),
    /// An endpoint; its answer goes through [`lower`].
    Upstream,
    /// As [`Pin::Behind`].
    Behind {
        /// The block that the caller has seen.
        floor: u64,
    },
}

/// Decides an `eth_blockNumber`. `pinning` says whether reads are pinned at all, `max_age` is the
/// cache's, where it is on (P-11).
#[must_use]
pub fn block_number(
    heads: impl Iterator<Item = Head> + Clone,
    view: &View,
    pinning: bool,
    max_age: Option<Duration>,
    settings: &PinSettings,
    now: Instant,
) -> BlockNumber {
    let pinned = pinning.then_some(settings.fresh);
    let Some(age) = pinned
        .max(max_age)
        .filter(|_| !settings.forward_block_number)
    else {
        return BlockNumber::Upstream;
    };
    match choose(heads, view, age, now) {
        Pin::At(block) => BlockNumber::Here(block),
        Pin::FetchHead | Pin::PassThrough => BlockNumber::Upstream,
        Pin::Behind { floor } => BlockNumber::Behind { floor },
    }
}

/// What a caller is told when an endpoint answered `answer` to its `eth_blockNumber`. The endpoint's
/// head must have been noted, and `pin` been chosen after that, with `fetched` set.
///
/// # Errors
/// The caller's floor, which it must not be told to have fallen below.
pub fn lower(answer: u64, pin: Pin, floor: Option<u64>) -> Result<u64, u64> {
    match pin {
        Pin::At(block) => Ok(block),
        Pin::Behind { floor } => Err(floor),
        Pin::FetchHead | Pin::PassThrough => match floor {
            Some(floor) if answer < floor => Err(floor),
            Some(_) | None => Ok(answer),
        },
    }
}

/// The addresses of a chain at which a call is answered from outside the chain's block (P-6).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PresentState {
    ranges: Vec<RangeInclusive<[u8; 20]>>,
}

impl PresentState {
    /// What is known of a chain: on HyperEVM the read precompiles 0x…0800 to 0x…08ff.
    #[must_use]
    pub fn of(chain: Option<&Chain>) -> Self {
        let known = chain.is_some_and(|chain| chain.has(Quirk::PresentStatePrecompiles));
        let mut table = Self::default();
        if known {
            table.add(address(0x0800)..=address(0x08ff));
        }
        table
    }

    /// These addresses and those.
    #[must_use]
    pub fn and(mut self, others: &Self) -> Self {
        self.ranges.extend_from_slice(&others.ranges);
        self
    }

    /// Adds addresses that an operator knows of.
    pub fn add(&mut self, addresses: RangeInclusive<[u8; 20]>) {
        self.ranges.push(addresses);
    }

    /// Whether a request is a call to one of them: it is not pinned, shared across all blocks
    /// ([`Resolve::Tagless`](crate::method::Resolve::Tagless)) and kept by age only.
    #[must_use]
    pub fn is_read_by(&self, found: &Found, params: &str) -> bool {
        if self.ranges.is_empty() || found.row().name != "eth_call" {
            return false;
        }
        let to = destination(params);
        to.is_some_and(|to| self.ranges.iter().any(|range| range.contains(&to)))
    }
}

/// An address of 18 zero bytes and this number.
const fn address(low: u16) -> [u8; 20] {
    let mut address = [0; 20];
    [address[18], address[19]] = low.to_be_bytes();
    address
}

/// Where a call goes, if its first parameter says so exactly once.
fn destination(params: &str) -> Option<[u8; 20]> {
    let text = array_text(params);
    let open = scan::skip_blanks(text.as_bytes(), 0);
    let call = Elements::new(text.as_bytes(), open).next()?;
    if text.as_bytes().get(call.start) != Some(&b'{') {
        return None;
    }
    let mut to = None;
    for (name, value) in Members::new(text.as_bytes(), call.start) {
        if scan::string(text, &name)?.eq_ignore_ascii_case("to") && to.replace(value).is_some() {
            return None;
        }
    }
    let to = scan::string(text, &to?)?;
    let digits = to.strip_prefix("0x")?.as_bytes();
    if digits.len() != 40 {
        return None;
    }
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|d| u8::try_from(d).ok())
    };
    let mut address = [0; 20];
    for (byte, pair) in address.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(address)
}
