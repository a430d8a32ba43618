//! The binary under test: started as a user starts it, spoken to over its sockets only.

use crate::{address::fresh_address, http::Http, process::Process, tools::highwater_path};
use serde_json::Value;
use std::{
    fs,
    net::SocketAddr,
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

/// What the binary says once a listener serves.
const LISTENING: &str = "highwater listening on http://";

/// A running gateway.
#[derive(Debug)]
pub struct Gateway {
    process: Process,
    address: SocketAddr,
    admin: SocketAddr,
    config: Option<PathBuf>,
    started_in: Duration,
}

/// How a gateway ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Everything it logged.
    pub stderr: String,
}

impl Gateway {
    /// `highwater serve --listen ADDRESS --admin-listen ADDRESS URL …`.
    ///
    /// # Panics
    /// When it does not say that it serves.
    #[must_use]
    pub fn urls(urls: &[String]) -> Self {
        let (listen, admin) = (fresh_address().to_string(), fresh_address().to_string());
        let mut args = vec!["serve", "--listen", &listen, "--admin-listen", &admin];
        args.extend(urls.iter().map(String::as_str));
        Self::start(&args, None)
    }

    /// `highwater serve --config FILE` with one chain named `dev`, of the given endpoints. `server`
    /// is added under `[server]`, `chain` under `[chains.dev]`. It leaves at once on SIGTERM, since
    /// no load balancer has to notice first.
    ///
    /// # Panics
    /// When it does not say that it serves.
    #[must_use]
    pub fn configured(urls: &[String], server: &str, chain: &str) -> Self {
        Self::of_chain(crate::CHAIN_ID, urls, server, chain)
    }

    /// The same for a chain of another id.
    ///
    /// # Panics
    /// When it does not say that it serves.
    #[must_use]
    pub fn of_chain(id: u64, urls: &[String], server: &str, chain: &str) -> Self {
        let text = format!("id = {id}\n{chain}\n");
        Self::from_text(&(settings(server) + &section("dev", &text, urls, |_| String::new())))
    }

    /// The same with a chain for each name, id and endpoints; each is served at the path of its
    /// name, and a lone one at `/` too. The endpoints have a tier each, so that calls meet the first
    /// one first. `chain` is added under each `[chains.NAME]`.
    ///
    /// # Panics
    /// When it does not say that it serves.
    #[must_use]
    pub fn chains(chains: &[(String, u64, Vec<String>)], server: &str, chain: &str) -> Self {
        let sections = chains.iter().map(|(name, id, urls)| {
            let text = format!("id = {id}\n{chain}\n");
            section(name, &text, urls, |index| format!("tier = {index}\n"))
        });
        Self::from_text(&(settings(server) + &sections.collect::<String>()))
    }

    /// Waits until it says that this is the newest block. What is mined behind its back it learns of by
    /// reading heads, of each node by itself.
    ///
    /// # Panics
    /// When it gives no number.
    pub fn sees(&self, block: u64) {
        const ASK: &str = r#"{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}"#;
        let mut client = self.client();
        loop {
            let answer = client.post(ASK).expect("an answer").text();
            let hex = answer
                .split("0x")
                .nth(1)
                .and_then(|rest| rest.split('"').next());
            let number = hex.and_then(|hex| u64::from_str_radix(hex, 16).ok());
            if number.expect("a block number") >= block {
                return;
            }
        }
    }

    fn from_text(text: &str) -> Self {
        let file = config_file();
        fs::write(&file, text).expect("the folder for temporary files can be written to");
        Self::start(
            &["serve", "--config", &file.display().to_string()],
            Some(file),
        )
    }

    fn start(args: &[&str], config: Option<PathBuf>) -> Self {
        let begun = Instant::now();
        let mut process = Process::start(&highwater_path(), args);
        let address = listener(&mut process);
        let started_in = begun.elapsed();
        let admin = listener(&mut process);
        Self {
            process,
            address,
            admin,
            config,
            started_in,
        }
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A new connection to it.
    #[must_use]
    pub const fn client(&self) -> Http {
        Http::new(self.address)
    }

    /// Whether it sends calls to an endpoint of its first chain as to any other, as it says itself on
    /// its admin listener: the circuit is closed, in every lane.
    ///
    /// # Panics
    /// When it does not say how the endpoint stands.
    #[must_use]
    pub fn relies_on(&self, index: usize) -> bool {
        let endpoint = &self.endpoints()[index];
        let lanes = endpoint["lanes"].as_array().expect("an endpoint");
        let mut gates = lanes.iter().chain([endpoint]);
        gates.all(|gate| gate["breaker"] == "closed")
    }

    /// How often it asked an endpoint of its first chain for a method, as it says itself on its admin
    /// listener; refused connections are in it.
    ///
    /// # Panics
    /// When it does not say.
    #[must_use]
    pub fn attempts(&self, method: &str) -> u64 {
        let endpoints = self.endpoints();
        let sent = |endpoint: &Value| endpoint["requests"]["methods"][method]["sent"].as_u64();
        let endpoints = endpoints.as_array().expect("endpoints");
        endpoints.iter().filter_map(sent).sum()
    }

    fn endpoints(&self) -> Value {
        let answer = Http::new(self.admin).get("/api/endpoints");
        let answer = answer.expect("the admin listener answers");
        let mut said: Value = serde_json::from_slice(&answer.body).expect("JSON");
        said["chains"][0]["endpoints"].take()
    }

    /// From the start of the process to its first line.
    #[must_use]
    pub const fn started_in(&self) -> Duration {
        self.started_in
    }

    /// Sends SIGTERM and goes on.
    pub fn terminate(&self) {
        self.process.terminate();
    }

    /// Waits for its end.
    #[must_use]
    pub fn wait(mut self) -> Exit {
        let code = self.process.wait().code();
        Exit {
            code,
            stderr: self.process.final_stderr(),
        }
    }

    /// Asks it to end and waits.
    #[must_use]
    pub fn stop(self) -> Exit {
        self.terminate();
        self.wait()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if let Some(file) = &self.config {
            // A file left in the temporary folder harms nobody.
            let _ = fs::remove_file(file);
        }
    }
}

fn settings(server: &str) -> String {
    format!(
        "[server]\nlisten = \"{}\"\ndrain_delay = \"1ms\"\n{server}\n\n[admin]\nlisten = \"{}\"\n",
        fresh_address(),
        fresh_address()
    )
}

/// The next listener of which the process says that it serves.
fn listener(process: &mut Process) -> SocketAddr {
    let address = process.wait_for_line(LISTENING);
    let address = address.trim_end_matches('/');
    address.parse().expect("an address follows")
}

fn section(name: &str, chain: &str, urls: &[String], more: impl Fn(usize) -> String) -> String {
    let endpoints = urls.iter().enumerate().map(|(index, url)| {
        let more = more(index);
        format!("\n[[chains.{name}.endpoints]]\nlabel = \"node{index}\"\nurl = \"{url}\"\n{more}")
    });
    format!("\n[chains.{name}]\n{chain}") + &endpoints.collect::<String>()
}

fn config_file() -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!(
        "highwater-compat-{}-{number}.toml",
        std::process::id()
    ))
}
