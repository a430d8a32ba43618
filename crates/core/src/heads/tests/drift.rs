use super::*;

/// A and B move a block a second; C is `behind` them. Every four seconds all are read.
fn run(bench: &mut Bench, seconds: std::ops::RangeInclusive<u64>, behind: u64) {
    for second in seconds.step_by(4) {
        bench.read(A, second * 1000, 1000 + second);
        bench.read(B, second * 1000, 1000 + second);
        bench.read(C, second * 1000, 1000 + second - behind);
    }
}

//
#[test]
fn drift_is_more_than_thirty_seconds_of_blocks_for_a_minute() {
    let mut bench = Bench::new(&[0, 1, 2]);
    run(&mut bench, 0..=56, 31);
    assert!(bench.drifted(56_000).is_empty());
    run(&mut bench, 60..=60, 31);
    assert_eq!(bench.drifted(60_000), [C]);
    assert_eq!(
        bench.heads.view(bench.at(60_000)).endpoints[2].drifting,
        Some(Duration::from_secs(60))
    );
    let mut bench = Bench::new(&[0, 1, 2]);
    run(&mut bench, 0..=120, 30);
    assert!(bench.drifted(120_000).is_empty());
}

// the larger of 10 blocks and 30 s of blocks
#[test]
fn on_a_slow_chain_ten_blocks_count() {
    for (behind, expected) in [(10, vec![]), (11, vec![C])] {
        let mut bench = Bench::with(&[0, 1, 2], |settings| {
            settings.block_time = Some(Duration::from_secs(12));
        });
        for step in 0..=7 {
            bench.read(A, step * 12_000, 1000 + step);
            bench.read(B, step * 12_000, 1000 + step);
            bench.read(C, step * 12_000, 1000 + step - behind);
        }
        assert_eq!(bench.drifted(84_000), expected);
    }
}

//
#[test]
fn a_single_good_reading_starts_the_minute_anew() {
    let mut bench = Bench::new(&[0, 1, 2]);
    run(&mut bench, 0..=40, 50);
    bench.read(C, 41_000, 1041);
    run(&mut bench, 44..=100, 50);
    assert!(bench.drifted(100_000).is_empty());
    run(&mut bench, 104..=104, 50);
    assert_eq!(bench.drifted(104_000), [C]);
    bench.read(C, 105_000, 1104);
    assert!(bench.drifted(105_000).is_empty());
}

// R-18, H04: if all stop, nobody is excluded
#[test]
fn nobody_drifts_while_the_whole_group_stands_still() {
    let mut bench = Bench::new(&[0, 1, 2]);
    run(&mut bench, 0..=20, 50);
    for second in (24..=200).step_by(4) {
        bench.read(A, second * 1000, 1020);
        bench.read(B, second * 1000, 1020);
        bench.read(C, second * 1000, 970);
        // The minute since the last block is not over at 80 s.
        let expected = if (60..=80).contains(&second) {
            vec![C]
        } else {
            vec![]
        };
        assert_eq!(bench.drifted(second * 1000), expected, "{second}");
    }
    // The chain goes on, and the one that stayed behind is out at once.
    run(&mut bench, 204..=204, 234);
    assert_eq!(bench.drifted(204_000), [C]);
}

// unknown is not behind
#[test]
fn without_readings_there_is_no_drift() {
    let mut bench = Bench::new(&[0, 1, 2]);
    run(&mut bench, 0..=20, 50);
    for second in (24..=200).step_by(4) {
        bench.read(A, second * 1000, 1000 + second);
        bench.read(B, second * 1000, 1000 + second);
    }
    assert!(bench.drifted(200_000).is_empty());
    // Its next reading starts anew.
    run(&mut bench, 204..=260, 50);
    assert!(bench.drifted(260_000).is_empty());
    run(&mut bench, 264..=264, 50);
    assert_eq!(bench.drifted(264_000), [C]);
    // With head checks off there is no drift either.
    let mut bench = Bench::with(&[0, 1, 2], |settings| settings.enabled = false);
    run(&mut bench, 0..=120, 100);
    assert!(bench.drifted(120_000).is_empty());
}
