//! Pools of several networks.

use crate::{ConfigError, Network, Pool};
use highwater_core::ChainId;
use std::{collections::BTreeMap, sync::Arc};

/// One pool for each of several networks (L-5). Cheap to clone; clones are the same pools.
#[derive(Clone, Debug, Default)]
pub struct PoolSet {
    pools: Arc<BTreeMap<ChainId, Pool>>,
}

/// No pool of the set serves this network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no pool serves the network {network}")]
pub struct UnknownNetwork {
    /// The network as it was asked for.
    pub network: String,
}

impl PoolSet {
    /// Pools by their networks.
    ///
    /// # Errors
    /// `chain`: a pool was built without one, or two were built for the same.
    pub fn new(pools: impl IntoIterator<Item = Pool>) -> Result<Self, ConfigError> {
        let mut all = BTreeMap::new();
        for pool in pools {
            let Some(chain) = pool.chain_id() else {
                let problem = "each pool of a set must be built for a chain";
                return Err(ConfigError::new("chain", problem));
            };
            if all.insert(chain, pool).is_some() {
                let problem = format!("two pools are for the chain {chain}");
                return Err(ConfigError::new("chain", problem));
            }
        }
        Ok(Self {
            pools: Arc::new(all),
        })
    }

    /// The pool of a network.
    ///
    /// # Errors
    /// There is none.
    pub fn get<'a>(&self, network: impl Into<Network<'a>>) -> Result<&Pool, UnknownNetwork> {
        let network = network.into();
        let found = network.id().and_then(|id| self.pools.get(&id));
        found.ok_or_else(|| UnknownNetwork {
            network: match network {
                Network::Id(id) => id.to_string(),
                Network::Name(name) => name.to_owned(),
            },
        })
    }

    /// All pools, by the number of their chains.
    pub fn iter(&self) -> impl Iterator<Item = (ChainId, &Pool)> {
        self.pools.iter().map(|(chain, pool)| (*chain, pool))
    }

    /// Closes every pool, as [`Pool::close`] does (L-1).
    pub fn close(&self) {
        for pool in self.pools.values() {
            pool.close();
        }
    }
}

#[cfg(feature = "alloy")]
mod operations {
    use super::{Network, PoolSet};
    use crate::{Failure, OperationError, OperationOptions, Pinned};

    impl PoolSet {
        /// [`Pool::execute_with_retry`](crate::Pool::execute_with_retry) at the pool of a network.
        ///
        /// # Errors
        /// As there, and [`OperationError::UnknownNetwork`].
        ///
        /// # Panics
        /// As there.
        pub async fn execute_with_retry<'a, T, E, F, R>(
            &self,
            network: impl Into<Network<'a>>,
            options: OperationOptions,
            operation: F,
        ) -> Result<T, OperationError<E>>
        where
            F: Fn(Pinned) -> R,
            R: Future<Output = Result<T, E>>,
            E: Failure,
        {
            let pool = self.get(network)?;
            pool.execute_with_retry(options, operation).await
        }

        /// [`Pool::execute_once`](crate::Pool::execute_once) at the pool of a network.
        ///
        /// # Errors
        /// As there, and [`OperationError::UnknownNetwork`].
        ///
        /// # Panics
        /// As there.
        pub async fn execute_once<'a, T, E, F, R>(
            &self,
            network: impl Into<Network<'a>>,
            options: OperationOptions,
            operation: F,
        ) -> Result<T, OperationError<E>>
        where
            F: FnOnce(Pinned) -> R,
            R: Future<Output = Result<T, E>>,
            E: Failure,
        {
            let pool = self.get(network)?;
            pool.execute_once(options, operation).await
        }
    }
}
