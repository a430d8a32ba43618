//! The form that waits for the receipt.

use super::*;

// R-35, scenario W12
#[tokio::test(start_paused = true)]
async fn w12_sync_and_known_waits_for_the_receipt() {
    for mined in [true, false] {
        let (a, b) = two();
        let receipt = format!(r#"{{"transactionHash":"{HASH}","blockNumber":"0x65"}}"#);
        a.on(SYNC, Reply::reset());
        b.on(SYNC, known());
        for fake in [&a, &b] {
            let (mut asked, receipt) = (0, receipt.clone());
            fake.answer("eth_getTransactionReceipt", move |_| {
                asked += 1;
                let there = mined && asked > 2;
                Reply::result(if there { &receipt } else { "null" })
            });
        }
        let pool = tiered(&[&a, &b], still());
        let start = Instant::now();
        let params = format!("[\"{RAW}\",2000]");
        let answer = call(&pool, SYNC, &params, failover()).await.unwrap();
        assert_eq!(answer.transaction().unwrap().to_string(), HASH);
        if mined {
            assert_eq!(answer.payload(), Payload::Result(&receipt));
            assert!(start.elapsed() < s(2));
        } else {
            let error = format!(
                r#"{{"code":4,"message":"the transaction was accepted but is not mined yet","data":"{HASH}"}}"#
            );
            assert_eq!(answer.payload(), Payload::Error(&error));
            assert_eq!(start.elapsed().as_secs(), 2);
        }
    }
}

// R-35, scenario W13, scenario C08
#[tokio::test(start_paused = true)]
async fn w13_c08_the_timeout_of_the_sync_form_comes_as_it_is_and_has_the_hash() {
    for data in [
        format!(",\"data\":\"{HASH}\""),
        format!(",\"data\":{{\"hash\":\"{HASH}\"}}"),
        String::new(),
    ] {
        let (a, b) = two();
        let error = format!(r#"{{"code":4,"message":"timeout"{data}}}"#);
        a.on(SYNC, Reply::error_json(error.clone()));
        let pool = tiered(&[&a, &b], still());
        let params = format!("[\"{RAW}\",2000]");
        let answer = call(&pool, SYNC, &params, failover()).await.unwrap();
        assert_eq!(answer.payload(), Payload::Error(&error));
        assert_eq!(answer.transaction().unwrap().to_string(), HASH);
        assert_eq!(b.sent(), 0);
    }
}
