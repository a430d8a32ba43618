//! URLs that may carry a credential.

use std::fmt;

/// An endpoint's URL. It is a secret: no `Display`, no `Serialize`, and `Debug` shows only
/// the host.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretUrl(url::Url);

impl SecretUrl {
    /// Reads an `http`, `https` URL.
    ///
    /// # Errors
    /// A text that says what is wrong without repeating the URL.
    pub fn parse(_text: &str) -> Result<Self, String> {
        todo!()
    }

    /// The bare host name, the only part that may be shown.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// The URL itself, for the transport only.
    #[must_use]
    pub const fn expose(&self) -> &url::Url {
        &self.0
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretUrl({})", self.host())
    }
}
