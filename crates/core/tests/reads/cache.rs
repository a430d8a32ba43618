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

// P-11, P-12
#[test]
fn a_read_at_latest_is_served_while_it_is_near_the_head_and_young() {
    let start = origin();
    let recent = chain(102, start);
    let at = |head, ms| view(ETHEREUM, head, &recent, start + millis(ms));
    let call = asked("eth_call", "[{}]", "\"0x2a\"");
    let entry = call.store(Some(100), &at(101, 0)).unwrap();
    assert_eq!((entry.keep, entry.height), (Keep::Moving, Some(100)));

    assert_eq!(
        serve(&entry, Class::Moving, &at(100, 1999)),
        moving_hit(0, 100)
    );
    assert_eq!(
        serve(&entry, Class::Moving, &at(101, 0)),
        moving_hit(1, 100)
    );
    assert_eq!(serve(&entry, Class::Moving, &at(102, 0)), Err(Miss::Stale));
    assert_eq!(serve(&entry, Class::Moving, &at(100, 2000)), Err(Miss::Age));
    assert_eq!(serve(&entry, Class::Moving, &at(99, 0)), Err(Miss::NoHead));
    let blind = View {
        head: None,
        ..at(100, 0)
    };
    assert_eq!(serve(&entry, Class::Moving, &blind), Err(Miss::NoHead));
    let off = View {
        settings: None,
        ..at(100, 0)
    };
    assert_eq!(serve(&entry, Class::Moving, &off), Err(Miss::Off));
    assert_eq!(call.store(Some(100), &off), Err(Refusal::Off));
    // The stamp decides for a read at a number.
    assert_eq!(serve(&entry, Class::Number(100), &at(102, 0)), hit(0));
    assert_eq!(
        serve(&entry, Class::Number(100), &at(102, 2000)),
        Err(Miss::Age)
    );
    assert_eq!(
        serve(&entry, Class::Number(101), &at(102, 0)),
        Err(Miss::OtherBlock)
    );
    assert_eq!(
        serve(&entry, Class::Never(Uncached::Tag), &at(100, 0)),
        Err(Miss::Never(Uncached::Tag))
    );
    // Once the block is final it cannot change.
    assert_eq!(serve(&entry, Class::Number(100), &at(196, 60_000)), hit(0));
}

// P-11
#[test]
fn a_hit_below_the_callers_floor_is_a_miss() {
    let start = origin();
    let recent = chain(101, start);
    let view = view(ETHEREUM, 101, &recent, start);
    let entry = asked("eth_call", "[{}]", "\"0x2a\"")
        .store(Some(100), &view)
        .unwrap();
    let ask = |class, floor| {
        may_serve(
            &entry,
            &Ask {
                class,
                floor: Some(floor),
            },
            &view,
        )
    };
    assert_eq!(ask(Class::Moving, 100), moving_hit(1, 100));
    assert_eq!(ask(Class::Moving, 101), Err(Miss::Floor));
    assert_eq!(ask(Class::Number(100), 101), hit(0));
}

// P-12
#[test]
fn a_read_without_a_pin_is_stamped_with_what_is_known_of_it() {
    let start = origin();
    let recent = chain(101, start);
    let view = view(ETHEREUM, 101, &recent, start);
    let stamp = |asked: &Asked, lowest_head| {
        let answer = Answer {
            lowest_head,
            ..asked.answer(None, &view)
        };
        stored(may_store(&answer, &view))
    };
    let call = asked("eth_call", r#"[{},"latest"]"#, "\"0x2a\"");
    assert_eq!(stamp(&call, Some(99)), Ok((Keep::Moving, Some(99))));
    assert_eq!(stamp(&call, None), Err(Refusal::NoStamp));
    let block = format!(r#"{{"number":"0x65","hash":"{}"}}"#, text(hash(101, 0)));
    let block = asked("eth_getBlockByNumber", r#"["latest",false]"#, &block);
    assert_eq!(stamp(&block, Some(99)), Ok((Keep::Moving, Some(101))));
    assert_eq!(
        stored(call.store(Some(102), &view)),
        Err(Refusal::AboveHead)
    );
}

// P-6, scenario C01
#[test]
fn present_state_is_served_by_age_alone() {
    let start = origin();
    let recent = chain(101, start);
    let mut call = asked("eth_call", "[{}]", "\"0x2a\"");
    call.class = Class::Present;
    let entry = call
        .store(None, &view(HYPEREVM, 101, &recent, start))
        .unwrap();
    assert_eq!((entry.keep, entry.height), (Keep::Present, None));
    let at = |ms| view(HYPEREVM, 900, &recent, start + millis(ms));
    let fresh = Fresh {
        stale_blocks: None,
        seen: None,
    };
    assert_eq!(serve(&entry, Class::Present, &at(1999)), Ok(fresh));
    assert_eq!(serve(&entry, Class::Present, &at(2000)), Err(Miss::Age));
}

// P-13: at once on a chain with instant finality
#[test]
fn reads_at_a_number_are_kept_for_good_once_final() {
    let start = origin();
    let recent = Recent::new(Duration::from_secs(30));
    let balance = asked("eth_getBalance", r#"["0x1","0x64"]"#, "\"0x2a\"");
    let at = |id, head, ms| view(id, head, &recent, start + millis(ms));
    let entry = balance.store(None, &at(SEI, 100, 0)).unwrap();
    assert_eq!((entry.keep, entry.height), (Keep::Final, Some(100)));
    assert_eq!(
        serve(&entry, balance.class, &at(SEI, 9000, 86_400_000)),
        hit(0)
    );
    assert_eq!(
        stored(balance.store(None, &at(SEI, 99, 0))),
        Err(Refusal::AboveHead)
    );
    assert_eq!(
        stored(balance.store(None, &at(ETHEREUM, 195, 0))),
        Err(Refusal::Unlinked)
    );
    assert_eq!(
        stored(balance.store(None, &at(ETHEREUM, 196, 0))),
        Ok((Keep::Final, Some(100)))
    );
    let tagged = View {
        finalized: Some(100),
        ..at(ETHEREUM, 140, 0)
    };
    assert_eq!(
        stored(balance.store(None, &tagged)),
        Ok((Keep::Final, Some(100)))
    );

    // Not every endpoint that could have answered is known to hold the block.
    let view = at(SEI, 100, 0);
    let answer = Answer {
        all_hold: false,
        ..balance.answer(None, &view)
    };
    assert_eq!(may_store(&answer, &view), Err(Refusal::NotAllHold));
}

// P-13, scenarios C02, C03
#[test]
fn state_that_may_be_the_present_is_never_kept_at_a_number() {
    let start = origin();
    let recent = chain(105, start);
    let view = view(HYPEREVM, 105, &recent, start);
    let balance = asked("eth_getBalance", r#"["0x1","0x69"]"#, "\"0x2a\"");
    assert_eq!(balance.store(None, &view), Err(Refusal::PresentState));
    let latest = asked("eth_getBalance", r#"["0x1"]"#, "\"0x2a\"");
    assert_eq!(
        stored(latest.store(Some(105), &view)),
        Ok((Keep::Moving, Some(105)))
    );
    let block = format!(r#"{{"number":"0x69","hash":"{}"}}"#, text(hash(105, 0)));
    let block = asked("eth_getBlockByNumber", r#"["0x69",false]"#, &block);
    assert_eq!(
        stored(block.store(None, &view)),
        Ok((Keep::Final, Some(105)))
    );
}

// P-13, P-14
#[test]
fn before_it_is_final_a_block_is_kept_under_its_hash_and_goes_with_it() {
    let start = origin();
    let mut recent = chain(105, start);
    let at = views(move |_, recent| view(ETHEREUM, 105, recent, start + millis(60_000)));
    let block = |number: u64, branch| {
        let result = format!(
            r#"{{"number":"{number:#x}","hash":"{}"}}"#,
            text(hash(number, branch))
        );
        asked(
            "eth_getBlockByNumber",
            &format!(r#"["{number:#x}",false]"#),
            &result,
        )
    };
    let low = block(103, 0).store(None, &at(105, &recent)).unwrap();
    let high = block(104, 0).store(None, &at(105, &recent)).unwrap();
    assert_eq!((high.keep, high.height), (Keep::UnderHash, Some(104)));
    assert_eq!(high.hash, Some(hash(104, 0)));
    assert_eq!(serve(&high, Class::Number(104), &at(105, &recent)), hit(0));
    assert_eq!(
        block(104, 1).store(None, &at(105, &recent)),
        Err(Refusal::OffChain)
    );
    // A count names no hash: that of the height.
    let count = asked(
        "eth_getBlockTransactionCountByNumber",
        r#"["0x68"]"#,
        "\"0x3\"",
    );
    assert_eq!(
        count.store(None, &at(105, &recent)).map(|s| s.hash),
        Ok(Some(hash(104, 0)))
    );
    let view_now = at(105, &recent);
    let rival = Answer {
        rival: true,
        ..count.answer(None, &view_now)
    };
    assert_eq!(may_store(&rival, &view_now), Err(Refusal::Rival));
    // Asked before the reorganisation, answered after it.
    let count_at_105 = asked(
        "eth_getBlockTransactionCountByNumber",
        r#"["0x69"]"#,
        "\"0x3\"",
    );
    let before = recent.mark();

    recent.observe(header(104, 1, 103), 1, start);
    recent.observe(header(105, 1, 103), 1, start);
    assert_eq!(
        serve(&high, Class::Number(104), &at(105, &recent)),
        Err(Miss::Orphaned)
    );
    assert_eq!(serve(&low, Class::Number(103), &at(105, &recent)), hit(0));
    let view_now = at(105, &recent);
    let late = Answer {
        since: before,
        ..count_at_105.answer(None, &view_now)
    };
    assert_eq!(may_store(&late, &view_now), Err(Refusal::Orphaned));
    assert!(block(104, 1).store(None, &at(105, &recent)).is_ok());
}

// P-14: nothing is served on the strength of hashes that nobody watched
#[test]
fn an_entry_under_a_hash_needs_the_way_to_the_head() {
    let start = origin();
    let mut recent = chain(105, start);
    let at = views(move |head, recent| view(ETHEREUM, head, recent, start));
    let count = asked(
        "eth_getBlockTransactionCountByNumber",
        r#"["0x68"]"#,
        "\"0x3\"",
    );
    let entry = count.store(None, &at(105, &recent)).unwrap();
    assert_eq!(serve(&entry, count.class, &at(106, &recent)), hit(0));
    // The hashes stand still while the head moves on.
    assert_eq!(
        serve(&entry, count.class, &at(107, &recent)),
        Err(Miss::Unlinked)
    );
    assert_eq!(count.store(None, &at(107, &recent)), Err(Refusal::Unlinked));
    // A gap that was given up.
    recent.observe(header(109, 0, 0), 1, start);
    recent.jump(start);
    assert_eq!(
        serve(&entry, count.class, &at(109, &recent)),
        Err(Miss::Unlinked)
    );
}

// P-14
#[test]
fn nothing_is_kept_or_served_where_the_chain_is_in_doubt() {
    let start = origin();
    let mut recent = chain(105, start);
    let at = views(move |_, recent| view(ETHEREUM, 105, recent, start));
    let count = asked(
        "eth_getBlockTransactionCountByNumber",
        r#"["0x69"]"#,
        "\"0x3\"",
    );
    let under_hash = count.store(None, &at(105, &recent)).unwrap();
    let call = asked("eth_call", "[{}]", "\"0x2a\"");
    let moving = call.store(Some(105), &at(105, &recent)).unwrap();
    recent.observe(header(105, 1, 104), 2, start);
    assert_eq!(
        serve(&under_hash, count.class, &at(105, &recent)),
        Err(Miss::Disputed)
    );
    assert_eq!(
        serve(&moving, call.class, &at(105, &recent)),
        Err(Miss::Disputed)
    );
    assert_eq!(count.store(None, &at(105, &recent)), Err(Refusal::Disputed));
    assert_eq!(
        call.store(Some(105), &at(105, &recent)),
        Err(Refusal::Disputed)
    );
    assert!(call.store(Some(104), &at(105, &recent)).is_ok());
    // A reorganisation takes reads at latest too.
    recent.observe(header(106, 1, 104), 2, start);
    assert_eq!(
        serve(&moving, call.class, &at(105, &recent)),
        Err(Miss::Orphaned)
    );
}

// P-13: transactions with the block that the answer names; lessons P2
#[test]
fn transactions_are_kept_once_mined() {
    let start = origin();
    let recent = chain(105, start);
    let view = view(ETHEREUM, 105, &recent, start);
    let params = format!(r#"["{}"]"#, text([9; 32]));
    let receipt = |number: &str, branch, own: u8| {
        let result = format!(
            r#"{{"blockHash":"{}","blockNumber":{number},"transactionHash":"{}"}}"#,
            text(hash(104, branch)),
            text([own; 32])
        );
        asked("eth_getTransactionReceipt", &params, &result)
    };
    let kept = receipt("\"0x68\"", 0, 9).store(None, &view);
    assert_eq!(stored(kept), Ok((Keep::UnderHash, Some(104))));
    assert_eq!(
        receipt("\"0x68\"", 1, 9).store(None, &view),
        Err(Refusal::OffChain)
    );
    assert_eq!(
        receipt("\"0x68\"", 0, 8).store(None, &view),
        Err(Refusal::NotAsAsked)
    );
    assert_eq!(
        receipt("null", 0, 9).store(None, &view),
        Err(Refusal::Unmined)
    );
    assert_eq!(
        receipt("\"0x6a\"", 0, 9).store(None, &view),
        Err(Refusal::AboveHead)
    );
    // A trace that does not say where.
    let trace = asked("debug_traceTransaction", &params, r#"{"gas":1}"#);
    assert_eq!(trace.store(None, &view), Err(Refusal::Unmined));
    let status = asked("zks_getTransactionDetails", &params, "{}");
    assert_eq!(
        status.store(None, &view),
        Err(Refusal::Never(Uncached::FillsIn))
    );
}

// P-13, scenario M13
#[test]
fn by_hash_answers_are_kept_while_the_hash_is_on_the_chain_and_for_good_once_final() {
    let start = origin();
    let mut recent = chain(105, start);
    let params = format!(
        r#"[{{}},{{"blockHash":"{}","requireCanonical":true}}]"#,
        text(hash(104, 0))
    );
    let call = asked("eth_call", &params, "\"0x2a\"");
    let entry = call
        .store(None, &view(ETHEREUM, 105, &recent, start))
        .unwrap();
    assert_eq!((entry.keep, entry.height), (Keep::UnderHash, Some(104)));
    let params = format!(r#"["{}"]"#, text([9; 32]));
    let count = asked("eth_getBlockTransactionCountByHash", &params, "\"0x3\"");
    // Nobody knows its height.
    let unknown = count.store(None, &view(ETHEREUM, 105, &recent, start));
    assert_eq!(unknown, Err(Refusal::Unlinked));
    let instant = count.store(None, &view(SEI, 105, &recent, start));
    assert_eq!(stored(instant), Ok((Keep::Final, None)));
    recent.observe(header(104, 1, 103), 1, start);
    let gone = serve(&entry, call.class, &view(ETHEREUM, 105, &recent, start));
    assert_eq!(gone, Err(Miss::Orphaned));
}

// P-13, P-15
#[test]
fn null_errors_and_wrong_answers_are_never_kept() {
    let start = origin();
    let recent = chain(105, start);
    let view = view(SEI, 105, &recent, start);
    for (method, params) in [
        ("eth_getBlockByNumber", r#"["0x5",false]"#),
        ("eth_getBalance", r#"["0x1"]"#),
        ("eth_chainId", "[]"),
    ] {
        let null = asked(method, params, " null ");
        assert_eq!(null.store(Some(105), &view), Err(Refusal::Null), "{method}");
        let error = Answer {
            result: None,
            ..null.answer(Some(105), &view)
        };
        assert_eq!(may_store(&error, &view), Err(Refusal::Error), "{method}");
    }
    let wrong = asked(
        "eth_getBlockByNumber",
        r#"["0x5",false]"#,
        r#"{"number":"0x6"}"#,
    );
    assert_eq!(wrong.store(None, &view), Err(Refusal::NotAsAsked));
    let wrong = asked(
        "eth_getBlockByNumber",
        r#"["latest",false]"#,
        r#"{"number":"0x6"}"#,
    );
    assert_eq!(wrong.store(Some(105), &view), Err(Refusal::NotAsAsked));
}

// P-13, rule `suspect`, scenario M11
#[test]
fn an_empty_list_is_kept_only_with_what_makes_it_believable() {
    let start = origin();
    let recent = chain(105, start);
    let view = view(SEI, 105, &recent, start);
    let keep = |asked: &Asked, all_hold, sign| {
        let answer = Answer {
            all_hold,
            sign,
            ..asked.answer(None, &view)
        };
        may_store(&answer, &view).map(|stamp| stamp.keep)
    };
    let receipts = asked("eth_getBlockReceipts", r#"["0x5a"]"#, "[]");
    assert_eq!(keep(&receipts, true, None), Err(Refusal::Empty));
    assert_eq!(
        keep(&receipts, true, Some(Sign::NoTransactions)),
        Ok(Keep::Final)
    );
    let traces = |number: &str| asked("trace_block", &format!(r#"["{number}"]"#), "[ ]");
    assert_eq!(keep(&traces("0x5a"), true, None), Ok(Keep::Final));
    assert_eq!(
        keep(&traces("0x5a"), false, Some(Sign::SecondRead)),
        Err(Refusal::Empty)
    );
    // The newest block.
    assert_eq!(keep(&traces("0x69"), true, None), Err(Refusal::Empty));
    assert_eq!(
        keep(&traces("0x69"), true, Some(Sign::SecondRead)),
        Ok(Keep::Final)
    );
    let logs = format!(r#"[{{"blockHash":"{}"}}]"#, text(hash(104, 0)));
    let logs = asked("eth_getLogs", &logs, "[]");
    assert_eq!(keep(&logs, true, None), Ok(Keep::Final));
    let missing = asked("eth_getBlockByNumber", r#"["0x5a",false]"#, "[]");
    assert_eq!(keep(&missing, true, Some(Sign::Bloom)), Err(Refusal::Empty));
}

// hardening F9
#[test]
fn a_development_chain_is_cached_within_a_block_only() {
    let start = origin();
    let mut recent = chain(105, start);
    let at = views(move |head, recent| view(LOCAL, head, recent, start));
    let call = asked("eth_call", "[{}]", "\"0x2a\"");
    let entry = call.store(Some(105), &at(105, &recent)).unwrap();
    assert_eq!(
        serve(&entry, call.class, &at(105, &recent)),
        moving_hit(0, 105)
    );
    assert_eq!(
        serve(&entry, call.class, &at(106, &recent)),
        Err(Miss::Stale)
    );
    let balance = asked("eth_getBalance", r#"["0x1","0x64"]"#, "\"0x2a\"");
    assert_eq!(
        balance.store(None, &at(105, &recent)),
        Err(Refusal::LocalChain)
    );
    let id = asked("eth_chainId", "[]", "\"0x7a69\"");
    assert_eq!(
        stored(id.store(None, &at(105, &recent))),
        Ok((Keep::Present, None))
    );
    assert!(Policy::of(LOCAL).is_reset(105, 0));
    recent.restart();
    assert_eq!(
        serve(&entry, call.class, &at(105, &recent)),
        Err(Miss::Orphaned)
    );
}

// P-13: for good
#[test]
fn the_chain_id_is_kept_across_everything_but_a_restart() {
    let start = origin();
    let mut recent = chain(105, start);
    let id = asked("eth_chainId", "[]", "\"0x1\"");
    let entry = id
        .store(None, &view(ETHEREUM, 105, &recent, start))
        .unwrap();
    recent.observe(header(104, 1, 103), 1, start);
    let later = start + Duration::from_secs(86_400);
    assert_eq!(
        serve(&entry, id.class, &view(ETHEREUM, 9000, &recent, later)),
        hit(0)
    );
    recent.restart();
    let gone = serve(&entry, id.class, &view(ETHEREUM, 9000, &recent, later));
    assert_eq!(gone, Err(Miss::Orphaned));
}

// P-17: the policy costs no allocation
#[test]
fn a_hit_allocates_nothing() {
    let start = origin();
    let recent = chain(105, start);
    let view = view(ETHEREUM, 105, &recent, start);
    let params =
        r#"[{"to":"0x0000000000000000000000000000000000000001","data":"0x1234"},"latest"]"#;
    let entry = asked("eth_call", params, "\"0x2a\"")
        .store(Some(105), &view)
        .unwrap();
    let mut key = Vec::with_capacity(1024);
    let counted = allocation_counter::measure(|| {
        let found = found("eth_call", params);
        let body = canonical_key(&found, "eth_call", params, &mut key);
        let class = Class::of(&found, body.form(), false);
        for resolve in class.lookups() {
            body.seal(&found, params, resolve, &mut key);
        }
        assert_eq!(serve(&entry, class, &view), moving_hit(0, 105));
    });
    assert_eq!(counted.count_total, 0);
}

proptest! {
    // P-14: an answer of a block that is not on the chain any more is never served. Every block of
    // every branch is known to the test; what is served must be of the branch that is the chain.
    #[test]
    fn an_answer_of_an_orphaned_block_is_never_served(
        steps in prop::collection::vec((0_u16..3, 0_u8..3, 0_u64..4, any::<bool>()), 1..80),
    ) {
        let start = origin();
        let mut recent = chain(100, start);
        let fork = |branch: u8| 100 + 2 * u64::from(branch);
        let on = |number, branch| if number <= fork(branch) { 0 } else { branch };
        let mut entries: Vec<(u64, u8, Class, Stamp)> = Vec::new();
        for (voice, branch, up, pinned) in steps {
            let tip = recent.tip().unwrap().number;
            let number = (tip + up).saturating_sub(2).max(101);
            let branch = on(number, branch);
            recent.observe(header(number, branch, fork(branch)), voice, start);
            let tip = recent.tip().unwrap();
            let head = tip.number;
            let view = view(ETHEREUM, head, &recent, start);
            // A read at the tip, answered by somebody on the chain.
            let own = recent.hash_at(head).unwrap()[31];
            let read = if pinned {
                asked("eth_call", "[{}]", "\"0x2a\"")
            } else {
                let params = format!(r#"["0x1","{head:#x}"]"#);
                asked("eth_getBalance", &params, "\"0x2a\"")
            };
            if let Ok(stamp) = read.store(pinned.then_some(head), &view) {
                entries.push((head, own, read.class, stamp));
            }
            for (height, branch, class, stamp) in &entries {
                let served = serve(stamp, *class, &view).is_ok()
                    || serve(stamp, Class::Number(*height), &view).is_ok();
                if served {
                    prop_assert_eq!(recent.hash_at(*height), Some(hash(*height, *branch)));
                }
            }
        }
    }

    // P-12: the three spellings of one read share their entry, and a number finds it by its stamp
    #[test]
    fn implied_explicit_and_pinned_spellings_share_an_entry(pin in 1_u64..u64::MAX) {
        let key = |params: &str, resolve| {
            let found = found("eth_getBalance", params);
            let mut key = Vec::new();
            let body = canonical_key(&found, "eth_getBalance", params, &mut key);
            body.seal(&found, params, resolve, &mut key);
            key
        };
        let number = format!(r#"["0x1","{pin:#x}"]"#);
        let implied = key(r#"["0x1"]"#, Resolve::Tagless);
        prop_assert_eq!(&key(r#"["0x1","latest"]"#, Resolve::Tagless), &implied);
        prop_assert_eq!(&key(&number, Resolve::Tagless), &implied);
        prop_assert_eq!(key(r#"["0x1"]"#, Resolve::At(pin)), key(&number, Resolve::AsWritten));
        let params = found("eth_getBalance", r#"["0x1"]"#);
        prop_assert_eq!(params.reference(Some(pin)).high, Some(pin));
        prop_assert_eq!(class("eth_getBalance", &number), Class::Number(pin));
    }
}
