//! The choice: first attempt, next attempt, racers.

use super::{
    Candidate, Strategy,
    candidate::{least, rank},
    cursor::Cursor,
    least_loaded::{self, LeastLoaded},
    weighted_sum::Ranges,
};
use crate::mutant::{self, Mutant};
use crate::{EndpointId, rng::Rng};
use smallvec::SmallVec;

/// Numbers of the choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelectSettings {
    /// Under `least-loaded` each time this many primary selections were made, one explores.
    /// Default 20.
    pub explore_every: u32,
}

impl Default for SelectSettings {
    fn default() -> Self {
        Self { explore_every: 20 }
    }
}

impl SelectSettings {
    /// Refuses what cannot work.
    ///
    /// # Errors
    ///
    /// `explore_every` where it is less than 2: then no call would go to the winner.
    pub const fn check(&self) -> Result<(), &'static str> {
        if self.explore_every < 2 {
            return Err("explore_every");
        }
        Ok(())
    }
}

/// What kind of call the first attempt is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// It is a single-attempt operation: under `least-loaded` it neither measures nor explores, and
    /// does not count as a selection.
    pub single_attempt: bool,
}

/// Chooses among candidates, and remembers what its strategies need between choices. One per router.
///
/// All answers are positions in the candidates given. A call asks [`Self::primary`] or
/// [`Self::order`] once, for its first attempt, and [`Self::next`] for each further one, with those
/// that are left.
#[derive(Clone, Debug)]
pub struct Selector {
    cursor: Cursor,
    least_loaded: LeastLoaded,
}

impl Selector {
    /// A selector for a pool of `endpoints` endpoints.
    #[must_use]
    pub fn new(endpoints: usize, settings: SelectSettings) -> Self {
        Self {
            cursor: Cursor::default(),
            least_loaded: LeastLoaded::new(endpoints, settings.explore_every),
        }
    }

    /// The endpoints are others now; `from` says for each of them which one it was before.
    pub fn replace(&mut self, from: &[Option<EndpointId>], settings: SelectSettings) {
        self.cursor = Cursor::default();
        self.least_loaded.replace(from, settings.explore_every);
    }

    /// Whom the first attempt of a call goes to; none without a candidate.
    pub fn primary(
        &mut self,
        strategy: &Strategy,
        candidates: &[Candidate],
        turn: Turn,
        rng: &mut Rng,
    ) -> Option<usize> {
        match strategy {
            Strategy::Adaptive => better_of_two(candidates, rng),
            Strategy::LeastLoaded if !turn.single_attempt => {
                let found = self.least_loaded.primary(candidates, self.cursor)?;
                self.choose(&candidates[found]);
                Some(found)
            }
            Strategy::LeastLoaded
            | Strategy::WeightedSum(_)
            | Strategy::RoundRobin
            | Strategy::Random
            | Strategy::Weighted
            | Strategy::Shuffle => self.next(strategy, candidates, rng),
        }
    }

    /// Whom a retry, a failover or a hedge goes to, among the candidates that are left; none without
    /// one. The best that is left; under strategies that draw or take turns, a fresh draw or the
    /// next turn.
    pub fn next(
        &mut self,
        strategy: &Strategy,
        candidates: &[Candidate],
        rng: &mut Rng,
    ) -> Option<usize> {
        let found = self.pick(strategy, candidates, &[], rng)?;
        if takes_turns(strategy) {
            self.choose(&candidates[found]);
        }
        Some(found)
    }

    /// Fills `out` with the first `width` candidates for a race, best first, or with all of them
    /// where there are fewer.
    ///
    /// Under `least-loaded` those that were never measured and are free come first, and when it is
    /// time to explore, the explored endpoint has the last place.
    pub fn order(
        &mut self,
        strategy: &Strategy,
        candidates: &[Candidate],
        rng: &mut Rng,
        out: &mut SmallVec<[usize; 8]>,
        width: usize,
    ) {
        out.clear();
        while out.len() < width {
            let Some(found) = (match strategy {
                Strategy::LeastLoaded => self.least_loaded.racer(candidates, out, self.cursor),
                Strategy::Adaptive
                | Strategy::WeightedSum(_)
                | Strategy::RoundRobin
                | Strategy::Random
                | Strategy::Weighted
                | Strategy::Shuffle => self.pick(strategy, candidates, out, rng),
            }) else {
                break;
            };
            out.push(found);
        }
        if *strategy == Strategy::LeastLoaded {
            self.explore_in(candidates, out);
        }
        if takes_turns(strategy) {
            // The first one last, so that the next race begins behind it.
            for at in out.iter().rev() {
                self.choose(&candidates[*at]);
            }
        }
    }

    /// What a strategy makes of each candidate, for explanations; nothing is chosen or counted.
    ///
    /// | strategy | value |
    /// |---|---|
    /// | `adaptive` | the score, lower is better |
    /// | `weighted-sum` | the sum, lower is better |
    /// | `round-robin` | how many of the candidates have their turn before it |
    /// | `random`, `weighted`, `shuffle` | its chance to be drawn, 0 to 1 |
    /// | `least-loaded` | latency by operations under way, lower is better; none if never measured |
    #[must_use]
    pub fn preview(&self, strategy: &Strategy, candidates: &[Candidate]) -> Vec<Option<f64>> {
        match strategy {
            Strategy::Adaptive => candidates.iter().map(|c| Some(c.score)).collect(),
            Strategy::WeightedSum(weights) => {
                let ranges = Ranges::over(candidates, weights);
                candidates.iter().map(|c| Some(ranges.sum(c))).collect()
            }
            Strategy::RoundRobin => {
                let distance = |c: &Candidate| self.cursor.distance(c.endpoint);
                let before = |c: &Candidate| {
                    let earlier = |other: &&Candidate| distance(other) < distance(c);
                    candidates.iter().filter(earlier).count()
                };
                candidates.iter().map(|c| Some(before(c) as f64)).collect()
            }
            Strategy::Random | Strategy::Shuffle => {
                vec![Some(1.0 / candidates.len() as f64); candidates.len()]
            }
            Strategy::Weighted => {
                let draw = Draw::over(candidates, &[]);
                let even = 1.0 / candidates.len() as f64;
                let chance = |c: &Candidate| draw.chance(c).unwrap_or(even);
                candidates.iter().map(|c| Some(chance(c))).collect()
            }
            Strategy::LeastLoaded => candidates.iter().map(least_loaded::value).collect(),
        }
    }

    /// The best candidate that is not taken, by the rule of the strategy.
    fn pick(
        &self,
        strategy: &Strategy,
        candidates: &[Candidate],
        taken: &[usize],
        rng: &mut Rng,
    ) -> Option<usize> {
        match strategy {
            Strategy::Adaptive => least(candidates, taken, |c| rank(c.score)),
            Strategy::WeightedSum(weights) => {
                let ranges = Ranges::over(candidates, weights);
                least(candidates, taken, |c| rank(ranges.sum(c)))
            }
            Strategy::RoundRobin => least(candidates, taken, |c| self.cursor.distance(c.endpoint)),
            Strategy::Random | Strategy::Shuffle => any(candidates, taken, rng),
            Strategy::Weighted => Draw::over(candidates, taken)
                .draw(candidates, taken, rng)
                .or_else(|| any(candidates, taken, rng)),
            Strategy::LeastLoaded => self.least_loaded.winner(candidates, taken, self.cursor),
        }
    }

    /// A race counts as one primary selection unless one of its racers is measured for the first
    /// time; the explored endpoint takes the last place.
    fn explore_in(&mut self, candidates: &[Candidate], out: &mut SmallVec<[usize; 8]>) {
        let measures = |at: &usize| least_loaded::to_measure(&candidates[*at]);
        if out.is_empty() || out.iter().any(measures) {
            return;
        }
        if let Some(explored) = self.least_loaded.explore(candidates, out, self.cursor)
            && let Some(last) = out.last_mut()
        {
            *last = explored;
        }
    }

    fn choose(&mut self, candidate: &Candidate) {
        self.cursor.pass(candidate.endpoint);
        self.least_loaded.choose(candidate.endpoint);
    }
}

/// Whether a choice under this strategy changes whose turn it is.
const fn takes_turns(strategy: &Strategy) -> bool {
    match strategy {
        Strategy::RoundRobin | Strategy::LeastLoaded => true,
        Strategy::Adaptive
        | Strategy::WeightedSum(_)
        | Strategy::Random
        | Strategy::Weighted
        | Strategy::Shuffle => false,
    }
}

/// Two different positions below `n`, each pair as likely as the other, the lower one first; none
/// where there are not two.
pub(crate) fn two_of(n: usize, rng: &mut Rng) -> Option<[usize; 2]> {
    if n < 2 {
        return None;
    }
    let one = rng.below(n);
    let mut other = rng.below(n - 1);
    if other >= one {
        other += 1;
    }
    Some([one.min(other), one.max(other)])
}

/// Power of two choices: two different ones at random, and of them the better.
fn better_of_two(candidates: &[Candidate], rng: &mut Rng) -> Option<usize> {
    let Some([early, late]) = two_of(candidates.len(), rng) else {
        return (!candidates.is_empty()).then_some(0);
    };
    if rank(candidates[late].score) < rank(candidates[early].score) {
        Some(late)
    } else {
        Some(early)
    }
}

/// Any candidate that is not taken, each as likely as the other.
fn any(candidates: &[Candidate], taken: &[usize], rng: &mut Rng) -> Option<usize> {
    let left = |at: &usize| !taken.contains(at);
    let n = (0..candidates.len()).filter(left).count();
    (0..candidates.len()).filter(left).nth(rng.below(n))
}

/// A draw by weight.
struct Draw {
    total: f64,
}

impl Draw {
    fn over(candidates: &[Candidate], taken: &[usize]) -> Self {
        let left = |(at, _): &(usize, &Candidate)| !taken.contains(at);
        let weights = candidates.iter().enumerate().filter(left);
        Self {
            total: weights.map(|(_, c)| drawn_weight(c)).sum(),
        }
    }

    /// None where no candidate that is left has a weight.
    fn draw(&self, candidates: &[Candidate], taken: &[usize], rng: &mut Rng) -> Option<usize> {
        let mut left = rng.unit() * self.total;
        let mut found = None;
        for (at, candidate) in candidates.iter().enumerate() {
            let weight = drawn_weight(candidate);
            if weight == 0.0 || taken.contains(&at) {
                continue;
            }
            // Rounding may leave a rest behind the last one; it has it then.
            found = Some(at);
            if left < weight {
                break;
            }
            left -= weight;
        }
        found
    }

    /// None where no candidate has a weight.
    fn chance(&self, candidate: &Candidate) -> Option<f64> {
        (self.total > 0.0).then(|| drawn_weight(candidate) / self.total)
    }
}

/// The weight as a draw takes it: what is no number or below 0 counts as 0, and nothing is so heavy
/// that the sum overflows.
fn drawn_weight(candidate: &Candidate) -> f64 {
    if mutant::is(Mutant::WeightsIgnored) {
        return 1.0;
    }
    candidate.weight.clamp(0.0, 1e9).max(0.0)
}

#[cfg(test)]
mod tests;
