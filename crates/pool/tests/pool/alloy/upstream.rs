//! Endpoints behind transports of alloy (L-1).

use crate::{
    bench::call,
    fake::{Fake, Reply, still},
};
use alloy_json_rpc::{RequestPacket, ResponsePacket};
use alloy_transport::{TransportError, TransportErrorKind, TransportFut};
use highwater::{
    Endpoint, Error, Payload, Pool,
    core::{ChainId, classify::Class},
};
use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tower_service::Service;

/// What a transport fails with.
type Fault = Arc<dyn Fn() -> TransportError + Send + Sync>;

/// Fails everything but chain ids.
#[derive(Clone)]
struct Failing(Fault);

impl Service<RequestPacket> for Failing {
    type Response = ResponsePacket;
    type Error = TransportError;
    type Future = TransportFut<'static>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, packet: RequestPacket) -> TransportFut<'static> {
        let request = packet.as_single().unwrap();
        let ended = if request.method() == "eth_chainId" {
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":{},"result":"0x1"}}"#,
                request.id()
            );
            Ok(serde_json::from_str(&text).unwrap())
        } else {
            Err((self.0)())
        };
        Box::pin(std::future::ready(ended))
    }
}

fn over(fault: impl Fn() -> TransportError + Send + Sync + 'static) -> Pool {
    let endpoint = Endpoint::transport("way", Failing(Arc::new(fault)));
    let builder = Pool::builder().chain(ChainId(1)).endpoint(endpoint);
    builder.settings(still()).build().unwrap()
}

// L-1
#[tokio::test(start_paused = true)]
async fn any_transport_serves_calls_and_its_errors_come_back_as_they_were() {
    let fake = Fake::new();
    let data = r#"{"code":3,"message":"execution reverted","data":"0x01"}"#;
    fake.on("eth_call", Reply::error_json(data));
    fake.on("eth_gasPrice", Reply::result("\"0x7\""));
    let below = crate::fake::pool(&[&fake], still());
    let endpoint = Endpoint::transport("below", below.transport());
    let pool = Pool::builder().chain(ChainId(1)).endpoint(endpoint);
    let pool = pool.settings(still()).build().unwrap();
    let price = call(&pool, "eth_gasPrice", "[]").await.unwrap();
    assert_eq!(price.payload(), Payload::Result("\"0x7\""));
    let revert = call(&pool, "eth_call", "[{}]").await.unwrap();
    assert_eq!(revert.payload(), Payload::Error(data));
    assert_eq!(pool.snapshot().endpoints[0].label, "below");
}

// L-1, R-21
#[tokio::test(start_paused = true)]
async fn a_status_and_a_stated_wait_are_heeded() {
    let pool = over(|| {
        let wait = Some(Duration::from_millis(6500));
        TransportErrorKind::http_error_with_retry_after(429, "busy".into(), wait)
    });
    let error = call(&pool, "eth_gasPrice", "[]").await.unwrap_err();
    let Error::AllEndpointsFailed { attempts } = error else {
        panic!("{error:?}")
    };
    assert_eq!(attempts[0].class, Class::RateLimited);
    assert_eq!(attempts[0].status, Some(429));
    assert_eq!(attempts[0].retry_after, Some(Duration::from_secs(7)));
}

// L-1, R-36
#[tokio::test(start_paused = true)]
async fn what_says_nothing_of_itself_counts_as_maybe_sent() {
    let pool = over(TransportErrorKind::backend_gone);
    let bytes = r#"["0x00"]"#;
    let error = call(&pool, "personal_sign", bytes).await.unwrap_err();
    let Error::AllEndpointsFailed { attempts } = error else {
        panic!("{error:?}")
    };
    assert_eq!(attempts.len(), 1, "it was not repeated");
    assert_eq!(attempts[0].class, Class::Internal);
}

// L-8, R-38
#[tokio::test(start_paused = true)]
async fn what_is_no_answer_is_the_endpoints_failure() {
    let pool = over(|| {
        let broken = serde_json::from_str::<u8>("x").unwrap_err();
        TransportError::deser_err(broken, "<html>")
    });
    let error = call(&pool, "eth_gasPrice", "[]").await.unwrap_err();
    assert!(matches!(error, Error::AllEndpointsFailed { .. }));
    let pool = over(|| TransportError::NullResp);
    let null = call(&pool, "eth_gasPrice", "[]").await.unwrap();
    assert_eq!(null.payload(), Payload::Result("null"));
}
