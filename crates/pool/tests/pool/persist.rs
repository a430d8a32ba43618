//! What was learned is kept across a restart (P-25, P-27).

use crate::{
    bench::{call, result},
    fake::{Fake, Reply, builder, ms, s, still},
};
use futures_util::{FutureExt, future::BoxFuture};
use highwater::{
    Builder, Event, FileStore, PersistEnd, Pool, Restored, Scores, ScoresError, Store, StoreError,
};
use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};

type Loaded = Result<Option<String>, StoreError>;

/// A store in memory that does what it is told.
#[derive(Clone, Default)]
struct Shelf(Arc<Way>);

#[derive(Default)]
struct Way {
    kept: Mutex<Loaded2>,
    loads: Mutex<usize>,
    saved: Mutex<Vec<(Instant, String)>>,
    load_takes: Mutex<Duration>,
    save_takes: Mutex<Duration>,
    save_fails: Mutex<Option<StoreError>>,
    panics: Mutex<bool>,
    gate: Notify,
    gated: Mutex<bool>,
}

/// What a load gives; nothing stored unless said.
struct Loaded2(Loaded);

impl Default for Loaded2 {
    fn default() -> Self {
        Self(Ok(None))
    }
}

impl Shelf {
    fn with(text: impl Into<String>) -> Self {
        let shelf = Self::default();
        shelf.holds(Ok(Some(text.into())));
        shelf
    }

    fn holds(&self, loaded: Loaded) {
        self.0.kept.lock().unwrap().0 = loaded;
    }

    /// The texts that were saved, and when.
    fn saved(&self) -> Vec<(Instant, String)> {
        self.0.saved.lock().unwrap().clone()
    }

    fn times(&self, start: Instant) -> Vec<Duration> {
        self.saved().iter().map(|(at, _)| *at - start).collect()
    }
}

impl Store for Shelf {
    fn load(&self) -> BoxFuture<'static, Loaded> {
        let way = Arc::clone(&self.0);
        *way.loads.lock().unwrap() += 1;
        let takes = *way.load_takes.lock().unwrap();
        Box::pin(async move {
            assert!(!*way.panics.lock().unwrap(), "a store that panics");
            if *way.gated.lock().unwrap() {
                way.gate.notified().await;
            }
            if !takes.is_zero() {
                tokio::time::sleep(takes).await;
            }
            way.kept.lock().unwrap().0.clone()
        })
    }

    fn save(&self, scores: String) -> BoxFuture<'static, Result<(), StoreError>> {
        let way = Arc::clone(&self.0);
        let takes = *way.save_takes.lock().unwrap();
        Box::pin(async move {
            assert!(!*way.panics.lock().unwrap(), "a store that panics");
            if !takes.is_zero() {
                tokio::time::sleep(takes).await;
            }
            if let Some(error) = way.save_fails.lock().unwrap().clone() {
                return Err(error);
            }
            way.saved.lock().unwrap().push((Instant::now(), scores));
            Ok(())
        })
    }
}

/// Two endpoints of which `a` is slow, and the scores of a pool that has found that out.
async fn slow_and_fast() -> (Fake, Fake, Scores) {
    let (slow, fast) = (Fake::new(), Fake::new());
    slow.on("eth_call", Reply::result("1").after(ms(900)));
    fast.on("eth_call", Reply::result("1").after(ms(20)));
    let pool = builder(&[&slow, &fast], still()).build().unwrap();
    for _ in 0..6 {
        result(&pool, "eth_call").await;
    }
    let scores = pool.scores();
    pool.close();
    (slow, fast, scores)
}

fn warm(slow: &Fake, fast: &Fake, store: &Shelf) -> Builder {
    let mut settings = still();
    settings.verify_chain_id = false;
    builder(&[slow, fast], settings).persist(store.clone())
}

/// What was told of scores, once the pool is closed.
fn told(heard: &mpsc::Receiver<Event>) -> Vec<PersistEnd> {
    let ends = heard.iter().filter_map(|event| match event {
        Event::Persist { end } => Some(end),
        _ => None,
    });
    ends.collect()
}

fn ear() -> (
    impl Fn(&Event) + Send + Sync + 'static,
    mpsc::Receiver<Event>,
) {
    let (said, heard) = mpsc::channel();
    let said = Mutex::new(said);
    let listener = move |event: &Event| drop(said.lock().unwrap().send(event.clone()));
    (listener, heard)
}

// P-25
#[tokio::test(start_paused = true)]
async fn scores_seed_a_new_pool_as_a_value_or_as_json() {
    let (slow, fast, scores) = slow_and_fast().await;
    let text = scores.to_json();
    assert!(text.starts_with(r#"{"version":1,"savedAt":"#), "{text}");
    let fresh = || builder(&[&slow, &fast], still()).build().unwrap();
    let all = Restored {
        books: 4,
        dropped: 0,
    };
    let pool = fresh();
    assert_eq!(pool.restore_scores(&scores), Ok(all));
    let known = pool.snapshot().endpoints;
    assert!(known[0].latency_ms > Some(800.0) && known[1].latency_ms < Some(30.0));
    assert_eq!(fresh().restore_scores(&*text), Ok(all));
    assert_eq!(fresh().restore_scores(scores), Ok(all));
    assert_eq!(fresh().restore_scores("{"), Err(ScoresError::Malformed));
    let other = text.replace(r#""version":1"#, r#""version":9"#);
    assert_eq!(fresh().restore_scores(&*other), Err(ScoresError::Version));
}

// P-27: one that is ready at once seeds the first pick
#[tokio::test(start_paused = true)]
async fn what_is_ready_at_once_seeds_the_first_choice() {
    let (slow, fast, scores) = slow_and_fast().await;
    for seed in 0..20 {
        let before = slow.sent();
        let store = Shelf::with(scores.to_json());
        let pool = warm(&slow, &fast, &store).seed(seed).build().unwrap();
        assert_eq!(
            *store.0.loads.lock().unwrap(),
            0,
            "not before the first call"
        );
        result(&pool, "eth_call").await;
        result(&pool, "eth_call").await;
        assert_eq!(slow.sent(), before, "seed {seed}");
        assert_eq!(*store.0.loads.lock().unwrap(), 1);
    }
}

// P-27: never delaying it
#[tokio::test(start_paused = true)]
async fn a_load_that_takes_its_time_holds_up_no_call_and_counts_when_it_comes() {
    let (slow, fast, scores) = slow_and_fast().await;
    let store = Shelf::with(scores.to_json());
    *store.0.load_takes.lock().unwrap() = s(2);
    // A seed under which the slow one is asked first.
    let pool = warm(&slow, &fast, &store).seed(3).build().unwrap();
    let start = Instant::now();
    fast.on("eth_call", Reply::result("1").after(ms(20)));
    slow.on("eth_call", Reply::result("1").after(ms(30)));
    result(&pool, "eth_call").await;
    assert!(start.elapsed() <= ms(31));
    let first = pool.snapshot().endpoints;
    tokio::time::sleep(s(3)).await;
    let later = pool.snapshot().endpoints;
    for (before, after) in first.iter().zip(&later) {
        // Who was measured meanwhile stays as measured, the other one is known now.
        assert!(after.latency_ms.is_some());
        if before.latency_ms.is_some() {
            assert_eq!(before.latency_ms, after.latency_ms);
        }
    }
}

// P-27: at most every 10 s
#[tokio::test(start_paused = true)]
async fn saves_every_ten_seconds_while_calls_come_and_not_otherwise() {
    let fake = Fake::new();
    fake.on("eth_call", Reply::result("1"));
    let store = Shelf::default();
    let pool = builder(&[&fake], still())
        .persist(store.clone())
        .build()
        .unwrap();
    let start = Instant::now();
    for _ in 0..25 {
        result(&pool, "eth_call").await;
        tokio::time::sleep(s(1)).await;
    }
    tokio::time::sleep(s(100)).await;
    // The third one has what came after the second; then nothing was new.
    let times: Vec<_> = store.times(start).iter().map(Duration::as_secs).collect();
    assert_eq!(times, [10, 20, 30]);
    result(&pool, "eth_call").await;
    tokio::time::sleep(s(100)).await;
    assert_eq!(store.saved().len(), 4);
    pool.close();
    assert_eq!(store.saved().len(), 4, "nothing is new");
    let (_, text) = store.saved().remove(3);
    assert!(Scores::from_json(&text).is_ok());
    assert!(text.contains(r#""eth_call":{"latencyMs":1.0"#), "{text}");
}

// P-27, L-1
#[tokio::test(start_paused = true)]
async fn saves_what_is_new_when_it_is_closed_or_dropped() {
    let fake = Fake::new();
    fake.on("eth_call", Reply::result("1"));
    for is_closed in [true, false] {
        let store = Shelf::default();
        let pool = builder(&[&fake], still())
            .persist(store.clone())
            .build()
            .unwrap();
        result(&pool, "eth_call").await;
        if is_closed {
            pool.close();
            pool.close();
        }
        drop(pool);
        assert_eq!(store.saved().len(), 1);
        tokio::time::sleep(s(60)).await;
        assert_eq!(store.saved().len(), 1);
    }
}

// P-27: a save that is under way does not land after the last one
#[tokio::test(start_paused = true)]
async fn closing_during_a_save_saves_once_more_after_it() {
    let fake = Fake::new();
    fake.on("eth_call", Reply::result("1"));
    let store = Shelf::default();
    *store.0.save_takes.lock().unwrap() = s(5);
    let pool = builder(&[&fake], still())
        .persist(store.clone())
        .build()
        .unwrap();
    let start = Instant::now();
    result(&pool, "eth_call").await;
    tokio::time::sleep(s(12)).await;
    fake.on("eth_getLogs", Reply::result("[]"));
    call(&pool, "eth_getLogs", "[{}]").await.unwrap();
    pool.close();
    tokio::time::sleep(s(60)).await;
    let times: Vec<_> = store.times(start).iter().map(Duration::as_secs).collect();
    assert_eq!(times, [15, 20]);
    let saved = store.saved();
    assert!(!saved[0].1.contains("eth_getLogs") && saved[1].1.contains("eth_getLogs"));
}

// P-27: nothing is saved until the load settles or has been pending for one timeout
#[tokio::test(start_paused = true)]
async fn nothing_is_saved_before_the_load_is_over_or_late() {
    let (slow, fast, scores) = slow_and_fast().await;
    // Closed while it is pending: what is stored stays.
    let store = Shelf::with(scores.to_json());
    *store.0.load_takes.lock().unwrap() = s(3);
    let pool = warm(&slow, &fast, &store).timeout(s(25)).build().unwrap();
    result(&pool, "eth_call").await;
    pool.close();
    tokio::time::sleep(s(60)).await;
    assert_eq!(store.saved().len(), 0);

    // Late after 25 s: saved at the next tenth second, and counted when it comes all the same.
    let store = Shelf::with(scores.to_json());
    *store.0.load_takes.lock().unwrap() = s(45);
    let (listener, heard) = ear();
    let pool = warm(&slow, &fast, &store)
        .timeout(s(25))
        .on_event(listener)
        .build()
        .unwrap();
    let start = Instant::now();
    result(&pool, "eth_call").await;
    tokio::time::sleep(s(50)).await;
    let times: Vec<_> = store.times(start).iter().map(Duration::as_secs).collect();
    assert_eq!(times, [30]);
    let known = pool.snapshot().endpoints;
    assert!(known.iter().all(|known| known.latency_ms.is_some()));
    pool.close();
    drop(pool);
    let loaded = PersistEnd::Loaded {
        books: 2,
        dropped: 2,
    };
    let ends = [PersistEnd::LoadLate, PersistEnd::Saved, loaded];
    assert_eq!(told(&heard), ends);
}

// P-27, P-28: failures are events
#[tokio::test(start_paused = true)]
async fn failures_are_told_and_touch_no_call() {
    let fake = Fake::new();
    fake.on("eth_call", Reply::result("1"));
    let io = || StoreError::Io(std::io::ErrorKind::StorageFull);
    type Spoil = fn(&Shelf);
    let cases: [(Spoil, &str); 5] = [
        (
            |shelf| shelf.holds(Err(StoreError::Io(std::io::ErrorKind::PermissionDenied))),
            "permission denied",
        ),
        (
            |shelf| shelf.holds(Ok(Some("NaN".into()))),
            "the stored scores cannot be read",
        ),
        (
            |shelf| shelf.holds(Ok(Some(r#"{"version":2}"#.into()))),
            "the stored scores are of another version",
        ),
        (
            |shelf| shelf.holds(Ok(Some(" ".repeat(1 << 20)))),
            "the stored scores are larger than 256 KiB",
        ),
        (
            |shelf| *shelf.0.panics.lock().unwrap() = true,
            "the store panicked",
        ),
    ];
    for (spoil, why) in cases {
        let store = Shelf::default();
        spoil(&store);
        let (listener, heard) = ear();
        let pool = builder(&[&fake], still())
            .persist(store.clone())
            .on_event(listener)
            .build()
            .unwrap();
        assert_eq!(result(&pool, "eth_call").await, "1");
        *store.0.panics.lock().unwrap() = false;
        *store.0.save_fails.lock().unwrap() = Some(io());
        tokio::time::sleep(s(15)).await;
        *store.0.save_fails.lock().unwrap() = None;
        tokio::time::sleep(s(10)).await;
        pool.close();
        drop(pool);
        let ends = [
            PersistEnd::LoadFailed(why.into()),
            PersistEnd::SaveFailed("no storage space".into()),
            PersistEnd::Saved,
        ];
        assert_eq!(told(&heard), ends);
    }
}

// P-27: a save is given one timeout
#[tokio::test(start_paused = true)]
async fn a_save_that_hangs_is_given_up_and_tried_again() {
    let fake = Fake::new();
    fake.on("eth_call", Reply::result("1"));
    let store = Shelf::default();
    *store.0.save_takes.lock().unwrap() = s(1_000);
    let (listener, heard) = ear();
    let pool = builder(&[&fake], still())
        .timeout(s(4))
        .persist(store.clone())
        .on_event(listener)
        .build()
        .unwrap();
    let start = Instant::now();
    result(&pool, "eth_call").await;
    tokio::time::sleep(s(15)).await;
    *store.0.save_takes.lock().unwrap() = Duration::ZERO;
    tokio::time::sleep(s(60)).await;
    pool.close();
    drop(pool);
    let late = PersistEnd::SaveFailed("it takes longer than the timeout".into());
    let loaded = PersistEnd::Loaded {
        books: 0,
        dropped: 0,
    };
    assert_eq!(told(&heard), [loaded, late, PersistEnd::Saved]);
    let times: Vec<_> = store.times(start).iter().map(Duration::as_secs).collect();
    assert_eq!(times, [24]);
}

// P-27: an owner with time before its first call
#[tokio::test(start_paused = true)]
async fn an_owner_can_wait_for_the_load_and_at_most_for_one_timeout() {
    let (slow, fast, scores) = slow_and_fast().await;
    let store = Shelf::with(scores.to_json());
    *store.0.load_takes.lock().unwrap() = s(2);
    let pool = warm(&slow, &fast, &store).timeout(s(5)).build().unwrap();
    let start = Instant::now();
    pool.load_scores().await;
    pool.load_scores().await;
    assert_eq!((start.elapsed(), *store.0.loads.lock().unwrap()), (s(2), 1));
    assert!(pool.snapshot().endpoints[0].latency_ms.is_some());

    let stuck = Shelf::default();
    *stuck.0.gated.lock().unwrap() = true;
    let pool = warm(&slow, &fast, &stuck).timeout(s(5)).build().unwrap();
    let start = Instant::now();
    pool.load_scores().await;
    assert_eq!(start.elapsed(), s(5));
    pool.close();
    assert_eq!(pool.load_scores().now_or_never(), Some(()));
    // Without a store there is nothing to wait for.
    let pool = builder(&[&fast], still()).build().unwrap();
    assert_eq!(pool.load_scores().now_or_never(), Some(()));
}

// P-27: no strong reference, and a runtime that ends takes nothing with it but the task
#[test]
fn the_next_runtime_goes_on_where_one_ended() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().start_paused(true).build().unwrap()
    };
    let fake = Fake::new();
    fake.on("eth_call", Reply::result("1"));
    let store = Shelf::default();
    *store.0.gated.lock().unwrap() = true;
    let pool = builder(&[&fake], still())
        .persist(store.clone())
        .build()
        .unwrap();
    runtime().block_on(async { result(&pool, "eth_call").await });
    // The load went with its runtime; it is not begun again, and saving goes on.
    runtime().block_on(async {
        result(&pool, "eth_call").await;
        tokio::time::sleep(s(11)).await;
    });
    assert_eq!(
        (*store.0.loads.lock().unwrap(), store.saved().len()),
        (1, 1)
    );
    runtime().block_on(async { result(&pool, "eth_call").await });
    drop(pool);
    assert_eq!(store.saved().len(), 2, "outside any runtime");
}

/// Where the process below saves.
const PLACE: &str = "HIGHWATER_TEST_SCORES";

/// No test: the process that the next one kills.
#[test]
#[ignore = "run by the next test as a process of its own"]
fn saves_until_it_is_killed() {
    let Some(path) = std::env::var_os(PLACE) else {
        return;
    };
    let store = FileStore::new(path);
    for number in 0_u64.. {
        let text = format!("{number} {}", "x".repeat(200_000));
        store.save_last(text).now_or_never().unwrap().unwrap();
        println!("saved");
    }
}

// P-27: kill -9 in the middle of a save
#[test]
fn a_process_killed_at_any_moment_leaves_a_whole_file() {
    let folder = std::env::temp_dir().join(format!("highwater-killed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("scores.json");
    let mut last = None;
    for saves in [1, 2, 3, 5, 8, 13] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["persist::saves_until_it_is_killed", "--exact"])
            .args(["--ignored", "--nocapture"])
            .env(PLACE, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let saved = lines
            .map_while(Result::ok)
            .filter(|line| line.ends_with("saved"));
        assert_eq!(saved.take(saves).count(), saves);
        child.kill().unwrap();
        child.wait().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let (number, filling) = text.split_once(' ').unwrap();
        assert!(filling.len() == 200_000 && filling.bytes().all(|byte| byte == b'x'));
        last = Some(number.parse::<usize>().unwrap());
        assert!(last >= Some(saves - 1));
    }
    assert!(last.is_some());
    std::fs::remove_dir_all(&folder).unwrap();
}

// P-27
#[tokio::test]
async fn a_file_warms_the_next_pool() {
    let folder = std::env::temp_dir().join(format!("highwater-warm-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("scores.json");
    let fake = Fake::new();
    fake.on("eth_call", Reply::result("1"));
    let make = || -> Pool {
        let builder = builder(&[&fake], still());
        builder.persist(FileStore::new(&path)).build().unwrap()
    };
    let first = make();
    first.load_scores().await;
    result(&first, "eth_call").await;
    first.close();
    let second = make();
    second.load_scores().await;
    let (first, second) = (first.snapshot(), second.snapshot());
    let known = |snapshot: &highwater::Snapshot| snapshot.endpoints[0].latency_ms;
    let near = (known(&first).unwrap() - known(&second).unwrap()).abs();
    assert!(near < 0.001, "{near}");
    std::fs::remove_dir_all(&folder).unwrap();
}
