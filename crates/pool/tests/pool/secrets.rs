//! A marker key in the URL, and everything that could show it (R-2, hardening C3, C4).

use crate::bench::{AMPLE, SHORT, call, call_within, quiet};
use highwater::{CallOptions, Endpoint, Payload, Pool, SecretUrl, core::ChainId};
use highwater_lab::sockets::{Answer, Gate, ScriptedNode};
use std::{
    fmt::Write as _,
    io,
    sync::{Arc, LazyLock, Mutex},
};
use tracing::{Dispatch, subscriber::NoSubscriber};

const KEY: &str = "CANARYpathkey7f3a";
const TOKEN: &str = "CANARYquerytoken91";
const USER: &str = "CANARYuser";
const PASSWORD: &str = "CANARYpass/word";
const CODED_PASSWORD: &str = "CANARYpass%2Fword";
/// `USER:PASSWORD` and the key, in base64.
const BASIC: &str = "Q0FOQVJZdXNlcjpDQU5BUllwYXNzL3dvcmQ";
const KEY_BASE64: &str = "Q0FOQVJZcGF0aGtleTdmM2E";

/// With one subscriber alone in the process, `tracing` asks the thread that first comes past a line
/// of log whether anybody wants it, and that is the thread of another test. A second one makes it
/// ask them all.
static ANOTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::default()));

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// Hears everything this thread logs, until the guard is dropped.
    fn listen(&self) -> tracing::subscriber::DefaultGuard {
        LazyLock::force(&ANOTHER);
        let log = self.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
            .with_ansi(false)
            .with_writer(move || log.clone())
            .finish();
        tracing::subscriber::set_default(subscriber)
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

fn secret_url(authority: &str) -> SecretUrl {
    let url = format!("http://{USER}:{CODED_PASSWORD}@{authority}/v2/{KEY}?token={TOKEN}");
    SecretUrl::parse(&url).unwrap()
}

/// A pool of one that asks it once.
fn secret_pool(authority: &str) -> Pool {
    let endpoint = Endpoint::url(secret_url(authority)).label("marked");
    let mut settings = quiet(1);
    settings.breaker.enabled = false;
    Pool::builder()
        .chain(ChainId(1))
        .endpoint(endpoint)
        .timeout(AMPLE)
        .settings(settings)
        .build()
        .unwrap()
}

fn assert_clean(text: &str) {
    for marker in ["CANARY", BASIC, KEY_BASE64] {
        assert!(!text.contains(marker), "{marker} in {text}");
    }
}

// R-2, hardening C3, C4, T13
#[tokio::test]
async fn shows_no_credential_in_any_error_debug_text_or_log() {
    let log = Log::default();
    let _guard = log.listen();

    let node = ScriptedNode::start().await;
    let gate = Gate::new();
    let address = node.addr().to_string();
    let mut shown = String::new();
    let mut show = |pool: &Pool, outcome: &dyn std::fmt::Debug| {
        write!(shown, "{outcome:?} {pool:?} {:?} ", pool.snapshot()).unwrap();
    };
    for answer in [
        Answer::close(),
        Answer::reset(),
        Answer::html(401, &format!("<p>bad key {KEY}</p>")),
        Answer::body(200, format!("unknown key {KEY} {TOKEN}")),
        Answer::redirect(302, &format!("http://elsewhere.example/v2/{KEY}")),
        Answer::error(
            -32000,
            &format!("{KEY} {TOKEN} {USER} {PASSWORD} {BASIC} {KEY_BASE64}"),
        ),
        Answer::error(-32005, &format!("limit of {KEY}")).status(429),
        Answer::huge(64 << 20),
        Answer::gzip_bomb(6 << 20),
        Answer::hang(&gate),
    ] {
        node.on("eth_call").once(answer);
        // One that refuses the key is excluded, and the next answer would not be asked for.
        let pool = secret_pool(&address);
        let options = CallOptions {
            timeout: Some(10 * SHORT),
            deadline: None,
            ..CallOptions::default()
        };
        let outcome = call_within(&pool, "eth_call", "[]", options).await;
        match &outcome {
            Ok(answer) => match answer.payload() {
                Payload::Result(result) => panic!("a result: {result}"),
                Payload::Error(error) => show(&pool, &error),
            },
            Err(error) => show(&pool, &(error, error.to_string())),
        }
        show(&pool, &outcome.map(|answer| answer.endpoint().to_owned()));
    }
    gate.open();
    node.set_chain_id(10);
    let other_chain = secret_pool(&address);
    show(
        &other_chain,
        &call(&other_chain, "eth_call", "[]").await.unwrap_err(),
    );
    node.stop().await;
    let dead = secret_pool(&address);
    show(&dead, &call(&dead, "eth_call", "[]").await.unwrap_err());
    let nowhere = secret_pool("node.invalid");
    show(
        &nowhere,
        &call(&nowhere, "eth_call", "[]").await.unwrap_err(),
    );
    show(
        &nowhere,
        &(
            secret_url("h.example"),
            Endpoint::url(secret_url("h.example")),
        ),
    );
    show(
        &nowhere,
        &Pool::builder().endpoint(Endpoint::url(secret_url("h.example"))),
    );

    assert_clean(&shown);
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(
        log.contains("attempt failed") && log.contains("endpoint quarantined"),
        "{log}"
    );
    assert_clean(&log);
}

// R-2, hardening C4
#[tokio::test]
async fn masks_a_credential_that_an_endpoint_repeats_in_an_error_and_leaves_the_rest() {
    let node = ScriptedNode::start().await;
    let pool = secret_pool(&node.addr().to_string());
    for (worded, masked) in [
        (
            format!(r#"{{"code":-32000,"message":"no {KEY} here","data":{{"u":"{TOKEN}"}}}}"#),
            r#"{"code":-32000,"message":"no *** here","data":{"u":"***"}}"#,
        ),
        (
            format!("\"bad {KEY}\""),
            r#"{"code":-32603,"message":"bad ***"}"#,
        ),
        (
            format!(r#"{{"code":"7","message":"\u0043{}"}}"#, &KEY[1..]),
            r#"{"code":7,"message":"***"}"#,
        ),
        (
            format!(
                r#"{{"code":-32000,"message":"\u0043{} \n","data":1}}"#,
                &KEY[1..]
            ),
            r#"{"code":-32000,"message":"*** \n","data":1}"#,
        ),
    ] {
        node.on("eth_call").once(Answer::error_json(worded));
        let answer = call(&pool, "eth_call", "[]").await.unwrap();
        assert_eq!(answer.payload(), Payload::Error(masked));
        assert_clean(&format!("{answer:?}"));
    }
}

// R-2, G-2
#[tokio::test]
async fn leaves_results_as_they_are() {
    let node = ScriptedNode::start().await;
    let pool = secret_pool(&node.addr().to_string());
    let result = format!("\"a name on the chain: {KEY}\"");
    node.on("eth_call").once(Answer::result(result.as_str()));
    let answer = call(&pool, "eth_call", "[]").await.unwrap();
    assert_eq!(answer.payload(), Payload::Result(&result));
}

// R-37, lessons B25: what no rule knows is told once for each kind of text, and never the text.
#[tokio::test]
async fn tells_of_an_unknown_error_once_for_each_fingerprint_and_not_what_it_said() {
    let log = Log::default();
    let _guard = log.listen();
    let node = ScriptedNode::start().await;
    let pool = secret_pool(&node.addr().to_string());
    for text in [
        "flux capacitor 17 drained CANARYtext",
        "flux capacitor 99 drained CANARYtext",
        "the gremlins won CANARYtext",
    ] {
        node.on("eth_call").once(Answer::error(-32000, text));
        call(&pool, "eth_call", "[]").await.unwrap();
    }
    let text = log.text();
    assert_eq!(text.matches("an error that no rule knows").count(), 2);
    assert_clean(&text);
}
