//! What an answer says of the blocks it is about.
//!
//! Three rules need it: a mark rises with every block that an answer names (P-9), an answer about
//! another block or transaction than the one asked for is an endpoint's fault (`semantics.md` §7 row
//! 9), and what is kept is kept under the block that it names (P-13). All of them look at a few
//! members only, in the bytes as they came; the rest of the answer stays opaque.
//!
//! A look costs little: an object is walked until its members are found, which is before the
//! transactions in the order in which most nodes write a block, and a list is looked at from its two
//! ends, since nodes answer logs, receipts and traces in the order of their blocks.

use crate::{
    judge::quantity,
    logs,
    method::{
        Descriptor, Found, array_text, find,
        scan::{self, Elements, Members, Span},
    },
};
use memchr::memmem;

/// A hash.
pub type Hash = [u8; 32];

/// What an answer names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// The block it is about; of a list, that of its last element.
    pub number: Option<u64>,
    /// The lowest block it is about: of a list, that of its first element.
    pub lowest: Option<u64>,
    /// That block's hash.
    pub hash: Option<Hash>,
    /// The hash of the block before, where the answer is a block.
    pub parent: Option<Hash>,
    /// The transaction it is about, where the answer is one or its receipt.
    pub transaction: Option<Hash>,
}

/// The form of a method's answer, as far as it names a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A number.
    Height,
    /// A block or a header.
    Block,
    /// A transaction in a block.
    Transaction,
    /// A receipt.
    Receipt,
    /// Logs, receipts or traces.
    List,
}

/// An answer is not about what was asked: a fault of the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// Another block number.
    Number,
    /// Another block hash.
    Hash,
    /// Another transaction.
    Transaction,
    /// Something outside the range of blocks.
    Range,
    /// A log that its filter does not mean.
    Filter,
}

fn form(row: &Descriptor) -> Option<Form> {
    Some(match row.name {
        "eth_blockNumber" | "erigon_blockNumber" => Form::Height,
        "eth_getBlockByNumber"
        | "eth_getBlockByHash"
        | "eth_getHeaderByNumber"
        | "eth_getHeaderByHash"
        | "eth_getFinalizedHeader"
        | "eth_getFinalizedBlock"
        | "erigon_getHeaderByNumber"
        | "erigon_getHeaderByHash"
        | "scroll_getBlockByNumber"
        | "scroll_getBlockByHash" => Form::Block,
        "eth_getTransactionByHash"
        | "eth_getTransactionByBlockHashAndIndex"
        | "eth_getTransactionByBlockNumberAndIndex"
        | "eth_getTransactionBySenderAndNonce" => Form::Transaction,
        "eth_getTransactionReceipt" | "eth_sendRawTransactionSync" => Form::Receipt,
        "eth_getLogs"
        | "eth_getFilterLogs"
        | "eth_getFilterChanges"
        | "eth_getBlockReceipts"
        | "eth_getTransactionReceiptsByBlock"
        | "parity_getBlockReceipts"
        | "erigon_getLogs"
        | "erigon_getLogsByHash"
        | "erigon_getLatestLogs"
        | "erigon_getBlockReceiptsByBlockHash"
        | "sei_getLogs"
        | "trace_block"
        | "trace_transaction"
        | "trace_get"
        | "trace_filter" => Form::List,
        _ => return None,
    })
}

impl Named {
    /// Reads an answer's `result`. Nothing is named by methods whose answers name no block, by null
    /// and by what is not mined yet.
    #[must_use]
    pub fn read(row: &Descriptor, result: &str) -> Self {
        match form(row) {
            None => Self::default(),
            Some(Form::Height) => {
                let number = quantity(result.trim_ascii());
                Self {
                    number,
                    lowest: number,
                    ..Self::default()
                }
            }
            Some(Form::Block) => Self::object(result, ["number", "hash", "parentHash", ""]),
            Some(Form::Transaction) => {
                Self::object(result, ["blockNumber", "blockHash", "", "hash"])
            }
            Some(Form::Receipt) => {
                Self::object(result, ["blockNumber", "blockHash", "", "transactionHash"])
            }
            Some(Form::List) => Self::list(result),
        }
    }

    /// The members with these names: number, hash, parent, transaction. The empty name is not looked
    /// for.
    fn object(result: &str, names: [&str; 4]) -> Self {
        let mut named = Self::default();
        let open = scan::skip_blanks(result.as_bytes(), 0);
        if result.as_bytes().get(open) != Some(&b'{') {
            return named;
        }
        let mut missing = names.iter().filter(|name| !name.is_empty()).count();
        for (name, value) in Members::new(result.as_bytes(), open) {
            let name = scan::name(result, &name);
            let Some(which) = names.iter().position(|one| !one.is_empty() && *one == name) else {
                continue;
            };
            let value = result.get(value).unwrap_or_default();
            match which {
                0 => (named.number, named.lowest) = (number(value), number(value)),
                1 => named.hash = hash(value),
                2 => named.parent = hash(value),
                _ => named.transaction = hash(value),
            }
            missing -= 1;
            if missing == 0 {
                break;
            }
        }
        named
    }

    fn list(result: &str) -> Self {
        const NUMBER: &[u8] = b"\"blockNumber\"";
        const HASH: &[u8] = b"\"blockHash\"";
        let text = result.as_bytes();
        if text.get(scan::skip_blanks(text, 0)) != Some(&b'[') {
            return Self::default();
        }
        let value = |at: Option<usize>, name: &[u8]| member_at(result, at? + name.len());
        let Some(number_of_last) = value(memmem::rfind(text, NUMBER), NUMBER) else {
            return Self::default();
        };
        Self {
            number: number(number_of_last),
            lowest: value(memmem::find(text, NUMBER), NUMBER).and_then(number),
            hash: value(memmem::rfind(text, HASH), HASH).and_then(hash),
            ..Self::default()
        }
    }

    /// Compares with the request, as it was sent with its latest block as `pin`.
    ///
    /// # Errors
    /// What is not as asked. What the answer does not name is not compared.
    pub fn check(
        &self,
        row: &Descriptor,
        found: &Found,
        params: &str,
        pin: Option<u64>,
    ) -> Result<(), Mismatch> {
        let Some(form) = form(row) else { return Ok(()) };
        let asked = found.reference(pin);
        let differs = |said: Option<Hash>, asked: Option<Hash>| {
            said.zip(asked).is_some_and(|(said, asked)| said != asked)
        };
        if differs(self.hash, asked.hash) {
            return Err(Mismatch::Hash);
        }
        match form {
            Form::Height => {}
            Form::Block | Form::Transaction => {
                let other = |(said, asked)| said != asked;
                if self.number.zip(asked.high).is_some_and(other) {
                    return Err(Mismatch::Number);
                }
            }
            Form::Receipt => {}
            Form::List => {
                let above = self
                    .number
                    .zip(asked.high)
                    .is_some_and(|(said, high)| said > high);
                let below = self
                    .lowest
                    .zip(asked.low)
                    .is_some_and(|(said, low)| said < low);
                if above || below {
                    return Err(Mismatch::Range);
                }
            }
        }
        let by_hash = matches!(
            row.name,
            "eth_getTransactionByHash" | "eth_getTransactionReceipt"
        );
        if by_hash && differs(self.transaction, first_hash(params)) {
            return Err(Mismatch::Transaction);
        }
        Ok(())
    }
}

/// What an answer to a request, as it was sent, says that was not asked for; `None` where it is as
/// asked, and where nothing can be compared.
#[must_use]
pub fn mismatch(row: &'static Descriptor, params: &str, result: &str) -> Option<Mismatch> {
    match form(row)? {
        Form::Height => None,
        Form::Block | Form::Transaction | Form::Receipt | Form::List => {
            let found = find(row, params);
            let named = Named::read(row, result);
            let differs = named.check(row, &found, params, None).err();
            let is_logs = row.name == "eth_getLogs" && differs.is_none();
            if is_logs && logs::is_foreign(params, result) {
                return Some(Mismatch::Filter);
            }
            differs
        }
    }
}

/// The first parameter, where it is a hash.
fn first_hash(params: &str) -> Option<Hash> {
    let text = array_text(params);
    let open = scan::skip_blanks(text.as_bytes(), 0);
    let first: Span = Elements::new(text.as_bytes(), open).next()?;
    hash(text.get(first)?)
}

/// The value of a member whose name ends at `at`.
fn member_at(text: &str, at: usize) -> Option<&str> {
    let bytes = text.as_bytes();
    let colon = scan::skip_blanks(bytes, at);
    if bytes.get(colon) != Some(&b':') {
        return None;
    }
    let start = scan::skip_blanks(bytes, colon + 1);
    text.get(start..scan::value_end(bytes, start))
}

/// A number as a hex quantity, or as some traces write it, without quotes.
fn number(value: &str) -> Option<u64> {
    quantity(value).or_else(|| {
        let digits = value.bytes().all(|byte| byte.is_ascii_digit());
        value.parse().ok().filter(|_| digits)
    })
}

/// A 32-byte hash in quotes.
fn hash(value: &str) -> Option<Hash> {
    let digits = value.strip_prefix("\"0x")?.strip_suffix('"')?.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|d| u8::try_from(d).ok())
    };
    let mut hash = [0; 32];
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(hash)
}
