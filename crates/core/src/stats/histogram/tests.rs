use super::*;
use proptest::prelude::*;

fn of(latencies: &[f64]) -> Histogram {
    let mut histogram = Histogram::default();
    for ms in latencies {
        histogram.add(*ms);
    }
    histogram
}

fn quantile(latencies: &[f64], q: f64) -> Option<f64> {
    Merged::of([of(latencies)].iter()).quantile(q)
}

#[test]
fn puts_every_bin_right_behind_the_one_before() {
    let mut end = 0.0;
    for bin in 0..BINS as u64 {
        let (low, high) = edges(bin);
        assert_eq!(low.to_bits(), f64::to_bits(end), "{bin}");
        assert!(high > low);
        assert!(
            bin < PER_OCTAVE || (high - low) / low <= 1.0 / 16.0,
            "{bin}"
        );
        assert_eq!(u64::from(bin_of(low)), bin);
        assert_eq!(u64::from(bin_of((low + high) / 2.0)), bin);
        end = high;
    }
    assert!((131_071.0..=131_073.0).contains(&end), "{end}");
}

#[test]
fn has_no_quantile_without_a_latency() {
    assert_eq!(quantile(&[], 0.5), None);
}

#[test]
fn takes_the_middle_of_the_bin_for_a_single_latency() {
    // 100 ms are 1600 units; octave 6 has bins of 64 units: 1600 to 1664, that is 100 to 104 ms.
    assert_eq!(quantile(&[100.0], 0.5), Some(102.0));
    assert_eq!(quantile(&[100.0], 0.99), Some(102.0));
}

#[test]
fn adds_histograms_up() {
    let parts = [of(&[10.0; 98]), of(&[]), of(&[1_000.0; 2])];
    let merged = Merged::of(parts.iter());
    assert!((10.0..10.5).contains(&merged.quantile(0.5).unwrap()));
    assert!((10.0..10.5).contains(&merged.quantile(0.98).unwrap()));
    assert!((992.0..1_024.0).contains(&merged.quantile(0.99).unwrap()));
}

#[test]
fn counts_anything_that_is_called_a_latency() {
    for ms in [f64::NAN, -5.0, f64::NEG_INFINITY, 0.0] {
        assert_eq!(quantile(&[ms], 0.5), Some(UNIT_MS / 2.0));
    }
    for ms in [f64::INFINITY, 1e300, 200_000.0] {
        assert!(quantile(&[ms], 0.5).unwrap() > 126_000.0);
    }
}

#[test]
fn holds_nothing_once_cleared() {
    let mut histogram = of(&[1.0, 1.0, 2.0]);
    assert_eq!(histogram.total(), 3);
    histogram.clear();
    assert_eq!(histogram.total(), 0);
    assert_eq!(Merged::of([histogram].iter()).quantile(0.5), None);
}

proptest! {
    // Against the sorted list: the answer lies in the bin of the right one.
    #[test]
    fn finds_the_latency_of_that_rank(
        mut latencies in prop::collection::vec(0.0..100_000.0, 1..200),
        q in 0.0..=1.0,
    ) {
        let found = quantile(&latencies, q).unwrap();
        latencies.sort_by(f64::total_cmp);
        let rank = ((q * latencies.len() as f64).ceil() as usize).clamp(1, latencies.len());
        let (low, high) = edges(u64::from(bin_of(latencies[rank - 1])));
        prop_assert!(low <= found && found <= high, "{low} {found} {high}");
    }
}
