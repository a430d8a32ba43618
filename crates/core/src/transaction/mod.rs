//! A signed transaction as it stands in the parameters of a send.
//!
//! What routing needs of it is its hash: it tells whether a node that says "already known" means
//! ours, and what to look up when nobody knows how a send ended. Nonce, chain and signature are read
//! where the type is known, for whoever wants the sender. Nothing is guessed: bytes that no node
//! could take have no hash here, and of an unknown type only the hash is told.

mod rlp;

use crate::{ChainId, TxHash};
use rlp::Item;
use sha3::{Digest, Keccak256};
use smallvec::SmallVec;
use std::borrow::Cow;

/// What is read of a raw transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw {
    /// What every node calls it.
    pub hash: TxHash,
    /// Its type.
    pub kind: Kind,
    /// What its signer signed; `None` where the type or its layout is unknown.
    pub signed: Option<Signed>,
}

/// The type of a transaction (EIP-2718).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A list without a type byte.
    Legacy,
    /// EIP-2930.
    AccessList,
    /// EIP-1559.
    DynamicFee,
    /// EIP-4844, alone or with its blobs around it.
    Blob,
    /// EIP-7702.
    SetCode,
    /// Another type byte.
    Other(u8),
}

/// What can be read from a known layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The number of the transaction in its sender's account.
    pub nonce: u64,
    /// The chain it is for; `None` for one without replay protection.
    pub chain: Option<ChainId>,
    /// What was signed.
    pub signing_hash: [u8; 32],
    /// The signature's first half.
    pub r: [u8; 32],
    /// Its second half.
    pub s: [u8; 32],
    /// Whether the point behind `r` has an odd y.
    pub odd_y: bool,
}

/// ZKsync's own type: its hash is made of the signed digest and the signature, not of the bytes.
const EIP712: u8 = 0x71;

impl Raw {
    /// Of the parameters of a send: the transaction is the first of them.
    #[must_use]
    pub fn of_params(params: &str) -> Option<Self> {
        let first = params.trim_ascii_start().strip_prefix('[')?;
        let first = first.trim_ascii_start().strip_prefix('"')?;
        let text = match memchr::memchr2(b'"', b'\\', first.as_bytes())? {
            end if first.as_bytes()[end] == b'"' => Cow::Borrowed(&first[..end]),
            _ => {
                // Nobody writes hex with escapes, but it says the same.
                let end = params.len() - first.len() - 1;
                let mut stream =
                    serde_json::Deserializer::from_str(&params[end..]).into_iter::<String>();
                Cow::Owned(stream.next()?.ok()?)
            }
        };
        Self::of_hex(&text)
    }

    /// Of bytes in hex, with `0x` before them.
    #[must_use]
    pub fn of_hex(text: &str) -> Option<Self> {
        let digits = text
            .strip_prefix("0x")
            .or_else(|| text.strip_prefix("0X"))?;
        let pairs = digits.as_bytes().chunks_exact(2);
        if !pairs.remainder().is_empty() {
            return None;
        }
        let bytes: Option<Vec<u8>> = pairs
            .map(|pair| Some(nibble(pair[0])? << 4 | nibble(pair[1])?))
            .collect();
        Self::of_bytes(&bytes?)
    }

    /// Of the bytes.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (kind, body) = match *bytes.first()? {
            0xc0.. => (Kind::Legacy, bytes),
            0x80..=0xbf => return None,
            EIP712 => return None,
            1 => (Kind::AccessList, &bytes[1..]),
            2 => (Kind::DynamicFee, &bytes[1..]),
            3 => (Kind::Blob, &bytes[1..]),
            4 => (Kind::SetCode, &bytes[1..]),
            other => {
                return Some(Self {
                    hash: TxHash(keccak(&[bytes])),
                    kind: Kind::Other(other),
                    signed: None,
                });
            }
        };
        let mut body = Item::only(body).filter(|item| item.list)?;
        if kind == Kind::Blob {
            body = unwrapped(body)?;
        }
        let (hash, signed) = match kind {
            Kind::Legacy => (keccak(&[bytes]), legacy(&body)),
            Kind::AccessList => (keccak(&[&[1], body.whole]), typed(1, &body, &ACCESS_LIST)),
            Kind::DynamicFee => (keccak(&[&[2], body.whole]), typed(2, &body, &DYNAMIC_FEE)),
            Kind::Blob => (keccak(&[&[3], body.whole]), typed(3, &body, &BLOB)),
            Kind::SetCode => (keccak(&[&[4], body.whole]), typed(4, &body, &SET_CODE)),
            Kind::Other(_) => return None,
        };
        Some(Self {
            hash: TxHash(hash),
            kind,
            signed,
        })
    }
}

/// What stands at a place of a layout.
#[derive(Clone, Copy)]
enum Place {
    /// A number or bytes.
    Text,
    /// The receiver: an address, or nothing where a contract is made.
    To,
    /// A list.
    List,
}

use Place::{List, Text, To};

/// Chain, nonce, price, gas, to, value, data, access list.
const ACCESS_LIST: [Place; 8] = [Text, Text, Text, Text, To, Text, Text, List];
/// Chain, nonce, priority fee, fee, gas, to, value, data, access list.
const DYNAMIC_FEE: [Place; 9] = [Text, Text, Text, Text, Text, To, Text, Text, List];
/// The same, blob fee, blob hashes.
const BLOB: [Place; 11] = [
    Text, Text, Text, Text, Text, To, Text, Text, List, Text, List,
];
/// As dynamic fee, authorizations.
const SET_CODE: [Place; 10] = [Text, Text, Text, Text, Text, To, Text, Text, List, List];
/// Nonce, price, gas, to, value, data.
const LEGACY: [Place; 6] = [Text, Text, Text, To, Text, Text];

/// A blob transaction without what travels around it: `[transaction, blobs, commitments, proofs]`,
/// since EIP-7594 with a version after the transaction. Nothing for any other wrapper.
fn unwrapped(body: Item<'_>) -> Option<Item<'_>> {
    let items = body.items()?;
    let Some(first) = items.first().filter(|first| first.list) else {
        return Some(body);
    };
    let rest = match items.len() {
        4 => &items[1..],
        5 if !items[1].list => &items[2..],
        _ => return None,
    };
    rest.iter().all(|item| item.list).then_some(*first)
}

/// A transaction of a known layout.
struct Fields<'a> {
    items: SmallVec<[Item<'a>; rlp::MOST]>,
    /// Everything before the signature, as it stands on the wire.
    unsigned: &'a [u8],
    /// Parity or `v`, `r`, `s`.
    signature: [Item<'a>; 3],
}

fn fields<'a>(body: &Item<'a>, layout: &[Place]) -> Option<Fields<'a>> {
    let items = body.items()?;
    let (fields, signature) = items.split_at_checked(layout.len())?;
    let signature = signature.try_into().ok()?;
    let fits = |(item, place): (&Item<'a>, &Place)| match place {
        Text => !item.list,
        To => !item.list && matches!(item.payload.len(), 0 | 20),
        List => item.list,
    };
    if !fields.iter().zip(layout).all(fits) {
        return None;
    }
    let length = fields.iter().map(|item| item.whole.len()).sum();
    let unsigned = body.payload.get(..length)?;
    Some(Fields {
        items,
        unsigned,
        signature,
    })
}

fn typed(kind: u8, body: &Item<'_>, layout: &[Place]) -> Option<Signed> {
    let Fields {
        items,
        unsigned,
        signature: [y, r, s],
    } = fields(body, layout)?;
    let odd_y = match y.number()? {
        0 => false,
        1 => true,
        _ => return None,
    };
    let header = rlp::list_header(unsigned.len());
    Some(Signed {
        nonce: items[1].number()?,
        chain: Some(ChainId(items[0].number()?)),
        signing_hash: keccak(&[&[kind], &header, unsigned]),
        r: r.word()?,
        s: s.word()?,
        odd_y,
    })
}

/// EIP-155 puts the chain into `v` and, when signing, in place of the signature.
fn legacy(body: &Item<'_>) -> Option<Signed> {
    let Fields {
        items,
        unsigned,
        signature: [v, r, s],
    } = fields(body, &LEGACY)?;
    let (odd_y, chain) = match v.number()? {
        27 => (false, None),
        28 => (true, None),
        v if v >= 35 => (v % 2 == 0, Some((v - 35) / 2)),
        _ => return None,
    };
    let tail = match chain {
        Some(chain) => {
            let mut tail = rlp::number(chain);
            tail.extend_from_slice(&[0x80, 0x80]);
            tail
        }
        None => SmallVec::new(),
    };
    let header = rlp::list_header(unsigned.len() + tail.len());
    Some(Signed {
        nonce: items[0].number()?,
        chain: chain.map(ChainId),
        signing_hash: keccak(&[&header, unsigned, &tail]),
        r: r.word()?,
        s: s.word()?,
        odd_y,
    })
}

fn keccak(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Keccak256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}
