//! Everything that all workers share, built once from the checked settings.

use crate::{
    auth::{Auth, Key},
    config::{ChainSettings, ServerSettings, Settings, WritePolicy},
    load::Gauge,
    local::Local,
    policy::{Names, Policy},
    server::{cors::OriginRule, host::HostRule, route::Routes},
    sessions::Sessions,
    shutdown::Shutdown,
};
use highwater::{Pool, SendPolicy, Sends};
use highwater_core::{jsonrpc::Limits, router::Identity};
use std::{net::IpAddr, time::Duration};

/// Most bytes of large request bodies in memory at once, over the whole gateway: that of 16 of the
/// largest legal ones, 80 MiB by default, but not above this, unless two would not fit.
const MAX_BODIES: usize = 128 * 1024 * 1024;

/// The shared state.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) server: ServerSettings,
    pub(crate) limits: Limits,
    pub(crate) chains: Vec<Chain>,
    pub(crate) routes: Routes,
    pub(crate) auth: Auth,
    pub(crate) policy: Policy,
    pub(crate) host: HostRule,
    pub(crate) origins: OriginRule,
    pub(crate) in_flight: Gauge,
    pub(crate) connections: Gauge,
    /// Bytes of large request bodies.
    pub(crate) bodies: Gauge,
    pub(crate) shutdown: Shutdown,
}

/// One chain.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) name: Box<str>,
    pub(crate) pool: Pool,
    pub(crate) local: Local,
    /// Whole-call deadline of a read.
    pub(crate) deadline: Duration,
    /// How raw transactions are sent, and how many get one under `broadcast`.
    pub(crate) sends: Sends,
    broadcast_to: u8,
    /// Methods that are never repeated, beyond those that never are.
    pub(crate) never_repeat: Names,
    /// Who has seen what (P-8).
    pub(crate) sessions: Sessions,
    /// Whether elements of one client's batch share requests.
    pub(crate) folds: bool,
    verified: bool,
}

impl Chain {
    pub(crate) fn new(
        settings: &ChainSettings,
        server: &ServerSettings,
        keys: usize,
        pool: Pool,
    ) -> Self {
        Self {
            deadline: settings.deadline.unwrap_or(server.deadline),
            sends: Sends {
                policy: policy(settings.writes, settings.broadcast_to),
                verify: settings.verify_writes,
                private: settings.private_writes,
                timeout: settings.write_timeout,
            },
            broadcast_to: settings.broadcast_to,
            sessions: Sessions::new(keys, server.max_sessions),
            never_repeat: Names::new(&settings.never_repeat),
            name: settings.name.as_str().into(),
            pool,
            local: Local::new(&settings.name),
            folds: settings.engine.batch.client && settings.engine.batch.most > 1,
            verified: settings.engine.verify_chain_id,
        }
    }

    /// How raw transactions of a key are sent.
    pub(crate) fn sends(&self, key: Option<&Key>) -> Sends {
        let own = key.and_then(|key| key.writes);
        Sends {
            policy: own.map_or(self.sends.policy, |own| policy(own, self.broadcast_to)),
            private: key
                .and_then(|key| key.private_writes)
                .unwrap_or(self.sends.private),
            ..self.sends
        }
    }

    /// Whether some endpoint may be used: proven to be on this chain, or, where the check is off,
    /// not proven to be elsewhere. No I/O (hardening H18).
    pub(crate) fn is_ready(&self) -> bool {
        self.pool
            .snapshot()
            .endpoints
            .iter()
            .any(|endpoint| match endpoint.identity {
                Identity::Verified => true,
                Identity::Unchecked => !self.verified,
                Identity::Quarantined { .. } => false,
            })
    }
}

const fn policy(writes: WritePolicy, broadcast_to: u8) -> SendPolicy {
    match writes {
        WritePolicy::Once => SendPolicy::Once,
        WritePolicy::Failover => SendPolicy::Failover,
        WritePolicy::Broadcast => SendPolicy::Broadcast(broadcast_to),
    }
}

impl Shared {
    pub(crate) fn new(settings: &Settings, chains: Vec<Chain>) -> Self {
        let server = settings.server.clone();
        let named = settings
            .chains
            .iter()
            .map(|c| (c.name.as_str(), c.aliases.as_slice()));
        let routes = Routes::new(named);
        let key_origins = settings.keys.iter().flat_map(|key| &key.origins);
        Self {
            limits: Limits {
                max_batch: server.max_batch,
                strict: server.strict,
                ..Limits::default()
            },
            auth: Auth::new(&settings.keys, |name| routes.named(name)),
            policy: Policy::new(&server.methods),
            host: host_rule(server.listen.ip(), &server),
            origins: OriginRule::new(&server.allowed_origins, key_origins),
            in_flight: Gauge::new(server.max_in_flight),
            connections: Gauge::new(server.max_connections),
            bodies: Gauge::new(room_for_bodies(server.max_body)),
            shutdown: Shutdown::default(),
            chains,
            routes,
            server,
        }
    }

    /// The longest time that a read may take on any chain.
    pub(crate) fn longest_deadline(&self) -> Duration {
        let deadlines = self.chains.iter().map(|chain| chain.deadline);
        deadlines.max().unwrap_or(self.server.deadline)
    }

    /// Whether calls can be served: every chain has a usable endpoint.
    pub(crate) fn is_ready(&self) -> bool {
        !self.chains.is_empty() && self.chains.iter().all(Chain::is_ready)
    }
}

fn room_for_bodies(largest: usize) -> usize {
    let room = largest.saturating_mul(16).min(MAX_BODIES);
    room.max(largest.saturating_mul(2))
}

/// The host rule of a listener at an address.
pub(crate) fn host_rule(own: IpAddr, server: &ServerSettings) -> HostRule {
    HostRule::new(own, &server.allowed_hosts)
}
