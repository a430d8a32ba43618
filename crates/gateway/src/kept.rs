//! What is kept in `[state] dir` across restarts: one file for each chain and concern.
//!
//! | file | what it holds |
//! |---|---|
//! | `scores-CHAIN.json` | what was learned of the endpoints (P-25, P-27); the pool saves it |
//! | `totals-CHAIN.json` | what the budgets have spent (R-28) |
//!
//! Both are versioned, replaced as a whole, and not believed beyond their limits. A file that cannot
//! be read or written is a warning; the gateway serves all the same.

use crate::{ServeError, config::StateSettings, state::Chain};
use highwater::{FileStore, Pool, Store, StoreError, Totals};
use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::time::sleep;

/// Between two looks at what was spent.
const EVERY: Duration = Duration::from_secs(10);

/// The folder, if there is one.
#[derive(Clone, Debug)]
pub(crate) struct Kept(Option<PathBuf>);

impl Kept {
    /// Makes the folder where it is missing, and refuses one that cannot be written.
    pub(crate) fn open(settings: &StateSettings) -> Result<Self, ServeError> {
        let Some(folder) = &settings.dir else {
            tracing::warn!("nothing is kept across restarts: set `dir` in [state]");
            return Ok(Self(None));
        };
        match try_out(folder) {
            Ok(()) => {}
            // It may have room again by the time something is saved.
            Err(error) if error.kind() == ErrorKind::StorageFull => {
                tracing::warn!("no room in the folder of [state]");
            }
            Err(error) => {
                return Err(ServeError::Configuration(format!(
                    "[state] dir: cannot write to {}: {error}; make it writable for this user, or \
                     choose another",
                    folder.display()
                )));
            }
        }
        Ok(Self(Some(folder.clone())))
    }

    /// Where the scores of a chain are.
    pub(crate) fn scores(&self, chain: &str) -> Option<FileStore> {
        self.file("scores", chain)
    }

    /// What the budgets of a chain had spent.
    pub(crate) async fn totals(&self, chain: &str) -> Option<Totals> {
        let stored = self.file("totals", chain)?.load().await;
        let failed = |why: &dyn std::fmt::Display| {
            tracing::warn!(chain, %why, "stored totals cannot be loaded");
        };
        match stored {
            Ok(text) => match Totals::from_json(&text?) {
                Ok(totals) => Some(totals),
                Err(error) => {
                    failed(&error);
                    None
                }
            },
            Err(error) => {
                failed(&error);
                None
            }
        }
    }

    /// Whoever keeps the totals of all chains.
    pub(crate) fn purse(&self, chains: &[Chain]) -> Purse {
        let kept = chains.iter().filter_map(|chain| {
            Some(Spent {
                chain: chain.name.to_string(),
                pool: chain.pool.clone(),
                store: self.file("totals", &chain.name)?,
                saved: None,
                failing: false,
            })
        });
        Purse(kept.collect())
    }

    fn file(&self, concern: &str, chain: &str) -> Option<FileStore> {
        let folder = self.0.as_ref()?;
        Some(FileStore::new(
            folder.join(format!("{concern}-{chain}.json")),
        ))
    }
}

/// Saves what was spent.
#[derive(Debug)]
pub(crate) struct Purse(Vec<Spent>);

#[derive(Debug)]
struct Spent {
    chain: String,
    pool: Pool,
    store: FileStore,
    /// What is in the file, as far as it was written by us.
    saved: Option<String>,
    failing: bool,
}

impl Purse {
    /// Saves what is new every ten seconds.
    pub(crate) async fn run(&mut self) {
        loop {
            sleep(EVERY).await;
            for spent in &mut self.0 {
                if let Some(text) = spent.news() {
                    let ended = spent.store.save(text.clone()).await;
                    spent.on_saved(text, ended);
                }
            }
        }
    }

    /// Saves what is new for the last time.
    pub(crate) async fn close(&mut self) {
        for spent in &mut self.0 {
            if let Some(text) = spent.news() {
                let ended = spent.store.save_last(text.clone()).await;
                spent.on_saved(text, ended);
            }
        }
    }
}

impl Spent {
    fn news(&self) -> Option<String> {
        let text = self.pool.totals().to_json();
        (self.saved.as_ref() != Some(&text)).then_some(text)
    }

    fn on_saved(&mut self, text: String, ended: Result<(), StoreError>) {
        let was_failing = std::mem::replace(&mut self.failing, ended.is_err());
        match ended {
            Ok(()) => self.saved = Some(text),
            Err(error) if !was_failing => {
                tracing::warn!(chain = self.chain, %error, "totals cannot be saved");
            }
            Err(_) => {}
        }
    }
}

fn try_out(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let trial = folder.join(format!(".trial.{}.tmp", std::process::id()));
    fs::write(&trial, "trial")?;
    fs::remove_file(&trial)
}
