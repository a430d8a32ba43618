//! One endpoint at work.

use crate::{
    ConfigError, SecretUrl,
    check::Checking,
    endpoint::Transport,
    secret::Scrubber,
    upstream::{HttpOptions, HttpUpstream, RawReply, Repeat, SendError, SendErrorKind, Upstream},
};
use bytes::Bytes;
use highwater_core::call::Delivery;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// One endpoint: its names, and the way to it. Whoever sends to it holds it, so it lives on after it
/// has left its pool until the last request is over.
pub(crate) struct Node {
    /// Tells endpoints apart whatever they are called: the same as long as the URL or the transport
    /// is the same.
    pub(crate) number: u64,
    pub(crate) label: Arc<str>,
    pub(crate) host: Arc<str>,
    pub(crate) wired: Wired,
    pub(crate) scrubber: Scrubber,
    /// The chain check under way, and the look at its head before a call.
    pub(crate) checking: Checking,
    pub(crate) looking: Checking,
}

#[derive(Clone)]
pub(crate) enum Wired {
    /// Ours, called without a box.
    Http(SecretUrl, HttpUpstream),
    Custom(Arc<dyn Upstream>),
}

static NUMBERS: AtomicU64 = AtomicU64::new(0);

impl Node {
    pub(crate) fn new(
        label: String,
        transport: Transport,
        http: &HttpOptions,
    ) -> Result<Self, ConfigError> {
        let (host, wired, scrubber) = match transport {
            Transport::Url(url) => {
                let upstream = HttpUpstream::new(&url, http.clone())?;
                let (host, scrubber) = (url.host().into(), url.scrubber());
                (host, Wired::Http(url, upstream), scrubber)
            }
            Transport::Custom(upstream) => {
                ("".into(), Wired::Custom(upstream), Scrubber::default())
            }
        };
        Ok(Self {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            label: label.into(),
            host,
            wired,
            scrubber,
            checking: Checking::default(),
            looking: Checking::default(),
        })
    }

    /// The same endpoint, its connections too, under another label.
    pub(crate) fn renamed(&self, label: String) -> Self {
        Self {
            number: self.number,
            label: label.into(),
            host: Arc::clone(&self.host),
            wired: self.wired.clone(),
            scrubber: self.scrubber.clone(),
            checking: Checking::default(),
            looking: Checking::default(),
        }
    }

    /// Whether it is reached in the same way: by the same URL, credentials included, or over the
    /// very same transport.
    pub(crate) fn is_at(&self, transport: &Transport) -> bool {
        match (&self.wired, transport) {
            (Wired::Http(own, _), Transport::Url(url)) => own == url,
            (Wired::Custom(own), Transport::Custom(other)) => {
                std::ptr::addr_eq(Arc::as_ptr(own), Arc::as_ptr(other))
            }
            (Wired::Http(..), Transport::Custom(_)) | (Wired::Custom(_), Transport::Url(_)) => {
                false
            }
        }
    }
}

impl Node {
    /// The most calls in one body, of so many.
    pub(crate) fn most(&self, limit: u16) -> u16 {
        match &self.wired {
            Wired::Http(..) => limit,
            Wired::Custom(upstream) if upstream.takes_batches() => limit,
            Wired::Custom(_) => 1,
        }
    }
}

impl Wired {
    /// Sends, within the time. A transport of the caller's own is held to it by a timer here.
    pub(crate) async fn send(
        &self,
        message: Bytes,
        timeout: Duration,
        repeat: Repeat,
    ) -> Result<RawReply, SendError> {
        match self {
            Self::Http(_, upstream) => upstream.exchange_as(message, timeout, repeat).await,
            Self::Custom(upstream) => {
                match tokio::time::timeout(timeout, upstream.send(message, timeout)).await {
                    Ok(sent) => sent,
                    Err(_) => Err(SendError {
                        kind: SendErrorKind::Timeout,
                        delivery: Delivery::MaybeSent,
                    }),
                }
            }
        }
    }
}
