use super::*;

//
#[test]
fn the_reference_is_the_highest_head_reached_by_two() {
    let mut bench = Bench::new(&[0, 1, 2, 3]);
    assert_eq!(bench.reference(0), None);
    bench.read(A, 0, 100);
    assert_eq!(bench.reference(0), Some(100));
    bench.read(B, 0, 105);
    assert_eq!(bench.reference(0), Some(100));
    assert_eq!(bench.standing(B, 0), Standing::Leading { lead: 5 });
    bench.read(C, 0, 103);
    assert_eq!(bench.reference(0), Some(103));
    bench.read(D, 0, 105);
    assert_eq!(bench.reference(0), Some(105));
    assert_eq!(bench.excess(A, 0), Some(3));
    assert_eq!(bench.excess(C, 0), None);
}

//
#[test]
fn a_reading_older_than_stale_stops_counting() {
    let mut bench = Bench::new(&[0, 1]);
    bench.read(A, 0, 100);
    bench.read(B, 10_000, 90);
    assert_eq!(bench.reference(10_000), Some(90));
    assert_eq!(bench.reference(30_000), Some(90));
    // Nobody has read anything, and yet the answer is another one.
    assert_eq!(bench.reference(30_001), Some(90));
    assert_eq!(bench.standing(A, 30_001), Standing::Stale);
    assert_eq!(bench.heads.head(A, bench.at(30_000)), Some(100));
    assert_eq!(bench.heads.head(A, bench.at(30_001)), None);
    assert_eq!(bench.heads.last(A), Some((100, bench.at(0))));
    assert_eq!(bench.reference(40_000), Some(90));
    assert_eq!(bench.reference(40_001), None);
    assert_eq!(bench.excess(B, 40_001), None);
    assert_eq!(bench.standing(C, 0), Standing::Unknown);
}

// carried forward to the same instant
#[test]
fn an_old_head_is_carried_forward_before_it_contradicts_a_new_one() {
    let mut bench = Bench::with(&[0, 1], |settings| {
        settings.max_ahead = 10;
        settings.block_time = Some(Duration::from_millis(100));
    });
    bench.read(A, 0, 1000);
    bench.read(B, 10_000, 1110);
    assert_eq!(bench.reference(10_000), Some(1000));
    bench.read(B, 10_000, 1111);
    assert_eq!(bench.reference(10_000), None);
    // With a pace of two blocks a second, 21 are enough.
    let mut bench = Bench::with(&[0, 1], |settings| settings.max_ahead = 1);
    bench.read(A, 0, 1000);
    bench.read(B, 10_000, 1021);
    assert_eq!(bench.reference(10_000), Some(1000));
    bench.read(B, 10_000, 1022);
    assert_eq!(bench.reference(10_000), None);
}

//
#[test]
fn lag_counts_past_max_lag_in_blocks_and_in_time() {
    let mut bench = Bench::with(&[0, 1, 2], |settings| {
        settings.block_time = Some(Duration::from_millis(250));
    });
    bench.read(A, 0, 1000);
    bench.read(B, 0, 1000);
    bench.read(C, 0, 992);
    assert_eq!(bench.standing(C, 0), Standing::Level { lag: 8 });
    assert_eq!(bench.excess(C, 0), None);
    bench.read(C, 0, 991);
    assert_eq!(bench.excess(C, 0), Some(1));
    bench.read(C, 0, 900);
    assert_eq!(bench.excess(C, 0), Some(92));
    // A second later nothing is known of the four blocks since.
    assert_eq!(bench.excess(C, 1000), Some(88));
}

//
#[test]
fn without_head_checks_nobody_lags() {
    let mut bench = Bench::with(&[0, 1, 2], |settings| settings.enabled = false);
    for (endpoint, height) in [(A, 100), (B, 100), (C, 10)] {
        bench.read(endpoint, 0, height);
    }
    assert_eq!(bench.excess(C, 0), None);
    assert_eq!(bench.standing(C, 0), Standing::Behind { lag: 90 });
}

// with three or more the majority decides
#[test]
fn the_majority_decides_where_the_chain_is() {
    let heights = |heights: &[u64]| {
        let groups: Vec<u16> = (0..=u16::MAX).take(heights.len()).collect();
        let mut bench = Bench::new(&groups);
        for (index, height) in (0..=u16::MAX).zip(heights) {
            bench.read(EndpointId(index), 0, *height);
        }
        bench.reference(0)
    };
    assert_eq!(heights(&[100, 5000, 5001]), Some(5000));
    assert_eq!(heights(&[100, 101, 5000]), Some(100));
    // Two against two: those behind, who cannot have invented blocks.
    assert_eq!(heights(&[100, 101, 5000, 5001]), Some(100));
    assert_eq!(heights(&[100, 5000, 5001, 5002]), Some(5001));
    // A second liar does not lend the first one credit.
    assert_eq!(heights(&[100, 101, 102, 5000, 9000]), Some(101));
    // Three worlds: nobody.
    assert_eq!(heights(&[100, 5000, 10_000]), None);
    assert_eq!(heights(&[u64::MAX, u64::MAX - 1, 3]), Some(u64::MAX - 1));
    assert_eq!(heights(&[u64::MAX, 5, 5]), Some(5));
}

// R-16, lessons 22: independence is by backend
#[test]
fn inside_a_group_one_rogue_does_not_speak_for_all() {
    let mut bench = Bench::new(&[0, 0, 0, 1]);
    for (endpoint, height) in [(A, 5000), (B, 101), (C, 102), (D, 101)] {
        bench.read(endpoint, 0, height);
    }
    assert_eq!(bench.reference(0), Some(101));
    assert_eq!(bench.standing(A, 0), Standing::Implausible { lead: 4899 });
    // Two that contradict each other have no voice; the rest of the pool has.
    let mut bench = Bench::new(&[0, 0, 1]);
    for (endpoint, height) in [(A, 5000), (B, 101), (C, 102)] {
        bench.read(endpoint, 0, height);
    }
    assert_eq!(bench.reference(0), Some(102));
    // All of one backend.
    let mut bench = Bench::new(&[0, 0]);
    bench.read(A, 0, 5000);
    bench.read(B, 0, 101);
    assert_eq!(bench.reference(0), None);
}

// lessons A3: unknown is not zero
#[test]
fn a_head_of_zero_counts_only_where_all_are_at_zero() {
    let mut bench = Bench::new(&[0, 1]);
    assert!(bench.read(A, 0, 0).trusted);
    assert_eq!(bench.reference(0), Some(0));
    bench.read(B, 0, 19_000_000);
    assert_eq!(bench.reference(0), Some(19_000_000));
    assert_eq!(bench.excess(A, 0), Some(18_999_998));
}

// R-16, lessons A2: a glitch has a way down
#[test]
fn the_reference_follows_the_honest_after_a_glitch() {
    let mut bench = Bench::new(&[0, 1, 2]);
    for endpoint in [A, B, C] {
        bench.read(endpoint, 0, 100);
    }
    for endpoint in [A, B] {
        bench.read(endpoint, 1000, 30_000_000);
    }
    assert_eq!(bench.reference(1000), Some(30_000_000));
    bench.read(A, 2000, 102);
    assert_eq!(bench.reference(2000), Some(100));
    assert!(bench.read(B, 2000, 102).trusted);
    assert_eq!(bench.reference(2000), Some(102));
    assert!(bench.read(A, 2100, 102).trusted);
    assert_eq!((bench.excess(A, 2100), bench.excess(C, 2100)), (None, None));
}

// R-16, P12: past `max_ahead` the mover must come from where the reference was
#[test]
fn one_that_stands_still_is_no_second_voice_however_long_it_does() {
    let mut bench = Bench::with(&[0, 1], |settings| {
        settings.block_time = Some(Duration::from_secs(1));
        settings.max_ahead = 20;
    });
    for second in 0..120 {
        bench.read(A, second * 1000, 100);
        bench.read(B, second * 1000, 100 + second);
        if second >= 5 {
            assert_eq!(bench.reference(second * 1000), Some(100 + second));
        }
    }
    // A stranger that moves wins nothing.
    let mut bench = Bench::with(&[0, 1], |settings| {
        settings.block_time = Some(Duration::from_secs(1));
        settings.max_ahead = 20;
    });
    for second in 0..120 {
        bench.read(A, second * 1000, 100);
        bench.read(B, second * 1000, 700 + second);
        assert_eq!(bench.reference(second * 1000), None);
    }
}

// two that stand still are a majority against one mover
#[test]
fn a_single_mover_does_not_overrule_two_that_agree() {
    let mut bench = Bench::new(&[0, 1, 2]);
    for second in 0..60 {
        bench.read(A, second * 1000, 100);
        bench.read(B, second * 1000, 100);
        bench.read(C, second * 1000, 100 + second);
    }
    assert_eq!(bench.reference(59_000), Some(100));
    assert_eq!(bench.standing(C, 59_000), Standing::Leading { lead: 59 });
}

//
#[test]
fn the_block_time_is_learned_from_the_reference() {
    let mut bench = Bench::with(&[0, 1], |_| {});
    assert_eq!(bench.heads.block_time(), None);
    for step in 0..4 {
        bench.read(A, step * 2000, 100 + step * 8);
        bench.read(B, step * 2000, 100 + step * 8);
    }
    assert_eq!(bench.heads.block_time(), Some(Duration::from_millis(250)));
    assert_eq!(bench.heads.view(bench.at(6000)).max_lag, 8);
}
