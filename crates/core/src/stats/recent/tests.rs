#![expect(
    clippy::disallowed_methods,
    reason = "an instant can only be had from the clock; it is the zero of these tests"
)]

use super::*;
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);

//
#[test]
fn knows_nothing_of_an_endpoint_that_was_not_asked() {
    let recent = Recent::default();
    assert!(recent.untried(Instant::now()));
    assert!(!recent.more_good_than_bad(Instant::now()));
}

//
#[test]
fn is_healthy_with_more_successes_than_failures_and_not_with_as_many() {
    let now = Instant::now();
    let mut recent = Recent::default();
    recent.ok(now);
    assert!(recent.more_good_than_bad(now));
    recent.bad(now);
    assert!(!recent.more_good_than_bad(now));
    assert!(!recent.untried(now));
    recent.ok(now);
    assert_eq!(recent.counts(now), (2, 1));
    assert!(recent.more_good_than_bad(now));
}

//
#[test]
fn forgets_after_ten_seconds_without_being_told() {
    let start = Instant::now();
    let mut recent = Recent::default();
    recent.bad(start);
    recent.ok(start + 5 * SECOND);
    let last = start + 10 * SECOND - Duration::from_nanos(1);
    assert_eq!(recent.counts(last), (1, 1));
    assert_eq!(recent.counts(start + 10 * SECOND), (1, 0));
    assert!(recent.untried(start + 15 * SECOND));
    assert!(recent.untried(start + 1_000_000 * SECOND));
}

//
#[test]
fn keeps_another_window_where_one_is_set() {
    let start = Instant::now();
    let mut recent = Recent::over(60 * SECOND);
    recent.bad(start);
    assert_eq!(recent.counts(start + 59 * SECOND), (0, 1));
    assert_eq!(recent.counts(start + 60 * SECOND), (0, 0));
}

#[test]
fn can_be_emptied() {
    let now = Instant::now();
    let mut recent = Recent::default();
    recent.bad(now);
    recent.clear();
    assert!(recent.untried(now));
}

proptest! {
    // Against a plain list of what happened: nothing older than the window counts, and everything
    // of the last nine tenths does.
    #[test]
    fn counts_what_a_list_would_count(steps in prop::collection::vec((0_u64..4_000, any::<bool>()), 0..80)) {
        let mut now = Instant::now();
        let mut recent = Recent::default();
        let mut list = Vec::new();
        for (millis, good) in steps {
            now += Duration::from_millis(millis);
            if good { recent.ok(now) } else { recent.bad(now) }
            list.push((now, good));
            let within = |age: Duration, wanted: bool| {
                let n = list.iter().filter(|(at, good)| *good == wanted && now - *at < age).count();
                u32::try_from(n).unwrap()
            };
            let (good, bad) = recent.counts(now);
            prop_assert!(within(9 * SECOND, true) <= good && good <= within(10 * SECOND, true));
            prop_assert!(within(9 * SECOND, false) <= bad && bad <= within(10 * SECOND, false));
        }
    }
}
