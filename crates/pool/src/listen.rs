//! Telling events to those who listen (P-28).
//!
//! Events wait in a bounded queue for a thread of their own, so a listener that is slow, or that
//! panics, never touches a call. What the queue cannot hold is counted, and told once there is room.

use crate::{ConfigError, Event, inner::State};
use highwater_core::event as core;
use parking_lot::{Condvar, Mutex};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// One who listens.
pub(crate) type Listener = Arc<dyn Fn(&Event) + Send + Sync>;

/// Most events that wait.
const MOST_WAITING: usize = 4096;

/// The way to the listeners of a pool.
pub(crate) struct Listeners(Arc<Shared>);

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    told: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Event>,
    lost: u64,
    closed: bool,
}

impl Listeners {
    /// Starts the thread; `None`: nobody listens.
    pub(crate) fn start(listeners: Vec<Listener>) -> Result<Option<Self>, ConfigError> {
        if listeners.is_empty() {
            return Ok(None);
        }
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("highwater-events".into())
            .spawn(move || own.tell(&listeners))
            .map_err(|_| ConfigError::new("on_event", "the thread for events cannot be started"))?;
        Ok(Some(Self(shared)))
    }

    /// Adds events in their order. Wakes nobody, for it is called under the state's lock.
    pub(crate) fn put(&self, events: Vec<core::Event>, lost: u64, state: &State) {
        let mut queue = self.0.queue.lock();
        if queue.closed {
            return;
        }
        let room = MOST_WAITING.saturating_sub(queue.waiting.len());
        let beyond = u64::try_from(events.len().saturating_sub(room)).unwrap_or(u64::MAX);
        queue.lost = queue.lost.saturating_add(lost).saturating_add(beyond);
        let named = events.into_iter().take(room);
        let named = named.map(|event| Event::named(event, state));
        queue.waiting.extend(named);
    }

    pub(crate) fn wake(&self) {
        self.0.told.notify_one();
    }

    /// What waits is still told; then the thread ends and lets the listeners go.
    pub(crate) fn close(&self) {
        self.0.queue.lock().closed = true;
        self.0.told.notify_one();
    }
}

impl Shared {
    fn tell(&self, listeners: &[Listener]) {
        while let Some(events) = self.next() {
            for event in &events {
                for listener in listeners {
                    // It gets the next event all the same. The panic's own message says where it was.
                    let _ = catch_unwind(AssertUnwindSafe(|| listener(event)));
                }
            }
        }
    }

    /// What waits, once something does; `None` at the end.
    fn next(&self) -> Option<Vec<Event>> {
        let mut queue = self.queue.lock();
        while queue.waiting.is_empty() && queue.lost == 0 && !queue.closed {
            self.told.wait(&mut queue);
        }
        let mut events = std::mem::take(&mut queue.waiting);
        let lost = std::mem::take(&mut queue.lost);
        if lost > 0 {
            events.push(Event::Lost { count: lost });
        }
        (!events.is_empty()).then_some(events)
    }
}
