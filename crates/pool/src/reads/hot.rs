//! Keys that are kept hot: read again in the background before anybody asks (P-18 to P-20).
//!
//! Who is hot and who is due is [`highwater_core::cache::hot`]'s; here it is carried out. While keys
//! are hot one task looks after them: the read that made the first one hot starts it on its runtime.
//! It holds the pool weakly and ends with it, or when the last key is idle; the next read that is
//! kept starts another. It is woken when the head that the pool believes moves, and by a tick, which
//! asks one endpoint for its head.
//!
//! A key is read again as a caller would read it, through the table of shared requests, so that a
//! caller who comes meanwhile joins; but with one attempt, and where that brings no result whoever
//! joined asks for itself.

mod keeper;

pub(super) use keeper::tend;

use crate::{CallOptions, Request};
use highwater_core::{
    Now,
    cache::{
        Class, Stamp,
        hot::{Ages, HotKeys, Place},
    },
    jsonrpc::Params,
    method::{CacheClass, Descriptor, EmptyIs, Found, MethodId, RowKind},
    router::{Reader, Router},
    select::Strategy,
    settings::Settings,
};
use smallvec::SmallVec;
use std::{sync::Arc, time::Duration};

/// Longest parameters of a key that is kept hot, in bytes: a request that is larger than this costs
/// too much to be made again unasked.
const LONGEST: usize = 16 * 1024;

/// The hot keys of one pool, under its lock.
pub(crate) struct Hot {
    keys: HotKeys<Box<[u8]>, Arc<Again>>,
    /// A task looks after them.
    tended: bool,
}

/// A read that is made again.
pub(super) struct Again {
    method: Box<str>,
    params: Box<str>,
    found: Found,
    class: Class,
    strategy: Option<Arc<Strategy>>,
    timeout: Option<Duration>,
}

/// What a look found out about a key.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Heat {
    /// It is not hot, and does not become so.
    #[default]
    Cold,
    /// It is hot.
    Hot(Place),
    /// It becomes hot when its answer is kept.
    Warm,
}

/// What a request has to do with the hot keys.
#[derive(Clone, Default)]
pub(super) enum Seat {
    /// Nothing.
    #[default]
    Nowhere,
    /// Its key is hot.
    Taken(Place),
    /// Its key becomes hot when its answer is kept.
    Wanted(Arc<Again>),
    /// It was made for a hot key.
    Refresh(Place),
}

/// Whether reads of a class keep their key hot: those at `latest`, and present state (P-18). What is
/// true for a time whatever the block, such as the name of a client, is not worth it.
pub(super) fn keeps_hot(class: Class, row: &Descriptor) -> bool {
    match class {
        Class::Moving => true,
        Class::Present => row.cache_class != CacheClass::Static,
        Class::Never(_) | Class::Fixed | Class::Number(_) | Class::Hash(_) | Class::Transaction => {
            false
        }
    }
}

impl Hot {
    pub(crate) fn new(settings: &Settings) -> Self {
        let cache = settings.reads.cache.as_ref();
        Self {
            keys: HotKeys::new(cache.map_or(0, |cache| cache.hot_keys)),
            tended: false,
        }
    }

    /// The options are these from now on.
    pub(crate) fn set(&mut self, settings: &Settings) {
        let cache = settings.reads.cache.as_ref();
        self.keys.set_most(cache.map_or(0, |cache| cache.hot_keys));
    }

    pub(crate) const fn len(&self) -> usize {
        self.keys.len()
    }

    /// A key was read from memory, or in vain. False: it is not hot.
    pub(super) fn touch(&mut self, place: Option<Place>, now: Now) -> bool {
        place.is_some_and(|place| self.keys.touch(place, now.mono))
    }

    /// What is to become of a key whose answer is asked for.
    pub(super) const fn heat(&self, place: Option<Place>) -> Heat {
        match place {
            Some(place) => Heat::Hot(place),
            None if self.keys.has_room() => Heat::Warm,
            None => Heat::Cold,
        }
    }

    /// Whether a key that is read from memory and is not hot may become so.
    pub(super) fn admits(&mut self, now: Now) -> bool {
        self.keys.admits(now.mono)
    }

    /// Makes a key hot whose answer is kept. `again`: it was read before, so that it may displace
    /// another.
    pub(super) fn register(
        &mut self,
        key: &[u8],
        what: &Arc<Again>,
        again: bool,
        stamp: &Stamp,
        head: Option<u64>,
        now: Now,
    ) -> Option<Place> {
        let ages = match what.class {
            Class::Present => Ages::WithTime,
            Class::Moving
            | Class::Never(_)
            | Class::Fixed
            | Class::Number(_)
            | Class::Hash(_)
            | Class::Transaction => Ages::WithHead,
        };
        let make = || (Box::from(key), Arc::clone(what), ages);
        let place = self.keys.register(key, again, head, now.mono, make)?;
        self.keys.kept(place, stamp.height, stamp.at);
        Some(place)
    }

    /// An answer is kept: its key's place, if that is hot.
    pub(super) fn keep(
        &mut self,
        seat: &Seat,
        key: &[u8],
        stamp: &Stamp,
        head: Option<u64>,
        now: Now,
    ) -> Option<Place> {
        match seat {
            Seat::Nowhere => None,
            Seat::Taken(place) | Seat::Refresh(place) => {
                self.keys.kept(*place, stamp.height, stamp.at);
                Some(*place)
            }
            Seat::Wanted(what) => self.register(key, what, false, stamp, head, now),
        }
    }

    /// True for whoever is to [`tend`] the keys, since nobody does.
    pub(super) const fn claim(&mut self) -> bool {
        let claimed = !self.tended && !self.keys.is_empty();
        self.tended |= claimed;
        claimed
    }
}

impl Again {
    /// A read as its caller wrote it; `None`: it is not one that can be made again.
    pub(super) fn new(
        request: &Request<'_>,
        found: &Found,
        class: Class,
        options: &CallOptions,
    ) -> Option<Arc<Self>> {
        let params = match request.params {
            Params::Absent | Params::Null => "",
            Params::Array(params) => params,
            Params::Object(_) | Params::Scalar(_) => return None,
        };
        (params.len() <= LONGEST).then(|| {
            Arc::new(Self {
                method: Box::from(request.method),
                params: Box::from(params),
                found: found.clone(),
                class,
                strategy: options.strategy.clone(),
                timeout: options.timeout,
            })
        })
    }

    fn row(&self) -> &'static Descriptor {
        self.found.row()
    }

    /// What the heads say to it. Most hot keys are of few methods, so each is looked at once.
    fn view(&self, router: &Router, known: &mut Views, now: Now) -> View {
        let row = self.row();
        if let Some((_, view)) = known.iter().find(|(id, _)| *id == row.id) {
            return *view;
        }
        let allowed = router.allowed(&self.method);
        let reader = Reader::new(row, &self.method, allowed.as_ref());
        let head = router.newest_head(&reader, now);
        let at_head = |ask: fn(&Router, &Reader<'_>, u64, Now) -> bool| {
            head.is_some_and(|head| ask(router, &reader, head, now))
        };
        let view = View {
            head,
            is_free: at_head(Router::has_free_holder),
            all_hold: row.empty_is == EmptyIs::Suspect && at_head(Router::all_hold),
        };
        // A row without a name of its own stands for many methods.
        if row.kind == RowKind::Exact {
            known.push((row.id, view));
        }
        view
    }
}

/// What the heads say to the reads of a method.
#[derive(Clone, Copy)]
struct View {
    /// The newest one.
    head: Option<u64>,
    /// Somebody who is there can be asked now.
    is_free: bool,
    /// Everybody is there, where that makes an empty list believable.
    all_hold: bool,
}

type Views = SmallVec<[(MethodId, View); 4]>;

impl Again {
    /// What the request needs of its caller's options.
    fn options(&self) -> CallOptions {
        CallOptions {
            strategy: self.strategy.clone(),
            timeout: self.timeout,
            ..CallOptions::default()
        }
    }
}
