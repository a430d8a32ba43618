//! An explanation for people.

use serde_json::Value;
use std::fmt::Write as _;

/// The whole text.
pub(super) fn text(explanation: &Value) -> String {
    let mut text = String::new();
    let id = match explanation["id"].as_u64() {
        Some(id) => format!(" (id {id})"),
        None => String::new(),
    };
    let _ = writeln!(
        text,
        "chain {}{id}, reference head {}",
        word(&explanation["chain"]),
        height(&explanation["reference_head"])
    );
    let now = &explanation["now"];
    if !now.is_null() {
        let _ = writeln!(
            text,
            "\na call of {} now, by strategy {}",
            word(&now["method"]),
            word(&now["strategy"])
        );
        text.push_str(&candidates(now));
    }
    let decisions = explanation["decisions"].as_array();
    match decisions.map_or(&[][..], Vec::as_slice) {
        [] => text.push_str("\nno decision was taken yet\n"),
        decisions => {
            text.push_str("\nlast decisions, newest first (at most one a second is kept)\n");
            for decision in decisions {
                let _ = writeln!(
                    text,
                    "\n{} ago: {} went to {}, by strategy {}, reference head {}",
                    age(&decision["age_ms"]),
                    word(&decision["method"]),
                    word(&decision["chosen"]),
                    word(&decision["strategy"]),
                    height(&decision["reference_head"])
                );
                text.push_str(&candidates(decision));
            }
        }
    }
    text
}

const HEADINGS: [&str; 10] = [
    "endpoint", "tier", "score", "service", "slope", "load", "errors", "lag", "weight", "value",
];

/// One line for each endpoint; those that are out say why in place of the strategy's value.
fn candidates(choice: &Value) -> String {
    let endpoints = choice["endpoints"].as_array();
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    for endpoint in endpoints.into_iter().flatten() {
        let parts = &endpoint["parts"];
        let value = match endpoint["out"].as_str() {
            Some(out) => format!("out: {out}"),
            None => number(&endpoint["value"]),
        };
        rows.push([
            word(&endpoint["label"]),
            endpoint["tier"].to_string(),
            number(&endpoint["score"]),
            number(&parts["service_ms"]),
            number(&parts["slope"]),
            number(&parts["load"]),
            number(&parts["errors"]),
            number(&parts["lag"]),
            number(&parts["weight"]),
            value,
        ]);
    }
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: [usize; 10] = std::array::from_fn(width);
    let mut text = String::new();
    for row in &rows {
        let mut line = String::from(" ");
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            // Words to the left, numbers to the right; the last column is both.
            let _ = match column {
                0 => write!(line, " {cell:<width$}"),
                9 => write!(line, "  {cell}"),
                _ => write!(line, "  {cell:>width$}"),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// What is missing or odd is a dash. Nothing that could drive a terminal is let through.
fn word(value: &Value) -> String {
    let text = value.as_str().unwrap_or("-");
    text.chars().filter(|letter| !letter.is_control()).collect()
}

fn height(value: &Value) -> String {
    value
        .as_u64()
        .map_or_else(|| "unknown".to_owned(), |height| height.to_string())
}

/// At most three digits after the point, and none where there are enough before it.
fn number(value: &Value) -> String {
    let Some(number) = value.as_f64() else {
        return "-".to_owned();
    };
    let magnitude = number.abs();
    if magnitude >= 1e7 || (magnitude > 0.0 && magnitude < 1e-3) {
        format!("{number:.2e}")
    } else if magnitude >= 100.0 {
        format!("{number:.0}")
    } else {
        format!("{number:.3}")
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned()
    }
}

fn age(millis: &Value) -> String {
    let millis = millis.as_u64().unwrap_or(0);
    if millis < 60_000 {
        format!("{}.{} s", millis / 1000, millis % 1000 / 100)
    } else {
        format!("{} min", millis / 60_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn endpoint(label: &str, out: Option<&str>, value: Option<f64>) -> Value {
        json!({
            "label": label, "host": "a.example", "tier": 1, "out": out, "score": 1234.5678,
            "parts": {
                "service_ms": 12.3456, "slope": 1.0, "load": 2.25, "errors": 1.0, "lag": 4.0,
                "weight": 1e-6,
            },
            "value": value,
        })
    }

    #[test]
    fn shows_every_endpoint_with_its_score_or_why_it_is_out() {
        let endpoints = json!([
            endpoint("alchemy", None, Some(1234.5678)),
            endpoint("own", Some("its circuit is open"), None),
        ]);
        let explanation = json!({
            "chain": "ethereum", "id": 1, "reference_head": 21_000_000,
            "now": {
                "method": "eth_call", "strategy": "adaptive", "reference_head": 21_000_000,
                "endpoints": endpoints,
            },
            "decisions": [{
                "age_ms": 1250, "method": "eth_call", "chosen": "alchemy", "strategy": "adaptive",
                "reference_head": null, "endpoints": [endpoint("alchemy", None, None)],
            }],
        });
        let expected = "\
chain ethereum (id 1), reference head 21000000

a call of eth_call now, by strategy adaptive
  endpoint  tier  score  service  slope  load  errors  lag   weight  value
  alchemy      1   1235   12.346      1  2.25       1    4  1.00e-6  1235
  own          1   1235   12.346      1  2.25       1    4  1.00e-6  out: its circuit is open

last decisions, newest first (at most one a second is kept)

1.2 s ago: eth_call went to alchemy, by strategy adaptive, reference head unknown
  endpoint  tier  score  service  slope  load  errors  lag   weight  value
  alchemy      1   1235   12.346      1  2.25       1    4  1.00e-6  -
";
        assert_eq!(text(&explanation), expected);
    }

    #[test]
    fn what_is_missing_is_shown_as_missing() {
        let expected = "chain -, reference head unknown\n\nno decision was taken yet\n";
        assert_eq!(text(&json!({})), expected);
        assert_eq!(
            text(&json!({ "chain": "a\u{1b}[31m" })),
            expected.replace('-', "a[31m")
        );
    }

    #[test]
    fn numbers_are_as_long_as_they_are_of_use() {
        for (value, shown) in [
            (0.0, "0"),
            (0.05, "0.05"),
            (1.0, "1"),
            (99.9999, "100"),
            (250.4, "250"),
            (1e6, "1000000"),
            (2.5e7, "2.50e7"),
            (0.0001, "1.00e-4"),
        ] {
            assert_eq!(number(&json!(value)), shown);
        }
        assert_eq!(age(&json!(59_999)), "59.9 s");
        assert_eq!(age(&json!(125_000)), "2 min");
    }
}
