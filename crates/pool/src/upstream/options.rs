//! Limits of the HTTP transport.

use crate::ConfigError;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use std::{fmt, path::PathBuf, time::Duration};

/// How an endpoint is reached over HTTP. All limits hold inside the attempt's own timeout.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Longest wait for a new connection: name, TCP, TLS. Default 3 s.
    pub connect_timeout: Duration,
    /// Longest wait for the head of the answer. Default none: the attempt's timeout.
    pub header_timeout: Option<Duration>,
    /// Longest silence inside a body. Default 5 s.
    pub stall_timeout: Duration,
    /// How long a connection may lie unused. Default 50 s, below the 60 s after which common
    /// proxies close one.
    pub idle_timeout: Duration,
    /// How long a connection is used at all; then the name is resolved again (hardening E24).
    /// Default 5 min.
    pub max_age: Duration,
    /// Most unused connections kept per worker. Default 64.
    pub max_idle: usize,
    /// Most connections in all. Default none. At the cap a call waits for another one to end, which
    /// counts as connecting.
    pub max_connections: Option<usize>,
    /// Largest body, before and after inflating, in bytes. Default 32 MiB.
    pub max_reply: usize,
    /// Whether compressed answers are asked for. Default: over TLS only; a cleartext endpoint is
    /// near, and there packing costs more than the bytes.
    pub gzip: Option<bool>,
    /// Certificates trusted beside the shipped roots.
    pub extra_roots: ExtraRoots,
    /// How many workers have connections of their own. Default: one per CPU.
    pub lanes: usize,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(3),
            header_timeout: None,
            stall_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(50),
            max_age: Duration::from_secs(300),
            max_idle: 64,
            max_connections: None,
            max_reply: 32 << 20,
            gzip: None,
            extra_roots: ExtraRoots::default(),
            lanes: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

impl HttpOptions {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let waits = [
            ("connect_timeout", Some(self.connect_timeout)),
            ("header_timeout", self.header_timeout),
            ("stall_timeout", Some(self.stall_timeout)),
            ("idle_timeout", Some(self.idle_timeout)),
            ("max_age", Some(self.max_age)),
        ];
        for (field, wait) in waits {
            if wait.is_some_and(|wait| wait < Duration::from_millis(1)) {
                return Err(ConfigError::new(field, "must be at least 1 ms"));
            }
        }
        let counts = [("max_reply", self.max_reply), ("lanes", self.lanes)];
        for (field, count) in counts {
            if count == 0 {
                return Err(ConfigError::new(field, "must be at least 1"));
            }
        }
        if self.max_connections.is_some_and(|most| most < self.lanes) {
            return Err(ConfigError::new(
                "max_connections",
                "must be at least one per worker",
            ));
        }
        Ok(())
    }
}

/// Certificates trusted beside the shipped roots: a private authority's.
#[derive(Clone, Default)]
pub struct ExtraRoots(Vec<CertificateDer<'static>>);

impl ExtraRoots {
    /// Adds one certificate in DER.
    #[must_use]
    pub fn der(mut self, certificate: impl Into<Vec<u8>>) -> Self {
        self.0.push(CertificateDer::from(certificate.into()));
        self
    }

    /// Adds every certificate of a PEM file. Reads the file at once.
    ///
    /// # Errors
    /// The file cannot be read, is no PEM, or holds no certificate.
    pub fn pem_file(mut self, path: impl Into<PathBuf>) -> Result<Self, ConfigError> {
        let bad = |problem: &str| ConfigError::new("extra_roots", problem);
        let found = CertificateDer::pem_file_iter(path.into())
            .map_err(|_| bad("the PEM file cannot be read"))?
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| bad("the PEM file is damaged"))?;
        if found.is_empty() {
            return Err(bad("the PEM file holds no certificate"));
        }
        self.0.extend(found);
        Ok(self)
    }

    pub(super) fn certificates(&self) -> &[CertificateDer<'static>] {
        &self.0
    }
}

impl fmt::Debug for ExtraRoots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtraRoots")
            .field("count", &self.0.len())
            .finish()
    }
}
