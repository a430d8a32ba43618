//! Latency by operations under way, initial measurement, exploration.

use super::{
    Candidate,
    candidate::{least, rank},
    cursor::Cursor,
};
use crate::EndpointId;
use crate::mutant::{self, Mutant};

/// What the strategy remembers between choices.
#[derive(Clone, Debug)]
pub(super) struct LeastLoaded {
    explore_every: u32,
    /// Primary selections since the last exploring one.
    turns: u32,
    /// Choices so far, and per endpoint the number of the last one that chose it.
    choices: u64,
    chosen: Box<[u64]>,
}

impl LeastLoaded {
    pub(super) fn new(endpoints: usize, explore_every: u32) -> Self {
        Self {
            explore_every,
            turns: 0,
            choices: 0,
            chosen: vec![0; endpoints].into_boxed_slice(),
        }
    }

    /// The endpoints are others now; `from` says for each of them which one it was before.
    pub(super) fn replace(&mut self, from: &[Option<EndpointId>], explore_every: u32) {
        self.explore_every = explore_every;
        let chosen = |before: &Option<EndpointId>| before.map_or(0, |id| self.last_choice(id));
        self.chosen = from.iter().map(chosen).collect();
    }

    /// For the first attempt of an operation that may be repeated: a free endpoint that was never
    /// measured, else, each time the turn has come, one to explore, else the winner.
    pub(super) fn primary(&mut self, candidates: &[Candidate], cursor: Cursor) -> Option<usize> {
        if candidates.iter().any(to_measure) {
            return least(candidates, &[], |c| {
                (!to_measure(c), cursor.distance(c.endpoint))
            });
        }
        let winner = self.winner(candidates, &[], cursor)?;
        Some(
            self.explore(candidates, &[winner], cursor)
                .unwrap_or(winner),
        )
    }

    /// The endpoint with the least latency by operations under way; one that was never measured only
    /// where none was.
    pub(super) fn winner(
        &self,
        candidates: &[Candidate],
        taken: &[usize],
        cursor: Cursor,
    ) -> Option<usize> {
        least(candidates, taken, |c| {
            (load(c), cursor.distance(c.endpoint))
        })
    }

    /// For a race: those to measure first, then by load.
    pub(super) fn racer(
        &self,
        candidates: &[Candidate],
        taken: &[usize],
        cursor: Cursor,
    ) -> Option<usize> {
        least(candidates, taken, |c| {
            (!to_measure(c), load(c), cursor.distance(c.endpoint))
        })
    }

    /// Counts one primary selection and, when the turn has come, names the free endpoint that was
    /// not chosen for the longest time. With no free one besides those taken, the turn is used up.
    pub(super) fn explore(
        &mut self,
        candidates: &[Candidate],
        taken: &[usize],
        cursor: Cursor,
    ) -> Option<usize> {
        self.turns += 1;
        if self.turns < self.explore_every || mutant::is(Mutant::NeverExplores) {
            return None;
        }
        self.turns = 0;
        let found = least(candidates, taken, |c| {
            let busy = c.active > 0;
            (
                busy,
                self.last_choice(c.endpoint),
                cursor.distance(c.endpoint),
            )
        })?;
        (candidates[found].active == 0).then_some(found)
    }

    /// This endpoint was chosen.
    pub(super) fn choose(&mut self, endpoint: EndpointId) {
        self.choices += 1;
        if let Some(chosen) = self.chosen.get_mut(endpoint.index()) {
            *chosen = self.choices;
        }
    }

    fn last_choice(&self, endpoint: EndpointId) -> u64 {
        self.chosen.get(endpoint.index()).copied().unwrap_or(0)
    }
}

/// What is minimised: latency by operations under way; none for an endpoint never measured.
pub(super) fn value(candidate: &Candidate) -> Option<f64> {
    let operations = f64::from(candidate.active) + 1.0;
    candidate
        .measured
        .then_some(candidate.latency_ms * operations)
}

/// Whether a call would measure it for the first time without queueing behind another.
pub(super) const fn to_measure(candidate: &Candidate) -> bool {
    !candidate.measured && candidate.active == 0
}

/// Those measured by their value, then the others by what is under way there.
fn load(candidate: &Candidate) -> (bool, i64) {
    match value(candidate) {
        Some(value) => (false, rank(value)),
        None => (true, i64::from(candidate.active)),
    }
}

#[cfg(test)]
mod tests;
