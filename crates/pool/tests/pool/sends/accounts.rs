//! Nonces and gas of accounts that have just sent something.

use super::*;

fn nonce_of(count: u64) -> Reply {
    Reply::result(format!("\"{count:#x}\""))
}

const COUNT: &str = "eth_getTransactionCount";

async fn pending(pool: &Pool, caller: u64) -> String {
    let options = CallOptions {
        caller,
        ..CallOptions::default()
    };
    let params = format!("[\"{SENDER}\",\"pending\"]");
    text(call_within(pool, COUNT, &params, options).await)
}

// R-35, scenario W15, semantics W5
#[tokio::test(start_paused = true)]
async fn w15_the_nonce_after_a_send_comes_from_whoever_has_the_transaction() {
    let (a, b) = two();
    a.on(SEND, Reply::error(-32000, "txpool is full"));
    b.on(SEND, accepted());
    a.on(COUNT, nonce_of(9));
    b.on(COUNT, nonce_of(10).after(ms(900)));
    for fake in [&a, &b] {
        fake.on("eth_estimateGas", Reply::result("\"0x5208\""));
    }
    let mut settings = still();
    settings.race = 2;
    settings.hedge = Some(Default::default());
    let pool = tiered(&[&a, &b], settings);
    pool.check_all(s(1)).await;
    assert_eq!(pending(&pool, 0).await, "\"0x9\"");
    is_hash(send(&pool, failover()).await);
    assert_eq!(pending(&pool, 0).await, "\"0xa\"");
    let gas = format!("[{{\"from\":\"{SENDER}\"}}]");
    call(&pool, "eth_estimateGas", &gas, failover())
        .await
        .unwrap();
    assert_eq!(b.count("eth_estimateGas"), 1);
    // Another account's goes where calls go.
    let gas = format!("[{{\"from\":\"0x{}\"}}]", "12".repeat(20));
    call(&pool, "eth_estimateGas", &gas, failover())
        .await
        .unwrap();
    assert_eq!(a.count("eth_estimateGas"), 1);
    // Until it is mined.
    let latest = format!("[\"{SENDER}\",\"latest\"]");
    b.on(COUNT, nonce_of(10));
    text(call(&pool, COUNT, &latest, failover()).await);
    a.on(COUNT, nonce_of(10));
    let before = b.count(COUNT);
    assert_eq!(pending(&pool, 0).await, "\"0xa\"");
    assert_eq!(b.count(COUNT), before);
}

// semantics W15: a receipt, or a minute, ends it too.
#[tokio::test(start_paused = true)]
async fn a_receipt_or_a_minute_ends_the_preference() {
    for receipt in [true, false] {
        let (a, b) = two();
        a.on(SEND, Reply::error(-32000, "txpool is full"));
        b.on(SEND, accepted());
        let mined = format!(r#"{{"transactionHash":"{HASH}","blockNumber":"0x65"}}"#);
        for fake in [&a, &b] {
            fake.on(COUNT, nonce_of(10));
            fake.on("eth_getTransactionReceipt", Reply::result(&mined));
        }
        let pool = tiered(&[&a, &b], still());
        is_hash(send(&pool, failover()).await);
        pending(&pool, 0).await;
        assert_eq!((a.count(COUNT), b.count(COUNT)), (0, 1));
        if receipt {
            let params = format!("[\"{HASH}\"]");
            text(call(&pool, "eth_getTransactionReceipt", &params, failover()).await);
        } else {
            tokio::time::sleep(Duration::from_secs(61)).await;
        }
        pending(&pool, 0).await;
        assert_eq!((a.count(COUNT), b.count(COUNT)), (1, 1));
    }
}

// semantics W6
#[tokio::test(start_paused = true)]
async fn a_pending_nonce_never_falls_for_the_same_caller() {
    let (a, b) = two();
    a.on(COUNT, nonce_of(12));
    b.on(COUNT, nonce_of(11));
    let pool = tiered(&[&a, &b], still());
    assert_eq!(pending(&pool, 1).await, "\"0xc\"");
    // The other one knows better.
    a.on(COUNT, nonce_of(10));
    b.on(COUNT, nonce_of(13));
    assert_eq!(pending(&pool, 1).await, "\"0xd\"");
    // Nobody does: what was told before is told again, for a minute.
    b.on(COUNT, nonce_of(11));
    assert_eq!(pending(&pool, 1).await, "\"0xd\"");
    // Another caller was told nothing.
    assert_eq!(pending(&pool, 2).await, "\"0xa\"");
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(pending(&pool, 1).await, "\"0xa\"");
    // Whoever reverts a development node wants to see it.
    a.on("eth_chainId", Reply::result("\"0x7a69\""));
    a.on(COUNT, nonce_of(5));
    let reset = builder(&[&a], still())
        .chain(ChainId(31_337))
        .build()
        .unwrap();
    assert_eq!(pending(&reset, 1).await, "\"0x5\"");
    a.on(COUNT, nonce_of(3));
    assert_eq!(pending(&reset, 1).await, "\"0x3\"");
}
