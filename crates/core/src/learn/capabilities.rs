//! The answer to `eth_capabilities`: the head, and how far back each kind of data goes
//! (`semantics.md` fact 3).

use super::Data;
use serde_json::Value;

/// How far back an endpoint keeps something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Everything from this block on.
    From(u64),
    /// The newest so many blocks, the head included. 1 is the head alone.
    Last(u64),
    /// Nothing.
    Nothing,
}

impl Kept {
    /// The oldest block that is there when the head is at `head`. `u64::MAX` where nothing is; none
    /// where it depends on a head that is not known.
    #[must_use]
    pub fn oldest(self, head: Option<u64>) -> Option<u64> {
        match self {
            Self::From(oldest) => Some(oldest),
            Self::Last(blocks) => Some(head?.saturating_add(1).saturating_sub(blocks)),
            Self::Nothing => Some(u64::MAX),
        }
    }
}

/// What an endpoint says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// The number of its head.
    pub head: Option<u64>,
    /// What it keeps, in the order of [`Data::ALL`]; none where it does not say.
    pub kept: [Option<Kept>; 6],
}

impl Capabilities {
    /// What it says of one kind.
    #[must_use]
    pub const fn of(&self, kind: Data) -> Option<Kept> {
        self.kept[kind as usize]
    }
}

/// Reads the `result`. Whatever has not the shape of the specification is passed over, so that one
/// odd member does not hide the others; none where nothing is left.
///
/// A kind with a window keeps what the window says, and that moves with the head: the oldest block
/// that was stated is true only at that moment. Where the two contradict each other, the node has
/// not filled its window yet or is about to delete, and the higher of the two at its head counts.
#[must_use]
pub fn parse(result: &str) -> Option<Capabilities> {
    let value: Value = serde_json::from_str(result).ok()?;
    let head = value.get("head").and_then(|head| head.get("number"));
    let head = head.and_then(quantity);
    let kept = Data::ALL.map(|kind| {
        let name = match kind {
            Data::State => "state",
            Data::Proofs => "stateproofs",
            Data::Blocks => "blocks",
            Data::Transactions => "tx",
            Data::Receipts => "receipts",
            Data::Logs => "logs",
        };
        resource(value.get(name)?, head)
    });
    let found = Capabilities { head, kept };
    (found != Capabilities::default()).then_some(found)
}

fn resource(value: &Value, head: Option<u64>) -> Option<Kept> {
    match value.get("disabled") {
        Some(Value::Bool(true)) => return Some(Kept::Nothing),
        Some(Value::Bool(false)) | None => {}
        Some(_) => return None,
    }
    // An oldest block above the head is a slip: it would take the endpoint out for everything.
    let oldest = value
        .get("oldestBlock")
        .and_then(quantity)
        .filter(|oldest| head.is_none_or(|head| *oldest <= head));
    let window = value
        .get("deleteStrategy")
        .filter(|strategy| strategy.get("type").and_then(Value::as_str) == Some("window"))
        .and_then(|strategy| strategy.get("retentionBlocks"))
        .and_then(quantity)
        .filter(|blocks| *blocks > 0);
    match (oldest, window) {
        (None, None) => None,
        (Some(oldest), None) => Some(Kept::From(oldest)),
        (None, Some(blocks)) => Some(Kept::Last(blocks)),
        (Some(oldest), Some(blocks)) => {
            let filled = Kept::Last(blocks)
                .oldest(head)
                .is_some_and(|first| first >= oldest);
            Some(if filled {
                Kept::Last(blocks)
            } else {
                Kept::From(oldest)
            })
        }
    }
}

/// A number as a hex string; a plain one is read too.
fn quantity(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => {
            let digits = text.strip_prefix("0x")?;
            let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            hex.then(|| u64::from_str_radix(digits, 16).ok())?
        }
        Value::Number(number) => number.as_u64(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pair of the specification's test chain.
    const NODE: &str = r#"{"head":{"number":"0x36","hash":"0xd226371d0b1551adb03fb52b71f08e3e11247fe9b1af994768af8cdaa8e7dcd7"},"state":{"disabled":false,"oldestBlock":"0x0"},"tx":{"disabled":false,"oldestBlock":"0x0"},"logs":{"disabled":false,"oldestBlock":"0x0","deleteStrategy":{"type":"window","retentionBlocks":"0x23dbb0"}},"receipts":{"disabled":false,"oldestBlock":"0x0"},"blocks":{"disabled":false,"oldestBlock":"0x0"},"stateproofs":{"disabled":false,"oldestBlock":"0x0"}}"#;

    // semantics fact 3
    #[test]
    fn reads_the_answer_of_the_specification() {
        let found = parse(NODE).unwrap();
        assert_eq!(found.head, Some(54));
        for kind in Data::ALL {
            let expected = match kind {
                // 2 350 000 blocks, of which there are 55.
                Data::Logs => Kept::Last(2_350_000),
                Data::State | Data::Proofs | Data::Blocks | Data::Transactions | Data::Receipts => {
                    Kept::From(0)
                }
            };
            assert_eq!(found.of(kind), Some(expected), "{kind:?}");
        }
    }

    #[test]
    fn a_window_moves_with_the_head_once_it_is_full() {
        let state = |oldest: &str, window: &str| {
            parse(&format!(
                r#"{{"head":{{"number":"0x3e8"}},"state":{{"disabled":false,"oldestBlock":"{oldest}","deleteStrategy":{{"type":"window","retentionBlocks":"{window}"}}}}}}"#
            ))
            .unwrap()
            .of(Data::State)
        };
        // Head 1000, the last 128: 873 on.
        assert_eq!(state("0x369", "0x80"), Some(Kept::Last(128)));
        assert_eq!(state("0x0", "0x80"), Some(Kept::Last(128)));
        // It began to keep at 900: the window is not full yet.
        assert_eq!(state("0x384", "0x80"), Some(Kept::From(900)));
        assert_eq!(Kept::Last(128).oldest(Some(1000)), Some(873));
        assert_eq!(Kept::Last(128).oldest(Some(50)), Some(0));
        assert_eq!(Kept::Last(1).oldest(Some(1000)), Some(1000));
        assert_eq!(Kept::Last(128).oldest(None), None);
        assert_eq!(Kept::Nothing.oldest(None), Some(u64::MAX));
    }

    #[test]
    fn passes_over_what_is_odd_and_keeps_the_rest() {
        let found = parse(
            r#"{"head":{"number":"0x64"},"state":{"disabled":true,"oldestBlock":"0x1"},
            "tx":{"disabled":"no","oldestBlock":"0x0"},"logs":{"oldestBlock":"0x65"},
            "receipts":{"disabled":false,"oldestBlock":7,"deleteStrategy":{"type":"none"}},
            "blocks":[],"stateproofs":{"disabled":false,"deleteStrategy":{"type":"window","retentionBlocks":"0x0"}},
            "new":{"disabled":false}}"#,
        )
        .unwrap();
        assert_eq!(found.head, Some(100));
        assert_eq!(
            Data::ALL.map(|kind| found.of(kind)),
            [
                Some(Kept::Nothing),
                None,
                None,
                None,
                Some(Kept::From(7)),
                None
            ]
        );
        for text in [
            "",
            "null",
            "[]",
            "\"0x1\"",
            "{}",
            "{",
            r#"{"head":"0x1"}"#,
            r#"{"head":{"number":"0xg"},"state":{"oldestBlock":"0x"}}"#,
            r#"{"head":{"number":"0x+1"}}"#,
            r#"{"head":{"number":-1},"logs":{"oldestBlock":1.5}}"#,
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(parse(&deep), None);
    }
}
