//! Raw transactions through the pool, in paused time: the scenarios W01 to W21.

mod accounts;
mod broadcasts;
mod lookups;
mod memory;
#[cfg(feature = "alloy")]
mod pinned;
mod private;
mod receipts;

use crate::{
    bench::call_within,
    fake::{Fake, Reply, builder, ms, pool, s, still, tiered, with_profiles},
};
use highwater::{
    Answer, CallOptions, Error, Payload, Pool, SendPolicy, Sends,
    core::{ChainId, classify::Class, router::Profile, settings::RetryCount},
};
use std::time::Duration;
use tokio::time::Instant;

/// The example of EIP-155, nonce 9, and what every node calls it.
const RAW: &str = "0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83";
const HASH: &str = "0x33469b22e9f636356c4160a87eb19df52b7412e8eac32a4a55ffe88ea8350788";
const SENDER: &str = "0x9d8a62f656a8d1615c1294fd71e9cfb3e4855a4f";
const SEND: &str = "eth_sendRawTransaction";
const SYNC: &str = "eth_sendRawTransactionSync";
const LOOK_UP: &str = "eth_getTransactionByHash";
const NONCE: &str = "nonce too low: next nonce 10, tx nonce 9";

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

fn accepted() -> Reply {
    Reply::result(quoted(HASH))
}

fn known() -> Reply {
    Reply::error(-32000, "already known")
}

fn stored() -> Reply {
    Reply::result(format!(r#"{{"hash":"{HASH}","blockNumber":null}}"#))
}

fn once() -> Sends {
    Sends {
        policy: SendPolicy::Once,
        ..Sends::default()
    }
}

fn failover() -> Sends {
    Sends::default()
}

fn unverified() -> Sends {
    Sends {
        verify: Some(false),
        ..failover()
    }
}

fn broadcast(width: u8) -> Sends {
    Sends {
        policy: SendPolicy::Broadcast(width),
        ..Sends::default()
    }
}

async fn send(pool: &Pool, sends: Sends) -> Result<Answer, Error> {
    call(pool, SEND, &format!("[\"{RAW}\"]"), sends).await
}

async fn call(pool: &Pool, method: &str, params: &str, sends: Sends) -> Result<Answer, Error> {
    let options = CallOptions {
        sends: Some(sends),
        ..CallOptions::default()
    };
    call_within(pool, method, params, options).await
}

/// The result or error of an answer.
#[track_caller]
fn text(answer: Result<Answer, Error>) -> String {
    match answer.unwrap().payload() {
        Payload::Result(text) | Payload::Error(text) => text.to_owned(),
    }
}

#[track_caller]
fn is_hash(answer: Result<Answer, Error>) {
    let answer = answer.unwrap();
    assert_eq!(answer.payload(), Payload::Result(&quoted(HASH)));
    assert_eq!(answer.transaction().unwrap().to_string(), HASH);
}

/// The ambiguous end: the endpoint's own error, if there is one.
#[track_caller]
fn is_ambiguous(answer: Result<Answer, Error>) -> Option<String> {
    match answer {
        Err(Error::Ambiguous { hash, error, .. }) => {
            assert_eq!(hash.to_string(), HASH);
            error
        }
        other => panic!("not ambiguous: {other:?}"),
    }
}

fn two() -> (Fake, Fake) {
    (Fake::new(), Fake::new())
}

fn sent(fakes: [&Fake; 2]) -> [usize; 2] {
    fakes.map(|fake| fake.count(SEND))
}

// R-35, scenario W01
#[tokio::test(start_paused = true)]
async fn w01_lost_answer_then_known_is_the_hash() {
    let (a, b) = two();
    a.on(SEND, Reply::reset());
    b.on(SEND, known());
    let pool = tiered(&[&a, &b], still());
    is_hash(send(&pool, failover()).await);
    assert_eq!(sent([&a, &b]), [1, 1]);
    // The same bytes, to the letter.
    assert_eq!(a.seen()[1].params, b.seen()[1].params);
}

// R-35, scenario W02
#[tokio::test(start_paused = true)]
async fn w02_known_at_the_first_try_comes_as_it_is() {
    for sends in [once(), failover()] {
        let (a, b) = two();
        a.on(SEND, known());
        b.on(SEND, accepted());
        let pool = tiered(&[&a, &b], still());
        let error = text(send(&pool, sends).await);
        assert_eq!(error, r#"{"code":-32000,"message":"already known"}"#);
        assert_eq!(sent([&a, &b]), [1, 0]);
    }
}

// R-35, scenario W03
#[tokio::test(start_paused = true)]
async fn w03_nonce_too_low_after_a_lost_answer_is_decided_by_the_look_up() {
    for found in [true, false] {
        let (a, b, c) = (Fake::new(), Fake::new(), Fake::new());
        a.on(SEND, Reply::hang());
        b.on(SEND, Reply::error(-32000, NONCE));
        c.on(SEND, accepted());
        let other = Reply::result(format!(r#"{{"hash":"0x{}"}}"#, "11".repeat(32)));
        c.on(LOOK_UP, if found { stored() } else { other });
        let pool = tiered(&[&a, &b, &c], still());
        let start = Instant::now();
        let ended = send(&pool, failover()).await;
        if found {
            is_hash(ended);
        } else {
            assert!(is_ambiguous(ended).unwrap().contains(NONCE));
        }
        assert!(start.elapsed() < s(11));
        assert_eq!(c.count(SEND), 0);
        if found {
            assert_eq!(c.count(LOOK_UP), 1);
            assert_eq!(a.count(LOOK_UP) + b.count(LOOK_UP), 0);
        } else {
            // Another transaction than was asked for is no answer: others are asked too.
            assert!(a.count(LOOK_UP) + b.count(LOOK_UP) > 0);
        }
    }
    // Without the look-up it stays open.
    let (a, b) = two();
    a.on(SEND, Reply::reset());
    b.on(SEND, Reply::error(-32000, NONCE));
    let pool = tiered(&[&a, &b], still());
    assert!(is_ambiguous(send(&pool, unverified()).await).is_some());
    assert_eq!(a.count(LOOK_UP) + b.count(LOOK_UP), 0);
}

// R-35: three seconds, and no more.
#[tokio::test(start_paused = true)]
async fn a_look_up_that_hangs_is_given_up_after_three_seconds() {
    let a = Fake::new();
    a.on(SEND, Reply::reset());
    a.on(LOOK_UP, Reply::hang());
    let pool = tiered(&[&a], still());
    let start = Instant::now();
    is_ambiguous(send(&pool, failover()).await);
    let took = start.elapsed();
    assert!(took >= s(3) && took < s(3) + ms(200), "{took:?}");
    assert_eq!(a.open(), 0);
}

// R-35, scenario W04, scenario W05, scenario W07
#[tokio::test(start_paused = true)]
async fn w04_w05_w07_a_verdict_at_the_first_try_comes_as_it_is() {
    for verdict in [
        "nonce too low",
        "insufficient funds for gas * price + value",
        "replacement transaction underpriced",
    ] {
        for sends in [once(), failover()] {
            let (a, b) = (Fake::at(99), Fake::at(100));
            a.on(SEND, Reply::error(-32000, verdict));
            b.on(SEND, accepted());
            b.on(LOOK_UP, stored());
            let pool = tiered(&[&a, &b], still());
            pool.probe().await;
            assert!(text(send(&pool, sends).await).contains(verdict));
            assert_eq!((sent([&a, &b]), b.count(LOOK_UP)), ([1, 0], 0));
        }
    }
}

// R-34, R-35, scenario W06
#[tokio::test(start_paused = true)]
async fn w06_a_slow_send_is_neither_raced_nor_hedged() {
    let (a, b) = two();
    a.on(SEND, accepted().after(ms(900)));
    b.on(SEND, accepted().after(ms(900)));
    let mut settings = still();
    settings.race = 3;
    settings.hedge = Some(Default::default());
    let pool = pool(&[&a, &b], settings);
    pool.check_all(s(1)).await;
    is_hash(send(&pool, failover()).await);
    assert_eq!(sent([&a, &b]).iter().sum::<usize>(), 1);
}

// R-35, scenario W08
#[tokio::test(start_paused = true)]
async fn w08_every_dialect_of_known_is_the_hash() {
    for dialect in [
        "AlreadyKnown",
        "Known transaction",
        "ALREADY_EXISTS: already known",
        "already imported",
        "tx already exists in cache",
        "Pool(AlreadyImported)",
        "alreadyknown",
    ] {
        let (a, b) = two();
        a.on(SEND, Reply::reset());
        b.on(SEND, Reply::error(-32000, dialect));
        let pool = tiered(&[&a, &b], still());
        is_hash(send(&pool, failover()).await);
    }
}

// R-35, scenario W09
#[tokio::test(start_paused = true)]
async fn w09_once_is_once() {
    for (lost, took) in [(Reply::hang(), s(10)), (Reply::reset(), ms(0))] {
        let (a, b) = two();
        a.on(SEND, lost);
        b.on(SEND, accepted());
        let pool = tiered(&[&a, &b], still());
        let start = Instant::now();
        assert_eq!(is_ambiguous(send(&pool, once()).await), None);
        let more = start.elapsed() - took;
        assert!(more < ms(100), "{more:?}");
        assert_eq!(sent([&a, &b]), [1, 0]);
    }
}

// R-35, scenario W14
#[tokio::test(start_paused = true)]
async fn w14_a_conditional_send_is_judged_once() {
    let (a, b) = two();
    let method = "eth_sendRawTransactionConditional";
    a.on(method, Reply::error(-32003, "rejected"));
    let pool = tiered(&[&a, &b], still());
    let params = format!("[\"{RAW}\",{{}}]");
    let answer = call(&pool, method, &params, failover()).await;
    assert!(text(answer).contains("-32003"));
    assert_eq!(b.sent(), 0);
}

// R-35, scenario W18
#[tokio::test(start_paused = true)]
async fn w18_on_a_chain_without_already_known_the_look_up_decides_always() {
    for found in [true, false] {
        let (a, b) = two();
        for fake in [&a, &b] {
            fake.on("eth_chainId", Reply::result("\"0xa4b1\""));
            fake.on(
                LOOK_UP,
                if found {
                    stored()
                } else {
                    Reply::result("null")
                },
            );
        }
        a.on(SEND, Reply::reset());
        let text = "nonce too low: address 0x00, tx: 9 state: 10";
        b.on(SEND, Reply::error(-32000, text));
        let tiers = [0, 1].map(|tier| Profile {
            tier,
            ..Profile::default()
        });
        let pool = with_profiles(&[&a, &b], tiers.into(), still())
            .chain(ChainId(42_161))
            .build()
            .unwrap();
        let ended = send(&pool, unverified()).await;
        if found {
            is_hash(ended);
        } else {
            assert!(is_ambiguous(ended).unwrap().contains(text));
        }
        assert_eq!(a.count(LOOK_UP) + b.count(LOOK_UP), 1);
    }
}

// R-30, semantics W17: a Nitro node holds a send until it is in a block.
#[tokio::test(start_paused = true)]
async fn a_send_has_the_write_timeout_of_its_chain() {
    for (chain, id, limit) in [(1, "\"0x1\"", 10), (42_161, "\"0xa4b1\"", 30)] {
        let a = Fake::new();
        a.on("eth_chainId", Reply::result(id));
        a.on(SEND, accepted().after(s(limit) - ms(10)));
        let pool = builder(&[&a], still())
            .chain(ChainId(chain))
            .timeout(s(1))
            .deadline(s(1))
            .build()
            .unwrap();
        is_hash(send(&pool, once()).await);
        a.on(SEND, Reply::hang());
        a.on(LOOK_UP, Reply::result("null"));
        let start = Instant::now();
        is_ambiguous(send(&pool, once()).await);
        assert_eq!(start.elapsed().as_secs(), limit);
        let own = Sends {
            timeout: Some(s(2)),
            ..once()
        };
        let start = Instant::now();
        is_ambiguous(send(&pool, own).await);
        assert_eq!(start.elapsed().as_secs(), 2);
    }
}

// R-35, scenario W19
#[tokio::test(start_paused = true)]
async fn w19_the_text_decides_under_the_code_of_a_revert() {
    let (a, b) = two();
    let refusal =
        r#"{"code":3,"message":"insufficient funds for gas + value. balance: 1","data":"0x"}"#;
    a.on(SEND, Reply::error_json(refusal));
    let pool = tiered(&[&a, &b], still());
    assert_eq!(text(send(&pool, failover()).await), refusal);
    assert_eq!(b.sent(), 0);
    a.on(SEND, Reply::reset());
    b.on(
        SEND,
        Reply::error_json(format!(
            r#"{{"code":3,"message":"known transaction. transaction with hash {HASH} is already in the system","data":"0x"}}"#
        )),
    );
    is_hash(send(&pool, failover()).await);
}

// R-35, scenario W20
#[tokio::test(start_paused = true)]
async fn w20_what_a_forwarder_lost_is_open() {
    for (code, lost) in [
        (
            -32000,
            "failed to publish transaction to any of the forwarding targets",
        ),
        (-32603, "overloaded, try again later"),
    ] {
        let (a, b) = two();
        a.on(SEND, Reply::error(code, lost));
        b.on(SEND, accepted());
        let pool = tiered(&[&a, &b], still());
        assert!(
            is_ambiguous(send(&pool, once()).await)
                .unwrap()
                .contains(lost)
        );
        assert_eq!(sent([&a, &b]), [1, 0]);
        is_hash(send(&pool, failover()).await);
        assert_eq!(b.count(SEND), 1);
    }
}

// R-36, scenario W21
#[tokio::test(start_paused = true)]
async fn w21_proven_unsent_moves_on_and_is_remembered() {
    let (a, b) = two();
    let text = "publishing transactions not supported by this endpoint";
    a.on(SEND, Reply::error(-32000, text));
    b.on(SEND, accepted());
    let pool = tiered(&[&a, &b], still());
    is_hash(send(&pool, once()).await);
    is_hash(send(&pool, once()).await);
    assert_eq!(sent([&a, &b]), [1, 2]);
}

// R-35: exhaustion after an open send.
#[tokio::test(start_paused = true)]
async fn a_send_that_nobody_answers_is_looked_up_and_names_all_that_were_asked() {
    let (a, b) = two();
    a.on(SEND, Reply::reset());
    b.on(SEND, Reply::refused());
    for fake in [&a, &b] {
        fake.on(LOOK_UP, Reply::result("null"));
    }
    let pool = tiered(&[&a, &b], still());
    match send(&pool, failover()).await {
        Err(Error::Ambiguous { attempts, .. }) => {
            let said: Vec<_> = attempts
                .iter()
                .map(|one| (&*one.endpoint, one.class, one.detail))
                .collect();
            let expected = [
                ("a", Class::Internal, Some("reset")),
                ("b", Class::Internal, Some("connect")),
            ];
            assert_eq!(said, expected);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(sent([&a, &b]), [1, 1]);
}

// R-35, semantics W12
#[tokio::test(start_paused = true)]
async fn another_hash_is_answered_with_the_one_of_the_bytes() {
    let a = Fake::new();
    a.on(
        SEND,
        Reply::result(quoted(&format!("0x{}", "11".repeat(32)))),
    );
    let pool = tiered(&[&a], still());
    is_hash(send(&pool, once()).await);
}

// R-34: a name on the user's own list is sent once, whatever the policy is.
#[tokio::test(start_paused = true)]
async fn what_is_never_repeated_is_sent_under_once() {
    let (a, b) = two();
    a.on(SEND, Reply::reset());
    b.on(SEND, accepted());
    let pool = tiered(&[&a, &b], still());
    let options = CallOptions {
        solitary: true,
        ..CallOptions::default()
    };
    let params = format!("[\"{RAW}\"]");
    is_ambiguous(call_within(&pool, SEND, &params, options).await);
    assert_eq!(sent([&a, &b]), [1, 0]);
}

// R-35: what is no transaction has no hash, and goes by the rules of one endpoint.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_sent_once() {
    for params in ["[\"0x\"]", "[]", "[\"0xzz\"]", "{}"] {
        let (a, b) = two();
        a.on(SEND, Reply::reset());
        let pool = tiered(&[&a, &b], still());
        let error = call(&pool, SEND, params, failover()).await.unwrap_err();
        assert!(matches!(error, Error::AllEndpointsFailed { .. }), "{error}");
        assert_eq!(b.sent(), 0);
    }
}
