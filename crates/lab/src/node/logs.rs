//! Log search: a filter, a range, and the limits of the node.

use alloy_primitives::{Address, B256, BloomInput, Log};
use serde_json::Value;

use super::dialect::{Miss, invalid};
use super::render;
use super::sight::{Sight, parse_hash};
use crate::chain::Block;
use crate::rng::Rng;

/// Which logs are wanted. An empty position matches anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    addresses: Vec<Address>,
    topics: Vec<Vec<B256>>,
}

impl Wanted {
    pub(super) fn parse(filter: &Value) -> Result<Self, Miss> {
        let bad = || invalid("invalid argument 0: invalid address or topic in query");
        let one_or_more = |value: &Value| match value {
            Value::Null => Vec::new(),
            Value::Array(values) => values.clone(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                vec![value.clone()]
            }
        };
        let addresses = filter.get("address").map(one_or_more).unwrap_or_default();
        let addresses = addresses.iter().map(|address| {
            let text = address.as_str().ok_or_else(bad)?;
            text.parse().map_err(|_| bad())
        });
        let topics = match filter.get("topics") {
            None | Some(Value::Null) => Vec::new(),
            Some(topics) => topics.as_array().ok_or_else(bad)?.clone(),
        };
        if topics.len() > 4 {
            return Err(invalid("exceed max topics"));
        }
        let topics = topics.iter().map(|position| {
            let choices = one_or_more(position);
            // A null among the choices is a wildcard for the whole position.
            if choices.iter().any(Value::is_null) {
                return Ok(Vec::new());
            }
            choices.iter().map(parse_hash).collect()
        });
        Ok(Self {
            addresses: addresses.collect::<Result<_, Miss>>()?,
            topics: topics.collect::<Result<_, Miss>>()?,
        })
    }

    /// Whether a block can hold such logs.
    fn possible(&self, block: &Block) -> bool {
        let bloom = &block.header.logs_bloom;
        let holds = |bytes: &[u8]| bloom.contains_input(BloomInput::Raw(bytes));
        let address = self.addresses.is_empty()
            || self
                .addresses
                .iter()
                .any(|address| holds(address.as_slice()));
        address
            && self.topics.iter().all(|choices| {
                choices.is_empty() || choices.iter().any(|topic| holds(topic.as_slice()))
            })
    }

    fn matches(&self, log: &Log) -> bool {
        let address = self.addresses.is_empty() || self.addresses.contains(&log.address);
        address
            && self.topics.len() <= log.topics().len()
            && self
                .topics
                .iter()
                .zip(log.topics())
                .all(|(choices, topic)| choices.is_empty() || choices.contains(topic))
    }

    /// Adds the logs of a block, as JSON text.
    pub(super) fn collect(&self, sight: &Sight<'_>, block: &Block, into: &mut Vec<String>) {
        if !self.possible(block) {
            return;
        }
        for (index, mined) in block.mined.iter().enumerate() {
            for (at, log) in mined.receipt.logs().iter().enumerate() {
                let place = [sight.salt, block.height(), mined.first_log + at as u64];
                let lost = sight.short_logs > 0.0
                    && Rng::at(sight.chain.spec().seed, &place).chance(sight.short_logs);
                if !lost && self.matches(log) {
                    into.push(render::log(block, index, at));
                }
            }
        }
    }
}

/// The answer to `eth_getLogs`.
pub(super) fn search(sight: &Sight<'_>, filter: &Value) -> Result<String, Miss> {
    let wanted = Wanted::parse(filter)?;
    let bound = |name: &str| filter.get(name).filter(|bound| !bound.is_null());
    let mut found = Vec::new();
    if let Some(hash) = bound("blockHash") {
        if bound("fromBlock").is_some() || bound("toBlock").is_some() {
            return Err(invalid(
                "invalid argument 0: cannot specify both BlockHash and FromBlock/ToBlock, choose \
                 one or the other",
            ));
        }
        let block = sight.by_hash(parse_hash(hash)?);
        let block = block.ok_or_else(|| sight.dialect.logs_unknown_hash())?;
        wanted.collect(sight, &block, &mut found);
        return Ok(list(&found));
    }
    let head = sight.head();
    let from = bound("fromBlock").map_or(Ok(head), |from| sight.height(from))?;
    let to = bound("toBlock").map_or(Ok(head), |to| sight.height(to))?;
    range(sight, &wanted, from, to, &mut found)?;
    Ok(list(&found))
}

fn range(
    sight: &Sight<'_>,
    wanted: &Wanted,
    from: u64,
    to: u64,
    found: &mut Vec<String>,
) -> Result<(), Miss> {
    let head = sight.head();
    if from > to {
        return Err(sight.dialect.logs_inverted(from, to));
    }
    if to > head
        && let Some(miss) = sight.dialect.logs_above_head(to, head)
    {
        return Err(miss);
    }
    let oldest = sight.oldest_block();
    if from < oldest {
        return Err(sight.dialect.logs_pruned(from, oldest));
    }
    if let Some(limit) = sight.log_blocks
        && to - from > limit
    {
        return Err(sight.dialect.logs_too_wide(to - from + 1, limit));
    }
    for height in from..=to.min(head) {
        if let Some(block) = sight.block(height) {
            wanted.collect(sight, &block, found);
        }
        if let Some(limit) = sight.log_results
            && found.len() > limit
        {
            let good = height.saturating_sub(1).max(from);
            return Err(sight.dialect.logs_too_many(limit, from, good));
        }
    }
    Ok(())
}

/// Logs as a JSON list.
pub(super) fn list(logs: &[String]) -> String {
    format!("[{}]", logs.join(","))
}
