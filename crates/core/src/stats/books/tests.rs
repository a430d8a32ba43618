use super::*;
use crate::score::{Inputs, score};
use proptest::{num::f64::ANY, prelude::*};

const CALL: MethodId = MethodId(7);
const LOGS: MethodId = MethodId(3);
/// Milliseconds.
const TIMEOUT: f64 = 10_000.0;
const STEPS: BookSettings = BookSettings {
    slower_step: 0.4,
    faster_step: 0.2,
    tail_up_step: 0.5,
    tail_down_step: 0.05,
    error_step: 0.3,
};

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

fn blend(books: &Books, method: MethodId) -> Blended {
    books.blend(method, &ScoreSettings::default())
}

fn standing(books: &Books, method: MethodId) -> f64 {
    let inputs = Inputs {
        blended: blend(books, method),
        inflight: 0,
        excess_lag: None,
        slope: 0.0,
        weight: 1.0,
    };
    score(&inputs, &ScoreSettings::default()).total
}

//
#[test]
fn sets_both_latencies_by_the_first_sample() {
    let mut book = Book::EMPTY;
    assert_eq!((book.latency_ms(), book.tail_ms()), (None, None));
    book.success(120.0, &STEPS);
    assert_eq!(book.latency_ms(), Some(120.0));
    assert_eq!(book.tail_ms(), Some(120.0));
    assert_eq!(book.count(), 1);
}

// 100 → slower 200: 100 + 0.4·100 = 140, tail 100 + 0.5·100 = 150
//          → faster  40: 140 − 0.2·100 = 120, tail 150 − 0.05·110 = 144.5
#[test]
fn follows_slower_answers_faster_than_faster_ones() {
    let mut book = Book::EMPTY;
    for (ms, latency, tail) in [
        (100.0, 100.0, 100.0),
        (200.0, 140.0, 150.0),
        (40.0, 120.0, 144.5),
    ] {
        book.success(ms, &STEPS);
        assert!(close(book.latency_ms().unwrap(), latency));
        assert!(close(book.tail_ms().unwrap(), tail));
    }
}

// 0 → 0.3 → 0.51 → a success 0.357 → a cooling 0.2499
#[test]
fn pushes_the_error_by_failures_and_pulls_it_back_by_successes() {
    let mut book = Book::EMPTY;
    book.failure(&STEPS);
    assert!(close(book.error(), 0.3));
    book.failure(&STEPS);
    assert!(close(book.error(), 0.51));
    book.success(10.0, &STEPS);
    assert!(close(book.error(), 0.357));
    book.cool(&STEPS);
    assert!(close(book.error(), 0.2499));
    assert_eq!(book.count(), 3);
}

//
#[test]
fn pushes_the_tail_by_a_timeout_and_leaves_the_latency() {
    let mut book = Book::EMPTY;
    book.success(20.0, &STEPS);
    book.timeout(5_000.0, &STEPS);
    assert_eq!(book.latency_ms(), Some(20.0));
    assert!(close(book.tail_ms().unwrap(), 2_510.0));
    assert!(close(book.error(), 0.3));
}

//
#[test]
fn never_pulls_the_tail_down_by_a_timeout_shorter_than_it() {
    let mut book = Book::EMPTY;
    book.success(8_000.0, &STEPS);
    book.timeout(5_000.0, &STEPS);
    assert_eq!(book.tail_ms(), Some(8_000.0));
}

// a hang before the first answer is not wiped out by that answer.
#[test]
fn remembers_a_hang_that_came_before_the_first_success() {
    let mut book = Book::EMPTY;
    book.timeout(5_000.0, &STEPS);
    assert_eq!((book.latency_ms(), book.tail_ms()), (None, Some(5_000.0)));
    book.success(20.0, &STEPS);
    assert_eq!(book.latency_ms(), Some(20.0));
    assert!(close(book.tail_ms().unwrap(), 4_751.0));
}

//
#[test]
fn expects_the_prior_of_an_endpoint_nobody_asked() {
    let expected = Blended {
        latency_ms: 200.0,
        tail_ms: 200.0,
        error: 0.0,
        samples: 0,
    };
    assert_eq!(blend(&Books::default(), CALL), expected);
}

// R-4, two samples of 100 ms: w = wg = 0.4; 0.4·100 + 0.6·(0.4·100 + 0.6·200) = 136
#[test]
fn blends_method_endpoint_and_prior_by_their_samples() {
    let mut books = Books::default();
    books.record_success(CALL, 100.0);
    books.record_success(CALL, 100.0);
    let blended = blend(&books, CALL);
    assert!(close(blended.latency_ms, 136.0));
    assert!(close(blended.tail_ms, 136.0));
    assert_eq!(blended.samples, 2);
}

// a method that was never asked takes the endpoint's book: wg = 0.4; 0.4·100 + 0.6·200 = 160
#[test]
fn lends_the_endpoints_book_to_a_method_that_was_never_asked() {
    let mut books = Books::default();
    books.record_success(CALL, 100.0);
    books.record_success(CALL, 100.0);
    let blended = blend(&books, LOGS);
    assert!(close(blended.latency_ms, 160.0));
    assert_eq!(blended.samples, 0);
}

// from five samples on the method's own book decides alone.
#[test]
fn trusts_five_samples_of_a_method_alone() {
    let mut books = Books::default();
    for _ in 0..5 {
        books.record_success(LOGS, 3_000.0);
        books.record_success(CALL, 10.0);
    }
    assert!(close(blend(&books, CALL).latency_ms, 10.0));
    assert!(close(blend(&books, LOGS).latency_ms, 3_000.0));
}

// R-4 on the error: one failure; own 0.3 at w = 0.2, endpoint 0.3 at 0.2, prior 0:
// 0.2·0.3 + 0.8·(0.2·0.3) = 0.108
#[test]
fn blends_the_error_like_the_latency() {
    let mut books = Books::default();
    books.record_failure(CALL);
    assert!(close(blend(&books, CALL).error, 0.108));
    assert!(close(blend(&books, LOGS).error, 0.06));
}

//
#[test]
fn gains_nothing_by_failing_fast() {
    let mut books = Books::default();
    books.record_success(CALL, 20.0);
    let before = blend(&books, CALL);
    for _ in 0..10 {
        books.record_failure(CALL);
    }
    let after = blend(&books, CALL);
    assert_eq!(after.latency_ms.to_bits(), before.latency_ms.to_bits());
    assert_eq!(after.tail_ms.to_bits(), before.tail_ms.to_bits());
    assert!(after.error > 0.9);
}

// M18: nulls that took long leave the endpoint's standing for other methods as it was.
#[test]
fn keeps_the_latency_of_a_slow_null_out_of_the_books() {
    let mut books = Books::default();
    for _ in 0..5 {
        books.record_success(CALL, 20.0);
    }
    let before = blend(&books, CALL);
    for _ in 0..5 {
        books.record_error_free(LOGS);
    }
    assert_eq!(blend(&books, CALL), before);
    assert_eq!(books.method(LOGS).unwrap().count(), 5);
    assert_eq!(books.method(LOGS).unwrap().latency_ms(), None);
}

//
#[test]
fn cools_every_book_by_a_probe_and_touches_no_latency() {
    let mut books = Books::default();
    books.record_success(CALL, 20.0);
    books.record_failure(CALL);
    let before = *books.method(CALL).unwrap();
    books.cool();
    let after = *books.method(CALL).unwrap();
    assert!(close(after.error(), 0.7 * before.error()));
    assert!(close(books.global().error(), after.error()));
    assert_eq!(after.latency_ms(), before.latency_ms());
    assert_eq!(after.tail_ms(), before.tail_ms());
    assert_eq!(after.count(), before.count());
}

//
#[test]
fn pushes_the_endpoints_tail_by_a_probe_that_failed() {
    let mut books = Books::default();
    books.record_success(CALL, 20.0);
    books.push_tail(1_020.0);
    assert!(close(books.global().tail_ms().unwrap(), 520.0));
    assert_eq!(books.global().error(), 0.0);
    assert_eq!(books.method(CALL).unwrap().tail_ms(), Some(20.0));
}

#[test]
fn keeps_its_methods_in_the_order_of_their_numbers() {
    let mut books = Books::default();
    for id in [9, 2, 5, 2, 9] {
        books.record_success(MethodId(id), 1.0);
    }
    let order: Vec<_> = books
        .methods()
        .map(|(id, book)| (id.0, book.count()))
        .collect();
    assert_eq!(order, [(2, 2), (5, 1), (9, 2)]);
}

#[test]
fn takes_a_duration_that_is_no_number_for_none() {
    let mut books = Books::default();
    for ms in [f64::NAN, -1.0, f64::NEG_INFINITY] {
        books.record_success(CALL, ms);
        books.record_timeout(CALL, ms);
        books.push_tail(ms);
    }
    assert_eq!(books.global().latency_ms(), None);
    assert_eq!(books.global().tail_ms(), None);
    books.record_success(CALL, f64::INFINITY);
    assert_eq!(books.global().latency_ms(), Some(86_400_000.0));
}

#[test]
fn names_the_step_that_is_out_of_range() {
    assert_eq!(BookSettings::default().check(), Ok(()));
    for step in [0.0, -0.1, 1.1, f64::NAN] {
        let settings = BookSettings {
            tail_down_step: step,
            ..BookSettings::default()
        };
        assert_eq!(settings.check(), Err("tail_down_step"));
    }
}

#[derive(Clone, Copy, Debug)]
enum Sample {
    Success(f64),
    ErrorFree,
    Failure,
    Timeout(f64),
    Cool,
}

/// Samples of four methods with the given latencies and timeouts, in milliseconds.
fn samples(
    latencies: impl Strategy<Value = f64>,
    timeouts: impl Strategy<Value = f64>,
) -> impl Strategy<Value = Vec<(u16, Sample)>> {
    let sample = prop_oneof![
        latencies.prop_map(Sample::Success),
        Just(Sample::ErrorFree),
        Just(Sample::Failure),
        timeouts.prop_map(Sample::Timeout),
        Just(Sample::Cool),
    ];
    prop::collection::vec((0_u16..4, sample), 0..60)
}

fn after(samples: &[(u16, Sample)]) -> Books {
    let mut books = Books::default();
    for (method, sample) in samples {
        let method = MethodId(*method);
        match *sample {
            Sample::Success(ms) => books.record_success(method, ms),
            Sample::ErrorFree => books.record_error_free(method),
            Sample::Failure => books.record_failure(method),
            Sample::Timeout(ms) => books.record_timeout(method, ms),
            Sample::Cool => books.cool(),
        }
    }
    books
}

proptest! {
    #[test]
    fn stays_finite_whatever_comes(samples in samples(ANY, ANY)) {
        let books = after(&samples);
        for method in 0..4 {
            let blended = blend(&books, MethodId(method));
            for value in [blended.latency_ms, blended.tail_ms] {
                prop_assert!((0.0..=86_400_000.0).contains(&value));
            }
            prop_assert!((0.0..=1.0).contains(&blended.error));
        }
    }

    //
    #[test]
    fn expects_no_faster_answer_after_a_failure_or_a_timeout(
        samples in samples(0.0..=TIMEOUT, TIMEOUT..=TIMEOUT),
    ) {
        let before = after(&samples);
        let mut failed = before.clone();
        failed.record_failure(MethodId(0));
        let mut late = before.clone();
        late.record_timeout(MethodId(0), TIMEOUT);
        for method in (0..4).map(MethodId) {
            let was = blend(&before, method);
            prop_assert_eq!(blend(&failed, method).latency_ms.to_bits(), was.latency_ms.to_bits());
            prop_assert_eq!(blend(&failed, method).tail_ms.to_bits(), was.tail_ms.to_bits());
            prop_assert_eq!(blend(&late, method).latency_ms.to_bits(), was.latency_ms.to_bits());
            prop_assert!(blend(&late, method).tail_ms >= was.tail_ms - 1e-9);
        }
    }

    // Of one method only: a failure of a method that is well at an endpoint where all others
    // fail may also move the blend from the endpoint's book to the method's.
    #[test]
    fn never_stands_better_after_a_failure_or_a_timeout(
        samples in samples(0.0..=TIMEOUT, TIMEOUT..=TIMEOUT),
    ) {
        let samples: Vec<_> = samples.iter().map(|(_, sample)| (0, *sample)).collect();
        let before = after(&samples);
        let mut failed = before.clone();
        failed.record_failure(MethodId(0));
        let mut late = before.clone();
        late.record_timeout(MethodId(0), TIMEOUT);
        for worse in [failed, late] {
            let standings = [&before, &worse].map(|books| standing(books, MethodId(0)));
            prop_assert!(standings[1] >= standings[0] * (1.0 - 1e-12));
        }
    }
}
