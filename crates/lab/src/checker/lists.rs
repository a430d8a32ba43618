//! A list of logs held against those that a chain has (P-21 to P-24).

use super::Breach;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Where a log is, and in which block.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The block's number.
    pub height: u64,
    /// The log's place in the block.
    pub index: u64,
    /// The block's hash.
    pub hash: String,
}

impl Place {
    /// The places in an answer; `None`: it is no list of logs.
    #[must_use]
    pub fn all(result: &str) -> Option<Vec<Self>> {
        let logs: Vec<Value> = serde_json::from_str(result).ok()?;
        logs.iter().map(Self::of).collect()
    }

    /// The place of one log.
    #[must_use]
    pub fn of(log: &Value) -> Option<Self> {
        let number = |name: &str| {
            let text = log.get(name)?.as_str()?;
            u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
        };
        Some(Self {
            height: number("blockNumber")?,
            index: number("logIndex")?,
            hash: log.get("blockHash")?.as_str()?.to_owned(),
        })
    }
}

/// What is wrong with a list where these logs are due, in their order; each kind once.
#[must_use]
pub fn compare(got: &[Place], due: &[Place]) -> Vec<Breach> {
    let mut found = Vec::new();
    let unique: BTreeSet<&Place> = got.iter().collect();
    if unique.len() < got.len() {
        found.push(Breach::LogsDoubled);
    }
    let place = |log: &Place| (log.height, log.index);
    if got.windows(2).any(|two| place(&two[0]) > place(&two[1])) {
        found.push(Breach::LogsDisordered);
    }
    let wanted: BTreeSet<&Place> = due.iter().collect();
    let blocks: BTreeMap<u64, &str> = due.iter().map(|log| (log.height, &*log.hash)).collect();
    let is_of_another = |log: &&&Place| blocks.get(&log.height) != Some(&&*log.hash);
    let odd: Vec<&&Place> = unique.difference(&wanted).collect();
    if odd.iter().any(is_of_another) {
        found.push(Breach::LogsKept);
    }
    if odd.iter().any(|log| !is_of_another(log)) {
        found.push(Breach::Invented);
    }
    if wanted.difference(&unique).next().is_some() {
        found.push(Breach::LogsMissing);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(height: u64, index: u64, branch: u8) -> Place {
        Place {
            height,
            index,
            hash: format!("{height}/{branch}"),
        }
    }

    // P-21 to P-24
    #[test]
    fn each_kind_of_wrong_list_is_told() {
        let due = [log(1, 0, 0), log(1, 1, 0), log(3, 0, 0), log(4, 0, 0)];
        let told = |change: &dyn Fn(&mut Vec<Place>)| {
            let mut got = due.to_vec();
            change(&mut got);
            compare(&got, &due)
        };
        assert_eq!(told(&|_| ()), []);
        assert_eq!(told(&|got| drop(got.pop())), [Breach::LogsMissing]);
        assert_eq!(told(&Vec::clear), [Breach::LogsMissing]);
        assert_eq!(
            told(&|got| got.insert(0, log(1, 0, 0))),
            [Breach::LogsDoubled]
        );
        assert_eq!(told(&|got| got.swap(0, 2)), [Breach::LogsDisordered]);
        // The block was replaced by one with a log, or by one without.
        let kept = [Breach::LogsKept, Breach::LogsMissing];
        assert_eq!(told(&|got| got[3] = log(4, 0, 1)), kept);
        assert_eq!(told(&|got| got.insert(2, log(2, 0, 1))), [Breach::LogsKept]);
        assert_eq!(told(&|got| got.push(log(4, 1, 0))), [Breach::Invented]);
        assert_eq!(Place::all("{}"), None);
        assert_eq!(Place::all("[{}]"), None);
        let one = r#"[{"blockNumber":"0x1","logIndex":"0x0","blockHash":"1/0"}]"#;
        assert_eq!(Place::all(one), Some(vec![log(1, 0, 0)]));
    }
}
