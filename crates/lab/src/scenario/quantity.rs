//! Durations and shares as people write them, refused where they stand.

use std::fmt;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A duration such as `250ms`, `1.5s`, `2m` or `1h`; a bare number is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span(pub(super) Duration);

/// A share from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share(pub(super) f64);

/// Reads a duration with its unit.
///
/// # Errors
///
/// A sentence that says what is accepted.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    let (number, unit) = text.split_at(split.unwrap_or(text.len()));
    let seconds = match unit.trim() {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        _ => {
            return Err(format!(
                "`{text}` is no duration: write a number and us, ms, s, m or h, such as \"250ms\""
            ));
        }
    };
    let number: f64 = number
        .parse()
        .map_err(|_| format!("`{text}` is no duration: `{number}` is no number"))?;
    // Rounded to whole microseconds, so that 0.3s and 300ms are the same.
    let micros = (number * seconds * 1e6).round();
    if micros > 1e15 {
        return Err(format!("`{text}` is longer than thirty years"));
    }
    Ok(Duration::from_micros(micros as u64))
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Span;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration in quotes, such as \"250ms\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Span, E> {
                parse_duration(text).map(Span).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let share = f64::deserialize(deserializer)?;
        if (0.0..=1.0).contains(&share) {
            Ok(Self(share))
        } else {
            Err(D::Error::custom(format!(
                "a share is from 0 to 1, not {share}"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::parse_duration;

    #[test]
    fn reads_numbers_with_units_and_nothing_else() {
        let ms = |ms| Ok(Duration::from_millis(ms));
        assert_eq!(parse_duration("250ms"), ms(250));
        assert_eq!(parse_duration("0.3s"), ms(300));
        assert_eq!(parse_duration("2 m"), ms(120_000));
        assert_eq!(parse_duration("1h"), ms(3_600_000));
        assert_eq!(parse_duration("500us"), Ok(Duration::from_micros(500)));
        for bad in ["", "5", "s", "-1s", "1.2.3s", "5 days", "9999999999h"] {
            parse_duration(bad).unwrap_err();
        }
    }
}
