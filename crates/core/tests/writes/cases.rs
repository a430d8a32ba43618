use super::bench::{Call, End, Outcome, ambiguous, answer, error, error_with, form, hash, send};
use highwater_core::{
    call::write::{Form, Policy, Step, Write},
    jsonrpc::Params,
    method::{self, Changes, Failover, Lane},
};

const NONCE: &str = "nonce too low: next nonce 8, tx nonce 7";
const FUNDS: &str = "insufficient funds for gas * price + value";

fn once() -> Call {
    send(Policy::Once)
}

fn failover() -> Call {
    send(Policy::Failover)
}

// R-35, W01
#[test]
fn w01_already_known_after_a_lost_answer_is_success() {
    let ends = [End::Reset, error(-32000, "already known"), hash()];
    assert_eq!(failover().run(&ends), Outcome::of(Step::Hash, 2));
}

// R-35, W02
#[test]
fn w02_already_known_at_the_first_try_comes_as_it_is() {
    for call in [once(), failover(), failover().verified()] {
        let ends = [error(-32000, "already known"), hash()];
        assert_eq!(call.run(&ends), Outcome::of(answer(0), 1));
    }
}

// R-35: bytes that were sent by us in the last ten minutes and come again.
#[test]
fn already_known_is_success_for_bytes_that_come_a_second_time() {
    for call in [once(), failover()] {
        let ends = [error(-32000, "already known")];
        assert_eq!(call.resent().run(&ends), Outcome::of(Step::Hash, 1));
    }
}

// R-35: mined meanwhile; the node's error stays the answer unless the look-up is equal.
#[test]
fn a_used_nonce_for_bytes_that_come_a_second_time_is_looked_up() {
    let ends = [error(-32000, NONCE), hash()];
    let call = failover().verified().resent();
    let found = call.clone().stored().run(&ends);
    assert_eq!(found, Outcome::after_look_up(Step::Hash, 1));
    assert_eq!(call.run(&ends), Outcome::after_look_up(answer(0), 1));
    assert_eq!(failover().resent().run(&ends), Outcome::of(answer(0), 1));
    let ends = [error(-32000, FUNDS), hash()];
    assert_eq!(call.run(&ends), Outcome::of(answer(0), 1));
}

// R-35, W03
#[test]
fn w03_nonce_too_low_after_a_lost_answer_is_decided_by_the_look_up() {
    let ends = [End::Hang, error(-32000, NONCE), hash()];
    let call = failover().verified();
    let found = call.clone().stored().run(&ends);
    assert_eq!(found, Outcome::after_look_up(Step::Hash, 2));
    assert_eq!(call.run(&ends), Outcome::after_look_up(ambiguous(1), 2));
    assert_eq!(failover().run(&ends), Outcome::of(ambiguous(1), 2));
    let other = Call {
        stored: format!(r#"{{"hash":"0x{}"}}"#, "00".repeat(32)),
        ..call
    };
    assert_eq!(other.run(&ends), Outcome::after_look_up(ambiguous(1), 2));
}

// R-35, W04
#[test]
fn w04_nonce_too_low_at_the_first_try_comes_as_it_is() {
    for call in [once(), failover(), failover().verified().stored()] {
        let ends = [error(-32000, "nonce too low"), hash()];
        assert_eq!(call.run(&ends), Outcome::of(answer(0), 1));
    }
}

// R-35, W05
#[test]
fn w05_missing_funds_come_as_they_are() {
    let ends = [error(-32000, FUNDS), hash()];
    for call in [once(), failover(), failover().verified()] {
        assert_eq!(call.run(&ends), Outcome::of(answer(0), 1));
    }
    // After an open send the same words prove nothing.
    let ends = [End::Reset, error(-32000, FUNDS), hash()];
    assert_eq!(failover().run(&ends), Outcome::of(ambiguous(1), 2));
}

// R-35, W06
#[test]
fn w06_one_endpoint_at_a_time() {
    assert_eq!((once().write.width(), failover().write.width()), (1, 1));
    for name in ["eth_sendRawTransaction", "eth_sendRawTransactionSync"] {
        let row = method::lookup(name);
        assert_eq!(
            (row.race, row.hedge),
            (method::Racing::No, method::Racing::No)
        );
    }
    assert_eq!(failover().run(&[hash(), hash()]), Outcome::of(answer(0), 1));
}

// R-35, W07
#[test]
fn w07_replacement_underpriced_comes_at_once() {
    let ends = [error(-32000, "replacement transaction underpriced"), hash()];
    for call in [once(), failover(), failover().verified()] {
        assert_eq!(call.run(&ends), Outcome::of(answer(0), 1));
    }
}

// R-35, W08
#[test]
fn w08_every_dialect_of_known_is_known() {
    for text in [
        "AlreadyKnown",
        "Known transaction",
        "ALREADY_EXISTS: already known",
        "already imported",
        "tx already exists in cache",
        "Pool(AlreadyImported)",
        "alreadyknown",
        "'already known",
        "INTERNAL_ERROR: existing tx with same hash",
        "Transaction with the same hash was already imported.",
        "transaction already finalized",
    ] {
        let ends = [End::Reset, error(-32000, text)];
        assert_eq!(failover().run(&ends), Outcome::of(Step::Hash, 2), "{text}");
    }
    // Another transaction may hold the nonce.
    let ends = [End::Reset, error(-32010, "OwnNonceAlreadyUsed")];
    assert_eq!(failover().run(&ends), Outcome::of(ambiguous(1), 2));
}

// R-35, R-36, W09
#[test]
fn w09_once_sends_no_second_time_after_a_send_that_may_have_arrived() {
    for lost in [End::Hang, End::Reset] {
        let ends = [lost, hash()];
        assert_eq!(once().run(&ends), Outcome::of(Step::Ambiguous(None), 1));
        let asked = once().verified();
        let found = asked.clone().stored().run(&ends);
        assert_eq!(found, Outcome::after_look_up(Step::Hash, 1));
        let missing = Outcome::after_look_up(Step::Ambiguous(None), 1);
        assert_eq!(asked.run(&ends), missing);
    }
}

// R-36, W09: a refused connection proves that nothing was sent.
#[test]
fn once_moves_on_from_what_is_proven_unsent() {
    for unsent in [
        End::Down,
        End::Answer(429, "slow down".to_owned()),
        End::Answer(403, "<html>".to_owned()),
        error(-32000, "txpool is full"),
        error(-32005, "rate limit exceeded"),
    ] {
        let ends = [unsent.clone(), unsent.clone(), hash(), hash()];
        assert_eq!(once().run(&ends), Outcome::of(answer(2), 3), "{unsent:?}");
        assert_eq!(
            failover().run(&ends),
            Outcome::of(answer(2), 3),
            "{unsent:?}"
        );
    }
    let ends = [End::Down, End::Down];
    assert_eq!(once().run(&ends), Outcome::of(Step::Failed(None), 2));
    assert_eq!(once().run(&[]), Outcome::of(Step::Failed(None), 0));
    // The error is that of the endpoint that said most.
    let ends = [End::Down, error(-32000, "txpool is full")];
    let failed = Step::Failed(Some(highwater_core::AttemptId(1)));
    assert_eq!(once().run(&ends), Outcome::of(failed, 2));
}

// R-34, W10, W11: what is private or signs goes by the rules of one endpoint.
#[test]
fn w10_w11_private_and_signing_methods_are_no_sends_of_the_same_bytes() {
    let params = format!("[\"{}\"]", super::bench::RAW);
    for name in [
        "eth_sendPrivateTransaction",
        "eth_sendPrivateRawTransaction",
    ] {
        let row = method::lookup(name);
        assert_eq!(
            (row.failover, row.state_changing),
            (Failover::None, Changes::Builder)
        );
        assert_eq!(
            Write::new(row, Params::Array(&params), Policy::Failover),
            None
        );
    }
    for name in ["eth_sendTransaction", "personal_sign", "wallet_sendCalls"] {
        let row = method::lookup(name);
        assert_eq!(row.lane, Lane::Denied, "{name}");
        assert_eq!(
            Write::new(row, Params::Array(&params), Policy::Failover),
            None
        );
    }
}

// R-35, W14
#[test]
fn w14_a_send_with_conditions_is_judged_once() {
    let params = format!(r#"["{}",{{"blockNumberMax":"0x9"}}]"#, super::bench::RAW);
    let call = form(
        "eth_sendRawTransactionConditional",
        &params,
        Policy::Failover,
    );
    assert_eq!(
        (call.write.policy, call.write.form),
        (Policy::Once, Form::Hash)
    );
    let ends = [error(-32003, "block number max condition failed"), hash()];
    assert_eq!(call.run(&ends), Outcome::of(answer(0), 1));
    let ends = [error(-32003, ""), hash()];
    assert_eq!(call.run(&ends), Outcome::of(answer(0), 1));
    let ends = [End::Reset, hash()];
    assert_eq!(call.run(&ends), Outcome::of(Step::Ambiguous(None), 1));
}

// R-35, W18
#[test]
fn w18_on_a_chain_without_already_known_the_look_up_decides() {
    let text = "nonce too low: address 0x00000000000000000000000000000000000000aa, tx: 7 state: 8";
    let ends = [End::Reset, error(-32000, text), hash()];
    let call = failover().on(42_161);
    assert!(!call.write.verify);
    let found = call.clone().stored().run(&ends);
    assert_eq!(found, Outcome::after_look_up(Step::Hash, 2));
    assert_eq!(call.run(&ends), Outcome::after_look_up(ambiguous(1), 2));
    // The same under `once`, whose first end is already open.
    let found = once().on(42_161).stored().run(&ends);
    assert_eq!(found, Outcome::after_look_up(Step::Hash, 1));
}

// R-35, R-37, W19
#[test]
fn w19_the_text_decides_under_the_code_of_a_revert() {
    let text = "insufficient funds for gas + value. balance: 1, fee: 2, value: 3";
    let ends = [error_with(3, text, "\"0x\""), hash()];
    let call = failover().on(324);
    assert_eq!(call.run(&ends), Outcome::of(answer(0), 1));
    let text = format!(
        "known transaction. transaction with hash {} is already in the system",
        super::bench::HASH
    );
    let ends = [End::Reset, error_with(3, &text, "\"0x\""), hash()];
    assert_eq!(call.run(&ends), Outcome::of(Step::Hash, 2));
}

// R-35, R-36, W20
#[test]
fn w20_what_a_forwarder_lost_is_open() {
    for (code, text) in [
        (
            -32000,
            "failed to publish transaction to any of the forwarding targets",
        ),
        (-32603, "overloaded, try again later"),
    ] {
        let ends = [error(code, text), hash(), hash()];
        assert_eq!(once().run(&ends), Outcome::of(ambiguous(0), 1), "{text}");
        assert_eq!(failover().run(&ends), Outcome::of(answer(1), 2), "{text}");
    }
}

// R-36, W21
#[test]
fn w21_a_text_that_proves_it_unsent_moves_on() {
    for text in [
        "publishing transactions not supported by this endpoint",
        "the method eth_sendRawTransaction does not exist/is not available",
        "sequencer temporarily not available",
        "currently not accepting transactions due to expected surplus being below threshold",
    ] {
        let ends = [error(-32000, text), hash()];
        assert_eq!(once().run(&ends), Outcome::of(answer(1), 2), "{text}");
    }
}

// R-35: the last endpoint is asked and nobody knows.
#[test]
fn exhaustion_after_an_open_send_is_ambiguous() {
    let ends = [End::Reset, End::Down, End::Hang];
    let missing = Outcome::of(Step::Ambiguous(None), 3);
    assert_eq!(failover().run(&ends), missing);
    let call = failover().verified().stored();
    assert_eq!(call.run(&ends), Outcome::after_look_up(Step::Hash, 3));
    // Not sent last, but open before.
    let ends = [
        error(-32603, "Internal error"),
        error(-32000, "txpool is full"),
    ];
    let Step::Ambiguous(Some(_)) = failover().run(&ends).step else {
        panic!("not ambiguous")
    };
}

// R-35, semantics W12
#[test]
fn a_hash_that_is_not_of_the_bytes_is_answered_with_the_one_that_is() {
    let other = super::bench::result(&format!("\"0x{}\"", "11".repeat(32)));
    assert_eq!(
        once().run(std::slice::from_ref(&other)),
        Outcome::of(Step::Hash, 1)
    );
    let mut unknown = once();
    unknown.write.certain = false;
    assert_eq!(unknown.run(&[other]), Outcome::of(answer(0), 1));
    for nothing in ["null", "\"0x\"", "true", "[]"] {
        let ends = [super::bench::result(nothing), hash()];
        let open = Outcome::of(Step::Ambiguous(None), 1);
        assert_eq!(once().run(&ends), open, "{nothing}");
        assert_eq!(
            failover().run(&ends),
            Outcome::of(answer(1), 2),
            "{nothing}"
        );
    }
}
