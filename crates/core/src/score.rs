//! How good an endpoint is for one call, as one number. Lower is better.

use crate::mutant::{self, Mutant};
use crate::stats::Blended;

/// The weights of the score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreSettings {
    /// Share of the average in the service time; the tail has the rest. Default 0.6.
    pub mix: f64,
    /// Latency and tail that are expected before anything is known, in milliseconds.
    /// Default 200.
    pub prior_ms: f64,
    /// Samples from which a book is trusted alone. Default 5.
    pub enough_samples: u32,
    /// Weight of the square of the requests in flight. Default 0.25.
    pub inflight_quadratic: f64,
    /// Weight of the error rate. Default 8.
    pub error_weight: f64,
    /// Weight of each block behind past what is allowed. Default 1; 0 turns it off.
    pub lag_weight: f64,
    /// Weight of a rising latency. Default 0.5; 0 turns it off.
    pub slope_weight: f64,
}

impl Default for ScoreSettings {
    fn default() -> Self {
        Self {
            mix: 0.6,
            prior_ms: 200.0,
            enough_samples: 5,
            inflight_quadratic: 0.25,
            error_weight: 8.0,
            lag_weight: 1.0,
            slope_weight: 0.5,
        }
    }
}

impl ScoreSettings {
    /// Refuses what cannot work.
    ///
    /// # Errors
    ///
    /// The name of the first field out of range: `mix` is 0 to 1, `prior_ms` above 0 and at most a
    /// day, `enough_samples` at least 1, a weight 0 to 1000.
    pub fn check(&self) -> Result<(), &'static str> {
        let weight = |w: f64| (0.0..=1_000.0).contains(&w);
        let fields = [
            ("mix", (0.0..=1.0).contains(&self.mix)),
            (
                "prior_ms",
                self.prior_ms > 0.0 && self.prior_ms <= 86_400_000.0,
            ),
            ("enough_samples", self.enough_samples > 0),
            ("inflight_quadratic", weight(self.inflight_quadratic)),
            ("error_weight", weight(self.error_weight)),
            ("lag_weight", weight(self.lag_weight)),
            ("slope_weight", weight(self.slope_weight)),
        ];
        match fields.iter().find(|(_, fine)| !fine) {
            Some((name, _)) => Err(name),
            None => Ok(()),
        }
    }
}

/// What is known of an endpoint at the moment of choosing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inputs {
    /// What its books say about the method.
    pub blended: Blended,
    /// Requests that are under way there.
    pub inflight: u32,
    /// Blocks behind the reference head past those that are allowed. None where head checks
    /// are off, the head is unknown, or it is near enough.
    pub excess_lag: Option<u64>,
    /// Rise of its latency as a share per minute, 0 where it does not rise.
    pub slope: f64,
    /// Its weight, above 0.
    pub weight: f64,
}

/// A score and what it is made of: `total = service_ms · slope · load · errors · lag / weight`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parts {
    /// Expected time to serve, in milliseconds.
    pub service_ms: f64,
    /// Factor for a rising latency, at least 1.
    pub slope: f64,
    /// Factor for requests in flight, at least 1.
    pub load: f64,
    /// Factor for errors, at least 1.
    pub errors: f64,
    /// Factor for being behind, at least 1.
    pub lag: f64,
    /// The weight it is divided by, above 0.
    pub weight: f64,
    /// The score: finite and above 0, lower is better.
    pub total: f64,
}

/// Least service time, in milliseconds: an endpoint that answers in no time at all is still worse
/// with more requests in flight.
const LEAST_MS: f64 = 0.001;

/// Weights outside this range count as its end.
const WEIGHTS: (f64, f64) = (1e-6, 1e6);

/// Scores one endpoint. Allocates nothing.
#[must_use]
pub fn score(inputs: &Inputs, settings: &ScoreSettings) -> Parts {
    let Blended {
        latency_ms,
        tail_ms,
        error,
        samples: _,
    } = inputs.blended;
    let service_ms = at_least(
        settings.mix * latency_ms + (1.0 - settings.mix) * tail_ms,
        LEAST_MS,
    );
    let inflight = f64::from(inputs.inflight);
    let slope = at_least(1.0 + settings.slope_weight * inputs.slope, 1.0);
    let load = at_least(
        1.0 + inflight + settings.inflight_quadratic * inflight * inflight,
        1.0,
    );
    let error = if mutant::is(Mutant::ErrorsWeighNothing) {
        0.0
    } else {
        error
    };
    let errors = at_least(1.0 + settings.error_weight * error, 1.0);
    let lag = inputs.excess_lag.map_or(1.0, |blocks| {
        at_least(1.0 + settings.lag_weight * blocks as f64, 1.0)
    });
    let lag = if mutant::is(Mutant::LagAttracts) {
        1.0 / lag
    } else {
        lag
    };
    let weight = at_least(inputs.weight, WEIGHTS.0).min(WEIGHTS.1);
    let total = service_ms * slope * load * errors * lag / weight;
    Parts {
        service_ms,
        slope,
        load,
        errors,
        lag,
        weight,
        total: total.min(f64::MAX),
    }
}

/// The value, or `least` where it is smaller or no number.
fn at_least(value: f64, least: f64) -> f64 {
    value.max(least)
}

#[cfg(test)]
mod tests;
