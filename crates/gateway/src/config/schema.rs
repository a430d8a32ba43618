//! The JSON schema of the configuration file, and the list of options drawn from it.

use super::model;
use serde_json::Value;
use std::{fmt::Write as _, sync::OnceLock};

/// The sections in the order in which they are documented: title, struct of the model.
const SECTIONS: [(&str, &str); 24] = [
    ("server", "Server"),
    ("admin", "Admin"),
    ("chains.NAME", "Chain"),
    ("chains.NAME.retry", "Retry"),
    ("chains.NAME.hedge", "Hedge"),
    ("chains.NAME.score", "Score"),
    ("chains.NAME.weights", "Weights"),
    ("chains.NAME.heads", "Heads"),
    ("chains.NAME.breaker", "Breaker"),
    ("chains.NAME.breaker.failure_rate", "FailureRate"),
    ("chains.NAME.breaker.exclusion_trial", "ExclusionTrial"),
    ("chains.NAME.budget", "Budget"),
    ("chains.NAME.budget.learn", "LearnedLimit"),
    ("chains.NAME.learn", "Learn"),
    ("chains.NAME.batch", "Batch"),
    ("chains.NAME.pin", "Pin"),
    ("chains.NAME.cache", "Cache"),
    ("chains.NAME.logs", "Logs"),
    ("chains.NAME.endpoints", "Endpoint"),
    ("keys", "Key"),
    ("error_rules", "ErrorRule"),
    ("server.methods", "Methods"),
    ("state", "State"),
    ("log", "Log"),
];

/// One option as the schema describes it.
#[derive(Clone, Debug)]
pub struct OptionRow {
    /// The section it stands in, such as `server`.
    pub section: &'static str,
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: String,
    /// Its default as it would be written; empty when it has none.
    pub default: String,
    /// What it does.
    pub meaning: String,
    /// Whether its value is one visible text, number or flag.
    pub(super) open: bool,
}

/// The JSON schema (draft 2020-12) of the configuration file.
#[must_use]
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(model::Root).to_value();
    if let Some(root) = schema.as_object_mut() {
        root.insert("title".to_owned(), "Highwater configuration".into());
    }
    schema
}

/// All options, by section.
pub fn options() -> &'static [OptionRow] {
    static OPTIONS: OnceLock<Vec<OptionRow>> = OnceLock::new();
    OPTIONS.get_or_init(|| {
        let schema = schema();
        let mut rows = Vec::new();
        for (section, name) in SECTIONS {
            let properties = &schema["$defs"][name]["properties"];
            for (name, property) in properties.as_object().into_iter().flatten() {
                rows.push(row(section, name, property));
            }
        }
        rows
    })
}

/// The tables of `docs/configuration.md`.
#[must_use]
pub fn options_markdown() -> String {
    let mut text = String::new();
    for (section, _) in SECTIONS {
        let title = match section {
            "chains.NAME.endpoints" | "keys" | "error_rules" => format!("[[{section}]]"),
            "server.methods" => "methods".to_owned(),
            _ => format!("[{section}]"),
        };
        let _ = write!(
            text,
            "### `{title}`\n\n| option | value | default | |\n|---|---|---|---|\n"
        );
        for row in options().iter().filter(|row| row.section == section) {
            let default = if row.default.is_empty() {
                "–".to_owned()
            } else {
                format!("`{}`", row.default)
            };
            let OptionRow {
                name,
                kind,
                meaning,
                ..
            } = row;
            let _ = writeln!(text, "| `{name}` | {kind} | {default} | {meaning} |");
        }
        text.push('\n');
    }
    text
}

/// The sections in which an option of this name stands.
pub(super) fn sections_of(name: &str) -> Vec<&'static str> {
    options()
        .iter()
        .filter(|row| row.name == name)
        .map(|row| row.section)
        .collect()
}

/// Whether every option of this name is one plain value that may be shown.
pub(super) fn is_open(name: &str) -> bool {
    let mut rows = options().iter().filter(|row| row.name == name).peekable();
    rows.peek().is_some() && rows.all(|row| row.open)
}

fn row(section: &'static str, name: &str, property: &Value) -> OptionRow {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let format = text(&property["format"]);
    let default = match &property["default"] {
        Value::Null => String::new(),
        default => default.to_string(),
    };
    let open = matches!(
        property["type"].as_str(),
        Some("string" | "integer" | "number" | "boolean")
    ) && !matches!(format.as_str(), "secret" | "sha256:hex");
    let meaning = text(&property["description"]).replace('\n', " ");
    OptionRow {
        section,
        name: name.to_owned(),
        kind: kind(property),
        default,
        meaning,
        open,
    }
}

/// What an option holds, in words.
fn kind(property: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = |parts: &[Value], one: &dyn Fn(&Value) -> String| {
        parts.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    match (
        property["type"].as_str(),
        &property["enum"],
        &property["anyOf"],
    ) {
        (Some("array"), ..) => match property["items"]["format"].as_str() {
            Some(format) => format!("list of: {format}"),
            None => "list of sections".to_owned(),
        },
        (_, Value::Array(words), _) => all(words, &|word| format!("`{}`", text(word))),
        (_, _, Value::Array(kinds)) => all(kinds, &kind),
        (Some("string"), ..) => text(&property["format"]),
        (Some("integer"), ..) => "whole number".to_owned(),
        (Some("number"), ..) => "number".to_owned(),
        (Some("boolean"), ..) => "`true`, `false`".to_owned(),
        _ => "section".to_owned(),
    }
}
