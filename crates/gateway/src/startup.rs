//! What happens between the settings and the first request.

use crate::{
    ServeError,
    config::{AdminSettings, ChainSettings, Settings},
    endpoints::{Accounts, endpoints},
    kept::Kept,
    state::{Chain, Shared},
};
use futures_util::future::join_all;
use highwater::{Builder, Pool, Snapshot};
use highwater_core::{bucket::Account, router::Identity};
use std::{sync::Arc, time::Duration};

/// Longest wait for the endpoints' first chain checks: a hanging endpoint must not hold up the
/// others.
const FIRST_CHECK: Duration = Duration::from_millis(900);
/// Between two looks at chains that have no usable endpoint.
const AGAIN: Duration = Duration::from_secs(5);
/// Longest wait for such a check.
const LATER_CHECK: Duration = Duration::from_secs(5);

/// Builds the chains, with what was kept of them; no other I/O.
pub(crate) async fn chains(settings: &Settings, kept: &Kept) -> Result<Vec<Chain>, ServeError> {
    let mut accounts = Accounts::default();
    let mut chains = Vec::with_capacity(settings.chains.len());
    for chain in &settings.chains {
        let mut builder = builder(chain, settings, &accounts.of(chain));
        if let Some(totals) = kept.totals(&chain.name).await {
            builder = builder.restore_totals(totals);
        }
        if let Some(scores) = kept.scores(&chain.name) {
            builder = builder.persist(scores);
        }
        let pool = builder
            .build()
            .map_err(|e| ServeError::Configuration(format!("chain {}: {e}", chain.name)))?;
        let keys = settings.keys.len();
        chains.push(Chain::new(chain, &settings.server, keys, pool));
    }
    Ok(chains)
}

fn builder(chain: &ChainSettings, settings: &Settings, accounts: &[Arc<Account>]) -> Builder {
    let server = &settings.server;
    let mut builder = Pool::builder()
        .settings(chain.engine.clone())
        .timeout(chain.timeout)
        .deadline(chain.deadline.unwrap_or(server.deadline))
        .workers(server.workers.max(1))
        .max_reply(chain.max_reply);
    if let Some(id) = chain.id {
        builder = builder.chain(id);
    }
    if let Some(rules) = &settings.error_rules {
        builder = builder.error_rules(Arc::clone(rules));
    }
    endpoints(chain, accounts, server.region.as_deref()).fold(builder, Builder::endpoint)
}

/// An admin listener that others can reach needs a token.
pub(crate) fn check_admin(admin: &AdminSettings) -> Result<(), ServeError> {
    match admin.listen {
        Some(address) if !address.ip().is_loopback() && admin.token.is_none() => {
            Err(ServeError::Configuration(
                "[admin] listen is not on loopback: set [admin] token, or listen on 127.0.0.1"
                    .into(),
            ))
        }
        Some(_) | None => Ok(()),
    }
}

/// Asks every endpoint for its chain and then for its head, all at once and each for at most a
/// second, and refuses to start
/// where they disagree (exit code 69). Endpoints that do not answer are left for later, unless
/// `require_ready`.
pub(crate) async fn first_check(shared: &Shared, settings: &Settings) -> Result<(), ServeError> {
    // What was learned before is there for the first call; a disk that hangs holds up nobody (P-27).
    let scores = shared.chains.iter().map(|chain| chain.pool.load_scores());
    let _late = tokio::time::timeout(FIRST_CHECK, join_all(scores)).await;
    let checks = shared
        .chains
        .iter()
        .map(|chain| chain.pool.check_all(FIRST_CHECK));
    let snapshots = join_all(checks).await;
    for ((chain, settings_of), snapshot) in
        shared.chains.iter().zip(&settings.chains).zip(&snapshots)
    {
        if let Some(found) = disagreement(settings_of, snapshot) {
            return Err(ServeError::DifferentChains {
                chain: chain.name.to_string(),
                found,
            });
        }
        if !chain.is_ready() {
            if settings.server.require_ready {
                return Err(ServeError::NotReady {
                    chain: chain.name.to_string(),
                });
            }
            tracing::warn!(chain = &*chain.name, "no endpoint has answered yet");
        }
        for endpoint in &snapshot.endpoints {
            if let Identity::Quarantined { found } = endpoint.identity {
                tracing::error!(
                    chain = &*chain.name,
                    endpoint = endpoint.label,
                    found = found.0,
                    "an endpoint serves another chain and is not used"
                );
            }
        }
    }
    // Before the first call, so that none is answered by an endpoint that is behind.
    let probed = shared.chains.iter().zip(&settings.chains);
    let probed = probed.filter(|(_, of)| of.engine.probe.is_some() && of.engine.heads.is_some());
    let heads = probed.map(|(chain, _)| chain.pool.probe());
    let _late = tokio::time::timeout(FIRST_CHECK, join_all(heads)).await;
    Ok(())
}

/// Where a chain's id comes from its endpoints, they must agree: there is nobody to say which of
/// them is right.
fn disagreement(settings: &ChainSettings, snapshot: &Snapshot) -> Option<String> {
    let expected = snapshot.chain?;
    let stray = |endpoint: &highwater::EndpointSnapshot| {
        matches!(endpoint.identity, Identity::Quarantined { .. })
    };
    if settings.id.is_some() || !snapshot.endpoints.iter().any(stray) {
        return None;
    }
    let found = snapshot
        .endpoints
        .iter()
        .filter_map(|endpoint| match endpoint.identity {
            Identity::Verified => Some(format!("{} ({expected})", endpoint.label)),
            Identity::Quarantined { found } => Some(format!("{} ({found})", endpoint.label)),
            Identity::Unchecked => None,
        });
    Some(found.collect::<Vec<_>>().join(", "))
}

/// Keeps looking at chains without a usable endpoint, so that `/readyz` turns without traffic.
pub(crate) async fn keep_checking(shared: &Shared) {
    loop {
        tokio::time::sleep(AGAIN).await;
        let unready = shared.chains.iter().filter(|chain| !chain.is_ready());
        join_all(unready.map(|chain| chain.pool.check_all(LATER_CHECK))).await;
    }
}
