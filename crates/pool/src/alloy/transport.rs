//! The pool behind `RpcClient` and `ProviderBuilder`.

use super::{
    options::PerCall,
    reply::{member, packet_error, params, respond},
};
use crate::{CallOptions, ClientBatch, Error, Pool, Request};
use alloy_json_rpc::{RequestPacket, Response, ResponsePacket, SerializedRequest};
use alloy_transport::{TransportError, TransportErrorKind, TransportFut};
use futures_util::future::join_all;
use highwater_core::method::lookup;
use std::{
    sync::Arc,
    task::{Context, Poll},
};
use tower_service::Service;

/// A pool as a transport of alloy (L-2): it goes wherever one is taken. Cheap to clone; a clone keeps
/// the pool open as a clone of the pool does.
///
/// It is always ready: whatever has to be waited for is waited for within the call, so deadlines bind
/// and dropping the call ends the wait. Each request of a batch is a call of its own, with its own
/// endpoint, cache and failover; those that choose the same endpoint travel there together.
///
/// An endpoint's own error comes back as alloy's `ErrorResp`, its code, message and data as they came.
/// What kept every endpoint from answering is a transport error: with its HTTP status and stated wait
/// where the most useful failure had one, else an [`Error`], which [`Error::from_transport`]
/// finds. In a batch of which something was answered, what was not is an `ErrorResp` with the code and
/// the reason that the gateway gives.
///
/// `eth_subscribe` is refused as alloy's `PubsubUnavailable`, and sent nowhere. Headers that a request
/// carries are not sent on.
#[derive(Clone, Debug)]
pub struct PoolTransport {
    pool: Pool,
    options: Arc<CallOptions>,
}

impl PoolTransport {
    pub(super) fn new(pool: Pool, options: CallOptions) -> Self {
        Self {
            pool,
            options: Arc::new(options),
        }
    }

    /// The pool.
    #[must_use]
    pub const fn pool(&self) -> &Pool {
        &self.pool
    }

    /// One request as a call of its own.
    pub(super) async fn one(
        &self,
        request: &SerializedRequest,
        batch: Option<&ClientBatch>,
    ) -> Result<Response, Failed> {
        if is_subscription(request) {
            return Err(Failed::NoSubscriptions);
        }
        let options = match request.meta().extensions().get::<PerCall>() {
            Some(PerCall(own)) => own,
            None => &*self.options,
        };
        let mut options = options.clone();
        options.batch = batch.cloned().or(options.batch);
        let call = Request {
            method: request.method(),
            descriptor: lookup(request.method()),
            params: params(request),
        };
        let answer = self.pool.request(call, options).await;
        let answer = answer.map_err(Failed::Pool)?;
        respond(request.id().clone(), &answer).map_err(Failed::Unreadable)
    }

    async fn serve(self, packet: RequestPacket) -> Result<ResponsePacket, TransportError> {
        match packet {
            RequestPacket::Single(request) => {
                let response = self.one(&request, None).await;
                response.map(ResponsePacket::Single).map_err(Failed::alloy)
            }
            RequestPacket::Batch(requests) => {
                let batch = ClientBatch::new();
                let calls = requests
                    .iter()
                    .map(|request| self.one(request, Some(&batch)));
                let ended = batch.run(join_all(calls)).await;
                join(&requests, ended)
            }
        }
    }
}

/// Why a request has no response.
#[derive(Debug)]
pub(super) enum Failed {
    Pool(Error),
    /// A result that is no JSON for alloy.
    Unreadable(TransportError),
    NoSubscriptions,
    /// The transport below said so.
    Below(TransportError),
}

impl Failed {
    pub(super) fn alloy(self) -> TransportError {
        match self {
            Self::Pool(error) => packet_error(error),
            Self::Unreadable(error) | Self::Below(error) => error,
            Self::NoSubscriptions => TransportErrorKind::pubsub_unavailable(),
        }
    }
}

/// The responses of a batch in the order of its requests. Where nothing was answered, the first
/// failure is the whole batch's; else each is its member's.
pub(super) fn join(
    requests: &[SerializedRequest],
    ended: Vec<Result<Response, Failed>>,
) -> Result<ResponsePacket, TransportError> {
    if !ended.is_empty() && ended.iter().all(Result::is_err) {
        let first = ended.into_iter().find_map(Result::err);
        return Err(first.map_or_else(TransportErrorKind::backend_gone, Failed::alloy));
    }
    let members = requests.iter().zip(ended).map(|(request, ended)| {
        ended.unwrap_or_else(|failed| match failed {
            Failed::Pool(error) => member(request.id().clone(), &error),
            Failed::Unreadable(_) => {
                Response::internal_error_message(request.id().clone(), "unreadable answer".into())
            }
            Failed::NoSubscriptions => Response::method_not_found(request.id().clone()),
            Failed::Below(error) => match error.as_error_resp() {
                Some(own) => Response {
                    id: request.id().clone(),
                    payload: alloy_json_rpc::ResponsePayload::Failure(own.clone()),
                },
                None => Response::internal_error_message(
                    request.id().clone(),
                    "the transport below failed".into(),
                ),
            },
        })
    });
    Ok(ResponsePacket::Batch(members.collect()))
}

/// Whether a request is about a subscription, which needs a connection that lasts.
pub(crate) fn is_subscription(request: &SerializedRequest) -> bool {
    request.is_subscription() || request.method() == "eth_unsubscribe"
}

impl Service<RequestPacket> for PoolTransport {
    type Response = ResponsePacket;
    type Error = TransportError;
    type Future = TransportFut<'static>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        Poll::Ready(Ok(()))
    }

    /// Cancellation: as for [`Pool::request`].
    fn call(&mut self, packet: RequestPacket) -> TransportFut<'static> {
        Box::pin(self.clone().serve(packet))
    }
}
