//! One endpoint as a transport of alloy.

use super::context::Context;
use alloy_json_rpc::{RequestPacket, ResponsePacket};
use alloy_transport::{TransportError, TransportFut};
use futures_util::future::join_all;
use std::{
    sync::Arc,
    task::{self, Poll},
};
use tower_service::Service;

/// Sends each request to the endpoint of its context, once and by itself.
#[derive(Clone)]
pub(super) struct PinnedTransport(pub(super) Arc<Context>);

impl PinnedTransport {
    async fn serve(self, packet: RequestPacket) -> Result<ResponsePacket, TransportError> {
        let requests = match packet {
            RequestPacket::Single(request) => {
                let response = self.0.send(&request).await?;
                return Ok(ResponsePacket::Single(response));
            }
            RequestPacket::Batch(requests) => requests,
        };
        let ended = join_all(requests.iter().map(|request| self.0.send(request))).await;
        // A failure of the endpoint is the whole batch's: as its members' it would not be known again.
        let members: Result<Vec<_>, _> = ended.into_iter().collect();
        Ok(ResponsePacket::Batch(members?))
    }
}

impl Service<RequestPacket> for PinnedTransport {
    type Response = ResponsePacket;
    type Error = TransportError;
    type Future = TransportFut<'static>;

    fn poll_ready(&mut self, _: &mut task::Context<'_>) -> Poll<Result<(), TransportError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, packet: RequestPacket) -> TransportFut<'static> {
        Box::pin(self.clone().serve(packet))
    }
}
