mod serve;
mod store;

use super::{found, millis, origin};
use highwater_core::{
    ChainId,
    answer::Named,
    cache::{
        Answer, Ask, CacheSettings, Class, Finality, Fresh, Keep, Miss, Policy, Refusal, Sign,
        Stamp, Uncached, View, may_serve, may_store,
    },
    method::{Found, KeyForm, Resolve, canonical_key},
    recent::{Header, Recent},
};
use proptest::prelude::*;
use std::time::{Duration, Instant};

const HYPEREVM: ChainId = ChainId(999);
const SEI: ChainId = ChainId(1329);
const ETHEREUM: ChainId = ChainId(1);
const LOCAL: ChainId = ChainId(31337);

fn text(hash: [u8; 32]) -> String {
    use std::fmt::Write as _;
    hash.iter().fold("0x".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn hash(number: u64, branch: u8) -> [u8; 32] {
    let mut hash = [branch; 32];
    hash[..8].copy_from_slice(&number.to_be_bytes());
    hash
}

fn header(number: u64, branch: u8, fork: u64) -> Header {
    let below = number - 1;
    Header {
        number,
        hash: hash(number, branch),
        parent: hash(below, if below > fork { branch } else { 0 }),
    }
}

/// Blocks 90 to `tip` by voice 1.
fn chain(tip: u64, now: Instant) -> Recent {
    let mut recent = Recent::new(Duration::from_secs(30));
    for number in 90..=tip {
        recent.observe(header(number, 0, 0), 1, now);
    }
    recent
}

fn class(method: &str, params: &str) -> Class {
    let found = found(method, params);
    let form = canonical_key(&found, method, params, &mut Vec::new()).form();
    Class::of(&found, form, false)
}

fn view(id: ChainId, head: u64, recent: &Recent, now: Instant) -> View<'_> {
    View {
        policy: Policy::of(id),
        settings: Some(CacheSettings::default()),
        head: Some(head),
        finalized: None,
        recent,
        now,
    }
}

/// For the compiler: the view lives as long as what it looks at.
fn views<F: Fn(u64, &Recent) -> View<'_>>(view: F) -> F {
    view
}

/// A request and its answer.
struct Asked {
    found: Found,
    class: Class,
    params: String,
    result: String,
}

fn asked(method: &str, params: &str, result: &str) -> Asked {
    Asked {
        found: found(method, params),
        class: class(method, params),
        params: params.to_owned(),
        result: result.to_owned(),
    }
}

impl Asked {
    fn answer(&self, pin: Option<u64>, view: &View<'_>) -> Answer<'_> {
        Answer {
            class: self.class,
            found: &self.found,
            params: &self.params,
            pin,
            result: Some(&self.result),
            named: Named::read(self.found.row(), &self.result),
            lowest_head: None,
            all_hold: true,
            rival: false,
            sign: None,
            at: view.now,
            since: view.recent.mark(),
        }
    }

    fn store(&self, pin: Option<u64>, view: &View<'_>) -> Result<Stamp, Refusal> {
        may_store(&self.answer(pin, view), view)
    }
}

fn stored(stamp: Result<Stamp, Refusal>) -> Result<(Keep, Option<u64>), Refusal> {
    stamp.map(|stamp| (stamp.keep, stamp.height))
}

fn serve(entry: &Stamp, class: Class, view: &View<'_>) -> Result<Fresh, Miss> {
    may_serve(entry, &Ask { class, floor: None }, view)
}

fn hit(stale_blocks: u64) -> Result<Fresh, Miss> {
    Ok(Fresh {
        stale_blocks: Some(stale_blocks),
        seen: None,
    })
}

fn moving_hit(stale_blocks: u64, seen: u64) -> Result<Fresh, Miss> {
    Ok(Fresh {
        stale_blocks: Some(stale_blocks),
        seen: Some(seen),
    })
}

// P-12, P-13, P-15
#[test]
fn every_request_has_a_class() {
    use Class::{Fixed, Moving, Never, Number, Present, Transaction};
    let h = text([7; 32]);
    let by_hash = Class::Hash([7; 32]);
    for (method, params, expected) in [
        ("eth_call", "[{}]", Moving),
        ("eth_call", r#"[{},"latest"]"#, Moving),
        ("eth_call", r#"[{},null]"#, Moving),
        ("eth_call", r#"[{},"0x64"]"#, Number(100)),
        (
            "eth_call",
            &*format!(r#"[{{}},{{"blockHash":"{h}"}}]"#),
            by_hash,
        ),
        (
            "eth_call",
            r#"[{"new_member":1}]"#,
            Never(Uncached::UnknownMember),
        ),
        ("eth_getBlockByNumber", r#"["latest",false]"#, Moving),
        ("eth_getBlockByNumber", r#"["0x64",false]"#, Number(100)),
        (
            "eth_getBlockByNumber",
            r#"["finalized",false]"#,
            Never(Uncached::Tag),
        ),
        (
            "eth_getBalance",
            r#"["0x1","pending"]"#,
            Never(Uncached::Tag),
        ),
        ("eth_getBalance", r#"["0x1","safe"]"#, Never(Uncached::Tag)),
        (
            "eth_getBalance",
            r#"["0x1","earliest"]"#,
            Never(Uncached::Tag),
        ),
        ("eth_getBlockByHash", &*format!(r#"["{h}",false]"#), by_hash),
        (
            "eth_getLogs",
            &*format!(r#"[{{"blockHash":"{h}"}}]"#),
            by_hash,
        ),
        (
            "eth_getLogs",
            r#"[{"fromBlock":"0x1","toBlock":"0x2"}]"#,
            Never(Uncached::Logs),
        ),
        ("eth_getLogs", "[{}]", Never(Uncached::Logs)),
        (
            "eth_getTransactionReceipt",
            &*format!(r#"["{h}"]"#),
            Transaction,
        ),
        (
            "eth_getTransactionByHash",
            &*format!(r#"["{h}"]"#),
            Transaction,
        ),
        (
            "eth_getTransactionCount",
            r#"["0x1"]"#,
            Never(Uncached::Method),
        ),
        (
            "eth_getTransactionCount",
            r#"["0x1","latest"]"#,
            Never(Uncached::Method),
        ),
        (
            "eth_getTransactionCount",
            r#"["0x1","pending"]"#,
            Never(Uncached::Tag),
        ),
        ("eth_getTransactionCount", r#"["0x1","0x64"]"#, Number(100)),
        ("eth_estimateGas", r#"[{},"0x64"]"#, Never(Uncached::Method)),
        (
            "eth_feeHistory",
            r#"["0x4","0x64",[]]"#,
            Never(Uncached::Method),
        ),
        ("eth_gasPrice", "[]", Never(Uncached::Method)),
        ("eth_maxPriorityFeePerGas", "[]", Never(Uncached::Method)),
        ("eth_blockNumber", "[]", Never(Uncached::FromHeads)),
        ("eth_getFinalizedBlock", "[]", Never(Uncached::Tag)),
        ("eth_chainId", "[]", Fixed),
        ("net_version", "[]", Fixed),
        ("eth_config", "[]", Present),
        ("zks_getBlockDetails", "[100]", Never(Uncached::FillsIn)),
        (
            "eth_sendRawTransaction",
            r#"["0x1"]"#,
            Never(Uncached::NotARead),
        ),
        ("eth_newFilter", "[{}]", Never(Uncached::NotARead)),
        (
            "eth_getFilterChanges",
            r#"["0x1"]"#,
            Never(Uncached::NotARead),
        ),
        (
            "eth_subscribe",
            r#"["newHeads"]"#,
            Never(Uncached::NotARead),
        ),
        (
            "eth_getBalance",
            r#"["0x1","100"]"#,
            Never(Uncached::Unclear),
        ),
        ("no_such", "[]", Never(Uncached::NotARead)),
    ] {
        assert_eq!(class(method, params), expected, "{method} {params}");
    }
    let call = found("eth_call", r#"[{},"latest"]"#);
    assert_eq!(Class::of(&call, KeyForm::Canonical, true), Present);
    let pending = found("eth_call", r#"[{},"pending"]"#);
    assert_eq!(
        Class::of(&pending, KeyForm::Canonical, true),
        Never(Uncached::Tag)
    );
}

// P-12, P-6
#[test]
fn a_read_at_a_number_looks_at_the_entry_of_latest_first() {
    let lookups = |class: Class| class.lookups().to_vec();
    assert_eq!(lookups(Class::Moving), [Resolve::Tagless]);
    assert_eq!(lookups(Class::Present), [Resolve::Tagless]);
    assert_eq!(
        lookups(Class::Number(7)),
        [Resolve::Tagless, Resolve::AsWritten]
    );
    assert_eq!(lookups(Class::Transaction), [Resolve::AsWritten]);
    assert_eq!(lookups(Class::Never(Uncached::Tag)), []);
    assert_eq!(Class::Moving.storage(), Some(Resolve::Tagless));
    assert_eq!(Class::Number(7).storage(), Some(Resolve::AsWritten));
    assert_eq!(Class::Never(Uncached::Tag).storage(), None);
}

// P-13
#[test]
fn blocks_are_final_as_their_chain_says() {
    let of = |id| Policy::of(ChainId(id));
    let at = |id, head, tag| of(id).final_height(head, tag);
    assert_eq!(of(999).finality, Finality::Instant);
    assert_eq!(at(999, Some(500), None), Some(500));
    assert_eq!(of(1).finality, Finality::Tag { depth: 96 });
    assert_eq!(at(1, Some(500), Some(430)), Some(430));
    assert_eq!(at(1, Some(500), None), Some(404));
    assert_eq!(at(1, Some(500), Some(600)), Some(500));
    assert_eq!(at(1, Some(50), None), None);
    assert_eq!(at(1, None, Some(430)), Some(430));
    // The tag has been wrong there.
    assert_eq!(of(137).finality, Finality::TagAndDepth { depth: 256 });
    assert_eq!(at(137, Some(1000), Some(990)), Some(744));
    assert_eq!(at(137, Some(1000), Some(700)), Some(700));
    assert_eq!(at(137, None, Some(700)), None);
    assert_eq!(of(30).finality, Finality::Depth { depth: 100 });
    assert_eq!(at(30, Some(1000), Some(999)), Some(900));
    // A chain that nobody knows.
    assert_eq!(at(123_456, Some(2000), None), Some(976));
    for id in [31337, 1337] {
        assert_eq!(at(id, Some(500), Some(500)), None);
        assert!(of(id).is_reset(100, 99) && !of(id).is_reset(100, 100));
    }
    assert!(!of(1).is_reset(100, 1));
}
