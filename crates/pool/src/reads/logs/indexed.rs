//! What the index has of a query, and what is put into it (P-21, P-22).

use super::{Room, SHARE, merge, settings};
use crate::{
    Answer,
    answer::Origin,
    inner::{Inner, State},
    reads::look::Read,
};
use highwater_core::{
    Now,
    cache::View,
    event::{CacheEnd, Event},
    logs::{Ask, Cut, Filter, Found, List, Part, Piece, Told},
    router::Reader,
};
use smallvec::SmallVec;
use std::{sync::Arc, time::Instant};

/// All that a query asks for, from the index.
pub(in crate::reads) struct Served {
    cut: Cut,
    /// The block that the caller has seen `latest` at.
    newest: Option<u64>,
}

impl Served {
    /// The answer. Its logs are copied here, outside every lock.
    pub(in crate::reads) fn answer(self) -> Answer {
        let last = self.cut.texts.last().map(|(number, _)| *number);
        let body = merge::joined(&self.cut.texts, &[]);
        Answer {
            span: 0..body.len(),
            body,
            is_error: false,
            endpoint: self.cut.endpoint,
            attempts: 0,
            transaction: None,
            origin: Origin::Cache,
            block: self.newest.max(last),
        }
    }
}

/// What was known when the requests of a query went out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) at: Instant,
    pub(super) since: highwater_core::recent::Mark,
    pub(super) all_hold: bool,
    pub(super) pinned: bool,
}

impl Room {
    /// What the index has.
    pub(super) fn find(&self, filter: &Filter, ask: &Ask, view: &View<'_>) -> Option<Cut> {
        self.shelf.lock().find(filter, ask, view).ok()
    }
}

impl Read<'_> {
    /// All of a log query from the index, before its newest block is chosen: what ends at `latest` may
    /// be as old as any other answer from memory.
    pub(in crate::reads) fn indexed(
        &self,
        inner: &Inner,
        state: &mut State,
        reader: &Reader<'_>,
        floor: Option<u64>,
        now: Now,
    ) -> Option<Served> {
        let room = &inner.reads.logs;
        if self.method != "eth_getLogs" || !room.is_on() || self.options.bypass_cache {
            return None;
        }
        let (from, to) = self.found.bounds(None)?;
        if room.shelf.lock().is_empty() {
            return None;
        }
        let filter = Filter::read(self.params)?;
        let cache = inner.cache_settings(&state.router);
        let policy = state.sight.policy()?;
        let view = state.sight.view(&state.router, reader, cache, policy, now);
        let ask = Ask {
            from,
            to,
            newest: false,
            floor,
        };
        let cut = room.find(&filter, &ask, &view)?;
        let Found::Whole {
            to: last,
            stale_blocks,
        } = cut.found
        else {
            return None;
        };
        hit(inner, state, self.found.row(), stale_blocks);
        Some(Served {
            cut,
            newest: to.is_none().then_some(last),
        })
    }
}

/// Counts and tells of an answer from the index.
pub(super) fn hit(
    inner: &Inner,
    state: &mut State,
    row: &'static highwater_core::method::Descriptor,
    stale_blocks: u64,
) {
    let tally = &inner.reads.tally;
    tally.avoided(&tally.log_index, row);
    state.router.events().push(|| Event::Cache {
        method: row.id,
        end: CacheEnd::Hit,
        stale_blocks: Some(stale_blocks),
    });
}

/// All that was found when a query's newest block was known already.
pub(super) fn served(cut: Cut, pin: Option<u64>) -> Answer {
    Served { cut, newest: pin }.answer()
}

/// Puts an answer into the index, as far as it may be.
#[expect(
    clippy::too_many_arguments,
    reason = "what was known when the list came"
)]
pub(super) fn put(
    inner: &Inner,
    state: &mut State,
    reader: &Reader<'_>,
    filter: &Filter,
    part: Part,
    list: &List<'_>,
    endpoints: &[(u64, Arc<str>)],
    known: Known,
    now: Now,
) {
    let Some(log_settings) = settings(&state.router).filter(|logs| logs.window > 0) else {
        return;
    };
    let Some(cache) = inner.cache_settings(&state.router) else {
        return;
    };
    for log in list.logs() {
        state.sight.blooms.on_log(log.number, &log.hash, filter);
    }
    let most = cache.bytes / SHARE;
    let shelf = &inner.reads.logs.shelf;
    let put = with_told(
        inner,
        state,
        reader,
        part,
        list,
        endpoints,
        known,
        now,
        |told, view| {
            shelf
                .lock()
                .put(filter, told, log_settings.window, most, view)
        },
    );
    let put = put.unwrap_or(Ok(()));
    if let Err(why) = put {
        inner.reads.tally.refused(why);
    }
}

/// Hands on an answer with what is known of it; `None`: it is not known which chain it is of.
#[expect(
    clippy::too_many_arguments,
    reason = "what was known when the list came"
)]
pub(super) fn with_told<T>(
    inner: &Inner,
    state: &State,
    reader: &Reader<'_>,
    part: Part,
    list: &List<'_>,
    endpoints: &[(u64, Arc<str>)],
    known: Known,
    now: Now,
    take: impl FnOnce(&Told<'_>, &View<'_>) -> T,
) -> Option<T> {
    let (_, last) = endpoints.last()?;
    let pieces: SmallVec<[Piece; 4]> = endpoints
        .iter()
        .map(|(to, label)| Piece {
            to: *to,
            voice: state
                .labelled(label)
                .and_then(|endpoint| state.router.voice(endpoint)),
        })
        .collect();
    let cache = inner.cache_settings(&state.router);
    let policy = state.sight.policy()?;
    let view = state.sight.view(&state.router, reader, cache, policy, now);
    let mut voices = pieces.iter().filter_map(|piece| piece.voice);
    let told = Told {
        from: part.from,
        to: part.to,
        list,
        pinned: known.pinned,
        all_hold: known.all_hold,
        rival: voices.any(|voice| view.recent.is_rival(voice, now.mono)),
        pieces: &pieces,
        endpoint: last,
        blooms: &state.sight.blooms,
        at: known.at,
        since: known.since,
    };
    Some(take(&told, &view))
}
