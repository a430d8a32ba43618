//! `highwater explain` against a running gateway.

#![expect(clippy::unwrap_used, reason = "what a test prepares must work")]

use highwater_gateway::{
    Gateway, Running,
    config::{Format, Overrides, Settings},
};
use highwater_lab::sockets::ScriptedNode;
use std::process::{Command, Output};

const CANARY: &str = "s3cret-canary";

/// A gateway before one node whose URL holds the canary.
async fn gateway(node: &ScriptedNode, more: &str) -> Running {
    let url = format!("{}/{CANARY}", node.url().trim_end_matches('/'));
    let text = format!(
        "[server]\nlisten = '127.0.0.1:0'\n[admin]\nlisten = '127.0.0.1:0'\n{more}\n\
         [[chains.ethereum.endpoints]]\nlabel = 'own-node'\nurl = '{url}'\n"
    );
    let none = |_: &str| None;
    let settings = Settings::parse("f.toml", &text, Format::Toml, &none, &Overrides::default());
    Gateway::start(settings.unwrap()).await.unwrap()
}

async fn explain(arguments: &[&str], token: Option<&str>) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_highwater"));
    command.env_clear().arg("explain").args(arguments);
    if let Some(token) = token {
        command.env("HIGHWATER_ADMIN_TOKEN", token);
    }
    let run = tokio::task::spawn_blocking(move || command.output().unwrap());
    let Output {
        status,
        stdout,
        stderr,
    } = run.await.unwrap();
    let (stdout, stderr) = (
        String::from_utf8(stdout).unwrap(),
        String::from_utf8(stderr).unwrap(),
    );
    assert!(
        !stdout.contains(CANARY) && !stderr.contains(CANARY),
        "{stdout}{stderr}"
    );
    (status.code().unwrap(), stdout, stderr)
}

// Interface: `highwater explain`.
#[tokio::test(flavor = "multi_thread")]
async fn prints_every_endpoint_with_its_score_for_people_and_as_json() {
    let node = ScriptedNode::start().await;
    let gateway = gateway(&node, "").await;
    let admin = gateway.admin_addr.unwrap().to_string();
    let (code, stdout, stderr) = explain(&["--admin", &admin, "ethereum", "eth_call"], None).await;
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert!(
        stdout.starts_with("chain ethereum (id 1), reference head "),
        "{stdout}"
    );
    assert!(
        stdout.contains("a call of eth_call now, by strategy adaptive\n"),
        "{stdout}"
    );
    assert!(stdout.contains("\n  own-node     0    200 "), "{stdout}");
    let url = format!("http://{admin}");
    let arguments = ["--admin", &url, "--json", "1", "eth_call", "--params", "[]"];
    let (code, stdout, _) = explain(&arguments, None).await;
    assert_eq!(code, 0);
    let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(json["now"]["endpoints"][0]["label"], "own-node");
    assert_eq!(json["now"]["endpoints"][0]["score"], 200.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_comes_from_the_environment_or_a_flag() {
    let node = ScriptedNode::start().await;
    let gateway = gateway(&node, "token = 'let-me-in'").await;
    let admin = gateway.admin_addr.unwrap().to_string();
    let (code, _, stderr) = explain(&["--admin", &admin], None).await;
    assert_eq!(code, 2);
    assert!(
        stderr.contains("give --token, or set HIGHWATER_ADMIN_TOKEN"),
        "{stderr}"
    );
    assert_eq!(explain(&["--admin", &admin], Some("wrong")).await.0, 2);
    assert_eq!(explain(&["--admin", &admin], Some("let-me-in")).await.0, 0);
    let flag = ["--admin", &admin, "--token", "let-me-in"];
    assert_eq!(explain(&flag, Some("wrong")).await.0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_answered_is_told_with_what_to_do() {
    let node = ScriptedNode::start().await;
    let gateway = gateway(&node, "").await;
    let admin = gateway.admin_addr.unwrap().to_string();
    let rpc = gateway.addr.to_string();
    for (arguments, code, text) in [
        (&["--admin", &admin, "nope"][..], 2, "no such chain"),
        (
            &["--admin", &admin, "ethereum", "eth_call", "--params", "x"],
            2,
            "params must be a JSON array",
        ),
        (
            &["--admin", &rpc],
            69,
            "is this the admin listener of a gateway?",
        ),
        (&["--admin", "127.0.0.1:1"], 69, "is the gateway running?"),
        (
            &["--admin", "https://a/s3cret-canary"],
            2,
            "--admin: the admin listener does not speak TLS",
        ),
    ] {
        let (ended, stdout, stderr) = explain(arguments, None).await;
        assert_eq!(
            (ended, stdout.as_str()),
            (code, ""),
            "{arguments:?}: {stderr}"
        );
        assert!(
            stderr.starts_with("error: ") && stderr.contains(text),
            "{stderr}"
        );
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
}
