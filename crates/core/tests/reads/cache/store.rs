use super::*;

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
