use alloy_consensus::{
    BlobTransactionSidecar, SignableTransaction, Signed, TxEip1559, TxEip2930, TxEip4844,
    TxEip4844WithSidecar, TxEip7702, TxLegacy,
};
use alloy_eips::{
    eip2718::Encodable2718,
    eip2930::{AccessList, AccessListItem},
    eip7594::BlobTransactionSidecarEip7594,
    eip7702::{Authorization, SignedAuthorization},
};
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256};
use highwater_core::{
    ChainId, TxHash,
    transaction::{Kind, Raw},
};
use proptest::prelude::*;

/// What a transaction is made of here; the same for every type.
#[derive(Clone, Debug)]
struct Parts {
    chain: u64,
    nonce: u64,
    price: u128,
    gas: u64,
    to: Option<[u8; 20]>,
    value: [u8; 32],
    data: Vec<u8>,
    keys: usize,
    r: [u8; 32],
    s: [u8; 32],
    odd_y: bool,
}

impl Parts {
    fn plain() -> Self {
        Self {
            chain: 1,
            nonce: 7,
            price: 30_000_000_000,
            gas: 21_000,
            to: Some([0x11; 20]),
            value: [0; 32],
            data: Vec::new(),
            keys: 0,
            r: [0xaa; 32],
            s: [0x0b; 32],
            odd_y: true,
        }
    }

    fn to(&self) -> TxKind {
        self.to.map_or(TxKind::Create, |to| TxKind::Call(to.into()))
    }

    fn address(&self) -> Address {
        self.to.unwrap_or([3; 20]).into()
    }

    fn list(&self) -> AccessList {
        let item = AccessListItem {
            address: [4; 20].into(),
            storage_keys: vec![B256::repeat_byte(9); self.keys],
        };
        AccessList(vec![item; usize::from(self.keys > 0)])
    }

    fn signature(&self) -> Signature {
        Signature::new(
            U256::from_be_bytes(self.r),
            U256::from_be_bytes(self.s),
            self.odd_y,
        )
    }

    /// Signed, checked against what is read of the bytes, which are given back.
    fn check<T>(&self, tx: T, kind: Kind, chain: Option<u64>) -> Vec<u8>
    where
        T: SignableTransaction<Signature>,
        Signed<T>: Encodable2718 + Hashed,
    {
        let signing_hash = tx.signature_hash();
        let signed = tx.into_signed(self.signature());
        let bytes = signed.encoded_2718();
        let raw = Raw::of_bytes(&bytes).expect("a transaction");
        assert_eq!((raw.hash, raw.kind), (TxHash(signed.tx_hash().0), kind));
        let read = raw.signed.expect("a known layout");
        assert_eq!(read.nonce, self.nonce);
        assert_eq!(read.chain, chain.map(ChainId));
        assert_eq!(read.signing_hash, signing_hash.0);
        assert_eq!((read.r, read.s, read.odd_y), (self.r, self.s, self.odd_y));
        bytes
    }

    fn legacy(&self, chain: Option<u64>) -> TxLegacy {
        TxLegacy {
            chain_id: chain,
            nonce: self.nonce,
            gas_price: self.price,
            gas_limit: self.gas,
            to: self.to(),
            value: U256::from_be_bytes(self.value),
            input: Bytes::copy_from_slice(&self.data),
        }
    }

    fn blob(&self) -> TxEip4844 {
        TxEip4844 {
            chain_id: self.chain,
            nonce: self.nonce,
            gas_limit: self.gas,
            max_fee_per_gas: self.price,
            max_priority_fee_per_gas: 1,
            to: self.address(),
            value: U256::from_be_bytes(self.value),
            access_list: self.list(),
            blob_versioned_hashes: vec![B256::repeat_byte(1)],
            max_fee_per_blob_gas: self.price,
            input: Bytes::copy_from_slice(&self.data),
        }
    }

    fn check_all(&self) -> Vec<Vec<u8>> {
        let chain = Some(self.chain);
        let access_list = TxEip2930 {
            chain_id: self.chain,
            nonce: self.nonce,
            gas_price: self.price,
            gas_limit: self.gas,
            to: self.to(),
            value: U256::from_be_bytes(self.value),
            access_list: self.list(),
            input: Bytes::copy_from_slice(&self.data),
        };
        let dynamic_fee = TxEip1559 {
            chain_id: self.chain,
            nonce: self.nonce,
            gas_limit: self.gas,
            max_fee_per_gas: self.price,
            max_priority_fee_per_gas: 1,
            to: self.to(),
            value: U256::from_be_bytes(self.value),
            access_list: self.list(),
            input: Bytes::copy_from_slice(&self.data),
        };
        let authorization = Authorization {
            chain_id: U256::from(self.chain),
            address: self.address(),
            nonce: self.nonce,
        };
        let authorization =
            SignedAuthorization::new_unchecked(authorization, 1, U256::ONE, U256::MAX);
        let set_code = TxEip7702 {
            chain_id: self.chain,
            nonce: self.nonce,
            gas_limit: self.gas,
            max_fee_per_gas: self.price,
            max_priority_fee_per_gas: 1,
            to: self.address(),
            value: U256::from_be_bytes(self.value),
            access_list: self.list(),
            authorization_list: vec![authorization; 2],
            input: Bytes::copy_from_slice(&self.data),
        };
        // The chain stands in `v`, which has room for a little less than 64 bits of it.
        let protected = self.chain.min(u64::MAX / 2 - 18);
        vec![
            self.check(self.legacy(None), Kind::Legacy, None),
            self.check(self.legacy(Some(protected)), Kind::Legacy, Some(protected)),
            self.check(access_list, Kind::AccessList, chain),
            self.check(dynamic_fee, Kind::DynamicFee, chain),
            self.check(self.blob(), Kind::Blob, chain),
            self.check(set_code, Kind::SetCode, chain),
        ]
    }
}

/// The hash of a signed transaction, whatever its type.
trait Hashed {
    fn tx_hash(&self) -> B256;
}

macro_rules! hashed {
    ($($tx:ty),*) => {$(
        impl Hashed for Signed<$tx> {
            fn tx_hash(&self) -> B256 {
                *self.hash()
            }
        }
    )*};
}

hashed!(TxLegacy, TxEip2930, TxEip1559, TxEip4844, TxEip7702);

// R-35
#[test]
fn every_type_is_read_as_alloy_wrote_it() {
    Parts::plain().check_all();
    let made = Parts {
        to: None,
        data: vec![0x60; 60_000],
        keys: 3,
        odd_y: false,
        ..Parts::plain()
    };
    made.check_all();
}

// R-35: what travels around a blob transaction is no part of its hash.
#[test]
fn a_blob_transaction_is_called_by_what_is_inside_its_wrapper() {
    let parts = Parts::plain();
    let alone = Raw::of_bytes(&parts.check(parts.blob(), Kind::Blob, Some(1)));
    let blob = Box::new([0x17_u8; 131_072].into());
    let commitment = [0xc0; 48].into();
    let old = BlobTransactionSidecar::new(vec![*blob], vec![commitment], vec![commitment]);
    let old = TxEip4844WithSidecar::from_tx_and_sidecar(parts.blob(), old);
    let bytes = old.into_signed(parts.signature()).encoded_2718();
    assert!(bytes.len() > 131_072);
    assert_eq!(Raw::of_bytes(&bytes), alone);
    let cells = vec![commitment; 128];
    let new = BlobTransactionSidecarEip7594::new(vec![*blob], vec![commitment], cells);
    let new = TxEip4844WithSidecar::from_tx_and_sidecar(parts.blob(), new);
    let bytes = new.into_signed(parts.signature()).encoded_2718();
    assert_eq!(Raw::of_bytes(&bytes), alone);
}

// R-35: the numbers that EIP-155 itself gives.
#[test]
fn the_example_of_eip_155_is_read_as_it_says() {
    let example = "0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3\
                   a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276\
                   a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83";
    let example: String = example.split_whitespace().collect();
    let signed = Raw::of_hex(&example)
        .and_then(|raw| raw.signed)
        .expect("signed");
    assert_eq!((signed.nonce, signed.chain), (9, Some(ChainId(1))));
    let signing = "0xdaf5a779ae972f972197303d7b574746c7ef83eadac0f2791ad23db92e4c8e53";
    assert_eq!(TxHash(signed.signing_hash).to_string(), signing);
}

// R-35
#[test]
fn the_transaction_is_the_first_parameter_of_every_form() {
    let bytes = Parts::plain().check_all().remove(3);
    let hex = alloy_primitives::hex::encode(&bytes);
    let expected = Raw::of_bytes(&bytes);
    assert!(expected.is_some());
    let upper = hex.to_uppercase();
    for params in [
        format!(r#"["0x{hex}"]"#),
        format!(r#" [ "0x{hex}" , 2000 ]"#),
        format!(r#"["0x{hex}","0x7d0"]"#),
        format!(r#"["0X{upper}",{{"knownAccounts":{{}}}}]"#),
        format!(r#"["\u0030x{hex}"]"#),
    ] {
        assert_eq!(Raw::of_params(&params), expected, "{params}");
    }
    for params in [
        String::new(),
        "[]".to_owned(),
        "[1]".to_owned(),
        "[null]".to_owned(),
        r#"["0x"]"#.to_owned(),
        r#"["0x0"]"#.to_owned(),
        format!(r#"["{hex}"]"#),
        format!(r#"["0x{hex}"#),
        format!(r#"["0x{hex}\"#),
        format!(r#"["0x{hex}0"]"#),
        format!(r#"["0x{hex}gg"]"#),
        format!(r#"{{"raw":"0x{hex}"}}"#),
    ] {
        assert_eq!(Raw::of_params(&params), None, "{params}");
    }
}

proptest! {
    // R-35
    #[test]
    fn any_transaction_is_read_as_alloy_wrote_it(
        (chain, nonce, price, gas) in (any::<u64>(), any::<u64>(), any::<u128>(), any::<u64>()),
        (to, value) in (any::<Option<[u8; 20]>>(), any::<[u8; 32]>()),
        data in prop::collection::vec(any::<u8>(), 0..300),
        keys in 0..4_usize,
        (r, s, odd_y) in (any::<[u8; 32]>(), any::<[u8; 32]>(), any::<bool>()),
    ) {
        let parts = Parts { chain, nonce, price, gas, to, value, data, keys, r, s, odd_y };
        parts.check_all();
    }
}
