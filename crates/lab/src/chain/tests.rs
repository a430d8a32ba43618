//! The chain's promises, checked with alloy's own decoders.

use std::time::Duration;

use alloy_consensus::transaction::SignerRecoverable as _;
use alloy_consensus::{SignableTransaction as _, Transaction as _, TxEnvelope, TxLegacy};
use alloy_eips::{Decodable2718 as _, Encodable2718 as _};
use alloy_primitives::{B256, Bloom, BloomInput, TxKind, U256};

use super::account::Account;
use super::{Chain, ChainSpec, Fork, Reach, SendRefused, View};

fn reorging(at: u64, depth: u64, reach: Reach) -> ChainSpec {
    ChainSpec {
        start: 20,
        forks: vec![Fork {
            at: Duration::from_secs(at),
            depth,
            reach,
        }],
        ..ChainSpec::default()
    }
}

fn view(seconds: u64) -> View {
    View::healthy(Duration::from_secs(seconds))
}

fn transfer(account: &Account, nonce: u64, chain_id: u64) -> Vec<u8> {
    let tx = TxLegacy {
        chain_id: Some(chain_id),
        nonce,
        gas_price: 2_000_000_000,
        gas_limit: 21_000,
        to: TxKind::Call(account.address()),
        value: U256::from(1),
        input: Default::default(),
    };
    let signature = account.sign(tx.signature_hash());
    TxEnvelope::from(tx.into_signed(signature)).encoded_2718()
}

// B-1
#[test]
fn links_blocks_by_the_hash_of_their_headers() {
    let chain = Chain::new(ChainSpec::default());
    let mut parent = B256::ZERO;
    for height in 0..=130 {
        let block = chain.block(&view(2), height).unwrap();
        assert_eq!(block.header.parent_hash, parent);
        assert_eq!(block.header.hash_slow(), block.hash);
        parent = block.hash;
    }
    assert!(chain.block(&view(2), 131).is_none());
}

// B-1
#[test]
fn signs_transactions_that_alloy_decodes_to_their_sender() {
    let chain = Chain::new(ChainSpec {
        transactions: 8,
        ..ChainSpec::default()
    });
    let block = chain.block(&view(0), 100).unwrap();
    assert_eq!(block.mined.len(), 8);
    for mined in &block.mined {
        let decoded = TxEnvelope::decode_2718_exact(&mined.tx.encoded_2718()).unwrap();
        assert_eq!(decoded.recover_signer().unwrap(), mined.from);
        assert_eq!(decoded.nonce(), chain.nonce(mined.from, 99));
    }
}

// B-1
#[test]
fn computes_the_bloom_from_the_logs() {
    let chain = Chain::new(ChainSpec::default());
    let block = chain.block(&view(0), 50).unwrap();
    let mut bloom = Bloom::ZERO;
    let mut logs = 0;
    for mined in &block.mined {
        assert_eq!(mined.first_log, logs);
        for log in mined.receipt.logs() {
            bloom.accrue(BloomInput::Raw(log.address.as_slice()));
            for topic in log.topics() {
                bloom.accrue(BloomInput::Raw(topic.as_slice()));
            }
            logs += 1;
        }
    }
    assert!(logs > 0);
    assert_eq!(block.header.logs_bloom, bloom);
}

#[test]
fn is_the_same_chain_for_the_same_numbers_and_another_for_others() {
    let head = |spec: ChainSpec| Chain::new(spec).block(&view(5), 133).unwrap().hash;
    let other = ChainSpec {
        seed: 2,
        ..ChainSpec::default()
    };
    assert_eq!(head(ChainSpec::default()), head(ChainSpec::default()));
    assert_ne!(head(ChainSpec::default()), head(other));
}

// B-2
#[test]
fn replaces_the_last_blocks_in_a_reorg_and_keeps_what_is_below() {
    let chain = Chain::new(reorging(5, 3, Reach::Everyone));
    let (before, after) = (view(4), view(5));
    assert_eq!(chain.head(&after), 25);
    for height in 0..=22 {
        let old = chain.block(&before, height).unwrap();
        assert_eq!(old.hash, chain.block(&after, height).unwrap().hash);
    }
    let mut parent = chain.block(&before, 22).unwrap().hash;
    for height in 23..=25 {
        let new = chain.block(&after, height).unwrap();
        assert_eq!(new.header.parent_hash, parent);
        parent = new.hash;
    }
    let orphan = chain.block(&before, 24).unwrap();
    assert_ne!(orphan.hash, chain.block(&after, 24).unwrap().hash);
    assert!(chain.by_hash(&before, orphan.hash).unwrap().canonical);
    assert!(!chain.by_hash(&after, orphan.hash).unwrap().canonical);

    let moved = *orphan.mined[0].tx.tx_hash();
    let vanished = *orphan.mined[1].tx.tx_hash();
    let (block, index) = chain.transaction(&after, moved).unwrap();
    assert_eq!((block.height(), index), (24, 0));
    assert_ne!(block.hash, orphan.hash);
    assert!(chain.transaction(&before, vanished).is_some());
    assert!(chain.transaction(&after, vanished).is_none());
}

// B-2
#[test]
fn reorgs_on_top_of_reorgs_share_the_right_parents() {
    let mut spec = reorging(5, 6, Reach::Everyone);
    spec.forks.push(Fork {
        at: Duration::from_secs(7),
        depth: 2,
        reach: Reach::Everyone,
    });
    let chain = Chain::new(spec);
    let last = view(9);
    let mut parent = chain.block(&last, 18).unwrap().hash;
    for height in 19..=29 {
        let block = chain.block(&last, height).unwrap();
        assert_eq!(block.header.parent_hash, parent);
        parent = block.hash;
    }
    let branches: Vec<_> = [19, 20, 25, 26, 29].map(|h| chain.branch(&last, h)).into();
    assert_eq!(branches, [0, 1, 1, 2, 2]);
}

// B-2
#[test]
fn shows_a_stray_fork_only_to_the_node_on_it() {
    let chain = Chain::new(reorging(5, 3, Reach::Strayed));
    let strayed = View {
        stray: Some(0),
        ..view(6)
    };
    let own = chain.block(&strayed, 24).unwrap();
    assert_ne!(own.hash, chain.block(&view(6), 24).unwrap().hash);
    assert!(chain.by_hash(&view(6), own.hash).is_none());
    assert!(chain.by_hash(&strayed, own.hash).unwrap().canonical);
}

#[test]
fn shows_less_to_a_node_that_lags() {
    let chain = Chain::new(ChainSpec::default());
    let lagging = View { lag: 4, ..view(10) };
    assert_eq!(chain.head(&lagging), 134);
    assert_eq!(chain.finalized(&lagging), 70);
    let ahead = chain.block(&view(10), 136).unwrap();
    assert!(chain.block(&lagging, 136).is_none());
    assert!(chain.by_hash(&lagging, ahead.hash).is_none());
    assert!(
        chain
            .transaction(&lagging, *ahead.mined[0].tx.tx_hash())
            .is_none()
    );
}

#[test]
fn mines_what_was_sent_in_order_of_nonces() {
    let chain = Chain::new(ChainSpec::default());
    let account = Account::new(77, 0);
    let gap = transfer(&account, 1, 990_001);
    let first = transfer(&account, 0, 990_001);
    let later = chain.send(&view(0), &gap).unwrap();
    assert!(chain.transaction(&view(5), later).is_none());
    assert_eq!(chain.pending_nonce(account.address(), &view(5)), 0);
    let hash = chain.send(&view(5), &first).unwrap();
    assert_eq!(chain.pending_nonce(account.address(), &view(5)), 2);
    let (block, _) = chain.transaction(&view(6), hash).unwrap();
    assert_eq!(block.height(), 134);
    assert_eq!(chain.transaction(&view(6), later).unwrap().0.height(), 134);
    assert_eq!(chain.nonce(account.address(), 133), 0);
    assert_eq!(chain.nonce(account.address(), 134), 2);

    let again = chain.send(&view(7), &first);
    assert_eq!(again, Err(SendRefused::AlreadyKnown(hash)));
    let foreign = chain.send(&view(7), &transfer(&account, 2, 5));
    assert_eq!(foreign, Err(SendRefused::WrongChain));
    assert_eq!(
        chain.send(&view(7), b"\x02junk"),
        Err(SendRefused::Undecodable)
    );
}
