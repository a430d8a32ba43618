//! Options of one call, handed over with its request.

use crate::CallOptions;
use alloy_json_rpc::RpcSend;
use alloy_provider::ProviderCall;
use alloy_rpc_client::RpcCall;

/// The options of the call that carries them.
#[derive(Clone, Debug)]
pub(super) struct PerCall(pub(super) CallOptions);

/// Options for one call of alloy's, instead of those of its transport (L-2).
///
/// They travel with the request and mean something to a [`PoolTransport`](super::PoolTransport) alone.
pub trait PoolCallExt: Sized {
    /// What comes of it.
    type Output;

    /// The call with these options.
    fn pool(self, options: CallOptions) -> Self::Output;
}

impl<Params, Resp, Output, Map> PoolCallExt for RpcCall<Params, Resp, Output, Map>
where
    Params: RpcSend,
    Map: FnOnce(Resp) -> Output,
{
    type Output = Self;

    fn pool(self, options: CallOptions) -> Self {
        self.map_meta(|mut meta| {
            meta.extensions_mut().insert(PerCall(options));
            meta
        })
    }
}

/// A provider may have put its call into a batch or answered it by itself: then it comes back as it
/// was, as an error. [`Pool::with`](crate::Pool::with) gives a transport whose every call has the
/// options.
impl<Params, Resp, Output, Map> PoolCallExt for ProviderCall<Params, Resp, Output, Map>
where
    Params: RpcSend,
    Resp: alloy_json_rpc::RpcRecv,
    Map: Fn(Resp) -> Output,
{
    type Output = Result<Self, Self>;

    fn pool(self, options: CallOptions) -> Result<Self, Self> {
        self.map_meta(|mut meta| {
            meta.extensions_mut().insert(PerCall(options));
            meta
        })
    }
}
