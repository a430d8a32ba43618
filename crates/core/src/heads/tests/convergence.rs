//! From any state, honest input converges in bounded time (R-16, lessons A2 and A6).

use super::*;
use proptest::{collection::vec, prelude::*};

#[derive(Clone, Debug)]
enum Step {
    Read {
        endpoint: u16,
        source: Source,
        height: u64,
    },
    Behind {
        endpoint: u16,
        below: u64,
    },
    Replace,
    Wait {
        millis: u64,
    },
}

const SOURCES: [Source; 5] = [
    Source::Number,
    Source::LatestBlock,
    Source::Capabilities,
    Source::Probe,
    Source::NewHeads,
];

fn height() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(u64::MAX),
        0..200_u64,
        9_900..10_200_u64,
        any::<u64>(),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..4_u16, 0..SOURCES.len(), height()).prop_map(|(endpoint, source, height)| {
            Step::Read { endpoint, source: SOURCES[source], height }
        }),
        1 => (0..4_u16, height()).prop_map(|(endpoint, below)| Step::Behind { endpoint, below }),
        1 => Just(Step::Replace),
        3 => (0..50_000_u64).prop_map(|millis| Step::Wait { millis }),
    ]
}

/// Any history.
fn disturbed(bench: &mut Bench, steps: &[Step]) -> u64 {
    let mut clock = 0;
    for step in steps {
        let now = bench.at(clock);
        match *step {
            Step::Read {
                endpoint,
                source,
                height,
            } => {
                bench
                    .heads
                    .observe(EndpointId(endpoint), source, height, now);
            }
            Step::Behind { endpoint, below } => {
                bench.heads.on_behind(EndpointId(endpoint), below, now);
            }
            Step::Replace => {
                let from = [Some(D), Some(A), Some(B), Some(C)];
                bench.heads.replace(vec![0, 1, 2, 3], &from, now);
            }
            Step::Wait { millis } => clock += millis,
        }
    }
    clock
}

/// Reads the honest at a block a second from height 10 000, a rogue fourth as `rogue` says, every
/// four seconds for `seconds`. Returns the time of the last reading and the honest head there.
fn honest(
    bench: &mut Bench,
    clock: u64,
    seconds: u64,
    sources: &[usize],
    rogue: impl Fn(u64) -> Option<u64>,
) -> (u64, u64) {
    let mut last = (clock, 10_000);
    for second in (0..=seconds).step_by(4) {
        let millis = clock + second * 1000;
        for (endpoint, source) in [A, B, C].into_iter().zip(sources) {
            bench.from(endpoint, SOURCES[*source], millis, 10_000 + second);
        }
        if let Some(height) = rogue(second) {
            bench.read(D, millis, height);
        }
        last = (millis, 10_000 + second);
    }
    last
}

proptest! {
    //
    #[test]
    fn honest_heads_are_believed_within_two_readings(
        steps in vec(step(), 0..60),
        sources in vec(0..SOURCES.len(), 3),
    ) {
        let mut bench = Bench::new(&[0, 1, 2, 3]);
        let clock = disturbed(&mut bench, &steps);
        let (millis, head) = honest(&mut bench, clock, 4, &sources, |_| None);
        prop_assert_eq!(bench.reference(millis), Some(head));
        for endpoint in [A, B, C] {
            prop_assert_eq!(bench.heads.trusted(endpoint, bench.at(millis)), Some(head));
            prop_assert_eq!(bench.excess(endpoint, millis), None);
            prop_assert_eq!(bench.holds(endpoint, head, millis), Holds::Yes);
        }
        prop_assert!(!bench.drifted(millis).iter().any(|id| [A, B, C].contains(id)));
    }

    // one rogue of four, whatever it says, does not keep the honest from converging
    #[test]
    fn a_rogue_does_not_delay_them(
        steps in vec(step(), 0..60),
        sources in vec(0..SOURCES.len(), 3),
        claims in vec(height(), 4),
    ) {
        let mut bench = Bench::new(&[0, 1, 2, 3]);
        let clock = disturbed(&mut bench, &steps);
        let rogue = |second: u64| claims.get(usize::try_from(second / 4).unwrap() % 4).copied();
        let (millis, head) = honest(&mut bench, clock, 8, &sources, rogue);
        prop_assert_eq!(bench.reference(millis), Some(head));
        for endpoint in [A, B, C] {
            prop_assert_eq!(bench.heads.trusted(endpoint, bench.at(millis)), Some(head));
            prop_assert_eq!(bench.excess(endpoint, millis), None);
        }
    }

    // the measured block time converges too
    #[test]
    fn the_block_time_is_right_after_a_minute(
        steps in vec(step(), 0..60),
    ) {
        let mut bench = Bench::new(&[0, 1, 2, 3]);
        let clock = disturbed(&mut bench, &steps);
        honest(&mut bench, clock, 60, &[0, 1, 3], |_| None);
        prop_assert_eq!(bench.heads.block_time(), Some(Duration::from_secs(1)));
    }

    // a pool of two
    #[test]
    fn two_honest_ones_agree_within_two_readings(
        steps in vec(step(), 0..60),
    ) {
        let mut bench = Bench::new(&[0, 1]);
        let clock = disturbed(&mut bench, &steps);
        let now = bench.at(clock);
        bench.heads.replace(vec![0, 1], &[Some(A), Some(B)], now);
        let (millis, head) = honest(&mut bench, clock, 4, &[0, 3], |_| None);
        prop_assert_eq!(bench.reference(millis), Some(head));
    }

    // alone, the fall to a lower block is accepted after two drift windows
    #[test]
    fn a_single_endpoint_is_believed_in_the_end(
        steps in vec(step(), 0..60),
        source in 0..SOURCES.len(),
    ) {
        let mut bench = Bench::new(&[0, 1, 2, 3]);
        let clock = disturbed(&mut bench, &steps);
        let now = bench.at(clock);
        bench.heads.replace(vec![0], &[Some(A)], now);
        let (millis, head) = honest(&mut bench, clock, 124, &[source], |_| None);
        prop_assert_eq!(bench.reference(millis), Some(head));
        prop_assert_eq!(bench.heads.trusted(A, bench.at(millis)), Some(head));
    }

    // the cached reference is the one that would be computed
    #[test]
    fn a_reference_does_not_depend_on_when_it_is_asked(steps in vec(step(), 0..60)) {
        let mut bench = Bench::new(&[0, 1, 2, 3]);
        let clock = disturbed(&mut bench, &steps);
        for wait in [0, 1, 15_000, 29_999, 30_000, 30_001, 60_000, 120_000, 200_000] {
            let now = bench.at(clock + wait);
            prop_assert_eq!(bench.heads.current(now), bench.heads.weigh(now).0);
            let mut refreshed = bench.heads.clone();
            refreshed.refresh(now);
            prop_assert_eq!(refreshed.current(now), bench.heads.current(now));
            prop_assert!(refreshed.expires.is_none_or(|expires| expires >= now));
        }
    }
}
