//! A configuration file as a tree that remembers where everything stood.
//!
//! TOML and YAML are read into the same [`Node`]s, so that one reader, one set of checks and one
//! set of messages serve both, and so that every problem can point at its line.

mod toml;
mod yaml;

use super::problem::Problem;
use std::ops::Range;

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// TOML, the primary format.
    Toml,
    /// YAML with the same names.
    Yaml,
}

impl Format {
    /// The format that a file name asks for: YAML for `.yaml` and `.yml`, else TOML.
    #[must_use]
    pub fn of_path(path: &std::path::Path) -> Self {
        let yaml = path
            .extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("yaml") || end.eq_ignore_ascii_case("yml"));
        if yaml { Self::Yaml } else { Self::Toml }
    }

    /// Reads a text into a tree, or says at once all that is wrong with its syntax.
    pub(super) fn parse(self, text: &str) -> Result<Node, Vec<Problem>> {
        match self {
            Self::Toml => toml::parse(text),
            Self::Yaml => yaml::parse(text),
        }
    }
}

/// One value and the bytes of the file that hold it.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) span: Range<usize>,
}

/// What both formats can express.
#[derive(Clone)]
pub(super) enum Value {
    Nothing,
    Text(String),
    Integer(i128),
    Float(f64),
    Boolean(bool),
    Date,
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// One `key = value`.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_span: Range<usize>,
    pub(super) node: Node,
}

impl Value {
    /// Whether it can be shown without knowing what it was meant to be.
    pub(super) const fn is_number_or_flag(&self) -> bool {
        matches!(
            self,
            Self::Integer(_) | Self::Float(_) | Self::Boolean(_) | Self::Date
        )
    }

    /// Whether it is a table or a list of tables.
    pub(super) fn is_section(&self) -> bool {
        match self {
            Self::Table(_) => true,
            Self::List(items) => items
                .iter()
                .all(|item| matches!(item.value, Self::Table(_))),
            Self::Nothing
            | Self::Text(_)
            | Self::Integer(_)
            | Self::Float(_)
            | Self::Boolean(_)
            | Self::Date => false,
        }
    }

    /// The kind of value, for a message; never the value.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Text(_) => "a string",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number with a fraction",
            Self::Boolean(_) => "true or false",
            Self::Date => "a date",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}
