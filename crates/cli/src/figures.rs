//! Figures as people read them.

/// A part of a whole in percent, rounded down, so that 100 % means all.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    let thousandths = u128::from(part) * 100_000;
    match thousandths.checked_div(u128::from(whole)) {
        Some(thousandths) => format!("{}.{:03} %", thousandths / 1_000, thousandths % 1_000),
        None => "-".to_owned(),
    }
}

/// A ratio with two decimals.
pub(crate) fn ratio(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{:.2}", part as f64 / whole as f64)
}

/// Microseconds as milliseconds with one decimal.
pub(crate) fn milliseconds(micros: u32) -> String {
    format!("{:.1}", f64::from(micros) / 1_000.0)
}

/// The value that `percent` of all are not above, of sorted values; 0 where there are none.
pub(crate) fn percentile(sorted: &[u32], percent: usize) -> u32 {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted
        .get(rank.saturating_sub(1))
        .copied()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{milliseconds, percent, percentile, ratio};

    #[test]
    fn a_percentage_is_never_rounded_up() {
        assert_eq!(percent(99_999, 100_000), "99.999 %");
        assert_eq!(percent(999_999, 1_000_000), "99.999 %");
        assert_eq!(percent(5, 5), "100.000 %");
        assert_eq!(percent(1, 3), "33.333 %");
        assert_eq!(percent(0, 0), "-");
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let hundred: Vec<u32> = (1..=100).collect();
        assert_eq!(
            [50, 99, 100].map(|p| percentile(&hundred, p)),
            [50, 99, 100]
        );
        assert_eq!([50, 99].map(|p| percentile(&[7], p)), [7, 7]);
        assert_eq!(percentile(&[], 50), 0);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(milliseconds(12_345), "12.3");
        assert_eq!((ratio(7, 4), ratio(0, 0)), ("1.75".into(), "-".into()));
    }
}
