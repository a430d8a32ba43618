//! What is kept in `[state] dir` across restarts.

use crate::site::{Client, balance, settings};
use highwater::{Scores, Totals};
use highwater_gateway::{Gateway, ServeError, Settings};
use highwater_lab::sockets::ScriptedNode;
use serde_json::Value;
use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
};

/// A folder that is not there yet.
fn fresh(name: &str) -> PathBuf {
    let folder = format!("highwater-state-{}-{name}", std::process::id());
    let folder = std::env::temp_dir().join(folder);
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn kept_in(folder: &Path, node: &ScriptedNode) -> Settings {
    let mut settings = settings(&[("ethereum", Some(1), &[node.url()])]);
    settings.admin.listen = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    settings.state.dir = Some(folder.to_path_buf());
    settings
}

/// Compute units that the endpoint's own budget has spent this month.
fn month(totals: &str) -> u64 {
    let totals: Value = serde_json::from_str(totals).unwrap();
    let spent = totals["endpoints"]["node-0"].as_array().unwrap();
    let month = spent.iter().find(|spent| spent["every"] == "month");
    month.unwrap()["units"].as_u64().unwrap()
}

/// The only endpoint as the admin listener shows it.
async fn endpoint(admin: SocketAddr) -> Value {
    let shown = Client::connect(admin).await.get("/api/endpoints").await;
    shown.json()["chains"][0]["endpoints"][0].clone()
}

// P-25, P-27, R-28
#[tokio::test]
async fn what_was_learned_and_spent_is_there_after_a_restart() {
    let folder = fresh("restart").join("deep");
    let node = ScriptedNode::start().await;
    let first = Gateway::start(kept_in(&folder, &node)).await.unwrap();
    let before = endpoint(first.admin_addr.unwrap()).await;
    assert_eq!(before["latency_ms"], Value::Null);
    let body = balance(1);
    for _ in 0..3 {
        let answer = Client::connect(first.addr)
            .await
            .post("/", &[], body.as_bytes())
            .await;
        assert_eq!(answer.status, 200);
    }
    let known = endpoint(first.admin_addr.unwrap()).await;
    first.shutdown().await;

    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let scores = read("scores-ethereum.json");
    assert!(Scores::from_json(&scores).is_ok(), "{scores}");
    assert!(scores.contains(r#""node-0":{"*":"#), "{scores}");
    assert!(scores.contains("eth_getBalance"), "{scores}");
    // R-2: no URL, no port.
    let port = node.addr().port().to_string();
    let totals = read("totals-ethereum.json");
    for text in [&scores, &totals] {
        assert!(
            !text.contains("http") && !text.contains("127.0.0.1"),
            "{text}"
        );
        assert!(!text.contains(&format!(":{port}")), "{text}");
    }
    assert!(Totals::from_json(&totals).is_ok(), "{totals}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);

    let second = Gateway::start(kept_in(&folder, &node)).await.unwrap();
    let after = endpoint(second.admin_addr.unwrap()).await;
    let ms = |shown: &Value| shown["latency_ms"].as_f64().unwrap();
    assert!((ms(&known) - ms(&after)).abs() < 0.001, "{known} {after}");
    let answer = Client::connect(second.addr)
        .await
        .post("/", &[], balance(2).as_bytes())
        .await;
    assert_eq!(answer.status, 200);
    second.shutdown().await;
    // The second one spent more, and did not begin at nothing.
    let spent = [&totals, &read("totals-ethereum.json")].map(|text| month(text));
    assert!(spent[0] > 0 && spent[1] > spent[0], "{spent:?}");
    fs::remove_dir_all(folder.parent().unwrap()).unwrap();
}

// P-26: whatever lies there
#[tokio::test]
async fn files_that_cannot_be_believed_hold_up_no_start_and_are_replaced() {
    let node = ScriptedNode::start().await;
    let huge = "[".repeat(1 << 20);
    for odd in ["", "NaN", "{\"version\":7}", "\u{0}", &huge] {
        let folder = fresh("odd");
        fs::create_dir_all(&folder).unwrap();
        for name in ["scores-ethereum.json", "totals-ethereum.json"] {
            fs::write(folder.join(name), odd).unwrap();
        }
        let gateway = Gateway::start(kept_in(&folder, &node)).await.unwrap();
        let body = balance(1);
        let answer = Client::connect(gateway.addr)
            .await
            .post("/", &[], body.as_bytes())
            .await;
        assert_eq!(answer.status, 200);
        gateway.shutdown().await;
        let scores = fs::read_to_string(folder.join("scores-ethereum.json")).unwrap();
        assert!(Scores::from_json(&scores).is_ok(), "{odd:.9}");
        let totals = fs::read_to_string(folder.join("totals-ethereum.json")).unwrap();
        assert!(Totals::from_json(&totals).is_ok(), "{odd:.9}");
        fs::remove_dir_all(&folder).unwrap();
    }
}

// hardening H3
#[tokio::test]
async fn a_folder_that_cannot_be_written_is_refused_with_what_to_do() {
    let node = ScriptedNode::start().await;
    let folder = fresh("file");
    fs::write(&folder, "a file").unwrap();
    let error = Gateway::start(kept_in(&folder, &node)).await.unwrap_err();
    assert!(matches!(error, ServeError::Configuration(_)), "{error}");
    assert_eq!(error.exit_code(), 64);
    let text = error.to_string();
    assert!(text.starts_with("[state] dir: cannot write to "), "{text}");
    assert!(text.contains("choose another"), "{text}");
    fs::remove_file(&folder).unwrap();
}
