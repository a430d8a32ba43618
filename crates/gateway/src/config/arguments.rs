//! Settings from the command line: URLs instead of a file, and what overrides a file (G-13).

use super::{
    Settings, check, known,
    name::ChainName,
    settings::{ChainSettings, EndpointSettings},
};
use highwater_core::{ChainId, bucket::Budget};
use std::{net::SocketAddr, str::FromStr};

/// Flags that win over the file and over defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--listen`.
    pub listen: Option<SocketAddr>,
    /// `--admin-listen`; `Some(None)` is `off`.
    pub admin_listen: Option<Option<SocketAddr>>,
    /// `--require-ready`.
    pub require_ready: bool,
}

/// `--chain`: a chain known by name, or any chain id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainArgument {
    id: ChainId,
    name: String,
}

/// Arguments that cannot be served; a text that says what to do and repeats no URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ArgumentError(String);

impl ChainArgument {
    /// The chain's id.
    #[must_use]
    pub const fn id(&self) -> ChainId {
        self.id
    }
}

impl FromStr for ChainArgument {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Self, ArgumentError> {
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            let id = text.parse().ok().filter(|id| *id > 0).map(ChainId);
            let id = id.ok_or_else(|| ArgumentError("a chain id is 1 to 2^64 - 1".to_owned()))?;
            let name = known::by_id(id)
                .map_or_else(|| format!("chain-{id}"), |chain| chain.slug.to_owned());
            return Ok(Self { id, name });
        }
        let name = ChainName::parse(text).map_err(ArgumentError)?.0;
        if let Some(chain) = known::by_slug(&name) {
            return Ok(Self { id: chain.id, name });
        }
        let hint = super::later::nearest(&name, known::all().iter().map(|chain| chain.slug))
            .map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
        Err(ArgumentError(format!(
            "no chain is known by this name{hint}: give its chain id"
        )))
    }
}

impl Settings {
    /// One chain over the given URLs.
    ///
    /// Without `chain` the id is read from the endpoints. Labels are the hosts; where a host comes
    /// twice, its port and then a number tell endpoints apart. A path is never part of a label.
    ///
    /// # Errors
    /// A URL that is none, named by its position; flags that do not fit together.
    pub fn from_urls(
        urls: &[String],
        chain: Option<&ChainArgument>,
        overrides: &Overrides,
    ) -> Result<Self, ArgumentError> {
        if urls.is_empty() {
            return Err(ArgumentError("no endpoint is given: add URLs".to_owned()));
        }
        let mut endpoints = Vec::with_capacity(urls.len());
        for (index, text) in urls.iter().enumerate() {
            let url = check::endpoint_url(text)
                .map_err(|problem| ArgumentError(format!("URL {}: {problem}", index + 1)))?;
            let budget = Budget {
                rate: check::known_rate(&url),
                ..Budget::default()
            };
            endpoints.push(EndpointSettings {
                budget,
                ..EndpointSettings::new("", url)
            });
        }
        check::label_by_host(&mut endpoints);
        let mut settings = check::defaults(overrides).map_err(ArgumentError)?;
        settings.chains.push(ChainSettings {
            name: chain.map_or_else(|| "default".to_owned(), |chain| chain.name.clone()),
            endpoints,
            ..check::chain_defaults(chain.map(ChainArgument::id))
        });
        Ok(settings)
    }
}
