//! What a method that sends a raw transaction answers with.

use crate::{jsonrpc::Params, method::Descriptor};
use std::time::Duration;

/// The kind of answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The hash, at once.
    Hash,
    /// The receipt, within this time (EIP-7966).
    Receipt(Duration),
    /// More than can be had from another endpoint afterwards.
    Output,
}

/// What a node waits for a receipt where the caller does not say: the longest default of those that
/// are known (reth; geth has 20 s).
const UNSAID: Duration = Duration::from_secs(30);

/// No node waits longer, whatever the caller says (geth's limit).
const LONGEST: Duration = Duration::from_secs(60);

/// MegaETH's method gives up after this time.
const REALTIME: Duration = Duration::from_secs(10);

/// What an attempt may take beyond the time that the node was given (R-30).
const GRACE: Duration = Duration::from_secs(2);

impl Form {
    /// The form of a method; nothing for one that sends no raw transaction.
    #[must_use]
    pub fn of(row: &Descriptor, params: Params<'_>) -> Option<Self> {
        match row.name {
            "eth_sendRawTransaction"
            | "eth_sendRawTransactionConditional"
            | "bor_sendRawTransactionConditional"
            | "eth_submitTransaction" => Some(Self::Hash),
            "eth_sendRawTransactionSync" => Some(Self::Receipt(stated(params))),
            "realtime_sendRawTransaction" => Some(Self::Receipt(REALTIME)),
            "zks_sendRawTransactionWithDetailedOutput" => Some(Self::Output),
            _ => None,
        }
    }

    /// How long one attempt may take, where a plain send may take `plain` (R-30).
    #[must_use]
    pub fn timeout(self, plain: Duration) -> Duration {
        match self {
            Self::Hash | Self::Output => plain,
            Self::Receipt(time) => time.saturating_add(GRACE),
        }
    }
}

/// The second parameter of the Sync form: milliseconds, as a number or in hex.
fn stated(params: Params<'_>) -> Duration {
    let Params::Array(params) = params else {
        return UNSAID;
    };
    let millis = params.rfind(',').and_then(|comma| {
        let last = params.get(comma + 1..)?.trim_ascii_end();
        let last = last.strip_suffix(']')?.trim_ascii();
        last.parse().ok().or_else(|| crate::judge::quantity(last))
    });
    millis.map_or(UNSAID, |millis| Duration::from_millis(millis).min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method;

    fn form(name: &str, params: &str) -> Option<Form> {
        Form::of(method::lookup(name), Params::Array(params))
    }

    // R-30, R-35
    #[test]
    fn the_sync_form_has_the_callers_time_in_every_spelling() {
        let of = |params| form("eth_sendRawTransactionSync", params);
        let millis = |n| Some(Form::Receipt(Duration::from_millis(n)));
        assert_eq!(of(r#"["0x02",2000]"#), millis(2000));
        assert_eq!(of(r#"["0x02", "0x7d0" ] "#), millis(2000));
        assert_eq!(of(r#"["0x02",9999999999]"#), millis(60_000));
        for unsaid in [r#"["0x02"]"#, r#"["0x02",null]"#, r#"["0x02",-1]"#, "[,]"] {
            assert_eq!(of(unsaid), millis(30_000), "{unsaid}");
        }
        let plain = Duration::from_secs(10);
        let sync = Form::Receipt(Duration::from_secs(5));
        assert_eq!(sync.timeout(plain), Duration::from_secs(7));
        assert_eq!(Form::Hash.timeout(plain), plain);
    }

    // R-34, R-35: only raw transactions may be sent twice; everything else is for one endpoint.
    #[test]
    fn only_methods_that_send_a_raw_transaction_have_a_form() {
        let rows = method::rows().iter();
        let has = |row: &&Descriptor| Form::of(row, Params::Absent).is_some();
        let (sends, others): (Vec<_>, Vec<_>) = rows.partition(has);
        for row in sends {
            let raw = row.name.contains("sendRawTransaction");
            assert!(raw || row.name == "eth_submitTransaction", "{}", row.name);
            assert_eq!(row.lane, method::Lane::Write, "{}", row.name);
        }
        let same_bytes = |row: &&&Descriptor| row.failover == method::Failover::SameBytes;
        let left: Vec<_> = others
            .iter()
            .filter(same_bytes)
            .map(|row| row.name)
            .collect();
        // It signs a message of its own and sends no transaction.
        assert_eq!(left, ["sei_associate"]);
    }
}
