//! HTTP/1.1 as endpoints speak it, well or badly, on connections that are kept or not.

use crate::bench::{AMPLE, SHORT, maybe_sent, message, result_of, send};
use bytes::Bytes;
use highwater::{
    SecretUrl,
    upstream::{HttpOptions, HttpUpstream, SendErrorKind},
};
use std::sync::mpsc;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

const BODY: &str = r#"{"jsonrpc":"2.0","id":1,"result":"0x1"}"#;
/// More than the buffers of two sockets hold.
const MORE_THAN_FITS: usize = 64 << 20;

fn upstream(address: std::net::SocketAddr) -> HttpUpstream {
    let url = SecretUrl::parse(&format!("http://{address}/")).unwrap();
    let options = HttpOptions {
        lanes: 1,
        ..HttpOptions::default()
    };
    HttpUpstream::new(&url, options).unwrap()
}

fn ok(fields: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\n{fields}content-length: {}\r\n\r\n{BODY}",
        BODY.len()
    )
}

/// Reads one request to its end; `false` where the connection ends instead.
async fn take_request(socket: &mut TcpStream) -> bool {
    let mut seen = Vec::new();
    while !seen.ends_with(b"\"params\":[]}") {
        if !matches!(socket.read_buf(&mut seen).await, Ok(1..)) {
            return false;
        }
    }
    true
}

/// An endpoint that gives these answers, each to one request, in pieces of this size. It says how
/// many connections it took.
async fn endpoint(answers: Vec<String>, piece: usize) -> (HttpUpstream, mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream = upstream(listener.local_addr().unwrap());
    let (opened, openings) = mpsc::channel();
    tokio::spawn(async move {
        let mut answers = answers.into_iter();
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            socket.set_nodelay(true).unwrap();
            let _ = opened.send(());
            while take_request(&mut socket).await {
                let answer = answers.next().unwrap();
                for part in answer.as_bytes().chunks(piece) {
                    if socket.write_all(part).await.is_err() {
                        break;
                    }
                }
            }
        }
    });
    (upstream, openings)
}

#[tokio::test]
async fn keeps_a_connection_only_when_nothing_about_it_is_in_doubt() {
    let length = BODY.len();
    for (answer, connections) in [
        (ok(""), 1),
        (ok("connection: keep-alive\r\n"), 1),
        (ok(&format!("content-length: {length}\r\n")), 1),
        (format!("HTTP/1.1 100 Continue\r\n\r\n{}", ok("")), 1),
        (
            format!(
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{length:x};a=b\r\n{BODY}\r\n0\r\na: b\r\n\r\n"
            ),
            1,
        ),
        (
            ok("")
                .replace("1.1", "1.0")
                .replace("OK\r\n", "OK\r\nconnection: keep-alive\r\n"),
            1,
        ),
        (ok("").replace("1.1", "1.0"), 2),
        (ok("connection: close\r\n"), 2),
        (format!("{}\r\n", ok("")), 2),
        (format!("{}{}", ok(""), ok("")), 2),
    ] {
        for piece in [1, 1000] {
            let (upstream, openings) = endpoint(vec![answer.clone(), ok("")], piece).await;
            for _ in 0..2 {
                let reply = send(&upstream, "eth_call").await.unwrap();
                assert_eq!(result_of(&reply), "\"0x1\"", "{answer}");
            }
            assert_eq!(openings.try_iter().count(), connections, "{answer}");
        }
    }
}

// hardening E4
#[tokio::test]
async fn calls_an_answer_whose_end_is_in_doubt_bad_http_and_closes() {
    for fields in [
        "transfer-encoding: chunked\r\n",
        "transfer-encoding: gzip\r\n",
        "content-length: 1\r\n",
        "content-length: +5\r\n",
    ] {
        let (upstream, openings) = endpoint(vec![ok(fields), ok("")], 1000).await;
        let error = send(&upstream, "eth_call").await.unwrap_err();
        assert_eq!(error, maybe_sent(SendErrorKind::Protocol), "{fields}");
        send(&upstream, "eth_call").await.unwrap();
        assert_eq!(openings.try_iter().count(), 2);
    }
}

#[tokio::test]
async fn takes_an_answer_without_a_body() {
    for (head, status) in [
        ("HTTP/1.1 204 No Content\r\n\r\n", 204),
        (
            "HTTP/1.1 304 Not Modified\r\ncontent-length: 99\r\n\r\n",
            304,
        ),
        ("HTTP/1.1 500 \r\ncontent-length: 0\r\n\r\n", 500),
    ] {
        let (upstream, openings) = endpoint(vec![head.to_owned(), ok("")], 1000).await;
        let reply = send(&upstream, "eth_call").await.unwrap();
        assert_eq!((reply.status, reply.body.len()), (status, 0));
        send(&upstream, "eth_call").await.unwrap();
        assert_eq!(openings.try_iter().count(), 1);
    }
}

// An endpoint that refuses a request by its head does not read the rest of it.
#[tokio::test]
async fn takes_an_answer_that_comes_before_the_request_is_written() {
    for closes in [false, true] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let upstream = upstream(listener.local_addr().unwrap());
        let server = tokio::spawn(async move {
            let (mut early, _) = listener.accept().await.unwrap();
            early.read_u8().await.unwrap();
            let answer = "HTTP/1.1 413 Too Large\r\ncontent-length: 5\r\n\r\nlarge";
            early.write_all(answer.as_bytes()).await.unwrap();
            // With unread bytes in its buffer the socket is reset.
            let early = (!closes).then_some(early);
            let (mut next, _) = listener.accept().await.unwrap();
            assert!(take_request(&mut next).await);
            next.write_all(ok("").as_bytes()).await.unwrap();
            drop(early);
        });
        let large = Bytes::from(vec![b' '; MORE_THAN_FITS]);
        let reply = upstream.exchange(large, AMPLE).await.unwrap();
        assert_eq!((reply.status, &reply.body[..]), (413, &b"large"[..]));
        let reply = send(&upstream, "eth_call").await.unwrap();
        assert_eq!(result_of(&reply), "\"0x1\"");
        server.await.unwrap();
    }
}

// The whole request is needed for the rest of the answer.
#[tokio::test]
async fn goes_on_writing_while_it_reads_the_body() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream = upstream(listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        socket.read_u8().await.unwrap();
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        socket.write_all(head.as_bytes()).await.unwrap();
        let mut left = MORE_THAN_FITS;
        let mut piece = vec![0; 1 << 20];
        while left > 0 {
            left = left.saturating_sub(socket.read(&mut piece).await.unwrap());
        }
        socket.write_all(b"4\r\nread\r\n0\r\n\r\n").await.unwrap();
        socket
    });
    let large = Bytes::from(vec![b' '; MORE_THAN_FITS]);
    let reply = upstream.exchange(large, AMPLE).await.unwrap();
    assert_eq!(reply.body, "read");
}

// R-36
#[tokio::test]
async fn says_maybe_sent_when_a_part_of_the_request_was_written() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream = upstream(listener.local_addr().unwrap());
    let large = Bytes::from(vec![b' '; MORE_THAN_FITS]);
    let error = upstream.exchange(large.clone(), SHORT).await.unwrap_err();
    assert_eq!(error, maybe_sent(SendErrorKind::Timeout));
    tokio::spawn(async move {
        // The connection of the first request comes first.
        for _ in 0..2 {
            let (mut socket, _) = listener.accept().await.unwrap();
            let _ = socket.read_u8().await;
        }
    });
    let error = upstream.exchange(large, AMPLE).await.unwrap_err();
    assert_eq!(error, maybe_sent(SendErrorKind::Reset));
}

// An answer that nobody asked for must not become the answer of the next request.
#[tokio::test]
async fn does_not_take_what_was_said_before_the_request_for_its_answer() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = upstream(listener.local_addr().unwrap());
    let (go_on, told) = mpsc::channel();
    let (said, is_said) = mpsc::channel();
    std::thread::spawn(move || {
        for (number, socket) in listener.incoming().enumerate() {
            let mut socket = socket.unwrap();
            let mut request = vec![0; 4096];
            assert!(socket.read(&mut request).unwrap() > 0);
            socket.write_all(ok("").as_bytes()).unwrap();
            if told.recv().is_err() {
                return;
            }
            let odd = ok("").replace("0x1", &format!("odd {number}"));
            socket.write_all(odd.as_bytes()).unwrap();
            said.send(socket).unwrap();
        }
    });
    let mut open = Vec::new();
    for _ in 0..20 {
        let reply = upstream.exchange(message("eth_call"), AMPLE).await.unwrap();
        assert_eq!(result_of(&reply), "\"0x1\"");
        go_on.send(()).unwrap();
        open.push(is_said.recv().unwrap());
    }
}
