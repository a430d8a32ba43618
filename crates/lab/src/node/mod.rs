//! A simulated node: a view of the chain, a dialect, a temper, and faults over time.
//!
//! A node is asked with a moment and a body and says what happens: bytes, or their absence, and
//! after how long. It reads no clock and opens no socket, so the same node serves virtual time and
//! real sockets, and equal requests at equal times get equal answers.

mod cue;
mod dialect;
mod exchange;
mod fault;
mod filters;
mod latency;
mod logs;
mod pool;
mod range;
pub(crate) mod render;
mod reply;
mod rpc;
mod sight;
mod throttle;
mod wording;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub use cue::Cue;
pub use dialect::{Dialect, Miss, RpcError};
pub use exchange::{Carriage, Delivery, Ending, Exchange, Pace, Seen};
pub use fault::{Carries, Fault, Says, Sees, What, view};
pub use latency::Latency;

use alloy_primitives::B256;

use crate::call::{Call, parse_calls};
use crate::chain::Chain;
use crate::rng::Rng;
use filters::Filters;
use reply::Reply;
use sight::Sight;
use throttle::Bucket;

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Its name in reports.
    pub name: String,
    /// The client it imitates.
    pub dialect: Dialect,
    /// How long healthy answers take.
    pub latency: Latency,
    /// What goes wrong.
    pub faults: Vec<Fault>,
}

/// A node at work.
#[derive(Debug)]
pub struct Node {
    profile: Profile,
    chain: Arc<Chain>,
    /// Its place in the fleet; chance differs by it.
    index: u64,
    /// The seed of its chances.
    luck: u64,
    requests: u64,
    buckets: BTreeMap<(usize, String), Bucket>,
    used: BTreeMap<usize, u64>,
    filters: Filters,
    /// What the last request brought into its pool of transactions.
    taken: Vec<B256>,
}

impl Node {
    /// A node on a chain; `index` is its place in the fleet.
    #[must_use]
    pub fn new(profile: Profile, chain: Arc<Chain>, index: u64) -> Self {
        let luck = chain.spec().seed;
        let filters = Filters::new(Rng::at(luck, &[index, u64::MAX]));
        Self {
            profile,
            chain,
            index,
            luck,
            requests: 0,
            buckets: BTreeMap::new(),
            used: BTreeMap::new(),
            filters,
            taken: Vec::new(),
        }
    }

    /// With chances of another seed than its chain's.
    #[must_use]
    pub fn with_luck(mut self, seed: u64) -> Self {
        self.luck = seed;
        self
    }

    /// What it is.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Whether connections are refused at a moment, whoever asks.
    #[must_use]
    pub fn down(&self, now: Duration) -> bool {
        self.profile.faults.iter().any(|fault| {
            fault.what == What::Carries(Carries::Down) && fault.share >= 1.0 && fault.active(now)
        })
    }

    /// The next moment after `now` at which [`Node::down`] may change.
    #[must_use]
    pub fn next_turn(&self, now: Duration) -> Option<Duration> {
        let downs = self.profile.faults.iter();
        let downs = downs.filter(|fault| fault.what == What::Carries(Carries::Down));
        downs.filter_map(|fault| fault.next_change(now)).min()
    }

    /// Takes one request. `client` tells callers apart where a limit is per client.
    pub fn ask(&mut self, now: Duration, client: &str, body: &[u8]) -> Exchange {
        self.requests += 1;
        self.taken.clear();
        let mut rng = Rng::at(self.luck, &[self.index, self.requests]);
        let (batch, calls) = parse_calls(body);
        let mut delay = self.profile.latency.draw(&mut rng);
        let struck = self.struck(now, &calls, &mut rng);
        let mut shaping = Vec::new();
        let mut cue = None;
        for (index, carries) in struck {
            match &carries {
                Carries::Slow { add, ramp } => {
                    let progress = self.profile.faults[index].progress(now);
                    let add = if *ramp {
                        latency::scaled(*add, progress)
                    } else {
                        *add
                    };
                    delay = delay.saturating_add(add);
                    cue = cue.or(Some(Cue::delaying(carries.kind())));
                }
                other => {
                    if let Some(instead) = self.instead(now, client, (index, other)) {
                        return Exchange {
                            delay: reply_delay(&instead, delay),
                            carriage: instead,
                            cue: Some(Cue::spoiling(other.kind())),
                        };
                    }
                    shaping.push(carries);
                }
            }
        }
        let sends = calls
            .iter()
            .any(|call| call.method == "eth_sendRawTransaction");
        if sends && self.profile.dialect.sends_into_a_block() {
            let spec = self.chain.spec();
            let block = spec.born_at(spec.head_at(now) + 1);
            delay = delay.max(block.saturating_sub(now));
        }
        let mut rng = Rng::at(self.luck, &[self.index, self.requests, 1]);
        let (carriage, said) = self.answer(now, (batch, &calls), &mut rng);
        let cue = shaping.iter().fold(Cue::graver(cue, said), |cue, carries| {
            Cue::graver(cue, Cue::carried(carries, &carriage))
        });
        Exchange {
            delay,
            carriage: reply::shape(carriage, &shaping),
            cue,
        }
    }

    /// The transactions that the last request brought into its pool, whatever became of its answer.
    #[must_use]
    pub fn taken(&self) -> &[B256] {
        &self.taken
    }

    /// The faults of carriage that strike this request, with their places in the profile.
    fn struck(&self, now: Duration, calls: &[Call], rng: &mut Rng) -> Vec<(usize, Carries)> {
        let mut struck = Vec::new();
        for (index, fault) in self.profile.faults.iter().enumerate() {
            let What::Carries(carries) = &fault.what else {
                continue;
            };
            // The draw comes first, so that windows and methods do not shift later draws.
            let hit = rng.chance(fault.share);
            let covered =
                fault.methods.is_empty() || calls.iter().any(|call| fault.covers(&call.method));
            if hit && covered && fault.active(now) {
                struck.push((index, carries.clone()));
            }
        }
        struck
    }

    /// What happens instead of an answer, if this fault prevents one.
    fn instead(
        &mut self,
        now: Duration,
        client: &str,
        (index, carries): (usize, &Carries),
    ) -> Option<Carriage> {
        match carries {
            Carries::Down => Some(Carriage::Refused),
            Carries::Hang => Some(Carriage::Silence),
            Carries::Close => Some(Carriage::Closed),
            Carries::Reset => Some(Carriage::Reset),
            Carries::Page {
                status,
                content_type,
                body,
                retry_after,
            } => {
                let mut page = Delivery::json(body.clone());
                page.status = *status;
                page.content_type.clone_from(content_type);
                throttle::retry_after(&mut page, *retry_after);
                Some(Carriage::Answer(page))
            }
            Carries::RateLimit {
                rate,
                burst,
                retry_after,
                per_client,
            } => {
                let who = if *per_client { client } else { "" };
                let bucket = self.buckets.entry((index, who.to_owned()));
                let bucket = bucket.or_insert_with(|| Bucket::new(*burst, now));
                let taken = bucket.take(*rate, *burst, now);
                (!taken).then(|| throttle::rate_limited(*retry_after))
            }
            Carries::Quota(most) => {
                let used = self.used.entry(index).or_insert(0);
                *used += 1;
                (*used > *most).then(throttle::quota_exhausted)
            }
            Carries::Slow { .. }
            | Carries::ResetBody(_)
            | Carries::Truncate(_)
            | Carries::Stall { .. }
            | Carries::Drip { .. }
            | Carries::InvalidJson
            | Carries::Huge(_)
            | Carries::Gzip => None,
        }
    }

    fn answer(
        &mut self,
        now: Duration,
        (batch, calls): (bool, &[Call]),
        rng: &mut Rng,
    ) -> (Carriage, Option<Cue>) {
        if calls.is_empty() {
            let error = reply::error_object(None, -32700, "parse error", None);
            return (Carriage::Answer(Delivery::json(error)), None);
        }
        let (limit, too_large) = self.profile.dialect.batch_limit();
        if batch && calls.len() > limit {
            let error = reply::error_object(None, too_large.code, &too_large.message, None);
            return (Carriage::Answer(Delivery::json(error)), None);
        }
        let mut cue = None;
        let mut replies = Vec::with_capacity(calls.len());
        for call in calls {
            let says = self.says(now, call, rng);
            let said = says.as_ref().and_then(|says| Cue::said(says, batch));
            cue = Cue::graver(cue, said);
            replies.push(self.reply(now, (call, says), rng));
        }
        (reply::join(batch, &replies), cue)
    }

    /// The wrong answer to a call, where one is due.
    fn says(&self, now: Duration, call: &Call, rng: &mut Rng) -> Option<Says> {
        let mut said = None;
        for fault in &self.profile.faults {
            let What::Says(says) = &fault.what else {
                continue;
            };
            let hit = rng.chance(fault.share);
            if hit && said.is_none() && fault.active(now) && fault.covers(&call.method) {
                said = Some(says.clone());
            }
        }
        said
    }

    fn reply(
        &mut self,
        now: Duration,
        (call, says): (&Call, Option<Says>),
        rng: &mut Rng,
    ) -> Reply {
        let missing = self.profile.faults.iter().any(|fault| {
            fault.what == What::Sees(Sees::NoMethod)
                && fault.active(now)
                && fault.covers(&call.method)
        });
        let mut sight = Sight::new(
            &self.chain,
            self.profile.dialect,
            now,
            &self.profile.faults,
            (self.index, rng),
        );
        if let Some(Says::Older(blocks)) = says {
            sight.older = blocks;
        }
        let params = params(call);
        reply::make(call, says, || {
            if missing {
                return Err(sight.dialect.no_method(&call.method));
            }
            let kept = (&mut self.filters, &mut self.taken);
            rpc::answer(&sight, kept, &call.method, &params)
        })
    }
}

/// A refused connection is refused at once; the answer times of a node do not apply to it.
fn reply_delay(carriage: &Carriage, delay: Duration) -> Duration {
    match carriage {
        Carriage::Refused => Duration::ZERO,
        Carriage::Silence | Carriage::Closed | Carriage::Reset | Carriage::Answer(_) => delay,
    }
}

fn params(call: &Call) -> Vec<serde_json::Value> {
    let params = call.params.as_deref();
    params
        .and_then(|params| serde_json::from_str(params).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
