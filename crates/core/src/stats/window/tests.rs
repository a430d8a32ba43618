#![expect(
    clippy::disallowed_methods,
    reason = "an instant can only be had from the clock; it is the zero of these tests"
)]

use super::*;
use proptest::prelude::*;

const BUCKET: Duration = Duration::from_secs(30);
const MOMENT: Duration = Duration::from_nanos(1);

/// One answer per bucket, in the middle of it.
fn buckets(latencies: impl IntoIterator<Item = f64>) -> (Window, Instant) {
    let start = Instant::now();
    let mut window = Window::default();
    // The first answer opens the first bucket.
    window.error_free(start);
    let mut now = start;
    for ms in latencies {
        window.success(ms, now + BUCKET / 2);
        now += BUCKET;
    }
    (window, now)
}

fn near(found: Option<f64>, ms: f64) -> bool {
    found.is_some_and(|found| (found - ms).abs() <= ms * 0.0626)
}

//
#[test]
fn knows_nothing_before_the_first_answer() {
    let now = Instant::now();
    let window = Window::default();
    assert_eq!(window.p50(now), None);
    assert_eq!(window.p99(now), None);
    assert_eq!(window.error_rate(now), 0.0);
    assert_eq!(window.slope(now), 0.0);
    assert_eq!(window.trend(now), 0.0);
}

//
#[test]
fn tells_the_median_and_the_tail_apart() {
    let now = Instant::now();
    let mut window = Window::default();
    for n in 0..200 {
        window.success(if n % 50 == 0 { 2_000.0 } else { 40.0 }, now);
    }
    assert!(near(window.p50(now), 40.0));
    assert!(near(window.p99(now), 2_000.0));
}

//
#[test]
fn forgets_after_five_minutes_without_being_told() {
    let start = Instant::now();
    let mut window = Window::default();
    window.success(1_000.0, start);
    window.failure(start);
    window.success(10.0, start + BUCKET);
    let last = start + 10 * BUCKET - MOMENT;
    assert!(near(window.p99(last), 1_000.0));
    assert!((window.error_rate(last) - 1.0 / 3.0).abs() < 1e-12);
    let gone = start + 10 * BUCKET;
    assert!(near(window.p50(gone), 10.0));
    assert!(near(window.p99(gone), 10.0));
    assert_eq!(window.error_rate(gone), 0.0);
    assert_eq!(window.p50(start + 11 * BUCKET), None);
    assert_eq!(window.p99(start + 1_000_000 * BUCKET), None);
}

//
#[test]
fn starts_afresh_after_a_long_silence() {
    let (mut window, now) = buckets([100.0, 200.0, 400.0, 800.0, 1_600.0]);
    assert!(window.slope(now) > 0.1);
    let later = now + 1_000 * BUCKET;
    window.success(10.0, later);
    assert!(near(window.p99(later), 10.0));
    assert_eq!(window.slope(later), 0.0);
    assert_eq!(window.trend(later), 0.0);
}

//
#[test]
fn counts_failures_as_a_share_of_all_answers() {
    let now = Instant::now();
    let mut window = Window::default();
    window.failure(now);
    assert_eq!(window.error_rate(now), 1.0);
    window.success(10.0, now);
    window.error_free(now);
    window.error_free(now);
    assert_eq!(window.error_rate(now), 0.25);
    // Neither a failure nor an answer without a duration is a latency.
    assert!(near(window.p99(now), 10.0));
}

//
#[test]
fn finds_the_median_of_few_latencies_among_many_answers_without_one() {
    let now = Instant::now();
    let mut window = Window::default();
    for _ in 0..1_000 {
        window.error_free(now);
    }
    window.success(40.0, now);
    assert!(near(window.p50(now), 40.0));
}

// 100, 120, …, 280 ms: 20 ms a bucket, mean 190 ms: 0.105 a bucket, 0.21 a minute.
#[test]
fn measures_the_slope_as_a_share_per_minute() {
    let (window, now) = buckets((0..10).map(|n| 100.0 + 20.0 * f64::from(n)));
    let slope = window.slope(now);
    assert!((slope - 40.0 / 190.0).abs() < 0.02, "{slope}");
    assert_eq!(slope.to_bits(), window.trend(now).to_bits());
}

//
#[test]
fn leaves_a_slope_of_less_than_ten_percent_a_minute_alone() {
    // 5 ms a bucket, mean 122.5 ms: 8 % a minute.
    let (window, now) = buckets((0..10).map(|n| 100.0 + 5.0 * f64::from(n)));
    assert_eq!(window.slope(now), 0.0);
    assert!((0.05..0.1).contains(&window.trend(now)));
}

//
#[test]
fn waits_for_three_rising_buckets() {
    let rising = |n: u32| buckets((0..n).map(|n| 100.0 + 40.0 * f64::from(n)));
    let (window, now) = rising(4);
    assert!(window.trend(now) > 0.1);
    assert_eq!(window.slope(now), 0.0);
    let (window, now) = rising(5);
    assert!(window.slope(now) > 0.1);
}

// the bucket that is still open has no say yet.
#[test]
fn looks_only_at_buckets_that_are_over() {
    let (mut window, now) = buckets((0..10).map(|_| 100.0));
    window.success(100_000.0, now);
    assert_eq!(window.trend(now), 0.0);
    assert!(window.trend(now + BUCKET) > 0.1);
}

//
#[test]
fn does_not_hold_an_old_rise_against_an_endpoint_that_is_not_asked() {
    let (mut window, now) = buckets((0..6).map(|n| 100.0 + 40.0 * f64::from(n)));
    assert!(window.slope(now + BUCKET - MOMENT) > 0.1);
    assert_eq!(window.slope(now + BUCKET), 0.0);
    window.error_free(now + BUCKET);
    assert_eq!(window.slope(now + BUCKET), 0.0);
}

#[test]
fn says_the_same_whether_or_not_an_answer_came_in_between() {
    let (window, now) = buckets((0..7).map(|n| 100.0 + 30.0 * f64::from(n)));
    let mut told = window.clone();
    told.failure(now);
    assert_eq!(window.slope(now).to_bits(), told.slope(now).to_bits());
    assert_eq!(window.trend(now).to_bits(), told.trend(now).to_bits());
    assert_eq!(window.p50(now), told.p50(now));
    assert_eq!(window.p99(now), told.p99(now));
}

#[test]
fn obeys_its_settings() {
    let settings = WindowSettings {
        bucket: Duration::from_secs(60),
        rising: 0.5,
        rising_buckets: 1,
    };
    let start = Instant::now();
    let mut window = Window::new(settings);
    // 40 ms a minute over a mean of 140 ms is less than half; a jump to 500 ms is more.
    for (n, ms) in (0_u32..).zip([100.0, 140.0, 180.0]) {
        window.success(ms, start + n * settings.bucket);
    }
    assert_eq!(window.slope(start + 3 * settings.bucket), 0.0);
    window.success(2_000.0, start + 3 * settings.bucket);
    assert!(window.slope(start + 4 * settings.bucket) > 0.5);
    assert!(window.p50(start + 9 * settings.bucket).is_some());
}

#[test]
fn names_the_setting_that_is_out_of_range() {
    let fine = WindowSettings::default();
    assert_eq!(fine.check(), Ok(()));
    let bucket = Duration::ZERO;
    assert_eq!(WindowSettings { bucket, ..fine }.check(), Err("bucket"));
    let rising = f64::NAN;
    assert_eq!(WindowSettings { rising, ..fine }.check(), Err("rising"));
    let none = WindowSettings {
        rising_buckets: 0,
        ..fine
    };
    assert_eq!(none.check(), Err("rising_buckets"));
}

proptest! {
    // The kept median against one made of everything in the window.
    #[test]
    fn keeps_a_median_close_to_the_true_one(
        steps in prop::collection::vec((0_u64..5_000, 1.0..2_000.0), 1..300),
    ) {
        let mut now = Instant::now();
        let mut window = Window::default();
        for (millis, ms) in steps {
            now += Duration::from_millis(millis);
            window.success(ms, now);
            let kept = window.p50(now).unwrap();
            let merged = window.merged(now);
            // A thirty-second part of the answers, and one, may be missing on either side.
            let low = merged.quantile(0.5 - 0.04).unwrap();
            let high = merged.quantile(0.5 + 0.04).unwrap();
            prop_assert!(low * 0.93 <= kept && kept <= high * 1.07, "{low} {kept} {high}");
        }
    }

    #[test]
    fn says_only_finite_things(
        steps in prop::collection::vec((0_u64..90_000, prop::num::f64::ANY, 0_u8..3), 0..60),
        later in 0_u64..600_000,
    ) {
        let mut now = Instant::now();
        let mut window = Window::default();
        for (millis, ms, what) in steps {
            now += Duration::from_millis(millis);
            match what {
                0 => window.success(ms, now),
                1 => window.error_free(now),
                _ => window.failure(now),
            }
        }
        for now in [now, now + Duration::from_millis(later)] {
            prop_assert!(window.slope(now).is_finite() && window.slope(now) >= 0.0);
            prop_assert!(window.trend(now).is_finite());
            prop_assert!((0.0..=1.0).contains(&window.error_rate(now)));
            for latency in [window.p50(now), window.p99(now)].into_iter().flatten() {
                prop_assert!((0.0..=131_072.0).contains(&latency));
            }
        }
    }
}
