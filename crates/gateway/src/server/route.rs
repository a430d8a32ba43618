//! What a path means.
//!
//! `/healthz` and `/readyz` · `/` and `/{key}` where exactly one chain is configured · `/{chain}` ·
//! `/{chain}/{key}`. A chain goes by its name, an alias, or its id in decimal or `0x` hex, in any
//! case. Chain names win over keys; a lone segment is a key only when it has the prefix `hw_`. One
//! trailing slash is ignored. Nothing is percent-decoded: no name of ours needs it.

use crate::respond::Refusal;
use highwater_core::ChainId;
use std::collections::HashMap;

/// Prefix of the keys that `keys create` makes.
const KEY_PREFIX: &str = "hw_";

/// The names of all chains.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    names: HashMap<Box<str>, usize>,
    chains: usize,
}

/// Where a request goes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Route<'a> {
    /// `/healthz`.
    Health,
    /// `/readyz`.
    Ready,
    /// A chain, by index, and the key in the path.
    Chain {
        /// Index of the chain.
        chain: usize,
        /// The key, as presented.
        key: Option<&'a str>,
    },
    /// Nowhere.
    Unknown(Refusal<'static>),
}

impl Routes {
    /// `names`: for every chain its name and aliases.
    pub(crate) fn new<'a>(names: impl Iterator<Item = (&'a str, &'a [String])>) -> Self {
        let mut routes = Self::default();
        for (chain, (name, aliases)) in names.enumerate() {
            routes.chains = chain + 1;
            for name in std::iter::once(name).chain(aliases.iter().map(String::as_str)) {
                routes
                    .names
                    .entry(name.to_ascii_lowercase().into())
                    .or_insert(chain);
            }
        }
        routes
    }

    /// Index of a chain by name or alias.
    pub(crate) fn named(&self, name: &str) -> Option<usize> {
        if let Some(chain) = self.names.get(name) {
            return Some(*chain);
        }
        name.bytes()
            .any(|b| b.is_ascii_uppercase())
            .then(|| self.names.get(&*name.to_ascii_lowercase()).copied())
            .flatten()
    }

    /// `id_of` tells a chain's id by index, where it is known.
    pub(crate) fn find<'a>(
        &self,
        path: &'a str,
        id_of: impl Fn(usize) -> Option<ChainId>,
    ) -> Route<'a> {
        match path {
            "/" | "" => return self.only(None),
            "/healthz" => return Route::Health,
            "/readyz" => return Route::Ready,
            _ => {}
        }
        let path = path.strip_prefix('/').unwrap_or(path);
        let path = path.strip_suffix('/').unwrap_or(path);
        let (first, key) = match path.split_once('/') {
            Some((_, key)) if key.is_empty() || key.contains('/') => {
                return Route::Unknown(Refusal::Route);
            }
            Some((first, key)) => (first, Some(key)),
            None => (path, None),
        };
        let chain = self.named(first).or_else(|| {
            let id = chain_id(first)?;
            (0..self.chains).find(|chain| id_of(*chain) == Some(id))
        });
        match (chain, key) {
            (Some(chain), key) => Route::Chain { chain, key },
            (None, None) if first.starts_with(KEY_PREFIX) => self.only(Some(first)),
            (None, _) => Route::Unknown(Refusal::Chain),
        }
    }

    fn only<'a>(&self, key: Option<&'a str>) -> Route<'a> {
        match self.chains {
            0 => Route::Unknown(Refusal::Unconfigured),
            1 => Route::Chain { chain: 0, key },
            _ => Route::Unknown(Refusal::Chain),
        }
    }
}

fn chain_id(text: &str) -> Option<ChainId> {
    let parse = |digits: &str, radix| {
        digits
            .bytes()
            .all(|b| b.is_ascii_hexdigit())
            .then(|| u64::from_str_radix(digits, radix).ok())
            .flatten()
    };
    text.strip_prefix("0x")
        .or_else(|| text.strip_prefix("0X"))
        .map_or_else(|| parse(text, 10), |hex| parse(hex, 16))
        .map(ChainId)
}

#[cfg(test)]
mod tests {
    use super::{Route, Routes};
    use crate::respond::Refusal;
    use highwater_core::ChainId;

    fn find<'a>(chains: &[(&str, &[&str], u64)], path: &'a str) -> Route<'a> {
        let aliases: Vec<Vec<String>> = chains
            .iter()
            .map(|c| c.1.iter().map(ToString::to_string).collect())
            .collect();
        let routes = Routes::new(
            chains
                .iter()
                .zip(&aliases)
                .map(|(c, a)| (c.0, a.as_slice())),
        );
        let ids: Vec<u64> = chains.iter().map(|c| c.2).collect();
        routes.find(path, |chain| Some(ChainId(ids[chain])))
    }

    const TWO: &[(&str, &[&str], u64)] = &[("ethereum", &["eth", "Main"], 1), ("base", &[], 8453)];
    const ONE: &[(&str, &[&str], u64)] = &[("ethereum", &[], 1)];

    #[test]
    fn a_chain_goes_by_name_alias_and_id() {
        for path in [
            "/ethereum",
            "/eth",
            "/main",
            "/MAIN",
            "/Ethereum",
            "/1",
            "/0x1",
            "/0X1",
            "/ethereum/",
        ] {
            assert_eq!(
                find(TWO, path),
                Route::Chain {
                    chain: 0,
                    key: None
                },
                "{path}"
            );
        }
        for path in ["/base", "/8453", "/0x2105"] {
            assert_eq!(
                find(TWO, path),
                Route::Chain {
                    chain: 1,
                    key: None
                },
                "{path}"
            );
        }
        assert_eq!(
            find(TWO, "/base/secret"),
            Route::Chain {
                chain: 1,
                key: Some("secret")
            }
        );
    }

    #[test]
    fn the_root_and_a_lone_key_need_exactly_one_chain() {
        assert_eq!(
            find(ONE, "/"),
            Route::Chain {
                chain: 0,
                key: None
            }
        );
        assert_eq!(
            find(ONE, "/hw_abc"),
            Route::Chain {
                chain: 0,
                key: Some("hw_abc")
            }
        );
        assert_eq!(find(TWO, "/"), Route::Unknown(Refusal::Chain));
        assert_eq!(find(TWO, "/hw_abc"), Route::Unknown(Refusal::Chain));
        assert_eq!(find(&[], "/"), Route::Unknown(Refusal::Unconfigured));
    }

    #[test]
    fn chain_names_win_over_keys() {
        let chains: &[(&str, &[&str], u64)] = &[("hw_chain", &[], 7)];
        assert_eq!(
            find(chains, "/hw_chain"),
            Route::Chain {
                chain: 0,
                key: None
            }
        );
    }

    // hardening A5
    #[test]
    fn everything_else_is_unknown() {
        for path in [
            "/nope",
            "/2",
            "/+1",
            "/0x",
            "/0x+1",
            "/-1",
            "/ethereum/a/b",
            "/metrics",
            "/api/health",
            "/99999999999999999999",
            "/ethereum%2f",
            "/nope/key",
        ] {
            assert!(matches!(find(ONE, path), Route::Unknown(_)), "{path}");
        }
        assert_eq!(find(ONE, "/healthz"), Route::Health);
        assert_eq!(find(ONE, "/readyz"), Route::Ready);
    }
}
