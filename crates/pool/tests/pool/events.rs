//! What a pool tells those who listen (P-28).

use crate::{
    bench::{call, result},
    fake::{Fake, Reply, builder, ms, s, still, with_profiles},
};
use highwater::{
    Event, RequestEnd,
    core::{
        ChainId,
        breaker::{Exclusion, Reason},
        bucket::{Account, Budget, Rate},
        classify::Class,
        method::Lane,
        router::Profile,
    },
};
use std::{
    sync::{
        Arc, Condvar, Mutex,
        mpsc::{self, Receiver},
    },
    time::Duration,
};
use tokio::time::Instant;

/// A listener, and what it heard.
fn ear() -> (impl Fn(&Event) + Send + Sync + 'static, Receiver<Event>) {
    let (told, heard) = mpsc::channel();
    let told = Mutex::new(told);
    let listener = move |event: &Event| {
        // Whoever heard enough has gone.
        let _ = told.lock().unwrap().send(event.clone());
    };
    (listener, heard)
}

// P-28, R-2, L-7
#[tokio::test(start_paused = true)]
async fn tells_of_attempts_moves_and_ejections_by_label_and_method_name() {
    let (failing, good) = (Fake::new(), Fake::new());
    failing.on("eth_call", Reply::reset().after(ms(30)));
    good.on("eth_call", Reply::result("1").after(ms(20)));
    let profile = |tier| Profile {
        tier,
        ..Profile::default()
    };
    let (listener, heard) = ear();
    let pool = with_profiles(&[&failing, &good], vec![profile(0), profile(1)], still())
        .on_event(listener)
        .build()
        .unwrap();
    let start = Instant::now();
    for _ in 0..3 {
        result(&pool, "eth_call").await;
    }
    failing.on("eth_call", Reply::result("2"));
    tokio::time::advance(s(6)).await;
    assert_eq!(result(&pool, "eth_call").await, "2");
    pool.close();
    let heard: Vec<_> = heard.iter().collect();
    let Event::Request {
        endpoint,
        method,
        attempt,
        end,
        took,
    } = &heard[0]
    else {
        panic!("{:?}", heard[0])
    };
    assert_eq!((endpoint.chain, endpoint.number), (Some(ChainId(1)), 0));
    assert_eq!((&*endpoint.label, &*endpoint.host), ("a", ""));
    assert_eq!((*method, *attempt), ("eth_call", 0));
    assert_eq!((*end, *took), (RequestEnd::Failed(Class::Internal), ms(30)));
    let words: Vec<_> = heard.iter().map(word).collect();
    let failed_over = ["request a", "switch a b", "request b"];
    let mut expected = failed_over.repeat(3);
    expected.insert(6, "eject a");
    expected.extend(["restore a", "request a"]);
    assert_eq!(words, expected);
    let Event::Eject {
        lane, why, until, ..
    } = &heard[6]
    else {
        panic!("{:?}", heard[6])
    };
    assert_eq!((*lane, *why), (Some(Lane::State), Reason::Failures));
    let until = until.saturating_duration_since(start.into_std());
    assert!(until > s(5) && until < s(6), "{until:?}");
}

fn word(event: &Event) -> String {
    match event {
        Event::Request { endpoint, .. } => format!("request {}", endpoint.label),
        Event::Switch { from, to, .. } => format!("switch {} {}", from.label, to.label),
        Event::Eject { endpoint, .. } => format!("eject {}", endpoint.label),
        Event::Restore { endpoint, .. } => format!("restore {}", endpoint.label),
        Event::Head {
            endpoint,
            height,
            trusted,
        } => {
            format!("head {} {height} {trusted}", endpoint.label)
        }
        Event::Lost { count } => format!("lost {count}"),
        other => format!("{other:?}"),
    }
}

// P-28
#[tokio::test(start_paused = true)]
async fn tells_of_quarantine_exclusion_methods_and_budgets() {
    let (wrong, refusing, poor) = (Fake::new(), Fake::new(), Fake::new());
    wrong.on("eth_chainId", Reply::result("\"0x5\""));
    refusing.on("eth_call", Reply::error(-32000, "invalid api key"));
    poor.on("eth_call", Reply::result("1"));
    let rate = Rate {
        rps: 0.01,
        burst: 3.0,
    };
    let budget = Budget {
        rate: Some(rate),
        ..Budget::default()
    };
    let poor_profile = Profile {
        tier: 2,
        account: Arc::new(Account::new("", &budget)),
        ..Profile::default()
    };
    let profile = |tier| Profile {
        tier,
        ..Profile::default()
    };
    let (listener, heard) = ear();
    let profiles = vec![profile(0), profile(1), poor_profile];
    let pool = with_profiles(&[&wrong, &refusing, &poor], profiles, still())
        .on_event(listener)
        .build()
        .unwrap();
    result(&pool, "eth_call").await;
    // The last token.
    call(&pool, "eth_nobodyKnowsThis", "[]").await.unwrap();
    call(&pool, "eth_call", "[]").await.unwrap_err();
    pool.close();
    let heard: Vec<_> = heard.iter().collect();
    let has = |wanted: &dyn Fn(&Event) -> bool| heard.iter().any(wanted);
    assert!(has(
        &|event| matches!(event, Event::Quarantine { endpoint, found: ChainId(5) } if &*endpoint.label == "a")
    ));
    assert!(has(
        &|event| matches!(event, Event::Exclude { endpoint, why: Exclusion::Refused } if &*endpoint.label == "b")
    ));
    assert!(has(
        &|event| matches!(event, Event::MethodOff { endpoint, method: "*" } if &*endpoint.label == "c")
    ));
    assert!(
        has(&|event| matches!(event, Event::Budget { wait: Some(wait) } if *wait > s(90))),
        "{heard:?}"
    );
}

// P-28, R-16
#[tokio::test(start_paused = true)]
async fn tells_of_heads_that_move_and_of_those_it_does_not_believe() {
    let (one, two, liar) = (Fake::at(100), Fake::at(101), Fake::at(5000));
    let (listener, heard) = ear();
    let pool = builder(&[&one, &two, &liar], still())
        .on_event(listener)
        .build()
        .unwrap();
    pool.probe().await;
    pool.probe().await;
    one.head(102);
    pool.probe().await;
    pool.close();
    let words: Vec<_> = heard.iter().map(|event| word(&event)).collect();
    assert!(words.contains(&"head c 5000 false".to_owned()), "{words:?}");
    assert!(words.contains(&"head a 102 true".to_owned()), "{words:?}");
    assert!(!words.contains(&"head c 5000 true".to_owned()), "{words:?}");
}

/// A door that a listener waits at.
#[derive(Default)]
struct Door(Mutex<bool>, Condvar);

impl Door {
    fn open(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }

    fn pass(&self) {
        let open = self.0.lock().unwrap();
        drop(self.1.wait_while(open, |open| !*open).unwrap());
    }
}

// P-28
#[tokio::test(start_paused = true)]
async fn a_slow_listener_touches_no_call_and_is_told_what_it_lost() {
    let fake = Fake::new();
    fake.on("eth_call", Reply::result("1").after(Duration::ZERO));
    let door = Arc::new(Door::default());
    let (listener, heard) = ear();
    let at = Arc::clone(&door);
    let pool = builder(&[&fake], still())
        .on_event(move |event| {
            at.pass();
            listener(event);
        })
        .build()
        .unwrap();
    let start = Instant::now();
    for _ in 0..9000 {
        result(&pool, "eth_call").await;
    }
    assert!(start.elapsed() < s(1), "a call waited for the listener");
    door.open();
    pool.close();
    let (mut told, mut lost) = (0, 0);
    for event in heard {
        match event {
            Event::Lost { count } => lost += count,
            _ => told += 1,
        }
    }
    assert!(lost > 0 && told >= 4096, "{told} told, {lost} lost");
    assert_eq!(told + lost, 9000);
}

// P-28
#[tokio::test(start_paused = true)]
async fn a_listener_that_panics_gets_the_next_event_all_the_same_and_so_do_the_others() {
    let fake = Fake::new();
    fake.on("eth_call", Reply::result("1"));
    let (first, heard_first) = ear();
    let (second, heard_second) = ear();
    let pool = builder(&[&fake], still())
        .on_event(move |event| {
            first(event);
            std::panic::resume_unwind(Box::new("the listener's own affair"));
        })
        .on_event(second)
        .build()
        .unwrap();
    for _ in 0..3 {
        result(&pool, "eth_call").await;
    }
    pool.close();
    assert_eq!(
        (heard_first.iter().count(), heard_second.iter().count()),
        (3, 3)
    );
}

// L-1
#[tokio::test(start_paused = true)]
async fn the_thread_ends_with_the_pool() {
    let fake = Fake::new();
    fake.on("eth_call", Reply::result("1"));
    let (listener, heard) = ear();
    let pool = builder(&[&fake], still())
        .on_event(listener)
        .build()
        .unwrap();
    let clone = pool.clone();
    result(&pool, "eth_call").await;
    drop(pool);
    result(&clone, "eth_call").await;
    drop(clone);
    // Ends only once the listener is gone.
    assert_eq!(heard.iter().count(), 2);
}
