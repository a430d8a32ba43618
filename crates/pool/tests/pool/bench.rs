//! What every test here begins with.

use bytes::Bytes;
use highwater::{
    Answer, Builder, CallOptions, Endpoint, Error, Payload, Pool, Request, SecretUrl,
    core::{
        ChainId,
        call::Delivery,
        jsonrpc::{self, Params, Reply},
        method,
        router::Profile,
        settings::{RetryCount, Settings},
    },
    upstream::{HttpOptions, HttpUpstream, RawReply, SendError, SendErrorKind},
};
use highwater_lab::sockets::ScriptedNode;
use std::time::Duration;

/// Longer than any test takes: a limit that must not be reached.
pub(crate) const AMPLE: Duration = Duration::from_secs(60);
/// A limit that is meant to be reached.
pub(crate) const SHORT: Duration = Duration::from_millis(80);

pub(crate) fn url(node: &ScriptedNode) -> SecretUrl {
    SecretUrl::parse(&node.url()).unwrap()
}

pub(crate) fn upstream(node: &ScriptedNode, options: HttpOptions) -> HttpUpstream {
    HttpUpstream::new(&url(node), options).unwrap()
}

/// Nothing is sent beside the calls and their chain checks, and a call that has asked each of so many
/// endpoints is over: tests with real sockets wait for no clock.
pub(crate) fn quiet(endpoints: usize) -> Settings {
    let mut settings = Settings {
        probe: None,
        reads: highwater::core::settings::ReadSettings::off(),
        ..Settings::default()
    };
    settings.retry.count = RetryCount::Times(u16::try_from(endpoints - 1).unwrap());
    settings.retry.max_wait = Duration::ZERO;
    settings
}

/// A pool over these nodes, labelled `a`, `b`, `c`, on chain 1. Each is a tier of its own, so they
/// are asked in this order, and every call begins with the first that can serve.
pub(crate) fn pool(nodes: &[&ScriptedNode]) -> Pool {
    builder(nodes).build().unwrap()
}

/// The same, to be set further.
pub(crate) fn builder(nodes: &[&ScriptedNode]) -> Builder {
    let mut builder = Pool::builder()
        .chain(ChainId(1))
        .timeout(AMPLE)
        .deadline(AMPLE)
        .settings(quiet(nodes.len()));
    for ((node, label), tier) in nodes.iter().zip(["a", "b", "c"]).zip(0..) {
        let profile = Profile {
            tier,
            ..Profile::default()
        };
        let endpoint = Endpoint::url(url(node)).label(label);
        builder = builder.endpoint(endpoint.profile(profile));
    }
    builder
}

pub(crate) async fn call(pool: &Pool, method: &str, params: &str) -> Result<Answer, Error> {
    call_within(pool, method, params, CallOptions::default()).await
}

pub(crate) async fn call_within(
    pool: &Pool,
    method: &str,
    params: &str,
    options: CallOptions,
) -> Result<Answer, Error> {
    let request = Request {
        method,
        descriptor: method::lookup(method),
        params: Params::Array(params),
    };
    pool.request(request, options).await
}

/// A read that must end with a result.
pub(crate) async fn result(pool: &Pool, method: &str) -> String {
    match call(pool, method, "[]").await.unwrap().payload() {
        Payload::Result(result) => result.to_owned(),
        Payload::Error(error) => panic!("an error: {error}"),
    }
}

/// A call that must end with an endpoint's own error.
pub(crate) async fn own_error(pool: &Pool, method: &str) -> String {
    match call(pool, method, "[]").await.unwrap().payload() {
        Payload::Result(result) => panic!("a result: {result}"),
        Payload::Error(error) => error.to_owned(),
    }
}

/// One request with the id 1.
pub(crate) async fn send(upstream: &HttpUpstream, method: &str) -> Result<RawReply, SendError> {
    send_within(upstream, method, AMPLE).await
}

pub(crate) async fn send_within(
    upstream: &HttpUpstream,
    method: &str,
    timeout: Duration,
) -> Result<RawReply, SendError> {
    upstream.exchange(message(method), timeout).await
}

pub(crate) fn message(method: &str) -> Bytes {
    let mut message = String::new();
    jsonrpc::write_request(&mut message, 1, method, Params::Array("[]"));
    message.into()
}

/// The result in a raw answer to the request with the id 1.
pub(crate) fn result_of(reply: &RawReply) -> &str {
    match jsonrpc::parse_reply(&reply.body, 1).unwrap() {
        Reply::Result(result) => result,
        Reply::Error(error) => panic!("an error: {}", error.raw),
    }
}

pub(crate) fn unsent(kind: SendErrorKind) -> SendError {
    SendError {
        kind,
        delivery: Delivery::NotSent,
    }
}

pub(crate) fn maybe_sent(kind: SendErrorKind) -> SendError {
    SendError {
        kind,
        delivery: Delivery::MaybeSent,
    }
}
