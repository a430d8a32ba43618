//! One block for all reads of a run (L-5).

use super::{numbered, pool};
use crate::fake::Reply;
use alloy_primitives::Address;
use alloy_provider::Provider;
use alloy_transport::TransportError;
use highwater::OperationOptions;

// L-5
#[tokio::test(start_paused = true)]
async fn all_reads_of_a_run_see_one_block() {
    let fakes = numbered(1);
    fakes[0].on("eth_getBalance", Reply::result("\"0x5\""));
    fakes[0].on("eth_getTransactionCount", Reply::result("\"0x7\""));
    let pool = pool(&fakes);
    let options = || OperationOptions {
        one_block: true,
        ..OperationOptions::default()
    };
    let moving = fakes[0].clone();
    let got = pool.execute_with_retry(options(), async |provider| {
        provider.get_balance(Address::ZERO).await?;
        moving.head(150);
        provider.get_transaction_count(Address::ZERO).await?;
        let old = provider.get_balance(Address::ZERO).number(3);
        old.await?;
        let number = provider.get_block_number().await?;
        Ok::<_, TransportError>((number, provider.block().await?))
    });
    assert_eq!(got.await.unwrap(), (100, Some(100)));
    let asked: Vec<_> = fakes[0]
        .seen()
        .into_iter()
        .map(|seen| seen.params)
        .collect();
    let zero = Address::ZERO;
    let expected = [
        "[]".to_owned(),
        "[]".to_owned(),
        format!(r#"["{zero}","0x64"]"#),
        format!(r#"["{zero}","0x64"]"#),
        format!(r#"["{zero}","0x3"]"#),
    ];
    assert_eq!(asked, expected);
    // The next operation sees the chain as it is then, and without the option reads are as written.
    let got = pool.execute_with_retry(options(), async |provider| {
        provider.get_block_number().await
    });
    assert_eq!(got.await.unwrap(), 150);
    let got = pool.execute_with_retry(OperationOptions::default(), async |provider| {
        provider.get_balance(Address::ZERO).await?;
        provider.block().await
    });
    assert_eq!(got.await.unwrap(), None);
    assert!(fakes[0].seen().last().unwrap().params.contains("latest"));
}

// L-5
#[tokio::test(start_paused = true)]
async fn an_endpoint_that_does_not_say_its_block_fails_the_run() {
    let fakes = numbered(2);
    fakes[0].on("eth_blockNumber", Reply::result("\"x\""));
    let pool = pool(&fakes);
    let options = OperationOptions {
        one_block: true,
        ..OperationOptions::default()
    };
    let got = pool.execute_with_retry(options, async |provider| provider.get_gas_price().await);
    assert_eq!(got.await.unwrap(), 1);
}
