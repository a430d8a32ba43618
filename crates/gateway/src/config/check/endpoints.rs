//! The endpoints of a chain: addresses, labels, and what their owner says of them.

use super::{accounts::Claim, methods, overlay::Overlay, unique_label};
use crate::config::{
    field::{Field, List},
    model,
    name::Label,
    reader::Pass,
    settings::EndpointSettings,
};
use highwater::SecretUrl;
use std::ops::Range;
use url::Url;

/// Most blocks that a range can be declared to have.
const BLOCKS: u64 = 1_000_000_000;

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

/// The endpoints in order, and what each states of its budget.
pub(super) fn check(
    section: &str,
    raw: &List<model::Endpoint>,
    pass: &Pass<'_>,
) -> (Vec<EndpointSettings>, Vec<Claim>) {
    let mut labels: Vec<&str> = Vec::new();
    let (mut endpoints, mut claims) = (Vec::new(), Vec::new());
    for (index, (raw, span)) in raw.elements().enumerate() {
        if let Some((label, span)) = raw.label.get() {
            unique_label(&mut labels, label, span, "the label", pass);
        }
        let place = Place {
            section: format!("{section}.endpoints[{index}]"),
            called: raw
                .label
                .get()
                .map_or_else(String::new, |(label, _)| format!(" (label `{}`)", label.0)),
            pass,
        };
        match raw.url.get() {
            Some((url, span)) => match endpoint_url(url.0.expose()) {
                Ok(url) => {
                    claims.push(Claim::read(&place.section, endpoints.len(), raw, pass));
                    endpoints.push(place.endpoint(url, raw));
                }
                Err(problem) => place.refuse("url", span, &problem),
            },
            None if raw.url.is_absent() => {
                let Place {
                    section, called, ..
                } = &place;
                pass.note(
                    span.start..span.start,
                    format!("`{section}`{called}: `url` is missing"),
                );
            }
            None => {}
        }
    }
    label_by_host(&mut endpoints);
    (endpoints, claims)
}

/// Where an endpoint stands in the file, and what it is called there.
struct Place<'a> {
    section: String,
    called: String,
    pass: &'a Pass<'a>,
}

impl Place<'_> {
    fn refuse(&self, name: &str, span: Range<usize>, problem: &str) {
        let Self {
            section, called, ..
        } = self;
        self.pass
            .note(span, format!("`{section}.{name}`{called}: {problem}"));
    }

    fn endpoint(&self, url: SecretUrl, raw: &model::Endpoint) -> EndpointSettings {
        let name = |label: &Field<Label>| label.get().map(|(label, _)| label.0.clone());
        let mut endpoint = EndpointSettings::new(name(&raw.label).unwrap_or_default(), url);
        let mut at = Overlay::new(self.pass, self.section.clone());
        at.count("tier", &raw.tier, &mut endpoint.tier, 0..=255);
        at.number("weight", &raw.weight, &mut endpoint.weight, 1e-6..=1e6);
        let mut price = 0.0;
        at.number("price", &raw.price, &mut price, 0.0..=1e6);
        let mut range = 0;
        at.count("max_log_range", &raw.max_log_range, &mut range, 1..=BLOCKS);
        let mut batch = 0;
        at.count("max_batch", &raw.max_batch, &mut batch, 1..=1000);
        Overlay::flag(&raw.archive, &mut endpoint.archive);
        Overlay::flag(&raw.private, &mut endpoint.private);
        if let Some((url, span)) = raw.ws_url.get() {
            match socket_url(url.0.expose()) {
                Ok(()) => endpoint.ws_url = Some(url.0.clone()),
                Err(problem) => self.refuse("ws_url", span, problem),
            }
        }
        EndpointSettings {
            account: name(&raw.account),
            group: name(&raw.group),
            price: (!raw.price.is_absent()).then_some(price),
            region: name(&raw.region),
            methods: methods(&raw.methods),
            max_log_range: Some(range).filter(|range| *range > 0),
            max_batch: Some(batch).filter(|batch| *batch > 0),
            ..endpoint
        }
    }
}

/// The problem does not repeat the URL.
fn socket_url(text: &str) -> Result<(), &'static str> {
    let url = Url::parse(text).ok().filter(Url::has_host);
    match url.as_ref().map(Url::scheme) {
        Some("ws" | "wss") => Ok(()),
        Some(_) | None => Err("not a WebSocket URL: it must begin with ws:// or wss://"),
    }
}
