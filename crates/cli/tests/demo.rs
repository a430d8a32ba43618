//! `highwater demo`, as the real binary.

#![expect(clippy::unwrap_used, reason = "what a test prepares must work")]

use std::{
    io::{BufRead, BufReader, Read},
    net::TcpListener,
    process::{Command, Stdio},
};

fn demo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_highwater"));
    command.env_clear().stdin(Stdio::null()).arg("demo");
    command.args(arguments);
    command
}

/// The words of the line that begins with a word, and of the line below it.
fn words_under<'a>(text: &'a str, first: &str) -> Vec<&'a str> {
    let mut lines = text.lines().map(|line| line.split_whitespace());
    lines
        .find(|words| words.clone().next() == Some(first))
        .unwrap();
    lines.next().unwrap().collect()
}

/// Requests, served, failed, hidden, left, own.
fn row(text: &str, name: &str) -> [u64; 6] {
    let tables = text.rsplit_once("endpoint").unwrap().1;
    let mut lines = tables.lines().map(|line| line.split_whitespace());
    let words = lines.find(|words| words.clone().next() == Some(name));
    let numbers = words.unwrap().skip(1).map_while(|word| word.parse().ok());
    let numbers: Vec<u64> = numbers.take(6).collect();
    numbers.try_into().unwrap()
}

// B-1
#[test]
fn hides_every_fault_and_its_table_adds_up() {
    let output = demo(&["--for", "2s", "--listen", "127.0.0.1:0", "--seed", "5"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let problem = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}\n{problem}");
    assert_eq!(problem, "");
    let listening = |line: &&str| line.starts_with("highwater listening on http://127.0.0.1:");
    assert_eq!(text.lines().take_while(listening).count(), 2, "{text}");
    assert!(text.contains("(seed 5)"), "{text}");

    let summary = words_under(&text, "calls");
    let calls: u64 = summary[0].parse().unwrap();
    let success: f64 = summary[1].parse().unwrap();
    let per_call: f64 = summary[5].parse().unwrap();
    assert!(calls > 0 && success > 99.9, "{text}");

    let all = row(&text, "all");
    let mut sums = [0; 6];
    for name in ["fast", "moody", "tired", "broken", "late", "steady"] {
        let row = row(&text, name);
        for (sum, count) in sums.iter_mut().zip(row) {
            *sum += count;
        }
    }
    assert_eq!(sums, all, "{text}");
    let [requests, served, failed, hidden, left, own] = all;
    assert_eq!(requests, served + failed + left + own, "{text}");
    assert!(hidden > 0 && hidden <= failed, "{text}");
    assert!((per_call - requests as f64 / calls as f64).abs() < 0.006);
    // A call that got the right answer has it from a node.
    assert!(
        served as f64 >= calls as f64 * success / 100.0 - 1.0,
        "{text}"
    );
}

// B-1
#[test]
fn ends_with_0_and_its_table_when_interrupted() {
    let mut child = demo(&["--for", "1h", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains("  time ") {
        assert_ne!(stdout.read_line(&mut text).unwrap(), 0, "{text}");
    }
    let interrupt = format!("kill -INT {}", child.id());
    let status = Command::new("sh").args(["-c", &interrupt]).status();
    assert!(status.unwrap().success());
    stdout.read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{text}");
    assert!(
        text.ends_with("\nstopped before its end: no verdict\n"),
        "{text}"
    );
    let [requests, served, failed, hidden, left, own] = row(&text, "all");
    assert_eq!(requests, served + failed + left + own, "{text}");
    assert!(hidden <= failed, "{text}");
}

// B-1, G-13
#[test]
fn a_port_in_use_ends_with_71() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = demo(&["--listen", &address]).output().unwrap();
    let problem = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(71), "{problem}");
    assert!(
        problem.starts_with(&format!("error: cannot listen on {address}: ")),
        "{problem}"
    );
}
