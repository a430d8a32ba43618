//! Whether the median latency of bucket after bucket rises.

/// Buckets that the line is drawn through.
const POINTS: usize = 10;
/// Least number of buckets with a median that make a line.
const LEAST_POINTS: usize = 3;

/// The medians of the newest closed buckets, and for how many of them in a row the line through
/// them rose.
#[derive(Clone, Debug, Default)]
pub(super) struct Trend {
    /// Oldest first; the last one closed last.
    medians: [Option<f64>; POINTS],
    /// Change of the line per bucket, as a share of its mean height.
    change: f64,
    /// Closed buckets in a row at whose end the line rose by more than the threshold.
    risen: u32,
}

impl Trend {
    /// A bucket closed. `threshold` is the change per bucket above which it counts as rising. A
    /// bucket without a median shows no rise: it ends the row, so that an endpoint nobody asks is
    /// not held down by what it was.
    pub(super) fn close(&mut self, median: Option<f64>, threshold: f64) {
        self.medians.rotate_left(1);
        self.medians[POINTS - 1] = median;
        self.change = change_of(&self.medians);
        self.risen = if median.is_some() && self.change > threshold {
            self.risen.saturating_add(1)
        } else {
            0
        };
    }

    /// Change of the line per bucket as a share of its mean height; 0 with too few points.
    pub(super) const fn change(&self) -> f64 {
        self.change
    }

    /// The same where it has risen for at least `buckets` buckets in a row, else 0.
    pub(super) const fn rise(&self, buckets: u32) -> f64 {
        if self.risen >= buckets {
            self.change
        } else {
            0.0
        }
    }
}

/// Slope of the least-squares line through the medians, divided by their mean. Buckets without one
/// keep their place on the time axis.
fn change_of(medians: &[Option<f64>; POINTS]) -> f64 {
    let mut n = 0.0;
    let mut sum = (0.0, 0.0);
    for (x, y) in points(medians) {
        n += 1.0;
        sum.0 += x;
        sum.1 += y;
    }
    if n < LEAST_POINTS as f64 {
        return 0.0;
    }
    let mean = (sum.0 / n, sum.1 / n);
    let mut above = 0.0;
    let mut below = 0.0;
    for (x, y) in points(medians) {
        above += (x - mean.0) * (y - mean.1);
        below += (x - mean.0) * (x - mean.0);
    }
    let change = above / below / mean.1;
    if change.is_finite() { change } else { 0.0 }
}

fn points(medians: &[Option<f64>; POINTS]) -> impl Iterator<Item = (f64, f64)> {
    let places = (0_u8..).map(f64::from);
    places
        .zip(medians)
        .filter_map(|(x, median)| median.map(|y| (x, y)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(medians: impl IntoIterator<Item = Option<f64>>) -> Trend {
        let mut trend = Trend::default();
        for median in medians {
            trend.close(median, 0.05);
        }
        trend
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    // 100, 110, …, 190: 10 per bucket over a mean of 145.
    #[test]
    fn draws_the_line_of_least_squares() {
        let trend = after((0..10).map(|n| Some(100.0 + 10.0 * f64::from(n))));
        assert!(close(trend.change(), 10.0 / 145.0));
    }

    // Worked by hand: (0, 1), (1, 3), (2, 2): slope 0.5, mean 2.
    #[test]
    fn draws_a_line_through_points_that_are_not_on_one() {
        let trend = after([Some(1.0), Some(3.0), Some(2.0)]);
        assert!(close(trend.change(), 0.25));
    }

    #[test]
    fn keeps_the_place_of_a_bucket_without_a_median() {
        // (0, 100), (1, 110), (3, 130): still 10 per bucket.
        let trend = after([Some(100.0), Some(110.0), None, Some(130.0)]);
        assert!(close(trend.change(), 10.0 / (340.0 / 3.0)));
    }

    #[test]
    fn sees_no_trend_in_fewer_than_three_points() {
        assert_eq!(after([Some(1.0), Some(100.0)]).change(), 0.0);
        assert_eq!(after([]).change(), 0.0);
    }

    //
    #[test]
    fn rises_only_after_that_many_buckets_in_a_row() {
        let doubled = [100.0, 120.0, 140.0, 160.0, 180.0].map(Some);
        // The first line is drawn at the third point, the third rising one at the fifth.
        let trend = after(doubled[..4].iter().copied());
        assert!(trend.change() > 0.05);
        assert_eq!(trend.rise(3), 0.0);
        let trend = after(doubled);
        assert!(close(trend.rise(3), 20.0 / 140.0));
    }

    //
    #[test]
    fn ends_the_row_by_a_line_that_does_not_rise_and_by_an_empty_bucket() {
        let rising = [100.0, 120.0, 140.0, 160.0, 180.0].map(Some);
        let fallen = after(rising.into_iter().chain([Some(40.0)]));
        assert!(fallen.change() < 0.05);
        assert_eq!(fallen.rise(1), 0.0);
        let idle = after(rising.into_iter().chain([None]));
        assert!(idle.change() > 0.05);
        assert_eq!(idle.rise(1), 0.0);
    }

    #[test]
    fn has_no_trend_where_all_medians_are_zero() {
        assert_eq!(after([Some(0.0); 10]).change(), 0.0);
    }

    #[test]
    fn forgets_all_but_ten_buckets() {
        let long_ago = [Some(1e6); 3].into_iter();
        let trend = after(long_ago.chain([Some(50.0); 10]));
        assert!(close(trend.change(), 0.0));
    }
}
