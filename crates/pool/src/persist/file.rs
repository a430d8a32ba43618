//! Scores in a file.

use super::{Store, StoreError};
use futures_util::future::BoxFuture;
use highwater_core::scores::MOST_BYTES;
use parking_lot::Mutex;
use std::{
    ffi::OsString,
    fs::{self, File},
    io::{ErrorKind, Read, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// A write that another one holds up for longer is given up.
const PATIENCE: Duration = Duration::from_secs(1);
/// Unfinished files of writers that died are removed after this time.
const LEFT_BEHIND: Duration = Duration::from_secs(3_600);

/// A store that is a file. The folder must exist.
///
/// It is replaced as a whole: written beside its place, brought to the disk, and renamed. Whatever
/// ends the process or fills the disk in between, the file is the old one or the new one. Of several
/// processes with one file the last one to save wins.
///
/// Reading and writing happen on tokio's threads for blocking work, except the last write of a pool
/// that closes: that one is over when [`Pool::close`](crate::Pool::close) returns.
#[derive(Clone, Debug)]
pub struct FileStore(Arc<Place>);

#[derive(Debug)]
struct Place {
    path: PathBuf,
    /// One writer at a time.
    writing: Mutex<()>,
}

impl FileStore {
    /// A store at this path; no I/O.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(Arc::new(Place {
            path: path.into(),
            writing: Mutex::default(),
        }))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }
}

impl Store for FileStore {
    fn load(&self) -> BoxFuture<'static, Result<Option<String>, StoreError>> {
        let place = Arc::clone(&self.0);
        Box::pin(on_a_blocking_thread(move || place.read()))
    }

    fn save(&self, scores: String) -> BoxFuture<'static, Result<(), StoreError>> {
        let place = Arc::clone(&self.0);
        Box::pin(on_a_blocking_thread(move || place.write(&scores)))
    }

    fn save_last(&self, scores: String) -> BoxFuture<'static, Result<(), StoreError>> {
        let place = Arc::clone(&self.0);
        Box::pin(async move { place.write(&scores) })
    }
}

async fn on_a_blocking_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let ended = tokio::task::spawn_blocking(work).await;
    ended.unwrap_or(Err(StoreError::Other("the runtime ends")))
}

impl Place {
    fn read(&self) -> Result<Option<String>, StoreError> {
        self.tidy();
        let about = match fs::metadata(&self.path) {
            Ok(about) => about,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // A pipe or a device could be read for ever.
        if !about.is_file() {
            return Err(StoreError::NotText);
        }
        let most = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX);
        if about.len() > most {
            return Err(StoreError::TooLarge);
        }
        // It may grow while it is read.
        let mut bytes = Vec::new();
        File::open(&self.path)?
            .take(most + 1)
            .read_to_end(&mut bytes)?;
        if bytes.len() > MOST_BYTES {
            return Err(StoreError::TooLarge);
        }
        let text = String::from_utf8(bytes).map_err(|_| StoreError::NotText)?;
        Ok(Some(text))
    }

    fn write(&self, scores: &str) -> Result<(), StoreError> {
        // A disk that hangs must not gather threads that wait for it.
        let busy = StoreError::Io(ErrorKind::ResourceBusy);
        let _alone = self.writing.try_lock_for(PATIENCE).ok_or(busy)?;
        let beside = self.beside(&std::process::id().to_string());
        let replaced = replace(&self.path, &beside, scores);
        if replaced.is_err() {
            let _ = fs::remove_file(&beside);
        }
        replaced
    }

    /// The name of a file that is not finished.
    fn beside(&self, writer: &str) -> PathBuf {
        let mut name = self.prefix();
        name.push(writer);
        name.push(".tmp");
        self.path.with_file_name(name)
    }

    fn prefix(&self) -> OsString {
        let mut prefix = OsString::from(".");
        prefix.push(self.path.file_name().unwrap_or_default());
        prefix.push(".");
        prefix
    }

    /// Removes what writers that died left behind; not what another process writes just now.
    fn tidy(&self) {
        let folder = folder(&self.path);
        let Ok(entries) = fs::read_dir(folder) else {
            return;
        };
        let prefix = self.prefix();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.as_encoded_bytes();
            let is_unfinished =
                name.starts_with(prefix.as_encoded_bytes()) && name.ends_with(b".tmp");
            let is_old = || {
                let changed = entry.metadata().and_then(|about| about.modified()).ok()?;
                let age = changed.elapsed().ok()?;
                Some(age >= LEFT_BEHIND)
            };
            if is_unfinished && is_old() == Some(true) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

fn replace(path: &Path, beside: &Path, scores: &str) -> Result<(), StoreError> {
    let mut file = File::create(beside)?;
    file.write_all(scores.as_bytes())?;
    file.sync_all()?;
    drop(file);
    fs::rename(beside, path)?;
    // The name, too, is on the disk only when its folder is. Some file systems cannot say so.
    if let Ok(folder) = File::open(folder(path)) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// The folder of a file.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    }
}

#[cfg(test)]
mod tests;
