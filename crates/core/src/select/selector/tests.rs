use super::*;
use crate::{EndpointId, select::Weights};
use proptest::{
    arbitrary::any, collection, num, prop_assert, prop_assert_eq, proptest,
    strategy::Strategy as Generate,
};

/// An endpoint that is measured, free and has weight 1; its latency is its score.
fn candidate(endpoint: u16, score: f64) -> Candidate {
    Candidate {
        endpoint: EndpointId(endpoint),
        score,
        weight: 1.0,
        latency_ms: score,
        active: 0,
        p50_ms: score,
        error_rate: 0.0,
        quota_burn: 0.0,
        region_distance: 0.0,
        measured: true,
    }
}

fn scores(scores: &[f64]) -> Vec<Candidate> {
    (0..)
        .zip(scores)
        .map(|(id, score)| candidate(id, *score))
        .collect()
}

fn selector() -> Selector {
    Selector::new(8, SelectSettings::default())
}

/// How often each candidate was the first choice in 30 000 calls.
fn firsts(strategy: &Strategy, candidates: &[Candidate]) -> Vec<u32> {
    let mut selector = selector();
    let mut rng = Rng::new(5);
    let mut counts = vec![0; candidates.len()];
    for _ in 0..30_000 {
        let found = selector.primary(strategy, candidates, Turn::default(), &mut rng);
        counts[found.unwrap()] += 1;
    }
    counts
}

fn about(count: u32, expected: u32) -> bool {
    count.abs_diff(expected) < 450
}

fn order(strategy: &Strategy, candidates: &[Candidate], width: usize) -> Vec<usize> {
    let mut out = SmallVec::new();
    selector().order(strategy, candidates, &mut Rng::new(1), &mut out, width);
    out.into_vec()
}

const ALL: [Strategy; 7] = [
    Strategy::Adaptive,
    Strategy::WeightedSum(Weights {
        latency: 0.55,
        error: 0.3,
        quota: 0.1,
        affinity: 0.05,
    }),
    Strategy::RoundRobin,
    Strategy::Random,
    Strategy::Weighted,
    Strategy::LeastLoaded,
    Strategy::Shuffle,
];

#[test]
fn chooses_nobody_among_none_and_the_only_one_among_one() {
    for strategy in ALL {
        let (mut selector, mut rng) = (selector(), Rng::new(1));
        let turn = Turn::default();
        assert_eq!(selector.primary(&strategy, &[], turn, &mut rng), None);
        assert_eq!(selector.next(&strategy, &[], &mut rng), None);
        assert!(order(&strategy, &[], 2).is_empty());
        assert!(selector.preview(&strategy, &[]).is_empty());
        let one = [candidate(6, 1.0)];
        assert_eq!(selector.primary(&strategy, &one, turn, &mut rng), Some(0));
        assert_eq!(selector.next(&strategy, &one, &mut rng), Some(0));
    }
}

// of three pairs the best wins two, the second one, the worst none.
#[test]
fn takes_the_better_of_two_drawn_at_random() {
    let counts = firsts(&Strategy::Adaptive, &scores(&[30.0, 10.0, 20.0]));
    assert!(about(counts[1], 20_000), "{counts:?}");
    assert!(about(counts[2], 10_000), "{counts:?}");
    assert_eq!(counts[0], 0);
}

//
#[test]
fn draws_two_different_endpoints() {
    // With a second draw of the same one the worse would win one call in four.
    assert_eq!(
        firsts(&Strategy::Adaptive, &scores(&[20.0, 10.0])),
        [0, 30_000]
    );
}

//
#[test]
fn gives_a_tie_to_the_earlier_endpoint() {
    let tied = scores(&[10.0, 10.0]);
    assert_eq!(firsts(&Strategy::Adaptive, &tied), [30_000, 0]);
    let tied = scores(&[20.0, 10.0, 10.0]);
    let found = selector().next(&Strategy::Adaptive, &tied, &mut Rng::new(1));
    assert_eq!(found, Some(1));
}

//
#[test]
fn sends_failover_and_hedges_to_the_best_that_is_left() {
    let mut rng = Rng::new(1);
    let mut left = scores(&[30.0, 10.0, 20.0]);
    let mut went = Vec::new();
    while let Some(found) = selector().next(&Strategy::Adaptive, &left, &mut rng) {
        went.push(left.remove(found).endpoint.0);
    }
    assert_eq!(went, [1, 2, 0]);
}

//
#[test]
fn races_the_best_scored_in_score_order() {
    let candidates = scores(&[30.0, 10.0, 20.0, 40.0]);
    assert_eq!(order(&Strategy::Adaptive, &candidates, 2), [1, 2]);
    assert_eq!(order(&Strategy::Adaptive, &candidates, 9), [1, 2, 0, 3]);
    assert!(order(&Strategy::Adaptive, &candidates, 0).is_empty());
}

#[test]
fn takes_a_score_that_is_no_number_for_the_worst() {
    let candidates = scores(&[f64::NAN, f64::MAX]);
    assert_eq!(firsts(&Strategy::Adaptive, &candidates), [0, 30_000]);
}

// Latency 100, 200, 150; errors 0, 0.1, 0.05; burn 0.5, 0, 0.25; region 0, 1, 0.5:
// A = 0.10, B = 0.55 + 0.30 + 0.05 = 0.90, C = half of everything = 0.50.
#[test]
fn adds_up_four_measures_each_from_the_best_to_the_worst() {
    let mut candidates = scores(&[100.0, 200.0, 150.0]);
    for (candidate, (error, burn, distance)) in
        candidates
            .iter_mut()
            .zip([(0.0, 0.5, 0.0), (0.1, 0.0, 1.0), (0.05, 0.25, 0.5)])
    {
        candidate.error_rate = error;
        candidate.quota_burn = burn;
        candidate.region_distance = distance;
    }
    let strategy = Strategy::WeightedSum(Weights::default());
    let sums = selector().preview(&strategy, &candidates);
    for (sum, expected) in sums.iter().zip([0.1, 0.9, 0.5]) {
        assert!((sum.unwrap() - expected).abs() < 1e-12, "{sums:?}");
    }
    assert_eq!(firsts(&strategy, &candidates), [30_000, 0, 0]);
    assert_eq!(order(&strategy, &candidates, 2), [0, 2]);
    // Who pays for quota only goes where none is spent.
    let quota = Strategy::WeightedSum(Weights {
        latency: 0.0,
        error: 0.0,
        quota: 1.0,
        affinity: 0.0,
    });
    assert_eq!(order(&quota, &candidates, 3), [1, 2, 0]);
}

//
#[test]
fn ignores_a_measure_that_is_the_same_for_all() {
    let strategy = Strategy::WeightedSum(Weights::default());
    let alike = scores(&[80.0, 80.0, 80.0]);
    assert_eq!(selector().preview(&strategy, &alike), [Some(0.0); 3]);
    assert_eq!(order(&strategy, &alike, 3), [0, 1, 2]);
}

//
#[test]
fn takes_a_measure_that_is_no_number_for_the_worst() {
    let strategy = Strategy::WeightedSum(Weights::default());
    let candidates = scores(&[f64::NAN, 200.0, f64::INFINITY, 100.0]);
    assert_eq!(order(&strategy, &candidates, 2), [3, 0]);
    let sums = selector().preview(&strategy, &candidates);
    assert_eq!(sums, [0.55, 0.55, 0.55, 0.0].map(Some));
}

//
#[test]
fn goes_round_one_after_the_other() {
    let candidates = scores(&[30.0, 10.0, 20.0]);
    let (mut selector, mut rng) = (selector(), Rng::new(1));
    let strategy = Strategy::RoundRobin;
    assert_eq!(
        selector.preview(&strategy, &candidates),
        [0.0, 1.0, 2.0].map(Some)
    );
    let mut went = Vec::new();
    for _ in 0..4 {
        went.extend(selector.primary(&strategy, &candidates, Turn::default(), &mut rng));
    }
    assert_eq!(went, [0, 1, 2, 0]);
    assert_eq!(
        selector.preview(&strategy, &candidates),
        [2.0, 0.0, 1.0].map(Some)
    );
    // A failover goes to the next one in turn, whoever is left.
    assert_eq!(
        selector.next(&strategy, &candidates[1..], &mut rng),
        Some(0)
    );
    assert_eq!(
        selector.next(&strategy, &candidates[..2], &mut rng),
        Some(0)
    );
}

// every endpoint leads as often as another.
#[test]
fn begins_the_next_race_behind_the_first_of_the_last_one() {
    let candidates = scores(&[30.0, 10.0, 20.0]);
    let (mut selector, mut rng) = (selector(), Rng::new(1));
    let mut out = SmallVec::new();
    let mut races = Vec::new();
    for _ in 0..3 {
        selector.order(&Strategy::RoundRobin, &candidates, &mut rng, &mut out, 2);
        races.push(out.to_vec());
    }
    assert_eq!(races, [[0, 1], [1, 2], [2, 0]]);
}

//
#[test]
fn draws_each_as_often_as_the_other() {
    for strategy in [Strategy::Random, Strategy::Shuffle] {
        let counts = firsts(&strategy, &scores(&[30.0, 10.0, 20.0]));
        assert!(counts.iter().all(|n| about(*n, 10_000)), "{counts:?}");
    }
}

//
#[test]
fn makes_every_order_of_three_as_likely_as_another() {
    let candidates = scores(&[1.0, 2.0, 3.0]);
    let (mut selector, mut rng) = (selector(), Rng::new(9));
    let mut orders = std::collections::BTreeMap::new();
    for _ in 0..30_000 {
        let mut left = candidates.clone();
        let mut order = Vec::new();
        let turn = Turn::default();
        let first = selector.primary(&Strategy::Shuffle, &left, turn, &mut rng);
        order.push(left.remove(first.unwrap()).endpoint.0);
        while let Some(at) = selector.next(&Strategy::Shuffle, &left, &mut rng) {
            order.push(left.remove(at).endpoint.0);
        }
        *orders.entry(order).or_insert(0) += 1;
    }
    assert_eq!(orders.len(), 6);
    assert!(orders.values().all(|n| about(*n, 5_000)), "{orders:?}");
}

//
#[test]
fn draws_as_often_as_the_weight_says() {
    let mut candidates = scores(&[1.0, 1.0, 1.0, 1.0]);
    for (candidate, weight) in candidates.iter_mut().zip([1.0, 0.0, 2.0, f64::NAN]) {
        candidate.weight = weight;
    }
    let counts = firsts(&Strategy::Weighted, &candidates);
    assert!(about(counts[0], 10_000), "{counts:?}");
    assert!(about(counts[2], 20_000), "{counts:?}");
    assert_eq!((counts[1], counts[3]), (0, 0));
    let chances = selector().preview(&Strategy::Weighted, &candidates);
    assert_eq!(chances, [1.0 / 3.0, 0.0, 2.0 / 3.0, 0.0].map(Some));
    // Those without a weight come when the others are used up.
    let all = order(&Strategy::Weighted, &candidates, 4);
    assert!([0, 2].contains(&all[0]) && [0, 2].contains(&all[1]));
    assert_eq!(all.len(), 4);
}

#[test]
fn makes_the_same_choices_from_the_same_seed() {
    let candidates = scores(&[3.0, 1.0, 2.0, 5.0, 4.0]);
    for strategy in ALL {
        let run = |seed| {
            let (mut selector, mut rng) = (selector(), Rng::new(seed));
            let choice = |_| selector.primary(&strategy, &candidates, Turn::default(), &mut rng);
            (0..50).map(choice).collect::<Vec<_>>()
        };
        assert_eq!(run(4), run(4));
    }
}

#[test]
fn names_each_strategy_as_a_configuration_does() {
    let names = ALL.map(|strategy| strategy.to_string());
    assert_eq!(
        names,
        [
            "adaptive",
            "weighted-sum",
            "round-robin",
            "random",
            "weighted",
            "least-loaded",
            "shuffle"
        ]
    );
    assert_eq!(Strategy::default(), Strategy::Adaptive);
}

#[test]
fn names_the_setting_that_is_out_of_range() {
    assert_eq!(Weights::default().check(), Ok(()));
    let weights = Weights {
        quota: f64::NAN,
        ..Weights::default()
    };
    assert_eq!(weights.check(), Err("quota"));
    assert_eq!(SelectSettings::default().check(), Ok(()));
    let always = SelectSettings { explore_every: 1 };
    assert_eq!(always.check(), Err("explore_every"));
}

fn any_candidates() -> impl Generate<Value = Vec<Candidate>> {
    let floats = [num::f64::ANY; 7];
    let one = (0_u16..12, floats, 0_u32..3, any::<bool>()).prop_map(
        |(endpoint, floats, active, measured)| {
            let [
                score,
                weight,
                latency_ms,
                p50_ms,
                error_rate,
                quota_burn,
                region_distance,
            ] = floats;
            Candidate {
                endpoint: EndpointId(endpoint),
                score,
                weight,
                latency_ms,
                active,
                p50_ms,
                error_rate,
                quota_burn,
                region_distance,
                measured,
            }
        },
    );
    collection::vec(one, 0..10)
}

proptest! {
    // The pool holds eight endpoints; numbers past it must do no harm either.
    #[test]
    fn never_leaves_the_candidates(
        candidates in any_candidates(), width in 0_usize..12, seed: u64, single_attempt: bool,
    ) {
        for strategy in ALL {
            let (mut selector, mut rng) = (selector(), Rng::new(seed));
            for _ in 0..3 {
                let inside = |found: Option<usize>| match found {
                    Some(at) => at < candidates.len(),
                    None => candidates.is_empty(),
                };
                let turn = Turn { single_attempt };
                prop_assert!(inside(selector.primary(&strategy, &candidates, turn, &mut rng)));
                prop_assert!(inside(selector.next(&strategy, &candidates, &mut rng)));
                let mut out = SmallVec::new();
                selector.order(&strategy, &candidates, &mut rng, &mut out, width);
                prop_assert_eq!(out.len(), width.min(candidates.len()));
                let mut distinct = out.to_vec();
                distinct.sort_unstable();
                distinct.dedup();
                prop_assert_eq!(distinct.len(), out.len());
                prop_assert!(out.iter().all(|at| *at < candidates.len()));
                let preview = selector.preview(&strategy, &candidates);
                prop_assert_eq!(preview.len(), candidates.len());
            }
        }
    }

    // A weighted sum never is NaN, whatever is measured.
    #[test]
    fn sums_to_a_number(candidates in any_candidates()) {
        let strategy = Strategy::WeightedSum(Weights::default());
        for sum in selector().preview(&strategy, &candidates).into_iter().flatten() {
            prop_assert!((-1e-9..=1.0 + 1e-9).contains(&sum), "{sum}");
        }
    }
}
