//! The requests of one query, until every block of its range is there: the whole or an error (P-23).

use super::{
    indexed::{self, Known},
    merge, settings,
};
use crate::{
    Answer, Error,
    answer::Origin,
    reads::{Call, headers::read_from, look::Go},
};
use futures_util::{
    future::BoxFuture,
    stream::{FuturesUnordered, StreamExt},
};
use highwater_core::{
    cache::View,
    logs::{Ask, Cut, Filter, Found, List, LogSettings, Part, Plan, Told, TooMany, count},
    router::Reader,
};
use std::{collections::BTreeMap, sync::Arc};

/// Most bytes of an answer that is put together.
const MOST_BYTES: u64 = 128 << 20;

/// What a query begins with.
struct Start {
    /// What the index has of the first blocks.
    have: Option<Cut>,
    /// What is to be asked for.
    missing: Part,
    /// Blocks of each part; `None`: somebody may take all.
    width: Option<u64>,
    known: Known,
    settings: LogSettings,
    /// Somebody holds its end: whoever refuses it does so for its size.
    reached: bool,
}

/// An answer whose count is so round that it may be cut.
struct Doubt {
    part: Part,
    count: u64,
    endpoint: Arc<str>,
}

/// Whether pieces are of one chain, as far as the hashes of recent blocks say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seam {
    Fits,
    Differs,
    /// A hash is not known yet.
    Unknown,
}

/// One answered part.
struct Got {
    answer: Answer,
    count: u64,
}

type Asked<'a> = BoxFuture<'a, (Part, Result<Answer, Error>)>;

impl Call<'_> {
    /// Answers a range; `None`: its pieces are of different chains.
    pub(super) async fn gather(
        &self,
        go: &Go,
        range: Part,
        remembers: bool,
    ) -> Result<Option<Answer>, Error> {
        let filter = Filter::read(self.params);
        let start = match self.start(go, range, filter.as_ref(), remembers) {
            Ok(start) => start,
            Err(answer) => return Ok(Some(answer)),
        };
        let mut gathering = Gathering {
            call: self,
            go,
            range,
            plan: plan(&start)?,
            doubts: Vec::new(),
            firsts: BTreeMap::new(),
            attempts: 0,
            start,
        };
        match gathering.run().await {
            Ok(Some(answer)) => Ok(Some(answer)),
            Ok(None) => gathering.finish(filter.as_ref()).await,
            // Nobody is known to be at the end: the whole may be asked for all the same.
            Err(Error::NoEndpoint) if gathering.start.have.is_some() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Looks at what is there; an answer where that is all.
    fn start(
        &self,
        go: &Go,
        range: Part,
        filter: Option<&Filter>,
        remembers: bool,
    ) -> Result<Start, Answer> {
        let inner = self.inner;
        let now = inner.now();
        let mut guard = inner.lock();
        let state = &mut *guard;
        let method = self.request.method;
        let allowed = state.router.allowed(method);
        let reader = Reader::new(self.request.descriptor, method, allowed.as_ref());
        let settings = settings(&state.router).unwrap_or_default();
        let known = Known {
            at: now.mono,
            since: state.sight.recent.mark(),
            all_hold: state.router.all_hold(&reader, range.to, now),
            pinned: go.pin.is_some_and(|pin| pin == range.to) && self.found.wants_pin(),
        };
        let mut have = None;
        if let (true, false, Some(filter), Some(policy)) = (
            remembers,
            self.options.bypass_cache,
            filter,
            state.sight.policy(),
        ) {
            let cache = inner.cache_settings(&state.router);
            let view = state.sight.view(&state.router, &reader, cache, policy, now);
            let ask = Ask {
                from: range.from,
                to: Some(range.to),
                newest: known.pinned,
                floor: None,
            };
            have = inner.reads.logs.find(filter, &ask, &view);
        }
        let mut missing = range;
        match have.as_ref().map(|cut| cut.found) {
            Some(Found::Whole { .. }) => {
                indexed::hit(inner, state, self.request.descriptor, 0);
                inner.tell(guard);
                let cut = have.expect("invariant: it was found just now");
                let pin = go.pin.filter(|_| self.found.wants_pin());
                return Err(indexed::served(cut, pin));
            }
            Some(Found::Tail { from, .. }) => missing.from = from.clamp(range.from, range.to),
            Some(Found::Nothing(_)) | None => have = None,
        }
        let reached = state.router.one_holds(&reader, range.to, now);
        let width = (settings.split && reached && missing.blocks() > 1)
            .then(|| state.router.log_width(&reader, missing.blocks(), now))
            .flatten();
        Ok(Start {
            have,
            missing,
            width,
            known,
            settings,
            reached,
        })
    }
}

fn plan(start: &Start) -> Result<Plan<Got>, Error> {
    let width = start.width.unwrap_or(u64::MAX);
    Plan::new(start.missing, width, start.settings.most_parts).map_err(too_wide)
}

fn too_wide(most: TooMany) -> Error {
    Error::RangeTooWide {
        requests: most.most,
        bytes: MOST_BYTES,
    }
}

struct Gathering<'a, 'c> {
    call: &'a Call<'c>,
    go: &'a Go,
    range: Part,
    plan: Plan<Got>,
    start: Start,
    doubts: Vec<Doubt>,
    /// First answers of single blocks that are asked for elsewhere, too.
    firsts: BTreeMap<u64, Got>,
    attempts: u16,
}

impl<'a> Gathering<'a, '_> {
    /// Asks until every part is there; an answer where one of them says what the whole is.
    async fn run(&mut self) -> Result<Option<Answer>, Error> {
        let mut running: FuturesUnordered<Asked<'a>> = FuturesUnordered::new();
        let mut bytes = 0_u64;
        loop {
            while running.len() < self.start.settings.parallel.max(1)
                && let Some(part) = self.plan.take_next()
            {
                let avoid = self.firsts.get(&part.from);
                let avoid = avoid.map(|first| Arc::clone(&first.answer.endpoint));
                let (call, go, range) = (self.call, self.go, self.range);
                running.push(Box::pin(async move {
                    (part, call.ask_part(go, range, part, avoid).await)
                }));
            }
            let Some((part, ended)) = running.next().await else {
                return Ok(None);
            };
            if let Ok(answer) = &ended {
                self.attempts = self.attempts.saturating_add(answer.attempts);
            }
            let got = match ended {
                Ok(answer) if !answer.is_error() => {
                    let count = answer.result().and_then(count).unwrap_or(0);
                    Got { answer, count }
                }
                ended => {
                    if let Some(first) = self.firsts.remove(&part.from) {
                        // Nobody else can say.
                        self.plan.answered(part, first);
                        continue;
                    }
                    let splits = self.start.settings.split && self.start.reached;
                    let width = splits.then(|| self.call.smaller(&ended, part)).flatten();
                    let Some(width) = width else {
                        return ended.map(|answer| {
                            Some(Answer {
                                attempts: self.attempts,
                                ..answer
                            })
                        });
                    };
                    self.plan.cut(part, width).map_err(too_wide)?;
                    continue;
                }
            };
            bytes = bytes.saturating_add(got.answer.span.len() as u64);
            if bytes > MOST_BYTES {
                return Err(too_wide(TooMany {
                    most: self.start.settings.most_parts,
                }));
            }
            self.weigh(part, got)?;
        }
    }

    /// Takes an answer up, or has it looked at again where it may be cut.
    fn weigh(&mut self, part: Part, got: Got) -> Result<(), Error> {
        let mut caps = self.call.inner.reads.logs.caps.lock();
        let endpoint = Arc::clone(&got.answer.endpoint);
        if let Some(first) = self.firsts.remove(&part.from) {
            match first.count.cmp(&got.count) {
                std::cmp::Ordering::Less => caps.on_cut(&first.answer.endpoint, first.count),
                std::cmp::Ordering::Greater => caps.on_cut(&endpoint, got.count),
                std::cmp::Ordering::Equal => {}
            }
            let longer = if first.count > got.count { first } else { got };
            self.plan.answered(part, longer);
            return Ok(());
        }
        let suspect = self.start.settings.split && caps.is_suspect(&endpoint, got.count);
        caps.on_answer(&endpoint, got.count);
        drop(caps);
        if !suspect {
            self.plan.answered(part, got);
        } else if part.blocks() > 1 {
            self.doubts.push(Doubt {
                part,
                count: got.count,
                endpoint,
            });
            let half = part.blocks().div_ceil(2);
            self.plan.cut(part, half).map_err(too_wide)?;
        } else if self.call.others() {
            self.firsts.insert(part.from, got);
            self.plan.again(part).map_err(too_wide)?;
        } else {
            self.plan.answered(part, got);
        }
        Ok(())
    }

    /// All parts are there: one list of them, if they are of one chain.
    async fn finish(self, filter: Option<&Filter>) -> Result<Option<Answer>, Error> {
        let inner = self.call.inner;
        let parts = self.plan.finish();
        let parts = parts.expect("invariant: nothing runs and nothing waits");
        {
            let mut caps = inner.reads.logs.caps.lock();
            for doubt in &self.doubts {
                let within = parts
                    .iter()
                    .filter(|(part, _)| (doubt.part.from..=doubt.part.to).contains(&part.from));
                let found: u64 = within.map(|(_, got)| got.count).sum();
                match found.cmp(&doubt.count) {
                    // Logs that were there are not there any more.
                    std::cmp::Ordering::Less => return Ok(None),
                    std::cmp::Ordering::Equal => {}
                    std::cmp::Ordering::Greater => caps.on_cut(&doubt.endpoint, doubt.count),
                }
            }
        }
        let results: Vec<&str> = parts
            .iter()
            .map(|(_, got)| got.answer.result().unwrap_or_default())
            .collect();
        let endpoints: Vec<(u64, Arc<str>)> = parts
            .iter()
            .map(|(part, got)| (part.to, Arc::clone(&got.answer.endpoint)))
            .collect();
        let Part { from, to } = self.start.missing;
        let merged = (results.len() > 1).then(|| merge::joined(&[], &results));
        let text = match &merged {
            Some(merged) => std::str::from_utf8(merged).unwrap_or_default(),
            None => results.first().copied().unwrap_or_default(),
        };
        let list =
            filter.and_then(|filter| Some((filter, List::read(text, filter, from, to).ok()?)));
        let pieces = results.len() + usize::from(self.start.have.is_some());
        let mut seam = self
            .call
            .keep(&self.start, list.as_ref(), &endpoints, pieces);
        if seam == Seam::Unknown {
            // The headers that say it were not read yet.
            Box::pin(self.call.read_headers(self.range.to, &endpoints)).await;
            seam = self
                .call
                .keep(&self.start, list.as_ref(), &endpoints, pieces);
        }
        if seam != Seam::Fits {
            return Ok(None);
        }
        let have = self.start.have.as_ref().map_or(&[][..], |cut| &cut.texts);
        let mut parts = parts;
        let Some((_, last)) = parts.pop() else {
            return Ok(None);
        };
        let mut answer = last.answer;
        answer.attempts = self.attempts;
        if pieces == 1 {
            return Ok(Some(answer));
        }
        if pieces > 1 && self.start.have.is_some() {
            inner
                .reads
                .tally
                .log_tails
                .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        let pin = self.go.pin.filter(|_| self.call.found.wants_pin());
        let highest = parts.iter().filter_map(|(_, got)| got.answer.block).max();
        let kept = have.last().map(|(number, _)| *number);
        let body = match merged {
            Some(merged) if have.is_empty() => merged,
            Some(merged) => {
                let text = std::str::from_utf8(&merged).unwrap_or_default();
                merge::joined(have, &[text])
            }
            None => merge::joined(have, &[answer.result().unwrap_or_default()]),
        };
        Ok(Some(Answer {
            span: 0..body.len(),
            body,
            origin: Origin::Endpoint,
            block: answer.block.max(highest).max(kept).max(pin),
            ..answer
        }))
    }
}

impl Call<'_> {
    /// Whether anybody else may be asked.
    fn others(&self) -> bool {
        let now = self.inner.now();
        let state = self.inner.lock();
        let method = self.request.method;
        let allowed = state.router.allowed(method);
        let reader = Reader::new(self.request.descriptor, method, allowed.as_ref());
        state.router.servers_of(&reader, now) > 1
    }

    /// Has the newest headers read of those who gave pieces, but for who has told one at or above the end.
    async fn read_headers(&self, end: u64, endpoints: &[(u64, Arc<str>)]) {
        let mut labels: Vec<&Arc<str>> = endpoints.iter().map(|(_, label)| label).collect();
        labels.sort_unstable();
        labels.dedup();
        for label in labels {
            let wanted = {
                let now = self.inner.now();
                let state = self.inner.lock();
                state.labelled(label).and_then(|place| {
                    let voice = state.router.voice(place)?;
                    let stated = state.sight.recent.stated(voice, now.mono);
                    let head = state.router.believed_head(place, now)?;
                    let reference = state.router.reference_head(now)?;
                    let number = head.min(reference).max(end);
                    (stated < Some(end)).then(|| (Arc::clone(state.node(place)), number))
                })
            };
            if let Some((node, number)) = wanted {
                let timeout = self.inner.timeout.min(self.left());
                read_from(&Arc::downgrade(self.inner), &node, number, timeout).await;
            }
        }
    }

    /// Puts what was asked for into the index, if its pieces are of one chain.
    fn keep(
        &self,
        start: &Start,
        list: Option<&(&Filter, List<'_>)>,
        endpoints: &[(u64, Arc<str>)],
        pieces: usize,
    ) -> Seam {
        let inner = self.inner;
        let now = inner.now();
        let mut guard = inner.lock();
        let state = &mut *guard;
        let method = self.request.method;
        let allowed = state.router.allowed(method);
        let reader = Reader::new(self.request.descriptor, method, allowed.as_ref());
        let recent = &state.sight.recent;
        let part = start.missing;
        let (Some(policy), true) = (state.sight.policy(), pieces > 1) else {
            if let Some((filter, list)) = list {
                let (filter, known) = (*filter, start.known);
                indexed::put(
                    inner, state, &reader, filter, part, list, endpoints, known, now,
                );
            }
            return Seam::Fits;
        };
        if recent.has_left(part.to, start.known.since) {
            return Seam::Differs;
        }
        let cache = inner.cache_settings(&state.router);
        let last_final = {
            let view = state.sight.view(&state.router, &reader, cache, policy, now);
            policy.final_height(view.head, view.finalized)
        };
        // Without headers nobody can tell, and nothing that is not final is remembered.
        let watches = cache.is_some_and(|cache| cache.headers) && !policy.is_local();
        let logs = list.map_or(&[][..], |(_, list)| list.logs());
        if let Some(have) = &start.have {
            // The first block of the tail is the last one that is there already.
            let tied = match have.found {
                Found::Tail {
                    from,
                    seam: Some(hash),
                } => logs
                    .first()
                    .is_some_and(|log| log.number == from && log.hash == hash),
                Found::Tail { seam: None, .. } | Found::Whole { .. } | Found::Nothing(_) => true,
            };
            if list.is_none() || !tied {
                return Seam::Differs;
            }
        }
        let unsure = logs
            .iter()
            .filter(|log| last_final.is_none_or(|last| log.number > last));
        // One endpoint's list is of one chain; below what is known of the hashes a fork would have shown.
        let several = endpoints.len() > 1;
        let lowest = recent.lowest();
        for log in unsure {
            match recent.hash_at(log.number) {
                Some(known) if known != log.hash => return Seam::Differs,
                None if several && watches && lowest.is_none_or(|lowest| log.number >= lowest) => {
                    return Seam::Unknown;
                }
                Some(_) | None => {}
            }
        }
        if let Some((filter, list)) = list {
            let (filter, known) = (*filter, start.known);
            let is_one = |told: &Told<'_>, view: &View<'_>| told.is_of_one_chain(filter, view);
            if watches {
                let is_one = indexed::with_told(
                    inner, state, &reader, part, list, endpoints, known, now, is_one,
                );
                if is_one == Some(false) {
                    return Seam::Unknown;
                }
            }
            indexed::put(
                inner, state, &reader, filter, part, list, endpoints, known, now,
            );
        }
        Seam::Fits
    }
}
