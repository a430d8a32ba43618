//! Scores of the classifier over a catalogue of answers, per provider.
//!
//! ```text
//! cargo run -p highwater-core --example classify_scores -- FILE [--misses] [--without PROVIDERS] [--only PROVIDERS]
//! ```
//!
//! `--misses` prints each line that differs, `--only a,b` and `--without a,b` choose providers. The
//! columns count lines whose class, subclass, both flags, wait and range are those of the catalogue;
//! `all` counts lines that are right in every column.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::SystemTime;

use highwater_core::classify::{Classifier, line};
use serde_json::Value;

const FIELDS: [(&str, &[&str]); 5] = [
    ("class", &["class"]),
    ("subclass", &["subclass"]),
    (
        "flags",
        &["retry_other_endpoint", "counts_against_endpoint"],
    ),
    ("wait", &["retry_after_ms"]),
    ("range", &["suggested_range"]),
];

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(path) = args.next() else {
        eprintln!("usage: classify_scores FILE [--misses] [--only a,b] [--without a,b]");
        return ExitCode::from(2);
    };
    let (mut misses, mut only, mut without) = (false, None, String::new());
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--misses" => misses = true,
            "--only" => only = args.next(),
            "--without" => without = args.next().unwrap_or_default(),
            other => {
                eprintln!("unknown argument {other:?}");
                return ExitCode::from(2);
            }
        }
    }
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) => {
            eprintln!("{path}: {e}");
            return ExitCode::from(2);
        }
    };
    let classifier = Classifier::new(&[]).expect("the built-in table compiles");
    let listed = |list: &str, name: &str| list.split(',').any(|p| p == name);
    let mut scores: BTreeMap<String, [usize; 7]> = BTreeMap::new();
    for l in text.lines() {
        let entry: Value = serde_json::from_str(l).expect("the catalogue is JSON lines");
        let provider = entry["provider"].as_str().unwrap_or("unknown").to_owned();
        if only.as_deref().is_some_and(|o| !listed(o, &provider)) || listed(&without, &provider) {
            continue;
        }
        let got: Value =
            serde_json::from_str(&line(&classifier, l, SystemTime::UNIX_EPOCH).expect("a line"))
                .expect("JSON");
        let score = scores.entry(provider).or_default();
        score[0] += 1;
        let mut all = true;
        for (n, (_, members)) in FIELDS.iter().enumerate() {
            let same = members.iter().all(|m| entry[*m] == got[*m]);
            score[n + 1] += usize::from(same);
            all &= same;
        }
        score[6] += usize::from(all);
        if misses && !all {
            println!(
                "{}  {} {}",
                entry["id"], entry["http_status"], entry["method"]
            );
            println!(
                "    {}",
                entry["body"]
                    .as_str()
                    .unwrap_or("")
                    .chars()
                    .take(400)
                    .collect::<String>()
            );
            for (name, members) in FIELDS {
                for m in members.iter().filter(|m| entry[**m] != got[**m]) {
                    println!("    {name}: {m} want {} got {}", entry[*m], got[*m]);
                }
            }
        }
    }
    let mut rows: Vec<_> = scores.into_iter().collect();
    rows.sort_by_key(|(name, s)| (std::cmp::Reverse(s[0]), name.clone()));
    println!(
        "| provider | lines | class | subclass | flags | wait | range | all |\n|---|---|---|---|---|---|---|---|"
    );
    let mut sum = [0; 7];
    for (name, s) in &rows {
        println!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} |",
            s[0], s[1], s[2], s[3], s[4], s[5], s[6]
        );
        for (a, b) in sum.iter_mut().zip(s) {
            *a += b;
        }
    }
    println!(
        "| sum | {} | {} | {} | {} | {} | {} | {} |",
        sum[0], sum[1], sum[2], sum[3], sum[4], sum[5], sum[6]
    );
    ExitCode::SUCCESS
}
