//! The same request to a node and through the gateway: the answers are the same bytes.
//!
//! Compared is everything behind the id. Answers that the gateway gives by itself are listed in
//! [`LOCAL`] with what they are, and those of the node that it does not believe in [`UNBELIEVED`].
//! Which methods the node serves is asked of the node, so a read without a case fails the run.

mod cases;
mod fixture;

use cases::{Case, cases};
use fixture::Fixture;
use highwater_compat::{CHAIN_ID, Gateway};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Answered by the gateway itself and different from the node's own answer: one node's accounts or
/// version are nobody's business behind a pool. The others it answers by itself (chain id, network
/// id, listening, syncing, block number) are equal and therefore among the cases.
const LOCAL: [&str; 2] = ["eth_accounts", "web3_clientVersion"];

/// An empty list about a block that the node has not reached. Whoever reads traces block by block would
/// take it for a block without any and never come back, so it is told what other nodes say there.
const UNBELIEVED: [(&str, &str, &str); 1] = [("trace_block", "[\"0x63\"]", "\"result\":[]")];

/// What is said in place of it.
const NOT_THERE: &str = "\"error\":{\"code\":-32000,\"message\":\"header not found\"}";

/// A chain whose blocks are final at once.
const INSTANT: u64 = 43_114;

/// Reads whose block may be left out: pinned, they name one, and this node refuses those without.
const FILLED: [&str; 4] = [
    "eth_getBalance",
    "eth_getCode",
    "eth_getTransactionCount",
    "eth_getStorageAt",
];

/// Turns on the namespaces that are off until somebody does.
const ON: &str = r#"methods = { allow = ["debug_*", "trace_*", "txpool_*"] }"#;

/// Ids in every shape that JSON allows.
const IDS: [&str; 12] = [
    "1",
    "0",
    "-1",
    "\"1\"",
    "null",
    "1e3",
    "1.50",
    "18446744073709551616",
    "\"\"",
    "\"\\u00e9\\n\"",
    "\"é\"",
    "\"01234567-89ab-cdef-0123-456789abcdef\"",
];

/// The product's own method table.
const METHODS: &str = include_str!("../../../crates/core/data/methods.csv");

fn request(id: &str, case: &Case) -> String {
    let Case { method, params } = case;
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}")
}

/// What stands behind the id, up to the closing brace.
fn behind_id<'a>(answer: &'a str, id: &str) -> &'a str {
    let head = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},");
    answer
        .strip_prefix(&head)
        .and_then(|rest| rest.strip_suffix('}'))
        .unwrap_or_else(|| panic!("not an answer to id {id}: {answer}"))
}

/// The node's answers, except where it is not believed; both nodes give the same, twice, or the
/// comparison would prove nothing.
fn expected(fixture: &Fixture, cases: &[Case]) -> Vec<String> {
    let mut unbelieved = UNBELIEVED.to_vec();
    let ask = |node: usize, case: &Case| {
        let answer = fixture.chain.node(node).post(&request("1", case));
        behind_id(&answer, "1").to_owned()
    };
    // This node wants a block where others take the newest; pinned, the request names one (scenario P22).
    let fills = |case: &Case| {
        let place = if case.method == "eth_getStorageAt" {
            2
        } else {
            1
        };
        let short = format!("invalid length {place}, expected tuple variant");
        let refused = FILLED.contains(&case.method) && ask(0, case).contains(&short);
        let named = case.params.strip_suffix(']');
        let named = named.map(|params| format!("{params},\"latest\"]"));
        named.filter(|_| refused).map(|params| Case {
            params,
            method: case.method,
        })
    };
    let expected = cases
        .iter()
        .map(|case| {
            let filled = fills(case);
            let case = filled.as_ref().unwrap_or(case);
            let answer = ask(0, case);
            for node in [0, 1] {
                assert_eq!(
                    ask(node, case),
                    answer,
                    "not repeatable: {} {}",
                    case.method,
                    case.params
                );
            }
            let said = |&(method, params, said): &(&str, &str, &str)| {
                method == case.method && params == case.params && said == answer
            };
            match unbelieved.iter().position(said) {
                Some(place) => {
                    unbelieved.remove(place);
                    NOT_THERE.to_owned()
                }
                None => answer,
            }
        })
        .collect();
    assert!(
        unbelieved.is_empty(),
        "no answer of the node: {unbelieved:?}"
    );
    expected
}

/// Names of the rows of the method table that only read.
fn reads() -> Vec<&'static str> {
    let mut lines = METHODS.lines();
    let columns: Vec<&str> = lines.next().expect("a heading").split(',').collect();
    let at = |name: &str| {
        columns
            .iter()
            .position(|column| *column == name)
            .expect("a column")
    };
    let (changing, lane) = (at("state_changing"), at("lane"));
    // Only the last column, the notes, may hold quoted commas.
    lines
        .map(|line| line.splitn(columns.len(), ',').collect::<Vec<_>>())
        .filter(|row| row[changing] == "no" && row[lane] != "denied" && !row[0].contains('*'))
        .map(|row| row[0])
        .collect()
}

// G-1, G-2, R-37
#[test]
fn every_read_answers_the_same_bytes_as_the_node() {
    let fixture = Fixture::build();
    let cases = cases(&fixture);
    let expected = expected(&fixture, &cases);

    let covered: BTreeSet<&str> = cases.iter().map(|case| case.method).chain(LOCAL).collect();
    let served: BTreeSet<&str> = reads()
        .into_iter()
        .filter(|method| {
            let probe = Case {
                method,
                params: "[]".to_owned(),
            };
            let answer = fixture.chain.node(0).post(&request("1", &probe));
            !answer.contains("Method not found")
        })
        .collect();
    let missing: Vec<_> = served.difference(&covered).collect();
    assert!(
        missing.is_empty(),
        "the node serves reads without a case: {missing:?}"
    );
    assert!(served.len() >= 60, "the node serves only {served:?}");

    let gateway = Gateway::configured(&fixture.chain.urls(), ON, "");
    let mut client = gateway.client();
    let mut differences = Vec::new();
    for (index, (case, expected)) in cases.iter().zip(&expected).enumerate() {
        let id = IDS[index % IDS.len()];
        let answer = client.post(&request(id, case)).unwrap();
        assert_eq!(answer.status, 200, "{} {}", case.method, case.params);
        let answer = answer.text();
        if behind_id(&answer, id) != expected {
            differences.push(format!(
                "{} {}\n node {expected}\n ours {answer}",
                case.method, case.params
            ));
        }
    }
    assert!(
        differences.is_empty(),
        "{} differ:\n{}",
        differences.len(),
        differences.join("\n")
    );
    println!(
        "{} calls of {} methods are equal",
        cases.len(),
        covered.len()
    );
}

// P-16, P-12, P-13: what is served from memory is what the node says, byte for byte.
#[test]
fn an_answer_from_memory_is_the_same_bytes_as_the_nodes() {
    // On a development chain only reads at the newest block are kept; on one whose blocks are final at
    // once nearly all are.
    let mut hits = Vec::new();
    for id in [CHAIN_ID, INSTANT] {
        let fixture = Fixture::of_chain(id);
        let cases = cases(&fixture);
        let expected = expected(&fixture, &cases);
        let server = format!("response_headers = true\n{ON}");
        let chain = "cache = { max_age = \"1h\" }\npin = { fresh = \"1h\" }";
        let gateway = Gateway::of_chain(id, &fixture.chain.urls(), &server, chain);
        let mut client = gateway.client();
        let mut differences = Vec::new();
        let mut served = BTreeMap::<&str, usize>::new();
        for (index, (case, expected)) in cases.iter().zip(&expected).enumerate() {
            for time in 0..3 {
                if time > 0 && expected.contains("Not implemented") {
                    // A node that has not got a method is not asked for it again.
                    continue;
                }
                let id = IDS[(index + time) % IDS.len()];
                let answer = client.post(&request(id, case)).unwrap();
                if answer.cache.as_deref() == Some("hit") {
                    *served.entry(case.method).or_default() += 1;
                }
                let answer = answer.text();
                if behind_id(&answer, id) != expected {
                    differences.push(format!(
                        "{} {} time {time}\n node {expected}\n ours {answer}",
                        case.method, case.params
                    ));
                }
            }
        }
        assert!(differences.is_empty(), "{}", differences.join("\n"));
        let total: usize = served.values().sum();
        println!(
            "chain {id}: {total} of {} calls from memory, of {} methods",
            cases.len() * 3,
            served.len()
        );
        hits.push((total, served.len()));
    }
    assert!(hits[0].0 >= 20 && hits[0].1 >= 5, "{hits:?}");
    assert!(hits[1].0 >= 100 && hits[1].1 >= 20, "{hits:?}");
}

// G-1
#[test]
fn every_id_comes_back_as_it_was_written() {
    let fixture = Fixture::build();
    let gateway = Gateway::configured(&fixture.chain.urls(), "", "");
    let mut client = gateway.client();
    for method in [
        "eth_getBalance",
        "eth_chainId",
        "eth_nonsense",
        "debug_traceTransaction",
    ] {
        let params = if method == "eth_getBalance" {
            "[5,\"latest\"]"
        } else {
            "[]"
        };
        let case = Case {
            method,
            params: params.to_owned(),
        };
        let bodies: BTreeSet<String> = IDS
            .iter()
            .map(|id| {
                let answer = client.post(&request(id, &case)).unwrap().text();
                behind_id(&answer, id).to_owned()
            })
            .collect();
        assert_eq!(
            bodies.len(),
            1,
            "{method}: the id changed the answer: {bodies:?}"
        );
    }
}

// G-1, G-2
#[test]
fn a_batch_answers_each_member_as_the_node_does_and_in_order() {
    let fixture = Fixture::build();
    let cases = cases(&fixture);
    let expected = expected(&fixture, &cases);
    let gateway = Gateway::configured(&fixture.chain.urls(), ON, "");
    let mut client = gateway.client();
    let indexed: Vec<_> = cases.iter().zip(&expected).enumerate().collect();
    for chunk in indexed.chunks(40) {
        let members: Vec<String> = chunk
            .iter()
            .map(|(index, (case, _))| request(&index.to_string(), case))
            .collect();
        let answer = client.post(&format!("[{}]", members.join(","))).unwrap();
        let wanted: Vec<String> = chunk
            .iter()
            .map(|(index, (_, expected))| {
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{index},{expected}}}")
            })
            .collect();
        assert_eq!(answer.status, 200);
        assert_eq!(answer.text(), format!("[{}]", wanted.join(",")));
    }
}

// G-1
#[test]
fn local_answers_are_the_gateways_own() {
    let fixture = Fixture::build();
    let gateway = Gateway::configured(&fixture.chain.urls(), "", "");
    let mut client = gateway.client();
    let mut result = |method: &'static str| {
        let case = Case {
            method,
            params: "[]".to_owned(),
        };
        let answer: Value =
            serde_json::from_str(&client.post(&request("1", &case)).unwrap().text()).unwrap();
        answer["result"].clone()
    };
    let answers: BTreeMap<_, _> = LOCAL
        .iter()
        .map(|method| (*method, result(method)))
        .collect();
    assert_eq!(answers["eth_accounts"], serde_json::json!([]));
    let version = answers["web3_clientVersion"].as_str().unwrap();
    assert!(
        version.to_lowercase().starts_with("highwater/"),
        "{version}"
    );
    assert_eq!(
        result("eth_chainId"),
        serde_json::json!(format!("{CHAIN_ID:#x}"))
    );
}

// G-6
#[test]
fn what_is_off_or_denied_reaches_no_node() {
    let fixture = Fixture::build();
    let gateway = Gateway::configured(&fixture.chain.urls(), "", "");
    let mut client = gateway.client();
    let before = fixture.chain.ask("anvil_nodeInfo", &serde_json::json!([]));
    for (method, params) in [
        ("evm_mine", "[]"),
        ("EVM_MINE", "[]"),
        (
            "anvil_setBalance",
            "[\"0x70997970c51812dc3a010c7d01b50e0d17dc79c8\",\"0x1\"]",
        ),
        ("hardhat_reset", "[]"),
        ("eth_sendTransaction", "[{}]"),
        (
            "eth_sign",
            "[\"0x70997970c51812dc3a010c7d01b50e0d17dc79c8\",\"0x00\"]",
        ),
        ("debug_traceTransaction", "[\"0x00\",{}]"),
        ("trace_block", "[\"0x1\"]"),
        ("txpool_content", "[]"),
        ("DEBUG_traceTransaction", "[\"0x00\",{}]"),
        ("nonsense_method", "[]"),
    ] {
        let case = Case {
            method,
            params: params.to_owned(),
        };
        let answer = client.post(&request("1", &case)).unwrap();
        let value: Value = serde_json::from_str(&answer.text()).unwrap();
        assert_eq!(
            (answer.status, &value["error"]["code"]),
            (200, &(-32_601).into()),
            "{method}"
        );
    }
    assert_eq!(
        fixture.chain.ask("anvil_nodeInfo", &serde_json::json!([])),
        before
    );
}
