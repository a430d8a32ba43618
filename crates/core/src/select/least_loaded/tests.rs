//! Through the selector, which keeps the cursor.

use crate::{
    EndpointId,
    rng::Rng,
    select::{Candidate, SelectSettings, Selector, Strategy, Turn},
};
use smallvec::SmallVec;

const ONCE: Turn = Turn {
    single_attempt: true,
};

/// Candidates by latency and operations under way; a latency of none is not measured.
fn of(states: &[(Option<f64>, u32)]) -> Vec<Candidate> {
    let candidate = |(id, (latency, active)): (u16, &(Option<f64>, u32))| Candidate {
        endpoint: EndpointId(id),
        score: 1.0,
        weight: 1.0,
        latency_ms: latency.unwrap_or_default(),
        active: *active,
        p50_ms: 0.0,
        error_rate: 0.0,
        quota_burn: 0.0,
        region_distance: 0.0,
        measured: latency.is_some(),
    };
    (0..).zip(states).map(candidate).collect()
}

struct Pool {
    selector: Selector,
    rng: Rng,
}

impl Pool {
    fn new() -> Self {
        Self {
            selector: Selector::new(8, SelectSettings::default()),
            rng: Rng::new(1),
        }
    }

    fn primary(&mut self, candidates: &[Candidate], turn: Turn) -> usize {
        let found = self
            .selector
            .primary(&Strategy::LeastLoaded, candidates, turn, &mut self.rng);
        found.unwrap()
    }

    fn primaries(&mut self, candidates: &[Candidate], n: usize) -> Vec<usize> {
        (0..n)
            .map(|_| self.primary(candidates, Turn::default()))
            .collect()
    }

    fn next(&mut self, candidates: &[Candidate]) -> usize {
        let found = self
            .selector
            .next(&Strategy::LeastLoaded, candidates, &mut self.rng);
        found.unwrap()
    }

    fn race(&mut self, candidates: &[Candidate], width: usize) -> Vec<usize> {
        let mut out = SmallVec::new();
        self.selector.order(
            &Strategy::LeastLoaded,
            candidates,
            &mut self.rng,
            &mut out,
            width,
        );
        out.to_vec()
    }
}

// 30·1, 10·4, 20·2
#[test]
fn minimises_latency_by_operations_under_way() {
    let candidates = of(&[(Some(30.0), 0), (Some(10.0), 3), (Some(20.0), 1)]);
    assert_eq!(Pool::new().primary(&candidates, Turn::default()), 0);
    let values = Pool::new()
        .selector
        .preview(&Strategy::LeastLoaded, &candidates);
    assert_eq!(values, [30.0, 40.0, 40.0].map(Some));
}

//
#[test]
fn goes_round_on_exact_ties() {
    let tied = of(&[(Some(20.0), 0), (Some(10.0), 1), (Some(5.0), 3)]);
    assert_eq!(Pool::new().primaries(&tied, 4), [0, 1, 2, 0]);
}

// real calls, one each, before anything is compared.
#[test]
fn measures_every_free_endpoint_first() {
    let mut pool = Pool::new();
    let mut candidates = of(&[(None, 0), (Some(5.0), 0), (None, 0), (None, 0)]);
    let mut went = Vec::new();
    for _ in 0..4 {
        let found = pool.primary(&candidates, Turn::default());
        went.push(found);
        candidates[found].measured = true;
        candidates[found].latency_ms = 50.0;
    }
    assert_eq!(went, [0, 2, 3, 1]);
}

//
#[test]
fn does_not_queue_a_call_behind_another_to_measure() {
    let candidates = of(&[(None, 1), (Some(500.0), 2)]);
    assert_eq!(Pool::new().primary(&candidates, Turn::default()), 1);
}

//
#[test]
fn takes_the_least_busy_where_none_was_measured() {
    let candidates = of(&[(None, 3), (None, 1), (None, 2)]);
    assert_eq!(Pool::new().primary(&candidates, Turn::default()), 1);
}

//
#[test]
fn explores_with_every_twentieth_primary_selection() {
    let candidates = of(&[(Some(10.0), 0), (Some(500.0), 0), (Some(600.0), 0)]);
    let went = Pool::new().primaries(&candidates, 80);
    let explored: Vec<_> = went
        .iter()
        .enumerate()
        .filter(|(_, at)| **at != 0)
        .collect();
    // The one that has gone longest without a call, so by turns.
    assert_eq!(explored, [(19, &1), (39, &2), (59, &1), (79, &2)]);
}

//
#[test]
fn explores_only_free_endpoints_and_uses_the_position_up_without_one() {
    let busy = of(&[(Some(10.0), 0), (Some(500.0), 1)]);
    let free = of(&[(Some(10.0), 0), (Some(500.0), 0)]);
    let mut pool = Pool::new();
    assert_eq!(pool.primaries(&busy, 20), [0; 20]);
    let went = pool.primaries(&free, 20);
    assert_eq!(went[..19], [0; 19]);
    assert_eq!(went[19], 1);
}

//
#[test]
fn explores_whoever_was_not_called_for_longest_not_who_comes_first() {
    let mut pool = Pool::new();
    let candidates = of(&[(Some(10.0), 0), (Some(500.0), 0), (Some(600.0), 0)]);
    // A failover went to endpoint 1 meanwhile.
    assert_eq!(pool.next(&candidates[1..]), 0);
    let went = pool.primaries(&candidates, 20);
    assert_eq!(went[19], 2);
}

//
#[test]
fn counts_neither_retries_nor_single_attempts_nor_initial_measurements() {
    let candidates = of(&[(Some(10.0), 0), (Some(500.0), 0)]);
    let unmeasured = of(&[(Some(10.0), 0), (None, 0)]);
    let mut pool = Pool::new();
    pool.primaries(&candidates, 19);
    for _ in 0..40 {
        assert_eq!(pool.next(&candidates), 0);
        assert_eq!(pool.primary(&candidates, ONCE), 0);
        assert_eq!(pool.primary(&unmeasured, Turn::default()), 1);
    }
    assert_eq!(pool.primary(&candidates, Turn::default()), 1);
}

//
#[test]
fn measures_nothing_with_a_single_attempt_or_a_retry() {
    let candidates = of(&[(None, 0), (Some(500.0), 4)]);
    assert_eq!(Pool::new().primary(&candidates, ONCE), 1);
    assert_eq!(Pool::new().next(&candidates), 1);
}

//
#[test]
fn races_by_load_after_those_to_be_measured() {
    let candidates = of(&[
        (Some(30.0), 0),
        (None, 2),
        (Some(10.0), 1),
        (None, 0),
        (Some(5.0), 0),
    ]);
    assert_eq!(Pool::new().race(&candidates, 5), [3, 4, 2, 0, 1]);
}

//
#[test]
fn explores_in_the_last_place_of_every_twentieth_race() {
    let candidates = of(&[(Some(10.0), 0), (Some(20.0), 0), (Some(600.0), 0)]);
    let mut pool = Pool::new();
    for _ in 0..19 {
        assert_eq!(pool.race(&candidates, 2), [0, 1]);
    }
    assert_eq!(pool.race(&candidates, 2), [0, 2]);
    assert_eq!(pool.race(&candidates, 2), [0, 1]);
}

//
#[test]
fn loses_to_a_latency_that_is_a_number() {
    let candidates = of(&[(Some(f64::NAN), 0), (Some(900.0), 5)]);
    assert_eq!(Pool::new().primary(&candidates, Turn::default()), 1);
}
