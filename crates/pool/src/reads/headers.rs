//! Headers that nobody asked for: so that a block that left the chain is seen before it is served
//! (P-14).
//!
//! While reads come, and the cache is on, the header of each new head that a probe, or a look at a
//! second endpoint beside a read's own, finds is fetched once, from the endpoint that told it. Where its
//! parent is not known, the ones below are fetched by their hashes, a few at most; then the chain begins
//! anew above the gap, and what was kept under hashes below it is not served any more.

use crate::{aside, inner::Inner, node::Node};
use highwater_core::{
    answer::Named,
    method::{find, lookup},
    recent::Header,
};
use std::{
    sync::{Arc, Weak},
    time::Duration,
};

/// Most headers fetched to close one gap.
const MOST: usize = 16;

/// Fetches the header of the newest head from an endpoint, if it is due.
pub(crate) async fn read_header(pool: &Weak<Inner>, node: &Arc<Node>, timeout: Duration) {
    let number = pool.upgrade().and_then(|inner| due(&inner, node));
    if let Some(number) = number {
        read_from(pool, node, number, timeout).await;
    }
}

/// Reads the header of an endpoint's newest block, and those below it that link it to the chain.
pub(super) async fn read_from(
    pool: &Weak<Inner>,
    node: &Arc<Node>,
    number: u64,
    timeout: Duration,
) {
    let params = format!("[\"{number:#x}\",false]");
    let Some(header) = fetch(pool, node, "eth_getBlockByNumber", &params, timeout).await else {
        return;
    };
    put(pool, node, header, true);
    let mut steps = 0;
    while let Some(missing) = missing(pool) {
        steps += 1;
        if steps > MOST {
            break;
        }
        let hash: String = missing
            .hash
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let params = format!("[\"0x{hash}\",false]");
        let Some(header) = fetch(pool, node, "eth_getBlockByHash", &params, timeout).await else {
            break;
        };
        if header.hash != missing.hash || header.number != missing.number {
            break;
        }
        put(pool, node, header, false);
    }
    // Nothing where no gap is left.
    if steps > 0
        && let Some(inner) = pool.upgrade()
    {
        let now = inner.now();
        inner.lock().sight.recent.jump(now.mono);
    }
}

fn due(inner: &Inner, node: &Arc<Node>) -> Option<u64> {
    let now = inner.now();
    let mut state = inner.lock();
    let endpoint = state.place(node)?;
    let state = &mut *state;
    let chain = state.router.chain();
    let reads = state.router.settings().reads.clone();
    state.sight.of_chain(chain, &reads)?;
    state.sight.wants_header(&state.router, endpoint, now)
}

/// The header that would link the last one.
fn missing(pool: &Weak<Inner>) -> Option<highwater_core::recent::Block> {
    let inner = pool.upgrade()?;
    inner.lock().sight.missing.take()
}

fn put(pool: &Weak<Inner>, node: &Arc<Node>, header: Header, newest: bool) {
    let Some(inner) = pool.upgrade() else { return };
    let now = inner.now();
    let mut guard = inner.lock();
    let state = &mut *guard;
    let Some(endpoint) = state.place(node) else {
        return;
    };
    let Some(voice) = state.router.voice(endpoint) else {
        return;
    };
    let link = if newest {
        state.sight.recent.observe(header, voice, now.mono)
    } else {
        state.sight.recent.fill(header, now.mono)
    };
    state
        .sight
        .on_link(&link, &mut state.router, &inner.reads.falls, now);
    inner.tell(guard);
}

async fn fetch(
    pool: &Weak<Inner>,
    node: &Arc<Node>,
    method: &'static str,
    params: &str,
    timeout: Duration,
) -> Option<Header> {
    let judged = aside::ask_with(pool, node, method, params, timeout).await?;
    let result = aside::result(&judged).ok()?;
    let row = lookup(method);
    let named = Named::read(row, result);
    named.check(row, &find(row, params), params, None).ok()?;
    if let Some(inner) = pool.upgrade() {
        inner.lock().sight.blooms.on_block(result);
    }
    Some(Header {
        number: named.number?,
        hash: named.hash?,
        parent: named.parent?,
    })
}
