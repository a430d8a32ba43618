//! Chains and endpoints: names that lead to one chain each, ids that agree with names, labels.

use super::{Bounds, unique_label};
use crate::config::{
    field::{Field, List, Named},
    known, later,
    model::{self, bound, default},
    name::{ChainName, Label},
    reader::Pass,
    settings::{ChainSettings, EndpointSettings, WritePolicy},
    unit,
};
use highwater::SecretUrl;
use highwater_core::ChainId;
use std::ops::Range;

/// A path segment that leads to a chain, and where it was given.
struct Taken {
    name: String,
    chain: usize,
}

pub(super) fn check(raw: Field<Named<model::Chain>>, pass: &Pass<'_>) -> Vec<ChainSettings> {
    let Some((Named(sections), place)) = located(raw) else {
        return Vec::new();
    };
    if sections.is_empty() {
        pass.note(
            place.start..place.start,
            "`chains`: no chain is configured: add a `[chains.NAME]` section".to_owned(),
        );
    }
    let mut taken: Vec<Taken> = Vec::new();
    let mut chains: Vec<ChainSettings> = Vec::new();
    for (key, section) in sections {
        let Field::Set(key, key_span) = key else {
            continue;
        };
        let name = ChainName::parse(&key)
            .map_err(|problem| pass.note(key_span.clone(), format!("`chains.{key}`: {problem}")))
            .ok();
        let Some(section) = section.value() else {
            continue;
        };
        let heading = Heading {
            key: &key,
            span: &key_span,
            name,
        };
        let chain = chain(&heading, section, pass, |name, span| {
            take(&mut taken, chains.len(), name, span, pass);
        });
        if let Some(id) = chain.id
            && let Some(other) = chains.iter().find(|other| other.id == Some(id))
        {
            let message = format!(
                "`chains.{key}`: chain id {id} is already that of `chains.{}`: one section for \
                 each chain",
                other.name
            );
            pass.note(key_span, message);
        }
        chains.push(chain);
    }
    // A known chain also answers to its usual name, unless that name is somebody else's.
    for (index, chain) in chains.iter_mut().enumerate() {
        let Some(usual) = chain.id.and_then(known::by_id) else {
            continue;
        };
        if !taken.iter().any(|one| one.name == usual.slug) {
            taken.push(Taken {
                name: usual.slug.to_owned(),
                chain: index,
            });
            chain.aliases.push(usual.slug.to_owned());
        }
    }
    chains
}

/// A chain as it is when its section says nothing.
pub(in crate::config) fn chain_defaults() -> ChainSettings {
    ChainSettings {
        name: String::new(),
        aliases: Vec::new(),
        id: None,
        endpoints: Vec::new(),
        timeout: unit::parse_duration(default::TIMEOUT).expect("invariant: a duration"),
        writes: WritePolicy::Once,
        verify_chain_id: true,
        max_reply: unit::parse_size(default::MAX_REPLY)
            .ok()
            .and_then(|bytes| usize::try_from(bytes).ok())
            .expect("invariant: a size that fits"),
    }
}

/// Reads an endpoint's URL; the problem does not repeat it.
pub(in crate::config) fn endpoint_url(text: &str) -> Result<SecretUrl, String> {
    let scheme = text.trim_start().split("://").next().unwrap_or_default();
    if scheme.eq_ignore_ascii_case("ws") || scheme.eq_ignore_ascii_case("wss") {
        return Err(
            "WebSocket endpoints are not available in this version yet: give the http:// \
                    or https:// URL of the endpoint"
                .to_owned(),
        );
    }
    SecretUrl::parse(text)
}

/// Labels endpoints that have none by their host; where that is taken, by host and port, and then
/// with a number.
pub(in crate::config) fn label_by_host(endpoints: &mut [EndpointSettings]) {
    let hosts: Vec<String> = endpoints
        .iter()
        .map(|one| one.url.host().to_owned())
        .collect();
    for index in 0..endpoints.len() {
        if !endpoints[index].label.is_empty() {
            continue;
        }
        let host = &hosts[index];
        let shared = hosts.iter().filter(|other| *other == host).count() > 1;
        let base = match endpoints[index].url.expose().port_or_known_default() {
            Some(port) if shared => format!("{host}:{port}"),
            _ => host.clone(),
        };
        let free = |label: &str| !endpoints.iter().any(|other| other.label == label);
        let label = std::iter::once(base.clone())
            .chain((2..).map(|number| format!("{base}#{number}")))
            .find(|label| free(label));
        endpoints[index].label = label.expect("invariant: numbers do not run out");
    }
}

/// The `NAME` of a section: as written, where, and as a name if it is one.
struct Heading<'a> {
    key: &'a str,
    span: &'a Range<usize>,
    name: Option<ChainName>,
}

fn chain(
    heading: &Heading<'_>,
    raw: model::Chain,
    pass: &Pass<'_>,
    mut take: impl FnMut(&str, Range<usize>),
) -> ChainSettings {
    let section = format!("chains.{}", heading.key);
    if let Some(name) = &heading.name {
        take(&name.0, heading.span.clone());
    }
    let mut aliases = Vec::new();
    for (alias, span) in raw.aliases.elements() {
        if heading.name.as_ref() != Some(alias) && !aliases.contains(&alias.0) {
            take(&alias.0, span);
            aliases.push(alias.0.clone());
        }
    }
    let id = heading
        .name
        .as_ref()
        .and_then(|name| chain_id(name, heading.span, &raw.id, pass));
    if raw.endpoints.is_absent() || raw.endpoints.get().is_some_and(|(list, _)| list.is_empty()) {
        let message = format!(
            "`{section}`: no endpoint is configured: add a `[[{section}.endpoints]]` section with \
             a `url`"
        );
        pass.note(heading.span.clone(), message);
    }
    let range = Bounds {
        pass,
        section: &section,
    };
    ChainSettings {
        aliases,
        id,
        timeout: range.period("timeout", &raw.timeout, default::TIMEOUT),
        writes: raw.writes.value().unwrap_or(WritePolicy::Once),
        verify_chain_id: raw.verify_chain_id.value().unwrap_or(true),
        max_reply: range.size("max_reply", &raw.max_reply, default::MAX_REPLY),
        endpoints: endpoints(&section, &raw.endpoints, pass),
        name: heading
            .name
            .as_ref()
            .map(|name| name.0.clone())
            .unwrap_or_default(),
    }
}

/// The id that is given, or that of the known name; both must agree.
fn chain_id(
    name: &ChainName,
    key_span: &Range<usize>,
    given: &Field<unit::Count>,
    pass: &Pass<'_>,
) -> Option<ChainId> {
    let known = known::by_slug(&name.0);
    let section = format!("chains.{}", name.0);
    let Some((id, span)) = given.get() else {
        if known.is_none() && given.is_absent() {
            let near = later::nearest(&name.0, known::all().iter().map(|chain| chain.slug));
            let hint = near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
            let message = format!(
                "`{section}`: no chain is known by this name{hint}: set `id` to its chain id"
            );
            pass.note(key_span.clone(), message);
        }
        return known.map(|chain| chain.id);
    };
    if !bound::CHAIN_ID.contains(&id.0) {
        pass.note(span, format!("`{section}.id`: a chain id is at least 1"));
    } else if let Some(known) = known.filter(|chain| chain.id.0 != id.0) {
        let message = format!(
            "`{section}.id`: `{}` is chain {}, not {}: correct the id or choose another name",
            name.0, known.id, id.0
        );
        pass.note(span, message);
    }
    Some(ChainId(id.0))
}

fn endpoints(section: &str, raw: &List<model::Endpoint>, pass: &Pass<'_>) -> Vec<EndpointSettings> {
    let mut labels: Vec<&str> = Vec::new();
    let mut endpoints = Vec::new();
    for (index, (endpoint, span)) in raw.elements().enumerate() {
        let label = endpoint.label.get();
        let called = label
            .as_ref()
            .map_or_else(String::new, |(label, _)| format!(" (label `{}`)", label.0));
        if let Some((label, span)) = label {
            unique_label(&mut labels, label, span, "the label", pass);
        }
        let place = format!("`{section}.endpoints[{index}]");
        match endpoint.url.get() {
            Some((url, span)) => match endpoint_url(url.0.expose()) {
                Ok(url) => {
                    let label = endpoint.label.get().map(|(Label(label), _)| label.clone());
                    endpoints.push(EndpointSettings {
                        label: label.unwrap_or_default(),
                        url,
                    });
                }
                Err(problem) => pass.note(span, format!("{place}.url`{called}: {problem}")),
            },
            None if endpoint.url.is_absent() => {
                pass.note(
                    span.start..span.start,
                    format!("{place}`{called}: `url` is missing"),
                );
            }
            None => {}
        }
    }
    label_by_host(&mut endpoints);
    endpoints
}

fn take(taken: &mut Vec<Taken>, chain: usize, name: &str, span: Range<usize>, pass: &Pass<'_>) {
    if let Some(other) = taken.iter().find(|one| one.name == name) {
        let whose = if other.chain == chain {
            "this chain"
        } else {
            "another chain"
        };
        pass.note(
            span,
            format!("the chain name `{name}` already leads to {whose}"),
        );
        return;
    }
    taken.push(Taken {
        name: name.to_owned(),
        chain,
    });
}

fn located<T>(field: Field<T>) -> Option<(T, Range<usize>)> {
    match field {
        Field::Set(value, span) => Some((value, span)),
        Field::Absent | Field::Refused => None,
    }
}
