//! TOML into nodes.

use super::{Entry, Node, Value};
use crate::config::problem::Problem;
use std::ops::Range;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

pub(super) fn parse(text: &str) -> Result<Node, Vec<Problem>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        let span = table.span();
        return Ok(Node {
            value: table_value(table.into_inner()),
            span,
        });
    }
    Err(errors
        .iter()
        .map(|error| {
            let span = error.span().unwrap_or(text.len()..text.len());
            Problem::syntax(span, format!("not valid TOML: {}", reason(error.message())))
        })
        .collect())
}

/// The parser's own texts speak of grammar, never of values.
fn reason(message: &str) -> String {
    let message = message.replace('\n', ", ");
    let number = [
        "invalid float",
        "invalid integer",
        "invalid date",
        "invalid time",
    ];
    if number.iter().any(|start| message.starts_with(start)) {
        return "this is no number; text must be put in quotes".to_owned();
    }
    message
}

fn node(value: Spanned<DeValue<'_>>) -> Node {
    let span = value.span();
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| Value::Float(float(number.as_str())), Value::Integer),
        DeValue::Float(number) => Value::Float(float(number.as_str())),
        DeValue::Boolean(flag) => Value::Boolean(flag),
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(items) => Value::List(items.into_iter().map(node).collect()),
        DeValue::Table(table) => table_value(table),
    };
    Node { value, span }
}

/// The number, or none where it is none.
fn float(digits: &str) -> f64 {
    digits.parse().unwrap_or(f64::NAN)
}

fn table_value(table: DeTable<'_>) -> Value {
    let mut entries: Vec<Entry> = table
        .into_iter()
        .map(|(key, value)| {
            let key_span: Range<usize> = key.span();
            Entry {
                key: key.into_inner().into_owned(),
                key_span,
                node: node(value),
            }
        })
        .collect();
    entries.sort_by_key(|entry| entry.key_span.start);
    Value::Table(entries)
}
