//! TLS and HTTP/2.

use crate::bench::{AMPLE, SHORT, maybe_sent, result_of, send, send_within, unsent};
use bytes::Bytes;
use highwater::{
    SecretUrl,
    upstream::{ExtraRoots, HttpOptions, HttpUpstream, SendErrorKind},
};
use highwater_lab::sockets::Gate;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_rustls::{TlsAcceptor, rustls, server::TlsStream};

const REPLY: &str = r#"{"jsonrpc":"2.0","id":1,"result":"0x1"}"#;

/// What an HTTP/2 server does with a request.
#[derive(Clone)]
enum Play {
    Answer,
    Hold(Gate),
    Refuse,
    Reset,
    GoAway,
}

/// A server with a certificate made just now.
struct Server {
    url: SecretUrl,
    certificate: rcgen::Certificate,
    connections: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    async fn start(alpn: &[&[u8]], play: Play) -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key.into())
            .unwrap();
        config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let requests = Arc::new(AtomicUsize::new(0));
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let task = tokio::spawn({
            let (connections, requests) = (Arc::clone(&connections), Arc::clone(&requests));
            async move {
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    let (acceptor, play) = (acceptor.clone(), play.clone());
                    let (connections, requests) = (Arc::clone(&connections), Arc::clone(&requests));
                    tokio::spawn(async move {
                        let Ok(tls) = acceptor.accept(stream).await else {
                            return;
                        };
                        connections.fetch_add(1, Ordering::SeqCst);
                        if tls.get_ref().1.alpn_protocol() == Some(b"h2") {
                            serve_http2(tls, play, &requests).await;
                        } else {
                            serve_http1(tls, &requests).await;
                        }
                    });
                }
            }
        });
        let url = SecretUrl::parse(&format!("https://localhost:{port}/v1/some-key")).unwrap();
        Self {
            url,
            certificate: made.cert,
            connections,
            requests,
            task,
        }
    }

    fn options(&self) -> HttpOptions {
        let extra_roots = ExtraRoots::default().der(self.certificate.der().to_vec());
        HttpOptions {
            extra_roots,
            lanes: 1,
            ..HttpOptions::default()
        }
    }

    fn upstream(&self) -> HttpUpstream {
        HttpUpstream::new(&self.url, self.options()).unwrap()
    }

    fn seen(&self) -> (usize, usize) {
        (
            self.connections.load(Ordering::SeqCst),
            self.requests.load(Ordering::SeqCst),
        )
    }
}

async fn serve_http2(tls: TlsStream<TcpStream>, play: Play, requests: &AtomicUsize) {
    let Ok(mut connection) = h2::server::handshake(tls).await else {
        return;
    };
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        requests.fetch_add(1, Ordering::SeqCst);
        assert_eq!(request.uri().path(), "/v1/some-key");
        assert_eq!(request.uri().host(), Some("localhost"));
        assert_eq!(request.headers()["accept-encoding"], "gzip");
        let play = play.clone();
        let answer = move |respond: &mut h2::server::SendResponse<Bytes>| {
            let head = http::Response::builder().status(200).body(()).unwrap();
            if let Ok(mut body) = respond.send_response(head, false) {
                let _ = body.send_data(Bytes::from_static(REPLY.as_bytes()), true);
            }
        };
        match play {
            Play::Answer => answer(&mut respond),
            Play::Hold(gate) => {
                tokio::spawn(async move {
                    gate.pass().await;
                    answer(&mut respond);
                });
            }
            Play::Refuse => respond.send_reset(h2::Reason::REFUSED_STREAM),
            Play::Reset => respond.send_reset(h2::Reason::INTERNAL_ERROR),
            Play::GoAway => {
                answer(&mut respond);
                connection.graceful_shutdown();
            }
        }
    }
}

async fn serve_http1(mut tls: TlsStream<TcpStream>, requests: &AtomicUsize) {
    let mut seen = Vec::new();
    while tls.read_buf(&mut seen).await.is_ok_and(|read| read > 0) {
        if seen.ends_with(b"\"params\":[]}") {
            requests.fetch_add(1, Ordering::SeqCst);
            seen.clear();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", REPLY.len());
            tls.write_all(format!("{head}{REPLY}").as_bytes())
                .await
                .unwrap();
        }
    }
}

#[tokio::test]
async fn puts_all_calls_of_a_worker_on_one_http2_connection() {
    let gate = Gate::new();
    let server = Server::start(&[b"h2", b"http/1.1"], Play::Hold(gate.clone())).await;
    let upstream = server.upstream();
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let upstream = upstream.clone();
            tokio::spawn(async move { send(&upstream, "eth_call").await.unwrap() })
        })
        .collect();
    gate.wait_for_held(20).await;
    gate.open();
    for call in calls {
        assert_eq!(result_of(&call.await.unwrap()), "\"0x1\"");
    }
    assert_eq!(server.seen(), (1, 20));
}

#[tokio::test]
async fn speaks_http1_over_tls_where_the_server_chooses_it() {
    let server = Server::start(&[b"http/1.1"], Play::Answer).await;
    let upstream = server.upstream();
    for _ in 0..3 {
        assert_eq!(
            result_of(&send(&upstream, "eth_call").await.unwrap()),
            "\"0x1\""
        );
    }
    assert_eq!(server.seen(), (1, 3));
    let server = Server::start(&[], Play::Answer).await;
    let upstream = server.upstream();
    assert_eq!(
        result_of(&send(&upstream, "eth_call").await.unwrap()),
        "\"0x1\""
    );
}

// What TLS took and did not write yet goes out as well.
#[tokio::test]
async fn carries_a_large_request_over_http1_and_tls() {
    let server = Server::start(&[b"http/1.1"], Play::Answer).await;
    let upstream = server.upstream();
    let message = format!("{{\"pad\":\"{}\",\"params\":[]}}", " ".repeat(16 << 20));
    for _ in 0..2 {
        let sent = upstream.exchange(message.clone().into(), AMPLE).await;
        assert_eq!(result_of(&sent.unwrap()), "\"0x1\"");
    }
    assert_eq!(server.seen(), (1, 2));
}

// hardening C13, E1
#[tokio::test]
async fn sends_nothing_to_a_server_whose_certificate_is_not_trusted() {
    let server = Server::start(&[b"h2"], Play::Answer).await;
    let strict = HttpUpstream::new(&server.url, HttpOptions::default()).unwrap();
    let error = send(&strict, "eth_call").await.unwrap_err();
    assert_eq!(error, unsent(SendErrorKind::Tls));
    let text = server
        .url
        .expose()
        .as_str()
        .replace("localhost", "127.0.0.1");
    let misnamed = SecretUrl::parse(&text).unwrap();
    let misnamed = HttpUpstream::new(&misnamed, server.options()).unwrap();
    let error = send(&misnamed, "eth_call").await.unwrap_err();
    assert_eq!(error, unsent(SendErrorKind::Tls));
    assert_eq!(server.seen().1, 0);
}

// hardening C13
#[tokio::test]
async fn trusts_a_private_authority_from_a_pem_file() {
    let server = Server::start(&[b"h2"], Play::Answer).await;
    let folder = std::env::temp_dir().join(format!("highwater-tls-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("root.pem");
    std::fs::write(&file, server.certificate.pem()).unwrap();
    let extra_roots = ExtraRoots::default().pem_file(&file).unwrap();
    let options = HttpOptions {
        extra_roots,
        ..HttpOptions::default()
    };
    let upstream = HttpUpstream::new(&server.url, options).unwrap();
    assert_eq!(
        result_of(&send(&upstream, "eth_call").await.unwrap()),
        "\"0x1\""
    );
    std::fs::write(&file, "no certificate").unwrap();
    assert_eq!(
        ExtraRoots::default().pem_file(&file).unwrap_err().field,
        "extra_roots"
    );
    assert!(
        ExtraRoots::default()
            .pem_file(folder.join("absent"))
            .is_err()
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

// R-36, RFC 9113 section 8.7
#[tokio::test]
async fn takes_a_refused_stream_for_proof_and_a_reset_one_for_none() {
    let refusing = Server::start(&[b"h2"], Play::Refuse).await;
    let error = send(&refusing.upstream(), "eth_call").await.unwrap_err();
    assert_eq!(error, unsent(SendErrorKind::Reset));
    let breaking = Server::start(&[b"h2"], Play::Reset).await;
    let error = send(&breaking.upstream(), "eth_call").await.unwrap_err();
    assert_eq!(error, maybe_sent(SendErrorKind::Reset));
    assert_eq!((refusing.seen(), breaking.seen()), ((1, 1), (1, 1)));
}

// lesson 44
#[tokio::test]
async fn keeps_an_http2_connection_when_a_call_on_it_times_out() {
    let gate = Gate::new();
    let server = Server::start(&[b"h2"], Play::Hold(gate.clone())).await;
    let upstream = server.upstream();
    // The first call opens the connection; its limit is only for the answer.
    let opened = tokio::spawn({
        let upstream = upstream.clone();
        async move { send(&upstream, "eth_call").await }
    });
    gate.wait_for_held(1).await;
    let error = send_within(&upstream, "eth_call", SHORT).await.unwrap_err();
    assert_eq!(error, maybe_sent(SendErrorKind::Timeout));
    gate.open();
    opened.await.unwrap().unwrap();
    send(&upstream, "eth_call").await.unwrap();
    assert_eq!(server.seen().0, 1);
}

#[tokio::test]
async fn opens_another_http2_connection_after_the_server_says_goodbye() {
    let server = Server::start(&[b"h2"], Play::GoAway).await;
    let upstream = server.upstream();
    for _ in 0..3 {
        assert_eq!(
            result_of(&send(&upstream, "eth_call").await.unwrap()),
            "\"0x1\""
        );
        while server.connections.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
    }
}
