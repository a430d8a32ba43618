use super::bench::{
    Call, End, HASH, Outcome, RAW, ambiguous, answer, error, error_with, form, result,
};
use highwater_core::call::write::{Policy, Step, Writes};

fn sync(policy: Policy) -> Call {
    let params = format!("[\"{RAW}\",2000]");
    form("eth_sendRawTransactionSync", &params, policy)
}

fn receipt() -> End {
    result(&format!(r#"{{"transactionHash":"{HASH}","status":"0x1"}}"#))
}

// R-35, W12
#[test]
fn w12_known_after_a_lost_answer_waits_for_the_receipt() {
    let ends = [End::Reset, error(-32000, "already known"), receipt()];
    let call = sync(Policy::Failover);
    let mined = call.clone().mined().run(&ends);
    assert_eq!(mined, Outcome::after_polling(Step::Found, 2));
    assert_eq!(call.run(&ends), Outcome::after_polling(Step::Late, 2));
}

// R-35, W13
#[test]
fn w13_the_timeout_of_the_sync_form_comes_as_it_is() {
    let data = format!("\"{HASH}\"");
    let ends = [error_with(4, "timeout", &data), receipt()];
    for policy in [Policy::Once, Policy::Failover, Policy::Broadcast(1)] {
        assert_eq!(sync(policy).run(&ends), Outcome::of(answer(0), 1));
    }
    // So does the one that comes after a lost answer: it is in a pool.
    let ends = [End::Reset, error_with(4, "timeout", &data)];
    assert_eq!(sync(Policy::Failover).run(&ends), Outcome::of(answer(1), 2));
    // Anywhere else the code is only a number.
    let ends = [error(4, "timeout"), super::bench::hash()];
    let plain = super::bench::send(Policy::Failover);
    assert_eq!(plain.run(&ends), Outcome::of(answer(1), 2));
}

// R-35, C08
#[test]
fn c08_the_hash_is_known_in_whatever_shape_the_data_comes() {
    let text = "Transaction was added to the mempool but wasn't confirmed";
    for data in [
        format!("\"{HASH}\""),
        format!(r#"{{"hash":"{HASH}"}}"#),
        "null".to_owned(),
    ] {
        let call = sync(Policy::Failover);
        let ends = [error_with(4, text, &data), receipt()];
        assert_eq!(call.run(&ends), Outcome::of(answer(0), 1), "{data}");
        assert_eq!(call.hash().to_string(), HASH);
    }
}

// R-35, semantics W9
#[test]
fn codes_five_and_six_are_answers_and_prove_nothing_after_an_open_send() {
    for code in [5, 6] {
        let said = error_with(
            code,
            "the transaction is not ready to be processed",
            "\"0x8\"",
        );
        let ends = [said.clone(), receipt()];
        assert_eq!(sync(Policy::Failover).run(&ends), Outcome::of(answer(0), 1));
        let ends = [End::Reset, said, receipt()];
        assert_eq!(
            sync(Policy::Failover).run(&ends),
            Outcome::of(ambiguous(1), 2)
        );
    }
}

// R-35, semantics W9
#[test]
fn null_in_place_of_a_receipt_waits_for_it() {
    let ends = [result("null"), receipt()];
    for policy in [Policy::Once, Policy::Failover] {
        let mined = sync(policy).mined().run(&ends);
        assert_eq!(mined, Outcome::after_polling(Step::Found, 1));
        let open = Outcome::after_polling(Step::Ambiguous(None), 1);
        assert_eq!(sync(policy).run(&ends), open);
        let found = sync(policy).verified().stored().run(&ends);
        let late = Outcome {
            looked_up: 1,
            ..Outcome::after_polling(Step::Late, 1)
        };
        assert_eq!(found, late);
    }
}

// R-35: no invented receipt, and none of another transaction.
#[test]
fn a_receipt_counts_only_under_our_hash() {
    let other = result(&format!(r#"{{"transactionHash":"0x{}"}}"#, "11".repeat(32)));
    for wrong in [other, result("{}"), result("\"0x1\"")] {
        let ends = [wrong, receipt()];
        let open = Outcome::of(Step::Ambiguous(None), 1);
        assert_eq!(sync(Policy::Once).run(&ends), open);
        assert_eq!(sync(Policy::Failover).run(&ends), Outcome::of(answer(1), 2));
    }
}

// R-35
#[test]
fn a_look_up_that_finds_it_waits_for_the_receipt_while_there_is_time() {
    let ends = [End::Reset];
    let call = sync(Policy::Failover).verified().stored();
    let found = Outcome {
        polled: 1,
        ..Outcome::after_look_up(Step::Found, 1)
    };
    assert_eq!(call.clone().mined().run(&ends), found);
    let mut writes = Writes::new(call.write);
    assert_eq!(writes.on_deadline(1), Step::LookUp);
    assert_eq!(writes.on_lookup(true), Step::Late);
}

// R-35: a receipt is worth waiting for while somebody may still answer with it.
#[test]
fn a_broadcast_of_the_sync_form_waits_for_a_receipt() {
    let call = sync(Policy::Broadcast(3));
    let known = error(-32000, "already known");
    let ends = [End::Reset, known.clone(), receipt()];
    assert_eq!(call.run(&ends), Outcome::of(answer(2), 3));
    let ends = [End::Reset, known, End::Hang];
    assert_eq!(call.run(&ends), Outcome::after_polling(Step::Late, 3));
}

// R-35: what cannot be had afterwards is not promised.
#[test]
fn a_detailed_output_that_was_lost_is_an_error_with_the_hash() {
    let params = format!("[\"{RAW}\"]");
    let name = "zks_sendRawTransactionWithDetailedOutput";
    let call = form(name, &params, Policy::Failover);
    let ends = [End::Reset, error(3, "known transaction")];
    assert_eq!(call.run(&ends), Outcome::of(Step::Late, 2));
    assert_eq!(call.run(&[receipt()]), Outcome::of(answer(0), 1));
}
