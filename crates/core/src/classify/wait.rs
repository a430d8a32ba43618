//! How long an answer asks to wait, as it states it and uncapped (R-21 caps the use of it).
//!
//! In this order: `Retry-After` in seconds or as a date, headers that state a reset, named numbers in
//! the data, words. A date in the past is no wait.

use std::time::{Duration, SystemTime};

use super::class::Class;
use super::evidence::Evidence;
use super::scan::Said;

/// From this value on a reset is a moment in Unix seconds, below it a number of seconds from now.
const UNIX_SECONDS: f64 = 1e9;
/// From this value on it is in milliseconds.
const UNIX_MILLIS: f64 = 1e11;

/// The headers that say how long to wait, the one of the specification first.
const HEADERS: [&str; 7] = [
    "retry-after",
    "retry-after-ms",
    "x-ratelimit-reset",
    "ratelimit-reset",
    "x-rate-limit-reset",
    "x-ratelimit-retry-after",
    "x-ratelimit-reset-after",
];

/// Whether an answer's meaning may depend on the header of this name, in whatever case: of the others
/// nothing is asked.
#[must_use]
pub fn reads_header(name: &str) -> bool {
    HEADERS.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The wait that an answer of this class states.
pub(super) fn stated(ev: &Evidence<'_>, said: &Said, class: Class) -> Option<Duration> {
    let busy = matches!(
        class,
        Class::RateLimited
            | Class::QuotaExhausted
            | Class::Overloaded
            | Class::Timeout
            | Class::BadGatewayHtml
            | Class::Syncing
    );
    (ev.headers)("retry-after")
        .and_then(|v| retry_after(v, ev.wall))
        .or_else(|| busy.then(|| headers(ev)).flatten())
        .or_else(|| busy.then(|| facts(said, ev.wall)).flatten())
        .or_else(|| busy.then(|| words(said)).flatten())
}

/// Reads `Retry-After`: seconds, with a fraction or a unit if need be, or a date.
#[must_use]
pub fn retry_after(value: &str, wall: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return seconds_from(seconds);
    }
    if let Ok(date) = httpdate::parse_http_date(value) {
        return Some(date.duration_since(wall).unwrap_or(Duration::ZERO));
    }
    duration(value)
}

/// Reads `10m0s`, `4ms`, `707.5ms`, `20 seconds`.
pub(super) fn duration(value: &str) -> Option<Duration> {
    let mut said = Said::default();
    said.folded
        .push(&value.as_bytes()[..value.len().min(64)], 0);
    let segment = *said.folded.segments.first()?;
    duration_at(&said, segment.start, segment.end)
}

fn headers(ev: &Evidence<'_>) -> Option<Duration> {
    let [_, in_millis, resets @ ..] = HEADERS;
    if let Some(ms) = (ev.headers)(in_millis).and_then(|v| v.trim().parse::<f64>().ok()) {
        return seconds_from(ms / 1_000.0);
    }
    resets
        .iter()
        .find_map(|name| (ev.headers)(name))
        .and_then(|v| {
            v.trim()
                .parse::<f64>()
                .map_or_else(|_| retry_after(v, ev.wall), |n| moment(n, ev.wall))
        })
}

fn facts(said: &Said, wall: SystemTime) -> Option<Duration> {
    said.facts.iter().find_map(|fact| match fact.name() {
        b"backoffseconds" | b"retryafter" | b"retryafterseconds" | b"retryin" | b"waitseconds"
        | b"resetin" | b"tryagainin" => seconds_from(fact.value),
        b"retryafterms" | b"waitms" | b"backoffms" | b"retryinms" | b"retryaftermillis" => {
            seconds_from(fact.value / 1_000.0)
        }
        b"reset" | b"resetat" | b"ratelimitreset" => moment(fact.value, wall),
        _ => None,
    })
}

fn words(said: &Said) -> Option<Duration> {
    const MARKS: &[&[u8]] = &[
        b" retry in #",
        b" again in #",
        b" retry after #",
        b" wait #",
        b" again after #",
        b" reset in #",
        b" resets in #",
        b" available in #",
        b" back off for #",
        b" backoff for #",
        b" wait for #",
        b" wait at least #",
        b" retry in about #",
        b" again in about #",
        b" retrying in #",
        b" after waiting #",
    ];
    let text = &said.folded.text;
    if said.folded.numbers.is_empty() {
        return None;
    }
    for segment in &said.folded.segments {
        let slice = &text[segment.start..segment.end];
        for mark in MARKS {
            if let Some(at) = memchr::memmem::find(slice, mark) {
                return duration_at(said, segment.start + at + mark.len() - 1, segment.end);
            }
        }
    }
    None
}

/// Reads `# m # s`, `# ms`, `# seconds`, `#` from the place of the first `#`.
fn duration_at(said: &Said, start: usize, end: usize) -> Option<Duration> {
    let text = &said.folded.text[start..end];
    let mut at = start;
    let mut total = 0.0_f64;
    let mut pending: Option<f64> = None;
    let mut read = false;
    for word in text.split(|c| *c == b' ') {
        if word == b"#" {
            if pending.is_some() {
                break;
            }
            let n = said
                .folded
                .numbers
                .binary_search_by_key(&at, |n| n.at)
                .ok()?;
            let n = said.folded.numbers[n];
            pending = Some(n.value as f64 + f64::from(n.milli) / 1_000.0);
        } else if let Some(value) = pending {
            let unit = match word {
                b"ms" | b"millis" | b"milliseconds" | b"millisecond" => 0.001,
                b"s" | b"sec" | b"secs" | b"second" | b"seconds" => 1.0,
                b"m" | b"min" | b"mins" | b"minute" | b"minutes" => 60.0,
                b"h" | b"hr" | b"hour" | b"hours" => 3_600.0,
                b"d" | b"day" | b"days" => 86_400.0,
                _ => break,
            };
            total += value * unit;
            read = true;
            pending = None;
        } else if !word.is_empty() {
            break;
        }
        at += word.len() + 1;
    }
    if let (false, Some(value)) = (read, pending) {
        total = value;
    }
    (read || pending.is_some())
        .then(|| seconds_from(total))
        .flatten()
}

/// A reset that is either a moment or a number of seconds from now.
fn moment(value: f64, wall: SystemTime) -> Option<Duration> {
    if value < UNIX_SECONDS {
        return seconds_from(value);
    }
    let at = if value < UNIX_MILLIS {
        seconds_from(value)?
    } else {
        seconds_from(value / 1_000.0)?
    };
    let now = wall.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(at.saturating_sub(now))
}

fn seconds_from(seconds: f64) -> Option<Duration> {
    // Rounded to milliseconds: 0.004 s is 4 ms and not 3.999999 ms.
    (seconds.is_finite() && (0.0..1e11).contains(&seconds))
        .then(|| Duration::from_millis((seconds * 1_000.0).round() as u64))
}
