//! Nodes into the model, noting every problem on the way instead of stopping at the first.
//!
//! This is a `serde` deserializer, so that the structs of the model are the only list of options
//! there is. A struct tells which keys it knows; any other is an error with a suggestion. What a
//! [`Field`](super::field::Field) cannot take is noted with its place and skipped. Messages name
//! the kind of a value, never the value.

use super::{
    document::{Entry, Node, Value},
    environment::{self, Environment},
    field::{LOCATED, SECRET, SWITCH},
    later,
    problem::Problem,
};
use serde::{
    Deserialize,
    de::{
        self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
        Visitor,
    },
};
use std::{cell::RefCell, fmt, ops::Range, rc::Rc};

/// What a pass over a file collects.
pub(super) struct Pass<'a> {
    text: &'a str,
    environment: Environment<'a>,
    pub(super) problems: RefCell<Vec<Problem>>,
    /// Bytes of the file that must not be shown.
    pub(super) hidden: RefCell<Vec<Range<usize>>>,
}

impl<'a> Pass<'a> {
    pub(super) const fn new(text: &'a str, environment: Environment<'a>) -> Self {
        Self {
            text,
            environment,
            problems: RefCell::new(Vec::new()),
            hidden: RefCell::new(Vec::new()),
        }
    }

    /// Reads the tree; what cannot be read is in `problems`. `None`: there was no table to read.
    pub(super) fn read<T: for<'de> Deserialize<'de>>(&self, root: &Node) -> Option<T> {
        let reader = Reader {
            pass: self,
            node: root,
            path: Rc::from(""),
        };
        T::deserialize(reader)
            .map_err(|refusal| self.note(root.span.start..root.span.start, refusal.message))
            .ok()
    }

    pub(super) fn note(&self, span: Range<usize>, message: String) {
        self.problems.borrow_mut().push(Problem::at(span, message));
    }

    /// The number of the line, from 1, that holds a byte of the file.
    pub(super) fn line_of(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().iter().take(offset);
        before.filter(|byte| **byte == b'\n').count() + 1
    }

    fn hide(&self, span: Range<usize>) {
        self.hidden.borrow_mut().push(span);
    }

    /// Hides the values of a node, whose own place may be that of a section's header.
    fn hide_values(&self, node: &Node) {
        match &node.value {
            Value::List(items) => items.iter().for_each(|item| self.hide_values(item)),
            Value::Table(entries) => {
                entries
                    .iter()
                    .for_each(|entry| self.hide_values(&entry.node));
            }
            Value::Nothing
            | Value::Text(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Date => self.hide(node.span.clone()),
        }
    }
}

/// Why a value cannot be taken.
#[derive(Debug)]
pub(super) struct Refusal {
    message: String,
    at: Option<Range<usize>>,
    /// The value was of another kind than expected: it is not known what it was meant to be.
    stray: bool,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

impl de::Error for Refusal {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self {
            message: message.to_string(),
            at: None,
            stray: false,
        }
    }

    // serde's own texts quote the value.
    fn invalid_type(found: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let found = match found {
            Unexpected::Bool(_) => Value::Boolean(true).kind(),
            Unexpected::Unsigned(_) | Unexpected::Signed(_) => Value::Integer(0).kind(),
            Unexpected::Float(_) => Value::Float(0.0).kind(),
            Unexpected::Char(_) | Unexpected::Str(_) => Value::Text(String::new()).kind(),
            Unexpected::Unit | Unexpected::Option => Value::Nothing.kind(),
            Unexpected::Seq => Value::List(Vec::new()).kind(),
            Unexpected::Map => Value::Table(Vec::new()).kind(),
            Unexpected::Bytes(_)
            | Unexpected::NewtypeStruct
            | Unexpected::Enum
            | Unexpected::UnitVariant
            | Unexpected::NewtypeVariant
            | Unexpected::TupleVariant
            | Unexpected::StructVariant
            | Unexpected::Other(_) => "something else",
        };
        Self::stray(expected, found)
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::stray(expected, "another value")
    }
}

impl Refusal {
    fn stray(expected: &dyn de::Expected, found: &str) -> Self {
        let expected = match expected.to_string().as_str() {
            "a boolean" => "`true` or `false`".to_owned(),
            "a sequence" => "a list".to_owned(),
            other => other.to_owned(),
        };
        Self {
            message: format!("expected {expected}, found {found}"),
            at: None,
            stray: true,
        }
    }
}

/// One node on its way into the model. `path` names it in messages: `server.deadline`.
#[derive(Clone)]
struct Reader<'a> {
    pass: &'a Pass<'a>,
    node: &'a Node,
    path: Rc<str>,
}

impl<'a> Reader<'a> {
    fn text(&self, text: &str) -> Result<String, Refusal> {
        environment::expand(text, self.pass.environment).map_err(|refused| {
            // Escapes may have moved it: look for the same characters in the file.
            let span = self.node.span.clone();
            let at = self.pass.text.get(span.clone()).and_then(|source| {
                let found = source.find(text.get(refused.range.clone())?)? + span.start;
                Some(found..found + refused.range.len())
            });
            Refusal {
                message: refused.message,
                at: at.or(Some(span)),
                stray: false,
            }
        })
    }

    fn stray(&self, expected: &dyn de::Expected) -> Refusal {
        Refusal::stray(expected, self.node.value.kind())
    }

    /// A section with nothing in it, as YAML writes it, is an empty table.
    fn table(&self) -> Result<std::slice::Iter<'a, Entry>, Refusal> {
        match &self.node.value {
            Value::Table(entries) => Ok(entries.iter()),
            Value::Nothing => Ok([].iter()),
            Value::Text(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Date
            | Value::List(_) => Err(self.stray(&"a table")),
        }
    }

    /// Takes note of a refused value, so that the reader can go on.
    fn refuse(&self, refusal: Refusal) {
        if refusal.stray && !self.node.value.is_number_or_flag() {
            self.pass.hide_values(self.node);
        }
        let span = refusal.at.unwrap_or_else(|| self.node.span.clone());
        self.pass
            .note(span, format!("`{}`: {}", self.path, refusal.message));
    }

    fn below(&self, entry: &'a Entry) -> Self {
        let path = if self.path.is_empty() {
            Rc::from(entry.key.as_str())
        } else {
            Rc::from(format!("{}.{}", self.path, entry.key))
        };
        Self {
            pass: self.pass,
            node: &entry.node,
            path,
        }
    }
}

impl<'a> Deserializer<'a> for Reader<'a> {
    type Error = Refusal;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match &self.node.value {
            Value::Nothing => visitor.visit_unit(),
            Value::Text(text) => visitor.visit_string(self.text(text)?),
            Value::Integer(number) => match (u64::try_from(*number), i64::try_from(*number)) {
                (Ok(number), _) => visitor.visit_u64(number),
                (Err(_), Ok(number)) => visitor.visit_i64(number),
                (Err(_), Err(_)) => visitor.visit_i128(*number),
            },
            Value::Boolean(flag) => visitor.visit_bool(*flag),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Date => Err(self.stray(&visitor)),
            Value::List(items) => visitor.visit_seq(Items {
                reader: self,
                items: items.iter(),
                index: 0,
            }),
            Value::Table(_) => self.deserialize_map(visitor),
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'a>>(
        self,
        name: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        debug_assert_eq!(name, LOCATED, "the model has no other tuple structs");
        visitor.visit_seq(Located {
            reader: self,
            part: 0,
        })
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        if name == SECRET {
            self.pass.hide(self.node.span.clone());
        } else if name == SWITCH {
            match &self.node.value {
                Value::Boolean(flag) => return visitor.visit_bool(*flag),
                Value::Table(_) | Value::Nothing => {}
                Value::Text(_)
                | Value::Integer(_)
                | Value::Float(_)
                | Value::Date
                | Value::List(_) => return Err(self.stray(&visitor)),
            }
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'a>>(
        self,
        name: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        let entries = self.table()?;
        visitor.visit_map(Entries {
            reader: self,
            entries,
            section: Some((name, known)),
            value: None,
        })
    }

    fn deserialize_map<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Refusal> {
        let entries = self.table()?;
        visitor.visit_map(Entries {
            reader: self,
            entries,
            section: None,
            value: None,
        })
    }

    serde::forward_to_deserialize_any! {
        <V: Visitor<'a>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct seq tuple enum identifier ignored_any
    }
}

/// A value, its first byte and the byte after its last.
struct Located<'a> {
    reader: Reader<'a>,
    part: u8,
}

impl<'a> SeqAccess<'a> for Located<'a> {
    type Error = Refusal;

    fn next_element_seed<T: DeserializeSeed<'a>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Refusal> {
        self.part += 1;
        let span = &self.reader.node.span;
        match self.part {
            1 => match seed.deserialize(self.reader.clone()) {
                Ok(value) => Ok(Some(value)),
                Err(refusal) => {
                    self.reader.refuse(refusal);
                    Ok(None)
                }
            },
            2 => seed.deserialize(span.start.into_deserializer()).map(Some),
            _ => seed.deserialize(span.end.into_deserializer()).map(Some),
        }
    }
}

struct Items<'a> {
    reader: Reader<'a>,
    items: std::slice::Iter<'a, Node>,
    index: usize,
}

impl<'a> SeqAccess<'a> for Items<'a> {
    type Error = Refusal;

    fn next_element_seed<T: DeserializeSeed<'a>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Refusal> {
        let Some(node) = self.items.next() else {
            return Ok(None);
        };
        let path = Rc::from(format!("{}[{}]", self.reader.path, self.index));
        self.index += 1;
        seed.deserialize(Reader {
            pass: self.reader.pass,
            node,
            path,
        })
        .map(Some)
    }
}

struct Entries<'a> {
    reader: Reader<'a>,
    entries: std::slice::Iter<'a, Entry>,
    /// The struct and its fields; `None` where keys are the user's own.
    section: Option<(&'static str, &'static [&'static str])>,
    value: Option<&'a Entry>,
}

impl<'a> MapAccess<'a> for Entries<'a> {
    type Error = Refusal;

    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Refusal> {
        for entry in self.entries.by_ref() {
            if let Some((section, known)) = self.section {
                if !known.contains(&entry.key.as_str()) {
                    let pass = self.reader.pass;
                    pass.hide_values(&entry.node);
                    let message = later::unknown_option(section, &self.reader.path, entry, known);
                    pass.note(entry.key_span.clone(), message);
                    continue;
                }
                // An option without a value, as YAML can have it, is an option not given.
                if matches!(entry.node.value, Value::Nothing) {
                    continue;
                }
            }
            self.value = Some(entry);
            return seed.deserialize(Key(entry)).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<T: DeserializeSeed<'a>>(&mut self, seed: T) -> Result<T::Value, Refusal> {
        let entry = self
            .value
            .take()
            .expect("invariant: serde asks for a value after its key");
        seed.deserialize(self.reader.below(entry))
    }
}

/// A key, with its place where the model wants it.
struct Key<'a>(&'a Entry);

impl<'a> Deserializer<'a> for Key<'a> {
    type Error = Refusal;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_borrowed_str(&self.0.key)
    }

    fn deserialize_tuple_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        visitor.visit_seq(LocatedKey {
            entry: self.0,
            part: 0,
        })
    }

    serde::forward_to_deserialize_any! {
        <V: Visitor<'a>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple map struct enum identifier ignored_any
    }
}

struct LocatedKey<'a> {
    entry: &'a Entry,
    part: u8,
}

impl<'a> SeqAccess<'a> for LocatedKey<'a> {
    type Error = Refusal;

    fn next_element_seed<T: DeserializeSeed<'a>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Refusal> {
        self.part += 1;
        match self.part {
            1 => seed.deserialize(self.entry.key.as_str().into_deserializer()),
            2 => seed.deserialize(self.entry.key_span.start.into_deserializer()),
            _ => seed.deserialize(self.entry.key_span.end.into_deserializer()),
        }
        .map(Some)
    }
}
