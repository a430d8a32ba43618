use super::*;

// P-1, P-3: heads only go up
#[test]
fn what_was_read_stays_held_when_the_reading_is_old() {
    let mut bench = Bench::new(&[0, 1]);
    assert_eq!(bench.holds(A, 1, 0), Holds::Unknown);
    bench.read(A, 0, 100);
    assert_eq!(bench.holds(A, 100, 0), Holds::Yes);
    assert_eq!(bench.holds(A, 101, 0), Holds::No);
    assert_eq!(bench.holds(A, 100, 3_600_000), Holds::Yes);
    assert_eq!(bench.holds(A, 101, 3_600_000), Holds::Unknown);
    assert_eq!(bench.holds(EndpointId(9), 1, 0), Holds::Unknown);
}

// lessons A9: no gate on a head older than a block time
#[test]
fn a_block_that_may_be_there_by_now_is_worth_a_try() {
    let mut bench = Bench::new(&[0]);
    bench.read(A, 0, 100);
    assert_eq!(bench.holds(A, 101, 999), Holds::No);
    assert_eq!(bench.holds(A, 101, 1000), Holds::Unknown);
    assert_eq!(bench.holds(A, 102, 1000), Holds::No);
}

// lessons P1: how long a block is worth waiting for
#[test]
fn a_block_is_out_of_reach_that_the_chain_cannot_make_in_time() {
    let mut bench = Bench::new(&[0, 1]);
    let reach = |bench: &Bench, height, end, now| {
        bench.heads.may_reach(height, bench.at(end), bench.at(now))
    };
    // Nobody knows where the chain is.
    assert!(reach(&bench, 1_000_000, 0, 0));
    bench.read(A, 0, 100);
    bench.read(B, 0, 99);
    // The next block may come at any moment, each further one a second later.
    for (height, end, now, may) in [
        (100, 0, 0, true),
        (101, 999, 0, false),
        (100, 999, 0, true),
        (101, 1000, 0, true),
        (109, 8999, 0, false),
        (109, 9000, 0, true),
        (u64::MAX, 9000, 0, false),
        // What was read a while ago has moved on since.
        (109, 9000, 8000, true),
        (110, 9000, 8000, false),
        // A reading that is too old says nothing.
        (1_000_000, 40_000, 31_000, true),
    ] {
        assert_eq!(reach(&bench, height, end, now), may, "{height} {end} {now}");
    }
}

// "behind" is lag
#[test]
fn a_behind_answer_lowers_what_is_known() {
    let mut bench = Bench::new(&[0, 1]);
    bench.read(A, 0, 110);
    bench.read(B, 0, 110);
    let now = bench.at(1000);
    assert!(bench.heads.on_behind(A, 108, now));
    assert_eq!(bench.heads.head(A, now), Some(107));
    assert_eq!(bench.holds(A, 108, 1999), Holds::No);
    assert_eq!(bench.holds(A, 107, 1999), Holds::Yes);
    assert_eq!(bench.reference(1000), Some(107));
    // A caller who asks a moment too early must not make the block unreadable when it is there.
    assert_eq!(bench.holds(A, 108, 2000), Holds::Unknown);
    assert_eq!(bench.holds(A, 110, 3999), Holds::No);
    assert_eq!(bench.holds(A, 110, 4000), Holds::Unknown);
    // The next reading says better.
    bench.read(A, 4000, 114);
    assert_eq!(bench.holds(A, 110, 4000), Holds::Yes);
    // Of an endpoint without a reading it is all that is known; a request for a block of the far
    // future adds nothing.
    let mut bench = Bench::new(&[0]);
    let (early, late) = (bench.at(0), bench.at(20_000));
    assert!(bench.heads.on_behind(A, 50, early));
    assert!(bench.heads.on_behind(A, 1_000_000, late));
    assert_eq!(bench.holds(A, 50, 999), Holds::No);
    assert_eq!(bench.holds(A, 49, 999), Holds::Unknown);
    assert_eq!(bench.holds(A, 50, 1000), Holds::Unknown);
    assert_eq!(bench.holds(A, 80, 30_000), Holds::No);
    assert_eq!(bench.holds(A, 80, 30_001), Holds::Unknown);
    assert_eq!(bench.reference(20_000), None);
}

// a caller steers no endpoint's standing
#[test]
fn behind_for_an_old_block_is_a_gap_and_no_lag() {
    let mut bench = Bench::new(&[0, 1]);
    bench.read(A, 0, 1000);
    bench.read(B, 0, 1000);
    let now = bench.at(0);
    // 30 blocks are 30 seconds here.
    assert!(!bench.heads.on_behind(A, 969, now));
    assert!(!bench.heads.on_behind(A, 0, now));
    assert!(!bench.heads.on_behind(EndpointId(9), 5, now));
    assert_eq!(bench.heads.head(A, now), Some(1000));
    assert!(bench.heads.on_behind(A, 970, now));
    assert_eq!(bench.heads.head(A, now), Some(969));
}

#[test]
fn endpoints_keep_what_is_known_of_them_when_the_list_changes() {
    let mut bench = Bench::new(&[0, 1, 2]);
    for (endpoint, height) in [(A, 100), (B, 101), (C, 102)] {
        bench.read(endpoint, 0, height);
    }
    let now = bench.at(1000);
    bench
        .heads
        .replace(vec![5, 6, 7, 8], &[Some(C), None, Some(A), Some(D)], now);
    assert_eq!(bench.heads.head(A, now), Some(102));
    assert_eq!(bench.heads.head(B, now), None);
    assert_eq!(bench.heads.head(C, now), Some(100));
    assert_eq!(bench.heads.head(D, now), None);
    assert_eq!(bench.reference(1000), Some(100));
    // Of what is gone nothing votes any more.
    bench.heads.replace(vec![5], &[Some(A)], now);
    assert_eq!(bench.reference(1000), Some(102));
}

//
#[test]
fn the_view_says_what_is_known() {
    let mut bench = Bench::new(&[0, 1, 2]);
    bench.from(A, Source::NewHeads, 0, 100);
    bench.from(B, Source::Number, 1000, 97);
    let view = bench.heads.view(bench.at(2000));
    assert_eq!((view.reference, view.max_lag), (Some(97), 2));
    assert_eq!(view.block_time, Some(Duration::from_secs(1)));
    let unknown = HeadView {
        height: None,
        age: None,
        source: None,
        standing: Standing::Unknown,
        fallen: false,
        drifting: None,
    };
    let first = HeadView {
        height: Some(100),
        age: Some(Duration::from_secs(2)),
        source: Some(Source::NewHeads),
        standing: Standing::Leading { lead: 3 },
        ..unknown
    };
    let second = HeadView {
        height: Some(97),
        age: Some(Duration::from_secs(1)),
        source: Some(Source::Number),
        standing: Standing::Level { lag: 0 },
        ..unknown
    };
    assert_eq!(view.endpoints, [first, second, unknown]);
}
