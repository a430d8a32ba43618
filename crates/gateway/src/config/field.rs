//! An option of the raw file: absent, refused, or a value with its place.
//!
//! A refused value does not stop the reader: it notes the problem, the option becomes
//! [`Field::Refused`], and the rest of the file is still looked at. That is how all problems of a
//! file are told at once.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use std::{borrow::Cow, fmt, marker::PhantomData, ops::Range};

/// Asks the reader for a value, the first and the last byte.
pub(super) const LOCATED: &str = "$located";
/// Tells the reader that a value is a credential.
pub(super) const SECRET: &str = "$secret";
/// Asks the reader for a flag or what a table says.
pub(super) const SWITCH: &str = "$switch";

/// One option.
#[derive(Clone, Default)]
pub(super) enum Field<T> {
    /// Not in the file.
    #[default]
    Absent,
    /// In the file, but wrong; the problem is noted already.
    Refused,
    /// In the file, at these bytes.
    Set(T, Range<usize>),
}

impl<T> Field<T> {
    pub(super) fn value(self) -> Option<T> {
        match self {
            Self::Set(value, _) => Some(value),
            Self::Absent | Self::Refused => None,
        }
    }

    pub(super) fn get(&self) -> Option<(&T, Range<usize>)> {
        match self {
            Self::Set(value, span) => Some((value, span.clone())),
            Self::Absent | Self::Refused => None,
        }
    }

    pub(super) const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    pub(super) fn span(&self) -> Option<Range<usize>> {
        self.get().map(|(_, span)| span)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Located<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Located<T> {
            type Value = Field<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value with its place")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Field<T>, A::Error> {
                let Some(value) = seq.next_element()? else {
                    return Ok(Field::Refused);
                };
                let start = seq.next_element()?.unwrap_or(0);
                let end = seq.next_element()?.unwrap_or(start);
                Ok(Field::Set(value, start..end))
            }
        }
        deserializer.deserialize_tuple_struct(LOCATED, 3, Located(PhantomData))
    }
}

/// A list whose elements are refused one by one.
pub(super) type List<T> = Field<Vec<Field<T>>>;

impl<T> List<T> {
    /// The elements that are in order, with their places.
    pub(super) fn elements(&self) -> impl Iterator<Item = (&T, Range<usize>)> {
        self.get()
            .into_iter()
            .flat_map(|(items, _)| items.iter().filter_map(Field::get))
    }
}

/// A table whose keys are names of the user's own, in the order of the file.
#[derive(Clone)]
pub(super) struct Named<T>(pub(super) Vec<(Field<String>, Field<T>)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Named<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of named sections")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Named(entries))
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Field<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

impl<T: JsonSchema> JsonSchema for Named<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Named{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        std::collections::BTreeMap::<String, T>::json_schema(generator)
    }
}
