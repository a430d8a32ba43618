use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::{CATALOGUE, built_in, entries, judge};

const FIELDS: [&str; 6] = [
    "class",
    "subclass",
    "retry_other_endpoint",
    "counts_against_endpoint",
    "suggested_range",
    "retry_after_ms",
];

// every line of the catalogue in every field.
#[test]
fn agrees_with_every_line_of_the_catalogue() {
    let classifier = built_in();
    let mut right: BTreeMap<&str, usize> = BTreeMap::new();
    let mut diff = String::new();
    let mut lines = 0;
    for entry in entries(CATALOGUE) {
        lines += 1;
        let got = judge(&classifier, &entry);
        let wrong: Vec<_> = FIELDS
            .into_iter()
            .filter(|f| entry[*f] != got[*f])
            .collect();
        for field in FIELDS.into_iter().filter(|f| !wrong.contains(f)) {
            *right.entry(field).or_default() += 1;
        }
        if !wrong.is_empty() {
            let _ = writeln!(
                diff,
                "{}: {} {}",
                entry["id"], entry["http_status"], entry["method"]
            );
            let _ = writeln!(
                diff,
                "  body: {}",
                entry["body"].as_str().unwrap_or_default()
            );
            for field in wrong {
                let _ = writeln!(
                    diff,
                    "  {field}: expected {}, got {}",
                    entry[field], got[field]
                );
            }
            let _ = writeln!(
                diff,
                "  why: {}",
                entry["note"].as_str().unwrap_or_default()
            );
        }
    }
    println!("{lines} lines; right per field: {right:?}");
    assert!(diff.is_empty(), "\n{diff}");
    assert_eq!(lines, 587);
}

// the classes are a closed set, and the catalogue knows each of them.
#[test]
fn every_class_has_a_line() {
    let seen: std::collections::BTreeSet<String> = entries(CATALOGUE)
        .filter_map(|e| e["class"].as_str().map(str::to_owned))
        .collect();
    for class in highwater_core::classify::Class::ALL {
        assert!(seen.contains(class.name()), "{} has no line", class.name());
        assert_eq!(
            serde_json::to_value(class).unwrap(),
            Value::String(class.name().to_owned())
        );
    }
    assert_eq!(seen.len(), 26);
}

// answers that are not in the catalogue, from public source code, issues and documentation.
#[test]
fn knows_the_class_of_answers_outside_the_catalogue() {
    let classifier = built_in();
    let mut diff = String::new();
    let mut lines = 0;
    for entry in entries(include_str!("../data/unlisted.jsonl")) {
        lines += 1;
        let got = judge(&classifier, &entry);
        for field in ["class", "suggested_range", "retry_after_ms"] {
            if entry.get(field).is_some_and(|want| *want != got[field]) {
                let _ = writeln!(
                    diff,
                    "{} {}: {field}: expected {}, got {}",
                    entry["id"], entry["body"], entry[field], got[field]
                );
            }
        }
    }
    println!("{lines} answers");
    assert!(diff.is_empty(), "\n{diff}");
}
