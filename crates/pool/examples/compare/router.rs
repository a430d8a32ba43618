//! What stands between the program and the endpoints.

use super::scenario::{Case, Work};
use alloy_network::Ethereum;
use alloy_provider::RootProvider;
use alloy_rpc_client::RpcClient;
use alloy_transport::layers::FallbackLayer;
use alloy_transport_http::Http;
use highwater::{
    Pool,
    core::settings::{HedgeSettings, Settings},
};
use std::{error::Error, num::NonZeroUsize};
use tower_layer::Layer as _;

/// A way to several endpoints.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Router {
    /// `FallbackLayer::default()`: every request to three endpoints at once.
    Fallback,
    /// The same, but one endpoint a request.
    FallbackOfOne,
    /// The default, with `eth_sendRawTransaction` among its sequential methods, as its documentation
    /// advises for what must not be done twice.
    FallbackInSequence,
    /// `Pool::builder()` with the endpoints and nothing else.
    Pool,
    /// The same with hedging on.
    HedgingPool,
}

impl Router {
    /// Those that differ there.
    pub(crate) fn of(case: &Case) -> Vec<Self> {
        let other = match case.work {
            Work::Read | Work::Revert => Self::FallbackOfOne,
            Work::Send => Self::FallbackInSequence,
        };
        let mut all = vec![Self::Fallback, other, Self::Pool];
        if case.hangs() {
            all.push(Self::HedgingPool);
        }
        all
    }

    /// For the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fallback => "FallbackLayer, default",
            Self::FallbackOfOne => "FallbackLayer, 1 active",
            Self::FallbackInSequence => "FallbackLayer, sequential",
            Self::Pool => "highwater, default",
            Self::HedgingPool => "highwater, hedge on",
        }
    }

    /// The program's provider over these endpoints.
    pub(crate) fn provider(
        self,
        urls: &[String],
        chain: u64,
    ) -> Result<RootProvider<Ethereum>, Box<dyn Error>> {
        let layer = FallbackLayer::default();
        let layer = match self {
            Self::Pool | Self::HedgingPool => {
                let settings = Settings {
                    hedge: (self == Self::HedgingPool).then(HedgeSettings::default),
                    ..Settings::default()
                };
                let mut pool = Pool::builder().chain(chain).settings(settings);
                for url in urls {
                    pool = pool.endpoint(url.as_str());
                }
                return Ok(pool.build()?.provider());
            }
            Self::Fallback => layer,
            Self::FallbackOfOne => layer.with_active_transport_count(NonZeroUsize::MIN),
            Self::FallbackInSequence => layer.with_sequential_method("eth_sendRawTransaction"),
        };
        let transports = urls.iter().map(|url| Ok(Http::new(url.parse()?)));
        let transports: Vec<_> = transports.collect::<Result<_, Box<dyn Error>>>()?;
        Ok(RootProvider::new(RpcClient::new(
            layer.layer(transports),
            false,
        )))
    }
}
