//! A gateway, its endpoints, and a client that sends exactly the bytes it is told to.

use highwater::SecretUrl;
use highwater_core::ChainId;
use highwater_gateway::{
    Gateway, Running, Settings,
    config::{
        AdminSettings, ChainSettings, EndpointSettings, KeySettings, LogFormat, LogSettings,
        MethodRules, ServerSettings, StateSettings, WritePolicy,
    },
};
use highwater_lab::sockets::ScriptedNode;
use serde_json::Value;
use std::{net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// One gateway before one scripted node.
pub(crate) struct Site {
    pub(crate) node: ScriptedNode,
    pub(crate) gateway: Running,
    heard: usize,
}

impl Site {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// Starts with changed settings.
    pub(crate) async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let node = ScriptedNode::start().await;
        let mut settings = settings(&[("ethereum", Some(1), &[node.url()])]);
        change(&mut settings);
        let gateway = Gateway::start(settings).await.unwrap();
        let heard = node.record().total();
        Self {
            node,
            gateway,
            heard,
        }
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.gateway.addr).await
    }

    /// One POST of JSON on a connection of its own.
    pub(crate) async fn post(&self, body: &str) -> Response {
        self.client().await.post("/", &[], body.as_bytes()).await
    }

    /// One POST with more headers.
    pub(crate) async fn post_with(&self, headers: &[(&str, &str)], body: &str) -> Response {
        self.client()
            .await
            .post("/", headers, body.as_bytes())
            .await
    }

    /// One call; the answer must be 200.
    pub(crate) async fn call(&self, body: &str) -> Value {
        let response = self.post(body).await;
        assert_eq!(response.status, 200, "{body}");
        response.json()
    }

    /// Requests that the node got since the start or since the last question.
    pub(crate) fn heard(&mut self) -> usize {
        let total = self.node.record().total();
        let new = total - self.heard;
        self.heard = total;
        new
    }

    #[track_caller]
    pub(crate) fn heard_nothing(&mut self) {
        assert_eq!(
            self.heard(),
            0,
            "an endpoint heard of it: {:?}",
            self.node.record().calls().last()
        );
    }
}

/// Settings as the defaults are, on free ports.
pub(crate) fn settings(chains: &[(&str, Option<u64>, &[String])]) -> Settings {
    let chains = chains.iter().map(|(name, id, urls)| ChainSettings {
        name: (*name).to_string(),
        aliases: vec![],
        id: id.map(ChainId),
        endpoints: urls
            .iter()
            .enumerate()
            .map(|(at, url)| {
                EndpointSettings::new(format!("node-{at}"), SecretUrl::parse(url).unwrap())
            })
            .collect(),
        timeout: Duration::from_secs(5),
        deadline: None,
        write_timeout: None,
        writes: WritePolicy::Once,
        broadcast_to: 3,
        verify_writes: None,
        private_writes: false,
        never_repeat: vec![],
        max_reply: 32 * 1024 * 1024,
        // Probes are requests that no test counts on.
        engine: highwater_core::settings::Settings {
            probe: None,
            // Nor on answers from memory; tests of reads turn them on.
            reads: highwater_core::settings::ReadSettings::off(),
            ..highwater_core::settings::Settings::gateway()
        },
    });
    Settings {
        server: ServerSettings {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            workers: 2,
            allowed_hosts: vec![],
            allowed_origins: vec![],
            max_body: 5 * 1024 * 1024,
            max_batch: 100,
            max_batch_response: 25_000_000,
            max_in_flight: 10_000,
            max_connections: 10_000,
            max_sessions: 10_000,
            deadline: Duration::from_secs(9),
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            drain_delay: Duration::ZERO,
            drain_timeout: Duration::from_secs(30),
            strict: false,
            response_headers: false,
            require_ready: false,
            methods: MethodRules::default(),
            region: None,
        },
        admin: AdminSettings {
            listen: None,
            token: None,
        },
        chains: chains.collect(),
        keys: vec![],
        error_rules: None,
        state: StateSettings::default(),
        log: LogSettings {
            format: LogFormat::Json,
            level: "error".into(),
        },
    }
}

/// A key whose hash is the SHA-256 of `text`.
pub(crate) fn key(name: &str, text: &str) -> KeySettings {
    use sha2::Digest;
    KeySettings {
        name: name.into(),
        hash: sha2::Sha256::digest(text).into(),
        methods: MethodRules::default(),
        origins: vec![],
        chains: vec![],
        strategy: None,
        writes: None,
        private_writes: None,
    }
}

/// A connection.
pub(crate) struct Client {
    stream: TcpStream,
    host: String,
    buffer: Vec<u8>,
}

/// A parsed response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Client {
    pub(crate) async fn connect(addr: SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream,
            host: addr.to_string(),
            buffer: Vec::new(),
        }
    }

    /// `None` where nobody listens any more.
    pub(crate) async fn try_connect(addr: SocketAddr) -> Option<Self> {
        let stream = TcpStream::connect(addr).await.ok()?;
        Some(Self {
            stream,
            host: addr.to_string(),
            buffer: Vec::new(),
        })
    }

    /// Sends bytes as they are. Whether the gateway still takes them shows in what it answers.
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref()).await;
    }

    /// `None` where the connection ends before an answer. The answer has no body to speak of.
    pub(crate) async fn try_response(&mut self) -> Option<Response> {
        while !self.buffer.windows(4).any(|w| w == b"\r\n\r\n") {
            if self.fill().await == 0 {
                return None;
            }
        }
        Some(self.response().await)
    }

    /// A request with `Host` and, where there is a body, its length and JSON as its type, unless
    /// the headers given say otherwise.
    pub(crate) fn request(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Vec<u8> {
        let has = |name: &str| headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
        let mut head = format!("{method} {target} HTTP/1.1\r\n");
        if !has("host") {
            head += &format!("Host: {}\r\n", self.host);
        }
        if !body.is_empty() {
            if !has("content-type") {
                head += "Content-Type: application/json\r\n";
            }
            if !has("content-length") && !has("transfer-encoding") {
                head += &format!("Content-Length: {}\r\n", body.len());
            }
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        [head.as_bytes(), b"\r\n", body].concat()
    }

    pub(crate) async fn ask(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Response {
        let request = self.request(method, target, headers, body);
        self.send(request).await;
        if method == "HEAD" {
            self.head_only().await
        } else {
            self.response().await
        }
    }

    pub(crate) async fn post(
        &mut self,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Response {
        self.ask("POST", target, headers, body).await
    }

    pub(crate) async fn get(&mut self, target: &str) -> Response {
        self.ask("GET", target, &[], b"").await
    }

    pub(crate) async fn response(&mut self) -> Response {
        let mut response = self.head_only().await;
        let length = response
            .header("content-length")
            .map_or(0, |l| l.parse().unwrap());
        assert_eq!(
            response.header("transfer-encoding"),
            None,
            "answers are written whole"
        );
        while self.buffer.len() < length {
            assert!(
                self.fill().await > 0,
                "the connection ended in the middle of a body"
            );
        }
        response.body = self.buffer.drain(..length).collect();
        response
    }

    async fn head_only(&mut self) -> Response {
        let end = loop {
            if let Some(at) = self.buffer.windows(4).position(|w| w == b"\r\n\r\n") {
                break at;
            }
            assert!(
                self.fill().await > 0,
                "the connection ended before an answer"
            );
        };
        let head: Vec<u8> = self.buffer.drain(..end + 4).collect();
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.lines();
        let status = lines
            .next()
            .unwrap()
            .split(' ')
            .nth(1)
            .unwrap()
            .parse()
            .unwrap();
        let headers = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_string()))
            .collect();
        Response {
            status,
            headers,
            body: vec![],
        }
    }

    /// Whether the gateway closed the connection without another byte.
    pub(crate) async fn is_closed(&mut self) -> bool {
        self.buffer.is_empty() && self.fill().await == 0
    }

    async fn fill(&mut self) -> usize {
        // A reset is an end as well.
        self.stream.read_buf(&mut self.buffer).await.unwrap_or(0)
    }
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {:?}", self.text()))
    }

    pub(crate) fn code(&self) -> i64 {
        self.json()["error"]["code"].as_i64().unwrap()
    }

    /// The status and the code, for comparing with a row of the error table.
    pub(crate) fn row(&self) -> (u16, i64) {
        (self.status, self.code())
    }
}

/// A call of `eth_getBalance` with an id.
pub(crate) fn balance(id: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"eth_getBalance","params":["0x00000000000000000000000000000000000000aa","latest"]}}"#
    )
}
