//! Points that may be missing: scenarios M01 to M18 as far as one call is concerned.

use crate::{
    bench::call,
    fake::{Fake, Reply, ms, s, still, with_profiles},
};
use highwater::{
    Answer, Error, Payload, Pool,
    core::{breaker::Stand, router::Profile, settings::Settings},
};
use tokio::time::Instant;

const HASH: &str = r#"["0x1111111111111111111111111111111111111111111111111111111111111111"]"#;
const RECEIPT: &str = r#"{"blockNumber":"0x65","status":"0x1"}"#;
const NULL: Payload<'_> = Payload::Result("null");

/// A pool whose calls begin with the first of these, checked and with known heads.
async fn pool(fakes: &[&Fake], settings: Settings) -> Pool {
    let mut weight = 1e6;
    let mut profiles = Vec::new();
    for _ in fakes {
        profiles.push(Profile {
            weight,
            ..Profile::default()
        });
        weight /= 1e4;
    }
    let pool = with_profiles(fakes, profiles, settings).build().unwrap();
    pool.probe().await;
    pool
}

fn racing() -> Settings {
    Settings { race: 2, ..still() }
}

async fn ask(pool: &Pool, method: &str, params: &str) -> Answer {
    call(pool, method, params).await.unwrap()
}

fn has_no_strike(pool: &Pool, endpoint: usize) {
    let endpoint = &pool.snapshot().endpoints[endpoint];
    for (lane, gate) in &endpoint.circuit.lanes {
        assert_eq!(gate.strikes, 0, "{lane:?}");
        assert!(matches!(gate.stand, Stand::Closed { .. }), "{lane:?}");
    }
    assert_eq!(endpoint.error, 0.0);
}

// M01
#[tokio::test(start_paused = true)]
async fn a_receipt_that_one_does_not_know_yet_comes_from_the_other() {
    let (late, ahead) = (Fake::at(100), Fake::at(101));
    late.on(
        "eth_getTransactionReceipt",
        Reply::result("null").after(ms(5)),
    );
    ahead.on(
        "eth_getTransactionReceipt",
        Reply::result(RECEIPT).after(ms(50)),
    );
    let pool = pool(&[&late, &ahead], still()).await;
    for _ in 0..3 {
        let answer = ask(&pool, "eth_getTransactionReceipt", HASH).await;
        assert_eq!(answer.payload(), Payload::Result(RECEIPT));
    }
    has_no_strike(&pool, 0);
}

// M02
#[tokio::test(start_paused = true)]
async fn null_that_is_true_costs_one_more_request() {
    let (a, b, c) = (Fake::at(101), Fake::at(101), Fake::at(101));
    for fake in [&a, &b, &c] {
        fake.on("eth_getTransactionReceipt", Reply::result("null"));
    }
    let pool = pool(&[&a, &b, &c], still()).await;
    for polls in 1..=5 {
        let answer = ask(&pool, "eth_getTransactionReceipt", HASH).await;
        assert_eq!(answer.payload(), NULL);
        assert!(a.sent() + b.sent() + c.sent() <= 2 * polls);
    }
}

// scenario M03, R-41
#[tokio::test(start_paused = true)]
async fn null_does_not_win_a_race() {
    let (a, b) = (Fake::at(100), Fake::at(100));
    a.on(
        "eth_getTransactionByHash",
        Reply::result("null").after(ms(5)),
    );
    b.on(
        "eth_getTransactionByHash",
        Reply::result("{}").after(ms(40)),
    );
    let pool = pool(&[&a, &b], racing()).await;
    let answer = ask(&pool, "eth_getTransactionByHash", HASH).await;
    assert_eq!(
        (answer.payload(), answer.attempts()),
        (Payload::Result("{}"), 2)
    );
}

// scenario M04, R-41
#[tokio::test(start_paused = true)]
async fn null_wins_a_race_when_all_say_so() {
    let (a, b) = (Fake::at(100), Fake::at(100));
    a.on(
        "eth_getTransactionByHash",
        Reply::result("null").after(ms(5)),
    );
    b.on(
        "eth_getTransactionByHash",
        Reply::result("null").after(ms(40)),
    );
    let pool = pool(&[&a, &b], racing()).await;
    let start = Instant::now();
    let answer = ask(&pool, "eth_getTransactionByHash", HASH).await;
    assert_eq!((answer.payload(), answer.attempts()), (NULL, 2));
    assert_eq!(start.elapsed(), ms(40));
}

// M06
#[tokio::test(start_paused = true)]
async fn a_block_below_the_head_that_one_lacks_comes_from_the_other() {
    let (gap, whole) = (Fake::at(100), Fake::at(100));
    let params = r#"["0x63",false]"#;
    gap.on("eth_getBlockByNumber", Reply::result("null"));
    whole.on(
        "eth_getBlockByNumber",
        Reply::result(r#"{"number":"0x63"}"#).after(ms(30)),
    );
    let pool = pool(&[&gap, &whole], still()).await;
    let block = Payload::Result(r#"{"number":"0x63"}"#);
    assert_eq!(
        ask(&pool, "eth_getBlockByNumber", params).await.payload(),
        block
    );
    assert_eq!(gap.count("eth_getBlockByNumber"), 1);
    // That is noted: for a while the other is asked first for this block, and for no other one.
    assert_eq!(
        ask(&pool, "eth_getBlockByNumber", params).await.payload(),
        block
    );
    assert_eq!(gap.count("eth_getBlockByNumber"), 1);
    ask(&pool, "eth_getBlockByNumber", r#"["0x62",false]"#).await;
    assert_eq!(gap.count("eth_getBlockByNumber"), 2);
    has_no_strike(&pool, 0);
}

// M09
#[tokio::test(start_paused = true)]
async fn pruned_state_comes_from_whoever_keeps_it_and_is_remembered() {
    let (pruned, archive) = (Fake::at(1000), Fake::at(1000));
    pruned.on(
        "eth_getBalance",
        Reply::error(-32000, "missing trie node 0x1234 (path )"),
    );
    archive.on("eth_getBalance", Reply::result("\"0x7\""));
    let pool = pool(&[&pruned, &archive], still()).await;
    for _ in 0..2 {
        let answer = ask(&pool, "eth_getBalance", r#"["0x00","0xa"]"#).await;
        assert_eq!(answer.payload(), Payload::Result("\"0x7\""));
    }
    assert_eq!((pruned.sent(), archive.sent()), (1, 2));
    has_no_strike(&pool, 0);
}

// M10
#[tokio::test(start_paused = true)]
async fn pruned_history_comes_from_whoever_keeps_it_and_is_remembered() {
    let (pruned, archive) = (Fake::at(1000), Fake::at(1000));
    pruned.on(
        "eth_getTransactionReceipt",
        Reply::error(4444, "pruned history unavailable"),
    );
    archive.on("eth_getTransactionReceipt", Reply::result(RECEIPT));
    let pool = pool(&[&pruned, &archive], still()).await;
    for _ in 0..2 {
        let answer = ask(&pool, "eth_getTransactionReceipt", HASH).await;
        assert_eq!(answer.payload(), Payload::Result(RECEIPT));
    }
    assert_eq!((pruned.sent(), archive.sent()), (1, 2));
    has_no_strike(&pool, 0);
}

// M12, R-37
#[tokio::test(start_paused = true)]
async fn a_revert_is_the_answer() {
    let (a, b) = (Fake::at(100), Fake::at(100));
    let revert = r#"{"code":3,"message":"execution reverted: no","data":"0x08c379a0"}"#;
    a.on("eth_call", Reply::error_json(revert));
    let pool = pool(&[&a, &b], still()).await;
    let answer = ask(&pool, "eth_call", "[{}]").await;
    assert_eq!((answer.payload(), b.sent()), (Payload::Error(revert), 0));
    has_no_strike(&pool, 0);
}

// M15
#[tokio::test(start_paused = true)]
async fn null_in_place_of_a_value_is_never_the_answer() {
    let (below, holder) = (Fake::at(99), Fake::at(100));
    let balance = r#"["0x00","0x64"]"#;
    below.on("eth_getBalance", Reply::result("null").after(ms(3)));
    holder.on("eth_getBalance", Reply::result("\"0x7\"").after(ms(40)));
    for settings in [racing(), still()] {
        let pool = pool(&[&below, &holder], settings).await;
        let answer = ask(&pool, "eth_getBalance", balance).await;
        assert_eq!(answer.payload(), Payload::Result("\"0x7\""));
        let alone = self::pool(&[&below], still()).await;
        let error = call(&alone, "eth_getBalance", balance).await.unwrap_err();
        assert!(
            matches!(error, Error::AllEndpointsFailed { .. }),
            "{error:?}"
        );
    }
}

// M16
#[tokio::test(start_paused = true)]
async fn an_index_that_is_still_being_built_is_no_fault_and_is_remembered() {
    let (building, ready) = (Fake::at(100), Fake::at(100));
    let progress = Reply::error(-32000, "transaction indexing is in progress");
    building.on("eth_getTransactionByHash", progress);
    ready.on("eth_getTransactionByHash", Reply::result("{}"));
    let pool = pool(&[&building, &ready], still()).await;
    for _ in 0..2 {
        let answer = ask(&pool, "eth_getTransactionByHash", HASH).await;
        assert_eq!(answer.payload(), Payload::Result("{}"));
    }
    assert_eq!((building.sent(), ready.sent()), (1, 2));
    has_no_strike(&pool, 0);
}

// M18, R-8
#[tokio::test(start_paused = true)]
async fn a_node_that_waits_before_it_says_null_is_not_slow() {
    let (waiting, other) = (Fake::at(100), Fake::at(100));
    for fake in [&waiting, &other] {
        fake.on(
            "eth_getTransactionReceipt",
            Reply::result("null").after(ms(20)),
        );
        fake.on("eth_getBalance", Reply::result("\"0x7\"").after(ms(20)));
    }
    waiting.on(
        "eth_getTransactionReceipt",
        Reply::result("null").after(ms(1500)),
    );
    let pool = pool(&[&waiting, &other], still()).await;
    let balance = r#"["0x00","latest"]"#;
    ask(&pool, "eth_getBalance", balance).await;
    let score = |pool: &Pool| pool.explain("eth_getBalance", None).considered[0].parts;
    let before = score(&pool);
    let sent = || waiting.sent() + other.sent();
    for _ in 0..5 {
        let count = sent();
        assert_eq!(
            ask(&pool, "eth_getTransactionReceipt", HASH)
                .await
                .payload(),
            NULL
        );
        assert!(sent() <= count + 2);
    }
    assert_eq!(score(&pool), before);
    for _ in 0..5 {
        assert_eq!(ask(&pool, "eth_getBalance", balance).await.endpoint(), "a");
    }
    tokio::time::sleep(s(1)).await;
    has_no_strike(&pool, 0);
}
