//! What every test here begins with.

use bytes::Bytes;
use highwater::{
    Answer, CallOptions, Endpoint, Error, Payload, Pool, Request, SecretUrl,
    core::{
        ChainId,
        call::Delivery,
        jsonrpc::{self, Params, Reply},
        method,
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

/// A pool over these nodes, labelled `a`, `b`, `c`, on chain 1.
pub(crate) fn pool(nodes: &[&ScriptedNode]) -> Pool {
    let mut builder = Pool::builder()
        .chain(ChainId(1))
        .timeout(AMPLE)
        .deadline(AMPLE);
    for (node, label) in nodes.iter().zip(["a", "b", "c"]) {
        builder = builder.endpoint(Endpoint::url(url(node)).label(label));
    }
    builder.build().unwrap()
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
    let mut message = Vec::new();
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
