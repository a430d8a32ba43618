//! The options of the routing engine of one chain.
//!
//! Every number lives in the settings of the module that uses it; this is where they come together.
//! The defaults are the library's. A gateway differs where [`Settings::gateway`] says so.

use crate::{
    breaker::{BreakerSettings, FailureRate},
    cache::CacheSettings,
    heads::HeadSettings,
    learn::LearnSettings,
    logs::LogSettings,
    pin::{PinSettings, PresentState},
    probe::ProbeSettings,
    retry_budget::RetryBudgetSettings,
    score::ScoreSettings,
    select::{SelectSettings, Strategy},
    stats::{BookSettings, WindowSettings},
};
use std::time::Duration;

/// How many attempts a call has beside its first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryCount {
    /// So many.
    Times(u16),
    /// Rounds go on until the deadline.
    Deadline,
}

/// How a backoff is drawn from its full length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// Half of it to all of it.
    Half,
    /// Nothing to all of it.
    Full,
}

/// Rounds and waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetrySettings {
    /// Attempts beside the first. Default 2; a gateway goes on until the deadline.
    pub count: RetryCount,
    /// Backoff before the second round; doubles with each. Default 100 ms.
    pub base: Duration,
    /// Longest backoff. Default 2 s.
    pub cap: Duration,
    /// Default half.
    pub jitter: Jitter,
    /// How long one call waits for tokens and ejections in total. Default 2 s.
    pub max_wait: Duration,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            count: RetryCount::Times(2),
            base: Duration::from_millis(100),
            cap: Duration::from_secs(2),
            jitter: Jitter::Half,
            max_wait: Duration::from_secs(2),
        }
    }
}

/// How calls bound for one endpoint are folded into one batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSettings {
    /// Whether the elements of one client's batch that choose the same endpoint travel together. They
    /// wait for nothing. Default true.
    pub client: bool,
    /// How long a call waits for others, of whatever client; zero for none. Default zero.
    pub window: Duration,
    /// Most calls in one batch, 1 to 1000; an endpoint's own limit, declared or learned, can only be
    /// lower. 1 turns batches off. Default 100.
    pub most: u16,
}

impl Default for BatchSettings {
    fn default() -> Self {
        Self {
            client: true,
            window: Duration::ZERO,
            most: 100,
        }
    }
}

impl BatchSettings {
    /// Whether every number is in range.
    ///
    /// # Errors
    /// The name of the first field that is not.
    pub fn check(&self) -> Result<(), &'static str> {
        if (1..=1000).contains(&self.most) {
            Ok(())
        } else {
            Err("most")
        }
    }
}

/// How reads agree with each other and what they cost (P-1 to P-24).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadSettings {
    /// Whether `latest` becomes a block that its endpoints hold (P-1); `None`: it stays a tag. Needs
    /// head checks.
    pub pin: Option<PinSettings>,
    /// Whether identical reads in flight share one request (P-10). Default true.
    pub coalesce: bool,
    /// Answers from memory (P-11); `None`: none. Needs head checks.
    pub cache: Option<CacheSettings>,
    /// Logs that are remembered, and ranges in parts (P-21 to P-24); `None`: `eth_getLogs` is a read
    /// like any other. Remembering needs the cache.
    pub logs: Option<LogSettings>,
    /// Addresses that answer from outside the chain's block, beside those known of the chain (P-6).
    pub present: PresentState,
}

impl ReadSettings {
    /// Every read goes to an endpoint as it was written.
    #[must_use]
    pub fn off() -> Self {
        Self {
            pin: None,
            coalesce: false,
            cache: None,
            logs: None,
            present: PresentState::default(),
        }
    }
}

impl Default for ReadSettings {
    fn default() -> Self {
        Self {
            pin: Some(PinSettings::default()),
            coalesce: true,
            cache: Some(CacheSettings::default()),
            logs: Some(LogSettings::default()),
            present: PresentState::default(),
        }
    }
}

/// When a slow read is copied to a second endpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HedgeSettings {
    /// Never earlier than this. Default 250 ms.
    pub min_delay: Duration,
    /// How many times the method's tail latency must have passed. Default 2.
    pub tails: f64,
}

impl Default for HedgeSettings {
    fn default() -> Self {
        Self {
            min_delay: Duration::from_millis(250),
            tails: 2.0,
        }
    }
}

/// Everything that can be set for the engine of one chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The score's numbers.
    pub score: ScoreSettings,
    /// How long what was learned is believed.
    pub learn: LearnSettings,
    /// How books move.
    pub book: BookSettings,
    /// The five-minute windows.
    pub window: WindowSettings,
    /// Numbers of the strategies.
    pub select: SelectSettings,
    /// Who serves a call. Default adaptive.
    pub strategy: Strategy,
    /// Circuit breakers.
    pub breaker: BreakerSettings,
    /// Heads; `None` turns head checks off.
    pub heads: Option<HeadSettings>,
    /// Head probes; `None` sends none.
    pub probe: Option<ProbeSettings>,
    /// Rounds and waits.
    pub retry: RetrySettings,
    /// What retries may cost across the pool.
    pub retry_budget: RetryBudgetSettings,
    /// Hedging; default off.
    pub hedge: Option<HedgeSettings>,
    /// How many endpoints race for the first answer; 0 and 1 are off. Default 2.
    pub race: u16,
    /// How long a call waits for a token of a lower tier before it moves up. Default none.
    pub tier_wait: Duration,
    /// Whether an endpoint is asked for its chain id before its first call. Default true.
    pub verify_chain_id: bool,
    /// Folding calls into batches.
    pub batch: BatchSettings,
    /// Pinning, sharing, caching (P-1 to P-17).
    pub reads: ReadSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            score: ScoreSettings::default(),
            learn: LearnSettings::default(),
            book: BookSettings::default(),
            window: WindowSettings::default(),
            select: SelectSettings::default(),
            strategy: Strategy::Adaptive,
            breaker: BreakerSettings::default(),
            heads: Some(HeadSettings::default()),
            probe: Some(ProbeSettings::default()),
            retry: RetrySettings::default(),
            retry_budget: RetryBudgetSettings::default(),
            hedge: None,
            race: 2,
            tier_wait: Duration::ZERO,
            verify_chain_id: true,
            batch: BatchSettings::default(),
            reads: ReadSettings::default(),
        }
    }
}

impl Settings {
    /// The defaults of a gateway: no races, rounds until the deadline, breakers that also watch the
    /// share of failures.
    #[must_use]
    pub fn gateway() -> Self {
        let mut settings = Self {
            race: 0,
            ..Self::default()
        };
        settings.retry.count = RetryCount::Deadline;
        settings.breaker.failure_rate = Some(FailureRate::default());
        if let Some(cache) = &mut settings.reads.cache {
            cache.entries = 100_000;
            cache.bytes = 256 << 20;
        }
        settings
    }

    /// Whether every number is in range.
    ///
    /// # Errors
    /// The name of the first field that is not.
    pub fn check(&self) -> Result<(), &'static str> {
        self.score.check()?;
        self.learn.check()?;
        self.book.check()?;
        self.window.check()?;
        self.select.check()?;
        if let Strategy::WeightedSum(weights) = &self.strategy {
            weights.check()?;
        }
        self.breaker.check()?;
        if let Some(heads) = &self.heads {
            heads.check()?;
        }
        if let Some(probe) = &self.probe {
            probe.check()?;
        }
        self.retry_budget.check()?;
        self.batch.check()?;
        if let Some(cache) = &self.reads.cache {
            cache.check()?;
        }
        if let Some(logs) = &self.reads.logs {
            logs.check()?;
        }
        if self.retry.base > self.retry.cap {
            return Err("base");
        }
        match self.hedge {
            Some(hedge) if !hedge.tails.is_finite() || hedge.tails < 0.0 => Err("tails"),
            Some(_) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_in_range_and_what_is_not_is_named() {
        assert_eq!(Settings::default().check(), Ok(()));
        assert_eq!(Settings::gateway().check(), Ok(()));
        let hedge = HedgeSettings {
            tails: f64::NAN,
            ..HedgeSettings::default()
        };
        let odd = Settings {
            hedge: Some(hedge),
            ..Settings::default()
        };
        assert_eq!(odd.check(), Err("tails"));
        for most in [0, 1001] {
            let mut odd = Settings::default();
            odd.batch.most = most;
            assert_eq!(odd.check(), Err("most"));
        }
        let mut odd = Settings::default();
        odd.retry.base = odd.retry.cap * 2;
        assert_eq!(odd.check(), Err("base"));
        let probe = ProbeSettings {
            interval: Duration::ZERO,
            ..ProbeSettings::default()
        };
        let odd = Settings {
            probe: Some(probe),
            ..Settings::default()
        };
        assert_eq!(odd.check(), Err("interval"));
    }
}
