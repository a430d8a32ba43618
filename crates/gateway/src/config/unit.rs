//! Numbers with units: durations and sizes are strings, so that nobody has to guess what `5` means.
//!
//! Durations are whole numbers of `ms`, `s`, `m` or `h`, from 1 ms up. Sizes are whole numbers of
//! `B`, `kB`, `MB`, `GB` (powers of 1000) or `KiB`, `MiB`, `GiB` (powers of 1024).

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{Error, Visitor},
};
use std::{borrow::Cow, fmt, time::Duration};

const HOUR: u64 = 3_600_000;

pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let expected = || "expected a duration such as `300ms`, `9s`, `2m` or `1h`".to_owned();
    let (number, unit) = split(text).ok_or_else(expected)?;
    let scale = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => HOUR,
        "" => return Err("a duration needs a unit: `ms`, `s`, `m` or `h`".to_owned()),
        _ => return Err(expected()),
    };
    match number.checked_mul(scale) {
        Some(0) => Err("a duration is at least `1ms`".to_owned()),
        Some(millis) => Ok(Duration::from_millis(millis)),
        None => Err(expected()),
    }
}

pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    let expected = || "expected a size such as `64KiB`, `5MiB` or `25MB`".to_owned();
    let (number, unit) = split(text).ok_or_else(expected)?;
    let scale = match unit {
        "B" => 1,
        "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "" => return Err("a size needs a unit: `B`, `kB`, `MB`, `KiB` or `MiB`".to_owned()),
        _ => return Err(expected()),
    };
    number.checked_mul(scale).ok_or_else(expected)
}

/// `HH:MM` as the time since midnight.
pub(super) fn parse_time_of_day(text: &str) -> Result<Duration, String> {
    let part = |digits: &str, most: u64| {
        let two = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|n: &u64| two && *n <= most)
    };
    text.split_once(':')
        .and_then(|(hours, minutes)| Some((part(hours, 23)?, part(minutes, 59)?)))
        .map(|(hours, minutes)| Duration::from_secs(hours * 3600 + minutes * 60))
        .ok_or_else(|| "expected a time of the day in UTC such as `00:00` or `06:30`".to_owned())
}

/// Writes a duration as it would be configured, in its largest whole unit.
pub(super) fn show_duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    for (scale, unit) in [(u128::from(HOUR), "h"), (60_000, "m"), (1_000, "s")] {
        if millis > 0 && millis.is_multiple_of(scale) {
            return format!("{}{unit}", millis / scale);
        }
    }
    format!("{millis}ms")
}

/// Writes a size as it would be configured, in its largest whole unit.
pub(super) fn show_size(bytes: u64) -> String {
    for (scale, unit) in [
        (1 << 30, "GiB"),
        (1_000_000_000, "GB"),
        (1 << 20, "MiB"),
        (1_000_000, "MB"),
        (1 << 10, "KiB"),
        (1_000, "kB"),
    ] {
        if bytes > 0 && bytes.is_multiple_of(scale) {
            return format!("{}{unit}", bytes / scale);
        }
    }
    format!("{bytes}B")
}

/// A number of things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count(pub(super) u64);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Whole;
        impl Visitor<'_> for Whole {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number")
            }

            fn visit_u64<E>(self, number: u64) -> Result<Count, E> {
                Ok(Count(number))
            }

            fn visit_i64<E: Error>(self, _: i64) -> Result<Count, E> {
                Err(E::custom("expected a whole number that is not negative"))
            }

            fn visit_i128<E: Error>(self, _: i128) -> Result<Count, E> {
                Err(E::custom("expected a whole number of at most 64 bits"))
            }
        }
        deserializer.deserialize_u64(Whole)
    }
}

impl JsonSchema for Count {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Count".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 0 })
    }
}

/// A number that may have a fraction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number(pub(super) f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Real;
        impl Visitor<'_> for Real {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Number, E> {
                if number.is_finite() {
                    Ok(Number(number))
                } else {
                    Err(E::custom("expected a finite number"))
                }
            }

            fn visit_u64<E>(self, number: u64) -> Result<Number, E> {
                Ok(Number(number as f64))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Number, E> {
                Ok(Number(number as f64))
            }

            fn visit_i128<E>(self, number: i128) -> Result<Number, E> {
                Ok(Number(number as f64))
            }
        }
        deserializer.deserialize_f64(Real)
    }
}

impl JsonSchema for Number {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Number".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number" })
    }
}

fn split(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text[..digits].parse().ok()?;
    Some((number, text[digits..].trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    // G-12
    #[test]
    fn reads_every_unit_of_a_duration() {
        for (text, millis) in [
            ("1ms", 1),
            ("300 ms", 300),
            ("9s", 9_000),
            ("2m", 120_000),
            ("1h", 3_600_000),
        ] {
            let duration = Duration::from_millis(millis);
            assert_eq!(parse_duration(text), Ok(duration), "{text}");
            assert_eq!(show_duration(duration), text.replace(' ', ""));
        }
    }

    //
    #[test]
    fn reads_a_time_of_the_day() {
        for (text, minutes) in [("00:00", 0), ("06:30", 390), ("23:59", 1439)] {
            let time = Duration::from_secs(minutes * 60);
            assert_eq!(parse_time_of_day(text), Ok(time), "{text}");
        }
        for text in [
            "", "24:00", "0:00", "00:60", "00:00:00", "noon", "+1:00", "00:0é",
        ] {
            assert!(parse_time_of_day(text).is_err(), "{text}");
        }
    }

    // G-12
    #[test]
    fn refuses_a_duration_without_unit_or_below_a_millisecond() {
        for text in [
            "",
            "9",
            "0s",
            "0ms",
            "-1s",
            "1.5s",
            "1d",
            "1 S",
            "99999999999999999999s",
            "18446744073709551615h",
            "s",
        ] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    // G-12
    #[test]
    fn reads_every_unit_of_a_size() {
        for (text, bytes) in [
            ("7B", 7),
            ("3kB", 3_000),
            ("25MB", 25_000_000),
            ("2GB", 2_000_000_000),
            ("64KiB", 65_536),
            ("5MiB", 5_242_880),
            ("1GiB", 1 << 30),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
            assert_eq!(show_size(bytes), text);
        }
        for text in [
            "",
            "5",
            "5mb",
            "5 Mib",
            "-1B",
            "1.5MiB",
            "18446744073709551615kB",
        ] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
