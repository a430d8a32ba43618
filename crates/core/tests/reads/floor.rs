use super::{millis, now, origin};
use highwater_core::{
    floor::{Dropped, Falls, Mark, Marks, RESTORED_FOR, Reference, Saved, floor, least_head},
    method::Tag,
};
use proptest::prelude::*;
use std::time::{Duration, SystemTime};

const STALE: Duration = Duration::from_secs(30);

fn reference(height: u64) -> Option<Reference> {
    Some(Reference {
        height,
        majority: true,
        max_lag: 2,
    })
}

fn saved(height: u64, at: SystemTime) -> Saved {
    Saved { height, at }
}

// P-8, P-9, scenario P19
#[test]
fn a_mark_rises_and_the_floor_is_the_highest_mark() {
    let (falls, start) = (Falls::default(), origin());
    let (key, session) = (Mark::new(start), Mark::new(start));
    assert_eq!(floor([&key, &session], None, &falls, start), None);
    assert!(key.raise(100, None, &falls));
    assert!(session.raise(105, None, &falls));
    assert!(session.raise(103, None, &falls));
    assert_eq!(session.get(&falls, start), Some(105));
    assert_eq!(floor([&key], None, &falls, start), Some(100));
    assert_eq!(floor([&key, &session], None, &falls, start), Some(105));
}

// P-2, P-8, R-16
#[test]
fn a_mark_from_before_any_head_was_known_binds_nothing_while_nobody_can_be_there() {
    let (falls, start) = (Falls::default(), origin());
    let (lie, true_one) = (Mark::new(start), Mark::new(start));
    assert!(lie.raise(1_000_000, None, &falls));
    assert!(true_one.raise(105, None, &falls));
    let both = [&lie, &true_one];
    assert_eq!(floor(both, Some(1100), &falls, start), Some(105));
    assert_eq!(floor(both, Some(104), &falls, start), None);
    assert_eq!(floor(both, Some(1_000_000), &falls, start), Some(1_000_000));
}

// P-8: an outage that ended does not shorten the next one.
#[test]
fn the_way_down_begins_only_where_the_endpoints_are_below() {
    let (falls, start) = (Falls::default(), origin());
    let mark = Mark::new(start);
    mark.raise(105, None, &falls);
    let unserved = |head, at| mark.unserved(reference(head), STALE, &falls, at);
    // They are at 105: what was not served was something else.
    assert_eq!(unserved(105, start), None);
    assert_eq!(unserved(103, start + STALE), None);
    // And there again in between.
    assert_eq!(unserved(105, start + STALE + STALE / 2), None);
    assert_eq!(unserved(103, start + STALE * 2), None);
    assert_eq!(
        unserved(103, start + STALE * 3),
        Some(Dropped { from: 105, to: 103 })
    );
}

// P-8, R-16
#[test]
fn a_height_that_no_head_supports_raises_nothing() {
    let (falls, start) = (Falls::default(), origin());
    let mark = Mark::new(start);
    assert!(!mark.raise(1102, Some(1101), &falls));
    assert!(!mark.raise(u64::MAX, None, &falls));
    assert_eq!(mark.get(&falls, start), None);
    assert!(mark.raise(1101, Some(1101), &falls));
    assert_eq!(mark.get(&falls, start), Some(1101));
}

// P-8
#[test]
fn the_tolerance_is_max_lag_only_where_a_call_is_about_no_block() {
    assert_eq!(least_head(105, true, 2), 105);
    assert_eq!(least_head(105, false, 2), 103);
    assert_eq!(least_head(1, false, 2), 0);
}

// P-8
#[test]
fn a_mark_that_nobody_serves_for_stale_drops_to_the_reference() {
    let (falls, start) = (Falls::default(), origin());
    let mark = Mark::new(start);
    let at = |ms| start + millis(ms);
    mark.raise(105, None, &falls);
    let unserved = |ms, height| mark.unserved(reference(height), STALE, &falls, at(ms));
    assert_eq!(unserved(0, 100), None);
    assert_eq!(unserved(29_999, 100), None);
    // Served once in between: the time begins anew.
    mark.served();
    assert_eq!(unserved(30_000, 100), None);
    assert_eq!(unserved(59_999, 100), None);
    assert_eq!(mark.get(&falls, at(59_999)), Some(105));
    assert_eq!(unserved(60_000, 101), Some(Dropped { from: 105, to: 101 }));
    assert_eq!(mark.get(&falls, at(60_000)), Some(101));
    // The reference is above it: others serve it, only not for this call.
    assert_eq!(unserved(60_001, 110), None);
    assert_eq!(unserved(95_000, 110), None);
    assert_eq!(mark.get(&falls, at(95_000)), Some(101));
    // Without a reference there is nowhere to drop to.
    assert_eq!(mark.unserved(None, STALE, &falls, at(200_000)), None);
    assert_eq!(mark.get(&falls, at(200_000)), Some(101));
}

// P-8: a call that sees a higher block is a sign that somebody serves it
#[test]
fn a_rise_begins_the_time_anew() {
    let (falls, start) = (Falls::default(), origin());
    let mark = Mark::new(start);
    mark.raise(105, None, &falls);
    mark.unserved(reference(100), STALE, &falls, start);
    mark.raise(106, None, &falls);
    let late = start + STALE;
    assert_eq!(mark.unserved(reference(100), STALE, &falls, late), None);
    assert_eq!(mark.get(&falls, late), Some(106));
}

// P-8: a majority's new chain
#[test]
fn a_fall_of_the_chain_lowers_every_mark_that_was_set_before_it() {
    let (falls, start) = (Falls::default(), origin());
    let (high, low) = (Mark::new(start), Mark::new(start));
    high.raise(105, None, &falls);
    low.raise(90, None, &falls);
    falls.fall(100);
    assert_eq!(high.get(&falls, start), Some(100));
    assert_eq!(low.get(&falls, start), Some(90));
    high.raise(103, None, &falls);
    assert_eq!(high.get(&falls, start), Some(103));
    low.raise(80, None, &falls);
    assert_eq!(low.get(&falls, start), Some(90));
    // The last fall counts for whoever missed one.
    falls.fall(95);
    falls.fall(101);
    assert_eq!(high.get(&falls, start), Some(101));
}

// P-8, lessons A6
#[test]
fn a_restored_mark_counts_for_a_minute_and_not_against_a_majority() {
    let (falls, start) = (Falls::default(), origin());
    let at = |ms| now(start, ms);
    let mark = Mark::new(start);
    assert!(mark.restore(saved(105, at(0).wall), None, &falls, at(20_000)));
    assert_eq!(mark.get(&falls, at(59_999).mono), Some(105));
    assert_eq!(mark.get(&falls, at(60_000).mono), None);
    assert_eq!(mark.save(&falls, at(20_000)), None, "it would never expire");

    let mark = Mark::new(start);
    assert!(!mark.restore(saved(105, at(0).wall), None, &falls, at(60_000)));
    assert!(
        !mark.restore(saved(105, at(1).wall), None, &falls, at(0)),
        "from the future"
    );
    assert!(!mark.restore(saved(9000, at(0).wall), Some(1100), &falls, at(0)));
    assert_eq!(mark.get(&falls, at(0).mono), None);

    // One block above the majority is what another process has seen.
    assert!(mark.restore(saved(105, at(0).wall), None, &falls, at(0)));
    assert_eq!(
        mark.unserved(reference(103), STALE, &falls, at(0).mono),
        None
    );
    assert_eq!(mark.get(&falls, at(0).mono), Some(105));
    // Far above it, it is wrong; one voice alone does not say so.
    let alone = Reference {
        height: 90,
        majority: false,
        max_lag: 2,
    };
    assert_eq!(mark.unserved(Some(alone), STALE, &falls, at(1).mono), None);
    let dropped = mark.unserved(reference(90), STALE, &falls, at(2).mono);
    assert_eq!(dropped, Some(Dropped { from: 105, to: 90 }));
    assert_eq!(mark.get(&falls, at(2).mono), Some(90));

    // An older one never takes the place of a higher one that still counts.
    assert!(mark.restore(saved(120, at(10).wall), None, &falls, at(10)));
    assert!(mark.restore(saved(110, at(50_000).wall), None, &falls, at(50_000)));
    assert_eq!(mark.get(&falls, at(60_009).mono), Some(120));
    assert_eq!(mark.get(&falls, at(60_010).mono), None);
    assert_eq!(RESTORED_FOR, Duration::from_secs(60));
}

// P-8: what was seen here is saved
#[test]
fn a_mark_is_saved_with_the_time() {
    let (falls, start) = (Falls::default(), origin());
    let mark = Mark::new(start);
    mark.raise(105, None, &falls);
    let at = now(start, 7);
    assert_eq!(mark.save(&falls, at), Some(saved(105, at.wall)));
}

// P-7, scenarios P14, P16
#[test]
fn safe_and_finalized_have_marks_of_their_own() {
    let (falls, start) = (Falls::default(), origin());
    let marks = Marks::new(start);
    marks.of(Tag::Finalized).unwrap().raise(80, None, &falls);
    marks.of(Tag::Safe).unwrap().raise(95, None, &falls);
    assert_eq!(marks.finalized.get(&falls, start), Some(80));
    assert_eq!(marks.safe.get(&falls, start), Some(95));
    assert_eq!(marks.latest.get(&falls, start), None);
    assert!(marks.of(Tag::Pending).is_none() && marks.of(Tag::Earliest).is_none());
    // A watermark has a way down too: the best that was answered for `stale`.
    let best = |height| {
        Some(Reference {
            height,
            majority: false,
            max_lag: 0,
        })
    };
    assert_eq!(
        marks.finalized.unserved(best(79), STALE, &falls, start),
        None
    );
    let dropped = marks
        .finalized
        .unserved(best(79), STALE, &falls, start + STALE);
    assert_eq!(dropped, Some(Dropped { from: 80, to: 79 }));
}

#[derive(Clone, Debug)]
enum Step {
    Raise(u64, Option<u64>),
    Fall(u64),
    Served,
    Unserved(Option<u64>),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (90_u64..120, prop::option::of(90_u64..120)).prop_map(|(h, b)| Step::Raise(h, b)),
        (90_u64..120).prop_map(Step::Fall),
        Just(Step::Served),
        prop::option::of(90_u64..120).prop_map(Step::Unserved),
        (0_u64..40_000).prop_map(Step::Wait),
    ]
}

proptest! {
    // P-8: a floor goes down in the stated ways only, and then to the stated height
    #[test]
    fn a_floor_never_decreases_except_by_its_way_down(steps in prop::collection::vec(step(), 0..100)) {
        let (falls, start) = (Falls::default(), origin());
        let mark = Mark::new(start);
        let mut at = start;
        let mut since = None;
        let mut expected = 0;
        for step in steps {
            match step {
                Step::Raise(height, bound) => {
                    let believed = bound.is_none_or(|bound| height <= bound);
                    prop_assert_eq!(mark.raise(height, bound, &falls), believed);
                    // a mark that is not believed any more does not keep others from binding.
                    let binds = bound.is_none_or(|bound| expected <= bound);
                    if believed && (height > expected || !binds) {
                        expected = height;
                        since = None;
                    }
                }
                Step::Fall(to) => {
                    falls.fall(to);
                    expected = expected.min(to);
                }
                Step::Served => {
                    mark.served();
                    since = None;
                }
                Step::Unserved(to) => {
                    let first = *since.get_or_insert(at);
                    let due = at - first >= STALE;
                    let dropped = mark.unserved(to.and_then(reference), STALE, &falls, at);
                    match to {
                        // The endpoints are there: nothing is on its way down.
                        Some(to) if expected <= to => {
                            prop_assert_eq!(dropped, None);
                            since = None;
                        }
                        Some(to) if due => {
                            let lower = expected.min(to);
                            let from = expected;
                            prop_assert_eq!(dropped, (lower < from).then_some(Dropped { from, to: lower }));
                            expected = lower;
                            since = None;
                        }
                        _ => prop_assert_eq!(dropped, None),
                    }
                }
                Step::Wait(ms) => at += millis(ms),
            }
            prop_assert_eq!(mark.get(&falls, at).unwrap_or(0), expected);
        }
    }
}
