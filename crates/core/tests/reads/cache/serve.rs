use super::*;

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
    // The first word of another branch takes what was kept above the fork.
    recent.observe(header(105, 0, 0), 3, start);
    recent.observe(header(105, 1, 104), 2, start);
    for (kept, class) in [(&under_hash, count.class), (&moving, call.class)] {
        assert_eq!(serve(kept, class, &at(105, &recent)), Err(Miss::Orphaned));
    }
    // What is kept then is served, until as many deny the block.
    let under_hash = count.store(None, &at(105, &recent)).unwrap();
    let moving = call.store(Some(105), &at(105, &recent)).unwrap();
    assert!(serve(&moving, call.class, &at(105, &recent)).is_ok());
    recent.observe(header(105, 1, 104), 4, start);
    for (kept, class) in [(&under_hash, count.class), (&moving, call.class)] {
        assert_eq!(serve(kept, class, &at(105, &recent)), Err(Miss::Disputed));
    }
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
