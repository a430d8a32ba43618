use super::bench::{Call, End, Outcome, ambiguous, answer, error, hash, send};
use highwater_core::call::write::{Policy, Step, Writes};

fn broadcast(count: u8) -> Call {
    send(Policy::Broadcast(count))
}

fn known() -> End {
    error(-32000, "already known")
}

// R-35, W16
#[test]
fn w16_the_first_success_of_a_broadcast_counts() {
    let ends = [known(), hash(), End::Down, hash()];
    assert_eq!(broadcast(3).run(&ends), Outcome::of(answer(1), 3));
    let ends = [End::Down, known(), hash()];
    assert_eq!(broadcast(3).run(&ends), Outcome::of(answer(2), 3));
}

// R-35, W17
#[test]
fn w17_a_broadcast_that_everybody_knew_comes_as_the_first_said_it() {
    let call = broadcast(2);
    assert_eq!(
        call.run(&[known(), known(), hash()]),
        Outcome::of(answer(0), 2)
    );
    // Whoever answered first.
    let mut writes = Writes::new(call.write);
    assert_eq!(writes.on_end(&call.ended(1, &known()), 1), Step::Wait);
    assert_eq!(writes.on_end(&call.ended(0, &known()), 0), answer(0));
    // Sent by us before: nobody has to be waited for.
    let mut writes = Writes::new(call.resent().write);
    let call = broadcast(2);
    assert_eq!(writes.on_end(&call.ended(1, &known()), 1), Step::Hash);
}

//
#[test]
fn known_beside_a_lost_answer_is_success_in_either_order() {
    for ends in [[End::Reset, known()], [known(), End::Reset]] {
        assert_eq!(broadcast(2).run(&ends), Outcome::of(Step::Hash, 2));
    }
}

//
#[test]
fn a_broadcast_that_nobody_accepted_is_ambiguous_where_one_is_open() {
    let low = error(-32000, "nonce too low");
    for ends in [
        [End::Reset, low.clone(), hash()],
        [low.clone(), End::Reset, hash()],
    ] {
        let Outcome { step, sent, .. } = broadcast(2).run(&ends);
        assert!(matches!(step, Step::Ambiguous(Some(_))), "{step:?}");
        assert_eq!(sent, 2);
        let found = broadcast(2).verified().stored().run(&ends);
        assert_eq!(found, Outcome::after_look_up(Step::Hash, 2));
    }
    assert_eq!(
        broadcast(2).run(&[End::Hang, low.clone()]),
        Outcome::of(ambiguous(1), 2)
    );
    assert_eq!(
        broadcast(2).run(&[End::Down, low]),
        Outcome::of(answer(1), 2)
    );
}

//
#[test]
fn a_broadcast_of_which_nothing_left_moves_on() {
    let ends = [End::Down, End::Down, hash(), hash()];
    assert_eq!(broadcast(2).run(&ends), Outcome::of(answer(2), 3));
    let ends = [End::Down, End::Down];
    assert_eq!(broadcast(2).run(&ends), Outcome::of(Step::Failed(None), 2));
    assert_eq!(broadcast(0).write.width(), 1);
}

// of what runs at the deadline nobody knows.
#[test]
fn an_attempt_that_runs_at_the_deadline_is_open() {
    let call = broadcast(2);
    let mut writes = Writes::new(call.write);
    assert_eq!(writes.on_deadline(2), Step::Ambiguous(None));
    let mut writes = Writes::new(call.write);
    assert_eq!(writes.on_end(&call.ended(0, &End::Down), 1), Step::Wait);
    assert_eq!(writes.on_deadline(0), Step::Failed(None));
    let mut writes = Writes::new(call.write);
    assert_eq!(writes.on_end(&call.ended(0, &known()), 1), Step::Wait);
    assert_eq!(writes.on_deadline(1), Step::Hash);
    // An answer that comes while the look-up runs still counts.
    let call = call.verified();
    let mut writes = Writes::new(call.write);
    assert_eq!(writes.on_deadline(2), Step::LookUp);
    assert_eq!(writes.on_deadline(2), Step::Wait);
    assert_eq!(writes.on_end(&call.ended(0, &End::Reset), 1), Step::Wait);
    assert_eq!(writes.on_end(&call.ended(1, &hash()), 0), answer(1));
    assert_eq!(writes.on_lookup(false), answer(1));
}
