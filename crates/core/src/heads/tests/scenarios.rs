use super::*;

// R-16, P09
#[test]
fn a_liar_ahead_defines_no_head_and_lags_by_as_much_as_it_leads() {
    let mut bench = Bench::new(&[0, 1, 2]);
    assert!(bench.read(A, 0, 100).trusted);
    assert!(bench.read(B, 0, 101).trusted);
    let liar = bench.read(C, 0, 5000);
    assert!(!liar.trusted && liar.head_event && !liar.moved);
    assert_eq!(bench.reference(0), Some(100));
    assert_eq!(bench.standing(C, 0), Standing::Implausible { lead: 4900 });
    assert_eq!(bench.excess(C, 0), Some(4898));
    assert_eq!(bench.standing(B, 0), Standing::Leading { lead: 1 });
    assert_eq!((bench.excess(A, 0), bench.excess(B, 0)), (None, None));
    assert_eq!(bench.heads.trusted(B, bench.at(0)), Some(101));
    assert_eq!(bench.heads.trusted(C, bench.at(0)), None);
    // What it claims to hold counts for nothing.
    assert_eq!(bench.holds(C, 101, 0), Holds::Unknown);
    assert_eq!(bench.holds(B, 101, 0), Holds::Yes);
    // The order in which they are heard does not matter.
    let mut bench = Bench::new(&[0, 1, 2]);
    assert!(bench.read(C, 0, 5000).trusted);
    assert!(!bench.read(A, 0, 100).trusted);
    assert!(bench.read(B, 0, 101).trusted);
    assert_eq!(bench.reference(0), Some(100));
    assert!(!bench.read(C, 0, 5000).trusted);
}

// R-16, P10
#[test]
fn of_two_that_disagree_neither_is_believed_and_nobody_pays() {
    let mut bench = Bench::new(&[0, 1, 2]);
    bench.read(A, 0, 100);
    let second = bench.read(B, 0, 5000);
    assert!(!second.trusted && second.head_event);
    assert_eq!(bench.reference(0), None);
    assert_eq!((bench.excess(A, 0), bench.excess(B, 0)), (None, None));
    assert_eq!(bench.standing(A, 0), Standing::NoReference);
    // Told once, not at every reading.
    let again = bench.read(A, 100, 100);
    assert!(!again.trusted && again.head_event);
    assert!(!bench.read(A, 200, 100).head_event);
    // Until a third arrives.
    assert!(bench.read(C, 300, 5001).trusted);
    assert_eq!(bench.reference(300), Some(5000));
    assert_eq!(bench.standing(A, 300), Standing::Behind { lag: 4900 });
}

// R-16, P11
#[test]
fn a_shared_backend_is_one_voice_and_outvotes_nobody() {
    let mut bench = Bench::with(&[7, 7, 8], |settings| settings.max_ahead = 20);
    bench.read(A, 0, 90);
    bench.read(B, 0, 90);
    assert_eq!(bench.reference(0), Some(90));
    bench.read(C, 0, 140);
    assert_eq!(bench.reference(0), None);
    assert_eq!((bench.excess(A, 0), bench.excess(C, 0)), (None, None));
    // As three backends, two are a majority.
    let mut bench = Bench::with(&[0, 1, 2], |settings| settings.max_ahead = 20);
    for (endpoint, height) in [(A, 90), (B, 90), (C, 140)] {
        bench.read(endpoint, 0, height);
    }
    assert_eq!(bench.reference(0), Some(90));
    assert_eq!(bench.excess(C, 0), Some(48));
}

// P12
#[test]
fn a_stuck_node_is_behind_though_it_answers_without_error() {
    let mut bench = Bench::new(&[0, 1]);
    bench.read(A, 0, 100);
    bench.read(B, 0, 100);
    bench.read(A, 4000, 100);
    bench.read(A, 8000, 100);
    assert!(bench.read(B, 10_000, 110).moved);
    assert_eq!(bench.reference(10_000), Some(110));
    // Two seconds since it was asked are not held against it.
    assert_eq!(bench.standing(A, 10_000), Standing::Behind { lag: 8 });
    assert_eq!(bench.excess(A, 10_000), Some(6));
    bench.read(A, 10_000, 100);
    assert_eq!(bench.excess(A, 10_000), Some(8));
    assert!(bench.drifted(10_000).is_empty());
}

// P13
#[test]
fn an_idle_chain_is_not_stuck() {
    let mut bench = Bench::new(&[0, 1]);
    for millis in (0..=200_000).step_by(4000) {
        bench.read(A, millis, 50);
        bench.read(B, millis + 1000, 50);
    }
    assert_eq!(bench.reference(202_000), Some(50));
    assert_eq!(
        (bench.excess(A, 202_000), bench.excess(B, 202_000)),
        (None, None)
    );
    assert!(bench.drifted(202_000).is_empty());
    // One reading is older than the other by most of `stale`: still nobody is late.
    bench.read(B, 229_000, 50);
    assert_eq!(
        (bench.excess(A, 229_000), bench.excess(B, 229_000)),
        (None, None)
    );
}

// semantics H37, P21
#[test]
fn a_head_that_falls_to_the_first_block_is_lag_and_has_no_voice() {
    let mut bench = Bench::new(&[0, 1]);
    bench.read(A, 0, 100);
    bench.read(B, 0, 101);
    let fallen = bench.from(A, Source::LatestBlock, 1000, 0);
    assert!(!fallen.trusted && fallen.head_event);
    assert_eq!(bench.reference(1000), Some(101));
    assert_eq!(bench.excess(A, 1000), Some(99));
    assert_eq!(bench.holds(A, 100, 1000), Holds::No);
    // The same where it has come as far as block 30, and with `eth_blockNumber`.
    bench.from(A, Source::Number, 2000, 30);
    assert_eq!(bench.reference(2000), Some(101));
    assert!(bench.heads.view(bench.at(2000)).endpoints[0].fallen);
    // It has caught up.
    assert!(bench.read(A, 3000, 102).trusted);
    assert!(!bench.heads.view(bench.at(3000)).endpoints[0].fallen);
    assert_eq!(bench.reference(3000), Some(101));
}

// semantics H37, P21
#[test]
fn alone_it_falls_only_on_its_own_word_and_not_on_a_block() {
    let mut bench = Bench::new(&[0]);
    bench.read(A, 0, 5000);
    assert!(!bench.from(A, Source::LatestBlock, 1000, 0).trusted);
    assert_eq!(bench.reference(1000), None);
    // A local chain that was put back: its own number says so.
    assert!(bench.from(A, Source::Number, 2000, 20).trusted);
    assert_eq!(bench.reference(2000), Some(20));
    // A block at `latest` that stays low is believed in the end.
    bench.read(A, 3000, 5000);
    assert!(!bench.from(A, Source::LatestBlock, 4000, 7).trusted);
    for millis in (8000..=120_000).step_by(4000) {
        assert!(!bench.from(A, Source::LatestBlock, millis, 7).trusted);
    }
    assert!(bench.from(A, Source::LatestBlock, 124_000, 7).trusted);
    assert_eq!(bench.reference(124_000), Some(7));
}
