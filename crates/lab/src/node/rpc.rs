//! The methods of a node.

use alloy_primitives::{Address, B256, U256, hex};
use serde_json::Value;

use super::dialect::{Miss, RpcError, error, invalid};
use super::filters::Filters;
use super::logs;
use super::render::{self, quantity};
use super::sight::{Sight, parse_hash, parse_quantity};
use crate::chain::{Branch, base_fee, state};

/// Call data that begins so makes every contract revert: `Error(string)`.
const REVERTS: [u8; 4] = [0x08, 0xc3, 0x79, 0xa0];
/// Gas price on top of the base fee, in wei.
const TIP: u64 = 1_000_000_000;

/// The answer to a call: a result as JSON text, or a miss.
pub(super) fn answer(
    sight: &Sight<'_>,
    (filters, taken): (&mut Filters, &mut Vec<B256>),
    method: &str,
    params: &[Value],
) -> Result<String, Miss> {
    let node = Rpc { sight, params };
    if method.contains("Filter") && !sight.dialect.has_filters() {
        return Err(sight.dialect.no_method(method));
    }
    match method {
        "eth_chainId" => Ok(quantity(sight.chain_id)),
        "net_version" => Ok(format!("\"{}\"", sight.chain_id)),
        "net_listening" => Ok("true".to_owned()),
        "net_peerCount" => Ok(quantity(50)),
        "web3_clientVersion" => Ok(format!("\"{}\"", sight.dialect.client_version())),
        "eth_syncing" => Ok("false".to_owned()),
        "eth_accounts" => Ok("[]".to_owned()),
        "eth_blockNumber" => Ok(quantity(sight.head().saturating_add(sight.ahead))),
        "eth_capabilities" => node.capabilities(),
        "eth_gasPrice" => Ok(quantity(base_fee(sight.head()) + TIP)),
        "eth_baseFee" => Ok(quantity(base_fee(sight.head() + 1))),
        "eth_maxPriorityFeePerGas" => Ok(quantity(TIP)),
        "eth_blobBaseFee" => Ok(quantity(1)),
        "eth_feeHistory" => node.fee_history(),
        "eth_getBlockByNumber" => node.block_by_number(),
        "eth_getBlockByHash" => node.block_by_hash(),
        "eth_getBlockTransactionCountByNumber" => node.count_by_number(),
        "eth_getBlockTransactionCountByHash" => node.count_by_hash(),
        "eth_getUncleCountByBlockNumber" => node.numbered().map(|_| quantity(0)),
        "eth_getUncleCountByBlockHash" => node.hashed().map(|_| quantity(0)),
        "eth_getTransactionByHash" => node.by_hash(),
        "eth_getTransactionReceipt" => node.transaction(render::receipt),
        "eth_getRawTransactionByHash" => {
            node.transaction(|block, index| render::raw(&block.mined[index].tx))
        }
        "eth_getTransactionByBlockNumberAndIndex" => node.indexed(&*node.numbered()?),
        "eth_getTransactionByBlockHashAndIndex" => node.indexed(&*node.hashed()?),
        "eth_getBlockReceipts" => node.block_receipts(),
        "eth_getLogs" => logs::search(sight, node.param(0)?),
        "eth_getBalance" => node.balance(),
        "eth_getTransactionCount" => node.nonce(),
        "eth_getCode" => node.code(),
        "eth_getStorageAt" => node.storage(),
        "eth_call" => node.call(),
        "eth_estimateGas" => node.estimate(),
        "eth_createAccessList" => node.access_list(),
        "eth_sendRawTransaction" => node.send(taken),
        "eth_newFilter" => filters.logs(sight, node.param(0)?),
        "eth_newBlockFilter" => Ok(filters.blocks(sight)),
        "eth_getFilterChanges" => filters.changes(sight, node.param(0)?),
        "eth_getFilterLogs" => filters.all(sight, node.param(0)?),
        "eth_uninstallFilter" => filters.remove(node.param(0)?),
        _ => Err(sight.dialect.no_method(method)),
    }
}

struct Rpc<'a> {
    sight: &'a Sight<'a>,
    params: &'a [Value],
}

type Found = std::sync::Arc<crate::chain::Block>;

impl Rpc<'_> {
    fn param(&self, index: usize) -> Result<&Value, Miss> {
        self.params
            .get(index)
            .ok_or_else(|| invalid(format!("missing value for required argument {index}")))
    }

    fn address(&self, index: usize) -> Result<Address, Miss> {
        address(self.param(index)?)
    }

    /// The place of a state read; a null block counts as none.
    fn state(&self, index: usize) -> Result<(u64, Branch), Miss> {
        let block = self.params.get(index).filter(|block| !block.is_null());
        self.sight.state(block)
    }

    fn numbered(&self) -> Result<Found, Miss> {
        let height = self.sight.height(self.param(0)?)?;
        if height > self.sight.head() {
            return Err(self.sight.dialect.block_above_head());
        }
        self.sight.block(height).ok_or(Miss::Null)
    }

    fn hashed(&self) -> Result<Found, Miss> {
        let hash = parse_hash(self.param(0)?)?;
        self.sight.by_hash(hash).ok_or(Miss::Null)
    }

    fn full(&self) -> bool {
        self.params.get(1).and_then(Value::as_bool).unwrap_or(false)
    }

    fn block_by_number(&self) -> Result<String, Miss> {
        Ok(render::block(&*self.numbered()?, self.full()))
    }

    fn block_by_hash(&self) -> Result<String, Miss> {
        Ok(render::block(&*self.hashed()?, self.full()))
    }

    fn count_by_number(&self) -> Result<String, Miss> {
        Ok(quantity(self.numbered()?.mined.len()))
    }

    fn count_by_hash(&self) -> Result<String, Miss> {
        Ok(quantity(self.hashed()?.mined.len()))
    }

    fn indexed(&self, block: &crate::chain::Block) -> Result<String, Miss> {
        let index = self.param(1)?.as_str().and_then(parse_quantity);
        let index = index.ok_or_else(|| invalid("invalid argument 1: not a quantity"))?;
        let index = usize::try_from(index).ok();
        let index = index.filter(|index| *index < block.mined.len());
        Ok(render::transaction(block, index.ok_or(Miss::Null)?))
    }

    fn transaction(
        &self,
        write: impl Fn(&crate::chain::Block, usize) -> String,
    ) -> Result<String, Miss> {
        let hash = parse_hash(self.param(0)?)?;
        let (block, index) = self.sight.transaction(hash).ok_or(Miss::Null)?;
        Ok(write(&block, index))
    }

    fn by_hash(&self) -> Result<String, Miss> {
        let hash = parse_hash(self.param(0)?)?;
        let waiting = || self.sight.waits(hash).ok_or(Miss::Null);
        match self.transaction(render::transaction) {
            Err(Miss::Null) => waiting().map(|waiting| render::waiting(hash, &waiting)),
            found => found,
        }
    }

    fn block_receipts(&self) -> Result<String, Miss> {
        let param = self.param(0)?;
        let by_hash = param.as_str().is_some_and(|text| text.len() == 66);
        let height = if by_hash {
            None
        } else {
            Some(self.sight.height(param)?)
        };
        if height.is_some_and(|height| height < self.sight.oldest_block()) {
            return Err(self.sight.dialect.receipts_gone());
        }
        let block = match height {
            Some(_) => self.numbered()?,
            None => self.hashed()?,
        };
        let receipts: Vec<String> = (0..block.mined.len())
            .map(|index| render::receipt(&block, index))
            .collect();
        Ok(format!("[{}]", receipts.join(",")))
    }

    fn balance(&self) -> Result<String, Miss> {
        let account = self.address(0)?;
        let (height, branch) = self.state(1)?;
        Ok(quantity(state::balance(account, height, branch)))
    }

    fn nonce(&self) -> Result<String, Miss> {
        let account = self.address(0)?;
        if self.params.get(1).and_then(Value::as_str) == Some("pending") {
            let pending = self.sight.chain.pending_nonce(account, &self.sight.view);
            return Ok(quantity(pending));
        }
        let (height, _) = self.state(1)?;
        Ok(quantity(self.sight.chain.nonce(account, height)))
    }

    fn code(&self) -> Result<String, Miss> {
        let account = self.address(0)?;
        self.state(1)?;
        let code: &[u8] = if self.sight.chain.is_contract(account) {
            // PUSH0 PUSH0 REVERT: there is no machine to run more.
            &[0x5f, 0x5f, 0xfd]
        } else {
            &[]
        };
        Ok(render::data(code))
    }

    fn storage(&self) -> Result<String, Miss> {
        let account = self.address(0)?;
        let slot = self.param(1)?.as_str().and_then(|text| {
            let digits = text.strip_prefix("0x")?;
            U256::from_str_radix(digits, 16).ok()
        });
        let slot =
            slot.ok_or_else(|| invalid("invalid argument 1: unable to decode storage key"))?;
        let (height, branch) = self.state(2)?;
        Ok(render::hash(state::storage(account, slot, height, branch)))
    }

    /// Target and data of a call object.
    fn target(&self) -> Result<(Address, Vec<u8>), Miss> {
        let call = self.param(0)?;
        let to = call.get("to").filter(|to| !to.is_null());
        let to = to.map_or(Ok(Address::ZERO), address)?;
        let data = call.get("input").or_else(|| call.get("data"));
        let data = match data.and_then(Value::as_str) {
            Some(text) => hex::decode(text)
                .map_err(|_| invalid("invalid argument 0: cannot unmarshal invalid hex string"))?,
            None => Vec::new(),
        };
        if data.starts_with(&REVERTS) {
            return Err(Miss::Error(RpcError {
                code: 3,
                message: "execution reverted".to_owned(),
                data: Some(render::data(&data)),
            }));
        }
        Ok((to, data))
    }

    fn call(&self) -> Result<String, Miss> {
        let (height, branch) = self.state(1)?;
        let (to, data) = self.target()?;
        Ok(render::hash(state::call(to, &data, height, branch)))
    }

    fn estimate(&self) -> Result<String, Miss> {
        self.state(1)?;
        let (_, data) = self.target()?;
        Ok(quantity(21_000 + 16 * data.len() as u64))
    }

    fn access_list(&self) -> Result<String, Miss> {
        let gas = self.estimate()?;
        Ok(format!(r#"{{"accessList":[],"gasUsed":{gas}}}"#))
    }

    fn send(&self, taken: &mut Vec<B256>) -> Result<String, Miss> {
        let raw = self.param(0)?.as_str().map(hex::decode);
        let Some(Ok(raw)) = raw else {
            return Err(invalid(
                "invalid argument 0: cannot unmarshal invalid hex string",
            ));
        };
        let (chain, view) = (self.sight.chain, &self.sight.view);
        let sent = if self.sight.forgets {
            chain.send_nowhere(view, &raw)
        } else {
            chain.send(view, &raw)
        };
        let hash: B256 = match sent {
            Ok(hash) => {
                taken.push(hash);
                hash
            }
            Err(refused) => self.sight.dialect.send_refused(&refused)?,
        };
        Ok(render::hash(hash))
    }

    fn fee_history(&self) -> Result<String, Miss> {
        let count = match self.param(0)? {
            Value::String(text) => parse_quantity(text),
            number => number.as_u64(),
        };
        let count = count.ok_or_else(|| invalid("invalid argument 0: not a quantity"))?;
        let newest = self.sight.height(self.param(1)?)?;
        if newest > self.sight.head() {
            return Err(error(
                -32000,
                format!(
                    "request beyond head block: requested {newest}, head {}",
                    self.sight.head()
                ),
            ));
        }
        let count = count
            .min(1_024)
            .min(newest - self.sight.oldest_block().min(newest) + 1);
        let oldest = newest + 1 - count;
        let rewards = self
            .params
            .get(2)
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        let fees: Vec<String> = (oldest..=newest + 1)
            .map(|height| quantity(base_fee(height)))
            .collect();
        let ratios = vec!["0.5"; usize::try_from(count).unwrap_or(0)].join(",");
        let tips = vec![quantity(TIP); rewards].join(",");
        let reward = vec![format!("[{tips}]"); usize::try_from(count).unwrap_or(0)].join(",");
        Ok(format!(
            r#"{{"oldestBlock":"{oldest:#x}","baseFeePerGas":[{}],"gasUsedRatio":[{ratios}],"reward":[{reward}]}}"#,
            fees.join(",")
        ))
    }

    fn capabilities(&self) -> Result<String, Miss> {
        let sight = self.sight;
        let head = sight.head();
        let hash = sight
            .block(head)
            .map(|block| block.hash)
            .unwrap_or_default();
        let lane = |oldest: u64| format!(r#"{{"disabled":false,"oldestBlock":"{oldest:#x}"}}"#);
        let blocks = lane(sight.oldest_block());
        let state = lane(sight.oldest_state());
        Ok(format!(
            r#"{{"head":{{"number":"{head:#x}","hash":"{hash}"}},"state":{state},"tx":{blocks},"logs":{blocks},"receipts":{blocks},"blocks":{blocks},"stateproofs":{{"disabled":true,"oldestBlock":"{head:#x}"}}}}"#
        ))
    }
}

fn address(value: &Value) -> Result<Address, Miss> {
    value
        .as_str()
        .filter(|text| text.starts_with("0x"))
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| {
            invalid("invalid argument 0: cannot unmarshal into Go value of type common.Address")
        })
}
