//! A second level of the cache: answers that never change, kept where other pools find them too.
//!
//! Only what is kept for good goes there (P-13): the block of such an answer is final, or it has none.
//! What comes from there is as little trusted as an endpoint's word. It is held against the request and
//! against the hashes that this pool knows, and only a block that this pool's heads have reached is taken.

use super::{job::Job, store::Entry};
use crate::{Answer, answer::Origin, inner::Inner};
use bytes::{BufMut, Bytes, BytesMut};
use highwater_core::{
    answer::Named,
    cache::{Ask, Class, Keep, Stamp, may_serve},
    floor,
};
use std::{fmt, future::Future, pin::Pin, sync::Arc, time::Duration};

/// How long a call waits for the second level before it goes to an endpoint.
const PATIENCE: Duration = Duration::from_millis(100);

/// The first byte of what is kept there: of another form nothing is read.
const FORM: u8 = 1;

/// What a second level gives back, in its time.
pub type Fetched = Pin<Box<dyn Future<Output = Option<Bytes>> + Send>>;

/// A store behind the pool's own memory, for answers that never change: blocks, transactions, receipts
/// and state at final blocks (P-13). Several pools may share one; keys begin with the chain's id.
///
/// Keys and values are bytes of the pool's own; a value that was cut or changed is not served. A call
/// asks it once, before its request goes out, and waits 100 ms at most: an error of the store is a
/// `None`, and costs the call nothing else.
pub trait SecondLevel: Send + Sync + 'static {
    /// The value of a key. Cancellation: dropped when the call has waited long enough.
    fn get(&self, key: &[u8]) -> Fetched;

    /// Keeps a value, until it needs the room. Called on the call's way: it must not block, and does
    /// slow work in a task of its own.
    fn put(&self, key: &[u8], value: Bytes);
}

/// The second level of a pool.
pub(crate) type Level = Arc<dyn SecondLevel>;

impl fmt::Debug for dyn SecondLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecondLevel")
    }
}

/// Whether answers of a class may be kept for good.
const fn may_stay(class: Class) -> bool {
    match class {
        Class::Fixed | Class::Number(_) | Class::Hash(_) | Class::Transaction => true,
        Class::Never(_) | Class::Moving | Class::Present => false,
    }
}

/// The key there: chains share one store.
fn key_of(inner: &Inner, key: &[u8]) -> Option<Vec<u8>> {
    let chain = inner.lock().router.chain()?;
    let mut whole = Vec::with_capacity(8 + key.len());
    whole.extend_from_slice(&chain.0.to_be_bytes());
    whole.extend_from_slice(key);
    Some(whole)
}

impl Job {
    /// The answer to this request in the second level, if it is there and may be served.
    pub(super) async fn kept_elsewhere(&self) -> Option<Answer> {
        let level = self.inner.reads.second.as_ref()?;
        let key = self.store.as_ref().filter(|_| may_stay(self.class))?;
        if self.options.bypass_cache {
            return None;
        }
        let key = key_of(&self.inner, key.bytes())?;
        let value = tokio::time::timeout(PATIENCE, level.get(&key)).await;
        let entry = read(&value.ok()??, self)?;
        let tally = &self.inner.reads.tally;
        tally.avoided(&tally.second_hits, self.found.row());
        if let Some(key) = &self.store {
            self.inner.reads.store.put(key.clone(), entry.clone());
        }
        Some(Answer {
            span: 0..entry.result.len(),
            body: entry.result,
            is_error: false,
            endpoint: entry.endpoint,
            attempts: 0,
            transaction: None,
            origin: Origin::Cache,
            block: entry.block,
        })
    }
}

/// Gives an answer to the second level, where it may be kept for good.
pub(super) fn keep(inner: &Inner, key: &[u8], entry: &Entry) {
    let Some(level) = &inner.reads.second else {
        return;
    };
    if let Keep::Fixed | Keep::Final = entry.stamp.keep
        && let Some(key) = key_of(inner, key)
        && let Some(value) = write(entry)
    {
        level.put(&key, value);
    }
}

fn write(entry: &Entry) -> Option<Bytes> {
    let label = u8::try_from(entry.endpoint.len()).ok()?;
    let mut value = BytesMut::with_capacity(64 + entry.endpoint.len() + entry.result.len());
    value.put_u8(FORM);
    value.put_u8(u8::from(entry.stamp.keep == Keep::Final));
    value.put_u8(u8::from(entry.stamp.height.is_some()));
    value.put_u64(entry.stamp.height.unwrap_or(0));
    value.put_u8(u8::from(entry.stamp.hash.is_some()));
    value.put_slice(&entry.stamp.hash.unwrap_or_default());
    value.put_u8(label);
    value.put_slice(entry.endpoint.as_bytes());
    value.put_slice(&entry.result);
    Some(value.freeze())
}

/// Reads what [`write`] wrote, as far as it is an answer to this request.
fn read(value: &Bytes, job: &Job) -> Option<Entry> {
    let (head, rest) = value.split_first_chunk::<44>()?;
    let [form, is_final, has_height, ..] = *head;
    let flag = |byte: u8| (byte <= 1).then_some(byte == 1);
    if form != FORM {
        return None;
    }
    let height = u64::from_be_bytes(*head[3..].first_chunk()?);
    let hash: [u8; 32] = *head[12..].first_chunk()?;
    let keep = if flag(is_final)? {
        Keep::Final
    } else {
        Keep::Fixed
    };
    let height = flag(has_height)?.then_some(height);
    let hash = flag(head[11])?.then_some(hash);
    let (label, result) = split_label(rest)?;
    let text = std::str::from_utf8(result).ok()?;
    serde_json::from_str::<&serde_json::value::RawValue>(text).ok()?;
    if text.trim_ascii() == "null" {
        return None;
    }
    let found = &job.found;
    let named = Named::read(found.row(), text);
    let checked = named.check(found.row(), found, job.written(), job.pin);
    checked.ok()?;
    let inner = &job.inner;
    let now = inner.now();
    let state = inner.lock();
    let policy = state.sight.policy()?;
    let stamp = Stamp {
        keep,
        height,
        hash,
        at: now.mono,
        since: state.sight.recent.mark(),
    };
    let settings = inner.cache_settings(&state.router);
    let head = job.newest_head(&state.router, now);
    let view = state.sight.at_head(head, settings, policy, now);
    let ask = Ask {
        class: job.class,
        floor: None,
    };
    let reached = height.is_none_or(|height| head.is_some_and(|head| height <= head));
    let fits = reached && !policy.is_local() && may_serve(&stamp, &ask, &view).is_ok();
    drop(state);
    fits.then(|| Entry {
        stamp,
        result: value.slice_ref(result),
        endpoint: Arc::from(label),
        block: floor::seen(found, &named, job.pin).or(height),
    })
}

fn split_label(rest: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = rest.split_first()?;
    let (label, result) = rest.split_at_checked(usize::from(*length))?;
    Some((std::str::from_utf8(label).ok()?, result))
}
