//! What a call without a result comes to.

use crate::fake::{Fake, Reply, builder, ms, pool, s, still};
use alloy_network::Ethereum;
use alloy_provider::Provider;
use alloy_rpc_types_eth::TransactionRequest;
use alloy_transport::TransportError;
use highwater::{Error, Pool, core::settings::RetryCount};

async fn failure(pool: &Pool, method: &'static str) -> TransportError {
    let client = pool.client();
    let call = client.request::<_, serde_json::Value>(method, ("0x0", "latest"));
    call.await.unwrap_err()
}

// L-2
#[tokio::test(start_paused = true)]
async fn an_endpoints_own_error_keeps_its_code_message_and_data() {
    let fake = Fake::new();
    let data = r#"{ "odd" : [1.50, "0x08c379a0"] }"#;
    let error = format!(r#"{{"code":3,"message":"execution reverted: é \"x\"","data":{data}}}"#);
    fake.on("eth_call", Reply::error_json(error));
    let error = failure(&pool(&[&fake], still()), "eth_call").await;
    let own = error.as_error_resp().unwrap();
    assert_eq!(
        (own.code, &*own.message),
        (3, "execution reverted: é \"x\"")
    );
    assert_eq!(own.data.as_ref().unwrap().get(), data);
    assert_eq!(Error::from_transport(&error), None);
}

// L-2
#[tokio::test(start_paused = true)]
async fn a_revert_can_be_decoded() {
    let fake = Fake::new();
    let error = r#"{"code":3,"message":"execution reverted","data":"0x4e487b710000000000000000000000000000000000000000000000000000000000000012"}"#;
    fake.on("eth_call", Reply::error_json(error));
    let provider = pool(&[&fake], still()).provider::<Ethereum>();
    let call = provider.call(TransactionRequest::default());
    let error = call.await.unwrap_err();
    let revert = error.as_error_resp().unwrap().as_revert_data().unwrap();
    assert_eq!(revert.len(), 36);
    assert_eq!(revert[35], 0x12);
}

// L-2, R-33
#[tokio::test(start_paused = true)]
async fn a_status_and_its_stated_wait_reach_outer_layers() {
    let (busy, down) = (Fake::new(), Fake::new());
    for fake in [&busy, &down] {
        fake.on("eth_chainId", Reply::result("\"0x1\""));
    }
    busy.on("eth_getBalance", Reply::body(429, "slow down, 0xkey"));
    busy.header("retry-after", "7");
    down.on("eth_getBalance", Reply::body(503, ""));
    let mut settings = still();
    settings.retry.count = RetryCount::Times(1);
    let error = failure(&pool(&[&busy, &down], settings), "eth_getBalance").await;
    let kind = error.as_transport_err().unwrap();
    let http = kind.as_http_error().unwrap();
    assert_eq!(http.status, 429);
    assert_eq!(kind.retry_after(), Some(s(7)));
    assert!(kind.is_retry_err());
    // Labels and classes, and nothing that an endpoint worded (L-7).
    let mut said: Vec<_> = http.body.split(": ").flat_map(|x| x.split(", ")).collect();
    said.sort_unstable();
    assert_eq!(
        said,
        [
            "a rate_limited",
            "all endpoints failed",
            "b bad_gateway_html"
        ]
    );
}

// L-2
#[tokio::test(start_paused = true)]
async fn a_failure_without_a_status_is_the_pools_own_error() {
    let fake = Fake::new();
    fake.on("eth_getBalance", Reply::reset());
    let error = failure(&pool(&[&fake], still()), "eth_getBalance").await;
    let Some(Error::AllEndpointsFailed { attempts }) = Error::from_transport(&error) else {
        panic!("{error:?}")
    };
    assert_eq!(attempts[0].endpoint, "a");
    assert_eq!(attempts[0].status, None);
    let kind = error.as_transport_err().unwrap();
    assert!(!kind.is_retry_err() && !kind.is_non_retryable());
}

// L-2
#[tokio::test(start_paused = true)]
async fn what_would_end_the_same_way_again_is_not_to_be_repeated() {
    let fake = Fake::new();
    fake.on("eth_chainId", Reply::result("\"0x2\""));
    let error = failure(&pool(&[&fake], still()), "eth_getBalance").await;
    assert!(matches!(
        Error::from_transport(&error),
        Some(Error::ChainMismatch { .. })
    ));
    assert!(error.as_transport_err().unwrap().is_non_retryable());
}

// L-2
#[tokio::test(start_paused = true)]
async fn a_deadline_is_told_as_such() {
    let fake = Fake::new();
    fake.on("eth_getBalance", Reply::hang());
    let pool = builder(&[&fake], still())
        .deadline(ms(300))
        .timeout(s(1))
        .build();
    let error = failure(&pool.unwrap(), "eth_getBalance").await;
    let own = Error::from_transport(&error);
    assert!(
        matches!(
            own,
            Some(Error::DeadlineExceeded { .. } | Error::AllEndpointsFailed { .. })
        ),
        "{error:?}"
    );
}

// L-2, L-3
#[tokio::test(start_paused = true)]
async fn a_subscription_is_refused_and_sent_nowhere() {
    let fake = Fake::new();
    let pool = pool(&[&fake], still());
    let client = pool.client();
    for method in ["eth_subscribe", "eth_unsubscribe"] {
        let call = client.request::<_, String>(method, ("newHeads",));
        let error = call.await.unwrap_err();
        assert!(error.as_transport_err().unwrap().is_pubsub_unavailable());
    }
    assert_eq!(fake.seen().len(), 0);
}
