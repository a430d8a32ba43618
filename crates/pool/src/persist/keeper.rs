//! When scores are loaded and saved (P-27).
//!
//! The first call begins the load and polls it once: what is ready at once is there before that call
//! chooses. Then a task on the runtime of that call waits for the load, and saves every ten seconds
//! while calls teach something. It ends when nothing is new, and the next call starts another. It
//! holds the pool weakly. Closing saves once more, from where the pool is closed.

use super::{Store, StoreError};
use crate::inner::Inner;
use futures_util::{FutureExt, future::BoxFuture};
use highwater_core::{
    event::{Event, PersistEnd},
    scores::Scores,
};
use parking_lot::Mutex;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Weak,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};
use tokio::{
    runtime::Handle,
    sync::Notify,
    time::{Instant, sleep_until, timeout},
};

/// Least time between two saves.
const EVERY: Duration = Duration::from_secs(10);

/// Nobody loads or saves: the next call starts somebody.
const STANDING: u8 = 0;
const DRIVEN: u8 = 1;
const CLOSED: u8 = 2;

type Loading = BoxFuture<'static, Result<Option<String>, StoreError>>;
type Saving = BoxFuture<'static, Result<(), StoreError>>;

/// Who keeps the scores of a pool.
pub(crate) struct Keeper {
    store: Arc<dyn Store>,
    /// Longest time for a save, and for a load before it is late.
    timeout: Duration,
    drive: AtomicU8,
    seat: Mutex<Seat>,
    closed: Notify,
    /// The load is over, or late.
    loaded: Notify,
}

#[derive(Default)]
struct Seat {
    load: Load,
    /// A save is under way in the task.
    saving: bool,
    /// What that task saves after it, for the pool has closed since.
    last: Option<String>,
    /// What the router had counted at the last save.
    samples: u64,
    /// A save failed, and none worked since.
    failing: bool,
    runtime: Option<Handle>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Load {
    #[default]
    NotBegun,
    Pending,
    /// It is pending for longer than one timeout.
    Late,
    Over,
}

impl Load {
    /// Before, a save could overwrite what is about to be read.
    const fn lets_save(self) -> bool {
        match self {
            Self::NotBegun | Self::Pending => false,
            Self::Late | Self::Over => true,
        }
    }
}

impl Keeper {
    pub(crate) fn new(store: Arc<dyn Store>, timeout: Duration) -> Arc<Self> {
        Arc::new(Self {
            store,
            timeout,
            drive: AtomicU8::new(STANDING),
            seat: Mutex::default(),
            closed: Notify::new(),
            loaded: Notify::new(),
        })
    }

    fn load(&self) -> Loading {
        match catch_unwind(AssertUnwindSafe(|| self.store.load())) {
            Ok(load) => caught(load),
            Err(_) => Box::pin(std::future::ready(Err(PANICKED))),
        }
    }

    fn save(&self, scores: String) -> Saving {
        match catch_unwind(AssertUnwindSafe(|| self.store.save(scores))) {
            Ok(save) => caught(save),
            Err(_) => Box::pin(std::future::ready(Err(PANICKED))),
        }
    }

    fn save_last(&self, scores: String) -> Saving {
        match catch_unwind(AssertUnwindSafe(|| self.store.save_last(scores))) {
            Ok(save) => caught(save),
            Err(_) => Box::pin(std::future::ready(Err(PANICKED))),
        }
    }

    /// Waits until the load is over or late.
    async fn loaded(&self) {
        loop {
            let told = self.loaded.notified();
            tokio::pin!(told);
            told.as_mut().enable();
            if self.seat.lock().load.lets_save() || self.drive.load(Ordering::Acquire) == CLOSED {
                return;
            }
            told.await;
        }
    }

    /// The pool closes: what is new is saved once more, now as far as the store can.
    pub(crate) fn close(&self, inner: &Inner) {
        if self.drive.swap(CLOSED, Ordering::AcqRel) == CLOSED {
            return;
        }
        self.closed.notify_one();
        self.loaded.notify_waiters();
        let mut seat = self.seat.lock();
        let is_new = seat.samples != inner.lock().router.samples();
        if !seat.load.lets_save() || !is_new {
            return;
        }
        let scores = inner.scores().to_json();
        if seat.saving {
            // After the one that is under way, or that could come last.
            seat.last = Some(scores);
            return;
        }
        let runtime = Handle::try_current().ok().or_else(|| seat.runtime.take());
        drop(seat);
        let mut saving = self.save_last(scores);
        match (poll_once(&mut saving), runtime) {
            (Poll::Ready(ended), _) => inner.tell_saved(ended.err(), true),
            (Poll::Pending, Some(runtime)) => {
                let most = self.timeout;
                runtime.spawn(async move {
                    if let Some(error) = within(most, saving).await.err() {
                        tracing::warn!(%error, "scores were not saved at the end");
                    }
                });
            }
            (Poll::Pending, None) => {
                inner.tell_saved(Some(StoreError::Other("there is no runtime")), true);
            }
        }
    }
}

impl Inner {
    /// A call came in: the first one begins the load, and whoever finds nobody saving starts that.
    pub(crate) fn wake_keeper(self: &Arc<Self>) {
        if let Some(keeper) = &self.keeper
            && keeper.drive.load(Ordering::Relaxed) == STANDING
        {
            self.start_keeper(keeper);
        }
    }

    /// Begins the load if no call did, and waits until it is over or late.
    pub(crate) async fn load_scores(self: &Arc<Self>) {
        if let Some(keeper) = &self.keeper {
            self.wake_keeper();
            keeper.loaded().await;
        }
    }

    #[cold]
    fn start_keeper(self: &Arc<Self>, keeper: &Arc<Keeper>) {
        let drive = &keeper.drive;
        let taken = drive.compare_exchange(STANDING, DRIVEN, Ordering::AcqRel, Ordering::Relaxed);
        if taken.is_err() {
            return;
        }
        let is_first = {
            let mut seat = keeper.seat.lock();
            seat.runtime = Some(Handle::current());
            let is_first = seat.load == Load::NotBegun;
            if is_first {
                seat.load = Load::Pending;
            }
            is_first
        };
        let mut driver = Driver {
            pool: Arc::downgrade(self),
            keeper: Arc::clone(keeper),
            load: is_first.then(|| keeper.load()),
        };
        if let Some(load) = &mut driver.load
            && let Poll::Ready(ended) = poll_once(load)
        {
            driver.on_loaded(ended);
        }
        tokio::spawn(driver.run());
    }

    fn tell_persist(&self, end: PersistEnd) {
        let mut state = self.lock();
        state.router.events().push(|| Event::Persist { end });
        self.tell(state);
    }

    /// `loudly`: the first failure since one that worked.
    fn tell_saved(&self, error: Option<StoreError>, loudly: bool) {
        match error {
            None => self.tell_persist(PersistEnd::Saved),
            Some(error) => {
                if loudly {
                    tracing::warn!(%error, "scores cannot be saved");
                }
                self.tell_persist(PersistEnd::SaveFailed(error.to_string()));
            }
        }
    }
}

/// Whoever loads and saves.
struct Driver {
    pool: Weak<Inner>,
    keeper: Arc<Keeper>,
    /// What is being loaded.
    load: Option<Loading>,
}

/// What a look at the moment of a save came to.
#[derive(PartialEq, Eq)]
enum Saved {
    /// On to the next.
    GoOn,
    /// Nothing is new, or the pool is gone.
    Over,
}

impl Driver {
    async fn run(mut self) {
        let late = Instant::now() + self.keeper.timeout;
        let mut next = Instant::now() + EVERY;
        loop {
            let is_late = self.keeper.seat.lock().load != Load::Pending;
            tokio::select! {
                biased;
                () = self.keeper.closed.notified() => return,
                ended = loading(&mut self.load) => self.on_loaded(ended),
                () = sleep_until(late), if !is_late => self.on_late(),
                () = sleep_until(next) => {
                    if self.save().await == Saved::Over {
                        return;
                    }
                    next = Instant::now() + EVERY;
                }
            }
        }
    }

    fn on_loaded(&mut self, ended: Result<Option<String>, StoreError>) {
        self.load = None;
        if let Some(inner) = self.pool.upgrade() {
            let end = match ended {
                Err(error) => PersistEnd::LoadFailed(error.to_string()),
                Ok(None) => PersistEnd::Loaded {
                    books: 0,
                    dropped: 0,
                },
                Ok(Some(text)) => match Scores::from_json(&text) {
                    Err(error) => PersistEnd::LoadFailed(error.to_string()),
                    Ok(scores) => {
                        let restored = inner.restore_scores(&scores);
                        PersistEnd::Loaded {
                            books: restored.books,
                            dropped: restored.dropped,
                        }
                    }
                },
            };
            match &end {
                PersistEnd::LoadFailed(error) => {
                    tracing::warn!(error, "stored scores cannot be loaded");
                }
                PersistEnd::Loaded { books, dropped } => {
                    tracing::debug!(books, dropped, "stored scores were loaded");
                }
                PersistEnd::LoadLate | PersistEnd::Saved | PersistEnd::SaveFailed(_) => {}
            }
            inner.tell_persist(end);
        }
        self.set_load(Load::Over);
    }

    fn on_late(&self) {
        self.set_load(Load::Late);
        if let Some(inner) = self.pool.upgrade() {
            tracing::warn!("stored scores are late");
            inner.tell_persist(PersistEnd::LoadLate);
        }
    }

    fn set_load(&self, load: Load) {
        self.keeper.seat.lock().load = load;
        self.keeper.loaded.notify_waiters();
    }

    /// The moment for a save has come.
    async fn save(&mut self) -> Saved {
        let keeper = Arc::clone(&self.keeper);
        let Some((samples, scores)) = self.begin_save() else {
            // As long as something is loaded, somebody has to be there for it.
            return match &self.load {
                Some(_) if self.pool.strong_count() > 0 => Saved::GoOn,
                Some(_) | None => Saved::Over,
            };
        };
        let error = within(keeper.timeout, keeper.save(scores)).await.err();
        let (last, loudly) = {
            let mut seat = keeper.seat.lock();
            if error.is_none() {
                seat.samples = samples;
            }
            let loudly = !std::mem::replace(&mut seat.failing, error.is_some());
            let last = seat.last.take();
            seat.saving = last.is_some();
            (last, loudly)
        };
        if let Some(last) = last {
            if let Some(error) = within(keeper.timeout, keeper.save_last(last)).await.err() {
                tracing::warn!(%error, "scores were not saved at the end");
            }
            return Saved::Over;
        }
        match self.pool.upgrade() {
            Some(inner) => inner.tell_saved(error, loudly),
            None => return Saved::Over,
        }
        Saved::GoOn
    }

    /// What is to be saved; `None`: nothing, or not yet.
    fn begin_save(&self) -> Option<(u64, String)> {
        let inner = self.pool.upgrade()?;
        let samples = inner.lock().router.samples();
        let mut seat = self.keeper.seat.lock();
        let is_due = seat.load.lets_save() && samples != seat.samples;
        let is_open = self.keeper.drive.load(Ordering::Acquire) == DRIVEN;
        if !is_due || !is_open {
            return None;
        }
        seat.saving = true;
        drop(seat);
        Some((samples, inner.scores().to_json()))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let keeper = &self.keeper;
        let mut seat = keeper.seat.lock();
        seat.saving = false;
        if self.load.take().is_some() {
            // It went with its runtime.
            seat.load = Load::Over;
        }
        let last = seat.last.take();
        drop(seat);
        let _ =
            keeper
                .drive
                .compare_exchange(DRIVEN, STANDING, Ordering::AcqRel, Ordering::Relaxed);
        keeper.loaded.notify_waiters();
        if let Some(last) = last {
            let _ = poll_once(&mut keeper.save_last(last));
        }
    }
}

const PANICKED: StoreError = StoreError::Other("the store panicked");

/// A panic of the store's is a failure like others.
fn caught<T: 'static>(
    work: BoxFuture<'static, Result<T, StoreError>>,
) -> BoxFuture<'static, Result<T, StoreError>> {
    let work = AssertUnwindSafe(work).catch_unwind();
    Box::pin(work.map(|ended| ended.unwrap_or(Err(PANICKED))))
}

/// The end of a load; never, where there is none.
async fn loading(load: &mut Option<Loading>) -> Result<Option<String>, StoreError> {
    match load {
        Some(load) => load.await,
        None => std::future::pending().await,
    }
}

async fn within(most: Duration, saving: Saving) -> Result<(), StoreError> {
    let late = Err(StoreError::Other("it takes longer than the timeout"));
    timeout(most, saving).await.unwrap_or(late)
}

/// Polls once, waking nobody: who goes on with it polls it again.
fn poll_once<T>(work: &mut BoxFuture<'static, T>) -> Poll<T> {
    work.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}
