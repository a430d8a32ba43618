//! What requests cost, and what those would have cost that were not made (P-28).

use crate::{Pool, snapshot::Snapshot};
use std::collections::BTreeMap;

/// Compute units, and money where endpoints state a price for one ([`Profile::price`]). Money is in
/// whatever currency the prices are.
///
/// Compute units are those of the method table, one weight a method; a provider that counts otherwise
/// bills otherwise.
///
/// [`Profile::price`]: highwater_core::router::Profile::price
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Costs {
    /// Units of all requests that went out since the endpoints are in the pool: attempts that failed,
    /// hedges, chain checks and head probes included.
    pub units: u64,
    /// Money for them at endpoints that state a price; `None`: no endpoint does.
    pub spent: Option<f64>,
    /// Units of calls that took no request, whatever spared it: see [`CacheStats::avoided`].
    ///
    /// [`CacheStats::avoided`]: crate::CacheStats::avoided
    pub avoided_units: u64,
    /// What these would have cost at the average that was paid for a unit so far, units at endpoints
    /// without a price included as costing nothing. An estimate: nobody knows where a request that was
    /// not made would have gone. `None`: no endpoint states a price, or nothing was sent yet.
    pub avoided: Option<f64>,
    /// The same by endpoint, by its label.
    pub endpoints: BTreeMap<String, EndpointCosts>,
}

/// What the requests of one endpoint cost.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct EndpointCosts {
    /// Units of its requests.
    pub units: u64,
    /// Price of a unit, where it is stated.
    pub price: Option<f64>,
    /// Units times price.
    pub spent: Option<f64>,
}

impl Costs {
    fn of(snapshot: &Snapshot, avoided_units: u64) -> Self {
        let costs = snapshot.endpoints.iter().map(|endpoint| {
            let units = endpoint.counters.units;
            let price = endpoint.price;
            let spent = price.map(|price| price * money(units));
            let costs = EndpointCosts {
                units,
                price,
                spent,
            };
            (endpoint.label.clone(), costs)
        });
        let endpoints: BTreeMap<String, EndpointCosts> = costs.collect();
        let units = endpoints.values().map(|one| one.units).sum();
        let spent = endpoints.values().filter_map(|one| one.spent);
        let spent = spent.reduce(|sum, one| sum + one);
        let average = spent
            .filter(|_| units > 0)
            .map(|spent| spent / money(units));
        Self {
            units,
            spent,
            avoided_units,
            avoided: average.map(|average| average * money(avoided_units)),
            endpoints,
        }
    }
}

/// Units beyond 2^53 are rounded.
#[expect(clippy::cast_precision_loss, reason = "a count that is priced")]
const fn money(units: u64) -> f64 {
    units as f64
}

impl Pool {
    /// What requests cost so far, and what calls that took none spared (P-28). It takes a [`Snapshot`]:
    /// for a page or a minute's report, not for every call.
    #[must_use]
    pub fn costs(&self) -> Costs {
        Costs::of(&self.snapshot(), self.cache_stats().avoided_units)
    }
}
