//! Which methods a caller may use (G-6, hardening C6, C7).
//!
//! One question, asked in one place for every door. Off unless allowed: rows of the lane `denied`
//! (node control, signers, wallets, dev-node cheats), the namespaces `debug`, `trace`, `txpool`
//! and `arbtrace`, and methods that no row knows. `[server] methods` and a key's `methods` change
//! that:
//!
//! - a match in any `deny` refuses, whatever allows it;
//! - a key with a non-empty `allow` may use only what that list matches;
//! - a method that is off is allowed by a pattern of the server or the key that means it: its exact
//!   name, or for the tracing namespaces and unknown methods a pattern within their namespace
//!   (`debug_*`). Neither `*` nor `eth_*` turns on a signer or a node-control method: those need
//!   their name, or, where the table knows only the namespace (`admin_*`), a pattern within it.
//!
//! All comparisons fold ASCII case, so that no spelling slips past a rule.

use crate::config::{KeySettings, MethodRules};
use highwater_core::method::{Descriptor, Lane};

/// Namespaces that show a node's inside or cost it much; off by default.
const OFF: [&str; 4] = ["debug", "trace", "txpool", "arbtrace"];

/// The rules for everybody.
#[derive(Clone, Debug, Default)]
pub(crate) struct Policy {
    rules: Rules,
}

/// The rules of one key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    allow: Vec<Pattern>,
    deny: Vec<Pattern>,
}

/// Names and prefixes of methods.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(Vec<Pattern>);

#[derive(Clone, Debug)]
struct Pattern {
    /// Without the star.
    text: Box<str>,
    prefix: bool,
}

impl Policy {
    pub(crate) fn new(rules: &MethodRules) -> Self {
        Self {
            rules: Rules::new(rules),
        }
    }

    /// Whether a caller, with the rules of its key if it has one, may use a method. `row` is the
    /// row of the method with its case folded.
    pub(crate) fn allows(&self, key: Option<&Rules>, method: &str, row: &Descriptor) -> bool {
        let server = &self.rules;
        if matches_any(&server.deny, method) {
            return false;
        }
        if let Some(key) = key
            && (matches_any(&key.deny, method)
                || !(key.allow.is_empty() || matches_any(&key.allow, method)))
        {
            return false;
        }
        on_by_default(row)
            || means_any(&server.allow, method, row)
            || key.is_some_and(|key| means_any(&key.allow, method, row))
    }
}

impl Rules {
    pub(crate) fn new(rules: &MethodRules) -> Self {
        let patterns = |list: &[String]| list.iter().map(|text| Pattern::new(text)).collect();
        Self {
            allow: patterns(&rules.allow),
            deny: patterns(&rules.deny),
        }
    }

    pub(crate) fn of_key(key: &KeySettings) -> Self {
        Self::new(&key.methods)
    }
}

impl Names {
    pub(crate) fn new(list: &[String]) -> Self {
        Self(list.iter().map(|text| Pattern::new(text)).collect())
    }

    pub(crate) fn contain(&self, method: &str) -> bool {
        matches_any(&self.0, method)
    }
}

impl Pattern {
    fn new(text: &str) -> Self {
        match text.strip_suffix('*') {
            Some(text) => Self {
                text: text.into(),
                prefix: true,
            },
            None => Self {
                text: text.into(),
                prefix: false,
            },
        }
    }

    fn matches(&self, method: &str) -> bool {
        if self.prefix {
            starts_with(method, &self.text)
        } else {
            self.text.eq_ignore_ascii_case(method)
        }
    }

    /// Whether the pattern turns on a method that is off by default.
    fn means(&self, method: &str, row: &Descriptor) -> bool {
        if !self.matches(method) {
            return false;
        }
        if !self.prefix {
            return true;
        }
        match row.name.strip_suffix('*') {
            // Only the namespace, or nothing, is known of it.
            Some(known) => !self.text.is_empty() && starts_with(&self.text, known),
            None if row.lane == Lane::Denied => false,
            None => self.text.find('_').is_some(),
        }
    }
}

fn on_by_default(row: &Descriptor) -> bool {
    row.lane != Lane::Denied && row.name != "*" && !OFF.contains(&namespace(row.name))
}

fn namespace(name: &str) -> &str {
    name.split_once('_').map_or(name, |(ns, _)| ns)
}

fn matches_any(patterns: &[Pattern], method: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(method))
}

fn means_any(patterns: &[Pattern], method: &str, row: &Descriptor) -> bool {
    patterns.iter().any(|pattern| pattern.means(method, row))
}

fn starts_with(text: &str, prefix: &str) -> bool {
    text.as_bytes()
        .split_at_checked(prefix.len())
        .is_some_and(|(head, _)| head.eq_ignore_ascii_case(prefix.as_bytes()))
}
