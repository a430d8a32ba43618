//! `docs/routing.md` and the code must agree.

use crate::config::schema::options;
use highwater_core::{
    score::{Inputs, ScoreSettings, score},
    stats::Blended,
};
use std::path::Path;

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/routing.md");
    std::fs::read_to_string(path).unwrap()
}

/// What stands between backticks in one line.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// The name under which `docs/routing.md` writes an option.
fn name(section: &str, option: &str) -> Option<String> {
    let section = section.strip_prefix("chains.NAME")?;
    Some(match section {
        "" | ".endpoints" => option.to_owned(),
        section => format!("{}.{option}", section.trim_start_matches('.')),
    })
}

// G-12
#[test]
fn every_default_in_the_text_is_the_default() {
    let document = document();
    let mut told = 0;
    for span in spans(&document) {
        let Some((option, default)) = span.split_once(" = ") else {
            continue;
        };
        let mut rows = options().iter();
        let known = rows.find(|row| name(row.section, &row.name).as_deref() == Some(option));
        let Some(known) = known else {
            // What an answer holds.
            assert_eq!(option, "data.source", "no such option");
            continue;
        };
        assert_eq!(known.default, default, "{option}");
        told += 1;
    }
    assert!(told > 70, "{told}");
}

// G-12
#[test]
fn every_option_of_the_engine_is_in_the_text() {
    let document = document();
    let all: Vec<&str> = spans(&document).collect();
    let elsewhere = [
        "id",
        "aliases",
        // Those of raw transactions are in `docs/sends.md`.
        "writes",
        "write_timeout",
        "broadcast_to",
        "verify_writes",
        "private_writes",
        "private",
        "max_reply",
        "endpoints",
        "url",
        "ws_url",
        "label",
        "region",
        "archive",
        "retry",
        "score",
        "heads",
        "learn",
        "batch",
        // Those of reads are in `docs/reads.md`.
        "price",
        "pin_latest",
        "coalesce",
        "pin",
        "cache",
        "pin.fresh",
        "pin.forward_block_number",
        "pin.present_state",
        "cache.enabled",
        "cache.max_stale_blocks",
        "cache.max_age",
        "cache.max_bytes",
        "cache.max_entries",
        "cache.headers",
        // Those of logs are in `docs/logs.md`.
        "logs",
        "logs.enabled",
        "logs.window",
        "logs.split",
        "logs.max_parts",
        "logs.parallel",
        "weights",
        "breaker",
        "budget",
        "budget.rps",
        "budget.burst",
        "hedge",
    ];
    for option in options() {
        let Some(name) = name(option.section, &option.name) else {
            continue;
        };
        let said =
            |span: &&str| span.split(" = ").next() == Some(name.as_str()) || **span == *option.name;
        assert!(
            all.iter().any(said) || elsewhere.contains(&name.as_str()),
            "`{name}`"
        );
    }
}

//
#[test]
fn the_example_of_a_score_is_computed_as_the_text_says() {
    let inputs = Inputs {
        blended: Blended {
            latency_ms: 80.0,
            tail_ms: 150.0,
            error: 0.1,
            samples: 5,
        },
        inflight: 2,
        excess_lag: Some(3),
        slope: 0.0,
        weight: 2.0,
    };
    let parts = score(&inputs, &ScoreSettings::default());
    let document = document();
    for (part, value) in [
        ("service", parts.service_ms),
        ("slope", parts.slope),
        ("load", parts.load),
        ("errors", parts.errors),
        ("lag", parts.lag),
        ("weight", parts.weight),
        ("**score**", parts.total),
    ] {
        let mut lines = document.lines();
        let line = lines.find(|line| line.starts_with(&format!("| {part} |")));
        let line = line.unwrap_or_else(|| panic!("{part}"));
        let told = line.trim_end_matches(" |").rsplit("| ").next().unwrap();
        let told: f64 = told.trim_matches('*').parse().unwrap();
        assert!((told - value).abs() < 1e-9, "{part}: {told} {value}");
    }
}
