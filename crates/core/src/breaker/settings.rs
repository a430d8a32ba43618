//! The numbers of the breaker.

use std::time::Duration;

/// When an endpoint is taken out and for how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BreakerSettings {
    /// Off: nothing is ever ejected, whatever it says. A refused credential still excludes and
    /// a missing method is still remembered.
    pub enabled: bool,
    /// Endpoint failures in a row that eject; 1 or more.
    pub threshold: u32,
    /// Ejection on the share of failures; `None` is off.
    pub failure_rate: Option<FailureRate>,
    /// Length of the first ejection.
    pub cooldown: Duration,
    /// Length that doubling stops at; `cooldown` or more.
    pub max_cooldown: Duration,
    /// Time closed without a strike after which the next ejection is a first one again.
    pub reset_after: Duration,
    /// Time in which the share of a closed circuit grows from nothing to all: one probe interval.
    pub ramp: Duration,
    /// Most of a stated wait that is obeyed.
    pub retry_after_cap: Duration,
    /// How long a trial is waited for. One that was lost, so that nobody reports how it ended,
    /// counts as abandoned then.
    pub trial_lease: Duration,
    /// Trials of excluded endpoints; `None` is off: excluded until reloaded.
    pub exclusion_trial: Option<Growing>,
    /// Refusals without words in a row that exclude; 1 or more.
    pub bare_403: u32,
    /// Out of quota without a stated reset: four times longer each time.
    pub quota: Growing,
    /// Most of a stated quota reset that is believed.
    pub quota_reset_cap: Duration,
    /// How long one method stays off.
    pub method_off: Duration,
    /// From this length on an ejection has the chain checked again.
    pub recheck_after: Duration,
}

/// Ejection on the share of failures among the answers of a sliding time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FailureRate {
    /// Share that ejects: more than 0, at most 1.
    pub share: f64,
    /// Fewest answers that say anything; 1 or more.
    pub answers: u32,
    /// The sliding time; 1 s or more.
    pub window: Duration,
}

impl Default for FailureRate {
    fn default() -> Self {
        Self {
            share: 0.5,
            answers: 20,
            window: Duration::from_secs(10),
        }
    }
}

/// A time that grows from one occasion to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growing {
    /// The first.
    pub first: Duration,
    /// The longest; `first` or more.
    pub max: Duration,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            threshold: 3,
            failure_rate: None,
            cooldown: Duration::from_secs(5),
            max_cooldown: Duration::from_secs(60),
            reset_after: Duration::from_secs(60),
            ramp: Duration::from_secs(4),
            retry_after_cap: Duration::from_secs(60),
            trial_lease: Duration::from_secs(30),
            exclusion_trial: None,
            bare_403: 3,
            quota: Growing {
                first: Duration::from_secs(2 * 60),
                max: Duration::from_secs(6 * 3_600),
            },
            quota_reset_cap: Duration::from_secs(31 * 86_400),
            method_off: Duration::from_secs(3_600),
            recheck_after: Duration::from_secs(60),
        }
    }
}

/// Trials of excluded endpoints where they are on: after 15 minutes, doubling to 6 hours.
pub const EXCLUSION_TRIALS: Growing = Growing {
    first: Duration::from_secs(15 * 60),
    max: Duration::from_secs(6 * 3_600),
};

/// Longest time that any option may state.
const MOST: Duration = Duration::from_secs(366 * 86_400);

impl BreakerSettings {
    /// Whether every number is in range. No time is zero or longer than a year, `ramp` and
    /// `reset_after` excepted, which may be zero.
    ///
    /// # Errors
    ///
    /// The name of the first field that is not.
    pub fn check(&self) -> Result<(), &'static str> {
        let times = [
            ("cooldown", self.cooldown),
            ("max_cooldown", self.max_cooldown),
            ("retry_after_cap", self.retry_after_cap),
            ("trial_lease", self.trial_lease),
            ("quota", self.quota.first),
            ("quota", self.quota.max),
            ("quota_reset_cap", self.quota_reset_cap),
            ("method_off", self.method_off),
            ("recheck_after", self.recheck_after),
        ];
        if let Some((name, _)) = times.iter().find(|(_, t)| t.is_zero() || *t > MOST) {
            return Err(name);
        }
        let trial = self.exclusion_trial.unwrap_or(EXCLUSION_TRIALS);
        let rate = self.failure_rate.unwrap_or_default();
        let rules = [
            ("threshold", self.threshold >= 1),
            ("bare_403", self.bare_403 >= 1),
            ("max_cooldown", self.max_cooldown >= self.cooldown),
            ("reset_after", self.reset_after <= MOST),
            ("ramp", self.ramp <= MOST),
            ("quota", self.quota.max >= self.quota.first),
            (
                "exclusion_trial",
                !trial.first.is_zero() && trial.first <= trial.max && trial.max <= MOST,
            ),
            (
                "failure_rate",
                rate.share > 0.0
                    && rate.share <= 1.0
                    && rate.answers >= 1
                    && (Duration::from_secs(1)..=MOST).contains(&rate.window),
            ),
        ];
        match rules.iter().find(|(_, holds)| !holds) {
            Some((name, _)) => Err(name),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change = fn(&mut BreakerSettings);

    #[test]
    fn names_the_field_that_is_out_of_range() {
        assert_eq!(BreakerSettings::default().check(), Ok(()));
        let wrong: [(&str, Change); 9] = [
            ("threshold", |s| s.threshold = 0),
            ("bare_403", |s| s.bare_403 = 0),
            ("cooldown", |s| s.cooldown = Duration::ZERO),
            ("max_cooldown", |s| s.max_cooldown = Duration::from_secs(4)),
            ("quota", |s| s.quota.max = Duration::from_secs(1)),
            ("method_off", |s| {
                s.method_off = MOST + Duration::from_secs(1);
            }),
            ("exclusion_trial", |s| {
                s.exclusion_trial = Some(Growing {
                    first: Duration::from_secs(2),
                    max: Duration::from_secs(1),
                });
            }),
            ("failure_rate", |s| {
                s.failure_rate = Some(FailureRate {
                    share: f64::NAN,
                    ..FailureRate::default()
                });
            }),
            ("failure_rate", |s| {
                s.failure_rate = Some(FailureRate {
                    share: 0.0,
                    ..FailureRate::default()
                });
            }),
        ];
        for (name, change) in wrong {
            let mut settings = BreakerSettings::default();
            change(&mut settings);
            assert_eq!(settings.check(), Err(name));
        }
    }
}
