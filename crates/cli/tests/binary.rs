//! The real binary: what it prints and how it ends.

#![expect(clippy::unwrap_used, reason = "what a test prepares must work")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

const CANARY: &str = "s3cret-canary";
/// An endpoint that refuses every connection: nothing listens on the first port.
const NOBODY: &str = "http://127.0.0.1:1/s3cret-canary";

fn highwater() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_highwater"));
    command.env_clear().stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    highwater().args(arguments).output().unwrap()
}

/// Runs to the end, and looks for the canary in all that was written.
fn ends(arguments: &[&str], code: i32) -> (String, String) {
    let output = run(arguments);
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        output.status.code(),
        Some(code),
        "{arguments:?}\n{stdout}\n{stderr}"
    );
    assert!(
        !stdout.contains(CANARY) && !stderr.contains(CANARY),
        "{stdout}\n{stderr}"
    );
    (stdout, stderr)
}

/// A file of this test process, gone with the value.
struct TempFile(PathBuf);

impl TempFile {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("highwater-{}-{name}", std::process::id()));
        std::fs::File::create(&path)
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

const GOOD: &str =
    "[chains.ethereum]\nendpoints = [{ url = 'http://127.0.0.1:1/s3cret-canary' }]\n";

// hardening C11
#[test]
fn wrong_usage_ends_with_2_and_one_line_that_says_what_to_do() {
    for (arguments, expected) in [
        (&["serve"][..], "nothing to serve: give endpoint URLs"),
        (
            &["serve", "--chain", "ethereum"],
            "--chain alone would need the shipped list",
        ),
        (
            &["serve", "--chain", "etherum", NOBODY],
            "--chain: no chain is known by this name (did you mean `ethereum`?)",
        ),
        (&["serve", "--chain", NOBODY], "--chain: a chain name has"),
        (
            &["serve", NOBODY, "s3cret-canary"],
            "URL 2: not a URL: it must begin with http:// or https://",
        ),
        (
            &["serve", "ftp://s3cret-canary"],
            "URL 1: unsupported scheme",
        ),
        (
            &["serve", "wss://a/s3cret-canary"],
            "URL 1: WebSocket endpoints are not available in this version yet",
        ),
        (
            &["serve", "--config", "x.toml", NOBODY],
            "give either --config or URLs",
        ),
        (
            &["serve", "--config", "x.toml", "--chain", "base"],
            "--chain goes with URLs",
        ),
        (
            &["serve", "--listen", NOBODY, NOBODY],
            "--listen: expected an IP address and a port",
        ),
        (
            &["serve", "--admin-listen", "on", NOBODY],
            "--admin-listen: expected an IP address",
        ),
        (
            &["serve", "--listen", "0.0.0.0:4545", NOBODY],
            "listening on 0.0.0.0:4545 would let everybody",
        ),
        (
            &["serve", "--admin-listen", "0.0.0.0:4546", NOBODY],
            "the admin listener on 0.0.0.0:4546",
        ),
        (
            &["demo", "--listen", NOBODY],
            "--listen: expected an IP address and a port",
        ),
        (
            &["demo", "--listen", "0.0.0.0:4545"],
            "--listen: the demo is for this machine only",
        ),
        (
            &["demo", "--listen", "127.0.0.1:65535"],
            "--listen: the admin listener needs the port above",
        ),
        (&["demo", "--for", "20"], "--for: expected a duration"),
        (&["demo", "--for", "0s"], "--for: expected a duration"),
        (
            &["demo", "--seed", NOBODY],
            "--seed: expected a whole number",
        ),
        (
            &["lab", "a.toml", "--virtual", "--listen", "127.0.0.1:0"],
            "--listen goes with real sockets",
        ),
        (
            &["lab", "a.toml", "--seed", "1.5"],
            "--seed: expected a whole number",
        ),
        (
            &["keys", "create", "a b"],
            "NAME: expected 1 to 64 visible ASCII characters",
        ),
    ] {
        let (stdout, stderr) = ends(arguments, 2);
        assert_eq!(stdout, "");
        assert!(
            stderr.starts_with(&format!("error: {expected}")),
            "{arguments:?}: {stderr}"
        );
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
}

// hardening C11
#[test]
fn arguments_that_nobody_expects_end_with_2_and_show_no_url() {
    for arguments in [
        &["serve", "--no-such-option"][..],
        &["serve", "--no-such-option=https://a/s3cret-canary"],
        &["https://a/s3cret-canary"],
        &["schema", "https://a/s3cret-canary"],
        &["check-config"],
        &["keys"],
        &["demo", "https://a/s3cret-canary"],
        &["lab"],
        &["lab", "a.toml", "--virtual=https://a/s3cret-canary"],
        &[],
    ] {
        let (_, stderr) = ends(arguments, 2);
        assert!(stderr.contains("Usage:"), "{arguments:?}: {stderr}");
    }
}

// G-12
#[test]
fn help_and_version_end_with_0_and_help_has_the_exit_codes() {
    for arguments in [&["--help"][..], &["serve", "--help"]] {
        let (stdout, _) = ends(arguments, 0);
        for code in ["   0  ", "   2  ", "  64  ", "  69  ", "  70  ", "  71  "] {
            assert!(stdout.contains(code), "{stdout}");
        }
    }
    let (stdout, _) = ends(&["--version"], 0);
    assert!(stdout.starts_with("highwater "), "{stdout}");
}

// G-12, hardening H3
#[test]
fn a_bad_file_ends_with_64_and_the_same_words_from_serve_and_check_config() {
    let file = TempFile::new(
        "bad.toml",
        "[server]\ndeadlin = '9s'\n[[chains.ethereum.endpoints]]\nurl = 'ftp://s3cret-canary'\n",
    );
    let (_, checked) = ends(&["check-config", file.path()], 64);
    let (_, served) = ends(&["serve", "--config", file.path()], 64);
    assert_eq!(checked, served);
    let place = |line: &str| format!("{}:{line}", file.path());
    assert!(checked.starts_with(&format!(
        "{} unknown option `deadlin` in `server`: did you mean `deadline`?\n",
        place("2:1:")
    )));
    assert!(checked.contains(&place(
        "4:7: `chains.ethereum.endpoints[0].url`: unsupported"
    )));
    let (_, missing) = ends(&["check-config", "/no/such/file.toml"], 64);
    assert!(missing.contains("/no/such/file.toml: cannot read the configuration file"));
}

// G-12
#[test]
fn a_good_file_is_summed_up_without_secrets() {
    let file = TempFile::new("good.toml", GOOD);
    let (stdout, _) = ends(&["check-config", file.path()], 0);
    let expected = format!(
        "{}: OK: ethereum (id 1) with 1 endpoint; 0 keys; RPC on 127.0.0.1:4545, admin on \
         127.0.0.1:4546\n",
        file.path()
    );
    assert_eq!(stdout, expected);
}

// G-12
#[test]
fn a_file_takes_secrets_from_the_environment() {
    let text = "[chains.ethereum]\nendpoints = [{ url = 'https://a.example/${HW_TEST_KEY}' }]\n";
    let file = TempFile::new("variable.toml", text);
    let (_, stderr) = ends(&["check-config", file.path()], 64);
    assert!(
        stderr.contains(":2:41: ") && stderr.contains("`HW_TEST_KEY` is not set"),
        "{stderr}"
    );
    let output = highwater()
        .env("HW_TEST_KEY", CANARY)
        .args(["check-config", file.path()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(!String::from_utf8(output.stdout).unwrap().contains(CANARY));
}

// G-12
// Interface: `highwater classify`.
#[test]
fn classifies_lines_and_ends_with_2_when_one_is_none() {
    let mut child = highwater()
        .arg("classify")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let good =
        r#"{"id":7,"http_status":429,"headers":{"retry-after":"3"},"method":"eth_call","body":""}"#;
    let input = format!("{good}\n{{\"url\":\"{NOBODY}\"}}\n{good}\n");
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert_eq!(stdout.lines().count(), 2, "{stdout}");
    assert!(
        stdout.starts_with(r#"{"id":7,"class":"rate_limited","#),
        "{stdout}"
    );
    assert!(stdout.contains(r#""retry_after_ms":3000"#), "{stdout}");
    assert!(
        stderr.contains("line 2") && !stderr.contains(CANARY),
        "{stderr}"
    );
}

#[test]
fn answers_each_line_before_the_next_one_is_written() {
    let mut child = highwater()
        .arg("classify")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for id in 0..3 {
        writeln!(stdin, r#"{{"id":{id},"http_status":200,"body":""}}"#).unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(line.starts_with(&format!(r#"{{"id":{id},"#)), "{line}");
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_schema_is_json() {
    let (stdout, _) = ends(&["schema"], 0);
    let schema: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(
        schema["$defs"]["Server"]["properties"]["max_batch"]["default"],
        100
    );
}

// G-5
#[test]
fn a_created_key_comes_with_a_section_that_a_file_accepts() {
    let (stdout, _) = ends(&["keys", "create", "frontend"], 0);
    let (key, rest) = stdout.split_once('\n').unwrap();
    assert!(key.starts_with("hw_") && key.len() == 51, "{key}");
    assert!(!rest.contains(key));
    let file = TempFile::new(
        "keyed.toml",
        &format!("{GOOD}[server]\nlisten = '0.0.0.0:1'\n{rest}"),
    );
    let (summary, _) = ends(&["check-config", file.path()], 0);
    assert!(summary.contains("; 1 key; RPC on 0.0.0.0:1,"), "{summary}");
    let (other, _) = ends(&["keys", "create", "frontend"], 0);
    assert_ne!(other.lines().next(), Some(key));
}

// G-13
#[test]
fn a_port_in_use_ends_with_71() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let arguments = [
        "serve",
        "--listen",
        &address,
        "--admin-listen",
        "off",
        NOBODY,
    ];
    let (stdout, stderr) = ends(&arguments, 71);
    assert_eq!(stdout, "");
    assert!(
        stderr.contains(&format!("cannot listen on {address}")),
        "{stderr}"
    );
}

// G-13
#[test]
fn no_endpoint_that_answers_ends_with_69_when_asked_to_be_ready() {
    let arguments = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--admin-listen",
        "off",
        "--require-ready",
        NOBODY,
    ];
    let (_, stderr) = ends(&arguments, 69);
    assert!(stderr.contains("no endpoint answered"), "{stderr}");
}

// G-13, hardening H1
#[test]
fn serves_urls_says_where_and_ends_with_0_when_interrupted() {
    let mut child = highwater()
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--admin-listen",
            "127.0.0.1:0",
            NOBODY,
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut lines = String::new();
    for _ in 0..2 {
        stdout.read_line(&mut lines).unwrap();
    }
    assert_eq!(
        lines
            .matches("highwater listening on http://127.0.0.1:")
            .count(),
        2,
        "{lines}"
    );
    let interrupt = format!("kill -INT {}", child.id());
    assert!(
        Command::new("sh")
            .args(["-c", &interrupt])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut stderr = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    assert!(!stderr.contains(CANARY), "{stderr}");
    for line in stderr.lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(event["level"].is_string(), "{line}");
    }
}
