//! An endpoint in memory, for tests in paused time: it answers what it was told to, when it was told
//! to, and remembers what it was asked.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use highwater::{
    Builder, Endpoint, Pool,
    core::{ChainId, call::Delivery, router::Profile, settings::Settings},
    upstream::{RawReply, SendError, SendErrorKind, Upstream},
};
use highwater_lab::call::parse_calls;
use http::{HeaderMap, HeaderName, HeaderValue};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

/// What one request comes to.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    after: Duration,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    /// A member of the answer and its value.
    Member(&'static str, String),
    Body(u16, String),
    Fail(SendError),
    Hang,
}

impl Reply {
    pub(crate) fn result(json: impl Into<String>) -> Self {
        Self::of(What::Member("result", json.into()))
    }

    pub(crate) fn error(code: i64, message: &str) -> Self {
        Self::error_json(format!(r#"{{"code":{code},"message":"{message}"}}"#))
    }

    pub(crate) fn error_json(json: impl Into<String>) -> Self {
        Self::of(What::Member("error", json.into()))
    }

    pub(crate) fn body(status: u16, body: &str) -> Self {
        Self::of(What::Body(status, body.into()))
    }

    pub(crate) fn refused() -> Self {
        Self::fail(SendErrorKind::Connect, Delivery::NotSent)
    }

    pub(crate) fn reset() -> Self {
        Self::fail(SendErrorKind::Reset, Delivery::MaybeSent)
    }

    pub(crate) fn hang() -> Self {
        Self::of(What::Hang)
    }

    fn fail(kind: SendErrorKind, delivery: Delivery) -> Self {
        Self::of(What::Fail(SendError { kind, delivery }))
    }

    const fn of(what: What) -> Self {
        Self {
            after: Duration::from_millis(1),
            what,
        }
    }

    /// How long it takes; 1 ms unless said.
    pub(crate) const fn after(mut self, after: Duration) -> Self {
        self.after = after;
        self
    }
}

/// One request as the endpoint saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) at: Instant,
    pub(crate) method: String,
    pub(crate) params: String,
}

type Rule = Box<dyn FnMut(&str) -> Reply + Send>;

/// An endpoint in memory. Clones are the same one.
#[derive(Clone, Default)]
pub(crate) struct Fake(Arc<Way>);

/// The way to it: one transport, however often it is put into a pool.
#[derive(Default)]
struct Way(Arc<Inner>);

#[derive(Default)]
struct Inner {
    rules: Mutex<BTreeMap<String, Rule>>,
    everything: Mutex<Option<Reply>>,
    headers: Mutex<HeaderMap>,
    seen: Mutex<Vec<Seen>>,
    open: AtomicUsize,
}

impl Fake {
    /// On chain 1, at block 100.
    pub(crate) fn new() -> Self {
        Self::at(100)
    }

    /// On chain 1, at this block.
    pub(crate) fn at(head: u64) -> Self {
        let fake = Self::default();
        fake.on("eth_chainId", Reply::result("\"0x1\""));
        fake.head(head);
        fake
    }

    /// Its head from now on.
    pub(crate) fn head(&self, height: u64) {
        self.on("eth_blockNumber", Reply::result(format!("\"{height:#x}\"")));
    }

    /// What it answers to a method from now on.
    pub(crate) fn on(&self, method: &str, reply: Reply) {
        self.answer(method, move |_| reply.clone());
    }

    /// The same, by the parameters.
    pub(crate) fn answer(&self, method: &str, rule: impl FnMut(&str) -> Reply + Send + 'static) {
        let mut rules = self.0.0.rules.lock().unwrap();
        rules.insert(method.to_owned(), Box::new(rule));
    }

    /// What it answers to everything, until it is told `None`.
    pub(crate) fn everything(&self, reply: Option<Reply>) {
        *self.0.0.everything.lock().unwrap() = reply;
    }

    /// A header of all its answers.
    pub(crate) fn header(&self, name: &'static str, value: &'static str) {
        let mut headers = self.0.0.headers.lock().unwrap();
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }

    /// The transport to it.
    pub(crate) fn way(&self) -> Arc<dyn Upstream> {
        Arc::<Way>::clone(&self.0)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.0.0.seen.lock().unwrap().clone()
    }

    /// Requests of this method.
    pub(crate) fn count(&self, method: &str) -> usize {
        self.seen()
            .iter()
            .filter(|seen| seen.method == method)
            .count()
    }

    /// Requests of calls: chain checks, probes and capabilities not counted.
    pub(crate) fn sent(&self) -> usize {
        let aside = ["eth_chainId", "eth_blockNumber", "eth_capabilities"];
        let seen = self.seen();
        let calls = seen.iter().filter(|seen| !aside.contains(&&*seen.method));
        calls.count()
    }

    /// Requests that were neither answered nor given up.
    pub(crate) fn open(&self) -> usize {
        self.0.0.open.load(Ordering::SeqCst)
    }
}

impl Inner {
    fn reply(&self, method: &str, params: &str) -> Reply {
        if let Some(reply) = &*self.everything.lock().unwrap() {
            return reply.clone();
        }
        let mut rules = self.rules.lock().unwrap();
        match rules.get_mut(method) {
            Some(rule) => rule(params),
            None => Reply::error(-32601, "the method does not exist/is not available"),
        }
    }
}

/// Counts one open request.
struct Open(Arc<Inner>);

impl Open {
    fn new(inner: &Arc<Inner>) -> Self {
        inner.open.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(inner))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Upstream for Way {
    fn send(
        &self,
        message: Bytes,
        _timeout: Duration,
    ) -> BoxFuture<'static, Result<RawReply, SendError>> {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            let (_, calls) = parse_calls(&message);
            let call = calls[0].clone();
            let params = call.params.unwrap_or_default();
            let _open = Open::new(&inner);
            inner.seen.lock().unwrap().push(Seen {
                at: Instant::now(),
                method: call.method.clone(),
                params: params.clone(),
            });
            let reply = inner.reply(&call.method, &params);
            let id = call.id.unwrap();
            let (status, body) = match reply.what {
                What::Hang => std::future::pending().await,
                What::Fail(error) => {
                    tokio::time::sleep(reply.after).await;
                    return Err(error);
                }
                What::Member(name, value) => {
                    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"{name}":{value}}}"#);
                    (200, body)
                }
                What::Body(status, body) => (status, body),
            };
            tokio::time::sleep(reply.after).await;
            let headers = inner.headers.lock().unwrap().clone();
            Ok(RawReply {
                status,
                headers,
                body: body.into(),
            })
        })
    }
}

/// Options under which nothing happens beside the calls and their chain checks.
pub(crate) fn still() -> Settings {
    Settings {
        probe: None,
        race: 0,
        reads: highwater::core::settings::ReadSettings::off(),
        ..Settings::default()
    }
}

/// A pool over endpoints in memory, labelled `a`, `b`, `c`…, on chain 1, all of one tier.
pub(crate) fn pool(fakes: &[&Fake], settings: Settings) -> Pool {
    builder(fakes, settings).build().unwrap()
}

/// The same, to be set further.
pub(crate) fn builder(fakes: &[&Fake], settings: Settings) -> Builder {
    let profiles = fakes.iter().map(|_| Profile::default()).collect();
    with_profiles(fakes, profiles, settings)
}

/// The same, each a tier of its own: they are asked in this order.
pub(crate) fn tiered(fakes: &[&Fake], settings: Settings) -> Pool {
    let profile = |tier| Profile {
        tier,
        ..Profile::default()
    };
    let profiles = (0..).take(fakes.len()).map(profile).collect();
    with_profiles(fakes, profiles, settings).build().unwrap()
}

pub(crate) fn with_profiles(
    fakes: &[&Fake],
    profiles: Vec<Profile>,
    settings: Settings,
) -> Builder {
    let builder = Pool::builder().chain(ChainId(1)).settings(settings).seed(1);
    let endpoints = fakes.iter().zip(profiles).zip('a'..);
    endpoints.fold(builder, |builder, ((fake, profile), label)| {
        builder.endpoint(endpoint(fake, label).profile(profile))
    })
}

/// An endpoint in memory under a label.
pub(crate) fn endpoint(fake: &Fake, label: impl Into<String>) -> Endpoint {
    Endpoint::upstream(label, fake.way())
}

/// So many milliseconds.
pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// So many seconds.
pub(crate) const fn s(n: u64) -> Duration {
    Duration::from_secs(n)
}
