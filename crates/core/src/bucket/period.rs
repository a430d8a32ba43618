//! Compute units per day and month, with a time at which each starts again.

use std::time::{Duration, SystemTime};

use crate::method::{MethodId, rows};

const DAY: i64 = 86_400;

/// How often an allowance starts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Every {
    /// Each day.
    Day,
    /// Each month.
    Month,
}

/// An allowance of compute units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// How often it starts again.
    pub every: Every,
    /// Compute units; 1 or more.
    pub units: u64,
    /// Time of the day at which it starts again, UTC; less than a day.
    pub reset_at: Duration,
    /// Day of the month on which a monthly one does; 1 to 28.
    pub reset_day: u8,
}

impl Period {
    /// An allowance that starts again at midnight UTC, on the first where it is monthly.
    #[must_use]
    pub const fn new(every: Every, units: u64) -> Self {
        Self {
            every,
            units,
            reset_at: Duration::ZERO,
            reset_day: 1,
        }
    }

    /// Whether every number is in range.
    ///
    /// # Errors
    ///
    /// The name of the first field that is not.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.units == 0 {
            return Err("units");
        }
        if self.reset_at.as_secs() >= DAY as u64 {
            return Err("reset_at");
        }
        if !(1..=28).contains(&self.reset_day) {
            return Err("reset_day");
        }
        Ok(())
    }

    /// Start of the period that holds a moment, and of the next one, in Unix seconds.
    fn around(&self, wall: SystemTime) -> (i64, i64) {
        let at = (self.reset_at.as_secs() as i64).clamp(0, DAY - 1);
        let day = (unix(wall) - at).div_euclid(DAY);
        match self.every {
            Every::Day => (day * DAY + at, (day + 1) * DAY + at),
            Every::Month => {
                let first = i64::from(self.reset_day.clamp(1, 28));
                let (mut month, of_month) = civil(day);
                if of_month < first {
                    month -= 1;
                }
                let start = |month| (days(month) + first - 1) * DAY + at;
                (start(month), start(month + 1))
            }
        }
    }
}

fn unix(wall: SystemTime) -> i64 {
    let since = wall.duration_since(SystemTime::UNIX_EPOCH);
    // Far enough for any calendar, and no arithmetic on it overflows.
    since.map_or(0, |t| t.as_secs().min(1 << 40) as i64)
}

/// Months since the year 0, and the day of the month from 1, of a day since 1970-01-01 (proleptic
/// Gregorian, years counted from March so that the leap day comes last).
fn civil(day: i64) -> (i64, i64) {
    let day = day + 719_468;
    let era = day.div_euclid(146_097);
    let of_era = day.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * from_march + 2) / 5 + 1;
    ((era * 400 + year) * 12 + from_march + 2, of_month)
}

/// The first day of a month counted from the year 0, in days since 1970-01-01.
fn days(month: i64) -> i64 {
    let from_march = month - 2;
    let year = from_march.div_euclid(12);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * from_march.rem_euclid(12) + 2) / 5;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// What was spent in one period, kept across restarts and shown.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Spent {
    /// The kind of period.
    pub every: Every,
    /// When it started, in Unix seconds.
    pub start: i64,
    /// Compute units.
    pub units: u64,
    /// The same by row of the method table, by name.
    pub methods: Vec<(String, u64)>,
    /// The allowance, where there is one.
    #[serde(skip)]
    pub limit: Option<u64>,
}

/// Counts one kind of period.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    period: Period,
    limited: bool,
    start: i64,
    next: i64,
    spent: u64,
    by_method: Vec<(MethodId, u64)>,
}

impl Meter {
    /// A meter for a period, or one that counts and never ends.
    pub(super) fn new(every: Every, period: Option<Period>) -> Self {
        Self {
            period: period.unwrap_or(Period::new(every, u64::MAX)),
            limited: period.is_some(),
            start: i64::MIN,
            next: i64::MIN,
            spent: 0,
            by_method: Vec::new(),
        }
    }

    pub(super) fn spend(&mut self, method: MethodId, units: u64, wall: SystemTime) {
        self.turn(wall);
        self.spent = self.spent.saturating_add(units);
        match self.by_method.binary_search_by_key(&method, |(m, _)| *m) {
            Ok(at) => {
                let (_, spent) = &mut self.by_method[at];
                *spent = spent.saturating_add(units);
            }
            Err(at) => self.by_method.insert(at, (method, units)),
        }
    }

    /// Time until the allowance starts again, where it is spent.
    pub(super) fn wait(&mut self, wall: SystemTime) -> Duration {
        if !self.limited {
            return Duration::ZERO;
        }
        self.turn(wall);
        if self.spent < self.period.units {
            return Duration::ZERO;
        }
        let next = Duration::from_secs(self.next.max(0) as u64);
        SystemTime::UNIX_EPOCH
            .checked_add(next)
            .and_then(|next| next.duration_since(wall).ok())
            .unwrap_or_default()
    }

    /// Spent share of the allowance, 0 to 1; nothing where there is none.
    pub(super) fn burn(&mut self, wall: SystemTime) -> f64 {
        if !self.limited {
            return 0.0;
        }
        self.turn(wall);
        (self.spent as f64 / self.period.units.max(1) as f64).min(1.0)
    }

    pub(super) fn total(&mut self, wall: SystemTime) -> Spent {
        self.turn(wall);
        let name = |id: MethodId| id.descriptor().map_or("*", |row| row.name);
        Spent {
            every: self.period.every,
            start: self.start,
            units: self.spent,
            methods: self
                .by_method
                .iter()
                .map(|(id, units)| (name(*id).to_owned(), *units))
                .collect(),
            limit: self.limited.then_some(self.period.units),
        }
    }

    /// Adds what was spent before a restart, if it was in the period that runs now.
    pub(super) fn restore(&mut self, total: &Spent, wall: SystemTime) {
        self.turn(wall);
        if total.every != self.period.every || total.start != self.start {
            return;
        }
        let mut unnamed = total.units;
        for (name, units) in &total.methods {
            if let Some(row) = rows().iter().find(|row| row.name == name) {
                let units = (*units).min(unnamed);
                self.spend(row.id, units, wall);
                unnamed -= units;
            }
        }
        self.spent = self.spent.saturating_add(unnamed);
    }

    /// Starts again where a period has ended. A clock that was set back loses no count, and the
    /// period then ends where that clock has it end.
    fn turn(&mut self, wall: SystemTime) {
        let now = unix(wall);
        if (self.start..self.next).contains(&now) {
            return;
        }
        let (start, next) = self.period.around(wall);
        if start > self.start {
            self.spent = 0;
            self.by_method.clear();
        }
        (self.start, self.next) = (start, next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::lookup;
    use proptest::prelude::*;

    fn wall(date: &str) -> SystemTime {
        httpdate::parse_http_date(date).unwrap()
    }

    fn call() -> MethodId {
        lookup("eth_call").id
    }

    fn spent(period: Period, units: u64, at: SystemTime) -> Meter {
        let mut meter = Meter::new(period.every, Some(period));
        meter.spend(call(), units, at);
        meter
    }

    //
    #[test]
    fn starts_a_day_again_at_its_hour() {
        let period = Period {
            reset_at: Duration::from_secs(7 * 3_600),
            ..Period::new(Every::Day, 100)
        };
        let evening = wall("Thu, 29 Feb 2024 22:00:00 GMT");
        let mut meter = spent(period, 99, evening);
        assert_eq!(meter.wait(evening), Duration::ZERO);
        meter.spend(call(), 1, evening);
        assert_eq!(meter.wait(evening), Duration::from_secs(9 * 3_600));
        assert_eq!(meter.burn(evening), 1.0);
        let morning = wall("Fri, 01 Mar 2024 06:59:59 GMT");
        assert_eq!(meter.wait(morning), Duration::from_secs(1));
        let reset = wall("Fri, 01 Mar 2024 07:00:00 GMT");
        assert_eq!(meter.wait(reset), Duration::ZERO);
        assert_eq!(meter.burn(reset), 0.0);
    }

    //
    #[test]
    fn starts_a_month_again_on_its_day() {
        let period = Period {
            reset_day: 15,
            ..Period::new(Every::Month, 100)
        };
        for (now, start, next) in [
            (
                "Tue, 14 Jan 2025 23:59:59 GMT",
                "Sun, 15 Dec 2024 00:00:00 GMT",
                "Wed, 15 Jan 2025 00:00:00 GMT",
            ),
            (
                "Wed, 15 Jan 2025 00:00:00 GMT",
                "Wed, 15 Jan 2025 00:00:00 GMT",
                "Sat, 15 Feb 2025 00:00:00 GMT",
            ),
            (
                "Thu, 29 Feb 2024 12:00:00 GMT",
                "Thu, 15 Feb 2024 00:00:00 GMT",
                "Fri, 15 Mar 2024 00:00:00 GMT",
            ),
            (
                "Thu, 31 Dec 2026 23:59:59 GMT",
                "Tue, 15 Dec 2026 00:00:00 GMT",
                "Fri, 15 Jan 2027 00:00:00 GMT",
            ),
        ] {
            assert_eq!(
                period.around(wall(now)),
                (unix(wall(start)), unix(wall(next))),
                "{now}"
            );
        }
    }

    // R-28 and lesson 2: a guard has a bounded way down although the clock was wrong once.
    #[test]
    fn loses_no_count_to_a_clock_that_was_set_back_and_still_ends() {
        let period = Period::new(Every::Day, 100);
        let mut meter = spent(period, 100, wall("Fri, 01 Jan 2100 12:00:00 GMT"));
        let now = wall("Fri, 01 Mar 2024 12:00:00 GMT");
        assert_eq!(meter.wait(now), Duration::from_secs(12 * 3_600));
        assert_eq!(
            meter.wait(wall("Sat, 02 Mar 2024 00:00:00 GMT")),
            Duration::ZERO
        );
    }

    //
    #[test]
    fn counts_by_method_and_keeps_the_totals_across_a_restart() {
        let now = wall("Fri, 01 Mar 2024 12:00:00 GMT");
        let period = Period::new(Every::Month, 1_000);
        let mut meter = spent(period, 26, now);
        meter.spend(lookup("eth_getLogs").id, 60, now);
        meter.spend(call(), 26, now);
        let total = meter.total(now);
        assert_eq!((total.units, total.limit), (112, Some(1_000)));
        let json = serde_json::to_string(&total).unwrap();
        let kept: Spent = serde_json::from_str(&json).unwrap();
        let mut again = spent(period, 26, now);
        again.restore(&kept, now);
        let mut methods = again.total(now).methods;
        methods.sort();
        assert_eq!(
            methods,
            [("eth_call".to_owned(), 78), ("eth_getLogs".to_owned(), 60)]
        );
        assert_eq!(again.total(now).units, 138);
    }

    //
    #[test]
    fn restores_nothing_of_a_period_that_is_over_and_nothing_twice() {
        let before = wall("Thu, 29 Feb 2024 12:00:00 GMT");
        let now = wall("Fri, 01 Mar 2024 12:00:00 GMT");
        let old = spent(Period::new(Every::Month, 1_000), 26, before).total(before);
        let mut meter = Meter::new(Every::Month, None);
        meter.restore(&old, now);
        assert_eq!(meter.total(now).units, 0);
        let odd = Spent {
            start: meter.total(now).start,
            methods: vec![("eth_call".to_owned(), 50), ("gone".to_owned(), 50)],
            ..old
        };
        meter.restore(&odd, now);
        let total = meter.total(now);
        assert_eq!(total.units, 26);
        assert_eq!(total.methods, [("eth_call".to_owned(), 26)]);
    }

    #[test]
    fn names_the_field_that_is_out_of_range() {
        let fine = Period::new(Every::Month, 1);
        assert_eq!(fine.check(), Ok(()));
        assert_eq!(Period { units: 0, ..fine }.check(), Err("units"));
        let reset_at = Duration::from_secs(86_400);
        assert_eq!(Period { reset_at, ..fine }.check(), Err("reset_at"));
        for reset_day in [0, 29] {
            assert_eq!(Period { reset_day, ..fine }.check(), Err("reset_day"));
        }
    }

    proptest! {
        //
        #[test]
        fn puts_every_moment_into_one_period(
            seconds in 0_u64..10_000_000_000,
            at in 0_u64..86_400,
            reset_day in 1_u8..=28,
            monthly in any::<bool>(),
        ) {
            let period = Period {
                every: if monthly { Every::Month } else { Every::Day },
                units: 1,
                reset_at: Duration::from_secs(at),
                reset_day,
            };
            let moment = |s: i64| SystemTime::UNIX_EPOCH + Duration::from_secs(s.max(0) as u64);
            let (start, next) = period.around(moment(seconds as i64));
            prop_assert!((start..next).contains(&(seconds as i64)));
            let days = (next - start) / 86_400;
            let length = if monthly { 28..=31 } else { 1..=1 };
            prop_assert!(length.contains(&days));
            prop_assert_eq!(period.around(moment(next)).0, next);
            if start > 0 {
                prop_assert_eq!(period.around(moment(start - 1)).1, start);
            }
        }
    }
}
