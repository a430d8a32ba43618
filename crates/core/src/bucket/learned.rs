//! A limit that nobody stated, learned from being refused.

use std::time::{Duration, Instant};

use crate::sliding::Sliding;

/// How limits are learned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LearnSettings {
    /// Refusals that start a limit; 1 to 100.
    pub refusals: u32,
    /// Time within which they come; more than zero.
    pub within: Duration,
    /// Share of the rate measured before them at which it starts; more than 0, at most 1.
    pub share: f64,
    /// Growth per clean step; 0 to 1.
    pub growth: f64,
    /// Length of a step without a refusal that lets it grow; 1 s or more.
    pub step: Duration,
    /// Lowest limit, in requests a second; 0.001 or more.
    pub floor: f64,
    /// Time without a refusal after which it is forgotten; more than zero.
    pub forget: Duration,
}

impl Default for LearnSettings {
    fn default() -> Self {
        Self {
            refusals: 3,
            within: Duration::from_secs(60),
            share: 0.8,
            growth: 0.05,
            step: Duration::from_secs(10),
            floor: 0.2,
            forget: Duration::from_secs(3_600),
        }
    }
}

impl LearnSettings {
    /// Whether every number is in range.
    ///
    /// # Errors
    ///
    /// The name of the first field that is not.
    pub fn check(&self) -> Result<(), &'static str> {
        let rules = [
            ("refusals", (1..=100).contains(&self.refusals)),
            ("within", !self.within.is_zero()),
            ("forget", !self.forget.is_zero()),
            ("share", self.share > 0.0 && self.share <= 1.0),
            ("growth", (0.0..=1.0).contains(&self.growth)),
            ("step", self.step >= Duration::from_secs(1)),
            ("floor", (0.001..=FASTEST).contains(&self.floor)),
        ];
        match rules.iter().find(|(_, holds)| !holds) {
            Some((name, _)) => Err(name),
            None => Ok(()),
        }
    }
}

/// The rate is measured over this time.
const MEASURED: Duration = Duration::from_secs(10);
/// No limit grows past this.
const FASTEST: f64 = 1e6;

/// What is learned of one account's limit.
#[derive(Clone, Debug)]
pub(super) struct Learned {
    settings: LearnSettings,
    requests: Sliding,
    /// When each of the last refusals came, and the rate before it.
    refusals: Vec<(Instant, f64)>,
    limit: Option<Limit>,
}

#[derive(Clone, Copy, Debug)]
struct Limit {
    rps: f64,
    /// When it last started or was halved: refusals of requests sent before say nothing of it.
    lowered: Instant,
    refused: Instant,
    /// Clean since then, as far as growth has not used it up.
    clean: Instant,
}

impl Learned {
    pub(super) fn new(settings: LearnSettings) -> Self {
        Self {
            settings,
            requests: Sliding::new(MEASURED),
            refusals: Vec::new(),
            limit: None,
        }
    }

    /// A request was sent.
    pub(super) fn sent(&mut self, now: Instant) {
        self.requests.first(now);
    }

    /// A request sent at `sent` was refused as one too many.
    pub(super) fn refused(&mut self, sent: Instant, now: Instant) {
        self.rps(now);
        let settings = self.settings;
        if let Some(limit) = &mut self.limit {
            if sent >= limit.lowered {
                limit.rps = (limit.rps / 2.0).max(settings.floor);
                limit.lowered = now;
            }
            limit.refused = now;
            limit.clean = now;
            return;
        }
        self.refusals
            .retain(|(at, _)| now.saturating_duration_since(*at) <= settings.within);
        let measured = self.measured(now);
        self.refusals.push((now, measured));
        if self.refusals.len() >= settings.refusals as usize {
            let (_, before) = self.refusals[0];
            self.refusals.clear();
            self.limit = Some(Limit {
                rps: (settings.share * before).max(settings.floor),
                lowered: now,
                refused: now,
                clean: now,
            });
        }
    }

    /// The limit as it is now.
    pub(super) fn rps(&mut self, now: Instant) -> Option<f64> {
        let limit = self.limit.as_mut()?;
        if now.saturating_duration_since(limit.refused) >= self.settings.forget {
            self.limit = None;
            return None;
        }
        let step = self.settings.step.max(Duration::from_secs(1));
        let clean = now.saturating_duration_since(limit.clean);
        let steps = u32::try_from(clean.as_nanos() / step.as_nanos()).unwrap_or(u32::MAX);
        if steps > 0 {
            let growth = (1.0 + self.settings.growth).powf(f64::from(steps));
            limit.rps = (limit.rps * growth).min(FASTEST);
            limit.clean = limit.clean.checked_add(step * steps).unwrap_or(now);
        }
        Some(limit.rps)
    }

    /// Requests a second over the last ten, or over the time since the first one, at least a second.
    fn measured(&mut self, now: Instant) -> f64 {
        let (count, _) = self.requests.counts(now);
        let covered = self.requests.covered(now).max(Duration::from_secs(1));
        f64::from(count) / covered.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::now::tests::origin;

    const fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    const NANO: Duration = Duration::from_nanos(1);

    /// 100 requests in the second before, then three refusals at once: a limit of 80 a second.
    fn limited() -> (Learned, Instant) {
        let now = origin();
        let mut learned = Learned::new(LearnSettings::default());
        for _ in 0..100 {
            learned.sent(now);
        }
        for _ in 0..3 {
            learned.refused(now, now);
        }
        (learned, now)
    }

    fn close(a: Option<f64>, b: f64) -> bool {
        a.is_some_and(|a| (a - b).abs() < 1e-9)
    }

    //
    #[test]
    fn starts_at_80_percent_of_the_rate_before_three_refusals() {
        let start = origin();
        let mut learned = Learned::new(LearnSettings::default());
        for tenth in 0..100 {
            learned.sent(start + Duration::from_millis(100 * tenth));
        }
        let first = start + Duration::from_millis(9_999);
        learned.refused(first, first);
        assert_eq!(learned.rps(first), None);
        // What is sent after the first refusal does not count.
        for _ in 0..500 {
            learned.sent(first);
        }
        learned.refused(first, first + secs(1));
        assert_eq!(learned.rps(first), None);
        let third = first + secs(60);
        learned.refused(third, third);
        assert!(close(learned.rps(third), 0.8 * 100.0 / 9.999));
    }

    //
    #[test]
    fn starts_nothing_where_the_third_comes_later_than_sixty_seconds() {
        let start = origin();
        let mut learned = Learned::new(LearnSettings::default());
        learned.refused(start, start);
        learned.refused(start, start + secs(1));
        let third = start + secs(60) + NANO;
        learned.refused(third, third);
        assert_eq!(learned.rps(third), None);
        // But it is the second of the next three.
        learned.refused(third, start + secs(61));
        assert!(learned.rps(third).is_some());
    }

    //
    #[test]
    fn halves_on_each_further_refusal_down_to_the_floor() {
        let (mut learned, mut now) = limited();
        assert!(close(learned.rps(now), 80.0));
        for expected in [40.0, 20.0, 10.0, 5.0, 2.5, 1.25, 0.625, 0.3125, 0.2, 0.2] {
            now += secs(1);
            learned.refused(now, now);
            assert!(close(learned.rps(now), expected), "{expected}");
        }
    }

    // ten refusals of one burst halve it once.
    #[test]
    fn halves_once_for_requests_that_were_sent_before_it_was_halved() {
        let (mut learned, start) = limited();
        let sent = start + secs(1);
        for after in 1..=10 {
            learned.refused(start - NANO, start + secs(after));
        }
        assert!(close(learned.rps(start + secs(10)), 80.0));
        for after in 11..=20 {
            learned.refused(sent, start + secs(after));
        }
        assert!(close(learned.rps(start + secs(20)), 40.0));
    }

    //
    #[test]
    fn grows_by_5_percent_per_clean_ten_seconds() {
        let (mut learned, start) = limited();
        assert!(close(learned.rps(start + secs(10) - NANO), 80.0));
        assert!(close(learned.rps(start + secs(10)), 84.0));
        assert!(close(learned.rps(start + secs(19)), 84.0));
        assert!(close(
            learned.rps(start + secs(30)),
            80.0 * 1.05_f64.powi(3)
        ));
        let refused = start + secs(39);
        learned.refused(refused, refused);
        let halved = 40.0 * 1.05_f64.powi(3);
        assert!(close(learned.rps(refused + secs(9)), halved));
        assert!(close(learned.rps(refused + secs(10)), halved * 1.05));
    }

    //
    #[test]
    fn forgets_the_limit_an_hour_after_the_last_refusal() {
        let (mut learned, start) = limited();
        let refused = start + secs(1_800);
        learned.refused(refused, refused);
        assert!(learned.rps(refused + secs(3_600) - NANO).is_some());
        assert_eq!(learned.rps(refused + secs(3_600)), None);
        // And begins anew.
        let later = refused + secs(4_000);
        learned.refused(later, later);
        assert_eq!(learned.rps(later), None);
    }

    //
    #[test]
    fn starts_no_lower_than_the_floor() {
        let now = origin();
        let mut learned = Learned::new(LearnSettings::default());
        for _ in 0..3 {
            learned.refused(now, now);
        }
        assert!(close(learned.rps(now), 0.2));
    }

    #[test]
    fn names_the_field_that_is_out_of_range() {
        type Edit = fn(&mut LearnSettings);
        assert_eq!(LearnSettings::default().check(), Ok(()));
        let wrong: [(&str, Edit); 7] = [
            ("within", |s| s.within = Duration::ZERO),
            ("forget", |s| s.forget = Duration::ZERO),
            ("refusals", |s| s.refusals = 0),
            ("share", |s| s.share = f64::NAN),
            ("growth", |s| s.growth = -0.1),
            ("step", |s| s.step = Duration::ZERO),
            ("floor", |s| s.floor = 0.0),
        ];
        for (name, change) in wrong {
            let mut settings = LearnSettings::default();
            change(&mut settings);
            assert_eq!(settings.check(), Err(name));
        }
    }
}
