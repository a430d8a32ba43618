//! What a call asked for, and the height that its answer tells.

use alloy_primitives::{Address, U256, hex};
use serde_json::Value;

use super::ledger::Entry;
use crate::call::members;
use crate::chain::state::{ReadAt, balance_tag, call_tag, read_at, storage_tag};

/// The block that a call names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// The newest, named or implied.
    Latest,
    /// A height.
    Height(u64),
    /// A block by its hash.
    Hash(String),
    /// Another tag, or none that the checker knows.
    Other,
}

/// Place of the block in the params of a method whose answer tells its height.
pub(super) fn position(method: &str) -> Option<usize> {
    match method {
        "eth_getBlockByNumber" | "eth_getBlockByHash" => Some(0),
        "eth_getBalance" | "eth_call" => Some(1),
        "eth_getStorageAt" => Some(2),
        _ => None,
    }
}

/// The block that a call names; `None` for methods whose answers tell no height.
pub(super) fn block(entry: &Entry<'_>) -> Option<Block> {
    let at = position(entry.method)?;
    Some(match entry.params.get(at) {
        None | Some(Value::Null) => Block::Latest,
        Some(Value::String(text)) => named(text),
        Some(Value::Object(members)) => {
            let text = |name: &str| members.get(name).and_then(Value::as_str);
            match (text("blockHash"), text("blockNumber")) {
                (Some(hash), _) => Block::Hash(hash.to_owned()),
                (None, Some(number)) => named(number),
                (None, None) => Block::Other,
            }
        }
        Some(_) => Block::Other,
    })
}

fn named(text: &str) -> Block {
    match text {
        "latest" => Block::Latest,
        hash if hash.len() == 66 => Block::Hash(hash.to_owned()),
        number => quantity(number).map_or(Block::Other, Block::Height),
    }
}

/// A hex quantity.
pub(super) fn quantity(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// The place that the answer of a state read tells.
pub(super) fn place(method: &str, result: &Value) -> Option<ReadAt> {
    match method {
        "eth_getBalance" | "eth_call" | "eth_getStorageAt" => read_at(result.as_str()?),
        _ => None,
    }
}

/// The height that any answer tells.
pub(super) fn height(method: &str, result: &Value) -> Option<u64> {
    match method {
        "eth_blockNumber" => quantity(result.as_str()?),
        "eth_getBlockByNumber" | "eth_getBlockByHash" => quantity(result.get("number")?.as_str()?),
        _ => place(method, result).map(|place| place.height),
    }
}

/// The same of an answer that nobody parsed.
pub(super) fn raw_height(method: &str, raw: &str) -> Option<u64> {
    let plain = || raw.strip_prefix('"')?.strip_suffix('"');
    match method {
        "eth_blockNumber" => quantity(plain()?),
        "eth_getBlockByNumber" | "eth_getBlockByHash" => {
            let [number] = members(raw, ["number"])?;
            quantity(number?.strip_prefix('"')?.strip_suffix('"')?)
        }
        "eth_getBalance" | "eth_call" | "eth_getStorageAt" => Some(read_at(plain()?)?.height),
        _ => None,
    }
}

/// The tag that the answer of a state read must carry.
pub(super) fn tag(entry: &Entry<'_>) -> Option<u64> {
    let address = |value: Option<&Value>| value?.as_str()?.parse::<Address>().ok();
    let first = entry.params.first();
    match entry.method {
        "eth_getBalance" => address(first).map(balance_tag),
        "eth_getStorageAt" => {
            let digits = entry.params.get(1)?.as_str()?.strip_prefix("0x")?;
            let slot = U256::from_str_radix(digits, 16).ok()?;
            Some(storage_tag(address(first)?, slot))
        }
        "eth_call" => {
            let call = first?;
            let data = call.get("input").or_else(|| call.get("data"));
            let data = data.and_then(Value::as_str).unwrap_or("0x");
            Some(call_tag(address(call.get("to"))?, &hex::decode(data).ok()?))
        }
        _ => None,
    }
}
