//! Keeping what was learned across a restart (P-25, P-27).
//!
//! | file | what it holds |
//! |---|---|
//! | `keeper` | when scores are loaded and saved, and by whom |
//! | `file` | a store that is a file |

mod file;
mod keeper;

pub use file::FileStore;
pub(crate) use keeper::Keeper;

use crate::inner::{Inner, State};
use futures_util::future::BoxFuture;
use highwater_core::{
    EndpointId, Now,
    scores::{Restored, Scores},
};
use std::{collections::HashMap, io, sync::Arc};

/// Where scores are kept (P-27).
///
/// What it gives back is not trusted. Its futures run on the runtime of a call, so they must not
/// block; one that panics counts as failed.
pub trait Store: Send + Sync + 'static {
    /// What was saved last; `None`: nothing was. Asked once, at the first call; a future that is
    /// ready when it is first polled seeds the choice of that very call, and no other holds it up.
    fn load(&self) -> BoxFuture<'static, Result<Option<String>, StoreError>>;

    /// Keeps this in place of what was saved before, at most every ten seconds. It is at most 256 KiB
    /// of JSON. A future that takes longer than the timeout of an attempt is dropped.
    fn save(&self, scores: String) -> BoxFuture<'static, Result<(), StoreError>>;

    /// The same, of a pool that closes. The process may end at once, and there may be no runtime any
    /// more: what is not done when the future is first polled may be lost. Default: as
    /// [`Store::save`].
    fn save_last(&self, scores: String) -> BoxFuture<'static, Result<(), StoreError>> {
        self.save(scores)
    }
}

/// Why a store could not give or take scores.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The file system refused.
    #[error("{0}")]
    Io(io::ErrorKind),
    /// What is stored is larger than 256 KiB.
    #[error("larger than 256 KiB")]
    TooLarge,
    /// What is there is no regular file, or no text.
    #[error("not a text file")]
    NotText,
    /// Another reason, in words that may be logged.
    #[error("{0}")]
    Other(&'static str),
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        Self::Io(error.kind())
    }
}

impl State {
    /// Puts in what was learned before a restart.
    pub(crate) fn restore_scores(
        &mut self,
        scores: &Scores,
        timeout: std::time::Duration,
        now: Now,
    ) -> Restored {
        let labels = self.nodes.iter().map(|node| &*node.label);
        let places: HashMap<&str, EndpointId> = labels.zip(self.router.ids()).collect();
        let place = |label: &str| places.get(label).copied();
        self.router.restore_scores(scores, place, timeout, now)
    }
}

impl Inner {
    /// What was learned of the endpoints.
    pub(crate) fn scores(&self) -> Scores {
        let wall = self.now().wall;
        let (books, nodes) = {
            let state = self.lock();
            (state.router.books(), Arc::clone(&state.nodes))
        };
        let labels = nodes.iter().map(|node| &*node.label);
        Scores::of(labels.zip(&books), wall)
    }

    pub(crate) fn restore_scores(&self, scores: &Scores) -> Restored {
        let now = self.now();
        self.lock().restore_scores(scores, self.timeout, now)
    }
}
