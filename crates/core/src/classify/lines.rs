//! Answers as lines of JSON: what the command `highwater classify` reads and writes.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::class::{SuggestedRange, Verdict};
use super::decide::Classifier;
use super::evidence::Evidence;

/// Why a line is no answer that could be classified. Its text quotes nothing of the line, which may
/// hold URLs with keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LineError(String);

impl LineError {
    fn new(error: &serde_json::Error) -> Self {
        // Wrong values stand between quotes; names of members between backticks.
        let text = error.to_string();
        let (head, tail) = (text.find('"'), text.rfind('"'));
        Self(match (head, tail) {
            (Some(head), Some(tail)) if head < tail => {
                format!("{}…{}", &text[..=head], &text[tail..])
            }
            _ => text,
        })
    }
}

#[derive(serde::Deserialize)]
struct Input<'a> {
    #[serde(default)]
    id: Value,
    http_status: u16,
    #[serde(default)]
    headers: BTreeMap<String, Value>,
    #[serde(default)]
    method: String,
    #[serde(borrow, default)]
    request_params: Option<&'a RawValue>,
    #[serde(default)]
    context: Option<Context>,
    body: String,
}

#[derive(Default, serde::Deserialize)]
struct Context {
    head_block: Option<Quantity>,
    expected_chain_id: Option<Quantity>,
    request_id: Option<u64>,
}

/// A number, or a number in quotes, decimal or hexadecimal.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Quantity {
    Number(u64),
    Text(String),
}

impl Quantity {
    fn value(&self) -> Option<u64> {
        match self {
            Self::Number(n) => Some(*n),
            Self::Text(t) => t
                .strip_prefix("0x")
                .map_or_else(|| t.parse().ok(), |h| u64::from_str_radix(h, 16).ok()),
        }
    }
}

#[derive(Serialize)]
struct Output {
    id: Value,
    class: Option<&'static str>,
    subclass: Option<&'static str>,
    retry_other_endpoint: bool,
    counts_against_endpoint: bool,
    suggested_range: Option<SuggestedRange>,
    retry_after_ms: Option<u64>,
}

/// Classifies one line: an object with `http_status`, `headers`, `method`, `request_params`,
/// `context` and `body` in; an object with the verdict and the same `id` out. A good answer has the
/// class `null`.
///
/// # Errors
/// The line is not such an object.
pub fn line(classifier: &Classifier, line: &str, wall: SystemTime) -> Result<String, LineError> {
    let input: Input<'_> = serde_json::from_str(line).map_err(|e| LineError::new(&e))?;
    let headers: BTreeMap<String, String> = input
        .headers
        .into_iter()
        .map(|(name, value)| {
            let value = match value {
                Value::String(s) => s,
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::Array(_)
                | Value::Object(_) => value.to_string(),
            };
            (name.to_ascii_lowercase(), value)
        })
        .collect();
    let lookup = |name: &str| headers.get(name).map(String::as_str);
    let context = input.context.unwrap_or_default();
    let verdict = classifier.classify(&Evidence {
        method: &input.method,
        params: input.request_params.map_or("", RawValue::get),
        head: context.head_block.as_ref().and_then(Quantity::value),
        expected_chain_id: context.expected_chain_id.as_ref().and_then(Quantity::value),
        request_id: context.request_id.unwrap_or(1),
        status: input.http_status,
        headers: &lookup,
        body: input.body.as_bytes(),
        wall,
    });
    serde_json::to_string(&output(input.id, verdict.as_ref())).map_err(|e| LineError::new(&e))
}

fn output(id: Value, verdict: Option<&Verdict>) -> Output {
    Output {
        id,
        class: verdict.map(|v| v.class.name()),
        subclass: verdict.and_then(|v| v.subclass),
        retry_other_endpoint: verdict.is_some_and(|v| v.retry_other_endpoint),
        counts_against_endpoint: verdict.is_some_and(|v| v.counts_against_endpoint),
        suggested_range: verdict.and_then(|v| v.suggested_range),
        retry_after_ms: verdict
            .and_then(|v| v.retry_after)
            .map(|d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX)),
    }
}
