//! YAML into nodes.
//!
//! Only the YAML 1.2 spellings of booleans count, so that `off` and `no` stay words. The parser's
//! own messages may quote the file, so they are replaced by ours.

use super::{Entry, Node, Value};
use crate::config::problem::Problem;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_saphyr::{Error, Location, Spanned};
use std::{fmt, ops::Range};

pub(super) fn parse(text: &str) -> Result<Node, Vec<Problem>> {
    if text.trim().is_empty() {
        return Ok(Node {
            value: Value::Table(Vec::new()),
            span: 0..0,
        });
    }
    let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
    let root: Located = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| vec![problem(&error, text)])?;
    Ok(root.into_node())
}

fn problem(error: &Error, text: &str) -> Problem {
    let span = error
        .location()
        .map_or(text.len()..text.len(), |location| bytes_at(text, location));
    let message = match error.without_snippet() {
        Error::DuplicateMappingKey { .. } => "duplicate key",
        Error::MultipleDocuments { .. } => {
            "not valid YAML: one document is expected, found several"
        }
        Error::UnknownAnchor { .. } => "not valid YAML: this alias names no anchor",
        Error::Eof { .. } => "not valid YAML: the file ends too early",
        Error::Budget { .. } => "not valid YAML: nested or repeated beyond all measure",
        _ => "not valid YAML: check indentation, colons, brackets and quotes up to here",
    };
    Problem::syntax(span, message.to_owned())
}

/// The place of a parser error, which may come without a byte offset.
fn bytes_at(text: &str, location: Location) -> Range<usize> {
    let span = location.span();
    if let (Some(start), Some(len)) = (span.byte_offset(), span.byte_len()) {
        return clamp(start, start.saturating_add(len));
    }
    let (line, column) = (location.line(), location.column());
    let line_start = text
        .split_inclusive('\n')
        .take(usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX))
        .map(str::len)
        .sum::<usize>();
    let start = text[line_start..]
        .char_indices()
        .nth(usize::try_from(column.saturating_sub(1)).unwrap_or(0))
        .map_or(text.len(), |(offset, _)| line_start + offset);
    start..start
}

fn clamp(start: u64, end: u64) -> Range<usize> {
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    start..usize::try_from(end).unwrap_or(usize::MAX).max(start)
}

/// A value on its way from the parser to a [`Node`].
struct Located(Spanned<Raw>);

enum Raw {
    Leaf(Value),
    List(Vec<Located>),
    Table(Vec<(Spanned<String>, Located)>),
}

impl Located {
    fn into_node(self) -> Node {
        let span = place(self.0.referenced);
        let value = match self.0.value {
            Raw::Leaf(value) => value,
            Raw::List(items) => Value::List(items.into_iter().map(Self::into_node).collect()),
            Raw::Table(entries) => Value::Table(
                entries
                    .into_iter()
                    .map(|(key, node)| Entry {
                        key_span: place(key.referenced),
                        key: key.value,
                        node: node.into_node(),
                    })
                    .collect(),
            ),
        };
        // The parser places a collection at its first byte; what is in it says where it ends.
        let end = match &value {
            Value::List(items) => items.last().map(|item| item.span.end),
            Value::Table(entries) => entries.last().map(|entry| entry.node.span.end),
            Value::Nothing
            | Value::Text(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Date => None,
        };
        let end = end.unwrap_or(span.end).max(span.end);
        Node {
            value,
            span: span.start..end,
        }
    }
}

fn place(location: Location) -> Range<usize> {
    let span = location.span();
    let start = span.byte_offset().unwrap_or(0);
    clamp(start, start.saturating_add(span.byte_len().unwrap_or(0)))
}

impl<'de> Deserialize<'de> for Located {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Spanned::deserialize(deserializer).map(Self)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Leaf(Value::Boolean(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Leaf(Value::Integer(value.into())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Leaf(Value::Integer(value.into())))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Raw, E> {
        Ok(Raw::Leaf(Value::Integer(value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Leaf(Value::Float(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Leaf(Value::Text(value.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Leaf(Value::Nothing))
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Leaf(Value::Nothing))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Table(entries))
    }
}
