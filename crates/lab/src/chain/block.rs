//! One block: header, transactions, receipts, all real.
//!
//! The header hash is the keccak of the RLP header, roots and bloom are computed, transactions are
//! signed. Only the state root stands for nothing, since there is no state trie.

use std::sync::{Arc, OnceLock};

use alloy_consensus::constants::EMPTY_WITHDRAWALS;
use alloy_consensus::proofs::{calculate_receipt_root, calculate_transaction_root};
use alloy_consensus::{
    EMPTY_OMMER_ROOT_HASH, Header, Receipt, ReceiptEnvelope, SignableTransaction, Transaction as _,
    TxEip1559, TxEip2930, TxEnvelope, TxLegacy, TxReceipt as _,
};
use alloy_primitives::{Address, B256, Bytes, Log, LogData, TxKind, U256, keccak256, logs_bloom};

use super::account::Account;
use super::spec::ChainSpec;
use super::state::Branch;

/// Gas limit of every block.
pub const GAS_LIMIT: u64 = 36_000_000;
/// `keccak256("Transfer(address,address,uint256)")`, the first topic of every synthetic log.
pub const TRANSFER: B256 =
    alloy_primitives::b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
/// Contracts that synthetic transactions call.
const CONTRACTS: usize = 4;
/// One in so many synthetic transactions fails.
const FAIL_EVERY: u64 = 16;

/// A transaction in its block.
#[derive(Clone, Debug)]
pub struct Mined {
    /// The signed transaction.
    pub tx: TxEnvelope,
    /// Who signed it.
    pub from: Address,
    /// Its receipt, cumulative gas and logs included.
    pub receipt: ReceiptEnvelope,
    /// Gas of this transaction alone.
    pub gas_used: u64,
    /// Block-wide index of its first log.
    pub first_log: u64,
    /// Its logs as JSON, once somebody asked.
    pub(crate) logs: OnceLock<Vec<String>>,
}

/// A block.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its header.
    pub header: Header,
    /// The keccak of the RLP header.
    pub hash: B256,
    /// The branch it was made on.
    pub branch: Branch,
    /// Its transactions.
    pub mined: Vec<Mined>,
    /// It as JSON, with the hashes of its transactions, once somebody asked.
    pub(crate) json: OnceLock<String>,
}

impl Block {
    /// Height.
    #[must_use]
    pub fn height(&self) -> u64 {
        self.header.number
    }
}

/// A transaction that a client sent, ready to be mined.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) tx: TxEnvelope,
    pub(super) from: Address,
}

/// Makes the block at a height of a branch.
pub(super) fn build(
    spec: &ChainSpec,
    accounts: &[Arc<Account>],
    (branch, height): (Branch, u64),
    parent: B256,
    sent: &[Sent],
) -> Block {
    let mut builder = Builder {
        spec,
        mined: Vec::new(),
        gas: 0,
        logs: 0,
    };
    if height > spec.first {
        for (index, account) in accounts.iter().enumerate() {
            builder.synthetic(account, index, height, branch);
        }
    }
    for sent in sent {
        builder.sent(sent);
    }
    let Builder { mined, gas, .. } = builder;
    let txs: Vec<&TxEnvelope> = mined.iter().map(|mined| &mined.tx).collect();
    let receipts: Vec<&ReceiptEnvelope> = mined.iter().map(|mined| &mined.receipt).collect();
    let header = Header {
        parent_hash: parent,
        ommers_hash: EMPTY_OMMER_ROOT_HASH,
        beneficiary: address(spec.seed, b"proposer", height % 16),
        state_root: word(spec.seed, b"state", height, branch),
        transactions_root: calculate_transaction_root(&txs),
        receipts_root: calculate_receipt_root(&receipts),
        logs_bloom: logs_bloom(receipts.iter().flat_map(|receipt| receipt.logs())),
        difficulty: U256::ZERO,
        number: height,
        gas_limit: GAS_LIMIT,
        gas_used: gas,
        timestamp: spec.timestamp(height),
        extra_data: Bytes::from(format!("lab/{branch}").into_bytes()),
        mix_hash: word(spec.seed, b"randao", height, branch),
        base_fee_per_gas: Some(base_fee(height)),
        withdrawals_root: Some(EMPTY_WITHDRAWALS),
        blob_gas_used: Some(0),
        excess_blob_gas: Some(0),
        parent_beacon_block_root: Some(word(spec.seed, b"beacon", height, branch)),
        ..Header::default()
    };
    let hash = header.hash_slow();
    Block {
        header,
        hash,
        branch,
        mined,
        json: OnceLock::new(),
    }
}

/// Base fee at a height, in wei: one gwei and a little, never the same twice in a row.
#[must_use]
pub fn base_fee(height: u64) -> u64 {
    1_000_000_000 + (height % 97) * 1_000_000
}

/// Address of contract number `index` of a seed.
#[must_use]
pub fn contract(seed: u64, index: usize) -> Address {
    address(seed, b"contract", (index % CONTRACTS) as u64)
}

struct Builder<'a> {
    spec: &'a ChainSpec,
    mined: Vec<Mined>,
    gas: u64,
    logs: u64,
}

impl Builder<'_> {
    fn synthetic(&mut self, account: &Account, index: usize, height: u64, branch: Branch) {
        // Even transactions are the same bytes on every branch, so a reorg moves them to another
        // block; odd ones differ, so a reorg makes them vanish.
        let flavour = if index.is_multiple_of(2) { 0 } else { branch };
        let to = contract(self.spec.seed, index);
        let amount = (height << 20) | ((index as u64) << 16) | u64::from(flavour);
        let recipient = address(self.spec.seed, b"recipient", height % 32);
        let tx = self.transaction(account, index, height, transfer(recipient, amount), to);
        let fails = (height + index as u64) % FAIL_EVERY == FAIL_EVERY - 1;
        let logs = if fails { 0 } else { self.spec.logs };
        let logs = (0..logs)
            .map(|number| transfer_log(to, account.address(), recipient, amount + number as u64))
            .collect();
        let gas = 46_000 + 1_000 * index as u64;
        self.push(tx, account.address(), !fails, gas, logs);
    }

    fn transaction(
        &self,
        account: &Account,
        index: usize,
        height: u64,
        input: Bytes,
        to: Address,
    ) -> TxEnvelope {
        let chain_id = self.spec.chain_id;
        let nonce = height - self.spec.first - 1;
        let (to, gas_limit, value) = (TxKind::Call(to), 90_000, U256::ZERO);
        let price = u128::from(base_fee(height)) + 1_000_000_000;
        match index % 3 {
            0 => signed(
                account,
                TxEip1559 {
                    chain_id,
                    nonce,
                    gas_limit,
                    max_fee_per_gas: price * 2,
                    max_priority_fee_per_gas: 1_000_000_000,
                    to,
                    value,
                    input,
                    access_list: Default::default(),
                },
            ),
            1 => signed(
                account,
                TxLegacy {
                    chain_id: Some(chain_id),
                    nonce,
                    gas_price: price,
                    gas_limit,
                    to,
                    value,
                    input,
                },
            ),
            _ => signed(
                account,
                TxEip2930 {
                    chain_id,
                    nonce,
                    gas_price: price,
                    gas_limit,
                    to,
                    value,
                    input,
                    access_list: Default::default(),
                },
            ),
        }
    }

    fn sent(&mut self, sent: &Sent) {
        let data = sent.tx.input().len() as u64;
        let create = if sent.tx.to().is_none() { 32_000 } else { 0 };
        let gas = (21_000 + 16 * data + create).min(sent.tx.gas_limit());
        self.push(sent.tx.clone(), sent.from, true, gas, Vec::new());
    }

    fn push(&mut self, tx: TxEnvelope, from: Address, status: bool, gas: u64, logs: Vec<Log>) {
        self.gas += gas;
        let first_log = self.logs;
        self.logs += logs.len() as u64;
        let receipt = Receipt {
            status: status.into(),
            cumulative_gas_used: self.gas,
            logs,
        };
        self.mined.push(Mined {
            receipt: ReceiptEnvelope::from_typed(tx.tx_type(), receipt),
            tx,
            from,
            gas_used: gas,
            first_log,
            logs: OnceLock::new(),
        });
    }
}

fn signed<T>(account: &Account, tx: T) -> TxEnvelope
where
    T: SignableTransaction<alloy_primitives::Signature>,
    TxEnvelope: From<alloy_consensus::Signed<T>>,
{
    let signature = account.sign(tx.signature_hash());
    tx.into_signed(signature).into()
}

fn transfer(recipient: Address, amount: u64) -> Bytes {
    let mut data = vec![0xa9, 0x05, 0x9c, 0xbb];
    data.extend_from_slice(recipient.into_word().as_slice());
    data.extend_from_slice(&U256::from(amount).to_be_bytes::<32>());
    data.into()
}

fn transfer_log(contract: Address, from: Address, to: Address, amount: u64) -> Log {
    let topics = vec![TRANSFER, from.into_word(), to.into_word()];
    let data = U256::from(amount).to_be_bytes::<32>();
    Log {
        address: contract,
        data: LogData::new_unchecked(topics, Bytes::copy_from_slice(&data)),
    }
}

fn address(seed: u64, purpose: &[u8], index: u64) -> Address {
    Address::from_word(word(seed, purpose, index, 0))
}

fn word(seed: u64, purpose: &[u8], index: u64, branch: Branch) -> B256 {
    let parts = [
        &b"lab"[..],
        &seed.to_be_bytes(),
        purpose,
        &index.to_be_bytes(),
        &branch.to_be_bytes(),
    ];
    keccak256(parts.concat())
}
