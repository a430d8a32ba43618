//! One endpoint as the caller describes it.

use crate::{SecretUrl, upstream::Upstream};
use highwater_core::router::Profile;
use std::{fmt, sync::Arc};

/// One endpoint of a pool.
#[derive(Clone)]
pub struct Endpoint {
    pub(crate) label: Option<String>,
    pub(crate) transport: Transport,
    pub(crate) profile: Profile,
}

#[derive(Clone)]
pub(crate) enum Transport {
    Url(SecretUrl),
    Custom(Arc<dyn Upstream>),
}

impl Endpoint {
    /// An endpoint at an `http(s)` URL. Its label is the host name unless [`Endpoint::label`] says
    /// otherwise.
    #[must_use]
    pub fn url(url: SecretUrl) -> Self {
        Self {
            label: None,
            transport: Transport::Url(url),
            profile: Profile::default(),
        }
    }

    /// An endpoint behind a transport of the caller's own.
    #[must_use]
    pub fn upstream(label: impl Into<String>, upstream: Arc<dyn Upstream>) -> Self {
        Self {
            label: Some(label.into()),
            transport: Transport::Custom(upstream),
            profile: Profile::default(),
        }
    }

    /// Sets everything that routing is told of the endpoint: weight, tier, group, account, method
    /// lists, what it keeps.
    #[must_use]
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// Sets the label, unique in its pool; the only name under which the endpoint is shown.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }
}

impl From<SecretUrl> for Endpoint {
    fn from(url: SecretUrl) -> Self {
        Self::url(url)
    }
}

/// An endpoint at the `http(s)` URL that the text is. Errors do not repeat it.
impl TryFrom<&str> for Endpoint {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        SecretUrl::parse(text).map(Self::url)
    }
}

impl TryFrom<String> for Endpoint {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::try_from(text.as_str())
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}
