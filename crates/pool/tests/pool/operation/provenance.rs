//! Whose error it is: only the provider's own starts a closure again (L-5).

use super::{numbered, pool};
use crate::fake::Reply;
use alloy_provider::Provider;
use alloy_transport::{TransportError, TransportErrorKind};
use highwater::{AttemptError, Cause, Failure, OperationError, OperationOptions, Pool};
use std::{
    fmt::Debug,
    sync::atomic::{AtomicUsize, Ordering},
};

/// How often a closure runs that fails the first time with what this makes of its provider's error.
async fn runs<E: Failure + Debug>(pool: &Pool, make: impl Fn(TransportError) -> E) -> usize {
    let runs = AtomicUsize::new(0);
    let ended = pool.execute_with_retry(OperationOptions::default(), async |provider| {
        runs.fetch_add(1, Ordering::SeqCst);
        provider.get_gas_price().await.map_err(&make)
    });
    match ended.await {
        Ok(_) | Err(OperationError::Failed(_)) => runs.into_inner(),
        Err(other) => panic!("{other:?}"),
    }
}

fn failing(reply: &Reply) -> Pool {
    let fakes = numbered(2);
    fakes[0].on("eth_gasPrice", reply.clone());
    pool(&fakes)
}

fn failures() -> [Reply; 3] {
    [
        Reply::reset(),
        Reply::body(503, "down"),
        Reply::error(-32603, "internal error"),
    ]
}

/// Holds what it was made of.
#[derive(Debug, thiserror::Error)]
#[error("the dashboard cannot be shown")]
struct Domain(#[source] TransportError);

impl Failure for Domain {}

// L-5
#[tokio::test(start_paused = true)]
async fn the_very_error_starts_it_again_however_it_got_out() {
    for reply in failures() {
        assert_eq!(runs(&failing(&reply), |error| error).await, 2);
        assert_eq!(runs(&failing(&reply), AttemptError::<()>::from).await, 2);
        let boxed = |error| Box::<dyn std::error::Error + Send + Sync>::from(error);
        assert_eq!(runs(&failing(&reply), boxed).await, 2);
        #[cfg(feature = "contract")]
        {
            let contract = alloy_contract::Error::from;
            assert_eq!(runs(&failing(&reply), contract).await, 2);
        }
    }
}

// L-5
#[tokio::test(start_paused = true)]
async fn a_new_error_ends_it_even_with_the_providers_as_its_source() {
    for reply in failures() {
        assert_eq!(runs(&failing(&reply), Domain).await, 1);
        let app = |error| AttemptError::App(Domain(error));
        assert_eq!(runs(&failing(&reply), app).await, 1);
        let boxed = |error| Box::<dyn std::error::Error + Send + Sync>::from(Domain(error));
        assert_eq!(runs(&failing(&reply), boxed).await, 1);
    }
}

// L-5
#[tokio::test(start_paused = true)]
async fn an_error_that_only_looks_like_the_providers_ends_it() {
    for reply in failures() {
        let other = |_| TransportErrorKind::custom_str("all endpoints failed");
        assert_eq!(runs(&failing(&reply), other).await, 1);
        let other = |_| TransportErrorKind::http_error(503, "down".into());
        assert_eq!(runs(&failing(&reply), other).await, 1);
        let other = |error: TransportError| match error {
            TransportError::ErrorResp(mut own) => {
                own.message = "another".into();
                TransportError::ErrorResp(own)
            }
            _ => TransportError::NullResp,
        };
        assert_eq!(runs(&failing(&reply), other).await, 1);
    }
}

// L-5
#[tokio::test(start_paused = true)]
async fn another_pools_error_ends_it() {
    let other = failing(&Reply::reset());
    let foreign = other.execute_once(OperationOptions::default(), async |provider| {
        provider.get_gas_price().await
    });
    let Err(OperationError::Failed(foreign)) = foreign.await else {
        panic!("another end")
    };
    let foreign = std::sync::Mutex::new(Some(foreign));
    let taken = |_| foreign.lock().unwrap().take().unwrap();
    assert_eq!(runs(&failing(&Reply::reset()), taken).await, 1);
}

// L-5
#[tokio::test(start_paused = true)]
async fn what_every_endpoint_would_say_passes_through_as_it_is() {
    let revert = r#"{"code":3,"message":"execution reverted: no","data":"0x08c379a0"}"#;
    for (error, code) in [
        (revert, 3),
        (r#"{"code":-32602,"message":"invalid argument 0"}"#, -32602),
    ] {
        let pool = failing(&Reply::error_json(error));
        let ended = pool.execute_with_retry(OperationOptions::default(), async |provider| {
            provider.get_gas_price().await
        });
        let Err(OperationError::Failed(own)) = ended.await else {
            panic!("another end")
        };
        assert_eq!(own.as_error_resp().unwrap().code, code);
    }
    let pool = failing(&Reply::error_json(revert));
    let got = pool.execute_once(OperationOptions::default(), async |provider| {
        provider.get_gas_price().await
    });
    let Err(OperationError::Failed(own)) = got.await else {
        panic!("another end")
    };
    let data = own.as_error_resp().unwrap().as_revert_data().unwrap();
    assert_eq!(data.to_string(), "0x08c379a0");
}

// L-5
#[test]
fn an_error_type_of_ones_own_ends_it_unless_it_says_otherwise() {
    let error = || TransportErrorKind::custom_str("x");
    assert!(matches!(Domain(error()).cause(), Cause::Own));
    assert!(matches!(error().cause(), Cause::Request(_)));
    let app: AttemptError<Domain> = AttemptError::App(Domain(error()));
    assert!(matches!(app.cause(), Cause::Own));
    let rpc: AttemptError<Domain> = error().into();
    assert!(matches!(rpc.cause(), Cause::Request(_)));
    let data: AttemptError<Domain> = highwater::EndpointDataError::new("odd").into();
    assert!(matches!(data.cause(), Cause::Data));
}
