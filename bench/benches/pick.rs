//! The price of choosing among ten endpoints. Goal: scoring all ten, the first choice and the next
//! one under 150 ns.
#![allow(missing_docs, reason = "criterion's macros make public functions")]

use criterion::{Criterion, criterion_group, criterion_main};
use highwater_core::{
    EndpointId,
    method::MethodId,
    rng::Rng,
    score::{Inputs, ScoreSettings, score},
    select::{Candidate, SelectSettings, Selector, Strategy, Turn, Weights},
    stats::{Blended, Books, Window},
};
use smallvec::SmallVec;
use std::{
    hint::black_box,
    time::{Duration, Instant},
};

const CALL: MethodId = MethodId(7);
const ENDPOINTS: usize = 10;

fn inputs() -> [Inputs; ENDPOINTS] {
    std::array::from_fn(|id| Inputs {
        blended: Blended {
            latency_ms: 20.0 + (id * 7 % 10) as f64,
            tail_ms: 80.0 + (id * 3 % 10) as f64,
            error: 0.01 * id as f64,
            samples: 100,
        },
        inflight: (id % 3) as u32,
        excess_lag: (id == 4).then_some(2),
        slope: 0.0,
        weight: 1.0,
    })
}

fn candidate(id: usize, inputs: &Inputs, settings: &ScoreSettings) -> Candidate {
    Candidate {
        endpoint: EndpointId(id as u16),
        score: score(inputs, settings).total,
        weight: inputs.weight,
        latency_ms: inputs.blended.latency_ms,
        active: inputs.inflight,
        p50_ms: inputs.blended.latency_ms,
        error_rate: inputs.blended.error,
        quota_burn: 0.0,
        region_distance: 0.0,
        measured: true,
    }
}

/// Books of ten methods with enough samples each, and a window of five minutes.
fn endpoint(id: usize, start: Instant) -> (Books, Window) {
    let mut books = Books::default();
    let mut window = Window::default();
    for n in 0..3_000_u16 {
        let ms = 20.0 + (id * 7 % 10) as f64 + f64::from(n % 13);
        books.record_success(MethodId(n % 10), ms);
        window.success(ms, start + Duration::from_millis(100 * u64::from(n)));
    }
    (books, window)
}

fn pick(c: &mut Criterion) {
    let mut group = c.benchmark_group("pick");
    let settings = ScoreSettings::default();
    let mut rng = Rng::new(1);
    let mut selector = Selector::new(ENDPOINTS, SelectSettings::default());
    let ten = inputs();
    group.bench_function("score_ten", |b| {
        b.iter(|| {
            let scores = black_box(&ten)
                .each_ref()
                .map(|one| score(one, &settings).total);
            black_box(scores);
        });
    });
    for strategy in [
        Strategy::Adaptive,
        Strategy::WeightedSum(Weights::default()),
        Strategy::LeastLoaded,
    ] {
        group.bench_function(format!("score_ten_primary_next/{strategy}"), |b| {
            b.iter(|| {
                let mut candidates = SmallVec::<[Candidate; 16]>::new();
                for (id, one) in black_box(&ten).iter().enumerate() {
                    candidates.push(candidate(id, one, &settings));
                }
                let turn = Turn::default();
                let first = selector.primary(&strategy, &candidates, turn, &mut rng);
                // As the router does it: the one that failed is left out.
                let _ = candidates.remove(first.unwrap_or(0));
                (first, selector.next(&strategy, &candidates, &mut rng))
            });
        });
    }
    let start = Instant::now();
    let endpoints: Vec<_> = (0..ENDPOINTS).map(|id| endpoint(id, start)).collect();
    let now = start + Duration::from_secs(299);
    group.bench_function("blend_slope_score_ten_primary_next/adaptive", |b| {
        b.iter(|| {
            let mut candidates = SmallVec::<[Candidate; 16]>::new();
            for (id, (books, window)) in endpoints.iter().enumerate() {
                let one = Inputs {
                    blended: books.blend(black_box(CALL), &settings),
                    slope: window.slope(black_box(now)),
                    ..ten[id]
                };
                candidates.push(candidate(id, &one, &settings));
            }
            let strategy = Strategy::Adaptive;
            let turn = Turn::default();
            let first = selector.primary(&strategy, &candidates, turn, &mut rng);
            let _ = candidates.remove(first.unwrap_or(0));
            (first, selector.next(&strategy, &candidates, &mut rng))
        });
    });
    group.finish();
}

fn record(c: &mut Criterion) {
    let mut group = c.benchmark_group("record");
    let start = Instant::now();
    let (mut books, mut window) = endpoint(1, start);
    let now = start + Duration::from_secs(299);
    group.bench_function("books", |b| {
        b.iter(|| books.record_success(black_box(CALL), black_box(25.0)));
    });
    group.bench_function("window", |b| {
        b.iter(|| window.success(black_box(25.0), black_box(now)));
    });
    group.bench_function("window_p50", |b| b.iter(|| window.p50(black_box(now))));
    group.finish();
}

criterion_group!(benches, pick, record);
criterion_main!(benches);
