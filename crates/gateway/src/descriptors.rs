//! File descriptors, enough of them for both sides (hardening A8).
//!
//! Every connection is one, to a client and to an endpoint alike. If clients could take them all, no
//! endpoint could be reached for any of them, and a client that opens connections and says nothing
//! would stop the gateway. So the soft limit of the process is raised as far as the hard one allows,
//! and of what there is clients get at most half: a call that is under way holds one connection on
//! either side.

use crate::config::ServerSettings;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors for everything else: listeners, event loops, the admin listener, logs.
const OTHERS: u64 = 32;
/// Of those, what each worker needs more.
const PER_WORKER: u64 = 8;

/// Raises the limit of this process as needed and lowers `max_connections` to what fits.
pub(crate) fn provide(server: &mut ServerSettings) {
    let limit = getrlimit(Resource::Nofile);
    let others = OTHERS + PER_WORKER * server.workers as u64;
    let wanted = server.max_connections as u64;
    let plan = plan(wanted, others, limit.current, limit.maximum);
    if plan.soft != limit.current {
        let raised = Rlimit {
            current: plan.soft,
            maximum: limit.maximum,
        };
        if setrlimit(Resource::Nofile, raised).is_err() {
            // Rare, and no reason not to serve: what there is must do.
            let plan = self::plan(wanted, others, limit.current, limit.current);
            return lower(server, &plan);
        }
    }
    lower(server, &plan);
}

fn lower(server: &mut ServerSettings, plan: &Plan) {
    let fit = usize::try_from(plan.connections).unwrap_or(usize::MAX);
    if fit < server.max_connections {
        tracing::warn!(
            max_connections = fit,
            configured = server.max_connections,
            open_files = plan.soft,
            "fewer connections than configured: the limit of open files is too low, raise it (ulimit -n)"
        );
        server.max_connections = fit;
    }
}

#[derive(Debug, PartialEq)]
struct Plan {
    /// The soft limit to set; `None` is no limit.
    soft: Option<u64>,
    /// Connections that clients may have.
    connections: u64,
}

fn plan(wanted: u64, others: u64, soft: Option<u64>, hard: Option<u64>) -> Plan {
    let needed = wanted.saturating_mul(2).saturating_add(others);
    let soft = soft.map(|soft| soft.max(hard.map_or(needed, |hard| hard.min(needed))));
    let connections = match soft {
        None => wanted,
        Some(soft) => wanted.min(soft.saturating_sub(others) / 2).max(1),
    };
    Plan { soft, connections }
}

#[cfg(test)]
mod tests {
    use super::{Plan, plan};

    // hardening A8
    #[test]
    fn clients_get_at_most_half_of_what_can_be_opened() {
        for (wanted, soft, hard, expected) in [
            // Enough, and left as it is.
            (100, Some(1024), Some(4096), (Some(1024), 100)),
            (100, None, None, (None, 100)),
            // Raised as far as needed, or as far as possible.
            (10_000, Some(1024), Some(1_048_576), (Some(20_040), 10_000)),
            (10_000, Some(1024), None, (Some(20_040), 10_000)),
            (10_000, Some(1024), Some(4096), (Some(4096), 2028)),
            // Not to be raised.
            (10_000, Some(256), Some(256), (Some(256), 108)),
            // Never none at all.
            (10_000, Some(20), Some(20), (Some(20), 1)),
        ] {
            let (soft_after, connections) = expected;
            let expected = Plan {
                soft: soft_after,
                connections,
            };
            assert_eq!(
                plan(wanted, 40, soft, hard),
                expected,
                "{wanted} {soft:?} {hard:?}"
            );
        }
    }
}
