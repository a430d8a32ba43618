//! Keys that no section knows: a misspelt one, one in the wrong section, one of a later version.
//!
//! A key is never ignored. Options whose feature does not exist yet are told apart from misspelt
//! ones, so that nobody believes to have switched something on. H5.

use super::{document::Entry, schema};

/// Below this likeness (Jaro–Winkler, 0 to 1) a suggestion would only confuse.
const LIKE: f64 = 0.84;

/// Sections and options that are named in the interface but have no effect yet, by the section
/// struct they would stand in.
const LATER: &[(&str, &[&str])] = &[
    (
        "Root",
        &[
            "redis",
            "keys_file",
            "registry",
            "telemetry",
            "tls",
            "accounts",
            "scores",
        ],
    ),
    (
        "Server",
        &[
            "tls",
            "compression",
            "rps",
            "burst",
            "max_subscriptions",
            "websocket",
            "http2",
        ],
    ),
    (
        "Chain",
        &[
            "refresh_interval",
            "methods",
            "registry",
            "max_list_age",
            "genesis",
        ],
    ),
    ("Endpoint", &["headers"]),
    (
        "Key",
        &[
            "rps",
            "burst",
            "expires",
            "expiry",
            "weight",
            "budget",
            "budget_share",
            "compute_units",
            "region",
        ],
    ),
    ("Admin", &["tls"]),
];

/// Whether an option is named in the interface but not available yet.
fn is_later(section: &str, key: &str) -> bool {
    LATER
        .iter()
        .any(|(name, keys)| *name == section && keys.contains(&key))
}

/// The message for a key that the section at `path` does not know.
pub(super) fn unknown_option(section: &str, path: &str, entry: &Entry, known: &[&str]) -> String {
    let key = entry.key.as_str();
    let place = if path.is_empty() {
        String::new()
    } else {
        format!(" in `{path}`")
    };
    if is_later(section, key) {
        return format!("`{key}`{place} is not available in this version yet: remove it");
    }
    let kind = if entry.node.value.is_section() {
        "section"
    } else {
        "option"
    };
    let unknown = format!("unknown {kind} `{key}`{place}");
    let homes = schema::sections_of(key);
    if !homes.is_empty() {
        return format!("{unknown}: it belongs in {}", alternatives(&homes));
    }
    let names = known.iter().copied();
    if let Some(name) = nearest(key, names) {
        return format!("{unknown}: did you mean `{name}`?");
    }
    let later = LATER
        .iter()
        .filter(|(name, _)| *name == section)
        .flat_map(|(_, keys)| *keys);
    if let Some(name) = nearest(key, later.copied()) {
        return format!("{unknown}: `{name}` is not available in this version yet: remove it");
    }
    format!("{unknown}: expected one of {}", list(known))
}

/// The name that `word` was probably meant to be.
pub(super) fn nearest<'n>(word: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let folded = word.to_ascii_lowercase().replace('-', "_");
    names
        .map(|name| (strsim::jaro_winkler(&folded, name), name))
        .filter(|(likeness, _)| *likeness >= LIKE)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, name)| name)
}

fn alternatives(names: &[&str]) -> String {
    list(names).replace(", ", " or ")
}

/// Names in backticks, separated by commas.
fn list(names: &[&str]) -> String {
    names
        .iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}
