//! X12 and X15 to X17: what a code means depends on what was asked.

use std::time::Duration;

use highwater_core::breaker::Stand;
use serde_json::json;

use crate::stage::{Does, Script, Stage};

const WHO: &str = "0x0303030303030303030303030303030303030303";

fn value() -> Script {
    let value = || Does::Says(json!("0x2a"));
    Script::at(100)
        .lat(60)
        .on("eth_call", value())
        .on("eth_getLogs", Does::Says(json!([])))
}

// X12, R-21
#[test]
fn x12_a_rate_limit_inside_a_200_is_heard_with_its_wait() {
    let limited = Does::Waits(-32005, "rate limit exceeded", "7");
    let busy = Script::at(100).lat(1).on("eth_call", limited);
    let mut stage = Stage::new("race = 0", vec![busy, value()]);
    let mut asked = 0;
    for n in 0..20 {
        let call = stage.ask(n * 100, "eth_call", json!([{"to": WHO}, "latest"]));
        stage.run(n * 100 + 90);
        assert_eq!(stage.result(call), "0x2a");
        asked = stage.sent(0);
    }
    assert_eq!(asked, 1, "one request, then its word is kept");
    let circuit = stage.view(0).circuit.endpoint;
    assert!(matches!(circuit.stand, Stand::Open { .. }), "{circuit:?}");
    assert!(circuit.left > Duration::from_secs(4) && circuit.left <= Duration::from_secs(7));
}

// X15, R-24
#[test]
fn x15_an_unknown_method_that_is_not_about_the_method_turns_nothing_off() {
    for message in ["Invalid request", "Parse error"] {
        let odd = Script::at(100)
            .lat(1)
            .on("eth_call", Does::Fails(-32601, message));
        let mut stage = Stage::new("race = 0", vec![odd, value()]);
        for n in 0..6 {
            let call = stage.ask(n * 200, "eth_call", json!([{"to": WHO}, "latest"]));
            stage.run(n * 200 + 190);
            assert_eq!(stage.result(call), "0x2a", "{message}");
        }
        assert_eq!(stage.view(0).circuit.methods, [], "{message}");
    }
}

// X16, R-37
#[test]
fn x16_one_code_has_three_meanings() {
    let odd = Script::at(100).lat(1).when(|asked| {
        if asked.method == "eth_getLogs" {
            let second = asked.params[0]["toBlock"] == "0x32";
            return Some(if second {
                Does::Fails(-32002, "request timed out")
            } else {
                Does::Fails(-32003, "response too large")
            });
        }
        let funds = "Insufficient funds for gas * price + value";
        (asked.method == "eth_call").then_some(Does::Fails(-32003, funds))
    });
    let mut stage = Stage::new("race = 0", vec![odd, value()]);
    let range = |to: &str| json!([{"fromBlock": "0x1", "toBlock": to}]);
    // Until it was the first to be asked.
    let until_asked =
        |stage: &mut Stage, at: u64, method: &'static str, params: serde_json::Value| {
            let before = stage.sent_of(0, method);
            for n in 0..20 {
                let call = stage.ask(at + n * 100, method, params.clone());
                stage.run(at + n * 100 + 90);
                if stage.sent_of(0, method) > before {
                    return call;
                }
            }
            panic!("never asked");
        };
    let wide = until_asked(&mut stage, 0, "eth_getLogs", range("0x31"));
    assert_eq!(stage.result(wide), json!([]));
    assert_eq!(stage.strikes(0), 0, "a range is no strike");
    let poor = until_asked(
        &mut stage,
        3_000,
        "eth_call",
        json!([{"to": WHO}, "latest"]),
    );
    assert_eq!(stage.error(poor)["code"], -32003);
    assert_eq!(stage.strikes(0), 0, "an answer is no strike");
    // A range of one block: what was refused before does not keep it away.
    let narrow = json!([{"fromBlock": "0x32", "toBlock": "0x32"}]);
    let late = until_asked(&mut stage, 6_000, "eth_getLogs", narrow);
    assert_eq!(stage.result(late), json!([]));
    assert_eq!(stage.strikes(0), 1, "a fault is");
}

// X17, R-37
#[test]
fn x17_a_member_named_error_inside_a_result_is_passed_through() {
    let list = json!({"accessList": [], "error": "execution reverted", "gasUsed": "0x639d"});
    let one = Script::at(100).on("eth_createAccessList", Does::Says(list.clone()));
    let two = Script::at(100).on("eth_createAccessList", Does::Says(list.clone()));
    let mut stage = Stage::new("race = 0", vec![one, two]);
    let call = stage.ask(0, "eth_createAccessList", json!([{"to": WHO}]));
    stage.run(1_000);
    assert_eq!(stage.result(call), list);
    assert_eq!(stage.sent(0) + stage.sent(1), 1);
    assert_eq!(stage.strikes(0) + stage.strikes(1), 0);
}
