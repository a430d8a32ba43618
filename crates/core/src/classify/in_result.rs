//! Failures that stand where a good result should be.
//!
//! Two kinds are known: nodes that answer `eth_call` with the encoded revert as if it were the return
//! value, and tracers that run out of time in the middle of a list. Only these methods are looked at,
//! and only whole, well-formed cases count: a contract may return anything, and a trace may hold any
//! number of failed calls.

use serde_json::value::RawValue;

/// The selector of `Error(string)`.
const ERROR_SELECTOR: &str = "08c379a0";
/// Most elements of a trace list that are looked at.
const MAX_ELEMENTS: usize = 4_096;

/// What a result turns out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hidden {
    Revert,
    Timeout,
}

/// Whether results of this method can be failures at all.
pub(super) fn may_hide(method: &str) -> bool {
    method == "eth_call" || method.starts_with("debug_trace") || method.starts_with("trace_")
}

/// Looks for a failure in the result of a method.
pub(super) fn judge(method: &str, result: &str) -> Option<Hidden> {
    if method == "eth_call" {
        return is_error_string(result).then_some(Hidden::Revert);
    }
    if may_hide(method) && mentions_timeout(result) {
        traced_timeout(result).then_some(Hidden::Timeout)
    } else {
        None
    }
}

fn mentions_timeout(result: &str) -> bool {
    memchr::memmem::find(result.as_bytes(), b"timeout").is_some()
        || memchr::memmem::find(result.as_bytes(), b"timed out").is_some()
}

/// `"0x08c379a0…"`: the selector, offset 32, a length, and exactly as many words as it needs.
fn is_error_string(result: &str) -> bool {
    let Some(hex) = result
        .strip_prefix("\"0x")
        .and_then(|r| r.strip_suffix('"'))
    else {
        return false;
    };
    let Some(body) = hex.strip_prefix(ERROR_SELECTOR) else {
        return false;
    };
    if body.len() < 128 || body.len() % 64 != 0 || !body.bytes().all(|c| c.is_ascii_hexdigit()) {
        return false;
    }
    let word = |i: usize| {
        let (high, low) = body[64 * i..64 * (i + 1)].split_at(48);
        high.bytes()
            .all(|c| c == b'0')
            .then(|| u64::from_str_radix(low, 16).ok())
            .flatten()
    };
    let (Some(32), Some(length)) = (word(0), word(1)) else {
        return false;
    };
    let words = (body.len() / 64) as u64;
    length.div_ceil(32).checked_add(2) == Some(words)
}

/// A list whose elements are per-transaction traces, one of which failed for lack of time; or one
/// such failure in place of the trace.
fn traced_timeout(result: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Element<'a> {
        #[serde(borrow)]
        error: Option<&'a RawValue>,
        #[serde(borrow)]
        result: Option<&'a RawValue>,
    }
    let is_timeout =
        |text: &str| text.starts_with('"') && text.len() < 256 && mentions_timeout(text);
    if result.starts_with('"') {
        return is_timeout(result);
    }
    let Ok(list) = serde_json::from_str::<Vec<&RawValue>>(result) else {
        return false;
    };
    list.iter().take(MAX_ELEMENTS).any(|e| {
        e.get().starts_with('{')
            && serde_json::from_str::<Element<'_>>(e.get())
                .is_ok_and(|e| e.result.is_none() && e.error.is_some_and(|x| is_timeout(x.get())))
    })
}
