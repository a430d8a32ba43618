//! Calls that the gateway answers by itself: clients send these with almost every real call, and
//! some send them before they believe that a server is there at all.
//!
//! | method | answer |
//! |---|---|
//! | `eth_chainId` | the chain id, also while every endpoint is down |
//! | `net_version` | the network id in decimal; on a few old chains another number |
//! | `net_listening` | `true` |
//! | `web3_clientVersion` | `highwater/VERSION/CHAIN` |
//! | `eth_accounts` | `[]`: no key is ever held |
//! | `rpc_modules` | `eth`, `net`, `web3` |
//!
//! The first two go to an endpoint while the chain id is not known yet.

use highwater_core::ChainId;
use std::{borrow::Cow, sync::OnceLock};

/// Chains whose network id is not their chain id.
const NETWORK_IDS: [(u64, u64); 4] = [(2, 1), (61, 1), (62, 2), (63, 7)];

/// The local answers of one chain.
#[derive(Debug)]
pub(crate) struct Local {
    version: Box<str>,
    ids: OnceLock<Ids>,
}

#[derive(Debug)]
struct Ids {
    chain: Box<str>,
    network: Box<str>,
}

impl Local {
    /// `name` is the chain's in the configuration; what JSON would have to escape is left out.
    pub(crate) fn new(name: &str) -> Self {
        let version = format!(
            r#""highwater/{}/{}""#,
            env!("CARGO_PKG_VERSION"),
            escaped(name)
        )
        .into();
        Self {
            version,
            ids: OnceLock::new(),
        }
    }

    /// The result of a method that needs no endpoint.
    pub(crate) fn result(
        &self,
        method: &str,
        chain: impl FnOnce() -> Option<ChainId>,
    ) -> Option<&str> {
        match method {
            "eth_chainId" => self.ids(chain).map(|ids| &*ids.chain),
            "net_version" => self.ids(chain).map(|ids| &*ids.network),
            "net_listening" => Some("true"),
            "web3_clientVersion" => Some(&self.version),
            "eth_accounts" => Some("[]"),
            "rpc_modules" => Some(r#"{"eth":"1.0","net":"1.0","web3":"1.0"}"#),
            _ => None,
        }
    }

    fn ids(&self, chain: impl FnOnce() -> Option<ChainId>) -> Option<&Ids> {
        if let Some(ids) = self.ids.get() {
            return Some(ids);
        }
        let ChainId(chain) = chain()?;
        let network = NETWORK_IDS
            .iter()
            .find(|(id, _)| *id == chain)
            .map_or(chain, |(_, id)| *id);
        Some(self.ids.get_or_init(|| Ids {
            chain: format!(r#""{chain:#x}""#).into(),
            network: format!(r#""{network}""#).into(),
        }))
    }
}

fn escaped(name: &str) -> Cow<'_, str> {
    if name
        .bytes()
        .all(|b| b.is_ascii_graphic() && b != b'"' && b != b'\\')
    {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(
            name.chars()
                .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Local;
    use highwater_core::ChainId;

    #[test]
    fn the_network_id_is_decimal_and_on_old_chains_its_own_number() {
        for (chain, hex, network) in [
            (1, "0x1", "1"),
            (61, "0x3d", "1"),
            (63, "0x3f", "7"),
            (42_161, "0xa4b1", "42161"),
        ] {
            let local = Local::new("c");
            let id = || Some(ChainId(chain));
            assert_eq!(
                local.result("eth_chainId", id),
                Some(&*format!("\"{hex}\""))
            );
            assert_eq!(
                local.result("net_version", id),
                Some(&*format!("\"{network}\""))
            );
        }
    }

    #[test]
    fn ids_wait_for_the_chain_to_be_known_and_the_rest_does_not() {
        let local = Local::new("my-chain");
        assert_eq!(local.result("eth_chainId", || None), None);
        assert_eq!(local.result("net_listening", || None), Some("true"));
        assert_eq!(local.result("eth_accounts", || None), Some("[]"));
        assert_eq!(local.result("eth_call", || None), None);
        let version = local.result("web3_clientVersion", || None).unwrap();
        assert!(version.starts_with("\"highwater/") && version.ends_with("/my-chain\""));
        assert_eq!(
            local.result("eth_chainId", || Some(ChainId(5))),
            Some("\"0x5\"")
        );
    }
}
