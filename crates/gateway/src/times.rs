//! How long a call may take (R-30).
//!
//! A read has the deadline of its chain. A submission has the chain's write timeout for its one
//! attempt and 2 s more in all: a node may hold it until it is in a block. The form that waits for
//! the receipt by itself has the wait that its caller states, or 30 s, and 2 s more. A caller that asks for
//! less with `X-Request-Timeout` gets less.

use crate::state::Chain;
use highwater_core::{
    call::write::Form,
    chains,
    jsonrpc::Params,
    method::{Descriptor, Lane},
};
use std::time::Duration;

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
                let plain = write_timeout(chain);
                let form = Form::of(row, params);
                let attempt = form.map_or(plain, |form| form.timeout(plain));
                Self {
                    deadline: chains::write_deadline(attempt),
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
    chain.sends.timeout.unwrap_or_else(|| {
        let known = chain.pool.chain_id().and_then(chains::by_id);
        chains::write_timeout(known)
    })
}

#[cfg(test)]
mod tests {
    use super::Times;
    use crate::{
        config::{ChainSettings, Overrides, Settings},
        kept::Kept,
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
        let kept = Kept::open(&settings.state).unwrap();
        // Where nothing is kept there is nothing to wait for.
        futures_util::FutureExt::now_or_never(startup::chains(&settings, &kept))
            .unwrap()
            .unwrap()
            .remove(0)
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
        let chain = chain("ethereum", |_| {});
        let waiting = "eth_sendRawTransactionSync";
        let params = r#"["0x02", 5000]"#;
        assert_eq!(times(&chain, waiting, params, None), (9_000, Some(7_000)));
        assert_eq!(
            times(&chain, waiting, r#"["0x02"]"#, None),
            (34_000, Some(32_000))
        );
    }
}
