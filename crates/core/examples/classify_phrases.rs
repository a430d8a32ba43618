//! Phrases of the table that decide lines of one provider only: facts about that provider rather
//! than about the language of errors.
//!
//! ```text
//! cargo run -p highwater-core --example classify_phrases -- CATALOGUE
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use highwater_core::classify::{Classifier, Evidence};
use serde_json::Value;

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: classify_phrases CATALOGUE");
        return ExitCode::from(2);
    };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) => {
            eprintln!("{path}: {e}");
            return ExitCode::from(2);
        }
    };
    let classifier = Classifier::new(&[]).expect("the built-in table compiles");
    let mut providers: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for l in text.lines() {
        let entry: Value = serde_json::from_str(l).expect("the catalogue is JSON lines");
        let str = |name: &str| entry[name].as_str().unwrap_or("");
        let params = entry
            .get("request_params")
            .map(Value::to_string)
            .unwrap_or_default();
        let evidence = Evidence {
            params: &params,
            head: entry["context"]["head_block"].as_u64(),
            request_id: entry["context"]["request_id"].as_u64().unwrap_or(1),
            ..Evidence::new(
                str("method"),
                entry["http_status"]
                    .as_u64()
                    .and_then(|s| u16::try_from(s).ok())
                    .unwrap_or(200),
                str("body").as_bytes(),
            )
        };
        for phrase in classifier.phrases(&evidence) {
            providers
                .entry(phrase.to_owned())
                .or_default()
                .insert(str("provider").to_owned());
            *lines.entry(phrase.to_owned()).or_default() += 1;
        }
    }
    let mut alone: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (phrase, of) in providers.iter().filter(|(_, of)| of.len() == 1) {
        let provider = of.first().map_or("", String::as_str);
        alone
            .entry(provider)
            .or_default()
            .push(format!("`{phrase}` ({})", lines[phrase]));
    }
    println!(
        "{} phrases decide, {} of them lines of one provider only",
        providers.len(),
        alone.values().map(Vec::len).sum::<usize>()
    );
    println!("\n| provider | phrases (lines) |\n|---|---|");
    for (provider, phrases) in alone {
        println!("| {provider} | {} |", phrases.join(", "));
    }
    ExitCode::SUCCESS
}
