//! What the request says about its answer: kinds of method, and the blocks it asks for.
//!
//! Some texts mean different things for different requests ("invalid block range" for an inverted
//! range and for one past the head; "already known" on a send and on a read). The facts are bits,
//! so that a rule states its conditions as data.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::envelope::{after_space, each_member, elements};
use super::evidence::Evidence;

/// A set of facts about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Facts(pub(super) u32);

impl Facts {
    pub(super) const NONE: Self = Self(0);
    /// Asks for logs or traces over blocks, whether by range or by hash.
    pub(super) const LOGS: Self = Self(1);
    /// Such a request, not bound to one block by its hash.
    pub(super) const RANGED: Self = Self(1 << 1);
    /// Carries a transaction: sends, calls, estimates, simulations.
    pub(super) const TX: Self = Self(1 << 2);
    /// Submits a transaction.
    pub(super) const SEND: Self = Self(1 << 3);
    /// Submits one and waits for its receipt.
    pub(super) const SYNC: Self = Self(1 << 4);
    /// Opens or closes a subscription.
    pub(super) const SUBSCRIBE: Self = Self(1 << 5);
    /// Names a filter or subscription by its id.
    pub(super) const FILTER: Self = Self(1 << 6);
    /// A whole batch.
    pub(super) const BATCH: Self = Self(1 << 7);
    /// A trace.
    pub(super) const TRACE: Self = Self(1 << 8);
    /// Executes without sending: calls, estimates, simulations.
    pub(super) const CALL: Self = Self(1 << 9);
    /// Both bounds of the range are numbers and the first is above the second.
    pub(super) const INVERTED: Self = Self(1 << 10);
    /// The asked block is above the head, or less than [`NEAR`] below it, or the head is unknown.
    pub(super) const NEAR_HEAD: Self = Self(1 << 11);
    /// The asked block is a number [`NEAR`] or more below the head.
    pub(super) const OLD: Self = Self(1 << 12);
    /// Block 0 or `earliest` is asked for.
    pub(super) const GENESIS: Self = Self(1 << 13);
    /// A tag that moves with consensus is asked for: `safe`, `finalized`, `pending`.
    pub(super) const TAG: Self = Self(1 << 14);
    /// A block is asked for by its hash.
    pub(super) const BY_HASH: Self = Self(1 << 15);
    /// The text names the very block that was asked for.
    pub(super) const ECHOES_BLOCK: Self = Self(1 << 16);
    /// A method of a wallet or of a person.
    pub(super) const WALLET: Self = Self(1 << 17);
    /// The answer carries the id of the request, so that the endpoint had understood it.
    pub(super) const ID_ECHOED: Self = Self(1 << 19);
    /// The error carries the data of a revert: code 3 with data, or a selector of Solidity's errors.
    pub(super) const REVERT_DATA: Self = Self(1 << 20);
    /// The named block must be part of the chain.
    pub(super) const CANONICAL: Self = Self(1 << 21);
    /// Asks for a proof.
    pub(super) const PROOF: Self = Self(1 << 22);
    /// Has its block as the first parameter.
    pub(super) const BLOCK_FIRST: Self = Self(1 << 23);
    /// Has its block as the second parameter.
    pub(super) const BLOCK_SECOND: Self = Self(1 << 24);
    /// Has its block as the third parameter.
    pub(super) const BLOCK_THIRD: Self = Self(1 << 25);
    /// Asks for a transaction or receipt by its hash.
    pub(super) const BY_TX: Self = Self(1 << 18);

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(super) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn set(&mut self, fact: Self, on: bool) {
        if on {
            self.0 |= fact.0;
        }
    }
}

/// How many blocks below the head a node may be said to be behind rather than to lack history:
/// the depth of state that full nodes keep.
const NEAR: u64 = 128;
/// Longest parameters that are looked at, in bytes.
const MAX_PARAMS: usize = 64 * 1024;

/// Parts of lower-case method names and what they say.
const METHOD_PARTS: &[(&str, Facts)] = &[
    ("getlogs", Facts::LOGS),
    ("newfilter", Facts::LOGS),
    ("getfilterlogs", Facts::LOGS.and(Facts::FILTER)),
    ("getfilterchanges", Facts::LOGS.and(Facts::FILTER)),
    ("trace_filter", Facts::LOGS),
    ("uninstallfilter", Facts::FILTER),
    ("unsubscribe", Facts::FILTER),
    ("subscribe", Facts::SUBSCRIBE),
    ("sendraw", Facts::SEND),
    ("sendtransaction", Facts::SEND.and(Facts::WALLET)),
    ("sendprivate", Facts::SEND),
    ("senduseroperation", Facts::SEND),
    ("sendbundle", Facts::SEND),
    ("trace_rawtransaction", Facts::SEND),
    ("eth_call", Facts::CALL),
    ("estimategas", Facts::CALL),
    ("estimateuseroperationgas", Facts::CALL),
    ("simulate", Facts::CALL),
    ("createaccesslist", Facts::CALL),
    ("trace_call", Facts::CALL),
    ("debug_tracecall", Facts::CALL),
    ("filltransaction", Facts::CALL),
    ("callbundle", Facts::CALL),
    ("multicall", Facts::CALL),
    ("zks_estimatefee", Facts::CALL),
    ("getproof", Facts::PROOF),
    ("eth_sign", Facts::WALLET),
    ("eth_requestaccounts", Facts::WALLET),
    ("wallet_", Facts::WALLET),
    ("personal_", Facts::WALLET),
    ("debug_", Facts::TRACE),
    ("trace_", Facts::TRACE),
    ("bynumber", Facts::BLOCK_FIRST),
    ("byblocknumber", Facts::BLOCK_FIRST),
    ("blockreceipts", Facts::BLOCK_FIRST),
    ("trace_block", Facts::BLOCK_FIRST),
    ("replayblock", Facts::BLOCK_FIRST),
    ("byblockhash", Facts::BLOCK_FIRST),
    ("blockbyhash", Facts::BLOCK_FIRST),
    ("getbalance", Facts::BLOCK_SECOND),
    ("getcode", Facts::BLOCK_SECOND),
    ("transactioncount", Facts::BLOCK_SECOND),
    ("feehistory", Facts::BLOCK_SECOND),
    ("storageat", Facts::BLOCK_THIRD),
    ("getproof", Facts::BLOCK_THIRD),
    ("bytransactionhash", Facts::BY_TX),
    ("gettransactionbyhash", Facts::BY_TX),
    ("gettransactionreceipt", Facts::BY_TX),
    ("tracetransaction", Facts::BY_TX),
    ("trace_transaction", Facts::BY_TX),
    ("trace_replaytransaction", Facts::BY_TX),
];

static METHODS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::DFA))
        .build(METHOD_PARTS.iter().map(|(part, _)| part))
        .expect("invariant: the parts are few and short")
});

/// Facts about a request, and the block that it asks for where it is a number.
pub(super) fn facts(ev: &Evidence<'_>) -> (Facts, Option<u64>) {
    let mut f = Facts::NONE;
    let mut buffer = [0_u8; 48];
    let method = lower(ev.method, &mut buffer);
    for found in METHODS.find_overlapping_iter(method) {
        f.set(METHOD_PARTS[found.pattern().as_usize()].1, true);
    }
    f.set(Facts::BATCH, ev.method == Evidence::BATCH);
    f.set(Facts::SYNC, method.ends_with("sync") && f.has(Facts::SEND));
    f.set(
        Facts::TX,
        f.meets(Facts::SEND.and(Facts::CALL)) || method == "eth_signtransaction",
    );

    let params = if ev.params.len() <= MAX_PARAMS {
        ev.params.trim().as_bytes()
    } else {
        b""
    };
    let mut asked = None;
    if f.has(Facts::LOGS) {
        asked = range(params, ev.head, &mut f);
    } else if !f.has(Facts::BATCH) {
        asked = block(&elements(params).unwrap_or_default(), ev.head, &mut f);
    }
    if let Some(n) = asked {
        f.set(Facts::GENESIS, n == 0);
        let old = ev.head.is_some_and(|head| n.saturating_add(NEAR) <= head);
        f.set(Facts::OLD, old);
    }
    f.set(Facts::NEAR_HEAD, !f.has(Facts::OLD));
    (f, asked)
}

fn lower<'b>(method: &str, buffer: &'b mut [u8; 48]) -> &'b str {
    let n = method.len().min(buffer.len());
    buffer[..n].copy_from_slice(&method.as_bytes()[..n]);
    buffer[..n].make_ascii_lowercase();
    std::str::from_utf8(&buffer[..n]).unwrap_or("")
}

/// The bounds of a log filter. The end decides what a node lacks; the start too when it is higher.
fn range(params: &[u8], head: Option<u64>, f: &mut Facts) -> Option<u64> {
    let (mut from, mut to, mut by_hash) = (None, None, false);
    // The filter is the first parameter.
    if params.first() == Some(&b'[') {
        each_member(&params[after_space(params, 1)..], |key, value| {
            let value = Some(value).filter(|v| *v != b"null");
            match key {
                b"fromBlock" => from = value,
                b"toBlock" => to = value,
                b"blockHash" => by_hash = value.is_some(),
                _ => {}
            }
        });
    }
    f.set(Facts::BY_HASH, by_hash);
    f.set(Facts::RANGED, !by_hash);
    let numeric = |b: Option<&[u8]>| b.is_some_and(|b| b.iter().any(u8::is_ascii_digit));
    let both = numeric(from) && numeric(to);
    let from = from.and_then(|b| height(b, head, f));
    let to = to.and_then(|b| height(b, head, f));
    match (from, to) {
        (Some(a), Some(b)) => {
            f.set(Facts::INVERTED, a > b && both);
            Some(a.max(b))
        }
        (a, b) => b.or(a),
    }
}

/// The block of any other request: where the method has it, else the last parameter if that can be
/// a block.
fn block(params: &[&[u8]], head: Option<u64>, f: &mut Facts) -> Option<u64> {
    let token = if f.has(Facts::BLOCK_FIRST) {
        params.first()
    } else if f.has(Facts::BLOCK_THIRD) {
        params.get(2)
    } else if f.meets(Facts::BLOCK_SECOND.and(Facts::CALL)) {
        params.get(1).or_else(|| params.last())
    } else if f.meets(Facts::SEND.and(Facts::BY_TX).and(Facts::FILTER)) {
        None
    } else {
        params.last()
    };
    token.and_then(|t| height(t, head, f))
}

/// The number that a block reference stands for, as far as it is known.
fn height(token: &[u8], head: Option<u64>, f: &mut Facts) -> Option<u64> {
    if !token.starts_with(b"{") {
        return named(token, head, f);
    }
    let mut number = None;
    each_member(token, |key, value| match key {
        b"blockNumber" => number = Some(value),
        b"blockHash" => f.set(Facts::BY_HASH, value != b"null"),
        b"requireCanonical" => f.set(Facts::CANONICAL, value == b"true"),
        _ => {}
    })?;
    number.and_then(|n| named(n, head, f))
}

/// A number, a tag or a hash.
fn named(token: &[u8], head: Option<u64>, f: &mut Facts) -> Option<u64> {
    let token = std::str::from_utf8(token).ok()?;
    match token.trim_matches('"') {
        "latest" => head,
        "earliest" => Some(0),
        "safe" | "finalized" | "pending" => {
            f.set(Facts::TAG, true);
            None
        }
        n => match n.strip_prefix("0x") {
            Some(digits) if digits.len() == 64 => {
                f.set(Facts::BY_HASH, true);
                None
            }
            Some(digits) => (digits.len() <= 16)
                .then(|| u64::from_str_radix(digits, 16).ok())
                .flatten(),
            None => n.parse().ok(),
        },
    }
}
