//! A chain with its reorganisations, and what its nodes told of them.

use highwater_lab::{checker::lists::Place, rng::Rng};
use std::time::Duration;
use tokio::time::Instant;

/// The age past which what a node told counts no more.
const STALE: Duration = Duration::from_secs(30);

/// The branch of each block, and since when.
#[derive(Clone)]
pub(super) struct Version {
    pub(super) since: Duration,
    pub(super) branches: Vec<u8>,
}

/// The chain as its nodes saw it, and what they told of it.
pub(super) struct Chain {
    pub(super) start: Instant,
    pub(super) versions: Vec<Version>,
    /// How late each node is.
    pub(super) late: Vec<Duration>,
    /// The newest block by number that each node has told last.
    pub(super) told: Vec<Option<Told>>,
}

/// A block that a node told.
#[derive(Clone, Copy)]
pub(super) struct Told {
    pub(super) height: u64,
    /// The place of the version that it is of.
    pub(super) version: usize,
    pub(super) at: Duration,
}

impl Chain {
    /// The place of the version that a node is on.
    pub(super) fn seen_by(&self, node: usize) -> usize {
        self.at(self.start.elapsed().saturating_sub(self.late[node]))
    }

    fn at(&self, time: Duration) -> usize {
        let versions = &self.versions;
        let later = versions.partition_point(|version| version.since <= time);
        later.saturating_sub(1)
    }

    /// The versions whose logs are a right answer to a call, newest first, each with the block from which on
    /// they are not: those that a node was on while it was under way, and those before it as far as what
    /// nodes had told by then did not deny them, for so long at most.
    pub(super) fn right(
        &self,
        called: Duration,
        denied: &[u64],
        most: Duration,
    ) -> impl Iterator<Item = (&Version, u64)> {
        let now = self.start.elapsed();
        let oldest = self.at(called.saturating_sub(most));
        let lates = self.late.iter().copied();
        let seen: Vec<(usize, usize)> = lates
            .map(|late| {
                let (from, to) = (called.saturating_sub(late), now.saturating_sub(late));
                (self.at(from), self.at(to))
            })
            .collect();
        let until = move |place: usize| {
            if seen.iter().any(|(from, to)| (from..=to).contains(&&place)) {
                Some(u64::MAX)
            } else {
                denied.get(place).copied().filter(|_| place >= oldest)
            }
        };
        let all = (0..self.versions.len()).rev();
        all.filter_map(move |place| Some((&self.versions[place], until(place)?)))
    }

    /// The lowest block of each version that is denied by what was told until now: as many nodes told a block
    /// last that is on another branch as told one of its from the fork on. `u64::MAX`: none is.
    pub(super) fn denied(&self) -> Vec<u64> {
        let now = self.start.elapsed();
        let told: Vec<(&Version, u64)> = self
            .told
            .iter()
            .flatten()
            .filter(|told| told.at + STALE >= now)
            .map(|told| (&self.versions[told.version], told.height))
            .collect();
        let lowest_denied = |version: &Version| {
            let forks: Vec<Option<u64>> = told
                .iter()
                .map(|(other, height)| version.fork(other, *height))
                .collect();
            let Some(lowest) = forks.iter().flatten().min() else {
                return u64::MAX;
            };
            let denials = forks.iter().flatten().count();
            let confirms = told
                .iter()
                .zip(&forks)
                .filter(|((_, height), fork)| fork.is_none() && height >= lowest)
                .count();
            if denials >= confirms {
                *lowest
            } else {
                u64::MAX
            }
        };
        self.versions.iter().map(lowest_denied).collect()
    }
}

impl Version {
    /// The lowest block that differs from another version's, if the other's block at a height shows that.
    fn fork(&self, other: &Self, height: u64) -> Option<u64> {
        let top = usize::try_from(height.min(self.head())).unwrap();
        if self.branches[top] == other.branches[top] {
            return None;
        }
        let both = self.branches.iter().zip(&other.branches);
        let alike = both.take_while(|(own, other)| own == other).count();
        Some(alike as u64)
    }

    pub(super) fn head(&self) -> u64 {
        self.branches.len() as u64 - 1
    }

    pub(super) fn hash(&self, number: u64) -> String {
        let branch = self.branches[usize::try_from(number).unwrap()];
        format!("0x{:062x}{branch:02x}", number + 1)
    }

    /// Emitters of the logs of a block.
    pub(super) fn emitters(&self, number: u64) -> Vec<u8> {
        let branch = self.branches[usize::try_from(number).unwrap()];
        let mut rng = Rng::at(u64::from(branch), &[number]);
        (0..rng.below(4))
            .map(|_| u8::try_from(rng.below(3)).unwrap())
            .collect()
    }

    pub(super) fn places(&self, wanted: &[u8], from: u64, to: u64) -> Vec<Place> {
        let mut all = Vec::new();
        for height in from..=to.min(self.head()) {
            for (index, emitter) in (0..).zip(self.emitters(height)) {
                if wanted.is_empty() || wanted.contains(&emitter) {
                    let hash = self.hash(height);
                    all.push(Place {
                        height,
                        index,
                        hash,
                    });
                }
            }
        }
        all
    }
}
