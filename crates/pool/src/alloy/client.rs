//! Clients and providers that are set up for a pool.

use super::{PoolLayer, PoolTransport};
use crate::{CallOptions, Pool, inner::Inner};
use alloy_network::Network;
use alloy_provider::RootProvider;
use alloy_rpc_client::RpcClient;
use alloy_transport::{BoxTransport, TransportConnect, TransportError};
use highwater_core::chains;
use std::{future::Future, time::Duration};

/// How often a client looks for a new block where nobody knows how often there is one.
const UNKNOWN_POLL: Duration = Duration::from_secs(4);
/// Between these: looking costs nothing while heads are probed, and a late look is a late receipt.
const LEAST_POLL: Duration = Duration::from_millis(100);
const MOST_POLL: Duration = Duration::from_secs(7);

impl Pool {
    /// The pool as a transport of alloy (L-2).
    #[must_use]
    pub fn transport(&self) -> PoolTransport {
        self.with(CallOptions::default())
    }

    /// The same, with other options for all its calls. A call's own go before them:
    /// [`PoolCallExt`](super::PoolCallExt).
    #[must_use]
    pub fn with(&self, options: CallOptions) -> PoolTransport {
        PoolTransport::new(self.clone(), options)
    }

    /// An RPC client over the pool, for `ProviderBuilder::connect_client`. Pollers of a provider look
    /// for news [every half block](Self::poll_interval).
    #[must_use]
    pub fn client(&self) -> RpcClient {
        RpcClient::new(self.transport(), false).with_poll_interval(self.poll_interval())
    }

    /// A bare provider over the pool; `Ethereum` is the network of most chains. For fillers and
    /// signers: `ProviderBuilder::new().connect_client(pool.client())`.
    #[must_use]
    pub fn provider<N: Network>(&self) -> RootProvider<N> {
        RootProvider::new(self.client())
    }

    /// Has the pool answer all that is no subscription, before another transport (L-2).
    #[must_use]
    pub fn layer(&self) -> PoolLayer {
        PoolLayer::new(self.transport())
    }

    /// Half the chain's block time, as measured, else as the table of chains has it; 100 ms to 7 s, and
    /// 4 s where nobody knows it.
    #[must_use]
    pub fn poll_interval(&self) -> Duration {
        Self::poll_interval_of(self.inner())
    }

    pub(crate) fn poll_interval_of(inner: &Inner) -> Duration {
        let state = inner.lock();
        let listed = || state.router.chain().and_then(chains::by_id);
        let block_time = state.router.block_time();
        let block_time = block_time.or_else(|| listed().map(|chain| chain.block_time));
        drop(state);
        block_time.map_or(UNKNOWN_POLL, |time| (time / 2).clamp(LEAST_POLL, MOST_POLL))
    }
}

/// For `ProviderBuilder::connect_with`: there is nothing to connect, so it never fails.
impl TransportConnect for Pool {
    fn is_local(&self) -> bool {
        false
    }

    fn get_transport(&self) -> impl Future<Output = Result<BoxTransport, TransportError>> + Send {
        std::future::ready(Ok(BoxTransport::new(self.transport())))
    }
}
