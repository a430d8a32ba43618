//! The program: it knows nothing of routers. Every call is made once, on time, whatever became of the
//! others, and judged by what the lab's chain knows.

use super::scenario::{CALLS, PACE, Work};
use alloy_network::{Ethereum, TransactionBuilder as _};
use alloy_primitives::{Address, B256, Bytes, U256, hex};
use alloy_provider::{Provider as _, RootProvider};
use alloy_rpc_types_eth::TransactionRequest;
use alloy_transport::TransportError;
use highwater_lab::{
    chain::{Chain, Sender, state},
    scenario::Scenario,
};
use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{task::JoinSet, time::Instant};

/// How long the program waits for one call.
const PATIENCE: Duration = Duration::from_secs(5);
/// `Error(string)` with "no".
const REVERT: &str = "08c379a0\
    0000000000000000000000000000000000000000000000000000000000000020\
    0000000000000000000000000000000000000000000000000000000000000002\
    6e6f000000000000000000000000000000000000000000000000000000000000";

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// With what a perfect endpoint says.
    Right,
    /// With something untrue.
    Wrong,
    /// Without an answer, and nothing happened.
    Failed,
    /// A send without an answer, and the network has the transaction.
    Open,
}

/// How all calls ended, and when.
pub(crate) struct Report {
    ends: Vec<(Duration, Ended)>,
}

impl Report {
    /// How many ended so.
    pub(crate) fn count(&self, how: Ended) -> usize {
        self.ends.iter().filter(|(_, ended)| *ended == how).count()
    }

    /// The same as a share of all, 0 to 1.
    pub(crate) fn share(&self, how: Ended) -> f64 {
        self.count(how) as f64 / self.ends.len() as f64
    }

    /// The time within which this share of all calls had ended, in whatever way.
    pub(crate) fn quantile(&self, share: f64) -> Duration {
        let mut times: Vec<Duration> = self.ends.iter().map(|(took, _)| *took).collect();
        times.sort();
        let place = (times.len() as f64 * share).ceil() as usize;
        times[place.clamp(1, times.len()) - 1]
    }
}

/// One transfer each from as many accounts as there are calls.
pub(crate) fn transfers(scenario: &Scenario) -> Vec<(Bytes, B256)> {
    let transfer = |index| {
        let sender = Sender::new(scenario.seed, scenario.chain.chain_id, index);
        let (raw, hash) = sender.transfer(0);
        let raw = hex::decode(raw).expect("invariant: the lab writes hexadecimal");
        (Bytes::from(raw), hash)
    };
    (0..CALLS).map(transfer).collect()
}

/// Makes all calls and waits for their ends.
pub(crate) async fn run(
    provider: RootProvider<Ethereum>,
    work: Work,
    transfers: &[(Bytes, B256)],
    chain: &Arc<Chain>,
) -> Result<Report, Box<dyn Error>> {
    // The highest block that the program has been told.
    let told = Arc::new(AtomicU64::new(0));
    let mut calls = JoinSet::new();
    let began = Instant::now();
    for number in 0..CALLS {
        tokio::time::sleep_until(began + PACE * u32::try_from(number)?).await;
        let (provider, told, chain) = (provider.clone(), Arc::clone(&told), Arc::clone(chain));
        let transfer = transfers.get(number).cloned();
        calls.spawn(async move {
            let asked = Instant::now();
            let ended = match (work, transfer) {
                (Work::Send, Some(transfer)) => send(&provider, transfer, &chain).await,
                (Work::Revert, _) => revert(&provider).await,
                (Work::Read | Work::Send, _) => read(&provider, number, &told).await,
            };
            (asked.elapsed(), ended)
        });
    }
    Ok(Report {
        ends: calls.join_all().await,
    })
}

/// An answer at `latest` is wrong where it shows a lower block than was told before the call.
async fn read(provider: &RootProvider<Ethereum>, number: usize, told: &AtomicU64) -> Ended {
    let before = told.load(Ordering::Relaxed);
    let height = async {
        if number.is_multiple_of(5) {
            return provider.get_block_number().await.ok();
        }
        let account = Address::from_word(B256::from(U256::from(number + 1)));
        let balance = provider.get_balance(account).await.ok()?;
        Some(state::read_at(&format!("{balance:#x}"))?.height)
    };
    let Ok(Some(height)) = tokio::time::timeout(PATIENCE, height).await else {
        return Ended::Failed;
    };
    told.fetch_max(height, Ordering::Relaxed);
    if height < before {
        Ended::Wrong
    } else {
        Ended::Right
    }
}

/// The answer is the revert with its data; any other end but silence is wrong.
async fn revert(provider: &RootProvider<Ethereum>) -> Ended {
    let data = hex::decode(REVERT).expect("invariant: it is hexadecimal");
    let call = TransactionRequest::default()
        .with_to(Address::repeat_byte(7))
        .with_input(data.clone());
    let Ok(answer) = tokio::time::timeout(PATIENCE, async { provider.call(call).await }).await
    else {
        return Ended::Failed;
    };
    let reverted = |error: TransportError| error.as_error_resp()?.as_revert_data();
    match answer.err().and_then(reverted) {
        Some(told) if told == data => Ended::Right,
        _ => Ended::Wrong,
    }
}

/// A send is wrong where the program is told that an endpoint took what no endpoint has, or by an
/// endpoint's error that it was not taken when it was.
async fn send(
    provider: &RootProvider<Ethereum>,
    (raw, hash): (Bytes, B256),
    chain: &Chain,
) -> Ended {
    let sent = async { provider.send_raw_transaction(&raw).await };
    let told = tokio::time::timeout(PATIENCE, sent).await;
    let taken = chain.waiting(hash).is_some();
    match told {
        Ok(Ok(pending)) if *pending.tx_hash() == hash && taken => Ended::Right,
        Ok(Ok(_)) => Ended::Wrong,
        Ok(Err(error)) if error.is_error_resp() && taken => Ended::Wrong,
        Ok(Err(_)) | Err(_) if taken => Ended::Open,
        Ok(Err(_)) | Err(_) => Ended::Failed,
    }
}
