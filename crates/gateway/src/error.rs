//! Why the gateway did not start.

use std::io;

/// A start that failed, in one line that says what to do. [`ServeError::exit_code`] is the
/// documented exit code of the process.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An option that only shows to be wrong together with others.
    #[error("{0}")]
    Configuration(String),
    /// Endpoints of one chain that serve different chains.
    #[error(
        "chain {chain}: the endpoints serve different chains: {found}; keep those of one chain"
    )]
    DifferentChains {
        /// Name of the chain in the configuration.
        chain: String,
        /// `label (id)`, comma separated.
        found: String,
    },
    /// No endpoint answered at start, and `require_ready` is set.
    #[error(
        "chain {chain}: no endpoint answered; check the URLs and the network, or leave out require_ready"
    )]
    NotReady {
        /// Name of the chain in the configuration.
        chain: String,
    },
    /// The operating system refused a listener.
    #[error("cannot listen on {address}: {source}{}", hint(source))]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// Its reason.
        source: io::Error,
    },
    /// A fault of our own or of the system at start.
    #[error("internal error: {0}")]
    Internal(String),
}

impl ServeError {
    /// The exit code of the process.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Configuration(_) => 64,
            Self::DifferentChains { .. } | Self::NotReady { .. } => 69,
            Self::Internal(_) => 70,
            Self::Listen { .. } => 71,
        }
    }
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "; another process listens there: stop it or use another port",
        io::ErrorKind::PermissionDenied => "; use a port above 1023 or run with the permission",
        io::ErrorKind::AddrNotAvailable => "; this machine has no such address",
        _ => "",
    }
}
