use std::time::Duration;

use super::{Ask, DEMO, Scenario, Writes, Writing};
use crate::chain::Reach;
use crate::node::{Carries, Dialect, Fault, Latency, Profile, Says, Sees, What};

const HEAD: &str = "name = \"t\"\nduration = \"10s\"\n";
const MS: Duration = Duration::from_millis(1);

fn refused(text: &str) -> String {
    Scenario::parse(text, None).unwrap_err().to_string()
}

fn with_fault(fault: &str) -> String {
    format!("{HEAD}[[nodes]]\nname = \"a\"\n[[nodes.faults]]\n{fault}\n")
}

fn fault(text: &str) -> Fault {
    let scenario = Scenario::parse(&with_fault(text), None).unwrap();
    scenario.nodes[0].0.faults[0].clone()
}

// B-3
#[test]
fn the_shipped_scenarios_are_valid() {
    for text in [
        include_str!("../../scenarios/two-providers.toml"),
        include_str!("../../scenarios/reorg.toml"),
        include_str!("../../scenarios/rough-day.toml"),
        include_str!("../../scenarios/silent.toml"),
        include_str!("../../scenarios/behind.toml"),
        include_str!("../../scenarios/elsewhere.toml"),
        DEMO,
    ] {
        let scenario = Scenario::parse(text, None).unwrap();
        let (chain, nodes) = scenario.build();
        assert_eq!(nodes.len(), scenario.nodes.len());
        assert_eq!(chain.spec(), &scenario.chain);
    }
}

// B-1
#[test]
fn the_demo_has_faults_that_come_back_and_a_node_without_any() {
    let demo = Scenario::parse(DEMO, None).unwrap();
    let faults = |(profile, _): &(Profile, _)| profile.faults.len();
    assert_eq!(
        demo.nodes.iter().filter(|node| faults(node) == 0).count(),
        1
    );
    for fault in demo.nodes.iter().flat_map(|(profile, _)| &profile.faults) {
        // However long the demo runs, it does not run out of faults.
        assert_eq!(fault.until.is_some(), fault.every.is_some(), "{fault}");
        // What a closed port refuses reaches no node, so no node could tell of it.
        assert_ne!(fault.what, What::Carries(Carries::Down));
    }
}

#[test]
fn what_is_left_out_has_a_value() {
    let text = format!("{HEAD}[[nodes]]\nname = \"a\"\n");
    let scenario = Scenario::parse(&text, None).unwrap();
    assert_eq!((scenario.seed, scenario.stale_blocks), (1, 3));
    assert_eq!((scenario.errors, scenario.settle), (None, None));
    assert_eq!(scenario.load.asks.len(), 8);
    let profile = &scenario.nodes[0].0;
    assert_eq!(profile.dialect, Dialect::Geth);
    assert_eq!(profile.latency, Latency::Constant(MS * 20));
    assert_eq!(Scenario::parse(&text, Some(9)).unwrap().chain.seed, 9);
}

#[test]
fn every_option_reaches_its_place() {
    let text = r#"
name = "t"
seed = 4
duration = "1m"
[chain]
id = 10
first = 5
start = 50
genesis_time = 99
block_time = "250ms"
transactions = 1
logs = 7
safe_lag = 3
finalized_lag = 6
reorgs = [{ at = "9s", depth = 1 }, { at = "3s", depth = 2 }]
[load]
clients = 2
every = "5ms"
timeout = "7s"
asks = ["send"]
[bounds]
stale_blocks = 9
errors = 3
settle = "2s"
[[nodes]]
name = "a"
dialect = "cosmos-evm"
latency = { median = "4ms", sigma = 0.5 }
budget = { rps = 3, burst = 4 }
faults = [{ kind = "strayed", from = "1s", depth = 8 }]
[[nodes]]
name = "b"
latency = { fast = "1ms", slow = "9ms", slow_share = 0.5 }
"#;
    let scenario = Scenario::parse(text, None).unwrap();
    let chain = &scenario.chain;
    assert_eq!(
        (chain.seed, chain.chain_id, chain.first, chain.start),
        (4, 10, 5, 50)
    );
    assert_eq!((chain.genesis_time, chain.block_time), (99, MS * 250));
    assert_eq!((chain.transactions, chain.logs), (1, 7));
    assert_eq!((chain.safe_lag, chain.finalized_lag), (3, 6));
    let forks: Vec<_> = chain.forks.iter().map(|f| (f.depth, f.reach)).collect();
    let expected = [
        (2, Reach::Everyone),
        (1, Reach::Everyone),
        (8, Reach::Strayed),
    ];
    assert_eq!(forks, expected);
    assert_eq!((scenario.load.clients, scenario.load.every), (2, MS * 5));
    assert_eq!(scenario.load.timeout, MS * 7_000);
    assert_eq!(scenario.load.asks, [Ask::Send]);
    assert_eq!((scenario.stale_blocks, scenario.errors), (9, Some(3)));
    assert_eq!(scenario.settle, Some(MS * 2_000));
    let (profile, budget) = &scenario.nodes[0];
    assert_eq!(profile.dialect, Dialect::CosmosEvm);
    assert_eq!(profile.faults[0].what, What::Sees(Sees::Strayed(2)));
    assert!((budget.unwrap().burst - 4.0).abs() < 1e-9);
    let bimodal = Latency::Bimodal {
        fast: MS,
        slow: MS * 9,
        slow_share: 0.5,
    };
    assert_eq!(scenario.nodes[1].0.latency, bimodal);
}

#[test]
fn a_chain_at_a_great_height_begins_near_it() {
    let text = |chain: &str| format!("{HEAD}[[nodes]]\nname='a'\n[chain]\n{chain}");
    let chain = |chain: &str| Scenario::parse(&text(chain), None).unwrap().chain;
    let heights = |text: &str| (chain(text).first, chain(text).start);
    assert_eq!(heights("start = 20000000"), (19_998_976, 20_000_000));
    assert_eq!(heights("start = 10"), (0, 10));
    assert_eq!(heights("first = 500"), (500, 500));
    assert_eq!(heights(""), (0, 128));
}

#[test]
fn the_guide_names_every_fault_and_its_examples_are_valid() {
    let guide = include_str!("../../../../docs/lab.md");
    let mut examples = 0;
    for block in guide.split("```toml\n").skip(1) {
        let example = block.split("```").next().unwrap();
        Scenario::parse(example, None).unwrap();
        examples += 1;
    }
    assert_eq!(examples, 1);
    // The parser lists the kinds in its refusal, so none can be forgotten here.
    let message = refused(&with_fault("kind = \"?\""));
    let kinds: Vec<&str> = message.split('`').skip(3).step_by(2).collect();
    assert_eq!(kinds.len(), 40, "{message}");
    for kind in kinds {
        assert!(guide.contains(&format!("`{kind}`")), "{kind}");
    }
}

// B-2
#[test]
fn every_kind_of_fault_can_be_written() {
    let sees = |text: &str, sees: Sees| assert_eq!(fault(text).what, What::Sees(sees), "{text}");
    sees("kind='lag'\nblocks=2", Sees::Lag(2));
    sees("kind='stuck'", Sees::Stuck);
    sees("kind='delayed'\nlate='2s'", Sees::Delayed(MS * 2_000));
    sees("kind='ahead'\nblocks=3", Sees::Ahead(3));
    let backwards = Sees::Backwards {
        blocks: 1,
        share: 0.25,
    };
    sees("kind='backwards'\nblocks=1\nshare=0.25", backwards);
    sees("kind='strayed'\ndepth=1", Sees::Strayed(0));
    sees("kind='wrong-chain'\nid=5", Sees::WrongChain(5));
    sees("kind='pruned'\nblocks=9", Sees::PrunedState(9));
    sees(
        "kind='pruned'\nblocks=9\nlost='blocks'",
        Sees::PrunedBlocks(9),
    );
    sees("kind='no-tags'", Sees::NoTags);
    let limit = Sees::LogLimit {
        blocks: None,
        results: Some(4),
    };
    sees("kind='log-limit'\nresults=4", limit);
    sees("kind='short-logs'\nlost_share=0.5", Sees::ShortLogs(0.5));
    sees("kind='no-method'\nmethods=['trace_*']", Sees::NoMethod);
    sees(
        "kind='late-receipts'\nlate='2s'",
        Sees::LateReceipts(MS * 2_000),
    );
    sees("kind='forgets'", Sees::Forgets);

    let says = |text: &str, says: Says| assert_eq!(fault(text).what, What::Says(says), "{text}");
    let error = Says::Error {
        status: 429,
        code: 429,
        message: "rate limit exceeded, too many requests per second".into(),
        data: None,
    };
    says("kind='error'\nclass='rate_limited'", error);
    let error = Says::Error {
        status: 200,
        code: -1,
        message: "m".into(),
        data: Some("[1]".into()),
    };
    says("kind='error'\ncode=-1\nmessage='m'\ndata='[1]'", error);
    says("kind='wrong-id'", Says::WrongId);
    says("kind='string-id'", Says::StringId);
    says("kind='missing-id'", Says::MissingId);
    says("kind='twice'", Says::Twice);
    says("kind='omitted'", Says::Omitted);
    says("kind='both'", Says::Both);
    says("kind='neither'", Says::Neither);
    says("kind='null'", Says::Null);
    says("kind='lost-send'", Says::LostSend);
    assert_eq!(
        fault("kind='lost-send'").methods,
        ["eth_sendRawTransaction"]
    );
}

// B-2
#[test]
fn every_kind_of_bad_carriage_can_be_written() {
    let carries =
        |text: &str, carries: Carries| assert_eq!(fault(text).what, What::Carries(carries));
    let slow = Carries::Slow {
        add: MS,
        ramp: true,
    };
    carries("kind='slow'\nadd='1ms'\nramp=true", slow);
    carries("kind='down'", Carries::Down);
    carries("kind='hang'", Carries::Hang);
    carries("kind='close'", Carries::Close);
    carries("kind='reset'", Carries::Reset);
    carries("kind='reset'\nbytes=3", Carries::ResetBody(3));
    carries("kind='truncate'\nbytes=3", Carries::Truncate(3));
    let stall = Carries::Stall {
        after: 1,
        pause: MS,
    };
    carries("kind='stall'\npause='1ms'", stall);
    let drip = Carries::Drip {
        piece: 2,
        every: MS,
    };
    carries("kind='drip'\npiece=2\npause='1ms'", drip);
    let page = |content_type: &str, body: &str, retry_after| Carries::Page {
        status: 503,
        content_type: content_type.into(),
        body: body.into(),
        retry_after,
    };
    let text = "kind='page'\nstatus=503\nbody='x'\ncontent_type='a/b'\nretry_after=2";
    carries(text, page("a/b", "x", Some(2)));
    carries(
        "kind='html'\nstatus=503\nbody='x'",
        page("text/html", "x", None),
    );
    carries("kind='invalid-json'", Carries::InvalidJson);
    carries("kind='huge'\nbytes=5", Carries::Huge(5));
    carries("kind='gzip'", Carries::Gzip);
    let limit = Carries::RateLimit {
        rate: 5.0,
        burst: 5.0,
        retry_after: Some(1),
        per_client: true,
    };
    carries(
        "kind='rate-limit'\nrate=5.0\nretry_after=1\nper_client=true",
        limit,
    );
    carries("kind='quota'\nrequests=5", Carries::Quota(5));
    let when =
        fault("kind='hang'\nfrom='1s'\nuntil='2s'\nevery='4s'\nshare=0.5\nmethods=['eth_call']");
    assert!(when.active(MS * 1_500) && !when.active(MS * 2_000));
    assert!(when.active(MS * 5_500) && !when.active(MS * 6_000));
    assert!(when.covers("eth_call") && !when.covers("eth_chainId"));
    assert!((when.share - 0.5).abs() < 1e-9);
}

// B-3
#[test]
fn errors_name_the_line_and_what_to_do() {
    for (fault, expected) in [
        (
            "kind = \"lagg\"",
            "line 6, column 8: unknown variant `lagg`",
        ),
        ("kind = \"lag\"", "line 6, column 8: fault: needs `blocks`"),
        (
            "from = \"1s\"\nkind = \"stuck\"\npiece = 1",
            "line 7, column 8: fault: this kind of fault does not take `piece`",
        ),
        (
            "kind = \"hang\"\nuntil = \"soon\"",
            "line 7, column 9: `soon` is no duration",
        ),
        (
            "kind = \"hang\"\nshare = 2",
            "line 7, column 9: a share is from 0 to 1",
        ),
        (
            "kind = \"hang\"\nform = \"1s\"",
            "line 7, column 1: unknown field `form`",
        ),
        (
            "kind = \"hang\"\nfrom = \"2s\"\nuntil = \"1s\"",
            "`until` must be later",
        ),
        (
            "kind = \"hang\"\nevery = \"2s\"",
            "a fault with `every` needs `until`",
        ),
        (
            "kind = \"hang\"\nuntil = \"2s\"\nevery = \"2s\"",
            "`every` must be longer than",
        ),
        (
            "kind = \"strayed\"\ndepth = 1\nuntil = \"1s\"\nevery = \"2s\"",
            "drop `every`",
        ),
        ("kind = \"lag\"\nblocks = 1\nshare = 0.5", "drop `share`"),
        (
            "kind = \"lag\"\nblocks = 1\nmethods = [\"a\"]",
            "drop `methods`",
        ),
        (
            "kind = \"error\"\nclass = \"x\"",
            "`x` is no class; the classes are already_known",
        ),
        (
            "kind = \"error\"\ncode = 1",
            "needs `class`, or `code` and `message`",
        ),
        (
            "kind = \"error\"\ncode = 1\nmessage = \"m\"\ndata = \"{\"",
            "`data` must be JSON text",
        ),
        ("kind = \"log-limit\"", "needs `blocks`, `results` or both"),
        ("kind = \"no-method\"", "needs `methods`"),
        ("kind = \"rate-limit\"\nrate = -1.0", "`rate` is at least 0"),
    ] {
        let message = refused(&with_fault(fault));
        assert!(message.contains(expected), "{fault}: {message}");
    }
    for (text, expected) in [
        (
            "name = \"t\"\nduration = \"0s\"\nnodes = []",
            "line 2, column 12: a scenario lasts",
        ),
        (
            "name = \"t\"\nduration = \"1s\"\nnodes = []",
            "line 3, column 9: a scenario needs a node",
        ),
        (
            "name = \"t\"\nduration = 5\n",
            "line 2, column 12: invalid type: integer",
        ),
        ("name = \"t\"\n[", "line 2"),
    ] {
        let message = refused(text);
        assert!(message.contains(expected), "{text}: {message}");
    }
    let chain = |line: &str| refused(&format!("{HEAD}[[nodes]]\nname='a'\n[chain]\n{line}"));
    assert!(chain("block_time = \"0s\"").starts_with("line 6"));
    assert!(chain("transactions = 99").contains("at most 8"));
    assert!(chain("first = 9\nstart = 3").starts_with("line 7"));
    assert!(chain("first = 9\nstart = 200000").contains("at most 100000 blocks"));
    let twice = refused(&format!("{HEAD}[[nodes]]\nname='a'\n[[nodes]]\nname='a'"));
    assert!(
        twice.contains("line 6, column 6: two nodes are called `a`"),
        "{twice}"
    );
    let latency = refused(&format!("{HEAD}[[nodes]]\nname='a'\nlatency = 5"));
    assert!(
        latency.contains("line 5, column 11: a duration such as"),
        "{latency}"
    );
    let every = refused(&format!("{HEAD}[[nodes]]\nname='a'\n[load]\nevery='0s'"));
    assert!(every.contains("line 6"), "{every}");
}

// B-3, R-35
#[test]
fn a_router_sends_transactions_by_a_policy_where_one_is_named() {
    let router = |lines: &str| {
        let text = format!("{HEAD}[[nodes]]\nname='a'\nprivate=true\n[router]\n{lines}\n");
        Scenario::parse(&text, None).map(|scenario| scenario.router)
    };
    assert_eq!(router("race = 2").unwrap().writes, None);
    assert!(router("").unwrap().seats[0].private);
    let writing = |to, width, verify, private| {
        Some(Writing {
            to,
            width,
            verify,
            private,
        })
    };
    let once = writing(Writes::Once, 3, None, false);
    assert_eq!(router("writes = 'once'").unwrap().writes, once);
    let failover = "writes = 'failover'\nverify_writes = false\nprivate_writes = true";
    let expected = writing(Writes::Failover, 3, Some(false), true);
    assert_eq!(router(failover).unwrap().writes, expected);
    let broadcast = router("writes = 'broadcast'\nbroadcast_to = 2").unwrap();
    let expected = writing(Writes::Broadcast, 2, None, false);
    assert_eq!(broadcast.writes, expected);
    for (lines, expected) in [
        ("verify_writes = true", "this needs `writes`"),
        ("private_writes = true", "this needs `writes`"),
        (
            "writes = 'once'\nbroadcast_to = 2",
            "`broadcast_to` is at least 1",
        ),
        (
            "writes = 'broadcast'\nbroadcast_to = 0",
            "`broadcast_to` is at least 1",
        ),
        ("writes = 'twice'", "unknown variant `twice`"),
    ] {
        let message = router(lines).unwrap_err().to_string();
        assert!(message.contains(expected), "{lines}: {message}");
    }
}
