//! API keys: names and hashes differ, chains exist.

use super::{engine::strategy_of_key, methods, unique_label};
use crate::config::{
    field::List,
    later, model,
    reader::Pass,
    settings::{ChainSettings, KeySettings},
};

pub(super) fn check(
    raw: List<model::Key>,
    chains: &[ChainSettings],
    pass: &Pass<'_>,
) -> Vec<KeySettings> {
    let mut names = Vec::new();
    let mut hashes = Vec::new();
    for (index, (key, span)) in raw.elements().enumerate() {
        match key.name.get() {
            Some((name, span)) => unique_label(&mut names, name, span, "the key name", pass),
            None if key.name.is_absent() => {
                pass.note(
                    span.start..span.start,
                    format!("`keys[{index}]`: `name` is missing"),
                );
            }
            None => {}
        }
        match key.hash.get() {
            Some((hash, span)) if hashes.contains(&hash.0.0) => pass.note(
                span,
                format!("`keys[{index}].hash`: this is the hash of an earlier key"),
            ),
            Some((hash, _)) => hashes.push(hash.0.0),
            None if key.hash.is_absent() => pass.note(
                span.start..span.start,
                format!(
                    "`keys[{index}]`: `hash` is missing: `highwater keys create NAME` prints a \
                     key and its hash"
                ),
            ),
            None => {}
        }
    }
    let keys = raw.value().unwrap_or_default().into_iter().enumerate();
    keys.filter_map(|(index, field)| Some((index, field.value()?)))
        .map(|(index, key)| settings(index, key, chains, pass))
        .collect()
}

fn settings(
    index: usize,
    key: model::Key,
    chains: &[ChainSettings],
    pass: &Pass<'_>,
) -> KeySettings {
    let mut allowed: Vec<String> = Vec::new();
    for (wanted, span) in key.chains.elements() {
        let names =
            |chain: &ChainSettings| chain.name == wanted.0 || chain.aliases.contains(&wanted.0);
        match chains.iter().find(|chain| names(chain)) {
            Some(chain) => allowed.push(chain.name.clone()),
            None => {
                let known = chains.iter().map(|chain| chain.name.as_str());
                let hint = later::nearest(&wanted.0, known)
                    .map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
                let message = format!(
                    "`keys[{index}].chains`: no chain `{}` is configured{hint}",
                    wanted.0
                );
                pass.note(span, message);
            }
        }
    }
    let private = |chain: &&ChainSettings| {
        let mut endpoints = chain.endpoints.iter();
        let reached = allowed.is_empty() || allowed.contains(&chain.name);
        reached && !endpoints.any(|endpoint| endpoint.private)
    };
    if let Some((true, span)) = key.private_writes.get().map(|(on, span)| (*on, span))
        && let Some(chain) = chains.iter().find(private)
    {
        let message = format!(
            "`keys[{index}].private_writes`: no endpoint of `chains.{}` is `private`: no \
             transaction of the key could be sent there",
            chain.name
        );
        pass.note(span, message);
    }
    let strategy = strategy_of_key(&format!("keys[{index}]"), &key, pass);
    KeySettings {
        name: key.name.value().map(|name| name.0).unwrap_or_default(),
        hash: key.hash.value().map(|hash| hash.0.0).unwrap_or_default(),
        methods: methods(&key.methods),
        origins: key
            .origins
            .elements()
            .map(|(origin, _)| origin.0.clone())
            .collect(),
        chains: allowed,
        strategy,
        writes: key.writes.get().map(|(policy, _)| *policy),
        private_writes: key.private_writes.get().map(|(on, _)| *on),
    }
}
