//! How long a call may take (R-30).
//!
//! A read has the deadline of its chain. A submission has the chain's write timeout for its one
//! attempt and 2 s more in all: a node may hold it until it is in a block. The form that waits for
//! the receipt by itself has the wait that its caller states, and 2 s more. A caller that asks for
//! less with `X-Request-Timeout` gets less.

use crate::state::Chain;
use highwater_core::{
    chains,
    jsonrpc::Params,
    method::{Descriptor, Lane},
};
use serde_json::value::RawValue;
use std::time::Duration;

/// What a submission may take beyond its attempt, or an attempt beyond the wait that it states.
const MORE: Duration = Duration::from_secs(2);
/// Longest wait that a caller of the waiting form may state; nodes allow no more.
const LONGEST_WAIT: u64 = 60_000;

/// The limits of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) deadline: Duration,
    /// `None`: the chain's.
    pub(crate) attempt: Option<Duration>,
}

impl Times {
    /// `asked` is what the caller wants to wait at most.
    pub(crate) fn of(
        chain: &Chain,
        row: &Descriptor,
        params: Params<'_>,
        asked: Option<Duration>,
    ) -> Self {
        let own = match row.lane {
            Lane::Write => {
                let attempt = stated(row, params).unwrap_or_else(|| write_timeout(chain));
                Self {
                    deadline: attempt.saturating_add(MORE),
                    attempt: Some(attempt),
                }
            }
            Lane::Light | Lane::State | Lane::Range | Lane::Trace | Lane::Stream | Lane::Denied => {
                Self {
                    deadline: chain.deadline,
                    attempt: None,
                }
            }
        };
        Self {
            deadline: asked.map_or(own.deadline, |asked| asked.min(own.deadline)),
            ..own
        }
    }
}

fn write_timeout(chain: &Chain) -> Duration {
    chain.write_timeout.unwrap_or_else(|| {
        let known = chain.pool.chain_id().and_then(chains::by_id);
        chains::write_timeout(known)
    })
}

/// The attempt of a call that states how long it waits, in milliseconds as EIP-7966 has it.
fn stated(row: &Descriptor, params: Params<'_>) -> Option<Duration> {
    let Params::Array(raw) = params else {
        return None;
    };
    if row.name != "eth_sendRawTransactionSync" {
        return None;
    }
    let values: Vec<&RawValue> = serde_json::from_str(raw).ok()?;
    let text = values.get(1)?.get();
    let hex = || u64::from_str_radix(text.trim_matches('"').strip_prefix("0x")?, 16).ok();
    let millis = text.parse().ok().or_else(hex)?;
    Some(Duration::from_millis(LONGEST_WAIT.min(millis)).saturating_add(MORE))
}

#[cfg(test)]
mod tests {
    use super::{Times, stated};
    use crate::{
        config::{ChainSettings, Overrides, Settings},
        startup,
        state::Chain,
    };
    use highwater_core::{jsonrpc::Params, method::lookup};
    use std::time::Duration;

    fn chain(id: &str, change: impl FnOnce(&mut ChainSettings)) -> Chain {
        let urls = ["http://127.0.0.1:1".to_owned()];
        let id = id.parse().unwrap();
        let mut settings = Settings::from_urls(&urls, Some(&id), &Overrides::default()).unwrap();
        change(&mut settings.chains[0]);
        startup::chains(&settings).unwrap().remove(0)
    }

    fn times(chain: &Chain, method: &str, params: &str, asked: Option<u64>) -> (u64, Option<u64>) {
        let asked = asked.map(Duration::from_millis);
        let times = Times::of(chain, lookup(method), Params::Array(params), asked);
        let millis = |time: Duration| time.as_millis() as u64;
        (millis(times.deadline), times.attempt.map(millis))
    }

    // R-30
    #[test]
    fn a_submission_has_the_chains_write_timeout_and_two_seconds_more() {
        let send = "eth_sendRawTransaction";
        let ethereum = chain("ethereum", |_| {});
        assert_eq!(times(&ethereum, send, "[]", None), (12_000, Some(10_000)));
        let nitro = chain("arbitrum", |_| {});
        assert_eq!(times(&nitro, send, "[]", None), (32_000, Some(30_000)));
        let set = chain("arbitrum", |chain| {
            chain.write_timeout = Some(Duration::from_secs(7));
        });
        assert_eq!(times(&set, send, "[]", None), (9_000, Some(7_000)));
        assert_eq!(times(&set, send, "[]", Some(40)), (40, Some(7_000)));
    }

    // R-30
    #[test]
    fn a_read_has_the_deadline_of_its_chain_or_of_the_server() {
        let default = chain("ethereum", |_| {});
        assert_eq!(times(&default, "eth_call", "[]", None), (9_000, None));
        assert_eq!(
            times(&default, "eth_call", "[]", Some(9_500)),
            (9_000, None)
        );
        let own = chain("ethereum", |chain| {
            chain.deadline = Some(Duration::from_secs(3));
        });
        assert_eq!(times(&own, "eth_call", "[]", None), (3_000, None));
        assert_eq!(times(&own, "eth_call", "[]", Some(40)), (40, None));
    }

    // R-30
    #[test]
    fn the_form_that_waits_takes_its_own_wait_and_two_seconds_more() {
        let row = lookup("eth_sendRawTransactionSync");
        let wait = |params| stated(row, Params::Array(params)).map(|wait| wait.as_millis());
        assert_eq!(wait(r#"["0x02", 5000]"#), Some(7_000));
        assert_eq!(wait(r#"["0x02", "0x1388"]"#), Some(7_000));
        assert_eq!(wait(r#"["0x02", 9000000000]"#), Some(62_000));
        for params in [
            r#"["0x02"]"#,
            r#"["0x02", null]"#,
            r#"["0x02", -1]"#,
            "[1, \"x\"]",
        ] {
            assert_eq!(wait(params), None, "{params}");
        }
        let send = lookup("eth_sendRawTransaction");
        assert_eq!(stated(send, Params::Array(r#"["0x02", 5000]"#)), None);
        let chain = chain("ethereum", |_| {});
        let waiting = "eth_sendRawTransactionSync";
        let params = r#"["0x02", 5000]"#;
        assert_eq!(times(&chain, waiting, params, None), (9_000, Some(7_000)));
        assert_eq!(times(&chain, waiting, "[]", None), (12_000, Some(10_000)));
    }
}
