//! One book for the endpoint, one per method, and how they are blended.

use super::{Book, BookSettings};
use crate::{method::MethodId, score::ScoreSettings, scores::millis};
use std::time::SystemTime;

/// All books of one endpoint.
#[derive(Clone, Debug, Default)]
pub struct Books {
    settings: BookSettings,
    /// The moment of the samples that are recorded, in milliseconds since 1970; 0: not said.
    at: u64,
    global: Book,
    /// By method number. A method gets its book with its first answer; there are as many as the
    /// method table has rows, whatever names callers make up.
    methods: Vec<(MethodId, Book)>,
}

/// What is expected of one method at one endpoint: the method's own book as far as it has samples,
/// then the endpoint's, then the prior. Every number is finite and not negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blended {
    /// Average latency in milliseconds.
    pub latency_ms: f64,
    /// Average of the slow answers in milliseconds.
    pub tail_ms: f64,
    /// Share of failures, 0 to 1.
    pub error: f64,
    /// Successes of this very method behind the latency; 0 means that it is cold. Those from before a
    /// restart do not count: they never set a hedge delay (P-25).
    pub samples: u32,
}

impl Books {
    /// Empty books.
    #[must_use]
    pub const fn new(settings: BookSettings) -> Self {
        Self {
            settings,
            at: 0,
            global: Book::EMPTY,
            methods: Vec::new(),
        }
    }

    /// Other numbers from now on; what was measured stays.
    pub const fn set_settings(&mut self, settings: BookSettings) {
        self.settings = settings;
    }

    /// What is recorded next is of this moment.
    pub fn at(&mut self, wall: SystemTime) -> &mut Self {
        self.at = millis(wall);
        self
    }

    /// A healthy answer after `ms` milliseconds, terminal errors such as reverts included.
    pub fn record_success(&mut self, method: MethodId, ms: f64) {
        self.record(method, |book, settings| book.success(ms, settings));
    }

    /// A healthy answer whose latency must stay out of the books: an `absent` null that took long
    /// because the endpoint searched for what nobody has.
    pub fn record_error_free(&mut self, method: MethodId) {
        self.record(method, Book::answered);
    }

    /// An endpoint failure that came back before the timeout.
    pub fn record_failure(&mut self, method: MethodId) {
        self.record(method, Book::failure);
    }

    /// No answer within `at_ms` milliseconds.
    pub fn record_timeout(&mut self, method: MethodId, at_ms: f64) {
        self.record(method, |book, settings| book.timeout(at_ms, settings));
    }

    /// A head probe worked: all books forgive a bit. Not only the endpoint's own, or a method
    /// whose last answers failed would be held against it for as long as it is asked for nothing.
    pub fn cool(&mut self) {
        self.global.cool(&self.settings);
        for (_, book) in &mut self.methods {
            book.cool(&self.settings);
        }
    }

    /// A head probe failed after `at_ms` milliseconds: the endpoint's tail is pushed.
    pub fn push_tail(&mut self, at_ms: f64) {
        self.global.push_tail(at_ms, &self.settings);
    }

    /// The book over all methods.
    #[must_use]
    pub const fn global(&self) -> &Book {
        &self.global
    }

    /// The book of one method, where it has one.
    #[must_use]
    pub fn method(&self, method: MethodId) -> Option<&Book> {
        let at = self.find(method).ok()?;
        Some(&self.methods[at].1)
    }

    /// The books of all methods that were answered or failed, by method number.
    pub fn methods(&self) -> impl Iterator<Item = (MethodId, &Book)> {
        self.methods.iter().map(|(method, book)| (*method, book))
    }

    /// What is expected of a method here: `w·method + (1−w)·(wg·global + (1−wg)·prior)` with
    /// `w = min(n, 5)/5`, where `n` counts the samples of the quantity that is blended.
    #[must_use]
    pub fn blend(&self, method: MethodId, settings: &ScoreSettings) -> Blended {
        let empty = Book::EMPTY;
        let own = self.method(method).unwrap_or(&empty);
        let enough = settings.enough_samples.max(1);
        let priors = [settings.prior_ms, settings.prior_ms, 0.0];
        let mut values = own.values();
        for (quantity, value) in values.iter_mut().enumerate() {
            let samples = own.weights()[quantity];
            if samples >= enough {
                continue;
            }
            let endpoint = mix(
                self.global.weights()[quantity],
                enough,
                self.global.values()[quantity],
                priors[quantity],
            );
            *value = mix(samples, enough, *value, endpoint);
        }
        Blended {
            latency_ms: values[0],
            tail_ms: values[1],
            error: values[2],
            samples: if own.is_restored() {
                0
            } else {
                own.weights()[0]
            },
        }
    }

    /// Puts in what was measured before a restart; `None`: over all methods. Only an empty book takes
    /// it (P-25); says whether it was one.
    pub(crate) fn restore(&mut self, method: Option<MethodId>, book: Book) -> bool {
        let known = match method.map(|method| (method, self.find(method))) {
            None => &mut self.global,
            Some((_, Ok(at))) => &mut self.methods[at].1,
            Some((method, Err(at))) => {
                self.methods.insert(at, (method, Book::EMPTY));
                &mut self.methods[at].1
            }
        };
        let is_empty = known.is_empty();
        if is_empty {
            *known = book;
        }
        is_empty
    }

    fn record(&mut self, method: MethodId, what: impl Fn(&mut Book, &BookSettings)) {
        what(&mut self.global, &self.settings);
        self.global.stamp(self.at);
        let at = match self.find(method) {
            Ok(at) => at,
            Err(at) => {
                self.methods.insert(at, (method, Book::EMPTY));
                at
            }
        };
        let book = &mut self.methods[at].1;
        what(book, &self.settings);
        book.stamp(self.at);
    }

    fn find(&self, method: MethodId) -> Result<usize, usize> {
        self.methods.binary_search_by_key(&method, |(id, _)| *id)
    }
}

/// `value` as far as there are samples for it, `other` for the rest.
fn mix(samples: u32, enough: u32, value: f64, other: f64) -> f64 {
    let weight = f64::from(samples.min(enough)) / f64::from(enough);
    weight * value + (1.0 - weight) * other
}

#[cfg(test)]
mod tests;
