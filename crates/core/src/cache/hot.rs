//! Which reads are made again in the background, before anybody asks (P-18, P-19).
//!
//! A table of at most [`MOST`] keys, generic over what is read again. A key comes in when its answer is
//! kept, and leaves when nobody has read it for [`IDLE`]. While there is room the first read of a key
//! is enough; in a full table a newcomer takes the place of the key that was read longest ago, and only
//! when it is read a second time, so that a flood of keys that are read once pushes nobody out. A key
//! that was read within [`SETTLED`] keeps its place even then: of more keys than places, all of them
//! read all the time, the same ones stay hot.
//!
//! Whoever reads a key finds its place in what is kept, so that a hit costs a look at a number.

use smallvec::SmallVec;
use std::{
    borrow::Borrow,
    time::{Duration, Instant},
};

/// Most keys that are kept hot (P-18).
pub const MOST: u8 = 64;

/// Time without a read after which a key is hot no longer (P-18).
pub const IDLE: Duration = Duration::from_secs(30);

/// A key that was read within this time is not displaced.
pub const SETTLED: Duration = Duration::from_secs(1);

/// How often a tick asks for the head while keys are hot (P-19).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refresh {
    /// Once in a block time, and not more often than once in a second.
    #[default]
    Auto,
    /// Never: keys are read again when a probe or a call brings a new head.
    Off,
    /// Once in this time, a second at least.
    Every(Duration),
}

/// The least time between two ticks (P-19).
pub const LEAST_TICK: Duration = Duration::from_secs(1);

impl Refresh {
    /// Time between ticks on a chain with this block time; `None`: there are none.
    #[must_use]
    pub fn interval(self, block_time: Option<Duration>) -> Option<Duration> {
        match self {
            Self::Auto => Some(block_time.unwrap_or(LEAST_TICK).max(LEAST_TICK)),
            Self::Off => None,
            Self::Every(time) => Some(time.max(LEAST_TICK)),
        }
    }
}

/// What makes a key's answer old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ages {
    /// Another block.
    WithHead,
    /// Time alone: it is read from outside the chain's block (P-6).
    WithTime,
}

/// The place of a key. It is no other key's, even when the key has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    index: u8,
    generation: u32,
}

/// The moment at which the table is asked who is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// A tick's time has come.
    pub ticked: bool,
    /// When the next tick comes, or would come.
    pub next: Instant,
    /// Age past which an answer is not served (P-11).
    pub max_age: Duration,
}

/// A key that is to be read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due<T> {
    /// Where it stands.
    pub place: Place,
    /// What is read.
    pub what: T,
    /// The newest head.
    pub head: u64,
}

/// The hot keys of one pool.
#[derive(Clone, Debug)]
pub struct HotKeys<K, T> {
    slots: Vec<Option<Slot<K, T>>>,
    /// How many places are taken.
    taken: usize,
    most: u8,
    generation: u32,
    /// Nobody can be displaced before this: reads only make it later.
    settled_until: Option<Instant>,
}

#[derive(Clone, Debug)]
struct Slot<K, T> {
    generation: u32,
    key: K,
    what: T,
    ages: Ages,
    /// When it was last read.
    read: Instant,
    /// The block of the answer that is kept.
    height: Option<u64>,
    /// When that was asked for.
    at: Option<Instant>,
    /// The head at which it was last looked at: each is looked at once.
    looked: Option<u64>,
    /// It is being read again.
    asking: bool,
}

impl<K, T> HotKeys<K, T> {
    /// An empty table with room for so many keys, [`MOST`] at the most.
    #[must_use]
    pub fn new(most: u8) -> Self {
        Self {
            slots: Vec::new(),
            taken: 0,
            most: most.min(MOST),
            generation: 0,
            settled_until: None,
        }
    }

    /// There is room for so many from now on; those that were read longest ago leave.
    pub fn set_most(&mut self, most: u8) {
        self.most = most.min(MOST);
        while self.len() > usize::from(self.most) {
            let Some(index) = self.longest_unread() else {
                break;
            };
            self.slots[index] = None;
            self.taken -= 1;
        }
        self.settled_until = None;
    }

    /// How many keys are hot.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.taken
    }

    /// Whether no key is hot.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.taken == 0
    }

    /// Whether the first read of a key makes it hot.
    #[must_use]
    pub const fn has_room(&self) -> bool {
        self.taken < self.most as usize
    }

    /// A key was read. False: it is hot no longer.
    pub fn touch(&mut self, place: Place, now: Instant) -> bool {
        match self.slot_mut(place) {
            Some(slot) => {
                slot.read = slot.read.max(now);
                true
            }
            None => false,
        }
    }

    /// Whether a key that is read a second time could come in now.
    pub fn admits(&mut self, now: Instant) -> bool {
        if self.has_room() {
            return true;
        }
        if self.settled_until.is_some_and(|until| now < until) {
            return false;
        }
        let oldest = self.slots.iter().flatten().map(|slot| slot.read).min();
        self.settled_until = oldest.and_then(|read| read.checked_add(SETTLED));
        self.settled_until.is_some_and(|until| until <= now)
    }

    /// Makes a key hot that was read now, or touches it where it is. `again`: it is read a second
    /// time, so that it may displace another. `head` is the newest head, at which it needs no second
    /// look. `make` is called only where it comes in. `None`: there is no place for it.
    pub fn register<Q>(
        &mut self,
        key: &Q,
        again: bool,
        head: Option<u64>,
        now: Instant,
        make: impl FnOnce() -> (K, T, Ages),
    ) -> Option<Place>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        if let Some(place) = self.find(key) {
            self.touch(place, now);
            return Some(place);
        }
        if !(self.has_room() || (again && self.admits(now))) {
            return None;
        }
        let index = if self.has_room() {
            let free = self.slots.iter().position(Option::is_none);
            free.unwrap_or_else(|| {
                self.slots.push(None);
                self.slots.len() - 1
            })
        } else {
            self.longest_unread()?
        };
        let (key, what, ages) = make();
        self.generation = self.generation.wrapping_add(1);
        let place = Place {
            index: u8::try_from(index).ok()?,
            generation: self.generation,
        };
        let slot = &mut self.slots[index];
        self.taken += usize::from(slot.is_none());
        *slot = Some(Slot {
            generation: self.generation,
            key,
            what,
            ages,
            read: now,
            height: None,
            at: None,
            looked: head,
            asking: false,
        });
        Some(place)
    }

    /// An answer was kept that was read at this block, and asked for at this moment.
    pub fn kept(&mut self, place: Place, height: Option<u64>, at: Instant) {
        if let Some(slot) = self.slot_mut(place)
            && slot.at <= Some(at)
        {
            (slot.height, slot.at) = (height, Some(at));
        }
    }

    /// Those leave that nobody has read for [`IDLE`].
    pub fn drop_idle(&mut self, now: Instant) {
        for slot in &mut self.slots {
            let is_idle = |slot: &mut Slot<K, T>| now.saturating_duration_since(slot.read) >= IDLE;
            self.taken -= usize::from(slot.take_if(is_idle).is_some());
        }
    }

    /// When the next key may be idle; `None`: none is hot.
    #[must_use]
    pub fn next_idle(&self) -> Option<Instant> {
        let read = self.slots.iter().flatten().map(|slot| slot.read).min()?;
        read.checked_add(IDLE)
    }

    /// Who is to be read again now: on a new head whoever is behind it, or would be too old before the
    /// next tick; on a tick whoever ages with time. `head` says what the newest head is for a key;
    /// without one it is left alone. Whoever is returned stays due until it [`HotKeys::begun`].
    pub fn due(
        &mut self,
        moment: &Moment,
        mut head: impl FnMut(&T) -> Option<u64>,
    ) -> SmallVec<[Due<T>; 8]>
    where
        T: Clone,
    {
        let mut due = SmallVec::new();
        for (index, slot) in (0..).zip(&mut self.slots) {
            let Some(slot) = slot.as_mut().filter(|slot| !slot.asking) else {
                continue;
            };
            let Some(head) = head(&slot.what) else {
                continue;
            };
            let is_new = slot.looked != Some(head);
            let grows_old = slot.at.is_none_or(|at| {
                at.checked_add(moment.max_age)
                    .is_some_and(|end| end <= moment.next)
            });
            let is_due = match slot.ages {
                Ages::WithHead => {
                    let behind = slot.height.is_none_or(|height| height < head);
                    is_new && (behind || grows_old)
                }
                Ages::WithTime => moment.ticked || (is_new && grows_old),
            };
            if is_due {
                let place = Place {
                    index,
                    generation: slot.generation,
                };
                let what = slot.what.clone();
                due.push(Due { place, what, head });
            } else {
                slot.looked = Some(head);
            }
        }
        due
    }

    /// A key is being read again at this head.
    pub fn begun(&mut self, place: Place, head: u64) {
        if let Some(slot) = self.slot_mut(place) {
            slot.asking = true;
            slot.looked = Some(head);
        }
    }

    /// It is not any more, whatever came of it.
    pub fn ended(&mut self, place: Place) {
        if let Some(slot) = self.slot_mut(place) {
            slot.asking = false;
        }
    }

    fn find<Q>(&self, key: &Q) -> Option<Place>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        (0..).zip(&self.slots).find_map(|(index, slot)| {
            let slot = slot.as_ref().filter(|slot| slot.key.borrow() == key)?;
            Some(Place {
                index,
                generation: slot.generation,
            })
        })
    }

    fn slot_mut(&mut self, place: Place) -> Option<&mut Slot<K, T>> {
        let slot = self.slots.get_mut(usize::from(place.index))?.as_mut();
        slot.filter(|slot| slot.generation == place.generation)
    }

    /// The one that was read longest ago; of several the first.
    fn longest_unread(&self) -> Option<usize> {
        let slots = self.slots.iter().enumerate();
        let read = slots.filter_map(|(index, slot)| Some((slot.as_ref()?.read, index)));
        read.min().map(|(_, index)| index)
    }
}

#[cfg(test)]
mod tests;
