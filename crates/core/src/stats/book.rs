//! Averages of latency, tail and error that follow the newest answers.

/// How far one sample moves an average: 0 not at all, 1 all the way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BookSettings {
    /// Step of the latency when the sample is slower. Default 0.4.
    pub slower_step: f64,
    /// Step of the latency when the sample is faster. Default 0.2.
    pub faster_step: f64,
    /// Step of the tail when the sample is above it. Default 0.5.
    pub tail_up_step: f64,
    /// Step of the tail when the sample is below it. Default 0.05.
    pub tail_down_step: f64,
    /// Step of the error rate. Default 0.3.
    pub error_step: f64,
}

impl Default for BookSettings {
    fn default() -> Self {
        Self {
            slower_step: 0.4,
            faster_step: 0.2,
            tail_up_step: 0.5,
            tail_down_step: 0.05,
            error_step: 0.3,
        }
    }
}

impl BookSettings {
    /// Refuses what cannot work.
    ///
    /// # Errors
    ///
    /// The name of the first field that is not above 0 and at most 1.
    pub fn check(&self) -> Result<(), &'static str> {
        let fields = [
            ("slower_step", self.slower_step),
            ("faster_step", self.faster_step),
            ("tail_up_step", self.tail_up_step),
            ("tail_down_step", self.tail_down_step),
            ("error_step", self.error_step),
        ];
        match fields
            .iter()
            .find(|(_, step)| !(*step > 0.0 && *step <= 1.0))
        {
            Some((name, _)) => Err(name),
            None => Ok(()),
        }
    }
}

/// Longest latency that is believed, in milliseconds: one day.
const LONGEST_MS: f64 = 86_400_000.0;

/// What is known from the answers to one method, or to all of them.
///
/// Latency, tail and error each count their own samples: a failure says something of the error and
/// nothing of the latency, so it must not lend weight to a latency either.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Book {
    latency_ms: f64,
    tail_ms: f64,
    error: f64,
    latencies: u32,
    tails: u32,
    answers: u32,
    /// When a call last gave it a sample, in milliseconds since 1970; 0: never.
    measured_at: u64,
    /// It was measured before a restart, and no call gave it a sample since (P-25).
    restored: bool,
}

impl Default for Book {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Book {
    /// A book without a sample.
    pub const EMPTY: Self = Self {
        latency_ms: 0.0,
        tail_ms: 0.0,
        error: 0.0,
        latencies: 0,
        tails: 0,
        answers: 0,
        measured_at: 0,
        restored: false,
    };

    /// A book that was measured before a restart: values and samples of latency, tail and error
    /// (P-25). The first sample of a call replaces it.
    pub(crate) const fn restored(values: [f64; 3], samples: [u32; 3], measured_at: u64) -> Self {
        let [latency_ms, tail_ms, error] = values;
        let [latencies, tails, answers] = samples;
        Self {
            latency_ms,
            tail_ms,
            error,
            latencies,
            tails,
            answers,
            measured_at,
            restored: true,
        }
    }

    /// An answer that counts as healthy, after `ms` milliseconds. A duration that is negative or no
    /// number counts as none.
    pub fn success(&mut self, ms: f64, settings: &BookSettings) {
        self.answered(settings);
        let Some(ms) = believed(ms) else {
            return;
        };
        let step = if ms > self.latency_ms {
            settings.slower_step
        } else {
            settings.faster_step
        };
        if self.latencies == 0 {
            self.latency_ms = ms;
        } else {
            self.latency_ms += step * (ms - self.latency_ms);
        }
        self.latencies = self.latencies.saturating_add(1);
        self.move_tail(ms, settings);
    }

    /// A healthy answer whose duration says nothing of the endpoint.
    pub fn answered(&mut self, settings: &BookSettings) {
        self.begin_anew();
        self.cool(settings);
        self.answers = self.answers.saturating_add(1);
    }

    /// An endpoint failure that came back: it moves the error and, however fast, no latency.
    pub fn failure(&mut self, settings: &BookSettings) {
        self.begin_anew();
        self.error += settings.error_step * (1.0 - self.error);
        self.answers = self.answers.saturating_add(1);
    }

    /// No answer within `at_ms` milliseconds: a failure that also pushes the tail.
    pub fn timeout(&mut self, at_ms: f64, settings: &BookSettings) {
        self.failure(settings);
        self.push_tail(at_ms, settings);
    }

    /// Pushes the tail up to `at_ms`, never down: that no answer came so far is no good news.
    pub fn push_tail(&mut self, at_ms: f64, settings: &BookSettings) {
        if let Some(ms) = believed(at_ms)
            && (self.tails == 0 || ms > self.tail_ms)
        {
            self.move_tail(ms, settings);
        }
    }

    /// Pulls the error towards 0 without a sample: what a head probe that worked does.
    pub fn cool(&mut self, settings: &BookSettings) {
        self.error -= settings.error_step * self.error;
    }

    /// The latency average in milliseconds; none before the first success.
    #[must_use]
    pub fn latency_ms(&self) -> Option<f64> {
        (self.latencies > 0).then_some(self.latency_ms)
    }

    /// The tail average in milliseconds; none before the first success or timeout.
    #[must_use]
    pub fn tail_ms(&self) -> Option<f64> {
        (self.tails > 0).then_some(self.tail_ms)
    }

    /// The share of failures, 0 to 1, in which the newest answers weigh most.
    #[must_use]
    pub const fn error(&self) -> f64 {
        self.error
    }

    /// Answers and failures recorded.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.answers
    }

    /// Whether it was measured before a restart and by no call since (P-25).
    #[must_use]
    pub const fn is_restored(&self) -> bool {
        self.restored
    }

    /// When a call last gave it a sample, in milliseconds since 1970; 0: never, or nobody said when.
    pub(crate) const fn measured_at(&self) -> u64 {
        self.measured_at
    }

    /// A call gave it a sample at this moment.
    pub(super) const fn stamp(&mut self, at: u64) {
        self.measured_at = at;
    }

    /// Whether neither a call nor a probe has told it anything.
    pub(super) const fn is_empty(&self) -> bool {
        matches!(self.weights(), [0, 0, 0])
    }

    /// Samples behind the latency, the tail and the error.
    pub(crate) const fn weights(&self) -> [u32; 3] {
        [self.latencies, self.tails, self.answers]
    }

    /// Latency, tail and error as they stand, 0 where there is no sample.
    pub(crate) const fn values(&self) -> [f64; 3] {
        [self.latency_ms, self.tail_ms, self.error]
    }

    /// What was measured before a restart gives way to the first sample of a call (P-25).
    const fn begin_anew(&mut self) {
        if self.restored {
            *self = Self::EMPTY;
        }
    }

    fn move_tail(&mut self, ms: f64, settings: &BookSettings) {
        let step = if ms > self.tail_ms {
            settings.tail_up_step
        } else {
            settings.tail_down_step
        };
        if self.tails == 0 {
            self.tail_ms = ms;
        } else {
            self.tail_ms += step * (ms - self.tail_ms);
        }
        self.tails = self.tails.saturating_add(1);
    }
}

fn believed(ms: f64) -> Option<f64> {
    (ms >= 0.0).then(|| ms.min(LONGEST_MS))
}
