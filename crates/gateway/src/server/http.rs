//! One HTTP request on the RPC listener.
//!
//! The order matters: `Host` and `Origin` are judged before anything else is read (hardening A1 to
//! A4), then verb and content type, then the body within its bounds. A refusal that is the
//! caller's own fault (no key, no such chain, a limit) waits until the body is parsed, because its
//! answer carries the caller's ids; it still costs no upstream call.

use super::{
    body::{self, BodyFault, Coding},
    cors::{Origin, OriginRule},
    encode,
    io::Signs,
    rare::{CACHE, REQUEST_TIMEOUT, Rare},
    reply::{CLOSE, Reply},
    route::Route,
    wishes::Wishes,
};
use crate::{
    auth::Key,
    batch, detached,
    dispatch::{Caller, Outcome, dispatch},
    health,
    load::Gauge,
    respond::Refusal,
    shutdown::Phase,
    state::Shared,
};
use bytes::Bytes;
use highwater::{Answer, Origin as From};
use highwater_core::jsonrpc::{Call, Fault, Message, parse};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Version,
    header::{
        ALLOW, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HOST, TRANSFER_ENCODING, UPGRADE, VARY,
    },
    request::Parts,
};
use http_body_util::Full;
use hyper::body::Incoming;
use std::{
    convert::Infallible,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

/// Longest path with its query. None of ours comes near it.
const MAX_TARGET: usize = 8 * 1024;
/// When to come back after the gateway's own limit: long enough for a burst to pass.
const COME_BACK: Duration = Duration::from_secs(1);

const GZIP: HeaderValue = HeaderValue::from_static("gzip");
const ALLOWED: HeaderValue = HeaderValue::from_static("POST, GET, HEAD, OPTIONS");
const ALLOWED_PROBE: HeaderValue = HeaderValue::from_static("GET, HEAD");
const ALLOWED_CALL: HeaderValue = HeaderValue::from_static("POST, OPTIONS");
const ENDPOINT: HeaderName = HeaderName::from_static("x-highwater-endpoint");
const BLOCK: HeaderName = HeaderName::from_static("x-highwater-block");
const ATTEMPTS: HeaderName = HeaderName::from_static("x-highwater-attempts");

/// The client at the other end of one connection.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) signs: Arc<Signs>,
}

/// Answers one request. Dropping the future abandons what it started.
pub(crate) async fn serve(
    peer: Arc<Peer>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let shared = &*peer.shared;
    let (parts, body) = request.into_parts();
    let rare = Rare::of(&parts.headers);
    let mut reply = match judge(shared, &parts, rare) {
        Err(refused) => left_unread(&peer, &parts, refused.reply()),
        Ok(origin) => {
            let mut reply = route(&peer, &parts, rare, body, &origin).await;
            shared.origins.answer(&origin, &mut reply.headers);
            reply
        }
    };
    // After a chunked body the boundary guard does not follow the connection any further.
    if shared.shutdown.reached(Phase::Draining) || rare.chunked {
        reply.headers.insert(CONNECTION, CLOSE);
    }
    let mut response = Response::new(Full::new(reply.body));
    *response.status_mut() = reply.status;
    *response.headers_mut() = reply.headers;
    Ok(response)
}

/// Why a head is refused.
#[derive(Clone, Copy)]
enum Unheard {
    Bare(StatusCode),
    Host,
    Origin,
}

impl Unheard {
    fn reply(self) -> Reply {
        match self {
            Self::Bare(status) => Reply::empty(status).closing(),
            Self::Host => Reply::refused(&Refusal::Host, None),
            Self::Origin => Reply::refused(&Refusal::Origin, None),
        }
    }
}

/// Who may talk to us at all.
fn judge(shared: &Shared, parts: &Parts, rare: Rare) -> Result<Origin, Unheard> {
    if parts
        .uri
        .path_and_query()
        .is_some_and(|target| target.as_str().len() > MAX_TARGET)
    {
        return Err(Unheard::Bare(StatusCode::URI_TOO_LONG));
    }
    let mut hosts = parts.headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => {
            if !shared.host.accepts(host.as_bytes()) {
                return Err(Unheard::Host);
            }
        }
        // HTTP/1.0 knows no Host; nobody in a browser speaks it.
        (None, None) if parts.version == Version::HTTP_10 => {}
        (_, _) => return Err(Unheard::Bare(StatusCode::BAD_REQUEST)),
    }
    if let Some(authority) = parts.uri.authority()
        && !shared.host.accepts(authority.as_str().as_bytes())
    {
        return Err(Unheard::Host);
    }
    if !rare.origin {
        return Ok(Origin::None);
    }
    let checked = shared.origins.check(&parts.headers);
    checked.map_err(|()| Unheard::Origin)
}

/// A reply that was given without reading the body: where one is on its way, the connection is
/// closed, and gently, since a reset would overtake the reply.
fn left_unread(peer: &Peer, parts: &Parts, reply: Reply) -> Reply {
    let has_body = parts.headers.contains_key(TRANSFER_ENCODING)
        || parts
            .headers
            .get("content-length")
            .is_some_and(|length| length != "0");
    if has_body {
        peer.signs.linger.store(true, Relaxed);
        reply.closing()
    } else {
        reply
    }
}

async fn route(
    peer: &Arc<Peer>,
    parts: &Parts,
    rare: Rare,
    body: Incoming,
    origin: &Origin,
) -> Reply {
    let shared = &*peer.shared;
    let route = shared.routes.find(parts.uri.path(), |chain| {
        shared
            .chains
            .get(chain)
            .and_then(|chain| chain.pool.chain_id())
    });
    let probe = parts.method == Method::GET || parts.method == Method::HEAD;
    match &route {
        Route::Health | Route::Ready if !probe => {
            return left_unread(peer, parts, Reply::not_allowed(ALLOWED_PROBE));
        }
        Route::Health => return left_unread(peer, parts, Reply::text(health::live())),
        Route::Ready => return left_unread(peer, parts, Reply::text(health::ready(shared))),
        Route::Chain { .. } | Route::Unknown(_) => {}
    }
    if parts.method == Method::POST {
        return call(peer, parts, rare, body, route, origin).await;
    }
    let reply = if parts.method == Method::OPTIONS {
        let mut reply = Reply::empty(StatusCode::NO_CONTENT);
        reply.headers.insert(ALLOW, ALLOWED);
        OriginRule::preflight(origin, &parts.headers, &mut reply.headers);
        reply
    } else if !probe {
        Reply::not_allowed(ALLOWED)
    } else if parts.headers.contains_key(UPGRADE) {
        Reply::not_allowed(ALLOWED_CALL)
    } else {
        match (&route, parts.uri.query()) {
            // Load balancers probe the path that they send calls to.
            _ if parts.uri.path() == "/" && parts.uri.query().is_none() => {
                Reply::empty(StatusCode::OK)
            }
            (Route::Unknown(refusal), _) => Reply::refused(refusal, None),
            (_, None) => Reply::empty(StatusCode::OK),
            // Never a call in a URL: any page can make a browser fetch one.
            (_, Some(_)) => Reply::not_allowed(ALLOWED_CALL),
        }
    };
    left_unread(peer, parts, reply)
}

/// What a request may reach, as far as its head tells.
struct Grant<'a> {
    chain: usize,
    key: Option<(usize, &'a Key)>,
}

fn grant<'a>(
    shared: &'a Shared,
    parts: &Parts,
    route: Route<'_>,
    origin: &Origin,
) -> Result<Grant<'a>, Refusal<'static>> {
    let (chain, path_key) = match route {
        Route::Chain { chain, key } => (chain, key),
        Route::Unknown(refusal) => return Err(refusal),
        Route::Health | Route::Ready => return Err(Refusal::Route),
    };
    let at = shared
        .auth
        .identify(&parts.headers, parts.uri.query(), path_key)
        .map_err(Refusal::Key)?;
    match at {
        Some(at) => {
            let key = shared.auth.key(at);
            key.reaches(chain, origin).map_err(Refusal::Key)?;
            Ok(Grant {
                chain,
                key: Some((at, key)),
            })
        }
        None => match origin {
            // Allowed only for the pages of some key, and there are no keys, or this is not one.
            Origin::Accepted {
                everybody: false, ..
            } => Err(Refusal::Origin),
            Origin::Accepted {
                everybody: true, ..
            }
            | Origin::None => Ok(Grant { chain, key: None }),
        },
    }
}

async fn call(
    peer: &Arc<Peer>,
    parts: &Parts,
    rare: Rare,
    body: Incoming,
    route: Route<'_>,
    origin: &Origin,
) -> Reply {
    let shared = &*peer.shared;
    if let Some(text) = refused_type(&parts.headers) {
        return left_unread(peer, parts, Reply::refused(&Refusal::MediaType(text), None));
    }
    let coding = if rare.encoded {
        Coding::of(&parts.headers)
    } else {
        Some(Coding::Identity)
    };
    let Some(coding) = coding else {
        let refusal = Refusal::MediaType("of content codings only gzip is accepted");
        return left_unread(peer, parts, Reply::refused(&refusal, None));
    };
    let grant = grant(shared, parts, route, origin);
    let limits = &shared.server;
    let reading = body::read(
        body,
        coding,
        limits.max_body,
        limits.body_timeout,
        &shared.bodies,
    );
    let body = match reading.await {
        Ok(body) => body,
        Err(fault) => {
            let refusal = match fault {
                BodyFault::Large => Refusal::LargeBody,
                BodyFault::Slow => Refusal::SlowBody,
                BodyFault::Garbled => Refusal::Fault(highwater_core::jsonrpc::FaultKind::Parse),
                BodyFault::Crowded => Refusal::Limit {
                    retry_after: COME_BACK,
                },
                BodyFault::Gone => return Reply::empty(StatusCode::BAD_REQUEST).closing(),
            };
            let reply = Reply::refused(&refusal, None);
            return match fault {
                BodyFault::Garbled => reply,
                BodyFault::Large | BodyFault::Slow | BodyFault::Crowded | BodyFault::Gone => {
                    peer.signs.linger.store(true, Relaxed);
                    reply.closing()
                }
            };
        }
    };
    let message = parse(&body.bytes, &shared.limits);
    let grant = match grant {
        Ok(_) if shared.shutdown.reached(Phase::Closing) => Err(Refusal::Draining),
        other => other,
    };
    let grant = match grant {
        Ok(grant) => grant,
        Err(refusal) => return Reply::refused(&refusal, message.as_ref().ok()),
    };
    let message = match message {
        Ok(message) => message,
        Err(fault) => return Reply::refused(&Refusal::Fault(fault.kind), None),
    };
    let at_once = match &message {
        Message::Single(_) => 1,
        Message::Batch(items) => items.len().clamp(1, batch::PARALLEL),
    };
    let Some(_permit) = Gauge::take(&shared.in_flight, at_once) else {
        return Reply::refused(
            &Refusal::Limit {
                retry_after: COME_BACK,
            },
            Some(&message),
        );
    };
    let wishes = match Wishes::of(&parts.headers, rare) {
        Ok(wishes) => wishes,
        Err(refusal) => return Reply::refused(&refusal, Some(&message)),
    };
    let caller = Caller {
        shared: &peer.shared,
        chain: &shared.chains[grant.chain],
        key: grant.key.map(|(_, key)| key),
        patience: rare.timeout.then(|| patience(&parts.headers)).flatten(),
        wishes,
        batch: None,
    };
    let forget = |call: &Call<'_>| {
        detached::notification(
            &peer.shared,
            grant.chain,
            grant.key.map(|(at, _)| at),
            caller.patience,
            call,
        );
    };
    let reply = match &message {
        Message::Single(item) => single(&caller, item, forget).await,
        Message::Batch(items) => match batch::run(&caller, items, forget).await {
            body if body.is_empty() => Reply::empty(StatusCode::OK),
            body => Reply::json(StatusCode::OK, body),
        },
    };
    if rare.accepts {
        compressed(reply, &parts.headers).await
    } else {
        reply
    }
}

async fn single(
    caller: &Caller<'_>,
    item: &Result<Call<'_>, Fault<'_>>,
    forget: impl Fn(&Call<'_>),
) -> Reply {
    let call = match item {
        Ok(call) => call,
        Err(fault) => {
            let mut out = Vec::new();
            Refusal::Fault(fault.kind).wire().write(&mut out, fault.id);
            return Reply::json(StatusCode::OK, out);
        }
    };
    let Some(id) = call.id else {
        forget(call);
        return Reply::empty(StatusCode::OK);
    };
    let outcome = dispatch(caller, call).await;
    let mut out = Vec::with_capacity(batch::length(id, &outcome));
    batch::write(&mut out, id, &outcome);
    let mut reply = Reply::json(StatusCode::OK, out);
    if caller.shared.server.response_headers
        && let Outcome::Answer(answer) = &outcome
    {
        // A label that is no legal header value is left out (hardening A11).
        if let Some(label) = visible(answer.endpoint()) {
            reply.headers.insert(ENDPOINT, label);
        }
        reply
            .headers
            .insert(ATTEMPTS, HeaderValue::from(answer.attempts()));
        let cache = if caller.wishes.bypass {
            Some("bypass")
        } else {
            cache_word(answer)
        };
        if let Some(word) = cache {
            reply.headers.insert(CACHE, HeaderValue::from_static(word));
        }
        if let Some(block) = answer.block() {
            reply.headers.insert(BLOCK, HeaderValue::from(block));
        }
    }
    reply
}

/// What `X-Highwater-Cache` says of an answer.
const fn cache_word(answer: &Answer) -> Option<&'static str> {
    match answer.origin() {
        From::Cache => Some("hit"),
        From::Endpoint | From::Shared => Some("miss"),
        // No endpoint's answer at all.
        From::Heads | From::Filters => None,
    }
}

/// A header value of visible ASCII only.
fn visible(text: &str) -> Option<HeaderValue> {
    let plain = text.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    plain.then(|| HeaderValue::from_str(text).ok()).flatten()
}

async fn compressed(mut reply: Reply, headers: &HeaderMap) -> Reply {
    if encode::wants_gzip(headers)
        && let Some(packed) = encode::gzip(&reply.body).await
    {
        reply.body = packed;
        reply.headers.insert(CONTENT_ENCODING, GZIP);
        reply
            .headers
            .append(VARY, HeaderValue::from_static("Accept-Encoding"));
    }
    reply
}

/// Why a content type is refused. Pages can send forms without asking first; no client of a node
/// sends them. Everything JSON, plain text and nothing at all is accepted, as real clients differ.
fn refused_type(headers: &HeaderMap) -> Option<&'static str> {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let value = values.next()?;
    if values.next().is_some() {
        return Some("more than one content type");
    }
    let essence = value
        .as_bytes()
        .split(|b| *b == b';')
        .next()
        .unwrap_or_default()
        .trim_ascii();
    if essence.eq_ignore_ascii_case(b"application/json") || essence.is_empty() {
        return None;
    }
    let Ok(essence) = std::str::from_utf8(essence) else {
        return Some("content type not accepted");
    };
    let essence = essence.to_ascii_lowercase();
    match &*essence {
        "application/json-rpc" | "application/jsonrequest" | "text/plain" | "text/json" => None,
        "application/x-www-form-urlencoded" | "multipart/form-data" => {
            Some("forms are not accepted")
        }
        other if other.starts_with("application/") && other.ends_with("+json") => None,
        _ => Some("content type not accepted"),
    }
}

/// How long a caller wants to wait at most.
fn patience(headers: &HeaderMap) -> Option<Duration> {
    duration(headers.get(REQUEST_TIMEOUT)?.to_str().ok()?.trim())
}

/// `300ms`, `5s`, `1m`, or bare milliseconds; at least one millisecond.
fn duration(text: &str) -> Option<Duration> {
    let digits = text
        .bytes()
        .take_while(|b| b.is_ascii_digit() || *b == b'.')
        .count();
    let (number, unit) = text.split_at(digits);
    let scale = match unit.trim() {
        "" | "ms" => 1.0,
        "s" => 1000.0,
        "m" => 60_000.0,
        _ => return None,
    };
    let millis = number.parse::<f64>().ok()? * scale;
    (millis >= 1.0)
        .then(|| Duration::try_from_secs_f64(millis / 1000.0).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::{duration, patience, visible};
    use http::{HeaderMap, HeaderValue};
    use std::time::Duration;

    #[test]
    fn a_callers_deadline_is_a_duration_or_bare_milliseconds() {
        let ms = |n| Some(Duration::from_millis(n));
        for (text, expected) in [
            ("300ms", ms(300)),
            ("5s", ms(5000)),
            ("250", ms(250)),
            ("1.5s", ms(1500)),
            ("1m", ms(60_000)),
            ("1", ms(1)),
            ("0", None),
            ("0.5ms", None),
            ("", None),
            ("s", None),
            ("-5", None),
            ("5h", None),
            ("NaN", None),
            ("1e3", None),
            ("99999999999999999999999s", None),
        ] {
            assert_eq!(duration(text), expected, "{text}");
        }
        let of = |text: &'static str| {
            let value = HeaderValue::from_static(text);
            patience(&HeaderMap::from_iter([(super::REQUEST_TIMEOUT, value)]))
        };
        assert_eq!(of(" 300ms"), ms(300));
        assert_eq!(of("nonsense"), None);
        assert_eq!(patience(&HeaderMap::new()), None);
    }

    // hardening A11
    #[test]
    fn only_visible_ascii_becomes_a_header() {
        assert_eq!(visible("alchemy eu-1").unwrap(), "alchemy eu-1");
        for label in ["a\r\nSet-Cookie: x", "a\nb", "a\u{7f}", "é", "a\tb", "\0"] {
            assert_eq!(visible(label), None, "{label:?}");
        }
    }
}
