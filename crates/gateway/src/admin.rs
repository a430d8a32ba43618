//! The admin listener (hardening C10): health details, for operators only.
//!
//! `GET /api/health`, `/healthz`, `/readyz`; everything else is 404. The listener is on loopback by
//! default; anywhere else it refuses to start without a token. Where a token is set every path but
//! the two probes needs it as `Authorization: Bearer`, compared in constant time. The `Host` rule
//! is the one of the RPC listener, and no web page may read anything here.

use crate::{
    config::{AdminSettings, ServerSettings},
    health,
    server::host::HostRule,
    shutdown::Phase,
    state::{Shared, host_rule},
};
use bytes::Bytes;
use highwater_core::router::Identity;
use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode,
    header::{ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HOST, ORIGIN, WWW_AUTHENTICATE},
};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use sha2::{Digest, Sha256};
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
    endpoints: Vec<EndpointHealth>,
}

#[derive(Serialize)]
struct EndpointHealth {
    label: String,
    host: String,
    chain_check: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    found_chain: Option<u64>,
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
        let probe = match path {
            "/healthz" => Some(health::live()),
            "/readyz" => Some(health::ready(&self.shared)),
            _ => None,
        };
        if probe.is_none() && !self.knows(headers) {
            let mut response = status(StatusCode::UNAUTHORIZED);
            response
                .headers_mut()
                .insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return response;
        }
        if probe.is_none() && path != "/api/health" {
            return status(StatusCode::NOT_FOUND);
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let mut response = status(StatusCode::METHOD_NOT_ALLOWED);
            response
                .headers_mut()
                .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        let (code, kind, body) = match probe {
            Some((code, body)) => (code, "text/plain", body),
            None => (StatusCode::OK, "application/json", self.health()),
        };
        let mut response = Response::new(Full::new(body));
        *response.status_mut() = code;
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
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

    fn health(&self) -> Bytes {
        let shared = &self.shared;
        let chains: Vec<ChainHealth<'_>> = shared
            .chains
            .iter()
            .map(|chain| {
                let snapshot = chain.pool.snapshot();
                ChainHealth {
                    name: &chain.name,
                    id: snapshot.chain.map(|id| id.0),
                    ready: chain.is_ready(),
                    endpoints: snapshot
                        .endpoints
                        .into_iter()
                        .map(|endpoint| {
                            let (chain_check, found_chain) = match endpoint.identity {
                                Identity::Unchecked => ("unchecked", None),
                                Identity::Verified => ("verified", None),
                                Identity::Quarantined { found } => ("wrong_chain", Some(found.0)),
                            };
                            EndpointHealth {
                                label: endpoint.label,
                                host: endpoint.host,
                                chain_check,
                                found_chain,
                            }
                        })
                        .collect(),
                }
            })
            .collect();
        let status = if shared.shutdown.reached(Phase::Draining) {
            "draining"
        } else if shared.is_ready() {
            "ready"
        } else {
            "not_ready"
        };
        let health = Health {
            status,
            version: env!("CARGO_PKG_VERSION"),
            chains,
        };
        serde_json::to_vec(&health).unwrap_or_default().into()
    }
}

fn status(code: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = code;
    response
}
