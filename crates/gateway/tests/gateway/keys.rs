//! Keys: where they may stand, what they may do.

use crate::site::{Site, balance, key, settings};
use highwater_gateway::{Gateway, config::MethodRules};
use highwater_lab::sockets::{Answer, ScriptedNode};

const GOOD: &str = "hw_0123456789abcdef";
const OTHER: &str = "hw_fedcba9876543210";

async fn locked() -> Site {
    Site::with(|s| s.keys = vec![key("good", GOOD), key("other", OTHER)]).await
}

#[tokio::test]
async fn without_keys_configured_whatever_is_presented_is_ignored() {
    let mut site = Site::new().await;
    for headers in [
        &[][..],
        &[("X-Api-Key", "nonsense")],
        &[("Authorization", "Basic !!!")],
        &[("X-Api-Key", "a"), ("Authorization", "Bearer b")],
    ] {
        assert_eq!(site.post_with(headers, &balance(1)).await.status, 200);
    }
    for target in ["/?key=x", "/ethereum/anything", "/hw_whatever"] {
        assert_eq!(
            site.client()
                .await
                .post(target, &[], balance(1).as_bytes())
                .await
                .status,
            200,
            "{target}"
        );
    }
    assert_eq!(site.heard(), 7);
}

#[tokio::test]
async fn a_key_is_accepted_in_each_of_its_places() {
    let mut site = locked().await;
    // echo -n 'hw_0123456789abcdef:' | base64, and with the key as the password
    let headers: &[(&str, &str)] = &[
        ("X-Api-Key", GOOD),
        ("Authorization", "Bearer hw_0123456789abcdef"),
        ("authorization", "bearer  hw_0123456789abcdef"),
        ("Authorization", "Basic aHdfMDEyMzQ1Njc4OWFiY2RlZjo="),
        ("Authorization", "Basic Omh3XzAxMjM0NTY3ODlhYmNkZWY="),
        ("Authorization", "Basic dXNlcjpod18wMTIzNDU2Nzg5YWJjZGVm"),
    ];
    for header in headers {
        assert_eq!(
            site.post_with(&[*header], &balance(1)).await.status,
            200,
            "{header:?}"
        );
        assert_eq!(site.heard(), 1);
    }
    for target in [
        "/?key=hw_0123456789abcdef",
        "/hw_0123456789abcdef",
        "/ethereum/hw_0123456789abcdef",
        "/1/hw_0123456789abcdef?key=hw_0123456789abcdef",
    ] {
        assert_eq!(
            site.client()
                .await
                .post(target, &[], balance(1).as_bytes())
                .await
                .status,
            200,
            "{target}"
        );
        assert_eq!(site.heard(), 1);
    }
}

// hardening C2
#[tokio::test]
async fn a_missing_or_bad_key_is_401_with_the_callers_ids_and_no_upstream_call() {
    let mut site = locked().await;
    for headers in [
        &[][..],
        &[("X-Api-Key", "hw_wrong")],
        &[("X-Api-Key", "")],
        &[("Authorization", "Basic !!!")],
        &[("Authorization", "Digest x")],
        &[("Authorization", "Bearer hw_0123456789abcde")],
    ] {
        let response = site.post_with(headers, &balance(7)).await;
        assert_eq!(response.row(), (401, -32001), "{headers:?}");
        assert_eq!(response.json()["id"], 7);
        let local = site
            .post_with(
                headers,
                r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}"#,
            )
            .await;
        assert_eq!(local.status, 401, "local answers are for key holders too");
    }
    let response = site.post(&format!("[{},{}]", balance(1), balance(2))).await;
    assert_eq!(response.status, 401);
    let answers = response.json();
    assert_eq!(answers.as_array().unwrap().len(), 2);
    assert_eq!(
        (&answers[1]["id"], &answers[1]["error"]["code"]),
        (&2.into(), &(-32001).into())
    );
    let response = site.post("not json").await;
    assert_eq!(response.row(), (401, -32001));
    site.heard_nothing();
}

#[tokio::test]
async fn two_different_keys_in_one_request_are_401() {
    let mut site = locked().await;
    let response = site
        .post_with(
            &[
                ("X-Api-Key", GOOD),
                ("Authorization", &format!("Bearer {OTHER}")),
            ],
            &balance(1),
        )
        .await;
    assert_eq!(response.row(), (401, -32001));
    let response = site
        .client()
        .await
        .post(&format!("/{GOOD}?key={OTHER}"), &[], balance(1).as_bytes())
        .await;
    assert_eq!(response.row(), (401, -32001));
    let response = site
        .post_with(&[("X-Api-Key", GOOD), ("X-Api-Key", OTHER)], &balance(1))
        .await;
    assert_eq!(response.row(), (401, -32001));
    site.heard_nothing();
    let same = site
        .post_with(
            &[
                ("X-Api-Key", GOOD),
                ("Authorization", &format!("Bearer {GOOD}")),
            ],
            &balance(1),
        )
        .await;
    assert_eq!(same.status, 200);
}

// hardening C6
#[tokio::test]
async fn a_keys_methods_bind_single_calls_batches_and_local_answers() {
    let mut site = Site::with(|s| {
        let mut reader = key("reader", GOOD);
        reader.methods = MethodRules {
            allow: vec!["eth_*".into()],
            deny: vec!["eth_sendRaw*".into(), "eth_CHAINID".into()],
        };
        let mut tracer = key("tracer", OTHER);
        tracer.methods = MethodRules {
            allow: vec!["debug_traceTransaction".into(), "eth_call".into()],
            deny: vec![],
        };
        s.keys = vec![reader, tracer];
    })
    .await;
    site.node.on_any().always(Answer::result("1"));
    let call =
        |method: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":[]}}"#);
    for (text, method, allowed) in [
        (GOOD, "eth_call", true),
        (GOOD, "eth_sendRawTransaction", false),
        (GOOD, "eth_chainId", false),
        (GOOD, "net_version", false),
        (GOOD, "eth_sign", false),
        (GOOD, "debug_traceTransaction", false),
        (OTHER, "debug_traceTransaction", true),
        (OTHER, "eth_call", true),
        (OTHER, "eth_getBalance", false),
        (OTHER, "debug_traceCall", false),
    ] {
        for body in [call(method), format!("[{}]", call(method))] {
            let response = site.post_with(&[("X-Api-Key", text)], &body).await;
            assert_eq!(response.status, 200);
            assert_eq!(
                !response.text().contains("is not available"),
                allowed,
                "{text} {body}"
            );
            assert_eq!(site.heard(), usize::from(allowed), "{text} {body}");
        }
    }
}

#[tokio::test]
async fn a_key_reaches_only_its_chains() {
    let (one, two) = (ScriptedNode::start().await, ScriptedNode::start().await);
    two.set_chain_id(10);
    let mut settings = settings(&[
        ("ethereum", Some(1), &[one.url()]),
        ("optimism", Some(10), &[two.url()]),
    ]);
    let mut narrow = key("narrow", GOOD);
    narrow.chains = vec!["ethereum".into()];
    settings.keys = vec![narrow];
    let gateway = Gateway::start(settings).await.unwrap();
    let mut client = crate::site::Client::connect(gateway.addr).await;
    let target = |chain: &str| format!("/{chain}/{GOOD}");
    assert_eq!(
        client
            .post(&target("ethereum"), &[], balance(1).as_bytes())
            .await
            .status,
        200
    );
    assert_eq!(
        client
            .post(&target("optimism"), &[], balance(1).as_bytes())
            .await
            .row(),
        (401, -32001)
    );
    assert_eq!(two.record().count("eth_getBalance"), 0);
}

#[tokio::test]
async fn a_key_that_is_locked_to_a_page_serves_only_that_page() {
    let mut site = Site::with(|s| {
        let mut page = key("page", GOOD);
        page.origins = vec!["https://app.example.com".into()];
        s.keys = vec![page, key("free", OTHER)];
    })
    .await;
    for (text, origin, status) in [
        (GOOD, Some("https://app.example.com"), 200),
        (GOOD, Some("https://other.test"), 403),
        (GOOD, None, 403),
        // The page is accepted only because of its key.
        (OTHER, Some("https://app.example.com"), 403),
        (OTHER, None, 200),
    ] {
        let mut headers = vec![("X-Api-Key", text)];
        headers.extend(origin.map(|origin| ("Origin", origin)));
        let response = site.post_with(&headers, &balance(1)).await;
        assert_eq!(response.status, status, "{text} {origin:?}");
        assert_eq!(site.heard(), usize::from(status == 200));
    }
    let preflight = [
        ("Origin", "https://app.example.com"),
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "x-api-key"),
    ];
    let response = site
        .client()
        .await
        .ask("OPTIONS", "/", &preflight, b"")
        .await;
    assert_eq!(
        response.header("access-control-allow-origin"),
        Some("https://app.example.com")
    );
}
