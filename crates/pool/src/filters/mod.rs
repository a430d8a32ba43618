//! Filters under ids of ours (L-4).
//!
//! A filter is made at one endpoint and polled there. When that endpoint fails it, it is replayed from
//! the last polled block at another one, and from then on at whoever is there, so a caller sees the
//! same id and misses nothing. What `core::filter` cannot prove to be complete ends the filter, and so
//! does the end of the endpoint of a filter of pending transactions: `filter not found`, on which
//! clients make a new one.
//!
//! | file | what it holds |
//! |---|---|
//! | here | whose filters there are, how one is made and ended |
//! | `poll` | its changes, and all logs that it is about |
//! | `replay` | what it would have told, from the chain |
//! | `ask` | a request of one filter's call |

mod ask;
mod poll;
mod replay;

use crate::{
    Answer, CallOptions, Error, Request,
    answer::Origin,
    driver::{Terms, text},
    inner::Inner,
    node::Node,
    reads,
};
use ask::Asking;
use bytes::Bytes;
use highwater_core::{
    filter::{Anchor, Criteria, FilterId, Kind, Table, Trail},
    learn::Need,
    method::Descriptor,
};
use parking_lot::Mutex;
use std::sync::Arc;

/// Longest parameters of a filter that are kept, in bytes: it can be replayed with them.
const LONGEST_PARAMS: usize = 64 * 1024;
/// Longest id of an endpoint's own that is kept, in bytes.
const LONGEST_ID: usize = 256;

/// The filters of a pool.
#[derive(Default)]
pub(crate) struct Filters {
    table: Mutex<Table<Arc<Filter>>>,
}

/// One filter.
struct Filter {
    kind: Kind,
    /// What a filter of logs was made with; `None`: it is too long to be kept.
    params: Option<Box<str>>,
    /// One call about it at a time; the others wait.
    state: tokio::sync::Mutex<State>,
}

struct State {
    /// Where it lives; `None`: it is replayed. Taken out while it is asked, so a poll whose answer
    /// nobody waited for is not taken for one that told nothing.
    home: Option<Home>,
    trail: Trail,
}

#[derive(Clone)]
struct Home {
    node: Arc<Node>,
    /// Its id there, as JSON.
    id: Box<str>,
}

/// Whether a method is about filters.
pub(crate) fn is_about_filters(row: &Descriptor) -> bool {
    kind_of(row).is_some()
        || matches!(
            row.name,
            "eth_getFilterChanges" | "eth_getFilterLogs" | "eth_uninstallFilter"
        )
}

/// What the filter tells that a method makes.
fn kind_of(row: &Descriptor) -> Option<Kind> {
    match row.name {
        "eth_newFilter" => Some(Kind::Logs),
        "eth_newBlockFilter" => Some(Kind::Blocks),
        "eth_newPendingTransactionFilter" => Some(Kind::Pending),
        _ => None,
    }
}

/// Makes a call about filters.
///
/// Cancellation: a poll that is dropped loses nothing; the next one replays it. A filter of pending
/// transactions has told what it told.
pub(crate) async fn request(
    inner: &Arc<Inner>,
    request: Request<'_>,
    options: CallOptions,
) -> Result<Answer, Error> {
    if inner.is_closed() {
        return Err(Error::Closed);
    }
    if let Some(kind) = kind_of(request.descriptor) {
        return make(inner, request, options, kind).await;
    }
    let now = inner.now().mono;
    let id = FilterId::of_call(text(request.params));
    if request.descriptor.name == "eth_uninstallFilter" {
        let removed = id.and_then(|id| {
            let mut table = inner.filters.table.lock();
            table.remove(id, options.caller, now)
        });
        let answer = of_ours(if removed.is_some() { "true" } else { "false" }.to_owned());
        if let Some(filter) = removed {
            uninstall(inner, &filter, &options).await;
        }
        return Ok(answer);
    }
    let filter = id.and_then(|id| {
        let mut table = inner.filters.table.lock();
        table.get(id, options.caller, now).cloned()
    });
    let (Some(id), Some(filter)) = (id, filter) else {
        return Ok(not_found());
    };
    if request.descriptor.name == "eth_getFilterLogs" {
        return poll::logs(inner, request, options, &filter).await;
    }
    let Some(mut answer) = poll::changes(inner, &options, &filter).await? else {
        let mut table = inner.filters.table.lock();
        table.remove(id, options.caller, now);
        return Ok(not_found());
    };
    reads::seen(inner, request, &options, &mut answer);
    Ok(answer)
}

/// Makes a filter. A block of the endpoint that is to make it is read first: up to there everything
/// was before the filter.
async fn make(
    inner: &Arc<Inner>,
    request: Request<'_>,
    options: CallOptions,
    kind: Kind,
) -> Result<Answer, Error> {
    let asking = Asking::new(inner, &options);
    let head = match kind {
        Kind::Logs | Kind::Blocks => asking.head(Terms::default()).await.ok().flatten(),
        Kind::Pending => None,
    };
    let params = text(request.params);
    let terms = Terms {
        need: Need::of_call(request.descriptor, params),
        first: head.as_ref().map(|head| Arc::clone(&head.node)),
        ..Terms::default()
    };
    let options = asking.options();
    let caller = options.caller;
    let answer = Box::pin(crate::driver::drive(inner, request, options, terms)).await?;
    let node = inner.lock().node_labelled(answer.endpoint());
    let id = answer.result().filter(|id| is_id(id));
    let (Some(id), Some(node)) = (id, node) else {
        return Ok(answer);
    };
    // The block of another endpoint says nothing of this one's filter.
    let anchor = head.filter(|head| head.node.number == node.number);
    let anchor = anchor.map(|head| Anchor {
        number: head.header.number,
        hash: head.header.hash,
    });
    let kept = Some(params).filter(|params| kind == Kind::Logs && params.len() <= LONGEST_PARAMS);
    let is_question = kept.is_some_and(|params| Criteria::of_call(params).is_some());
    let anchor = anchor.filter(|_| kind != Kind::Logs || is_question);
    let now = inner.now().mono;
    let filter = Arc::new(Filter {
        kind,
        params: kept.map(Box::from),
        state: tokio::sync::Mutex::new(State {
            home: Some(Home {
                node,
                id: id.into(),
            }),
            trail: Trail::new(kind, anchor, now),
        }),
    });
    let ours = loop {
        let id = FilterId(drawn());
        let mut table = inner.filters.table.lock();
        if id.0 != 0 && table.insert(id, caller, Arc::clone(&filter), now) {
            break id;
        }
    };
    let body = Bytes::from(format!("\"{ours}\""));
    Ok(Answer {
        span: 0..body.len(),
        body,
        ..answer
    })
}

/// Ends a filter at its endpoint, which would forget it by itself: whatever comes of that, it is gone
/// here. One that is being polled is left to that.
async fn uninstall(inner: &Arc<Inner>, filter: &Filter, options: &CallOptions) {
    let home = filter
        .state
        .try_lock()
        .ok()
        .and_then(|state| state.home.clone());
    if let Some(home) = home {
        let asking = Asking::new(inner, options);
        let _ = asking.home("eth_uninstallFilter", &home).await;
    }
}

/// An id that an endpoint may give: a string or a number.
fn is_id(text: &str) -> bool {
    text.len() <= LONGEST_ID
        && text.starts_with(|first: char| first == '"' || first.is_ascii_digit())
}

/// 128 bits that nobody can guess.
fn drawn() -> u128 {
    let mut bytes = [0; 16];
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    if provider.secure_random.fill(&mut bytes).is_ok() {
        return u128::from_be_bytes(bytes);
    }
    // Keyed by the operating system's randomness, too.
    use std::hash::BuildHasher;
    let half = |n: u8| u128::from(std::collections::hash_map::RandomState::new().hash_one(n));
    half(0) << 64 | half(1)
}

/// An answer of the pool's own.
fn of_ours(result: String) -> Answer {
    let body = Bytes::from(result);
    Answer {
        span: 0..body.len(),
        body,
        is_error: false,
        endpoint: Arc::from(""),
        attempts: 0,
        transaction: None,
        origin: Origin::Filters,
        block: None,
    }
}

/// As geth says it; clients make a new filter then.
fn not_found() -> Answer {
    Answer {
        is_error: true,
        ..of_ours(r#"{"code":-32000,"message":"filter not found"}"#.to_owned())
    }
}
