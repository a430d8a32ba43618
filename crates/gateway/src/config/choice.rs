//! Options that are one of a few words, or a flag that may also be a section.

use super::{
    field::SWITCH,
    later::nearest,
    name::{Expected, option_text},
    unit::parse_duration,
};
use highwater_core::{
    cache::{Refresh, hot::LEAST_TICK},
    select::{Strategy, Weights},
    settings::{Jitter, RetryCount},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{Error, Visitor},
};
use std::{borrow::Cow, fmt, marker::PhantomData, time::Duration};

/// Something that is on or off, and whose numbers may be given in place of `true`.
#[derive(Clone)]
pub(super) enum Switch<T> {
    Flag(bool),
    Section(T),
}

impl<T: Default> Switch<T> {
    /// The numbers, where it is on.
    pub(super) fn on(&self) -> Option<Cow<'_, T>>
    where
        T: Clone,
    {
        match self {
            Self::Flag(false) => None,
            Self::Flag(true) => Some(Cow::Owned(T::default())),
            Self::Section(section) => Some(Cow::Borrowed(section)),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Switch<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = Switch<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`true`, `false` or a table")
            }

            fn visit_bool<E>(self, flag: bool) -> Result<Switch<T>, E> {
                Ok(Switch::Flag(flag))
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(
                self,
                deserializer: D,
            ) -> Result<Switch<T>, D::Error> {
                T::deserialize(deserializer).map(Switch::Section)
            }
        }
        deserializer.deserialize_newtype_struct(SWITCH, Either(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Switch<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Switch{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let section = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [{ "type": "boolean" }, section] })
    }
}

/// How many attempts come after the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Retries(pub(super) RetryCount);

impl<'de> Deserialize<'de> for Retries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Retries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number or `deadline`")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Retries, E> {
                match u16::try_from(number) {
                    Ok(times) if times <= 1000 => Ok(Retries(RetryCount::Times(times))),
                    Ok(_) | Err(_) => Err(E::custom("out of range: 0 to 1000 is allowed")),
                }
            }

            fn visit_i64<E: Error>(self, _: i64) -> Result<Retries, E> {
                Err(E::custom("out of range: 0 to 1000 is allowed"))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Retries, E> {
                match text {
                    "deadline" => Ok(Retries(RetryCount::Deadline)),
                    _ => Err(E::custom("expected a whole number or `deadline`")),
                }
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for Retries {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Retries".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "integer", "minimum": 0, "maximum": 1000 },
            { "type": "string", "enum": ["deadline"] },
        ] })
    }
}

/// The name of a strategy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct StrategyName(pub(super) Strategy);

const STRATEGIES: [Strategy; 7] = [
    Strategy::Adaptive,
    Strategy::WeightedSum(Weights {
        latency: 0.55,
        error: 0.30,
        quota: 0.10,
        affinity: 0.05,
    }),
    Strategy::LeastLoaded,
    Strategy::Shuffle,
    Strategy::RoundRobin,
    Strategy::Random,
    Strategy::Weighted,
];

const STRATEGY_NAMES: [&str; 7] = [
    "adaptive",
    "weighted-sum",
    "least-loaded",
    "shuffle",
    "round-robin",
    "random",
    "weighted",
];

impl StrategyName {
    fn parse(text: &str) -> Result<Self, String> {
        let found = STRATEGIES.into_iter().find(|one| one.name() == text);
        found
            .map(Self)
            .ok_or_else(|| match nearest(text, STRATEGY_NAMES.into_iter()) {
                Some(near) => format!("no such strategy: did you mean `{near}`?"),
                None => format!("expected one of `{}`", STRATEGY_NAMES.join("`, `")),
            })
    }
}

/// How a pause between rounds is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JitterName(pub(super) Jitter);

impl JitterName {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "half" => Ok(Self(Jitter::Half)),
            "full" => Ok(Self(Jitter::Full)),
            _ => Err("expected `half` or `full`".to_owned()),
        }
    }
}

/// How often a head is asked for while keys are hot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RefreshInterval(pub(super) Refresh);

/// Longest time between two ticks.
const LONGEST_TICK: Duration = Duration::from_secs(3600);

impl RefreshInterval {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self(Refresh::Auto)),
            "off" => Ok(Self(Refresh::Off)),
            _ => match parse_duration(text) {
                Ok(time) if (LEAST_TICK..=LONGEST_TICK).contains(&time) => {
                    Ok(Self(Refresh::Every(time)))
                }
                Ok(_) | Err(_) => Err("expected `auto`, `off` or a duration of 1s to 1h".into()),
            },
        }
    }
}

option_text! {
    StrategyName, StrategyName::parse, "a strategy",
        { "type": "string", "enum": STRATEGY_NAMES };
    JitterName, JitterName::parse, "`half` or `full`",
        { "type": "string", "enum": ["half", "full"] };
    RefreshInterval, RefreshInterval::parse, "`auto`, `off` or a duration",
        { "type": "string", "format": "auto, off or duration" };
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn every_strategy_has_its_name() {
        assert_eq!(STRATEGIES.map(|strategy| strategy.name()), STRATEGY_NAMES);
        assert_eq!(STRATEGIES[1], Strategy::WeightedSum(Weights::default()));
        for name in STRATEGY_NAMES {
            assert_eq!(StrategyName::parse(name).unwrap().0.name(), name);
        }
        assert_eq!(
            StrategyName::parse("round_robin").unwrap_err(),
            "no such strategy: did you mean `round-robin`?"
        );
    }

    // P-19
    #[test]
    fn a_refresh_interval_is_a_word_or_a_second_to_an_hour() {
        let read = |text: &str| RefreshInterval::parse(text).map(|read| read.0);
        assert_eq!(read("auto"), Ok(Refresh::Auto));
        assert_eq!(read("off"), Ok(Refresh::Off));
        for seconds in [1, 5, 3600] {
            let time = Duration::from_secs(seconds);
            assert_eq!(read(&format!("{seconds}s")), Ok(Refresh::Every(time)));
        }
        for text in ["999ms", "3601s", "1", "on", "Auto"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
