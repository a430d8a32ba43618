//! Heads and whom to believe: scenarios P09 to P13.

use crate::{
    bench::{call, result},
    fake::{Fake, Reply, builder, ms, pool, s, still, with_profiles},
};
use highwater::{
    Event, Pool, Snapshot,
    core::{
        breaker::Stand, heads::HeadSettings, probe::ProbeSettings, router::Profile,
        select::Strategy, settings::Settings,
    },
};
use std::sync::{Mutex, mpsc};
use tokio::time::sleep;

fn at(head: u64) -> Fake {
    let fake = Fake::at(head);
    fake.on("eth_call", Reply::result("\"0x01\""));
    fake
}

async fn call_often(pool: &Pool) {
    for _ in 0..20 {
        result(pool, "eth_call").await;
    }
}

fn sent(fakes: &[&Fake]) -> Vec<usize> {
    fakes.iter().map(|fake| fake.sent()).collect()
}

fn nobody_is_penalised(snapshot: &Snapshot) {
    for endpoint in &snapshot.endpoints {
        assert_eq!(
            (endpoint.excess_lag, endpoint.error),
            (None, 0.0),
            "{}",
            endpoint.label
        );
        let stand = endpoint.circuit.endpoint.stand;
        assert!(matches!(stand, Stand::Closed { .. }), "{stand:?}");
    }
}

// P09, R-16
#[tokio::test(start_paused = true)]
async fn a_liar_ahead_lags_by_as_much_as_it_leads_and_is_asked_last() {
    let (a, b, liar) = (at(100), at(101), at(5000));
    let pool = pool(&[&a, &b, &liar], still());
    let snapshot = pool.probe().await;
    assert_eq!(snapshot.reference_head, Some(100));
    let lead = 4900 - snapshot.max_lag.unwrap();
    assert_eq!(snapshot.endpoints[2].excess_lag, Some(lead));
    call_often(&pool).await;
    assert_eq!(liar.sent(), 0);
    assert!(a.sent() > 0 && b.sent() > 0);
    for fake in [&a, &b] {
        fake.on("eth_call", Reply::refused());
    }
    let answer = call(&pool, "eth_call", "[]").await.unwrap();
    assert_eq!((answer.endpoint(), answer.attempts()), ("c", 3));
}

// P10, R-16
#[tokio::test(start_paused = true)]
async fn of_two_that_disagree_neither_is_believed_and_neither_is_punished() {
    let (a, b) = (at(100), at(5000));
    let (told, heard) = mpsc::channel();
    let told = Mutex::new(told);
    let settings = Settings {
        strategy: Strategy::RoundRobin,
        ..still()
    };
    let pool = builder(&[&a, &b], settings)
        .on_event(move |event| told.lock().unwrap().send(event.clone()).unwrap())
        .build()
        .unwrap();
    let snapshot = pool.probe().await;
    assert_eq!(snapshot.reference_head, None);
    nobody_is_penalised(&snapshot);
    call_often(&pool).await;
    assert_eq!(sent(&[&a, &b]), [10, 10]);
    pool.close();
    let untrusted = heard.iter().filter(|event| {
        matches!(
            event,
            Event::Head {
                trusted: false,
                height: 5000,
                ..
            }
        )
    });
    assert_eq!(untrusted.count(), 1);
}

// P11, R-16
#[tokio::test(start_paused = true)]
async fn endpoints_of_one_backend_have_one_voice() {
    let (a, b, c) = (at(90), at(90), at(140));
    let settings = Settings {
        heads: Some(HeadSettings {
            max_ahead: 20,
            ..HeadSettings::default()
        }),
        strategy: Strategy::RoundRobin,
        ..still()
    };
    let of = |group| Profile {
        group: Some(group),
        ..Profile::default()
    };
    let profiles = vec![of(0), of(0), of(1)];
    let fakes = [&a, &b, &c];
    let pool = with_profiles(&fakes, profiles, settings.clone())
        .build()
        .unwrap();
    let snapshot = pool.probe().await;
    assert_eq!(snapshot.reference_head, None);
    nobody_is_penalised(&snapshot);
    call_often(&pool).await;
    assert!(
        sent(&fakes).iter().all(|sent| *sent >= 6),
        "{:?}",
        sent(&fakes)
    );
    // With a voice each, the two outvote the third.
    let pool = crate::fake::pool(&fakes, settings);
    assert_eq!(pool.probe().await.reference_head, Some(90));
}

/// Probes every 4 s, and calls that go to the best.
fn probing() -> Settings {
    Settings {
        probe: Some(ProbeSettings::default()),
        ..still()
    }
}

// P12, R-7
#[tokio::test(start_paused = true)]
async fn a_stuck_node_that_says_it_is_fine_gets_no_calls_and_has_no_error() {
    let (stuck, moving) = (at(100), at(100));
    for fake in [&stuck, &moving] {
        // Slower than an endpoint of which nothing is known, so that both are measured.
        fake.on("eth_call", Reply::result("\"0x01\"").after(ms(300)));
    }
    let pool = pool(&[&stuck, &moving], probing());
    call_often(&pool).await;
    for second in 1..=30 {
        moving.head(100 + second);
        sleep(s(1)).await;
    }
    let before = sent(&[&stuck, &moving]);
    call_often(&pool).await;
    assert_eq!(sent(&[&stuck, &moving]), [before[0], before[1] + 20]);
    let snapshot = pool.snapshot();
    assert_eq!(snapshot.reference_head, Some(130));
    let stuck = &snapshot.endpoints[0];
    assert!(stuck.excess_lag.is_some());
    assert_eq!((stuck.error, stuck.counters.failed.len()), (0.0, 0));
    assert!(matches!(stuck.circuit.endpoint.stand, Stand::Closed { .. }));
}

// P13, R-18
#[tokio::test(start_paused = true)]
async fn an_idle_chain_is_not_stuck() {
    let (a, b) = (at(50), at(50));
    let pool = pool(&[&a, &b], probing());
    for _ in 0..30 {
        result(&pool, "eth_call").await;
        sleep(s(4)).await;
    }
    let snapshot = pool.snapshot();
    assert_eq!(snapshot.reference_head, Some(50));
    nobody_is_penalised(&snapshot);
}

//
#[tokio::test(start_paused = true)]
async fn one_that_drifts_off_is_ejected_without_an_error_of_anybody() {
    let (a, b, drifting) = (at(1000), at(1000), at(1000));
    let pool = pool(&[&a, &b, &drifting], probing());
    for second in 0..150 {
        result(&pool, "eth_call").await;
        for fake in [&a, &b] {
            fake.head(1000 + second);
        }
        sleep(s(1)).await;
    }
    let snapshot = pool.snapshot();
    let stand = snapshot.endpoints[2].circuit.endpoint.stand;
    assert!(
        !matches!(stand, Stand::Closed { share } if share >= 1.0),
        "{stand:?}"
    );
    assert_eq!(snapshot.endpoints[2].counters.failed.len(), 0);
    assert!(snapshot.reference_head.is_some_and(|head| head > 1100));
}
