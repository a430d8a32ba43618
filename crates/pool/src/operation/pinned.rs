//! The provider that an operation's closure gets.

use super::{EndpointDataError, context::Context, transport::PinnedTransport};
use alloy_network::{Ethereum, Network};
use alloy_provider::{Provider, RootProvider};
use alloy_rpc_client::RpcClient;
use alloy_transport::TransportError;
use std::{fmt, ops::Deref, sync::Arc, time::Duration};

/// A provider whose every request goes to one endpoint, once (L-5).
///
/// It has the whole of alloy's `Provider`. In an operation it works until the run of the closure that
/// got it ends; then, as when the endpoint is ejected meanwhile, it sends nothing and its requests fail
/// with a [`PinnedError`](super::PinnedError). Subscriptions are refused.
#[derive(Clone)]
pub struct Pinned {
    provider: RootProvider<Ethereum>,
    context: Arc<Context>,
}

impl Pinned {
    pub(super) fn new(context: Arc<Context>, poll_interval: Duration) -> Self {
        let transport = PinnedTransport(Arc::clone(&context));
        let client = RpcClient::new(transport, false).with_poll_interval(poll_interval);
        Self {
            provider: RootProvider::new(client),
            context,
        }
    }

    /// Label of the endpoint.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        self.context.label()
    }

    /// The block that all reads of this run see; `None` unless
    /// [`one_block`](crate::OperationOptions::one_block) is set.
    ///
    /// # Errors
    /// The endpoint did not say which is its newest one.
    pub async fn block(&self) -> Result<Option<u64>, TransportError> {
        self.context.block().await
    }

    /// Says that the endpoint's data is unusable: to be returned from the closure.
    pub fn bad_data(&self, reason: impl Into<String>) -> EndpointDataError {
        EndpointDataError::new(reason)
    }

    /// A provider of another network over the same endpoint, bound in the same way.
    #[must_use]
    pub fn on<N: Network>(&self) -> RootProvider<N> {
        RootProvider::new(self.rpc_client())
    }

    /// An RPC client over the same endpoint, bound in the same way, for
    /// `ProviderBuilder::connect_client`: fillers and signers.
    #[must_use]
    pub fn rpc_client(&self) -> RpcClient {
        let transport = PinnedTransport(Arc::clone(&self.context));
        let interval = self.provider.client().poll_interval();
        RpcClient::new(transport, false).with_poll_interval(interval)
    }
}

impl Provider for Pinned {
    fn root(&self) -> &RootProvider<Ethereum> {
        &self.provider
    }
}

impl Deref for Pinned {
    type Target = RootProvider<Ethereum>;

    fn deref(&self) -> &RootProvider<Ethereum> {
        &self.provider
    }
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pinned")
            .field("endpoint", &self.endpoint())
            .finish_non_exhaustive()
    }
}
