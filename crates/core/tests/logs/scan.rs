//! Random chains, filters and reorganisations: what the index answers is what a scan of the chain finds.

use crate::{
    chain::{Chain, Emitted, Wanted},
    index::{WINDOW, joined},
};
use highwater_core::{
    logs::{Ask, Blooms, Filter, Found, List, Piece, Shelf, Told},
    rng::Rng,
};
use std::time::Duration;

/// Queries of an ordinary run and of a long one.
const QUERIES: u64 = 10_000;
const LONG: u64 = 1_000_000;
/// Queries of one chain.
const OF_ONE: u64 = 250;
const MOST: u64 = 64 << 10;

struct World {
    rng: Rng,
    chain: Chain,
    shelf: Shelf,
    filters: Vec<Wanted>,
    /// Logs of the newest block that its nodes do not have yet.
    late: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Totals {
    queries: u64,
    whole: u64,
    tails: u64,
    turns: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut world = Self {
            rng: Rng::new(seed),
            chain: Chain::new(),
            shelf: Shelf::default(),
            filters: Vec::new(),
            late: false,
        };
        for _ in 0..5 {
            let wanted = world.wanted();
            world.filters.push(wanted);
        }
        world.filters.push(Wanted::default());
        while world.chain.head() < 80 {
            let logs = world.logs();
            world.chain.grow(logs);
        }
        world
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.rng.below(usize::try_from(bound).unwrap()) as u64
    }

    fn byte(&mut self, bound: u64) -> u8 {
        u8::try_from(self.below(bound)).unwrap()
    }

    fn logs(&mut self) -> Vec<Emitted> {
        (0..self.below(4))
            .map(|_| Emitted {
                address: self.byte(4),
                topics: (0..self.below(4)).map(|_| self.byte(3)).collect(),
            })
            .collect()
    }

    fn wanted(&mut self) -> Wanted {
        let some = |world: &mut Self, bound| {
            let count = world.below(3);
            (0..count).map(|_| world.byte(bound)).collect::<Vec<u8>>()
        };
        Wanted {
            addresses: some(self, 4),
            topics: (0..self.below(4)).map(|_| some(self, 3)).collect(),
        }
    }

    /// Time passes, blocks come and go.
    fn live(&mut self, totals: &mut Totals) {
        let passed = self.below(1500);
        self.chain.now += Duration::from_millis(passed);
        match self.below(10) {
            0..4 => {
                self.late = self.below(3) == 0;
                let logs = self.logs();
                self.chain.grow(logs);
            }
            4 => {
                totals.turns += 1;
                let depth = usize::try_from(1 + self.below(30)).unwrap();
                let mut logs: Vec<_> = (0..=depth).map(|_| self.logs()).collect();
                self.chain.turn(depth, || logs.pop().unwrap());
                self.late = false;
            }
            _ => {}
        }
    }

    /// What a node answers.
    fn node(&self, wanted: &Wanted, from: u64, to: u64) -> String {
        let head = self.chain.head();
        if self.late && to == head {
            // It has the block, and not its logs.
            return match to.checked_sub(1).filter(|below| *below >= from) {
                Some(below) => self.chain.scan(wanted, from, below),
                None => String::new(),
            };
        }
        self.chain.scan(wanted, from, to)
    }

    fn query(&mut self, totals: &mut Totals) {
        totals.queries += 1;
        let which = usize::try_from(self.below(self.filters.len() as u64)).unwrap();
        let wanted = self.filters[which].clone();
        let filter = Filter::read(&wanted.params(self.below(2) == 0)).unwrap();
        let head = self.chain.head();
        let from = head - self.below(60).min(head);
        let to = (self.below(2) == 0).then(|| from + self.below(head - from + 1));
        let ask = Ask {
            from,
            to,
            newest: false,
            floor: None,
        };
        let pin = to.unwrap_or(head);
        let cut = self.shelf.find(&filter, &ask, &self.chain.view());
        let (have, missing) = match cut {
            Ok(cut) => match cut.found {
                Found::Whole { to, stale_blocks } => {
                    totals.whole += 1;
                    assert!(stale_blocks <= 1);
                    assert_eq!(joined(&cut.texts), self.chain.scan(&wanted, from, to));
                    return;
                }
                Found::Tail { from: missing, .. } => {
                    totals.tails += 1;
                    (cut.texts, missing)
                }
                Found::Nothing(_) => unreachable!(),
            },
            Err(_) => (Vec::new(), from),
        };
        if missing > from {
            assert_eq!(joined(&have), self.chain.scan(&wanted, from, missing - 1));
        }
        let text = format!("[{}]", self.node(&wanted, missing, pin));
        let list = List::read(&text, &filter, missing, pin).unwrap();
        let told = Told {
            from: missing,
            to: pin,
            list: &list,
            pinned: to.is_none(),
            all_hold: true,
            rival: false,
            pieces: &[Piece {
                to: pin,
                voice: Some(0),
            }],
            endpoint: &self.chain.endpoint,
            blooms: &Blooms::default(),
            at: self.chain.now,
            since: self.chain.recent.mark(),
        };
        let _ = self
            .shelf
            .put(&filter, &told, WINDOW, MOST, &self.chain.view());
        assert!(self.shelf.bytes() <= MOST);
    }
}

// P-14, P-21, P-22
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "how long a test runs is said from outside"
)]
fn the_index_answers_what_a_scan_finds() {
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    let long = std::env::var_os("HIGHWATER_LONG").is_some();
    let queries = number("HIGHWATER_QUERIES").unwrap_or(if long { LONG } else { QUERIES });
    let mut totals = Totals::default();
    let mut seed = number("HIGHWATER_SEED").unwrap_or(0);
    while totals.queries < queries {
        let mut world = World::new(seed);
        for _ in 0..OF_ONE {
            world.live(&mut totals);
            world.query(&mut totals);
        }
        seed += 1;
    }
    println!("{totals:?}");
    // A run without these proves nothing.
    assert!(totals.whole * 5 > totals.queries, "{totals:?}");
    assert!(totals.tails * 10 > totals.queries, "{totals:?}");
    assert!(totals.turns * 20 > totals.queries, "{totals:?}");
}
