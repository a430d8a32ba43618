//! Whether an answer is about our transaction.

use super::Form;
use crate::TxHash;
use std::borrow::Cow;

/// What a result says about the hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// Ours.
    Ours,
    /// Another.
    Other,
    /// None at all.
    Nothing,
}

impl Echo {
    /// Of the bytes of a send's `result`: the hash itself, or an object that names it.
    #[must_use]
    pub fn of(form: Form, result: &str, hash: TxHash) -> Self {
        let said = match serde_json::from_str::<Cow<'_, str>>(result) {
            Ok(text) => TxHash::of_hex(&text),
            Err(_) => match form {
                Form::Hash => None,
                Form::Receipt(_) | Form::Output => named(result, |members| members.transaction),
            },
        };
        match said {
            Some(said) if said == hash => Self::Ours,
            Some(_) => Self::Other,
            None => Self::Nothing,
        }
    }
}

/// Whether the `result` of `eth_getTransactionByHash` or `eth_getTransactionReceipt` is our
/// transaction: only equality counts (R-35).
#[must_use]
pub fn matches(result: &str, hash: TxHash) -> bool {
    let said = named(result, |members| members.hash.or(members.transaction));
    said == Some(hash)
}

/// Whether the `result` of `eth_getTransactionReceipt` is our transaction's, and it is mined: what
/// names no block is no receipt (semantics §4.1 H09).
#[must_use]
pub fn is_receipt(result: &str, hash: TxHash) -> bool {
    #[derive(serde::Deserialize)]
    struct Mined<'a> {
        #[serde(borrow, rename = "blockNumber")]
        _block: Cow<'a, str>,
    }
    matches(result, hash) && serde_json::from_str::<Mined<'_>>(result).is_ok()
}

/// The members by which a transaction and a receipt name the transaction.
#[derive(serde::Deserialize)]
struct Members<'a> {
    #[serde(borrow, default)]
    hash: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "transactionHash")]
    transaction: Option<Cow<'a, str>>,
}

fn named<'a>(
    result: &'a str,
    pick: impl FnOnce(Members<'a>) -> Option<Cow<'a, str>>,
) -> Option<TxHash> {
    let members = serde_json::from_str(result).ok()?;
    pick(members).and_then(|text| TxHash::of_hex(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const OURS: TxHash = TxHash([0xab; 32]);

    // R-35, semantics W12
    #[test]
    fn a_hash_counts_by_its_value_and_only_where_the_form_has_it() {
        let digits = "AB".repeat(32);
        let (ours, other) = (
            format!("\"0x{digits}\""),
            format!("\"0x{}\"", "ac".repeat(32)),
        );
        let sync = Form::Receipt(Duration::from_secs(1));
        assert_eq!(Echo::of(Form::Hash, &ours, OURS), Echo::Ours);
        assert_eq!(Echo::of(Form::Hash, &other, OURS), Echo::Other);
        assert_eq!(Echo::of(sync, &ours, OURS), Echo::Ours);
        for none in ["null", "\"0x\"", "[]", "true", "\"0xab\"", "{}"] {
            assert_eq!(Echo::of(Form::Hash, none, OURS), Echo::Nothing, "{none}");
            assert_eq!(Echo::of(sync, none, OURS), Echo::Nothing, "{none}");
        }
        let receipt = |hash: &str| format!(r#"{{"status":"0x1","transactionHash":{hash}}}"#);
        for form in [sync, Form::Output] {
            assert_eq!(Echo::of(form, &receipt(&ours), OURS), Echo::Ours);
            assert_eq!(Echo::of(form, &receipt(&other), OURS), Echo::Other);
        }
        assert_eq!(Echo::of(Form::Hash, &receipt(&ours), OURS), Echo::Nothing);
    }

    // R-35, semantics H09
    #[test]
    fn a_receipt_names_our_transaction_and_its_block() {
        let hash = OURS.to_string();
        let receipt = |block: &str| format!(r#"{{"transactionHash":"{hash}"{block}}}"#);
        assert!(is_receipt(&receipt(r#","blockNumber":"0x7""#), OURS));
        for block in ["", r#","blockNumber":null"#] {
            assert!(!is_receipt(&receipt(block), OURS), "{block}");
        }
        assert!(!is_receipt(r#"{"blockNumber":"0x7"}"#, OURS));
        assert!(!is_receipt("null", OURS));
    }

    // R-35: success only on equality.
    #[test]
    fn a_look_up_finds_only_what_is_equal() {
        let hash = OURS.to_string();
        assert!(matches(
            &format!(r#"{{"blockHash":null,"hash":"{hash}"}}"#),
            OURS
        ));
        assert!(matches(&format!(r#"{{"transactionHash":"{hash}"}}"#), OURS));
        let other = TxHash([0; 32]).to_string();
        for result in [
            "null".to_owned(),
            "{}".to_owned(),
            format!("\"{hash}\""),
            format!(r#"{{"hash":"{other}"}}"#),
            format!(r#"{{"hash":"{other}","transactionHash":"{hash}"}}"#),
            format!(r#"{{"blockHash":"{hash}"}}"#),
            r#"{"hash":7}"#.to_owned(),
            format!(r#"{{"hash":"{hash}""#),
        ] {
            assert!(!matches(&result, OURS), "{result}");
        }
    }
}
