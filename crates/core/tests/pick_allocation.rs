//! Choosing an endpoint allocates nothing: blending its books, scoring it, first attempt, next
//! attempt and race, under every strategy.
#![expect(
    clippy::disallowed_methods,
    reason = "an instant can only be had from the clock; it is the zero of these tests"
)]

use allocation_counter::measure;
use highwater_core::{
    EndpointId,
    method::MethodId,
    rng::Rng,
    score::{Inputs, ScoreSettings, score},
    select::{Candidate, SelectSettings, Selector, Strategy, Turn, Weights},
    stats::{Books, Recent, Window},
};
use smallvec::SmallVec;
use std::time::{Duration, Instant};

const ENDPOINTS: u16 = 10;
const STRATEGIES: [Strategy; 7] = [
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

struct Endpoint {
    books: Books,
    window: Window,
    recent: Recent,
}

/// An endpoint that answered three methods for four minutes, slower and slower.
fn endpoint(id: u16, start: Instant) -> Endpoint {
    let mut endpoint = Endpoint {
        books: Books::default(),
        window: Window::default(),
        recent: Recent::default(),
    };
    for n in 0..240_u16 {
        let now = start + Duration::from_secs(u64::from(n));
        let ms = f64::from(20 + id + n);
        endpoint.books.record_success(MethodId(n % 3), ms);
        endpoint.window.success(ms, now);
        endpoint.recent.ok(now);
    }
    endpoint
}

fn candidate(id: u16, endpoint: &Endpoint, now: Instant) -> Candidate {
    let settings = ScoreSettings::default();
    let inputs = Inputs {
        blended: endpoint.books.blend(MethodId(1), &settings),
        inflight: 2,
        excess_lag: Some(1),
        slope: endpoint.window.slope(now),
        weight: 1.0,
    };
    Candidate {
        endpoint: EndpointId(id),
        score: score(&inputs, &settings).total,
        weight: 1.0,
        latency_ms: inputs.blended.latency_ms,
        active: 0,
        p50_ms: endpoint.window.p50(now).unwrap_or(0.0),
        error_rate: endpoint.window.error_rate(now),
        quota_burn: 0.0,
        region_distance: 0.5,
        measured: endpoint.recent.more_good_than_bad(now),
    }
}

#[test]
fn allocates_nothing_to_choose_an_endpoint() {
    let start = Instant::now();
    let endpoints: Vec<_> = (0..ENDPOINTS).map(|id| endpoint(id, start)).collect();
    let mut selector = Selector::new(endpoints.len(), SelectSettings::default());
    let mut rng = Rng::new(1);
    let mut candidates = Vec::with_capacity(endpoints.len());
    let mut race = SmallVec::new();
    let mut chosen = 0;
    // In the open bucket, right after it, and long after everything has aged.
    for later in [0, 30, 100_000] {
        let now = start + Duration::from_secs(240 + later);
        for strategy in STRATEGIES {
            let counted = measure(|| {
                // As often as it takes to explore under `least-loaded`.
                for _ in 0..25 {
                    candidates.clear();
                    for (id, endpoint) in (0..).zip(&endpoints) {
                        candidates.push(candidate(id, endpoint, now));
                    }
                    let turn = Turn::default();
                    let first = selector.primary(&strategy, &candidates, turn, &mut rng);
                    let next = selector.next(&strategy, &candidates[1..], &mut rng);
                    selector.order(&strategy, &candidates, &mut rng, &mut race, 3);
                    chosen += usize::from(first.is_some() && next.is_some()) + race.len();
                }
            });
            assert_eq!(counted.count_total, 0, "{strategy}");
        }
    }
    assert_eq!(chosen, 3 * STRATEGIES.len() * 25 * 4);
}

#[test]
fn counts_an_allocation_where_there_is_one() {
    let selector = Selector::new(1, SelectSettings::default());
    let now = Instant::now();
    let candidates = [candidate(0, &endpoint(0, now), now)];
    let counted = measure(|| {
        let values = selector.preview(&Strategy::Adaptive, &candidates);
        assert_eq!(values.len(), 1);
    });
    assert_eq!(counted.count_total, 1);
}
