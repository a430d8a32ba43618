//! Whose transaction it is.

use highwater_core::{Address, transaction::Signed};
use k256::ecdsa::{RecoveryId, Signature, VerifyingKey};
use sha3::{Digest, Keccak256};

/// The account whose key made the signature; `None` where none can have.
pub(crate) fn of(signed: &Signed) -> Option<Address> {
    let signature = Signature::from_scalars(signed.r, signed.s).ok()?;
    let recovery = RecoveryId::new(signed.odd_y, false);
    // Before EIP-2 the second half could be high; the curve's own verification takes the low form.
    let (signature, recovery) = match signature.normalize_s() {
        Some(low) => (low, RecoveryId::new(!signed.odd_y, false)),
        None => (signature, recovery),
    };
    let key =
        VerifyingKey::recover_from_prehash(&signed.signing_hash, &signature, recovery).ok()?;
    let point = key.to_encoded_point(false);
    let hash: [u8; 32] = Keccak256::digest(point.as_bytes().get(1..)?).into();
    let mut address = [0; 20];
    address.copy_from_slice(&hash[12..]);
    Some(Address(address))
}

#[cfg(test)]
mod tests {
    use super::of;
    use highwater_core::{Address, transaction::Raw};

    /// The example of EIP-155: its key is 32 times 0x46.
    const RAW: &str = "0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83";

    // EIP-155
    #[test]
    fn the_sender_is_the_account_whose_key_signed() {
        let signed = Raw::of_hex(RAW).unwrap().signed.unwrap();
        let expected = Address::of_hex("0x9d8a62f656a8d1615c1294fd71e9cfb3e4855a4f");
        assert_eq!(of(&signed), expected);
        assert_eq!(signed.nonce, 9);
    }

    #[test]
    fn what_no_key_can_have_signed_has_no_sender() {
        let mut signed = Raw::of_hex(RAW).unwrap().signed.unwrap();
        signed.r = [0; 32];
        assert_eq!(of(&signed), None);
        signed.r = [0xff; 32];
        assert_eq!(of(&signed), None);
    }
}
