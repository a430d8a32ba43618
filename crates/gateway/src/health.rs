//! Whether the gateway lives and whether it can serve (hardening H18).
//!
//! `/healthz` is 200 while the process answers. `/readyz` is 200 once every chain has a usable
//! endpoint, and 503 before that and from the first moment of a shutdown. Neither makes an upstream
//! call: `/readyz` tells what earlier calls and checks have shown.

use crate::{shutdown::Phase, state::Shared};
use bytes::Bytes;
use http::StatusCode;

/// Status and text of `/healthz`.
pub(crate) fn live() -> (StatusCode, Bytes) {
    (StatusCode::OK, Bytes::from_static(b"ok\n"))
}

/// Status and text of `/readyz`.
pub(crate) fn ready(shared: &Shared) -> (StatusCode, Bytes) {
    if shared.shutdown.reached(Phase::Draining) {
        (
            StatusCode::SERVICE_UNAVAILABLE,
            Bytes::from_static(b"draining\n"),
        )
    } else if shared.is_ready() {
        (StatusCode::OK, Bytes::from_static(b"ready\n"))
    } else {
        (
            StatusCode::SERVICE_UNAVAILABLE,
            Bytes::from_static(b"no usable endpoint\n"),
        )
    }
}
