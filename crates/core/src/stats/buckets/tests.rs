#![expect(
    clippy::disallowed_methods,
    reason = "an instant can only be had from the clock; it is the zero of these tests"
)]

use super::*;

const WIDTH: Duration = Duration::from_secs(30);

#[test]
fn opens_the_first_bucket_at_the_first_use() {
    let start = Instant::now();
    let mut buckets = Buckets::new(WIDTH);
    assert_eq!(buckets.passed(start), 0);
    let first = start + Duration::from_secs(1_000);
    assert_eq!(buckets.advance(first), 0);
    assert_eq!(buckets.passed(first + WIDTH - Duration::from_nanos(1)), 0);
    assert_eq!(buckets.passed(first + WIDTH), 1);
}

#[test]
fn keeps_its_boundaries_whenever_it_is_looked_at() {
    let start = Instant::now();
    let mut buckets = Buckets::new(WIDTH);
    buckets.advance(start);
    assert_eq!(buckets.advance(start + Duration::from_secs(59)), 1);
    assert_eq!(buckets.advance(start + Duration::from_secs(61)), 1);
    assert_eq!(buckets.advance(start + Duration::from_secs(61)), 0);
    assert_eq!(buckets.advance(start + Duration::from_secs(3_600)), 118);
}

#[test]
fn opens_nothing_when_the_clock_goes_back() {
    let start = Instant::now() + Duration::from_secs(60);
    let mut buckets = Buckets::new(WIDTH);
    buckets.advance(start);
    assert_eq!(buckets.advance(start - Duration::from_secs(45)), 0);
    assert_eq!(buckets.advance(start + WIDTH), 1);
}

#[test]
fn divides_by_a_width_even_where_none_was_given() {
    let start = Instant::now();
    let mut buckets = Buckets::new(Duration::ZERO);
    buckets.advance(start);
    assert_eq!(buckets.passed(start + Duration::from_millis(5)), 5);
}
