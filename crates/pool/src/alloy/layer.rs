//! The pool before another transport, which keeps the subscriptions.

use super::transport::{Failed, PoolTransport, is_subscription, join};
use alloy_json_rpc::{RequestPacket, Response, ResponsePacket, SerializedRequest};
use alloy_transport::{Transport, TransportError, TransportErrorKind, TransportFut};
use futures_util::future::join_all;
use std::{
    future::poll_fn,
    task::{Context, Poll},
};
use tower_layer::Layer;
use tower_service::Service;

/// Has a pool answer all that is no subscription, and the transport below the rest (L-2):
/// `ClientBuilder::default().layer(pool.layer())` before a WebSocket, for example.
#[derive(Clone, Debug)]
pub struct PoolLayer {
    transport: PoolTransport,
}

impl PoolLayer {
    pub(super) const fn new(transport: PoolTransport) -> Self {
        Self { transport }
    }
}

impl<S> Layer<S> for PoolLayer {
    type Service = PoolService<S>;

    fn layer(&self, below: S) -> PoolService<S> {
        PoolService {
            transport: self.transport.clone(),
            below,
        }
    }
}

/// A pool and the transport below it; see [`PoolLayer`].
#[derive(Clone, Debug)]
pub struct PoolService<S> {
    transport: PoolTransport,
    below: S,
}

impl<S: Transport + Clone> PoolService<S> {
    async fn one(&self, request: &SerializedRequest) -> Result<Response, Failed> {
        if is_subscription(request) {
            return self.pass(request.clone()).await.map_err(Failed::Below);
        }
        self.transport.one(request, None).await
    }

    async fn pass(&self, request: SerializedRequest) -> Result<Response, TransportError> {
        let mut below = self.below.clone();
        poll_fn(|cx| below.poll_ready(cx)).await?;
        match below.call(RequestPacket::Single(request)).await? {
            ResponsePacket::Single(response) => Ok(response),
            ResponsePacket::Batch(_) => Err(TransportErrorKind::custom_str(
                "a batch came back for a single request",
            )),
        }
    }

    async fn serve(self, packet: RequestPacket) -> Result<ResponsePacket, TransportError> {
        match packet {
            RequestPacket::Single(request) => {
                let response = self.one(&request).await;
                response.map(ResponsePacket::Single).map_err(Failed::alloy)
            }
            RequestPacket::Batch(requests) => {
                let ended = join_all(requests.iter().map(|request| self.one(request))).await;
                join(&requests, ended)
            }
        }
    }
}

impl<S: Transport + Clone> Service<RequestPacket> for PoolService<S> {
    type Response = ResponsePacket;
    type Error = TransportError;
    type Future = TransportFut<'static>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, packet: RequestPacket) -> TransportFut<'static> {
        Box::pin(self.clone().serve(packet))
    }
}
