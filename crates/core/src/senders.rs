//! What is known of accounts that send transactions through here (semantics §4.2 W5, W6).
//!
//! Nodes do not see a new transaction at the same time, so for a while the account is asked after
//! where its transaction is: until it is mined, or [`KEPT`] has passed. And whoever was told a pending
//! nonce is not told a lower one within that time: signing with it again would replace a transaction.

use crate::{TxHash, aging::Aging, id::Address, jsonrpc::Params, method::Descriptor};
use smallvec::SmallVec;
use std::{
    borrow::Cow,
    time::{Duration, Instant},
};

/// How long both are remembered.
pub const KEPT: Duration = Duration::from_secs(60);

/// Most accounts, and most nonces, that are remembered.
const MOST: usize = 16_384;

/// Which block a question after a nonce is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// What was sent counts too.
    Pending,
    /// Only what is mined counts.
    Latest,
    /// Another block.
    Other,
}

/// What a call wants to know of an account that may have sent something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// The account.
    pub account: Address,
    /// Its nonce there; `None`: it is about gas.
    pub nonce: Option<At>,
}

impl About {
    /// Of a call's method and parameters.
    #[must_use]
    pub fn of(row: &Descriptor, params: Params<'_>) -> Option<Self> {
        let is_nonce = match row.name {
            "eth_getTransactionCount" => true,
            "eth_estimateGas" => false,
            _ => return None,
        };
        let Params::Array(params) = params else {
            return None;
        };
        if !is_nonce {
            let (Transaction { from },) = first(params)?;
            let account = Address::of_hex(&from?)?;
            return Some(Self {
                account,
                nonce: None,
            });
        }
        let values: Vec<Cow<'_, str>> = texts(params)?;
        let account = Address::of_hex(values.first()?)?;
        let nonce = Some(match values.get(1).map(Cow::as_ref) {
            Some("pending") => At::Pending,
            Some("latest") | None => At::Latest,
            Some(_) => At::Other,
        });
        Some(Self { account, nonce })
    }
}

/// The call object of a question about gas, as far as it matters here.
#[derive(serde::Deserialize)]
struct Transaction<'a> {
    #[serde(borrow, default)]
    from: Option<Cow<'a, str>>,
}

/// The first of several parameters.
fn first<'a, T: serde::Deserialize<'a>>(params: &'a str) -> Option<(T,)> {
    let first = params.trim_ascii_start().strip_prefix('[')?;
    let mut values = serde_json::Deserializer::from_str(first).into_iter::<T>();
    Some((values.next()?.ok()?,))
}

/// Parameters that are texts; whatever else stands among them is empty.
fn texts(params: &str) -> Option<Vec<Cow<'_, str>>> {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Value<'a> {
        Text(#[serde(borrow)] Cow<'a, str>),
        Other(serde::de::IgnoredAny),
    }
    let values: Vec<Value<'_>> = serde_json::from_str(params).ok()?;
    let text = |value| match value {
        Value::Text(text) => text,
        Value::Other(_) => Cow::Borrowed(""),
    };
    Some(values.into_iter().map(text).collect())
}

/// A transaction that an endpoint took.
#[derive(Clone, Debug)]
struct Sent {
    hash: TxHash,
    nonce: u64,
    /// Who has it, by numbers of the owner's own.
    seen_by: SmallVec<[u64; 2]>,
}

/// The accounts.
#[derive(Clone, Debug)]
pub struct Senders {
    sent: Aging<Address, Sent>,
    accounts: Aging<TxHash, Address>,
    told: Aging<(u64, Address), u64>,
}

impl Default for Senders {
    fn default() -> Self {
        Self {
            sent: Aging::new(KEPT, MOST),
            accounts: Aging::new(KEPT, MOST),
            told: Aging::new(KEPT, MOST),
        }
    }
}

impl Senders {
    /// Whether no transaction is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// These endpoints took a transaction of an account.
    pub fn sent(
        &mut self,
        account: Address,
        nonce: u64,
        hash: TxHash,
        seen_by: impl IntoIterator<Item = u64>,
        now: Instant,
    ) {
        let mut seen_by: SmallVec<[u64; 2]> = seen_by.into_iter().collect();
        if seen_by.is_empty() {
            return;
        }
        // Whoever has the one before it too is the better one to ask; a later one stays the last.
        let mut last = (nonce, hash);
        if let Some(before) = self.sent.get(account, now) {
            if before.hash != hash && seen_by.iter().any(|one| before.seen_by.contains(one)) {
                seen_by.retain(|one| before.seen_by.contains(one));
            }
            if before.nonce > nonce {
                last = (before.nonce, before.hash);
                seen_by.clone_from(&before.seen_by);
            }
        }
        let sent = Sent {
            hash: last.1,
            nonce: last.0,
            seen_by,
        };
        self.accounts.insert(sent.hash, account, now);
        self.sent.insert(account, sent, now);
    }

    /// Who has the last transaction of an account; nobody where none is remembered.
    #[must_use]
    pub fn seen_by(&self, account: Address, now: Instant) -> &[u64] {
        self.sent
            .get(account, now)
            .map_or(&[], |sent| &sent.seen_by)
    }

    /// So many transactions of the account are mined.
    pub fn mined(&mut self, account: Address, count: u64, now: Instant) {
        let over = |sent: &Sent| sent.nonce < count;
        if self.sent.get(account, now).is_some_and(over) {
            self.sent.remove(account);
        }
    }

    /// This transaction is mined.
    pub fn has_receipt(&mut self, hash: TxHash, now: Instant) {
        let Some(account) = self.accounts.remove(hash) else {
            return;
        };
        let last = self.sent.get(account, now);
        if last.is_some_and(|sent| sent.hash == hash) {
            self.sent.remove(account);
        }
    }

    /// The least pending nonce that somebody may be told of an account.
    #[must_use]
    pub fn told(&self, whom: u64, account: Address, now: Instant) -> Option<u64> {
        self.told.get((whom, account), now).copied()
    }

    /// Somebody is told the pending nonce of an account, as an endpoint said it.
    pub fn tell(&mut self, whom: u64, account: Address, nonce: u64, now: Instant) {
        let before = self.told(whom, account, now).unwrap_or(0);
        if nonce >= before {
            self.told.insert((whom, account), nonce, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{method::lookup, now::tests::origin};

    const US: Address = Address([0xaa; 20]);
    const HASH: TxHash = TxHash([1; 32]);
    const NEXT: TxHash = TxHash([2; 32]);

    fn about(method: &str, params: &str) -> Option<About> {
        About::of(lookup(method), Params::Array(params))
    }

    // semantics W5
    #[test]
    fn reads_whose_nonce_and_whose_gas_a_call_is_about() {
        let us = format!("0x{}", "aA".repeat(20));
        let nonce = |at| {
            Some(About {
                account: US,
                nonce: Some(at),
            })
        };
        let count = |params: &str| about("eth_getTransactionCount", params);
        assert_eq!(count(&format!(r#"["{us}","pending"]"#)), nonce(At::Pending));
        assert_eq!(count(&format!(r#"["{us}","latest"]"#)), nonce(At::Latest));
        assert_eq!(count(&format!(r#"["{us}"]"#)), nonce(At::Latest));
        assert_eq!(count(&format!(r#"["{us}","0x5"]"#)), nonce(At::Other));
        let object = format!(r#"["{us}",{{"blockNumber":"0x5"}}]"#);
        assert_eq!(count(&object), nonce(At::Other));
        for none in ["[]", "[1]", r#"["0x1"]"#, "[", r#"[{}]"#] {
            assert_eq!(count(none), None, "{none}");
        }
        let gas = |params: &str| about("eth_estimateGas", params);
        let expected = Some(About {
            account: US,
            nonce: None,
        });
        assert_eq!(
            gas(&format!(r#"[{{"data":"0x","from":"{us}"}}]"#)),
            expected
        );
        assert_eq!(
            gas(&format!(r#" [ {{"from":"{us}"}},"pending"]"#)),
            expected
        );
        for none in [r#"[{"to":"0x1"}]"#, "[]", r#"["0x1"]"#, r#"[{"from":7}]"#] {
            assert_eq!(gas(none), None, "{none}");
        }
        assert_eq!(
            about("eth_getBalance", &format!(r#"["{us}","latest"]"#)),
            None
        );
    }

    // semantics W5, W15
    #[test]
    fn an_account_is_asked_after_where_its_transaction_is_until_it_is_mined_or_a_minute_passed() {
        let zero = origin();
        let at = |seconds| zero + Duration::from_secs(seconds);
        let mut senders = Senders::default();
        assert!(senders.is_empty());
        senders.sent(US, 7, HASH, [1, 2], at(0));
        assert_eq!(senders.seen_by(US, at(60)), [1, 2]);
        assert!(senders.seen_by(US, at(61)).is_empty());
        senders.mined(US, 7, at(1));
        assert_eq!(senders.seen_by(US, at(1)), [1, 2]);
        senders.mined(US, 8, at(2));
        assert!(senders.seen_by(US, at(2)).is_empty());
        senders.sent(US, 8, NEXT, [1], at(3));
        senders.has_receipt(HASH, at(3));
        assert_eq!(senders.seen_by(US, at(3)), [1]);
        senders.has_receipt(NEXT, at(3));
        assert!(senders.is_empty());
        // Nobody has it: nothing to prefer.
        senders.sent(US, 8, NEXT, [], at(3));
        assert!(senders.is_empty());
    }

    #[test]
    fn whoever_has_both_of_two_transactions_is_preferred_and_the_later_one_counts() {
        let zero = origin();
        let mut senders = Senders::default();
        senders.sent(US, 7, HASH, [1], zero);
        senders.sent(US, 8, NEXT, [2, 1], zero);
        assert_eq!(senders.seen_by(US, zero), [1]);
        senders.sent(US, 9, HASH, [3], zero);
        assert_eq!(senders.seen_by(US, zero), [3]);
        senders.sent(US, 8, NEXT, [2], zero);
        assert_eq!(senders.seen_by(US, zero), [3]);
        senders.mined(US, 9, zero);
        assert_eq!(senders.seen_by(US, zero), [3]);
    }

    // semantics W6
    #[test]
    fn a_pending_nonce_never_falls_for_whoever_was_told_it() {
        let zero = origin();
        let at = |seconds| zero + Duration::from_secs(seconds);
        let mut senders = Senders::default();
        senders.tell(1, US, 8, at(0));
        senders.tell(1, US, 7, at(30));
        assert_eq!(senders.told(1, US, at(60)), Some(8));
        assert_eq!(senders.told(2, US, at(0)), None);
        // From any state, honest answers converge.
        assert_eq!(senders.told(1, US, at(61)), None);
        senders.tell(1, US, 7, at(61));
        assert_eq!(senders.told(1, US, at(61)), Some(7));
    }
}
