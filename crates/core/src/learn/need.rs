//! Which blocks, data and sizes a request needs, for choosing an endpoint that has them.

use crate::method::{Block, BlockPath, Descriptor, Found, Lane, RowKind, Slot, Tag, find, rows};
use std::sync::LazyLock;

/// A kind of data that a node may keep for a time of its own, as `eth_capabilities` divides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Data {
    /// Accounts, code and storage; what a call or a trace runs on.
    State,
    /// What proofs of the state are made from.
    Proofs,
    /// Headers and bodies.
    Blocks,
    /// Transactions and the index over their hashes.
    Transactions,
    /// Receipts.
    Receipts,
    /// Logs.
    Logs,
}

impl Data {
    /// All kinds, in order.
    pub const ALL: [Self; 6] = [
        Self::State,
        Self::Proofs,
        Self::Blocks,
        Self::Transactions,
        Self::Receipts,
        Self::Logs,
    ];

    /// The data that a method reads; none where it reads nothing of the chain's past.
    #[must_use]
    pub fn of(row: &Descriptor) -> Option<Self> {
        /// Names say it, and searching them costs more than the rest of a look at a call.
        static BY_ROW: LazyLock<Vec<Option<Data>>> =
            LazyLock::new(|| rows().iter().map(Data::named).collect());
        BY_ROW.get(usize::from(row.id.0)).copied().flatten()
    }

    fn named(row: &Descriptor) -> Option<Self> {
        let named = |word: &str| row.name.contains(word);
        if row.kind == RowKind::Default {
            return None;
        }
        match row.lane {
            Lane::Write | Lane::Stream | Lane::Denied => None,
            Lane::Trace => Some(Self::State),
            Lane::Light | Lane::State | Lane::Range if named("Receipt") => Some(Self::Receipts),
            Lane::Light | Lane::Range if is_ranged(row) || named("Logs") => Some(Self::Logs),
            Lane::State if named("Proof") => Some(Self::Proofs),
            Lane::State if named("feeHistory") || named("RootHash") || named("TdBy") => {
                Some(Self::Blocks)
            }
            Lane::State => Some(Self::State),
            Lane::Light | Lane::Range if named("Transaction") && !named("TransactionCount") => {
                Some(Self::Transactions)
            }
            Lane::Light | Lane::Range => row.has_block().then_some(Self::Blocks),
        }
    }
}

/// The blocks stand as the two ends of a range.
fn is_ranged(row: &Descriptor) -> bool {
    let is_start = |path: &BlockPath| path.key == Some("fromBlock");
    row.block_params.first().is_some_and(is_start)
}

/// What one request needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// The highest block it is about, where it says so in numbers.
    pub height: Option<u64>,
    /// The lowest one: what must still be kept.
    pub lowest: Option<u64>,
    /// What it reads.
    pub kind: Option<Data>,
    /// Blocks in its range, both ends counted. Only where both ends are sent as numbers: a tag makes
    /// some nodes refuse every range, and says nothing about sizes (`semantics.md` fact 14).
    pub span: Option<u64>,
    /// A tag among its blocks that not every node knows: `safe`, `finalized` or `pending`.
    pub tag: Option<Tag>,
    /// A block is named by its hash: an endpoint has it or has not, at whatever height it is.
    pub by_hash: bool,
    /// It is about the newest block, whichever that is: an endpoint that lags would answer from an
    /// old one.
    pub newest: bool,
}

impl Need {
    /// What routing takes into account of a call: all that it needs where the method names a block,
    /// and nothing otherwise but whether it asks for the head itself.
    #[must_use]
    pub fn of_call(row: &'static Descriptor, params: &str) -> Self {
        if row.has_block() {
            return Self::of(row, params);
        }
        Self {
            newest: row.name == "eth_blockNumber",
            ..Self::default()
        }
    }

    /// What a request needs as it is written.
    #[must_use]
    pub fn of(row: &'static Descriptor, params: &str) -> Self {
        Self::found(row, &find(row, params), None)
    }

    /// The same where its blocks have been found, and with `latest` as `pin` where it is pinned.
    #[must_use]
    pub fn found(row: &'static Descriptor, found: &Found, pin: Option<u64>) -> Self {
        let reference = found.reference(pin);
        let (height, lowest) = match (reference.high, reference.low) {
            (Some(a), Some(b)) => (Some(a.max(b)), Some(a.min(b))),
            one => one,
        };
        Self {
            height,
            lowest,
            kind: Data::of(row),
            span: span(row, found, pin),
            tag: found.slots().iter().rev().find_map(rare_tag),
            by_hash: reference.hash.is_some(),
            newest: pin.is_none() && found.wants_pin(),
        }
    }
}

fn rare_tag(slot: &Slot) -> Option<Tag> {
    match slot.block {
        Block::Tag(tag @ (Tag::Safe | Tag::Finalized | Tag::Pending)) => Some(tag),
        Block::Tag(Tag::Latest | Tag::Earliest)
        | Block::Omitted
        | Block::Null
        | Block::Number(_)
        | Block::JsonNumber(_)
        | Block::Hash(_) => None,
    }
}

fn span(row: &Descriptor, found: &Found, pin: Option<u64>) -> Option<u64> {
    let pin = pin.filter(|pin| !found.inverts(*pin));
    let [from, to, rest @ ..] = found.slots() else {
        return None;
    };
    let has_hash = rest.iter().any(|slot| matches!(slot.block, Block::Hash(_)));
    if !is_ranged(row) || has_hash {
        return None;
    }
    let number = |slot: &Slot| match slot.block {
        Block::Number(number) | Block::JsonNumber(number) => Some(number),
        Block::Omitted | Block::Null | Block::Tag(_) | Block::Hash(_) => {
            pin.filter(|_| found.is_open(slot))
        }
    };
    number(to)?.checked_sub(number(from)?)?.checked_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::lookup;

    fn need(method: &str, params: &str) -> Need {
        Need::of(lookup(method), params)
    }

    fn pinned(method: &str, params: &str, pin: u64) -> Need {
        let row = lookup(method);
        Need::found(row, &find(row, params), Some(pin))
    }

    // M07, M09: the explicit block of a state read
    #[test]
    fn a_state_read_needs_its_block() {
        let expected = Need {
            height: Some(100),
            lowest: Some(100),
            kind: Some(Data::State),
            span: None,
            tag: None,
            by_hash: false,
            newest: false,
        };
        assert_eq!(need("eth_call", r#"[{"to":"0x1"},"0x64"]"#), expected);
        assert_eq!(
            need("eth_getBalance", r#"["0x1",{"blockNumber":"0x64"}]"#),
            expected
        );
        assert_eq!(pinned("eth_call", r#"[{"to":"0x1"}]"#, 100), expected);
        let tag = Need {
            kind: Some(Data::State),
            ..Need::default()
        };
        let newest = Need {
            newest: true,
            ..tag
        };
        assert_eq!(need("eth_call", r#"[{"to":"0x1"},"latest"]"#), newest);
        assert_eq!(need("eth_call", r#"[{"to":"0x1"}]"#), newest);
        let call = |method, params| Need::of_call(lookup(method), params);
        assert_eq!(call("eth_call", r#"[{"to":"0x1"}]"#), newest);
        assert!(call("eth_blockNumber", "[]").newest);
        assert_eq!(call("eth_gasPrice", "[]"), Need::default());
        for (name, rare) in [
            ("finalized", Tag::Finalized),
            ("safe", Tag::Safe),
            ("pending", Tag::Pending),
        ] {
            let params = format!(r#"[{{"to":"0x1"}},"{name}"]"#);
            let expected = Need {
                tag: Some(rare),
                ..tag
            };
            assert_eq!(pinned("eth_call", &params, 100), expected);
        }
        assert_eq!(need("eth_call", r#"[{"to":"0x1"},"0x 64"]"#), tag);
    }

    // semantics fact 14, section 7 row 19
    #[test]
    fn a_span_is_known_only_where_both_ends_are_numbers() {
        let logs = |height, lowest, span| Need {
            height,
            lowest,
            kind: Some(Data::Logs),
            span,
            tag: None,
            by_hash: false,
            newest: false,
        };
        let range = r#"[{"fromBlock":"0x0","toBlock":"0x4e20"}]"#;
        let wide = logs(Some(20_000), Some(0), Some(20_001));
        assert_eq!(need("eth_getLogs", range), wide);
        let to_latest = r#"[{"fromBlock":"0x32","toBlock":"latest"}]"#;
        let open = Need {
            newest: true,
            ..logs(None, Some(50), None)
        };
        assert_eq!(need("eth_getLogs", to_latest), open);
        // The pin is what is sent.
        let sent = logs(Some(100), Some(50), Some(51));
        assert_eq!(pinned("eth_getLogs", to_latest, 100), sent);
        let one = logs(Some(100), Some(100), Some(1));
        assert_eq!(pinned("eth_getLogs", r#"[{"address":"0x1"}]"#, 100), one);
        // The pin would turn the range round: it goes out as written.
        let inverted = logs(Some(50), Some(40), None);
        assert_eq!(pinned("eth_getLogs", to_latest, 40), inverted);
        let earliest = r#"[{"fromBlock":"earliest","toBlock":"0x9"}]"#;
        assert_eq!(need("eth_getLogs", earliest), logs(Some(9), Some(0), None));
        // L13
        let round = r#"[{"fromBlock":"0x64","toBlock":"0x5a"}]"#;
        assert_eq!(need("eth_getLogs", round), logs(Some(100), Some(90), None));
        let all = r#"[{"fromBlock":"0x0","toBlock":"0xffffffffffffffff"}]"#;
        let bounds = logs(Some(u64::MAX), Some(0), None);
        assert_eq!(need("eth_getLogs", all), bounds);
        let hash = format!(r#"[{{"blockHash":"0x{}"}}]"#, "ab".repeat(32));
        let by_hash = Need {
            by_hash: true,
            ..logs(None, None, None)
        };
        assert_eq!(pinned("eth_getLogs", &hash, 100), by_hash);
    }

    #[test]
    fn a_method_reads_one_kind_of_data() {
        for (method, kind) in [
            ("eth_getStorageAt", Some(Data::State)),
            ("eth_getTransactionCount", Some(Data::State)),
            ("eth_simulateV1", Some(Data::State)),
            ("debug_traceTransaction", Some(Data::State)),
            ("trace_filter", Some(Data::State)),
            ("eth_getProof", Some(Data::Proofs)),
            ("eth_getBlockByNumber", Some(Data::Blocks)),
            ("eth_getBlockTransactionCountByNumber", Some(Data::Blocks)),
            ("eth_feeHistory", Some(Data::Blocks)),
            ("debug_getRawHeader", Some(Data::Blocks)),
            ("eth_getTransactionByHash", Some(Data::Transactions)),
            (
                "eth_getTransactionByBlockNumberAndIndex",
                Some(Data::Transactions),
            ),
            ("eth_getTransactionReceipt", Some(Data::Receipts)),
            ("eth_getBlockReceipts", Some(Data::Receipts)),
            ("eth_getLogs", Some(Data::Logs)),
            ("eth_newFilter", Some(Data::Logs)),
            ("erigon_getLogsByHash", Some(Data::Logs)),
            ("klay_getLogs", Some(Data::Logs)),
            ("eth_chainId", None),
            ("eth_blockNumber", None),
            ("eth_sendRawTransaction", None),
            ("eth_subscribe", None),
            ("no_such_method", None),
        ] {
            assert_eq!(Data::of(lookup(method)), kind, "{method}");
        }
    }
}
