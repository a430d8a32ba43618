//! What operations send is remembered as what calls send.

use super::*;
use alloy_primitives::hex;
use alloy_provider::Provider;
use alloy_transport::TransportError;
use highwater::OperationOptions;

async fn send_by(provider: &impl Provider) -> Result<(), TransportError> {
    let raw = hex::decode(RAW).unwrap();
    provider.send_raw_transaction(&raw).await.map(drop)
}

/// Sends within an operation that is never repeated; whether that went well.
async fn operation(pool: &Pool, time: Duration) -> bool {
    let options = OperationOptions {
        timeout: Some(time),
        ..OperationOptions::default()
    };
    let run = pool.execute_once(options, async |provider| send_by(&provider).await);
    run.await.is_ok()
}

// L-5: an operation whose answer is lost, or that is given up, may have sent it.
#[tokio::test(start_paused = true)]
async fn bytes_that_an_operation_may_have_sent_and_that_are_known_are_sent() {
    for (lost, time) in [(Reply::reset(), s(5)), (Reply::hang(), ms(100))] {
        let a = Fake::new();
        a.on(SEND, lost);
        let pool = tiered(&[&a], still());
        assert!(!operation(&pool, time).await);
        assert_eq!((a.count(SEND), a.open()), (1, 0));
        a.on(SEND, known());
        is_hash(send(&pool, once()).await);
        tokio::time::sleep(s(601)).await;
        assert!(text(send(&pool, once()).await).contains("already known"));
    }
}

// L-5
#[tokio::test(start_paused = true)]
async fn bytes_that_an_operation_never_got_out_do_not_count_as_sent() {
    let a = Fake::new();
    a.on(SEND, Reply::refused());
    let pool = tiered(&[&a], still());
    assert!(!operation(&pool, s(5)).await);
    a.on(SEND, known());
    assert!(text(send(&pool, once()).await).contains("already known"));
}

// R-35, L-5, semantics W5
#[tokio::test(start_paused = true)]
async fn the_nonce_after_an_operation_comes_from_where_it_sent() {
    const COUNT: &str = "eth_getTransactionCount";
    let (a, b) = two();
    b.on(SEND, accepted());
    a.on(COUNT, Reply::result("\"0x9\""));
    b.on(COUNT, Reply::result("\"0xa\"").after(ms(900)));
    let pool = tiered(&[&a, &b], still());
    pool.check_all(s(1)).await;
    let pending = async || {
        let params = format!("[\"{SENDER}\",\"pending\"]");
        text(call(&pool, COUNT, &params, failover()).await)
    };
    let other = pool.fixed("b").unwrap();
    assert_eq!(pending().await, "\"0x9\"");
    send_by(&other).await.unwrap();
    assert_eq!(pending().await, "\"0xa\"");
}
