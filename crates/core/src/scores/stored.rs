//! One book as it is stored.

use crate::stats::Book;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A restored book counts as at most so many samples (P-25).
const MOST_SAMPLES: u32 = 2;

/// Latency, tail and error of one method at one endpoint, with the samples behind each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredBook {
    /// Average latency in milliseconds.
    latency_ms: f64,
    /// Average of the slow answers in milliseconds.
    tail_ms: f64,
    /// Share of failures, 0 to 1.
    error: f64,
    /// Samples behind the latency, the tail and the error; without any a value means nothing.
    samples: [u32; 3],
    /// When a call last gave it a sample, in milliseconds since 1970.
    measured_at: u64,
}

impl StoredBook {
    /// Most bytes that one takes as JSON beside its name: the numbers have three digits after the
    /// point and at most eight before it.
    pub(super) const LONGEST: usize = 170;

    /// A book as it is stored; `None`: it says nothing, or nobody said when it was measured.
    pub(super) fn of(book: &Book) -> Option<Self> {
        let samples = book.weights();
        let [latency_ms, tail_ms, error] = book.values().map(short);
        let says_something = samples != [0, 0, 0] && book.measured_at() > 0;
        says_something.then_some(Self {
            latency_ms,
            tail_ms,
            error,
            samples,
            measured_at: book.measured_at(),
        })
    }

    /// The book that it is, as far as it can be believed (P-26).
    pub(super) fn book(&self, timeout: Duration) -> Option<Book> {
        let values = [self.latency_ms, self.tail_ms, self.error];
        if self.samples == [0, 0, 0] || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let longest = timeout.as_secs_f64() * 1e3;
        let most = [longest, longest, 1.0];
        let samples = self.samples.map(|samples| samples.min(MOST_SAMPLES));
        let mut believed = [0.0; 3];
        for (quantity, value) in believed.iter_mut().enumerate() {
            if samples[quantity] > 0 {
                *value = values[quantity].clamp(0.0, most[quantity]);
            }
        }
        Some(Book::restored(believed, samples, self.measured_at))
    }
}

/// To a thousandth: more digits say nothing and take space.
fn short(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
