//! Limits on how much a node answers.

use std::time::Duration;

use super::exchange::{Carriage, Delivery};

/// A bucket of tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    tokens: f64,
    filled: Duration,
}

impl Bucket {
    /// A full bucket.
    pub(super) fn new(burst: f64, now: Duration) -> Self {
        Self {
            tokens: burst,
            filled: now,
        }
    }

    /// Takes one token, after adding `rate` a second up to `burst`.
    pub(super) fn take(&mut self, rate: f64, burst: f64, now: Duration) -> bool {
        let passed = now.saturating_sub(self.filled).as_secs_f64();
        self.tokens = (self.tokens + passed * rate).min(burst);
        self.filled = self.filled.max(now);
        let enough = self.tokens >= 1.0;
        if enough {
            self.tokens -= 1.0;
        }
        enough
    }
}

/// Adds the header when there is a value for it.
pub(super) fn retry_after(delivery: &mut Delivery, seconds: Option<u64>) {
    if let Some(seconds) = seconds {
        let header = ("retry-after".to_owned(), seconds.to_string());
        delivery.headers.push(header);
    }
}

/// The answer to one request too many in a second.
pub(super) fn rate_limited(seconds: Option<u64>) -> Carriage {
    let body = r#"{"jsonrpc":"2.0","id":null,"error":{"code":429,"message":"rate limit exceeded, too many requests per second"}}"#;
    let mut delivery = Delivery::json(body);
    delivery.status = 429;
    retry_after(&mut delivery, seconds);
    Carriage::Answer(delivery)
}

/// The answer to one request too many in a month.
pub(super) fn quota_exhausted() -> Carriage {
    let body = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"monthly quota exceeded, upgrade your plan"}}"#;
    let mut delivery = Delivery::json(body);
    delivery.status = 402;
    Carriage::Answer(delivery)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Bucket;

    // B-2
    #[test]
    fn gives_the_burst_and_then_the_rate() {
        let mut bucket = Bucket::new(3.0, Duration::ZERO);
        let mut take = |ms| bucket.take(2.0, 3.0, Duration::from_millis(ms));
        assert_eq!(
            [take(0), take(0), take(0), take(0)],
            [true, true, true, false]
        );
        assert_eq!([take(499), take(500), take(501)], [false, true, false]);
    }
}
