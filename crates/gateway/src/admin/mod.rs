//! The admin listener (hardening C10): health details and explanations, for operators only.
//!
//! `GET /api/health`, `/api/endpoints`, `/api/reads`, `/api/explain`, `/healthz`, `/readyz`; everything else is
//! 404. The listener is on loopback by default; anywhere else it refuses to start without a token. Where a token is set every path but
//! the two probes needs it as `Authorization: Bearer`, compared in constant time. The `Host` rule
//! is the one of the RPC listener, and no web page may read anything here.

mod explanation;
mod reads;
mod standing;

use crate::{
    config::{AdminSettings, ServerSettings},
    health,
    server::host::HostRule,
    shutdown::Phase,
    state::{Shared, host_rule},
};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode,
    header::{ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HOST, ORIGIN, WWW_AUTHENTICATE},
};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use sha2::{Digest, Sha256};
use standing::{EndpointDetails, EndpointHealth};
use std::{convert::Infallible, net::IpAddr, sync::Arc, time::Duration};
use subtle::ConstantTimeEq;
use tokio::{net::TcpListener, sync::Semaphore};

/// Connections at once.
const MAX_CONNECTIONS: usize = 64;
/// Longest wait for a head, which bounds idle connections too.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// The state of the admin listener.
#[derive(Debug)]
pub(crate) struct Admin {
    shared: Arc<Shared>,
    host: HostRule,
    /// SHA-256 of the token: equal lengths make the comparison constant in time.
    token: Option<[u8; 32]>,
}

#[derive(Serialize)]
struct Health<'a> {
    status: &'static str,
    version: &'static str,
    chains: Vec<ChainHealth<'a>>,
}

#[derive(Serialize)]
struct ChainHealth<'a> {
    name: &'a str,
    id: Option<u64>,
    ready: bool,
    reference_head: Option<u64>,
    endpoints: Vec<EndpointHealth>,
}

#[derive(Serialize)]
struct Endpoints<'a> {
    chains: Vec<ChainEndpoints<'a>>,
}

#[derive(Serialize)]
struct ChainEndpoints<'a> {
    name: &'a str,
    id: Option<u64>,
    reference_head: Option<u64>,
    /// Measured, or as configured.
    block_time_ms: Option<u64>,
    /// Blocks behind that cost nothing.
    max_lag: Option<u64>,
    endpoints: Vec<EndpointDetails>,
}

#[derive(Serialize)]
struct Problem {
    error: &'static str,
}

impl Admin {
    pub(crate) fn new(
        shared: Arc<Shared>,
        own: IpAddr,
        server: &ServerSettings,
        settings: &AdminSettings,
    ) -> Self {
        let token = settings
            .token
            .as_ref()
            .map(|t| Sha256::digest(t.expose()).into());
        Self {
            shared,
            host: host_rule(own, server),
            token,
        }
    }

    /// Serves until the gateway stops.
    pub(crate) async fn serve(self: Arc<Self>, listener: TcpListener) {
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                return;
            };
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let admin = Arc::clone(&self);
            tokio::spawn(async move {
                let _place = place;
                let service = service_fn(move |request| {
                    let response = admin.answer(&request);
                    async move { Ok::<_, Infallible>(response) }
                });
                let served = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEAD_TIMEOUT)
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
                if served.is_err() {
                    tracing::debug!("an admin connection ended early");
                }
            });
        }
    }

    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let headers = request.headers();
        let named = request
            .uri()
            .authority()
            .map(|a| a.as_str().as_bytes())
            .into_iter()
            .chain(headers.get_all(HOST).iter().map(HeaderValue::as_bytes))
            .all(|host| self.host.accepts(host));
        if !named || headers.contains_key(ORIGIN) {
            return status(StatusCode::FORBIDDEN);
        }
        let path = request.uri().path();
        let is_probe = matches!(path, "/healthz" | "/readyz");
        if !is_probe && !self.knows(headers) {
            let mut response = status(StatusCode::UNAUTHORIZED);
            response
                .headers_mut()
                .insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return response;
        }
        let body: &dyn Fn() -> Body = match path {
            "/healthz" => &|| Body::text(health::live()),
            "/readyz" => &|| Body::text(health::ready(&self.shared)),
            "/api/health" => &|| self.health(),
            "/api/endpoints" => &|| self.endpoints(),
            "/api/reads" => &|| self.reads(),
            "/api/explain" => &|| self.explain(request.uri().query().unwrap_or_default()),
            _ => return status(StatusCode::NOT_FOUND),
        };
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let mut response = status(StatusCode::METHOD_NOT_ALLOWED);
            response
                .headers_mut()
                .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        let body = body();
        let mut response = Response::new(Full::new(body.bytes));
        *response.status_mut() = body.code;
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static(body.kind));
        response
            .headers_mut()
            .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }

    fn knows(&self, headers: &HeaderMap) -> bool {
        let Some(token) = self.token else { return true };
        let mut presented = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (presented.next(), presented.next()) else {
            return false;
        };
        let Some((scheme, key)) = value.as_bytes().split_at_checked(7) else {
            return false;
        };
        let hash: [u8; 32] = Sha256::digest(key.trim_ascii()).into();
        scheme.eq_ignore_ascii_case(b"bearer ") && bool::from(hash.ct_eq(&token))
    }

    fn health(&self) -> Body {
        let shared = &self.shared;
        let chains = shared.chains.iter().map(|chain| {
            let snapshot = chain.pool.snapshot();
            ChainHealth {
                name: &chain.name,
                id: snapshot.chain.map(|id| id.0),
                ready: chain.is_ready(),
                reference_head: snapshot.reference_head,
                endpoints: standing::health(&snapshot),
            }
        });
        let status = if shared.shutdown.reached(Phase::Draining) {
            "draining"
        } else if shared.is_ready() {
            "ready"
        } else {
            "not_ready"
        };
        Body::json(&Health {
            status,
            version: env!("CARGO_PKG_VERSION"),
            chains: chains.collect(),
        })
    }

    fn endpoints(&self) -> Body {
        let chains = self.shared.chains.iter().map(|chain| {
            let snapshot = chain.pool.snapshot();
            ChainEndpoints {
                name: &chain.name,
                id: snapshot.chain.map(|id| id.0),
                reference_head: snapshot.reference_head,
                block_time_ms: snapshot.block_time.map(standing::millis),
                max_lag: snapshot.max_lag,
                endpoints: standing::endpoints(&snapshot),
            }
        });
        Body::json(&Endpoints {
            chains: chains.collect(),
        })
    }

    fn explain(&self, query: &str) -> Body {
        match explanation::explain(&self.shared, query) {
            Ok(explanation) => Body::json(&explanation),
            Err((code, error)) => Body {
                code,
                ..Body::json(&Problem { error })
            },
        }
    }
}

/// What is answered.
struct Body {
    code: StatusCode,
    kind: &'static str,
    bytes: Bytes,
}

impl Body {
    fn text((code, bytes): (StatusCode, Bytes)) -> Self {
        Self {
            code,
            kind: "text/plain",
            bytes,
        }
    }

    fn json(value: &impl Serialize) -> Self {
        Self {
            code: StatusCode::OK,
            kind: "application/json",
            bytes: serde_json::to_vec(value).unwrap_or_default().into(),
        }
    }
}

fn status(code: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = code;
    response
}
