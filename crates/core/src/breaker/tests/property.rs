//! From any history: one trial at a time, and a healthy endpoint comes back.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Pass(u64),
    Send(Lane),
    Probe,
    Good(usize),
    Bad(usize, Fault),
    Cancel(usize),
    Lose(usize),
    Drift,
}

fn lane() -> impl Strategy<Value = Lane> {
    prop::sample::select(&circuit::LANES[..])
}

fn fault() -> impl Strategy<Value = Fault> {
    let kind = prop::sample::select(vec![
        Kind::Strike,
        Kind::Strike,
        Kind::RateLimited,
        Kind::Quota,
        Kind::Bare403,
        Kind::Unusable,
        Kind::Wait,
    ]);
    let scope = prop::sample::select(vec![Scope::Lane, Scope::Endpoint]);
    let wait = prop::option::of((0_u64..200).prop_map(secs));
    (kind, scope, wait).prop_map(|(kind, scope, retry_after)| Fault {
        scope,
        kind,
        retry_after,
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u64..30_000).prop_map(Step::Pass),
        6 => lane().prop_map(Step::Send),
        1 => Just(Step::Probe),
        3 => any::<usize>().prop_map(Step::Good),
        6 => (any::<usize>(), fault()).prop_map(|(at, fault)| Step::Bad(at, fault)),
        1 => any::<usize>().prop_map(Step::Cancel),
        1 => any::<usize>().prop_map(Step::Lose),
        1 => Just(Step::Drift),
    ]
}

/// Takes one of the open tickets.
fn pick(open: &mut Vec<(Ticket, Instant)>, at: usize) -> Option<Ticket> {
    (!open.is_empty()).then(|| open.swap_remove(at % open.len()).0)
}

fn settings() -> impl Strategy<Value = BreakerSettings> {
    (any::<bool>(), any::<bool>()).prop_map(|(rate, trials)| BreakerSettings {
        failure_rate: rate.then(FailureRate::default),
        exclusion_trial: trials.then_some(EXCLUSION_TRIALS),
        // Nobody comes back from an exclusion without trials: not what is tested here.
        bare_403: if trials { 3 } else { u32::MAX },
        ..BreakerSettings::default()
    })
}

fn play(case: &mut Case, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut open: Vec<(Ticket, Instant)> = Vec::new();
    for step in steps {
        match step {
            Step::Pass(ms) => case.pass(Duration::from_millis(ms)),
            Step::Send(lane) => {
                let before = case.stand_in(lane);
                let ticket = case.send_in(lane);
                prop_assert_eq!(ticket.is_trial(), before == Stand::HalfOpen);
                if ticket.is_trial() {
                    prop_assert_eq!(case.stand_in(lane), Stand::Trial);
                    prop_assert!(!case.send_in(lane).is_trial());
                }
                open.push((ticket, case.now));
            }
            Step::Probe => {
                let ticket = case.circuit.begin_probe();
                prop_assert!(!ticket.is_trial());
                open.push((ticket, case.now));
            }
            Step::Good(at) => {
                if let Some(ticket) = pick(&mut open, at) {
                    case.good(ticket);
                }
            }
            Step::Bad(at, fault) => {
                if let Some(ticket) = pick(&mut open, at) {
                    case.bad(ticket, fault);
                }
            }
            Step::Cancel(at) => {
                if let Some(ticket) = pick(&mut open, at) {
                    case.circuit.abandon(&ticket);
                }
            }
            Step::Lose(at) => drop(pick(&mut open, at)),
            Step::Drift => drop(case.circuit.drift(case.now)),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    // whatever happened, half-open admits exactly one.
    #[test]
    fn admits_exactly_one_trial_while_half_open(
        settings in settings(),
        steps in prop::collection::vec(step(), 0..120),
    ) {
        play(&mut Case::with(settings), steps)?;
    }

    // from any history an endpoint that answers closes, at the latest when its
    // longest ejection and the lease of a lost trial are over.
    #[test]
    fn closes_a_healthy_endpoint_in_a_bounded_time(
        settings in settings(),
        steps in prop::collection::vec(step(), 0..120),
        lane in lane(),
    ) {
        let mut case = Case::with(settings);
        play(&mut case, steps)?;
        let longest = secs(6 * 3_600);
        case.pass(longest + settings.trial_lease);
        let ticket = case.send_in(lane);
        case.good(ticket);
        let stand = case.stand_in(lane);
        prop_assert!(matches!(stand, Stand::Closed { .. }), "{:?}", stand);
        case.pass(settings.ramp);
        prop_assert_eq!(case.stand_in(lane), Stand::Closed { share: 1.0 });
    }

    // strikes alone never keep a circuit open for longer than the top of the ladder.
    #[test]
    fn keeps_ejections_by_strikes_within_the_ladder(
        passes in prop::collection::vec((0_u64..70, any::<bool>()), 1..80),
    ) {
        let mut case = Case::new();
        for (passed, fine) in passes {
            case.pass(secs(passed));
            if fine {
                case.succeeds();
            } else {
                case.fails(CONNECT);
            }
            let left = case.left().unwrap_or_default();
            prop_assert!(left <= secs(60));
        }
    }
}
