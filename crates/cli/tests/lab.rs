//! `highwater lab`, as the real binary.

#![expect(clippy::unwrap_used, reason = "what a test prepares must work")]

use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
};

const SCENARIO: &str = "name = 'two'
seed = 3
duration = '2s'
chain = { start = 8, transactions = 1 }
load = { clients = 2, every = '100ms' }
[[nodes]]
name = 'good'
latency = '1ms'
[[nodes]]
name = 'bad'
latency = '1ms'
faults = [{ kind = 'html', methods = ['eth_blockNumber'] }, { kind = 'lag', blocks = 5 }]
";

/// A file of this test process, gone with the value.
struct TempFile(PathBuf);

impl TempFile {
    fn new(name: &str, text: &str) -> Self {
        let name = format!("highwater-lab-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
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

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn lab(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_highwater"));
    command.env_clear().stdin(Stdio::null()).arg("lab");
    command.args(arguments);
    command
}

fn ends(arguments: &[&str], code: i32) -> (String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = lab(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(stdout), text(stderr));
    assert_eq!(
        status.code(),
        Some(code),
        "{arguments:?}\n{stdout}\n{stderr}"
    );
    (stdout, stderr)
}

// B-3
#[test]
fn one_seed_gives_one_history_and_another_seed_another() {
    let file = TempFile::new("seeds.toml", SCENARIO);
    let hashes = |more: &[&str]| {
        let arguments = [&[file.path(), "--virtual"], more].concat();
        let (stdout, _) = ends(&arguments, 0);
        let hashes = stdout
            .lines()
            .filter_map(|line| line.trim().strip_prefix("history sha256 "));
        hashes.map(str::to_owned).collect::<Vec<_>>()
    };
    let first = hashes(&[]);
    assert_eq!(first.len(), 2);
    assert!(first.iter().all(|hash| hash.len() == 64));
    assert_eq!(hashes(&[]), first);
    assert_eq!(hashes(&["--seed", "3"]), first);
    let other = hashes(&["--seed", "4"]);
    assert!(other.iter().all(|hash| !first.contains(hash)));
}

// B-3, B-4
#[test]
fn a_run_in_virtual_time_tells_calls_and_violations() {
    let file = TempFile::new("virtual.toml", SCENARIO);
    let (text, _) = ends(&[file.path(), "--virtual"], 0);
    assert!(
        text.starts_with("two, seed 3, 2s of virtual time"),
        "{text}"
    );
    assert!(text.contains("  bad   1ms; html 200 of eth_blockNumber; lag 5 blocks\n"));
    let (json, _) = ends(&[file.path(), "--virtual", "--json"], 0);
    assert_eq!(json.lines().count(), 1);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&json["scenario"], &json["seed"]),
        (&"two".into(), &3.into())
    );
    let runs = json["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    for run in runs {
        assert_eq!(run["calls"], 40);
        assert!(text.contains(run["sha256"].as_str().unwrap()));
    }
    // Without a router one of the two clients has the late node; a list never comes to that node.
    assert_eq!(runs[0]["between"], "direct");
    assert!(runs[0]["violations"]["TooStale"].as_u64().unwrap() > 0);
    assert_eq!(runs[0]["first"][0]["breach"], "TooStale");
    assert_eq!(runs[1]["between"], "fallback");
    assert_eq!(runs[1]["violations"], serde_json::json!({}));
}

// B-3
#[test]
fn a_bad_scenario_ends_with_64_and_names_its_line() {
    let file = TempFile::new("bad.toml", &SCENARIO.replace("'lag'", "'lagg'"));
    for more in [&[][..], &["--virtual"]] {
        let (stdout, stderr) = ends(&[&[file.path()], more].concat(), 64);
        assert_eq!(stdout, "");
        let place = format!("{}:12:70: unknown variant `lagg`", file.path());
        assert!(stderr.starts_with(&place), "{stderr}");
    }
    let (_, missing) = ends(&["/no/such/file.toml"], 64);
    assert!(
        missing.starts_with("/no/such/file.toml: cannot read the scenario: "),
        "{missing}"
    );
}

// B-1
#[test]
fn a_port_in_use_ends_with_71_and_too_few_ports_with_2() {
    let file = TempFile::new("ports.toml", SCENARIO);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (stdout, stderr) = ends(&[file.path(), "--listen", &address], 71);
    assert_eq!(stdout, "");
    assert!(
        stderr.starts_with(&format!("error: cannot listen on {address}: ")),
        "{stderr}"
    );
    let (_, stderr) = ends(&[file.path(), "--listen", "127.0.0.1:65535"], 2);
    assert!(stderr.contains("need the 1 ports above"), "{stderr}");
}

fn ask(url: &str, method: &str) -> String {
    let address = url.strip_prefix("http://").unwrap().trim_end_matches('/');
    let mut stream = TcpStream::connect(address).unwrap();
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":[]}}"#);
    let length = body.len();
    write!(
        stream,
        "POST / HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut stream = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        } else if line.trim().is_empty() {
            break;
        }
    }
    let mut answer = vec![0; length];
    stream.read_exact(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
}

fn terminate(child: &Child) {
    let command = format!("kill -TERM {}", child.id());
    let status = Command::new("sh").args(["-c", &command]).status().unwrap();
    assert!(status.success());
}

/// Starts the scenario on free ports for an hour, asks both nodes, terminates it. Returns what it
/// printed: the lines before, the answers, and the rest.
fn session(file: &TempFile, more: &[&str], urls: fn(&str) -> Vec<String>) -> (String, String) {
    let arguments = [&[file.path(), "--listen", "127.0.0.1:0"], more].concat();
    let mut child = lab(&arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let child = Killed(child);
    let mut introduction = String::new();
    while urls(&introduction).len() < 2 {
        assert_ne!(stdout.read_line(&mut introduction).unwrap(), 0);
    }
    let urls = urls(&introduction);
    let answer = ask(&urls[0], "eth_blockNumber");
    assert!(answer.contains(r#""id":1,"result":"0x"#), "{answer}");
    assert!(ask(&urls[1], "eth_chainId").contains(r#""result":"0xf1b31""#));
    assert!(ask(&urls[1], "eth_blockNumber").contains("<html>"));
    terminate(&child.0);
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    let mut child = child;
    assert_eq!(child.0.wait().unwrap().code(), Some(0));
    (introduction, rest)
}

// B-1
#[test]
fn nodes_answer_on_sockets_and_are_tallied_when_terminated() {
    let text = SCENARIO.replace("'2s'", "'1h'");
    let file = TempFile::new("sockets.toml", &text);
    let (introduction, tally) = session(&file, &[], |text| {
        let words = text.split_whitespace();
        let urls = words.filter(|word| word.starts_with("http://"));
        urls.map(str::to_owned).collect()
    });
    assert!(introduction.starts_with("two, seed 3, for 3600s:\n  good  http://127.0.0.1:"));
    assert!(introduction.contains("1ms; html 200 of eth_blockNumber; lag 5 blocks\n"));
    let row = |name: &str| {
        let row = tally
            .lines()
            .find(|line| line.trim_start().starts_with(name));
        row.unwrap().split_whitespace().collect::<Vec<_>>()
    };
    assert_eq!(row("good"), ["good", "1", "1", "0", "0"]);
    assert_eq!(row("bad"), ["bad", "2", "1", "1", "0", "1", "html"]);
}

// B-1
#[test]
fn programs_get_one_object_at_the_start_and_one_at_the_end() {
    let text = SCENARIO.replace("'2s'", "'1h'");
    let file = TempFile::new("json.toml", &text);
    let (introduction, tally) = session(&file, &["--json"], |text| {
        let Ok(started) = serde_json::from_str::<Value>(text) else {
            return Vec::new();
        };
        let nodes = started["nodes"].as_array().unwrap().iter();
        nodes
            .map(|node| node["url"].as_str().unwrap().to_owned())
            .collect()
    });
    let started: Value = serde_json::from_str(&introduction).unwrap();
    assert_eq!(
        (&started["event"], &started["seed"]),
        (&"started".into(), &3.into())
    );
    assert_eq!(started["nodes"][0]["plan"], "1ms");
    let ended: Value = serde_json::from_str(&tally).unwrap();
    assert_eq!(ended["event"], "ended");
    let bad = serde_json::json!({
        "name": "bad", "requests": 2, "answered": 1, "failed": { "html": 1 }, "left": 0,
    });
    assert_eq!(ended["nodes"][1], bad);
}

// B-1
#[test]
fn a_scenario_ends_by_itself() {
    let text = SCENARIO.replace("'2s'", "'1ms'");
    let file = TempFile::new("short.toml", &text);
    let (stdout, _) = ends(&[file.path(), "--listen", "127.0.0.1:0"], 0);
    assert!(stdout.contains("\nafter 0."), "{stdout}");
}

// B-4
#[test]
fn with_the_gateway_a_scenario_ends_with_its_verdict() {
    let head = "name = 'gate'\nduration = '2s'\nchain = { start = 8, transactions = 1 }\n\
                load = { clients = 5, every = '100ms' }\nbounds = { errors = 0 }\n";
    let good = "[[nodes]]\nname = 'good'\nlatency = '30ms'\n";
    let bad = "[[nodes]]\nname = 'bad'\nlatency = '1ms'\n\
               faults = [{ kind = 'html', methods = ['eth_call'] }]\n";
    let run = |nodes: &str, code| {
        let file = TempFile::new(&format!("gateway-{code}.toml"), &format!("{head}{nodes}"));
        let arguments = [
            file.path(),
            "--gateway",
            "--listen",
            "127.0.0.1:0",
            "--json",
        ];
        let (json, _) = ends(&arguments, code);
        let lines = json.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect::<Vec<Value>>()
    };
    // What one node spoils the other one answers. It comes first and is faster, so it is met.
    let lines = run(&format!("{bad}{good}"), 0);
    let [first, seconds @ .., last] = &lines[..] else {
        panic!("{lines:?}");
    };
    assert_eq!(first["event"], "started");
    assert!(first["gateway"].as_str().unwrap().starts_with("http://"));
    for second in seconds {
        assert_eq!(second["event"], "second");
        assert_eq!(second["calls"], second["right"]);
        // A read is pinned to a head that was read within the last second.
        assert!(second["behind"].as_u64() <= Some(1));
    }
    assert_eq!(last["event"], "ended");
    assert_eq!((&last["kept"], &last["wrong"]), (&true.into(), &0.into()));
    assert_eq!(last["violations"], 0);
    assert!(last["nodes"][0]["hidden"].as_u64().unwrap() > 0);
    // And where there is no other one the bound is broken.
    let lines = run(bad, 1);
    let last = lines.last().unwrap();
    assert_eq!(last["kept"], false);
    assert!(last["wrong"].as_u64().unwrap() > 0);
}

// B-4
#[test]
fn the_gateway_goes_with_sockets_and_a_time_to_settle_with_a_fault_that_begins() {
    let file = TempFile::new("gateway-usage.toml", SCENARIO);
    let (_, problem) = ends(&[file.path(), "--gateway", "--virtual"], 2);
    assert!(problem.contains("--gateway"), "{problem}");
    let text = format!("{SCENARIO}[bounds]\nsettle = '1s'\n");
    let file = TempFile::new("gateway-settle.toml", &text);
    let (_, problem) = ends(&[file.path(), "--gateway", "--listen", "127.0.0.1:0"], 64);
    assert!(problem.contains("settle"), "{problem}");
}
