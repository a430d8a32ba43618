//! One typical answer for each class of failure, so that a scenario can name the class.
//!
//! The texts are ours where clients agree on a meaning but not on words, and a client's own where
//! the words are the meaning.

/// Class, HTTP status, JSON-RPC code, message.
const CLASSES: [(&str, u16, i64, &str); 24] = [
    ("already_known", 200, -32000, "already known"),
    ("behind", 200, -32000, "header not found"),
    ("bad_gateway", 502, -32603, "bad gateway"),
    ("execution_revert", 200, 3, "execution reverted"),
    ("filter_not_found", 200, -32000, "filter not found"),
    ("internal", 200, -32603, "internal error"),
    (
        "invalid_params",
        200,
        -32602,
        "missing value for required argument 0",
    ),
    ("invalid_request", 200, -32600, "invalid request"),
    (
        "method_blocked",
        403,
        -32601,
        "rpc method is not whitelisted",
    ),
    (
        "method_unsupported",
        200,
        -32601,
        "the method does not exist/is not available",
    ),
    (
        "missing_history",
        200,
        -32000,
        "missing trie node (path ) <nil>",
    ),
    ("overloaded", 200, -32603, "overloaded, try again later"),
    ("parse_error", 200, -32700, "parse error"),
    ("payload_too_large", 413, -32600, "request entity too large"),
    (
        "quota_exhausted",
        402,
        -32000,
        "monthly quota exceeded, upgrade your plan",
    ),
    (
        "range_limit",
        200,
        -32602,
        "exceed maximum block range 1000",
    ),
    (
        "rate_limited",
        429,
        429,
        "rate limit exceeded, too many requests per second",
    ),
    (
        "reorged_block",
        200,
        -32000,
        "hash is not currently canonical",
    ),
    (
        "subscription_unsupported",
        200,
        -32601,
        "notifications not supported",
    ),
    (
        "syncing",
        200,
        -32000,
        "transaction indexing is in progress",
    ),
    ("timeout", 200, -32000, "execution aborted (timeout = 5s)"),
    (
        "tx_rejected",
        200,
        -32000,
        "insufficient funds for gas * price + value",
    ),
    ("unauthorized", 401, -32600, "invalid API key"),
    ("wrong_chain", 403, -32600, "this key is for another chain"),
];

/// HTTP status, code and message of a class.
pub(super) fn find(name: &str) -> Option<(u16, i64, &'static str)> {
    let row = CLASSES.iter().find(|(class, ..)| *class == name)?;
    Some((row.1, row.2, row.3))
}

/// The names of all classes.
pub(super) fn names() -> Vec<&'static str> {
    CLASSES.iter().map(|(class, ..)| *class).collect()
}

/// Whether an error to a method is the chain's answer to the caller, whichever endpoint is asked: it
/// reverts, the request is wrong, the transaction is. A refused range is so too where there is no
/// range, and so is what Besu says of a range that ends above its head, in words that tell nothing.
#[must_use]
pub fn is_answer(method: &str, error: &str) -> bool {
    const ANSWERS: [&str; 6] = [
        "execution_revert",
        "invalid_params",
        "invalid_request",
        "parse_error",
        "tx_rejected",
        "already_known",
    ];
    let says = |name: &str| {
        let known = find(name);
        known.is_some_and(|(_, _, message)| error.contains(message))
    };
    let besu = || error.contains("\"Invalid params\"");
    ANSWERS.into_iter().any(says)
        || if method == "eth_getLogs" {
            besu()
        } else {
            says("range_limit")
        }
}
