//! Who is asking (G-5, first part).
//!
//! Without `[[keys]]` nobody needs a key and whatever is presented is ignored. With them every
//! request needs one, in any of five places: `X-Api-Key`, `Authorization: Bearer`,
//! `Authorization: Basic` (either half), the query `key=`, or the path. Two different keys in one
//! request are refused, since one of them would be charged for what the other may do.
//!
//! Keys are known by their SHA-256 only. A look-up finds the candidate by the presented key's hash,
//! which nobody can steer towards a stored one, and then compares in constant time. The text of a
//! key lives only for the length of this look-up; nothing here formats it.

use crate::{
    config::{KeySettings, WritePolicy},
    policy::Rules,
    respond::KeyFault,
    server::cors::{Origin, Origins},
};
use highwater_core::select::Strategy;
use http::{HeaderMap, HeaderName, header::AUTHORIZATION};
use sha2::{Digest, Sha256};
use std::{collections::HashMap, sync::Arc};
use subtle::ConstantTimeEq;

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Longest key that is looked at, in bytes.
const MAX_KEY: usize = 512;

/// All keys.
#[derive(Debug, Default)]
pub(crate) struct Auth {
    keys: Vec<Key>,
    by_hash: HashMap<[u8; 32], usize>,
}

/// One key and what it may do.
#[derive(Debug)]
pub(crate) struct Key {
    hash: [u8; 32],
    /// Its methods.
    pub(crate) rules: Rules,
    origins: Origins,
    /// Indices of its chains; empty means all.
    chains: Vec<usize>,
    /// Who serves its calls; `None`: as the chain says.
    pub(crate) strategy: Option<Arc<Strategy>>,
    /// To whom its raw transactions are sent; `None`: as the chain says.
    pub(crate) writes: Option<WritePolicy>,
    /// Whether they go to private endpoints alone; `None`: as the chain says.
    pub(crate) private_writes: Option<bool>,
    /// Its number, from 1.
    pub(crate) number: u64,
}

impl Auth {
    /// `chain` tells the index of a chain by name.
    pub(crate) fn new(keys: &[KeySettings], chain: impl Fn(&str) -> Option<usize>) -> Self {
        let keys: Vec<Key> = keys
            .iter()
            .zip(1..)
            .map(|(key, number)| Key {
                hash: key.hash,
                rules: Rules::of_key(key),
                origins: Origins::new(&key.origins),
                strategy: key.strategy.map(Arc::new),
                writes: key.writes,
                private_writes: key.private_writes,
                number,
                // A name that is no chain must not widen the key to all of them.
                chains: key
                    .chains
                    .iter()
                    .map(|name| chain(name).unwrap_or(usize::MAX))
                    .collect(),
            })
            .collect();
        let by_hash = keys
            .iter()
            .enumerate()
            .map(|(at, key)| (key.hash, at))
            .collect();
        Self { keys, by_hash }
    }

    /// Whether keys are required at all.
    pub(crate) fn is_on(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Index of the key that a request presents. `None` where no key is required.
    pub(crate) fn identify(
        &self,
        headers: &HeaderMap,
        query: Option<&str>,
        path: Option<&str>,
    ) -> Result<Option<usize>, KeyFault> {
        if !self.is_on() {
            return Ok(None);
        }
        let mut seen = Seen::default();
        for value in headers.get_all(API_KEY) {
            seen.add(value.as_bytes())?;
        }
        for value in headers.get_all(AUTHORIZATION) {
            let Some((scheme, rest)) = value.as_bytes().trim_ascii().split_once_byte(b' ') else {
                continue;
            };
            if scheme.eq_ignore_ascii_case(b"bearer") {
                seen.add(rest.trim_ascii())?;
            } else if scheme.eq_ignore_ascii_case(b"basic") {
                let pair = base64(rest.trim_ascii()).ok_or(KeyFault::Unknown)?;
                seen.add_pair(&pair)?;
            }
        }
        for (name, value) in url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            if name == "key" {
                seen.add(value.as_bytes())?;
            }
        }
        if let Some(key) = path {
            seen.add(key.as_bytes())?;
        }
        let hash = seen.hash.ok_or(KeyFault::Missing)?;
        let at = *self.by_hash.get(&hash).ok_or(KeyFault::Unknown)?;
        let same: bool = self.keys[at].hash.ct_eq(&hash).into();
        if same {
            Ok(Some(at))
        } else {
            Err(KeyFault::Unknown)
        }
    }

    /// The key at an index from [`Auth::identify`].
    pub(crate) fn key(&self, at: usize) -> &Key {
        &self.keys[at]
    }
}

impl Key {
    /// Whether the key may be used on a chain, from an origin.
    pub(crate) fn reaches(&self, chain: usize, origin: &Origin) -> Result<(), KeyFault> {
        let from = match origin {
            // A key that is locked to pages is not for programs.
            Origin::None => self.origins.is_empty(),
            Origin::Accepted { value, everybody } => {
                if self.origins.is_empty() {
                    *everybody
                } else {
                    self.origins.contains(value)
                }
            }
        };
        if !from {
            return Err(KeyFault::Origin);
        }
        if self.chains.is_empty() || self.chains.contains(&chain) {
            Ok(())
        } else {
            Err(KeyFault::Chain)
        }
    }
}

/// The one key of a request, as its hash.
#[derive(Default)]
struct Seen {
    hash: Option<[u8; 32]>,
}

impl Seen {
    fn add(&mut self, key: &[u8]) -> Result<(), KeyFault> {
        if key.is_empty() {
            return Ok(());
        }
        if key.len() > MAX_KEY {
            return Err(KeyFault::Unknown);
        }
        let hash: [u8; 32] = Sha256::digest(key).into();
        match self.hash {
            Some(other) if !bool::from(other.ct_eq(&hash)) => Err(KeyFault::Conflict),
            Some(_) | None => {
                self.hash = Some(hash);
                Ok(())
            }
        }
    }

    /// Either half of `user:password`. Where both are filled, the one with our prefix counts, and
    /// otherwise the user.
    fn add_pair(&mut self, pair: &[u8]) -> Result<(), KeyFault> {
        let Some((user, password)) = pair.split_once_byte(b':') else {
            return self.add(pair);
        };
        match (user.starts_with(b"hw_"), password.starts_with(b"hw_")) {
            (true, true) => {
                self.add(user)?;
                self.add(password)
            }
            (false, true) => self.add(password),
            (true, false) => self.add(user),
            (false, false) if user.is_empty() => self.add(password),
            (false, false) => self.add(user),
        }
    }
}

trait SplitOnce {
    fn split_once_byte(&self, byte: u8) -> Option<(&[u8], &[u8])>;
}

impl SplitOnce for [u8] {
    fn split_once_byte(&self, byte: u8) -> Option<(&[u8], &[u8])> {
        let at = memchr::memchr(byte, self)?;
        Some((&self[..at], &self[at + 1..]))
    }
}

/// Decodes standard Base64, padded or not.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.trim_suffix_bytes(b'=');
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    for group in text.chunks(4) {
        let mut bits = 0_u32;
        for &byte in group {
            let value = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(value);
        }
        match group.len() {
            4 => out.extend_from_slice(&bits.to_be_bytes()[1..]),
            3 => out.extend_from_slice(&(bits >> 2).to_be_bytes()[2..]),
            2 => out.extend_from_slice(&(bits >> 4).to_be_bytes()[3..]),
            _ => return None,
        }
    }
    Some(out)
}

trait TrimSuffix {
    fn trim_suffix_bytes(&self, byte: u8) -> &[u8];
}

impl TrimSuffix for [u8] {
    fn trim_suffix_bytes(&self, byte: u8) -> &[u8] {
        let end = self.iter().rposition(|b| *b != byte).map_or(0, |at| at + 1);
        &self[..end]
    }
}
