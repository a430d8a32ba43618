//! The classifier held to the catalogue, to look-alikes, and to bytes that nobody should send.

mod catalogue;
mod codes;
mod extra;
mod hostile;
mod lines;
mod lookalikes;
mod waits;

use std::time::SystemTime;

use highwater_core::classify::{Classifier, line};
use serde_json::Value;

const CATALOGUE: &str = include_str!("../data/catalogue.jsonl");

fn entries(text: &str) -> impl Iterator<Item = Value> {
    text.lines()
        .map(|l| serde_json::from_str(l).expect("a line of JSON"))
}

fn built_in() -> Classifier {
    Classifier::new(&[]).expect("the built-in table compiles")
}

fn judge(classifier: &Classifier, entry: &Value) -> Value {
    let out =
        line(classifier, &entry.to_string(), SystemTime::UNIX_EPOCH).expect("an entry is a line");
    serde_json::from_str(&out).expect("a verdict is JSON")
}
