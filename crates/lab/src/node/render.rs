//! Chain things as the JSON of the Ethereum API.

use std::fmt::Write as _;

use alloy_consensus::{Transaction as _, TxEnvelope, TxReceipt as _, Typed2718 as _};
use alloy_eips::Encodable2718 as _;
use alloy_primitives::{B256, Bytes, hex};

use crate::chain::{Block, Mined, Waiting};

/// A quantity as a JSON string.
#[must_use]
pub(super) fn quantity(number: impl std::fmt::LowerHex) -> String {
    format!("\"{number:#x}\"")
}

/// Bytes as a JSON string.
#[must_use]
pub(super) fn data(bytes: impl AsRef<[u8]>) -> String {
    format!("\"0x{}\"", hex::encode(bytes))
}

/// A block; its transactions whole or as hashes.
#[must_use]
pub(crate) fn block(block: &Block, full: bool) -> String {
    if full {
        return whole(block, full);
    }
    block.json.get_or_init(|| whole(block, full)).clone()
}

fn whole(block: &Block, full: bool) -> String {
    let mut out = header(block);
    out.pop();
    let size = 600
        + block
            .mined
            .iter()
            .map(|mined| mined.tx.encode_2718_len())
            .sum::<usize>();
    let _ = write!(
        out,
        r#","size":"{size:#x}","uncles":[],"withdrawals":[],"transactions":["#
    );
    for (index, mined) in block.mined.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        if full {
            out.push_str(&transaction(block, index));
        } else {
            let _ = write!(out, "\"{}\"", mined.tx.tx_hash());
        }
    }
    out.push_str("]}");
    out
}

/// A block without its body.
#[must_use]
pub(super) fn header(block: &Block) -> String {
    let h = &block.header;
    let mut out = String::with_capacity(2_048);
    let _ = write!(
        out,
        concat!(
            r#"{{"number":"{:#x}","hash":"{}","parentHash":"{}","sha3Uncles":"{}","miner":"{}","#,
            r#""stateRoot":"{}","transactionsRoot":"{}","receiptsRoot":"{}","logsBloom":"{}","#,
            r#""difficulty":"0x0","gasLimit":"{:#x}","gasUsed":"{:#x}","timestamp":"{:#x}","#,
            r#""extraData":"{}","mixHash":"{}","nonce":"{}","baseFeePerGas":"{:#x}","#,
            r#""withdrawalsRoot":"{}","blobGasUsed":"0x0","excessBlobGas":"0x0","#,
            r#""parentBeaconBlockRoot":"{}"}}"#
        ),
        h.number,
        block.hash,
        h.parent_hash,
        h.ommers_hash,
        lower(h.beneficiary),
        h.state_root,
        h.transactions_root,
        h.receipts_root,
        h.logs_bloom,
        h.gas_limit,
        h.gas_used,
        h.timestamp,
        h.extra_data,
        h.mix_hash,
        h.nonce,
        h.base_fee_per_gas.unwrap_or_default(),
        h.withdrawals_root.unwrap_or_default(),
        h.parent_beacon_block_root.unwrap_or_default(),
    );
    out
}

/// A transaction that waits for a block.
#[must_use]
pub(super) fn waiting(hash: B256, waiting: &Waiting) -> String {
    format!(
        concat!(
            r#"{{"blockHash":null,"blockNumber":null,"transactionIndex":null,"hash":"{}","#,
            r#""from":"{}","nonce":"{:#x}"}}"#
        ),
        hash,
        lower(waiting.from),
        waiting.nonce
    )
}

/// A transaction in its block.
#[must_use]
pub(crate) fn transaction(block: &Block, index: usize) -> String {
    let mined = &block.mined[index];
    let tx = &mined.tx;
    let signature = tx.signature();
    let mut out = String::with_capacity(1_024);
    let _ = write!(
        out,
        concat!(
            r#"{{"blockHash":"{}","blockNumber":"{:#x}","transactionIndex":"{:#x}","hash":"{}","#,
            r#""type":"{:#x}","from":"{}","to":{},"nonce":"{:#x}","value":"{:#x}","gas":"{:#x}","#,
            r#""input":"{}","r":"{:#x}","s":"{:#x}","#
        ),
        block.hash,
        block.height(),
        index,
        tx.tx_hash(),
        tx.ty(),
        lower(mined.from),
        tx.to()
            .map_or("null".to_owned(), |to| format!("\"{}\"", lower(to))),
        tx.nonce(),
        tx.value(),
        tx.gas_limit(),
        tx.input(),
        signature.r(),
        signature.s(),
    );
    let parity = u64::from(signature.v());
    match (tx, tx.chain_id()) {
        (TxEnvelope::Legacy(_), Some(chain)) => {
            let _ = write!(
                out,
                r#""v":"{:#x}","chainId":"{chain:#x}","#,
                35 + 2 * chain + parity
            );
        }
        (TxEnvelope::Legacy(_), None) => {
            let _ = write!(out, r#""v":"{:#x}","#, 27 + parity);
        }
        (_, chain) => {
            let chain = chain.unwrap_or_default();
            let _ = write!(
                out,
                r#""v":"{parity:#x}","yParity":"{parity:#x}","chainId":"{chain:#x}","accessList":"#
            );
            access_list(&mut out, tx);
            out.push(',');
        }
    }
    let price = tx.effective_gas_price(block.header.base_fee_per_gas);
    let _ = write!(out, r#""gasPrice":"{price:#x}""#);
    if let Some(tip) = tx.max_priority_fee_per_gas() {
        let max = tx.max_fee_per_gas();
        let _ = write!(
            out,
            r#","maxFeePerGas":"{max:#x}","maxPriorityFeePerGas":"{tip:#x}""#
        );
    }
    out.push('}');
    out
}

fn access_list(out: &mut String, tx: &TxEnvelope) {
    out.push('[');
    for (at, item) in tx
        .access_list()
        .iter()
        .flat_map(|list| list.0.iter())
        .enumerate()
    {
        let comma = if at > 0 { "," } else { "" };
        let keys: Vec<String> = item
            .storage_keys
            .iter()
            .map(|key| format!("\"{key}\""))
            .collect();
        let _ = write!(
            out,
            r#"{comma}{{"address":"{}","storageKeys":[{}]}}"#,
            lower(item.address),
            keys.join(",")
        );
    }
    out.push(']');
}

/// A receipt.
#[must_use]
pub(crate) fn receipt(block: &Block, index: usize) -> String {
    let mined = &block.mined[index];
    let tx = &mined.tx;
    let created = tx.to().is_none().then(|| mined.from.create(tx.nonce()));
    let address = |address: Option<_>| {
        address.map_or("null".to_owned(), |address| {
            format!("\"{}\"", lower(address))
        })
    };
    let logs: Vec<String> = (0..mined.receipt.logs().len())
        .map(|at| log(block, index, at))
        .collect();
    format!(
        concat!(
            r#"{{"blockHash":"{}","blockNumber":"{:#x}","transactionIndex":"{:#x}","#,
            r#""transactionHash":"{}","type":"{:#x}","from":"{}","to":{},"contractAddress":{},"#,
            r#""status":"{:#x}","gasUsed":"{:#x}","cumulativeGasUsed":"{:#x}","#,
            r#""effectiveGasPrice":"{:#x}","logsBloom":"{}","logs":[{}]}}"#
        ),
        block.hash,
        block.height(),
        index,
        tx.tx_hash(),
        tx.ty(),
        lower(mined.from),
        address(tx.to()),
        address(created),
        u8::from(mined.receipt.status()),
        mined.gas_used,
        mined.receipt.cumulative_gas_used(),
        tx.effective_gas_price(block.header.base_fee_per_gas),
        mined.receipt.bloom(),
        logs.join(",")
    )
}

/// Log number `at` of transaction `index`.
#[must_use]
pub(super) fn log(block: &Block, index: usize, at: usize) -> String {
    let mined: &Mined = &block.mined[index];
    let logs = mined.logs.get_or_init(|| {
        let count = mined.receipt.logs().len();
        (0..count)
            .map(|at| write_log(block, (mined, index), at))
            .collect()
    });
    logs[at].clone()
}

fn write_log(block: &Block, (mined, index): (&Mined, usize), at: usize) -> String {
    let log = &mined.receipt.logs()[at];
    let topics: Vec<String> = log
        .topics()
        .iter()
        .map(|topic| format!("\"{topic}\""))
        .collect();
    format!(
        concat!(
            r#"{{"address":"{}","topics":[{}],"data":"{}","blockNumber":"{:#x}","#,
            r#""blockHash":"{}","blockTimestamp":"{:#x}","transactionHash":"{}","#,
            r#""transactionIndex":"{:#x}","logIndex":"{:#x}","removed":false}}"#
        ),
        lower(log.address),
        topics.join(","),
        log.data.data,
        block.height(),
        block.hash,
        block.header.timestamp,
        mined.tx.tx_hash(),
        index,
        mined.first_log + at as u64
    )
}

/// An address without the checksum's capitals, as nodes write it.
fn lower(address: alloy_primitives::Address) -> String {
    format!("{address:#x}")
}

/// A hash as a JSON string.
#[must_use]
pub(super) fn hash(hash: B256) -> String {
    format!("\"{hash}\"")
}

/// The raw bytes of a transaction.
#[must_use]
pub(super) fn raw(tx: &TxEnvelope) -> String {
    data(Bytes::from(tx.encoded_2718()))
}
