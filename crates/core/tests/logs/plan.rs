//! A range in parts.

use highwater_core::logs::{Part, Plan, TooMany};
use proptest::prelude::*;

fn part(from: u64, to: u64) -> Part {
    Part { from, to }
}

fn all<T>(plan: &mut Plan<T>) -> Vec<Part> {
    std::iter::from_fn(|| plan.take_next()).collect()
}

// P-23, L09
#[test]
fn a_range_is_cut_without_a_gap_or_a_double() {
    let mut plan: Plan<()> = Plan::new(part(1, 250), 100, 8).unwrap();
    assert_eq!(all(&mut plan), [part(1, 50), part(51, 150), part(151, 250)]);
    assert_eq!(plan.take_next(), None);
}

// P-23
#[test]
fn the_whole_is_there_when_every_part_is() {
    let mut plan = Plan::new(part(0, 9), 5, 8).unwrap();
    let parts = all(&mut plan);
    plan.answered(parts[1], "b");
    plan.cut(parts[0], 3).unwrap();
    let parts = all(&mut plan);
    assert_eq!(parts, [part(0, 1), part(2, 4)]);
    plan.answered(parts[1], "a2");
    // A part that was cut since is nobody's.
    plan.answered(part(0, 4), "old");
    plan.answered(parts[0], "a1");
    let done = plan.finish().unwrap();
    assert_eq!(
        done,
        [(part(0, 1), "a1"), (part(2, 4), "a2"), (part(5, 9), "b")]
    );
    let mut open = Plan::new(part(0, 9), 5, 8).unwrap();
    let first = open.take_next().unwrap();
    open.answered(first, ());
    assert_eq!(open.finish(), None);
}

// P-23: a range of 2^64 blocks
#[test]
fn a_range_that_takes_too_many_requests_is_refused_at_once() {
    let whole = part(0, u64::MAX);
    assert_eq!(whole.blocks(), u64::MAX);
    for width in [0, 1, 1000, 1 << 40] {
        let plan: Result<Plan<()>, _> = Plan::new(whole, width, 256);
        assert_eq!(plan.unwrap_err(), TooMany { most: 256 });
    }
    let mut plan: Plan<()> = Plan::new(whole, 1 << 60, 16).unwrap();
    let parts = all(&mut plan);
    assert_eq!(parts.len(), 16);
    assert_eq!(parts.last().map(|part| part.to), Some(u64::MAX));
    let mut plan: Plan<()> = Plan::new(whole, u64::MAX, 2).unwrap();
    assert_eq!(all(&mut plan), [whole]);
    let mut plan: Plan<()> = Plan::new(whole, 1 << 60, 16).unwrap();
    let parts = all(&mut plan);
    // Those that were made count as well.
    assert_eq!(plan.again(parts[3]), Err(TooMany { most: 16 }));
}

proptest! {
    // P-23
    #[test]
    fn parts_cover_the_range_once_whatever_becomes_of_them(
        from in 0..1000_u64,
        blocks in 1..500_u64,
        width in 1..600_u64,
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), 1..50_u64), 0..10),
    ) {
        let range = part(from, from + blocks - 1);
        let mut plan = Plan::new(range, width, u32::MAX).unwrap();
        let mut open = all(&mut plan);
        for (which, width) in cuts {
            let cut = open.remove(which.index(open.len()));
            plan.cut(cut, width).unwrap();
            open.extend(all(&mut plan));
        }
        for part in &open {
            plan.answered(*part, *part);
        }
        let done = plan.finish().unwrap();
        let mut next = from;
        for (part, answer) in done {
            prop_assert_eq!(part, answer);
            prop_assert_eq!(part.from, next);
            next = part.to + 1;
        }
        prop_assert_eq!(next, range.to + 1);
    }
}
