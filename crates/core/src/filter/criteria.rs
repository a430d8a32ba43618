//! A log filter as a question for a range of blocks.

use crate::judge::quantity;
use serde_json::{Map, Value};

/// What a log filter looks for, without its range.
#[derive(Clone, Debug, PartialEq)]
pub struct Criteria {
    wanted: Map<String, Value>,
    /// The first and the last block that it is about, where it says so in numbers.
    from: Option<u64>,
    to: Option<u64>,
}

impl Criteria {
    /// The criteria in the parameters of `eth_newFilter`; `None`: they are not about blocks to come.
    #[must_use]
    pub fn of_call(params: &str) -> Option<Self> {
        let (mut wanted,): (Map<String, Value>,) = serde_json::from_str(params).ok()?;
        let from = wanted.remove("fromBlock");
        let to = wanted.remove("toBlock");
        if wanted.contains_key("blockHash") {
            return None;
        }
        Some(Self {
            wanted,
            from: bound(from)?,
            to: bound(to)?,
        })
    }

    /// The parameters of `eth_getLogs` for what it looks for in these blocks, both included; `None`:
    /// it looks for nothing there.
    #[must_use]
    pub fn within(&self, from: u64, to: u64) -> Option<String> {
        let from = self.from.map_or(from, |own| own.max(from));
        let to = self.to.map_or(to, |own| own.min(to));
        if from > to {
            return None;
        }
        let mut wanted = self.wanted.clone();
        wanted.insert("fromBlock".into(), format!("{from:#x}").into());
        wanted.insert("toBlock".into(), format!("{to:#x}").into());
        Some(Value::Array(vec![Value::Object(wanted)]).to_string())
    }
}

/// The number of a bound. What is to come is after every name of a block but `earliest`, which as an
/// end leaves nothing: such a filter is not understood.
fn bound(block: Option<Value>) -> Option<Option<u64>> {
    match block {
        None | Some(Value::Null) => Some(None),
        Some(Value::String(name)) => match &*name {
            "latest" | "pending" | "safe" | "finalized" | "" => Some(None),
            number => quantity(&format!("\"{number}\"")).map(Some),
        },
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => None,
    }
}
