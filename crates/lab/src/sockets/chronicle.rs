//! The clock that nodes and clients of one run share, and the history that both write, where one is
//! kept.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::question::Question;
use crate::history::{Event, Got, History};

/// The clock of a fleet, and its history where one is kept.
#[derive(Clone, Debug)]
pub struct Chronicle {
    started: Instant,
    history: Option<Arc<Mutex<History>>>,
}

impl Chronicle {
    /// Scenario time begins now.
    pub(super) fn begin(recorded: bool) -> Self {
        Self {
            started: Instant::now(),
            history: recorded.then(Arc::default),
        }
    }

    /// When scenario time began.
    pub(super) fn started(&self) -> Instant {
        self.started
    }

    /// Scenario time now.
    pub(super) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// A moment in scenario time; what came before its beginning was at its beginning.
    pub(super) fn at(&self, moment: Instant) -> Duration {
        moment.saturating_duration_since(self.started)
    }

    /// Whether anything is kept.
    pub(super) fn is_kept(&self) -> bool {
        self.history.is_some()
    }

    /// Keeps what happened.
    pub(super) fn keep(&self, events: impl IntoIterator<Item = Event>) {
        if let Some(history) = &self.history {
            let mut history = history.lock();
            for event in events {
                history.push(event);
            }
        }
    }

    /// A client asks now.
    pub(super) fn called(&self, client: u64, question: &Question) {
        if self.is_kept() {
            self.keep([Event::Called {
                at: self.now(),
                client,
                call: question.number(),
                id: question.number().to_string(),
                method: question.method().to_owned(),
                params: question.params().to_owned(),
            }]);
        }
    }

    /// A client has its answer now, or has given up.
    pub(super) fn answered(&self, call: u64, id: Option<String>, got: Got) {
        self.keep([Event::Answered {
            at: self.now(),
            call,
            id,
            got,
        }]);
    }

    /// What happened so far, by time. A node says that it has served once it is done with writing,
    /// when its client may long have read.
    pub(super) fn history(&self) -> History {
        let Some(history) = &self.history else {
            return History::new();
        };
        let mut events = history.lock().events().to_vec();
        events.sort_by_key(Event::at);
        events.into_iter().collect()
    }
}
