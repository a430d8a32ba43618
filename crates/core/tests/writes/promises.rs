//! What holds whatever the endpoints say, in whatever order.

use highwater_core::{
    AttemptId, TxHash,
    call::write::{Ended, Fate, Form, Policy, Step, Write, Writes},
    classify::Class,
};
use proptest::prelude::*;
use std::time::Duration;

/// What happens next to a call, where it can happen.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The attempt at this place among those that run ends.
    End(prop::sample::Index, Fate, bool),
    /// Nobody else can be asked.
    Exhausted,
    Deadline,
    LookUp(bool),
    Receipt(bool),
}

fn fates() -> impl Strategy<Value = Fate> {
    prop::sample::select(vec![
        Fate::Accepted,
        Fate::Misnamed,
        Fate::Unsent,
        Fate::Unsent,
        Fate::Open,
        Fate::Open,
        Fate::Silent,
        Fate::Refused,
        Fate::NonceUsed,
        Fate::Known,
        Fate::Known,
    ])
}

fn events() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (any::<prop::sample::Index>(), fates(), any::<bool>())
            .prop_map(|(place, fate, shown)| Event::End(place, fate, shown)),
        1 => Just(Event::Exhausted),
        1 => Just(Event::Deadline),
        2 => any::<bool>().prop_map(Event::LookUp),
        2 => any::<bool>().prop_map(Event::Receipt),
    ]
}

fn writes() -> impl Strategy<Value = Write> {
    let policies = prop_oneof![
        Just(Policy::Once),
        Just(Policy::Failover),
        (0..4_u8).prop_map(Policy::Broadcast)
    ];
    let forms = prop::sample::select(vec![
        Form::Hash,
        Form::Receipt(Duration::from_secs(2)),
        Form::Output,
    ]);
    (policies, forms, any::<[bool; 4]>()).prop_map(|(policy, form, [a, b, c, d])| Write {
        policy,
        form,
        verify: a,
        resent: b,
        has_known: c,
        certain: d,
        hash: TxHash([7; 32]),
    })
}

/// All that was learned, kept apart from the state that is tested.
#[derive(Debug, Default)]
struct Seen {
    accepted: bool,
    open: bool,
    known: bool,
    refused: bool,
    matched: bool,
    received: bool,
    looked_up: usize,
}

fn check(write: &Write, step: Step, seen: &Seen, running: usize) -> Result<(), TestCaseError> {
    let had = seen.known && (seen.open || write.resent);
    match step {
        Step::Next => {
            prop_assert_eq!(running, 0);
            prop_assert!(!seen.accepted && !seen.known && !seen.refused);
            // Under `once` never a second endpoint while a first may have it.
            prop_assert!(!seen.open || write.policy == Policy::Failover);
        }
        // Never a success without one of these.
        Step::Hash => {
            prop_assert!(seen.accepted || had || seen.matched);
            prop_assert_eq!(write.form, Form::Hash);
        }
        Step::Found => prop_assert!(seen.received),
        Step::Receipt => {
            prop_assert!(matches!(write.form, Form::Receipt(_)));
            prop_assert!(had || seen.matched || seen.open);
        }
        Step::Late => {
            prop_assert!(had || seen.matched);
            prop_assert_ne!(write.form, Form::Hash);
        }
        Step::Answer(_) => {
            // As it came, and plain only where nothing is open.
            prop_assert!(seen.accepted || ((seen.known || seen.refused) && !seen.open));
        }
        // Never a plain failure after an open send.
        Step::Failed(_) => {
            prop_assert!(!seen.accepted && !seen.known && !seen.refused && !seen.open);
        }
        Step::Ambiguous(_) => {
            prop_assert!(seen.open && !seen.accepted && !seen.matched);
            prop_assert!(seen.looked_up == 1 || !write.looks_up());
        }
        Step::LookUp => prop_assert!(write.looks_up() && seen.looked_up == 0),
        Step::Wait => {}
    }
    Ok(())
}

fn is_over(step: Step) -> bool {
    match step {
        Step::Answer(_)
        | Step::Hash
        | Step::Found
        | Step::Late
        | Step::Ambiguous(_)
        | Step::Failed(_) => true,
        Step::Next | Step::Wait | Step::LookUp | Step::Receipt => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    //
    #[test]
    fn no_second_send_no_invented_success_no_plain_failure_of_an_open_send(
        write in writes(),
        script in prop::collection::vec(events(), 0..24),
    ) {
        let (mut state, mut seen) = (Writes::new(write), Seen::default());
        let mut running: Vec<u16> = (0..write.width() as u16).collect();
        let mut started = running.len() as u16;
        let mut step = Step::Wait;
        for event in script {
            if step == Step::Next && !matches!(event, Event::Exhausted | Event::Deadline) {
                running.push(started);
                started += 1;
                step = Step::Wait;
            }
            step = match event {
                Event::End(place, fate, shown) if !running.is_empty() => {
                    let attempt = running.remove(place.index(running.len()));
                    match fate {
                        Fate::Accepted | Fate::Misnamed => seen.accepted = true,
                        Fate::Open | Fate::Silent => seen.open = true,
                        Fate::Known => seen.known = true,
                        Fate::Refused | Fate::NonceUsed => seen.refused = true,
                        Fate::Unsent => {}
                    }
                    // As the table has it: a misnamed hash only where the form is the hash, silence
                    // only where it is the receipt.
                    let fate = match (fate, write.form) {
                        (Fate::Misnamed, Form::Receipt(_) | Form::Output) => Fate::Accepted,
                        (Fate::Silent, Form::Hash | Form::Output) => Fate::Open,
                        (other, _) => other,
                    };
                    let ended = Ended {
                        attempt: AttemptId(attempt),
                        fate,
                        showable: shown.then_some(Class::Internal),
                    };
                    state.on_end(&ended, running.len())
                }
                Event::Exhausted if step == Step::Next => state.on_exhausted(),
                Event::Deadline => {
                    seen.open |= !running.is_empty() && matches!(step, Step::Wait | Step::Next) && seen.looked_up == 0;
                    state.on_deadline(running.len())
                }
                Event::LookUp(matched) if step == Step::LookUp => {
                    seen.matched |= matched;
                    state.on_lookup(matched)
                }
                Event::Receipt(found) if step == Step::Receipt => {
                    seen.received |= found;
                    state.on_receipt(found)
                }
                Event::End(..) | Event::Exhausted | Event::LookUp(_) | Event::Receipt(_) => continue,
            };
            check(&write, step, &seen, running.len())?;
            seen.looked_up += usize::from(step == Step::LookUp);
            if is_over(step) {
                // The end stays what it was, whatever still comes.
                let late = Ended { attempt: AttemptId(99), fate: Fate::Accepted, showable: None };
                prop_assert_eq!(state.on_end(&late, 0), step);
                prop_assert_eq!(state.on_deadline(1), step);
                prop_assert_eq!(state.on_lookup(true), step);
                prop_assert_eq!(state.on_receipt(true), step);
                prop_assert_eq!(state.on_exhausted(), step);
                return Ok(());
            }
        }
    }
}
