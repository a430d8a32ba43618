//! One attempt over HTTP, from a free connection to the last byte.
//!
//! A request is written once. The only case in which it is written again is that nothing of it was
//! written the first time: the server had closed the unused connection (semantics W2). Redirects are answers like any other; following one
//! would hand the request, and the credential, to a third party (hardening C12).

use super::{
    RawReply, SendError, SendErrorKind, Upstream,
    body::Collector,
    clock::{Clock, FAR},
    dial::{Spoken, Target},
    exchange::{Broken, Exchange},
    fault::is_refused_stream,
    head::Fields,
    lane::{Ages, Lane, Shared},
    link::Link,
    options::HttpOptions,
    outgoing::Opening,
    stream::Stream,
};
use crate::{ConfigError, SecretUrl, worker};
use ::http::{HeaderMap, HeaderValue, Method, Request, Uri, header, uri};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body::Body as _;
use http_body_util::Full;
use hyper::{
    body::Incoming,
    client::conn::{TrySendError, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::{
    fmt,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    runtime::{self, Handle},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

/// Whether a request that is lost on the way may be made again elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// A read: another endpoint answers.
    Elsewhere,
    /// A submission: a connection is looked at before it is used, however fresh it is.
    Never,
}

/// A connection that lay unused this long is looked at before it is used; below, a close by the
/// other side is unlikely, and the look would cost a busy gateway a turn of its event loop.
const FRESH: Duration = Duration::from_millis(100);
/// How often a silent HTTP/2 connection with open requests is asked for a sign of life, and how
/// long the sign may take. Only that condemns it; a slow answer does not.
const PING_EVERY: Duration = Duration::from_secs(10);
const PING_WAIT: Duration = Duration::from_secs(5);

/// An endpoint behind an HTTP URL, with connections of its own. Cheap to clone.
#[derive(Clone)]
pub struct HttpUpstream(Arc<Inner>);

struct Inner {
    host: String,
    target: Target,
    opening: Opening,
    multiplexed: Head,
    options: HttpOptions,
    lanes: Box<[Arc<Lane>]>,
    /// Whether the server was seen to speak HTTP/2.
    speaks_http2: AtomicBool,
    /// Whether it was seen to speak HTTP/1.1 over TLS.
    speaks_http1: AtomicBool,
    permits: Option<Arc<Semaphore>>,
    waiting: AtomicUsize,
}

/// What is the same in every request over HTTP/2.
struct Head {
    uri: Uri,
    headers: HeaderMap,
}

impl HttpUpstream {
    /// Prepares the way to `url`; does no I/O.
    ///
    /// # Errors
    /// An option out of range, by name.
    pub fn new(url: &SecretUrl, options: HttpOptions) -> Result<Self, ConfigError> {
        options.check()?;
        let bad = || ConfigError::new("url", "cannot be used as an HTTP target");
        let target = Target::new(url.expose(), &options.extra_roots).ok_or_else(bad)?;
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        headers.insert(
            header::USER_AGENT,
            HeaderValue::from_static(concat!("highwater/", env!("CARGO_PKG_VERSION"))),
        );
        if options.gzip.unwrap_or(target.is_tls()) {
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        }
        if let Some(basic) = url.basic() {
            let mut value = HeaderValue::try_from(basic).map_err(|_| bad())?;
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        let authority = match url.expose().port() {
            Some(port) => format!("{}:{port}", url.host()),
            None => url.host().to_owned(),
        };
        let path = match url.expose().query() {
            Some(query) => format!("{}?{query}", url.expose().path()),
            None => url.expose().path().to_owned(),
        };
        let whole = Uri::builder()
            .scheme(uri::Scheme::HTTPS)
            .authority(authority.as_str())
            .path_and_query(path.as_str())
            .build()
            .map_err(|_| bad())?;
        let opening = Opening::new(&path, &authority, &headers);
        // Its place is filled in each request. Were it added there, the copied map would have to grow.
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
        let multiplexed = Head {
            uri: whole,
            headers,
        };
        let ages = Ages {
            idle: options.idle_timeout,
            total: options.max_age,
            max_idle: options.max_idle,
        };
        Ok(Self(Arc::new(Inner {
            host: url.host().to_owned(),
            target,
            opening,
            multiplexed,
            lanes: (0..options.lanes).map(|_| Lane::new(ages)).collect(),
            speaks_http2: AtomicBool::new(false),
            speaks_http1: AtomicBool::new(false),
            permits: options
                .max_connections
                .map(|most| Arc::new(Semaphore::new(most))),
            waiting: AtomicUsize::new(0),
            options,
        })))
    }

    /// The bare host name.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.0.host
    }

    /// As [`Upstream::send`], without a box for the future.
    ///
    /// Cancellation: dropping the future abandons the request. An HTTP/1.1 connection that carried
    /// it is closed, an HTTP/2 stream reset.
    ///
    /// # Errors
    /// The request failed below JSON-RPC.
    pub async fn exchange(&self, message: Bytes, timeout: Duration) -> Result<RawReply, SendError> {
        let fields = Fields::All;
        self.0
            .exchange(message, timeout, Repeat::Never, fields)
            .await
    }

    /// As [`HttpUpstream::exchange`], for a request that may or may not be repeated elsewhere, and
    /// with those headers alone that an answer is judged by.
    pub(crate) async fn exchange_as(
        &self,
        message: Bytes,
        timeout: Duration,
        repeat: Repeat,
    ) -> Result<RawReply, SendError> {
        let fields = Fields::Read;
        self.0.exchange(message, timeout, repeat, fields).await
    }
}

impl Upstream for HttpUpstream {
    fn send(
        &self,
        message: Bytes,
        timeout: Duration,
    ) -> BoxFuture<'static, Result<RawReply, SendError>> {
        let upstream = self.clone();
        Box::pin(async move {
            let (repeat, fields) = (Repeat::Never, Fields::All);
            upstream.0.exchange(message, timeout, repeat, fields).await
        })
    }
}

impl fmt::Debug for HttpUpstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpUpstream")
            .field("host", &self.0.host)
            .finish_non_exhaustive()
    }
}

/// What to send on.
enum Way {
    Own(Link),
    Shared(http2::SendRequest<Full<Bytes>>),
}

/// How a try on one connection ended.
enum Tried {
    Answered(RawReply),
    /// The connection was dead before anything was written.
    Dead,
    Failed(SendError),
}

impl Inner {
    async fn exchange(
        &self,
        message: Bytes,
        timeout: Duration,
        repeat: Repeat,
        fields: Fields,
    ) -> Result<RawReply, SendError> {
        let start = Instant::now();
        let end = start + timeout.min(FAR);
        let mut clock = Clock {
            sleep: pin!(tokio::time::sleep_until(end)),
            limit: end,
        };
        let runtime = Handle::current().id();
        let lane = &self.lanes[worker::current() % self.lanes.len()];
        loop {
            let (way, warm) = match self.ready(lane, runtime, start, repeat).await {
                Some(way) => (way, true),
                None => {
                    let opening = Box::pin(self.open(lane, runtime));
                    let limit = end.min(start + self.options.connect_timeout);
                    (clock.within(limit, opening).await?, false)
                }
            };
            let tried = match way {
                Way::Own(link) => {
                    let exchange = Exchange::new(link, &self.opening, &message, fields, repeat);
                    self.try_own(lane, exchange, &mut clock, end).await
                }
                // Boxed: over HTTP/1 every call's future would be larger by it.
                Way::Shared(sender) => {
                    Box::pin(self.try_shared(sender, message.clone(), &mut clock, end)).await
                }
            };
            match tried {
                Tried::Answered(reply) => return Ok(reply),
                Tried::Failed(error) => return Err(error),
                Tried::Dead if warm => {}
                Tried::Dead => return Err(SendError::unsent(SendErrorKind::Reset)),
            }
        }
    }

    /// A connection that is there already.
    async fn ready(
        &self,
        lane: &Lane,
        runtime: runtime::Id,
        now: Instant,
        repeat: Repeat,
    ) -> Option<Way> {
        if self.speaks_http2.load(Ordering::Relaxed)
            && let Some(sender) = lane.shared(runtime, now)
        {
            return Some(Way::Shared(sender));
        }
        loop {
            let mut link = lane.take(runtime, now)?;
            let fresh = now.saturating_duration_since(link.idle_since) <= FRESH;
            if !fresh || repeat == Repeat::Never {
                // The event loop takes its turn, so that a close that has arrived is known: without
                // word from it, a look at the socket says "nothing" and does not ask the kernel.
                tokio::task::yield_now().await;
                if !link.is_usable() {
                    continue;
                }
            }
            return Some(Way::Own(link));
        }
    }

    /// Makes a connection, or waits for the one that another caller is making.
    async fn open(&self, lane: &Arc<Lane>, runtime: runtime::Id) -> Result<Way, SendErrorKind> {
        let may_be_shared = self.target.is_tls() && !self.speaks_http1.load(Ordering::Relaxed);
        let _turn = if may_be_shared {
            let turn = lane.opening.lock().await;
            if let Some(sender) = lane.shared(runtime, Instant::now()) {
                return Ok(Way::Shared(sender));
            }
            // What the other caller found out may make this turn unnecessary.
            (!self.speaks_http1.load(Ordering::Relaxed)).then_some(turn)
        } else {
            None
        };
        let permit = self.permit().await;
        let (stream, spoken) = self.target.connect().await?;
        match spoken {
            Spoken::Http1 => {
                self.speaks_http1.store(true, Ordering::Relaxed);
                Ok(Way::Own(Link::new(stream, permit, runtime)))
            }
            Spoken::Http2 => {
                self.speaks_http2.store(true, Ordering::Relaxed);
                let sender = multiplex(stream).await?;
                let now = Instant::now();
                lane.share(Shared {
                    sender: sender.clone(),
                    born: now,
                    last_used: now,
                    runtime,
                    _permit: permit,
                });
                Ok(Way::Shared(sender))
            }
        }
    }

    /// Leave to have one more connection.
    async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        let permits = self.permits.as_ref()?;
        if let Ok(permit) = Arc::clone(permits).try_acquire_owned() {
            return Some(permit);
        }
        let _waiting = Waiting::new(&self.waiting);
        for lane in &self.lanes {
            lane.evict();
        }
        // The semaphore is never closed.
        Arc::clone(permits).acquire_owned().await.ok()
    }

    fn put_back(&self, lane: &Arc<Lane>, link: Link) {
        // Somebody waits for a connection to end: unused ones are in the way.
        let in_the_way = self.permits.is_some() && self.waiting.load(Ordering::Relaxed) > 0;
        if !in_the_way {
            lane.put(link);
        }
    }

    async fn try_own(
        &self,
        lane: &Arc<Lane>,
        mut exchange: Exchange<'_>,
        clock: &mut Clock<'_>,
        end: Instant,
    ) -> Tried {
        clock.set(self.head_limit(end));
        let answered = poll_fn(|cx| {
            let polled = exchange.poll_head(cx);
            clock.bound(cx, polled)
        });
        let (status, headers, stated) = match answered.await {
            Some(Ok(head)) => head,
            Some(Err(Broken::Dead)) => return Tried::Dead,
            Some(Err(Broken::Failed(kind))) => return Tried::Failed(SendError::maybe_sent(kind)),
            None if exchange.wrote() => return late(),
            None => return Tried::Failed(SendError::unsent(SendErrorKind::Timeout)),
        };
        let collected = self.collect(&headers, stated, clock, end, |cx| exchange.poll_piece(cx));
        match collected.await {
            Ok(body) => {
                if let Some(link) = exchange.finish() {
                    self.put_back(lane, link);
                }
                Tried::Answered(RawReply {
                    status,
                    headers,
                    body,
                })
            }
            Err(kind) => Tried::Failed(SendError::maybe_sent(kind)),
        }
    }

    async fn try_shared(
        &self,
        mut sender: http2::SendRequest<Full<Bytes>>,
        message: Bytes,
        clock: &mut Clock<'_>,
        end: Instant,
    ) -> Tried {
        let mut response = pin!(sender.try_send_request(self.multiplexed.request(message)));
        clock.set(self.head_limit(end));
        let answered = poll_fn(|cx| {
            let polled = response.as_mut().poll(cx);
            clock.bound(cx, polled)
        });
        let response = match answered.await {
            Some(Ok(response)) => response,
            Some(Err(refused)) => return given_up(&refused),
            None => return late(),
        };
        let (head, mut body) = response.into_parts();
        // The library holds the body to the length that its head states.
        let stated = body.size_hint().exact().unwrap_or(0);
        let collected = self.collect(&head.headers, stated, clock, end, |cx| next(&mut body, cx));
        match collected.await {
            Ok(body) => Tried::Answered(RawReply {
                status: head.status.as_u16(),
                headers: head.headers,
                body,
            }),
            Err(kind) => Tried::Failed(SendError::maybe_sent(kind)),
        }
    }

    /// Reads a body within its limits, piece by piece until there is none.
    async fn collect(
        &self,
        headers: &HeaderMap,
        stated: u64,
        clock: &mut Clock<'_>,
        end: Instant,
        mut next: impl FnMut(&mut Context<'_>) -> Poll<Option<Result<Bytes, SendErrorKind>>>,
    ) -> Result<Bytes, SendErrorKind> {
        let mut collector = Collector::new(headers, stated, self.options.max_reply)?;
        if self.options.header_timeout.is_some() {
            clock.set(end);
        }
        loop {
            let mut waited = false;
            let piece = poll_fn(|cx| {
                let polled = next(cx);
                if polled.is_pending() && !waited {
                    waited = true;
                    clock.set(end.min(Instant::now() + self.options.stall_timeout));
                }
                clock.bound(cx, polled)
            });
            match piece.await {
                Some(Some(piece)) => collector.push(piece?)?,
                Some(None) => return collector.finish(),
                None => return Err(SendErrorKind::Timeout),
            }
        }
    }

    fn head_limit(&self, end: Instant) -> Instant {
        match self.options.header_timeout {
            Some(wait) => end.min(Instant::now() + wait),
            None => end,
        }
    }
}

/// The next piece of a body over HTTP/2; `None` at its end.
fn next(body: &mut Incoming, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, SendErrorKind>>> {
    // A body of a stated length is whole with its last piece; nothing more is asked for.
    while !body.is_end_stream() {
        match ready!(Pin::new(&mut *body).poll_frame(cx)) {
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => return Poll::Ready(Some(Ok(data))),
                // Trailers say nothing to us.
                Err(_) => continue,
            },
            Some(Err(error)) => return Poll::Ready(Some(Err(SendErrorKind::of(&error)))),
            None => break,
        }
    }
    Poll::Ready(None)
}

const fn late() -> Tried {
    Tried::Failed(SendError::maybe_sent(SendErrorKind::Timeout))
}

/// What the library's refusal proves.
fn given_up(refused: &TrySendError<Request<Full<Bytes>>>) -> Tried {
    if refused.message().is_some() {
        return Tried::Dead;
    }
    let kind = SendErrorKind::of(refused.error());
    Tried::Failed(if is_refused_stream(refused.error()) {
        SendError::unsent(kind)
    } else {
        SendError::maybe_sent(kind)
    })
}

async fn multiplex(stream: Stream) -> Result<http2::SendRequest<Full<Bytes>>, SendErrorKind> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_WAIT);
    let opened = builder.handshake(TokioIo::new(stream)).await;
    let (sender, connection) = opened.map_err(|error| SendErrorKind::of(&error))?;
    // It ends when the last sender is dropped; its errors reach the requests that they break.
    tokio::spawn(connection);
    Ok(sender)
}

impl Head {
    fn request(&self, message: Bytes) -> Request<Full<Bytes>> {
        let mut headers = self.headers.clone();
        if let Some(length) = headers.get_mut(header::CONTENT_LENGTH) {
            let mut digits = itoa::Buffer::new();
            let digits = digits.format(message.len()).as_bytes();
            *length = HeaderValue::from_bytes(digits).expect("invariant: digits are a legal value");
        }
        let mut request = Request::new(Full::new(message));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = headers;
        request
    }
}

/// Counts a caller that waits for leave to open a connection.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
