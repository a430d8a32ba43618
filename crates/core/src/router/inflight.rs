//! Which calls an endpoint is working on.
//!
//! A call stops counting when it ends, and one second after its timeout even if nobody ever says
//! that it ended: a lost clean-up must not make an endpoint look busy for ever.

use crate::mutant::{self, Mutant};
use std::time::{Duration, Instant};

/// How long after its timeout a call still counts.
const GRACE: Duration = Duration::from_secs(1);

/// The place of one call among those in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    index: u32,
    turn: u32,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    turn: u32,
    until: Option<Instant>,
}

/// The calls in flight at one endpoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct InFlight {
    places: Vec<Place>,
    free: Vec<u32>,
    count: u32,
    /// No place can have run out before this.
    earliest: Option<Instant>,
}

impl InFlight {
    /// Counts a call from now on.
    pub(crate) fn start(&mut self, now: Instant, timeout: Duration) -> Slot {
        let until = now.checked_add(timeout.saturating_add(GRACE));
        if let Some(until) = until {
            self.earliest = Some(self.earliest.map_or(until, |known| known.min(until)));
        }
        // A place without an end would count for ever; a timeout that long is as good as none.
        let until = Some(until.unwrap_or(now));
        self.count += 1;
        if let Some(index) = self.free.pop()
            && let Some(place) = self.places.get_mut(index as usize)
        {
            place.until = until;
            return Slot {
                index,
                turn: place.turn,
            };
        }
        let index = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        self.places.push(Place { turn: 0, until });
        Slot { index, turn: 0 }
    }

    /// Stops counting a call; a second time, or after it ran out, does nothing.
    pub(crate) fn finish(&mut self, slot: Slot) {
        if !mutant::is(Mutant::InFlightStays)
            && let Some(place) = self.places.get_mut(slot.index as usize)
            && place.turn == slot.turn
            && place.until.is_some()
        {
            self.clear(slot.index);
        }
    }

    fn clear(&mut self, index: u32) {
        if let Some(place) = self.places.get_mut(index as usize) {
            place.until = None;
            place.turn = place.turn.wrapping_add(1);
            self.count = self.count.saturating_sub(1);
            self.free.push(index);
        }
    }

    /// How many calls count now.
    pub(crate) fn count(&mut self, now: Instant) -> u32 {
        if self.earliest.is_some_and(|earliest| earliest <= now) {
            self.sweep(now);
        }
        self.count
    }

    /// How many counted when last looked at.
    pub(crate) const fn last_count(&self) -> u32 {
        self.count
    }

    fn sweep(&mut self, now: Instant) {
        self.earliest = None;
        for index in 0..self.places.len() {
            let Some(until) = self.places[index].until else {
                continue;
            };
            if until <= now {
                self.clear(u32::try_from(index).unwrap_or(u32::MAX));
            } else {
                self.earliest = Some(self.earliest.map_or(until, |known| known.min(until)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::now::tests::origin;

    //
    #[test]
    fn stops_counting_a_call_one_second_after_its_timeout() {
        let start = origin();
        let mut calls = InFlight::default();
        let slot = calls.start(start, Duration::from_secs(5));
        let almost = start + Duration::from_millis(5999);
        assert_eq!(calls.count(almost), 1);
        assert_eq!(calls.count(start + Duration::from_secs(6)), 0);
        // Its own end, late, takes nothing from anybody.
        let other = calls.start(start + Duration::from_secs(6), Duration::from_secs(5));
        calls.finish(slot);
        assert_eq!(calls.count(start + Duration::from_secs(6)), 1);
        calls.finish(other);
        calls.finish(other);
        assert_eq!(calls.count(start + Duration::from_secs(6)), 0);
    }

    //
    #[test]
    fn uses_the_places_of_ended_calls_again() {
        let start = origin();
        let mut calls = InFlight::default();
        for _ in 0..1000 {
            let slot = calls.start(start, Duration::from_secs(1));
            calls.finish(slot);
        }
        assert_eq!(calls.places.len(), 1);
        let first = calls.start(start, Duration::from_secs(1));
        let second = calls.start(start, Duration::from_secs(60));
        assert_eq!(calls.count(start + Duration::from_secs(2)), 1);
        calls.finish(first);
        assert_eq!(calls.last_count(), 1);
        calls.finish(second);
        assert_eq!(calls.last_count(), 0);
    }
}
