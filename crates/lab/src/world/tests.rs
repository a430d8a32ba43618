use std::collections::BTreeSet;
use std::time::Duration;

use super::{Direct, Fallback, Outcome, read_reply, run};
use crate::checker::{Breach, Promises, check};
use crate::history::{Event, Got};
use crate::scenario::Scenario;

const REORG: &str = include_str!("../../scenarios/reorg.toml");
const ROUGH: &str = include_str!("../../scenarios/rough-day.toml");

fn scenario(text: &str, seconds: u64, seed: Option<u64>) -> Scenario {
    let mut scenario = Scenario::parse(text, seed).unwrap();
    scenario.duration = Duration::from_secs(seconds);
    scenario
}

fn direct(scenario: &Scenario) -> Outcome {
    run(scenario, &mut Direct::new(scenario.nodes.len()))
}

fn breaches(scenario: &Scenario, outcome: &Outcome) -> BTreeSet<Breach> {
    let found = check(&outcome.history, &outcome.chain, &Promises::of(scenario));
    found
        .into_iter()
        .map(|violation| violation.breach)
        .collect()
}

// B-3
#[test]
fn the_same_scenario_and_seed_give_the_same_history() {
    let hash = |seed| direct(&scenario(REORG, 12, seed)).history.sha256();
    assert_eq!(hash(None), hash(None));
    assert_ne!(hash(None), hash(Some(12)));
    let fallback = || {
        let scenario = scenario(ROUGH, 6, None);
        let patience = Duration::from_secs(1);
        run(
            &scenario,
            &mut Fallback::new(scenario.nodes.len(), patience),
        )
    };
    assert_eq!(fallback().history.sha256(), fallback().history.sha256());
}

// B-4
#[test]
fn one_good_node_breaks_no_promise() {
    let good = r#"
        name = "good"
        duration = "15s"
        chain.reorgs = [{ at = "8s", depth = 2 }]
        nodes = [{ name = "good" }]
    "#;
    let scenario = Scenario::parse(good, None).unwrap();
    let outcome = direct(&scenario);
    assert_eq!(outcome.calls, 4 * 75);
    assert_eq!(outcome.upstream, outcome.calls);
    assert_eq!(breaches(&scenario, &outcome), BTreeSet::new());
    assert_eq!(outcome.answered, outcome.calls);
}

// B-4
#[test]
fn a_plain_list_of_bad_nodes_breaks_promises_that_the_checker_sees() {
    let scenario = scenario(
        r#"
        name = "bad"
        duration = "10s"
        load = { clients = 6, every = "50ms" }
        [[nodes]]
        name = "jumps"
        faults = [{ kind = "backwards", blocks = 4, share = 0.3 }]
        [[nodes]]
        name = "forgets"
        faults = [{ kind = "short-logs", lost_share = 0.3 }, { kind = "wrong-id", share = 0.1 }]
        [[nodes]]
        name = "strays"
        budget = { rps = 1, burst = 5 }
        faults = [{ kind = "strayed", from = "2s", depth = 3 }, { kind = "null", methods = ["eth_getTransactionReceipt"], share = 0.3 }]
        "#,
        10,
        None,
    );
    let found = breaches(&scenario, &direct(&scenario));
    let expected = [
        Breach::WentBack,
        Breach::TooStale,
        Breach::LogsMissing,
        Breach::WrongId,
        Breach::Orphaned,
        Breach::ReceiptVanished,
        Breach::OverBudget,
    ];
    assert_eq!(found, expected.into());
}

// B-3
#[test]
fn a_hung_node_costs_the_clients_patience_and_a_fallback_hides_it() {
    let text = r#"
        name = "hung"
        duration = "5s"
        load = { clients = 2, every = "500ms", timeout = "2s", asks = ["block-number"] }
        [[nodes]]
        name = "hung"
        faults = [{ kind = "hang" }]
        [[nodes]]
        name = "good"
    "#;
    let scenario = scenario(text, 5, None);
    let alone = direct(&scenario);
    assert_eq!((alone.calls, alone.answered), (20, 10));
    let gave_up = alone.history.events().iter().filter(|event| {
        matches!(event, Event::Answered { got: Got::Nothing(why), .. } if why == "no answer in time")
    });
    assert_eq!(gave_up.count(), 10);
    let mut list = Fallback::new(2, Duration::from_millis(300));
    let hidden = run(&scenario, &mut list);
    assert_eq!(
        (hidden.calls, hidden.answered, hidden.upstream),
        (20, 20, 40)
    );
}

#[test]
fn reads_replies_leniently() {
    let read = |body: &str| read_reply(body.as_bytes());
    let result = (Some("7".into()), Got::Result("null".into()));
    assert_eq!(read(r#"{"id":7,"result":null,"error":null}"#), result);
    let error = (None, Got::Error("{}".into()));
    assert_eq!(read(r#"{"result":1,"error":{}}"#), error);
    assert!(matches!(read("{}").1, Got::Nothing(_)));
    assert!(matches!(read("<html>").1, Got::Nothing(_)));
}
