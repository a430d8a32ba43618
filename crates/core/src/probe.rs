//! When heads are probed.
//!
//! Probes run while the pool is in use: the first request starts them at once, a minute without a
//! call stops them, the next request starts them again. Probes are no activity themselves. The clock
//! says only when a tick is due; the router says who is asked.

use crate::rng::Rng;
use std::time::{Duration, Instant};

/// Numbers of the head probes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbeSettings {
    /// Time between ticks. Default 4 s.
    pub interval: Duration,
    /// Share of the interval by which a tick is moved at random, up or down. Default 0.1.
    pub jitter: f64,
    /// Time without a call after which ticks stop. Default 60 s.
    pub idle: Duration,
}

impl Default for ProbeSettings {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(4),
            jitter: 0.1,
            idle: Duration::from_secs(60),
        }
    }
}

impl ProbeSettings {
    /// Whether every number is in range.
    ///
    /// # Errors
    /// The name of the first field that is not: `interval` and `idle` are at least 1 ms, `jitter` is
    /// 0 to 1.
    pub fn check(&self) -> Result<(), &'static str> {
        const LEAST: Duration = Duration::from_millis(1);
        if self.interval < LEAST {
            return Err("interval");
        }
        if !(0.0..=1.0).contains(&self.jitter) {
            return Err("jitter");
        }
        if self.idle < LEAST {
            return Err("idle");
        }
        Ok(())
    }
}

/// The timer of one pool.
#[derive(Clone, Debug, Default)]
pub struct ProbeClock {
    last_call: Option<Instant>,
    last_tick: Option<Instant>,
    next: Option<Instant>,
    active: Option<bool>,
}

impl ProbeClock {
    /// A call came in. True where the timer was standing and a tick is due at once, so that
    /// whoever sleeps must be woken.
    pub fn on_call(&mut self, now: Instant) -> bool {
        self.last_call = Some(now);
        if self.next.is_some() {
            return false;
        }
        self.next = Some(now);
        true
    }

    /// Nobody looks at the clock any more: it stands until the next call.
    pub const fn stop(&mut self) {
        self.next = None;
    }

    /// When to look again; `None`: not before the next call.
    #[must_use]
    pub const fn next(&self) -> Option<Instant> {
        self.next
    }

    /// The due moment has come, or was passed. True where a tick is to be made now. `active` is what
    /// the owner says of itself: inactive skips the tick but not the idle check.
    pub fn tick(
        &mut self,
        settings: &ProbeSettings,
        active: bool,
        rng: &mut Rng,
        now: Instant,
    ) -> bool {
        if self.next.is_none_or(|next| next > now) {
            return false;
        }
        let idle = self
            .last_call
            .is_none_or(|last| now.saturating_duration_since(last) >= settings.idle);
        if idle {
            self.next = None;
            return false;
        }
        let swing = settings.jitter.clamp(0.0, 1.0) * (2.0 * rng.unit() - 1.0);
        let pause = settings.interval.mul_f64((1.0 + swing).max(0.0));
        self.next = now.checked_add(pause.max(Duration::from_millis(1)));
        let became_active = active && self.active == Some(false);
        self.active = Some(active);
        if !active {
            return false;
        }
        // On becoming active one tick runs unless one ran within the last interval.
        if became_active && self.ran_within(settings.interval, now) {
            return false;
        }
        self.last_tick = Some(now);
        true
    }

    /// The owner became active: a tick is due at once unless one ran within the last interval.
    pub fn on_active(&mut self, settings: &ProbeSettings, now: Instant) -> bool {
        if self.last_call.is_none() || self.ran_within(settings.interval, now) {
            return false;
        }
        self.next = Some(now);
        true
    }

    fn ran_within(&self, interval: Duration, now: Instant) -> bool {
        self.last_tick
            .is_some_and(|last| now.saturating_duration_since(last) < interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::now::tests::origin;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    //
    #[test]
    fn the_first_call_starts_a_tick_at_once_and_a_minute_without_calls_stops_them() {
        let (start, settings, mut rng) = (origin(), ProbeSettings::default(), Rng::new(1));
        let mut clock = ProbeClock::default();
        assert_eq!(clock.next(), None);
        assert!(clock.on_call(start));
        assert!(!clock.on_call(start));
        let (mut now, mut ticks) = (start, 0);
        while let Some(next) = clock.next() {
            assert!(next.saturating_duration_since(now) <= seconds(4).mul_f64(1.1));
            now = next;
            ticks += u32::from(clock.tick(&settings, true, &mut rng, now));
            assert!(
                now.saturating_duration_since(start) < seconds(66),
                "never stops"
            );
        }
        assert!((14..=17).contains(&ticks), "{ticks}");
        assert!(clock.on_call(now + seconds(100)));
        assert!(clock.tick(&settings, true, &mut rng, now + seconds(100)));
    }

    //
    #[test]
    fn ticks_are_jittered() {
        let (start, settings, mut rng) = (origin(), ProbeSettings::default(), Rng::new(2));
        let mut clock = ProbeClock::default();
        let mut pauses = std::collections::BTreeSet::new();
        let mut now = start;
        for _ in 0..20 {
            clock.on_call(now);
            clock.tick(&settings, true, &mut rng, now);
            let next = clock.next().unwrap();
            let pause = next - now;
            assert!(pause >= seconds(4).mul_f64(0.899) && pause <= seconds(4).mul_f64(1.101));
            pauses.insert(pause);
            now = next;
        }
        assert!(pauses.len() > 10);
    }

    //
    #[test]
    fn an_inactive_owner_skips_ticks_and_gets_one_when_it_becomes_active() {
        let (start, settings, mut rng) = (origin(), ProbeSettings::default(), Rng::new(3));
        let mut clock = ProbeClock::default();
        clock.on_call(start);
        assert!(!clock.tick(&settings, false, &mut rng, start));
        assert!(clock.next().is_some(), "the timer runs on");
        assert!(clock.on_active(&settings, start + seconds(1)));
        assert!(clock.tick(&settings, true, &mut rng, start + seconds(1)));
        assert!(!clock.on_active(&settings, start + seconds(2)));
        // The idle check runs while inactive too.
        let mut now = start + seconds(1);
        while let Some(next) = clock.next() {
            now = next;
            assert!(!clock.tick(&settings, false, &mut rng, now));
        }
        assert!(now >= start + seconds(60));
    }
}
