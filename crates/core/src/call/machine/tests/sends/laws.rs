//! What holds of every send, whatever endpoints say and when: no hidden duplicate, no success that did
//! not happen, no lost answer that passes for a failure.

use super::*;
use crate::rng::Rng;

fn chance(rng: &mut Rng, one_in: usize) -> bool {
    rng.below(one_in) == 0
}

/// Less than so many milliseconds.
fn below(rng: &mut Rng, most: usize) -> Duration {
    millis(rng.below(most) as u64)
}

/// Something that is to be reported.
struct Due {
    at: Duration,
    attempt: AttemptId,
    said: Said,
}

enum Said {
    Sent(Settled, Echo),
    Looked(Settled, bool),
}

/// What an attempt showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Running,
    Unsent,
    Open,
    Accepted,
    Known,
    Refused,
}

fn any_end(rng: &mut Rng) -> (Settled, Echo) {
    let settled = match rng.below(12) {
        0 | 1 => return (Settled::VALUE, Echo::Ours),
        2 => terminal(Class::AlreadyKnown),
        3 => nonce_too_low(),
        4 => terminal(Class::TxRejected),
        5 | 6 => unsent(),
        7 => own_error(Class::Internal),
        8 => null(),
        9 | 10 => lost(),
        _ => timeout(),
    };
    (settled, Echo::Nothing)
}

fn any_write(rng: &mut Rng) -> Write {
    let policy = match rng.below(3) {
        0 => Policy::Once,
        1 => Policy::Failover,
        _ => Policy::Broadcast(2 + u8::from(chance(rng, 2))),
    };
    let form = if chance(rng, 3) {
        Form::Receipt(seconds(2))
    } else {
        Form::Hash
    };
    Write {
        verify: chance(rng, 2),
        has_known: !chance(rng, 3),
        resent: chance(rng, 5),
        form,
        ..write(policy)
    }
}

#[derive(Default)]
struct Seen {
    shown: Vec<Shown>,
    asked: Vec<EndpointId>,
    /// Look-ups that were answered.
    looked_up: u32,
    found: bool,
}

impl Seen {
    fn has(&self, shown: Shown) -> bool {
        self.shown.contains(&shown)
    }

    fn on_send(&mut self, endpoint: EndpointId, write: &Write) {
        let may_have = |shown: &Shown| *shown != Shown::Unsent;
        match write.policy {
            Policy::Once => assert!(!self.shown.iter().any(may_have), "a hidden duplicate"),
            Policy::Failover => {
                let settled = |shown: &Shown| matches!(shown, Shown::Unsent | Shown::Open);
                assert!(self.shown.iter().all(settled), "{:?}", self.shown);
            }
            Policy::Broadcast(_) => {
                let over = [Shown::Accepted, Shown::Refused, Shown::Open, Shown::Known];
                assert!(!over.iter().any(|shown| self.has(*shown)));
            }
        }
        let mut before = self.asked.iter().zip(&self.shown);
        assert!(!before.any(|(asked, shown)| *asked == endpoint && may_have(shown)));
        self.asked.push(endpoint);
        self.shown.push(Shown::Running);
    }

    fn on_end(&self, outcome: Outcome, write: &Write) {
        let open = self.has(Shown::Open) || self.has(Shown::Running);
        let ours = self.has(Shown::Known) && (open || write.resent);
        let success = self.has(Shown::Accepted) || ours || self.found;
        match outcome {
            Outcome::Sent | Outcome::Found(_) | Outcome::Late => assert!(success),
            Outcome::Answered(attempt) => match self.shown[usize::from(attempt.0)] {
                Shown::Accepted => {}
                shown @ (Shown::Known | Shown::Refused) => {
                    let others = |s: &Shown| *s == Shown::Open;
                    assert!(
                        !self.shown.iter().any(others),
                        "{shown:?} after an open send"
                    );
                }
                other => panic!("{other:?} is no answer"),
            },
            Outcome::Ambiguous(_) => {
                assert!(open && !self.has(Shown::Accepted) && !self.found);
                assert!(self.looked_up <= 1);
            }
            Outcome::Failed(_)
            | Outcome::DeadlineExceeded
            | Outcome::ChainMismatch
            | Outcome::NoEndpoint
            | Outcome::BudgetExhausted { .. } => {
                let nothing = |shown: &Shown| *shown == Shown::Unsent;
                assert!(
                    self.shown.iter().all(nothing),
                    "{outcome:?}: {:?}",
                    self.shown
                );
            }
        }
    }
}

fn one_send(rng: &mut Rng, bench: &mut Bench) {
    let write = any_write(rng);
    let began = bench.passed;
    bench.send_raw(write);
    let (mut seen, mut due) = (Seen::default(), Vec::<Due>::new());
    let latest = began + DEADLINE + LOOK_UP_TIME + seconds(1);
    for steps in 0.. {
        assert!(steps < 5000, "no end");
        assert!(bench.passed <= latest, "too late");
        match bench.poll() {
            Action::Check { endpoint, timeout } => {
                bench.pass(below(rng, 40).min(timeout));
                if chance(rng, 4) {
                    bench.fails_check(endpoint, Class::Timeout, None);
                } else {
                    bench.passes(endpoint);
                    bench.machine.on_check(endpoint, None);
                }
            }
            Action::Warm { endpoint, .. } => {
                if chance(rng, 2) {
                    bench.passes(endpoint);
                }
            }
            Action::Head { endpoint, .. } => bench.machine.on_head(endpoint),
            Action::Send {
                endpoint,
                attempt,
                timeout,
            } => {
                seen.on_send(endpoint, &write);
                assert_eq!(usize::from(attempt.0) + 1, seen.shown.len());
                let (settled, echo) = any_end(rng);
                let took = match &settled {
                    Settled::Failed { verdict, .. } if verdict.class == Class::Timeout => timeout,
                    _ => below(rng, 3000).min(timeout),
                };
                due.push(Due {
                    at: bench.passed + took,
                    attempt,
                    said: Said::Sent(settled, echo),
                });
            }
            Action::LookUp {
                attempt, timeout, ..
            }
            | Action::Receipt {
                attempt, timeout, ..
            } => {
                seen.shown.push(Shown::Unsent);
                seen.asked.push(EndpointId::GONE);
                let (settled, ours) = match rng.below(4) {
                    0 => (Settled::VALUE, true),
                    1 => (unsent(), false),
                    2 => (lost(), false),
                    _ => (null(), false),
                };
                due.push(Due {
                    at: bench.passed + below(rng, 5000).min(timeout),
                    attempt,
                    said: Said::Looked(settled, ours),
                });
            }
            Action::WaitUntil(at) => {
                let at = at.saturating_duration_since(bench.start);
                let first = (0..due.len()).min_by_key(|place| due[*place].at);
                match first.filter(|place| due[*place].at <= at) {
                    Some(place) => {
                        let next = due.swap_remove(place);
                        bench.passed = bench.passed.max(next.at);
                        report(bench, next, &mut seen);
                    }
                    None => bench.passed = bench.passed.max(at),
                }
            }
            Action::Finish(outcome) => {
                seen.on_end(outcome, &write);
                let now = bench.now();
                for (ticket, leftover) in bench.machine.leftovers() {
                    let sent = seen.asked[usize::from(ticket.attempt().0)] != EndpointId::GONE;
                    assert_eq!(leftover == Leftover::Finish, sent);
                    bench.router.settle(&ticket, &timeout(), now);
                }
                assert!(bench.in_flight().iter().all(|calls| *calls == 0));
                return;
            }
        }
    }
}

fn report(bench: &mut Bench, due: Due, seen: &mut Seen) {
    let (now, place) = (bench.now(), usize::from(due.attempt.0));
    match due.said {
        Said::Sent(settled, echo) => {
            seen.shown[place] = match &settled {
                Settled::Result { .. } if echo == Echo::Ours => Shown::Accepted,
                Settled::Terminal { verdict, .. } if verdict.class == Class::AlreadyKnown => {
                    Shown::Known
                }
                Settled::Terminal { .. } => Shown::Refused,
                Settled::Failed {
                    delivery: Delivery::NotSent,
                    ..
                } => Shown::Unsent,
                Settled::Result { .. } | Settled::Failed { .. } => Shown::Open,
            };
            bench
                .machine
                .on_sent(&mut bench.router, due.attempt, &settled, echo, now);
        }
        Said::Looked(settled, ours) => {
            let answered = !matches!(settled, Settled::Failed { .. });
            seen.found |= ours;
            let receipts = matches!(bench.machine.plan.method.name, "eth_sendRawTransactionSync");
            seen.looked_up += u32::from(answered && !receipts);
            bench
                .machine
                .on_lookup(&mut bench.router, due.attempt, &settled, ours, now);
        }
    }
}

//
#[test]
fn no_duplicate_no_invented_success_and_no_plain_failure_of_what_may_be_on_its_way() {
    for seed in 0..1500 {
        let mut rng = Rng::new(seed);
        let endpoints = 1 + rng.below(4);
        let mut setup = if chance(&mut rng, 2) {
            Setup::gateway(endpoints)
        } else {
            Setup::new(endpoints)
        };
        if chance(&mut rng, 2) {
            setup = setup.unchecked();
        }
        if chance(&mut rng, 4) {
            setup = setup.budget(A, 1.0, 2.0);
        }
        if endpoints > 1 && chance(&mut rng, 3) {
            setup = setup.tier(B, 1);
        }
        let mut bench = setup.seed(seed).call("eth_call");
        for _ in 0..8 {
            one_send(&mut rng, &mut bench);
            bench.pass(below(&mut rng, 20_000));
        }
    }
}
