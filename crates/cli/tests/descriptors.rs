//! The real binary with few file descriptors (hardening A8).

#![expect(clippy::unwrap_used, reason = "what a test prepares must work")]

use highwater_lab::sockets::{Answer, ScriptedNode};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice","params":[]}"#;

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends a request and returns what begins the answer and how it ends, once its body is there.
fn ask(stream: &mut TcpStream, request: &str) -> std::io::Result<String> {
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    let mut piece = [0; 4096];
    loop {
        let read = stream.read(&mut piece)?;
        if read == 0 {
            return Ok(answer);
        }
        answer.push_str(std::str::from_utf8(&piece[..read]).unwrap());
        if let Some((_, body)) = answer.split_once("\r\n\r\n")
            && (body.ends_with('}') || body.ends_with('\n'))
        {
            return Ok(answer);
        }
    }
}

fn call() -> String {
    format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{CALL}",
        CALL.len()
    )
}

// hardening A8
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_open_all_they_can_leave_descriptors_for_the_endpoints() {
    let node = ScriptedNode::start().await;
    node.on("eth_gasPrice").always(Answer::result("\"0x7\""));
    let url = format!("http://{}", node.addr());
    let mut child = Command::new("/bin/sh")
        .args(["-c", "ulimit -n 128; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_highwater"))
        .args(["serve", "--listen", "127.0.0.1:0", "--admin-listen", "off"])
        .arg(url)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let _child = Killed(child);
    let address = line.trim().rsplit('/').next().unwrap().to_owned();
    let connect = || TcpStream::connect(&address).unwrap();

    // These are in before anybody else, and have not needed an endpoint so far.
    let mut early: Vec<TcpStream> = (0..8).map(|_| connect()).collect();
    for stream in &mut early {
        let health = ask(stream, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        assert!(health.ends_with("ok\n"), "{health}");
    }
    // Others come until they are turned away: there are more of them than descriptors.
    let mut crowd: Vec<TcpStream> = (0..200).map(|_| connect()).collect();
    let last = crowd.last_mut().unwrap();
    assert!(ask(last, "").map_or(true, |answer| answer.is_empty()));
    for stream in &mut early {
        let answer = ask(stream, &call()).unwrap();
        assert!(answer.ends_with(r#""result":"0x7"}"#), "{answer}");
    }
    // When they have gone there is room again. That is seen by trying.
    drop(crowd);
    while !ask(&mut connect(), &call()).is_ok_and(|answer| answer.contains("0x7")) {}
}
