use super::*;
use futures_util::FutureExt;

/// A folder of its own for each test.
fn fresh(name: &str) -> PathBuf {
    let folder = format!("highwater-scores-{}-{name}", std::process::id());
    let folder = std::env::temp_dir().join(folder);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

// P-27
#[tokio::test]
async fn gives_back_what_it_was_given_last() {
    let folder = fresh("last");
    let store = FileStore::new(folder.join("scores.json"));
    assert_eq!(store.load().await, Ok(None));
    store.save("one".into()).await.unwrap();
    store.save("two".into()).await.unwrap();
    assert_eq!(store.load().await, Ok(Some("two".into())));
    assert_eq!(names(&folder), ["scores.json"]);
}

// P-27: a pool that closes may be the last thing that its process does
#[test]
fn the_last_save_is_over_at_its_first_poll_without_a_runtime() {
    let store = FileStore::new(fresh("close").join("scores.json"));
    let saved = store.save_last("three".into()).now_or_never();
    assert_eq!(saved, Some(Ok(())));
    assert_eq!(store.0.read(), Ok(Some("three".into())));
}

// P-26, P-27: what is there may be anything
#[tokio::test]
async fn reads_no_file_that_is_too_large_or_no_text() {
    let folder = fresh("odd");
    let path = folder.join("scores.json");
    let store = FileStore::new(&path);
    // As large as a disk; not a byte of it is read.
    File::create(&path).unwrap().set_len(1 << 30).unwrap();
    assert_eq!(store.load().await, Err(StoreError::TooLarge));
    File::create(&path)
        .unwrap()
        .set_len(u64::try_from(MOST_BYTES).unwrap() + 1)
        .unwrap();
    assert_eq!(store.load().await, Err(StoreError::TooLarge));
    fs::write(&path, [0xff, 0xfe, 0x00]).unwrap();
    assert_eq!(store.load().await, Err(StoreError::NotText));
    // A folder, and what never ends.
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(store.load().await, Err(StoreError::NotText));
    let device = FileStore::new("/dev/zero");
    assert_eq!(device.load().await, Err(StoreError::NotText));
}

// P-27
#[tokio::test]
async fn a_full_disk_leaves_what_was_there() {
    let folder = fresh("full");
    let store = FileStore::new(folder.join("scores.json"));
    store.save("old".into()).await.unwrap();
    // Whatever is written beside it goes to a device that is full.
    let beside = store.0.beside(&std::process::id().to_string());
    std::os::unix::fs::symlink("/dev/full", &beside).unwrap();
    let full = Err(StoreError::Io(ErrorKind::StorageFull));
    assert_eq!(store.save("new".into()).await, full);
    assert_eq!(store.load().await, Ok(Some("old".into())));
    assert_eq!(names(&folder), ["scores.json"]);
    // There is room again.
    store.save("new".into()).await.unwrap();
    assert_eq!(store.load().await, Ok(Some("new".into())));
}

// P-27
#[tokio::test]
async fn a_folder_that_is_gone_or_is_none_is_an_error_and_no_panic() {
    let folder = fresh("gone");
    fs::write(folder.join("file"), "").unwrap();
    for (place, kind) in [
        (folder.join("nothing").join("s.json"), ErrorKind::NotFound),
        (folder.join("file").join("s.json"), ErrorKind::NotADirectory),
    ] {
        let store = FileStore::new(place);
        let refused = Err(StoreError::Io(kind));
        assert_eq!(store.save("text".into()).await, refused);
    }
}

// P-27: a writer that died in the middle
#[tokio::test]
async fn what_a_writer_that_died_left_is_never_read_and_is_removed_after_an_hour() {
    let folder = fresh("dead");
    let store = FileStore::new(folder.join("scores.json"));
    store.save("whole".into()).await.unwrap();
    for (writer, age) in [("1", 30), ("2", 3_601)] {
        let beside = store.0.beside(writer);
        fs::write(&beside, "{\"version\":1,\"sav").unwrap();
        let file = File::options().write(true).open(&beside).unwrap();
        let changed = std::time::SystemTime::now() - Duration::from_secs(age);
        file.set_modified(changed).unwrap();
    }
    // Somebody else's, as old.
    fs::write(folder.join(".other.json.9.tmp"), "").unwrap();
    assert_eq!(store.load().await, Ok(Some("whole".into())));
    let left = [".other.json.9.tmp", ".scores.json.1.tmp", "scores.json"];
    assert_eq!(names(&folder), left);
}
