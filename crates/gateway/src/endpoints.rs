//! The endpoints of the configuration as pools take them.

use crate::config::{ChainSettings, EndpointSettings};
use highwater::Endpoint;
use highwater_core::{
    bucket::Account,
    learn::{Declared, Size},
    router::{MethodList, Profile},
};
use std::{collections::HashMap, sync::Arc};

/// The named accounts of all chains: one budget for each.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    named: HashMap<String, Arc<Account>>,
}

impl Accounts {
    /// Whose budget each endpoint of a chain spends, in order.
    pub(crate) fn of(&mut self, chain: &ChainSettings) -> Vec<Arc<Account>> {
        let account = |settings: &EndpointSettings| match &settings.account {
            None => Arc::new(Account::new("", &settings.budget)),
            Some(name) => {
                let new = || Arc::new(Account::new(name, &settings.budget));
                Arc::clone(self.named.entry(name.clone()).or_insert_with(new))
            }
        };
        chain.endpoints.iter().map(account).collect()
    }
}

/// The endpoints of a chain, for a gateway in a region.
pub(crate) fn endpoints(
    chain: &ChainSettings,
    accounts: &[Arc<Account>],
    region: Option<&str>,
) -> impl Iterator<Item = Endpoint> {
    let mut groups: Vec<&str> = Vec::new();
    chain
        .endpoints
        .iter()
        .zip(accounts)
        .map(move |(settings, account)| {
            let group = settings.group.as_deref().map(|name| {
                let known = groups.iter().position(|group| *group == name);
                let number = known.unwrap_or_else(|| {
                    groups.push(name);
                    groups.len() - 1
                });
                u16::try_from(number).unwrap_or(u16::MAX)
            });
            let methods = &settings.methods;
            let profile = Profile {
                weight: settings.weight,
                tier: settings.tier,
                group,
                account: Arc::clone(account),
                methods: MethodList::new(methods.allow.clone(), methods.deny.clone()),
                region_distance: distance(region, settings.region.as_deref()),
                private: settings.private,
                declared: declared(settings),
                price: settings.price,
            };
            Endpoint::url(settings.url.clone())
                .label(settings.label.clone())
                .profile(profile)
        })
}

fn declared(settings: &EndpointSettings) -> Declared {
    let range = settings.max_log_range.map(|most| (Size::LogRange, most));
    let batch = settings.max_batch.map(|most| (Size::Batch, most));
    Declared {
        archive: settings.archive,
        largest: range.into_iter().chain(batch).collect(),
        ..Declared::known(settings.url.host(), settings.url.expose().path())
    }
}

/// How far an endpoint is from here: 0 in the same region, 0.5 in one whose name begins with
/// the same word (`eu-west`, `eu-north`) or in one that is not said, 1 elsewhere. Where the
/// gateway's own is not said, all are as far.
fn distance(own: Option<&str>, other: Option<&str>) -> f64 {
    let area = |name: &str| name.split('-').next().map(str::to_ascii_lowercase);
    match (own, other) {
        (None, _) => 0.0,
        (Some(_), None) => 0.5,
        (Some(own), Some(other)) if own.eq_ignore_ascii_case(other) => 0.0,
        (Some(own), Some(other)) if area(own) == area(other) => 0.5,
        (Some(_), Some(_)) => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::distance;

    //
    #[test]
    fn regions_are_near_by_their_first_word() {
        for (own, other, expected) in [
            (Some("eu-west"), Some("EU-west"), 0.0),
            (Some("eu-west"), Some("eu-north"), 0.5),
            (Some("eu-west"), Some("us-west"), 1.0),
            (Some("eu"), Some("eu-west"), 0.5),
            (Some("eu-west"), None, 0.5),
            (None, Some("us-west"), 0.0),
            (None, None, 0.0),
        ] {
            assert_eq!(distance(own, other), expected, "{own:?} {other:?}");
        }
    }
}
