//! Senders with real keys, and signatures that cost microseconds.
//!
//! Each account signs with one fixed secret nonce, so that the curve point is computed once and a
//! signature is a few multiplications of scalars. That gives the key away to anyone who sees two
//! signatures, which harms nobody: the key is a function of the seed, and the seed is public.

use alloy_primitives::{Address, B256, Signature, U256, keccak256};
use k256::elliptic_curve::PrimeField as _;
use k256::elliptic_curve::ops::Reduce;
use k256::elliptic_curve::scalar::IsHigh as _;
use k256::elliptic_curve::sec1::ToEncodedPoint as _;
use k256::{FieldBytes, ProjectivePoint, Scalar};

/// How many senders a chain has.
pub const ACCOUNTS: usize = 8;

/// One sender.
#[derive(Clone)]
pub(super) struct Account {
    key: Scalar,
    /// The inverse of the secret nonce.
    inverse: Scalar,
    /// The x coordinate of the nonce's point, as a scalar.
    r: Scalar,
    odd: bool,
    address: Address,
}

impl Account {
    /// The account number `index` of a seed.
    pub(super) fn new(seed: u64, index: usize) -> Self {
        let key = scalar(seed, index, b"key");
        let nonce = scalar(seed, index, b"nonce");
        let public = (ProjectivePoint::GENERATOR * key)
            .to_affine()
            .to_encoded_point(false);
        let point = (ProjectivePoint::GENERATOR * nonce)
            .to_affine()
            .to_encoded_point(false);
        let x = point.x().expect("invariant: a nonzero multiple has an x");
        let y = point.y().expect("invariant: a nonzero multiple has a y");
        Self {
            key,
            inverse: Option::from(nonce.invert()).expect("invariant: the nonce is not zero"),
            r: reduce(x),
            odd: y[31] & 1 == 1,
            address: Address::from_raw_public_key(&public.as_bytes()[1..]),
        }
    }

    pub(super) fn address(&self) -> Address {
        self.address
    }

    /// The signature over a hash, with the low `s` that EIP-2 asks for.
    pub(super) fn sign(&self, hash: B256) -> Signature {
        let z = reduce(&FieldBytes::from(hash.0));
        let mut s = self.inverse * (z + self.r * self.key);
        let mut odd = self.odd;
        if bool::from(s.is_high()) {
            s = -s;
            odd = !odd;
        }
        let number = |scalar: Scalar| U256::from_be_slice(&scalar.to_repr());
        Signature::new(number(self.r), number(s), odd)
    }
}

fn scalar(seed: u64, index: usize, purpose: &[u8]) -> Scalar {
    let mut input = Vec::with_capacity(32);
    input.extend_from_slice(b"lab account");
    input.extend_from_slice(&seed.to_be_bytes());
    input.extend_from_slice(&(index as u64).to_be_bytes());
    input.extend_from_slice(purpose);
    let reduced = reduce(&FieldBytes::from(keccak256(input).0));
    if bool::from(reduced.is_zero()) {
        Scalar::ONE
    } else {
        reduced
    }
}

fn reduce(bytes: &FieldBytes) -> Scalar {
    <Scalar as Reduce<k256::U256>>::reduce_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;

    use super::Account;

    #[test]
    fn signs_so_that_the_sender_is_recovered() {
        for index in 0..4 {
            let account = Account::new(9, index);
            for message in 0..8_u8 {
                let hash = keccak256([message]);
                let signature = account.sign(hash);
                assert!(signature.normalize_s().is_none());
                let recovered = signature.recover_address_from_prehash(&hash).unwrap();
                assert_eq!(recovered, account.address());
            }
        }
    }
}
