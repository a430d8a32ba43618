//! One section of numbers over the engine's own defaults.

use crate::config::{
    field::Field,
    name::{Period, Size},
    reader::Pass,
    unit::{self, Count, Number},
};
use std::{
    fmt::Display,
    ops::{Range, RangeInclusive},
    time::Duration,
};

/// Longest time of most options.
pub(super) const HOUR: Duration = Duration::from_secs(3_600);
/// Longest time of those that may be long.
pub(super) const YEAR: Duration = Duration::from_secs(8_760 * 3_600);

/// Puts options over defaults, refuses those out of range, and remembers where each stood.
pub(super) struct Overlay<'a> {
    pass: &'a Pass<'a>,
    section: String,
    places: Vec<(&'static str, Range<usize>)>,
}

impl<'a> Overlay<'a> {
    pub(super) fn new(pass: &'a Pass<'a>, section: String) -> Self {
        Self {
            pass,
            section,
            places: Vec::new(),
        }
    }

    pub(super) fn number(
        &mut self,
        name: &'static str,
        field: &Field<Number>,
        target: &mut f64,
        allowed: RangeInclusive<f64>,
    ) {
        if let Some((Number(number), span)) = field.get() {
            self.take(name, span, *number, target, allowed, f64::to_string);
        }
    }

    pub(super) fn count<T: TryFrom<u64>>(
        &mut self,
        name: &'static str,
        field: &Field<Count>,
        target: &mut T,
        allowed: RangeInclusive<u64>,
    ) {
        let Some((Count(number), span)) = field.get() else {
            return;
        };
        let mut taken = *number;
        self.take(name, span, *number, &mut taken, allowed, u64::to_string);
        if let Ok(number) = T::try_from(taken) {
            *target = number;
        }
    }

    pub(super) fn size(
        &mut self,
        name: &'static str,
        field: &Field<Size>,
        target: &mut u64,
        allowed: RangeInclusive<u64>,
    ) {
        if let Some((Size(bytes), span)) = field.get() {
            self.take(name, span, *bytes, target, allowed, |bytes| {
                unit::show_size(*bytes)
            });
        }
    }

    /// A time of at least a millisecond.
    pub(super) fn period(
        &mut self,
        name: &'static str,
        field: &Field<Period>,
        target: &mut Duration,
        longest: Duration,
    ) {
        self.period_in(name, field, target, Duration::from_millis(1)..=longest);
    }

    pub(super) fn period_in(
        &mut self,
        name: &'static str,
        field: &Field<Period>,
        target: &mut Duration,
        allowed: RangeInclusive<Duration>,
    ) {
        if let Some((Period(period), span)) = field.get() {
            let show = |period: &Duration| unit::show_duration(*period);
            self.take(name, span, *period, target, allowed, show);
        }
    }

    pub(super) fn flag(field: &Field<bool>, target: &mut bool) {
        if let Some((flag, _)) = field.get() {
            *target = *flag;
        }
    }

    fn take<T: PartialOrd>(
        &mut self,
        name: &'static str,
        span: Range<usize>,
        value: T,
        target: &mut T,
        allowed: RangeInclusive<T>,
        show: impl Fn(&T) -> String,
    ) {
        if allowed.contains(&value) {
            self.places.push((name, span));
            *target = value;
        } else {
            let (from, to) = (show(allowed.start()), show(allowed.end()));
            self.note(
                name,
                span,
                format!("out of range: {from} to {to} is allowed"),
            );
        }
    }

    /// Says that options do not fit together: the named one must be at least another. Where the
    /// named one is not in the file, the other is what is wrong.
    pub(super) fn at_least(
        &self,
        name: &'static str,
        other: &'static str,
        fits: bool,
        default: impl Display,
    ) {
        if fits {
            return;
        }
        let place = |name: &str| self.places.iter().find(|(known, _)| *known == name);
        match (place(name), place(other)) {
            (Some((_, span)), _) => {
                self.note(name, span.clone(), format!("must be at least `{other}`"));
            }
            (None, Some((_, span))) => {
                let message = format!("must be at most `{name}`, which is {default} by default");
                self.note(other, span.clone(), message);
            }
            (None, None) => {}
        }
    }

    pub(super) fn note(&self, name: &str, span: Range<usize>, message: impl Display) {
        let place = &self.section;
        self.pass.note(span, format!("`{place}.{name}`: {message}"));
    }
}
