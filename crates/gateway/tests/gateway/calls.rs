//! Single calls: what is forwarded, what is not, and what comes back.

use crate::site::{Site, balance};
use highwater_core::settings::RetryCount;
use highwater_lab::sockets::{Answer, Gate};

fn call(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

#[tokio::test]
async fn the_result_is_the_nodes_own_bytes() {
    let site = Site::new().await;
    for result in [
        "null",
        "true",
        r#""0x1""#,
        "1.0e+05",
        r#"{"b":1,"a":  [ 1 , 2 ],"b":2}"#,
        r#""\u00e9\/""#,
        "123456789012345678901234567890",
        "[]",
        r#"{"error":{"code":1}}"#,
    ] {
        site.node.on("eth_getBalance").once(Answer::result(result));
        let response = site.post(&balance(1)).await;
        assert_eq!(
            response.text(),
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)
        );
    }
}

#[tokio::test]
async fn the_nodes_error_is_passed_on_untouched_with_200() {
    // Without another round: one of these is no word of the chain to a read.
    let site = Site::with(|s| s.chains[0].engine.retry.count = RetryCount::Times(0)).await;
    for error in [
        r#"{"code":3,"message":"execution reverted: no","data":"0x08c379a0"}"#,
        r#"{"message":"nonce too low","code":-32000}"#,
        r#"{"code":-32000,"message":"x","data":{"originalError":{"code":3,"data":"0x"}},"extra":1}"#,
    ] {
        site.node
            .on("eth_getBalance")
            .once(Answer::error_json(error));
        let response = site.post(&balance(7)).await;
        assert_eq!(response.status, 200);
        assert_eq!(
            response.text(),
            format!(r#"{{"jsonrpc":"2.0","id":7,"error":{error}}}"#)
        );
    }
}

#[tokio::test]
async fn params_are_forwarded_byte_for_byte() {
    let site = Site::new().await;
    site.node.on("eth_call").always(Answer::result("\"0x\""));
    for params in [
        r#"[ {"to":"0xAA", "data":"0x"} , "latest" ]"#,
        r#"["\u0061", 1e5, -0, null]"#,
        r#"[{"a":1,"a":2}]"#,
    ] {
        site.call(&call("eth_call", params)).await;
        let seen = site.node.record().calls_of("eth_call").pop().unwrap();
        assert_eq!(seen.params.as_deref(), Some(params));
    }
}

// hardening B7
#[tokio::test]
async fn an_escaped_method_is_decoded_once_and_forwarded_in_its_plain_spelling() {
    let mut site = Site::new().await;
    site.call(&call(r"eth_g\u0065tBalance", "[]")).await;
    assert_eq!(site.heard(), 1);
    let seen = site.node.record().calls().pop().unwrap();
    assert_eq!(seen.method, "eth_getBalance");
    assert!(seen.raw.contains(r#""eth_getBalance""#));
}

// hardening B7, C6
#[tokio::test]
async fn other_spellings_of_a_known_method_and_odd_names_are_unknown() {
    let mut site =
        Site::with(|s| s.server.methods.allow = vec!["*".into(), "vendor_*".into()]).await;
    for method in [
        "ETH_CALL",
        "Eth_getBalance",
        "eth_getbalance",
        "DEBUG_x",
        "ADMIN_peers",
        "eth_call ",
        " eth_call",
        r"eth_call\u0000",
        r"eth_call\n",
        r"vendor_\u001b[31m",
        r"vendor_\u00e9",
        r"vendor_\ud83d\ude00",
    ] {
        let response = site.post(&call(method, "[]")).await;
        assert_eq!(response.row(), (200, -32601), "{method}");
        site.heard_nothing();
    }
    // What the rules allow by name is forwarded as it is written.
    site.call(&call("vendor_Thing", r#"{"by":"name"}"#)).await;
    assert_eq!(
        site.node.record().calls().pop().unwrap().method,
        "vendor_Thing"
    );
}

#[tokio::test]
async fn the_text_of_an_unknown_method_is_the_one_clients_look_for() {
    let mut site = Site::new().await;
    let answer = site.call(&call("eth_fillTransaction_", "[]")).await;
    assert_eq!(
        answer["error"]["message"],
        "the method eth_fillTransaction_ does not exist/is not available"
    );
    assert!(answer["error"].get("data").is_none());
    site.heard_nothing();
}

// G-6, hardening C6, C7, scenario W11
#[tokio::test]
async fn methods_that_are_off_stay_off_whatever_pattern_allows_the_rest() {
    let mut site = Site::with(|s| s.server.methods.allow = vec!["*".into(), "eth_*".into()]).await;
    for method in [
        "admin_peers",
        "admin_addPeer",
        "personal_sign",
        "personal_unlockAccount",
        "miner_start",
        "engine_newPayloadV3",
        "debug_traceTransaction",
        "debug_setHead",
        "trace_block",
        "txpool_content",
        "anvil_setBalance",
        "hardhat_reset",
        "evm_mine",
        "clique_propose",
        "les_serverInfo",
        "eth_sign",
        "eth_signTransaction",
        "eth_sendTransaction",
        "eth_signTypedData_v4",
        "wallet_addEthereumChain",
        "wallet_sendCalls",
        "arbtrace_call",
    ] {
        assert_eq!(
            site.post(&call(method, "[]")).await.row(),
            (200, -32601),
            "{method}"
        );
        site.heard_nothing();
    }
}

#[tokio::test]
async fn the_server_may_allow_by_name_or_namespace_and_deny_wins() {
    let mut site = Site::with(|s| {
        s.server.methods.allow = vec![
            "debug_*".into(),
            "TRACE_block".into(),
            "eth_sign".into(),
            "vendor_*".into(),
        ];
        s.server.methods.deny = vec!["debug_traceBlock*".into(), "eth_GASPRICE".into()];
    })
    .await;
    site.node.on_any().always(Answer::result("1"));
    for method in [
        "debug_traceTransaction",
        "trace_block",
        "eth_sign",
        "vendor_x",
        "eth_call",
    ] {
        assert_eq!(
            site.call(&call(method, "[]")).await["result"],
            1,
            "{method}"
        );
        assert_eq!(site.heard(), 1, "{method}");
    }
    for method in [
        "debug_traceBlockByNumber",
        "debug_setHead",
        "trace_filter",
        "eth_gasPrice",
        "eth_signTransaction",
        "other_x",
    ] {
        assert_eq!(
            site.post(&call(method, "[]")).await.row(),
            (200, -32601),
            "{method}"
        );
        site.heard_nothing();
    }
}

// hardening B9
#[tokio::test]
async fn params_of_an_impossible_shape_are_refused_and_every_spelling_of_none_is_forwarded() {
    let mut site = Site::with(|s| s.server.methods.allow = vec!["vendor_*".into()]).await;
    for params in ["1", r#""a""#, "true", r#"{"a":1}"#] {
        let response = site.post(&call("eth_getBalance", params)).await;
        assert_eq!(response.row(), (200, -32602), "{params}");
        assert_eq!(response.json()["error"]["message"], "non-array args");
        site.heard_nothing();
    }
    for params in ["[]", "{}", "{ }", "null"] {
        site.call(&call("eth_getBalance", params)).await;
        let seen = site.node.record().calls().pop().unwrap();
        assert_eq!(seen.params.as_deref(), Some("[]"), "{params}");
    }
    site.call(r#"{"jsonrpc":"2.0","id":1,"method":"eth_getBalance"}"#)
        .await;
    assert_eq!(site.heard(), 5);
    site.call(&call("vendor_x", r#"{"a":1}"#)).await;
    assert_eq!(
        site.node.record().calls().pop().unwrap().params.as_deref(),
        Some(r#"{"a":1}"#)
    );
    assert_eq!(site.post(&call("vendor_x", "1")).await.row(), (200, -32602));
}

#[tokio::test]
async fn subscriptions_are_not_for_http() {
    let mut site = Site::new().await;
    for method in ["eth_subscribe", "eth_unsubscribe"] {
        let response = site.post(&call(method, r#"["newHeads"]"#)).await;
        assert_eq!(response.row(), (200, -32601));
        assert_eq!(
            response.json()["error"]["message"],
            "notifications not supported"
        );
    }
    site.heard_nothing();
}

#[tokio::test]
async fn local_answers_need_no_endpoint_even_with_all_of_them_down() {
    let mut site = Site::new().await;
    site.node.stop().await;
    for (method, result) in [
        ("eth_chainId", r#""0x1""#),
        ("net_version", r#""1""#),
        ("net_listening", "true"),
        ("eth_accounts", "[]"),
        ("rpc_modules", r#"{"eth":"1.0","net":"1.0","web3":"1.0"}"#),
    ] {
        let response = site.post(&call(method, "[]")).await;
        assert_eq!(
            response.text(),
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)
        );
    }
    let version = site.call(&call("web3_clientVersion", "[]")).await;
    let version = version["result"].as_str().unwrap();
    assert!(
        version.starts_with("highwater/") && version.ends_with("/ethereum"),
        "{version}"
    );
    site.heard_nothing();
}

#[tokio::test]
async fn when_no_endpoint_answers_the_error_is_ours_and_says_so() {
    let site = Site::new().await;
    site.node.stop().await;
    let response = site.post(&balance(5)).await;
    assert_eq!(response.row(), (200, -32011));
    let answer = response.json();
    assert_eq!(answer["id"], 5);
    assert_eq!(answer["error"]["data"]["source"], "gateway");
    assert_eq!(answer["error"]["data"]["reason"], "all_failed");
    let shown = response.text();
    assert!(
        !shown.contains(&site.node.addr().port().to_string()),
        "no address is shown: {shown}"
    );
}

#[tokio::test]
async fn the_callers_deadline_is_kept() {
    let site = Site::new().await;
    let gate = Gate::new();
    site.node.on("eth_getBalance").always(Answer::hang(&gate));
    for wanted in ["40ms", "40", "0.04s"] {
        let response = site
            .post_with(&[("X-Request-Timeout", wanted)], &balance(5))
            .await;
        assert_eq!(response.row(), (200, -32015), "{wanted}");
        assert_eq!(response.json()["error"]["data"]["reason"], "deadline");
        assert_eq!(response.json()["id"], 5);
    }
}

// hardening B10
#[tokio::test]
async fn a_notification_is_run_and_gets_an_empty_200() {
    let site = Site::new().await;
    let gate = Gate::new();
    site.node
        .on("eth_getBalance")
        .always(Answer::result("1").held_by(&gate));
    let body = r#"{"jsonrpc":"2.0","method":"eth_getBalance","params":["0xaa"]}"#;
    let response = site.post(body).await;
    assert_eq!(
        (response.status, response.body.len()),
        (200, 0),
        "not held up by the node"
    );
    let seen = site.node.record().wait_for_calls("eth_getBalance", 1).await;
    assert_eq!(seen[0].params.as_deref(), Some(r#"["0xaa"]"#));
    gate.open();
}

// hardening B10, C6
#[tokio::test]
async fn a_notification_passes_the_same_policy() {
    let mut site = Site::new().await;
    let refused = r#"{"jsonrpc":"2.0","method":"admin_addPeer","params":[]}"#;
    assert_eq!(site.post(refused).await.body.len(), 0);
    // The next call orders the events: whatever the notification did is done or will never be.
    let allowed = r#"{"jsonrpc":"2.0","method":"eth_gasPrice"}"#;
    site.post(allowed).await;
    site.node.record().wait_for_calls("eth_gasPrice", 1).await;
    assert_eq!(site.node.record().count("admin_addPeer"), 0);
    assert_eq!(site.heard(), 1);
}

// hardening A13
#[tokio::test]
async fn a_client_that_goes_away_takes_its_upstream_read_along() {
    let site = Site::new().await;
    let gate = Gate::new();
    site.node
        .on("eth_getBalance")
        .always(Answer::result("1").held_by(&gate));
    let mut client = site.client().await;
    let request = client.request("POST", "/", &[], balance(1).as_bytes());
    client.send(request).await;
    gate.wait_for_held(1).await;
    drop(client);
    site.node.record().wait_for_abandoned(1).await;
}

// hardening A13, R-36
#[tokio::test]
async fn a_client_that_goes_away_does_not_cut_off_a_transaction() {
    let site = Site::new().await;
    let gate = Gate::new();
    site.node
        .on("eth_sendRawTransaction")
        .always(Answer::result("\"0xaa\"").held_by(&gate));
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["0x02"]}"#;
    let mut client = site.client().await;
    let request = client.request("POST", "/", &[], body.as_bytes());
    client.send(request).await;
    gate.wait_for_held(1).await;
    drop(client);
    // A read of the same age is gone by the time the node sees it gone; the send is still there.
    site.node
        .on("eth_getBalance")
        .always(Answer::result("1").held_by(&gate));
    let mut client = site.client().await;
    let request = client.request("POST", "/", &[], balance(1).as_bytes());
    client.send(request).await;
    gate.wait_for_held(2).await;
    drop(client);
    site.node.record().wait_for_abandoned(1).await;
    assert_eq!(site.node.record().abandoned(), 1);
    gate.open();
    // The connection that carried the send was read to the end and serves again.
    let before = site.node.record().connections();
    site.post(r#"{"jsonrpc":"2.0","id":2,"method":"eth_gasPrice"}"#)
        .await;
    assert!(site.node.record().connections() <= before + 1);
    assert_eq!(site.node.record().count("eth_sendRawTransaction"), 1);
    assert_eq!(site.node.record().abandoned(), 1);
}

#[tokio::test]
async fn response_headers_are_there_on_request_of_the_operator_only() {
    let site = Site::new().await;
    let response = site.post(&balance(1)).await;
    assert!(
        response
            .headers
            .iter()
            .all(|(name, _)| !name.starts_with("x-highwater"))
    );
    let site = Site::with(|s| s.server.response_headers = true).await;
    let response = site.post(&balance(1)).await;
    assert_eq!(response.header("x-highwater-endpoint"), Some("node-0"));
    assert_eq!(response.header("x-highwater-attempts"), Some("1"));
}

// hardening A11
#[tokio::test]
async fn a_label_that_is_no_header_value_is_left_out() {
    let site = Site::with(|s| {
        s.server.response_headers = true;
        s.chains[0].endpoints[0].label = "a\r\nSet-Cookie: b".into();
    })
    .await;
    let response = site.post(&balance(1)).await;
    assert_eq!(response.status, 200);
    assert_eq!(response.header("x-highwater-endpoint"), None);
    assert_eq!(response.header("set-cookie"), None);
}

#[tokio::test]
async fn answers_are_compressed_only_when_asked_for_and_long_enough() {
    let site = Site::new().await;
    let long = format!("\"{}\"", "ab".repeat(100_000));
    for (result, asked, compressed) in [
        ("\"short\"", "gzip", false),
        (&*long, "gzip, deflate", true),
        (&long, "br, zstd", false),
        (&long, "gzip;q=0", false),
    ] {
        site.node.on("eth_getBalance").once(Answer::result(result));
        let response = site
            .post_with(&[("Accept-Encoding", asked)], &balance(1))
            .await;
        assert_eq!(
            response.header("content-encoding"),
            compressed.then_some("gzip"),
            "{asked}"
        );
        let length: usize = response.header("content-length").unwrap().parse().unwrap();
        assert_eq!(length, response.body.len());
        if compressed {
            let mut text = String::new();
            std::io::Read::read_to_string(
                &mut flate2::read::GzDecoder::new(&*response.body),
                &mut text,
            )
            .unwrap();
            assert_eq!(
                text,
                format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)
            );
        } else {
            assert!(response.text().contains(result));
        }
    }
}
