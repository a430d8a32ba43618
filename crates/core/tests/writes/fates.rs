use super::bench::{End, RAW, error, form, hash, send};
use highwater_core::call::write::{Fate, Policy};

/// The table of semantics §5 and §5.1, a line each.
const TABLE: &[(i64, &str, Fate)] = &[
    (
        -32601,
        "the method eth_sendRawTransaction does not exist/is not available",
        Fate::Unsent,
    ),
    (
        -32000,
        "publishing transactions not supported by this endpoint",
        Fate::Unsent,
    ),
    (-32000, "sequencer temporarily not available", Fate::Unsent),
    (
        -32000,
        "currently not accepting transactions due to expected surplus being low",
        Fate::Unsent,
    ),
    (-32005, "rate limit exceeded", Fate::Unsent),
    (
        -32000,
        "failed to publish transaction to any of the forwarding targets",
        Fate::Open,
    ),
    (
        -32603,
        "Failed to send transaction: connection refused",
        Fate::Open,
    ),
    (
        -32603,
        "Failed to send transaction: txpool is full",
        Fate::Open,
    ),
    (
        -32603,
        "Failed to send transaction: nonce too low",
        Fate::NonceUsed,
    ),
    (
        -32603,
        "Failed to send transaction: already known",
        Fate::Known,
    ),
    (
        -32603,
        "Failed to send transaction: 429 Too Many Requests",
        Fate::Open,
    ),
    (-32000, "context deadline exceeded", Fate::Open),
    (-32603, "overloaded, try again later", Fate::Open),
    (-32603, "rpc no longer tracking tx", Fate::Open),
    (-32000, "sequencer internal error", Fate::Open),
    (-32603, "Internal error", Fate::Open),
    (-32002, "request timed out", Fate::Open),
    (-32000, "some text that nobody has seen before", Fate::Open),
    (-32000, "txpool is full", Fate::Unsent),
    (
        -32000,
        "sequencer pending tx pool full, please try again",
        Fate::Unsent,
    ),
    (
        -32000,
        "tx fee (1.10 ether) exceeds the configured cap (1.00 ether)",
        Fate::Unsent,
    ),
    (-32000, "already known", Fate::Known),
    (-32603, "Known transaction (aa)", Fate::Known),
    (-32010, "AlreadyKnown", Fate::Known),
    (1000, "Already known transaction", Fate::Known),
    (-32000, "'already known", Fate::Known),
    (-32000, "tx already in mempool", Fate::Known),
    (-32000, "nonce too low", Fate::NonceUsed),
    (
        -32003,
        "nonce too low: next nonce 8, tx nonce 7",
        Fate::NonceUsed,
    ),
    (
        -32010,
        "OldNonce, Current nonce: 8, nonce of rejected tx: 7",
        Fate::NonceUsed,
    ),
    (-32001, "Nonce too low", Fate::NonceUsed),
    (-32603, "Transaction nonce too low", Fate::NonceUsed),
    (
        -32000,
        "failed with 50000000 gas: nonce too low",
        Fate::NonceUsed,
    ),
    (
        -32010,
        "NonceGap, Future nonce. Expected nonce: 7",
        Fate::Refused,
    ),
    (-32000, "replacement transaction underpriced", Fate::Refused),
    (-32010, "ReplacementNotAllowed", Fate::Refused),
    (-32000, "transaction underpriced", Fate::Refused),
    (
        -32000,
        "max fee per gas less than block base fee: address 0xaa, maxFeePerGas: 1",
        Fate::Refused,
    ),
    (
        -32004,
        "Upfront cost exceeds account balance",
        Fate::Refused,
    ),
    (-32603, "Signer had insufficient balance", Fate::Refused),
    (-32000, "exceeds block gas limit", Fate::Refused),
    (-32000, "intrinsic gas too low", Fate::Refused),
    (-32000, "invalid sender", Fate::Refused),
    (
        -32000,
        "invalid chain id for signer: have 5 want 1",
        Fate::Refused,
    ),
    (-32003, "transaction rejected", Fate::Refused),
    (-32017, "sender is over rate limit", Fate::Refused),
    (
        -32602,
        "invalid argument 0: hex string has length 3",
        Fate::Refused,
    ),
];

// semantics §5, §5.1
#[test]
fn every_text_of_the_tables_has_its_fate() {
    let call = send(Policy::Once);
    for (code, text, fate) in TABLE {
        assert_eq!(call.ended(0, &error(*code, text)).fate, *fate, "{text}");
    }
}

// R-36, semantics §5.1
#[test]
fn every_event_has_its_fate() {
    let call = send(Policy::Once);
    let page = |status| End::Answer(status, "<html></html>".to_owned());
    for (end, fate) in [
        (End::Down, Fate::Unsent),
        (page(401), Fate::Unsent),
        (page(403), Fate::Unsent),
        (page(413), Fate::Unsent),
        (page(429), Fate::Unsent),
        (End::Reset, Fate::Open),
        (End::Hang, Fate::Open),
        (page(200), Fate::Open),
        (page(404), Fate::Open),
        (page(502), Fate::Open),
        (page(503), Fate::Open),
        (End::Answer(200, String::new()), Fate::Open),
        (End::Answer(200, "nonce too low".to_owned()), Fate::Open),
        (hash(), Fate::Accepted),
    ] {
        assert_eq!(call.ended(0, &end).fate, fate, "{end:?}");
    }
}

// R-37, semantics §6.1: code 4 is the Sync form's, and a verdict's text goes before it.
#[test]
fn codes_of_the_sync_form_count_there_alone() {
    let sync = form(
        "eth_sendRawTransactionSync",
        &format!("[\"{RAW}\"]"),
        Policy::Once,
    );
    let plain = send(Policy::Once);
    for (code, text, there, elsewhere) in [
        (4, "timeout", Fate::Accepted, Fate::Open),
        (4, "nonce too low", Fate::NonceUsed, Fate::NonceUsed),
        (6, "", Fate::Refused, Fate::Open),
    ] {
        let end = error(code, text);
        assert_eq!(sync.ended(0, &end).fate, there, "{code} {text}");
        assert_eq!(plain.ended(0, &end).fate, elsewhere, "{code} {text}");
    }
}
