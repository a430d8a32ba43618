//! Chains and endpoints: names that lead to one chain each, ids that agree with names, labels.

use super::{
    Bounds,
    accounts::{self, Claim, Common},
    endpoints, engine,
    overlay::Overlay,
    patterns,
};
use crate::config::{
    field::{Field, Named},
    known, later,
    model::{self, bound, default},
    name::ChainName,
    reader::Pass,
    settings::{ChainSettings, WritePolicy},
    unit,
};
use highwater_core::{ChainId, chains::by_id};
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
    let (mut commons, mut claims) = (Vec::new(), Vec::new());
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
        let (chain, common, claim) = chain(&heading, section, pass, |name, span| {
            take(&mut taken, chains.len(), name, span, pass);
        });
        commons.push(common);
        claims.push(claim);
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
    accounts::settle(&mut chains, &commons, &claims, pass);
    // A known chain also answers to its usual name, unless that name is somebody else's.
    for (index, chain) in chains.iter_mut().enumerate() {
        let Some(usual) = chain.id.and_then(by_id) else {
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
pub(in crate::config) fn chain_defaults(id: Option<ChainId>) -> ChainSettings {
    ChainSettings {
        name: String::new(),
        aliases: Vec::new(),
        id,
        endpoints: Vec::new(),
        timeout: unit::parse_duration(default::TIMEOUT).expect("invariant: a duration"),
        deadline: None,
        write_timeout: None,
        writes: WritePolicy::Once,
        broadcast_to: 3,
        verify_writes: None,
        private_writes: false,
        never_repeat: Vec::new(),
        engine: engine::defaults(id.and_then(by_id)),
        max_reply: unit::parse_size(default::MAX_REPLY)
            .ok()
            .and_then(|bytes| usize::try_from(bytes).ok())
            .expect("invariant: a size that fits"),
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
) -> (ChainSettings, Common, Vec<Claim>) {
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
    let (endpoints, claims) = endpoints::check(&section, &raw.endpoints, pass);
    let own = |name, field: &Field<_>| {
        let given = !field.is_absent();
        given.then(|| range.period(name, field, default::TIMEOUT))
    };
    let common = Common::check(&section, &raw, pass);
    let mut broadcast_to = 3;
    let mut at = Overlay::new(pass, section.clone());
    at.count("broadcast_to", &raw.broadcast_to, &mut broadcast_to, 2..=16);
    if let Some((true, span)) = raw.private_writes.get().map(|(on, span)| (*on, span))
        && !endpoints.iter().any(|endpoint| endpoint.private)
    {
        let message = format!(
            "`{section}.private_writes`: no endpoint of this chain is `private`: no transaction \
             could be sent"
        );
        pass.note(span, message);
    }
    let chain = ChainSettings {
        aliases,
        id,
        timeout: range.period("timeout", &raw.timeout, default::TIMEOUT),
        deadline: own("deadline", &raw.deadline),
        write_timeout: own("write_timeout", &raw.write_timeout),
        never_repeat: patterns(&raw.never_repeat),
        engine: engine::check(&section, &raw, id.and_then(by_id), pass),
        writes: raw.writes.value().unwrap_or(WritePolicy::Once),
        broadcast_to,
        verify_writes: raw.verify_writes.value(),
        private_writes: raw.private_writes.value().unwrap_or(false),
        max_reply: range.size("max_reply", &raw.max_reply, default::MAX_REPLY),
        endpoints,
        name: heading
            .name
            .as_ref()
            .map(|name| name.0.clone())
            .unwrap_or_default(),
    };
    (chain, common, claims)
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
