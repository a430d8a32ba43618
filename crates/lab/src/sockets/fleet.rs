//! The nodes of a scenario on real sockets, in real time.
//!
//! One port per node. While a node is down its port is closed, so that a connection is refused by
//! the operating system and not by a pretence.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use super::carriage;
use super::chronicle::Chronicle;
use super::tally::{Fate, Tally};
use super::wire::{Connection, HttpRequest, Played, Step};
use crate::call::parse_calls;
use crate::chain::{Chain, View};
use crate::history::{Event, History};
use crate::node::{Carriage, Delivery, Exchange, Node};
use crate::scenario::Scenario;

/// Pause between two tries to open a port again that something else took: 100 ms.
const REOPEN: Duration = Duration::from_millis(100);

/// One node of a fleet.
#[derive(Debug)]
pub struct Member {
    name: String,
    addr: SocketAddr,
    shared: Arc<Shared>,
    listening: watch::Receiver<bool>,
}

impl Member {
    /// Its name in the scenario.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its address.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// `http://ADDRESS/`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.addr)
    }

    /// What became of its answers so far.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.shared.tally.lock().clone()
    }

    /// Waits until its port is open, or closed.
    ///
    /// Cancellation: safe.
    pub async fn wait_for_listening(&self, open: bool) {
        let mut listening = self.listening.clone();
        // An error means that the fleet has stopped, and with it this port.
        let _ = listening.wait_for(|now| *now == open).await;
    }
}

#[derive(Debug)]
struct Shared {
    node: Mutex<Node>,
    index: usize,
    tally: Mutex<Tally>,
    told: Option<mpsc::UnboundedSender<Dealt>>,
    chronicle: Chronicle,
}

/// A request that a node has dealt with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dealt {
    /// The node's place in the scenario.
    pub node: usize,
    /// The body of the request.
    pub body: Bytes,
    /// What became of it.
    pub fate: Fate,
}

/// What is kept or told of requests.
#[derive(Default)]
struct Log {
    recorded: bool,
    told: Option<mpsc::UnboundedSender<Dealt>>,
}

/// Running nodes. Dropping it stops them.
#[derive(Debug)]
pub struct Fleet {
    chain: Arc<Chain>,
    members: Vec<Member>,
    chronicle: Chronicle,
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

/// Starts the nodes of a scenario. The first listens on `listen`, the others on the ports above it;
/// with port 0 each takes a free one. Scenario time begins now.
///
/// # Errors
///
/// When an address cannot be bound; the text names it.
pub async fn serve(scenario: &Scenario, listen: SocketAddr) -> io::Result<Fleet> {
    start(scenario, listen, Log::default()).await
}

/// [`serve`], and tells of every request once it is dealt with. The channel ends after
/// [`Fleet::stop`]; until then it grows unless it is read.
///
/// # Errors
///
/// When an address cannot be bound; the text names it.
pub async fn serve_told(
    scenario: &Scenario,
    listen: SocketAddr,
) -> io::Result<(Fleet, mpsc::UnboundedReceiver<Dealt>)> {
    let (told, dealt) = mpsc::unbounded_channel();
    let log = Log {
        told: Some(told),
        recorded: false,
    };
    Ok((start(scenario, listen, log).await?, dealt))
}

/// [`serve_told`], and keeps what nodes received and served, for the checker. It grows with every
/// request.
///
/// # Errors
///
/// When an address cannot be bound; the text names it.
pub async fn serve_recorded(
    scenario: &Scenario,
    listen: SocketAddr,
) -> io::Result<(Fleet, mpsc::UnboundedReceiver<Dealt>)> {
    let (told, dealt) = mpsc::unbounded_channel();
    let log = Log {
        recorded: true,
        told: Some(told),
    };
    Ok((start(scenario, listen, log).await?, dealt))
}

async fn start(scenario: &Scenario, listen: SocketAddr, log: Log) -> io::Result<Fleet> {
    let (chain, nodes) = scenario.build();
    // The blocks that exist at the start are built before anyone measures an answer.
    let view = View::healthy(Duration::ZERO);
    let _ = chain.block(&view, chain.head(&view));
    let mut listeners = Vec::with_capacity(nodes.len());
    for index in 0..nodes.len() {
        let address = address(listen, index)?;
        let listener = TcpListener::bind(address).await;
        listeners.push(listener.map_err(|error| at(address, &error))?);
    }
    let stop = watch::Sender::new(false);
    let mut fleet = Fleet {
        chain,
        members: Vec::new(),
        chronicle: Chronicle::begin(log.recorded),
        stop,
        tasks: Vec::new(),
    };
    for (index, (node, listener)) in nodes.into_iter().zip(listeners).enumerate() {
        let name = node.profile().name.clone();
        let addr = listener.local_addr()?;
        let shared = Arc::new(Shared {
            node: Mutex::new(node),
            index,
            tally: Mutex::new(Tally::default()),
            told: log.told.clone(),
            chronicle: fleet.chronicle.clone(),
        });
        // A node that begins down is never reachable, not even for a moment.
        let listener = (!shared.node.lock().down(Duration::ZERO)).then_some(listener);
        let (opened, listening) = watch::channel(listener.is_some());
        let port = Port {
            addr,
            shared: Arc::clone(&shared),
            opened,
        };
        let stopped = fleet.stop.subscribe();
        fleet.tasks.push(tokio::spawn(port.live(listener, stopped)));
        fleet.members.push(Member {
            name,
            addr,
            shared,
            listening,
        });
    }
    Ok(fleet)
}

fn address(listen: SocketAddr, index: usize) -> io::Result<SocketAddr> {
    let mut addr = listen;
    if listen.port() != 0 {
        let port = u16::try_from(index)
            .ok()
            .and_then(|index| listen.port().checked_add(index));
        let none = || io::Error::new(io::ErrorKind::InvalidInput, "no port left for every node");
        addr.set_port(port.ok_or_else(none)?);
    }
    Ok(addr)
}

/// The same kind of error, saying where.
fn at(address: SocketAddr, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{address}: {error}"))
}

impl Fleet {
    /// The nodes, in the order of the scenario.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The chain that they share.
    #[must_use]
    pub fn chain(&self) -> &Arc<Chain> {
        &self.chain
    }

    /// Scenario time now.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.chronicle.now()
    }

    /// Its clock and its history, for clients that share both.
    #[must_use]
    pub fn chronicle(&self) -> &Chronicle {
        &self.chronicle
    }

    /// What nodes received and served so far, and what their clients wrote beside it; empty unless
    /// recorded.
    #[must_use]
    pub fn history(&self) -> History {
        self.chronicle.history()
    }

    /// Closes every port and connection, and waits until they are closed. Returns the final counts,
    /// in the order of the scenario; requests under way are among them, as cut off by the client.
    pub async fn stop(mut self) -> Vec<Tally> {
        self.stop.send_replace(true);
        for task in self.tasks.drain(..) {
            // A task that panicked has closed its port too.
            let _ = task.await;
        }
        self.members.iter().map(Member::tally).collect()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// One node's port, open and closed.
struct Port {
    addr: SocketAddr,
    shared: Arc<Shared>,
    opened: watch::Sender<bool>,
}

impl Port {
    async fn live(self, mut listener: Option<TcpListener>, mut stopped: watch::Receiver<bool>) {
        let mut connections = JoinSet::new();
        loop {
            let now = self.shared.chronicle.now();
            let (down, change) = {
                let node = self.shared.node.lock();
                (node.down(now), node.next_turn(now))
            };
            let mut change = change;
            if down {
                listener = None;
                connections.shutdown().await;
            } else if listener.is_none() {
                listener = TcpListener::bind(self.addr).await.ok();
                if listener.is_none() {
                    change = Some(now.saturating_add(REOPEN));
                }
            }
            self.opened.send_if_modified(|open| {
                let changed = *open != listener.is_some();
                *open = listener.is_some();
                changed
            });
            tokio::select! {
                biased;
                _ = stopped.wait_for(|stop| *stop) => break,
                () = until(self.shared.chronicle.started(), change) => {}
                accepted = accept(listener.as_ref()) => {
                    // A failed accept is the client's haste (it reset before we took it).
                    if let Ok((stream, _)) = accepted {
                        let shared = Arc::clone(&self.shared);
                        connections.spawn(converse(Connection::new(stream), shared));
                    }
                }
                Some(_) = connections.join_next() => {}
            }
        }
        drop(listener);
        connections.shutdown().await;
    }
}

async fn accept(listener: Option<&TcpListener>) -> io::Result<(tokio::net::TcpStream, SocketAddr)> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}

async fn until(started: Instant, change: Option<Duration>) {
    match change.and_then(|change| started.checked_add(change)) {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

async fn converse(mut connection: Connection, shared: Arc<Shared>) {
    while let Ok(Some(request)) = connection.read_request().await {
        let asked = shared.chronicle.now();
        let mut open = Open {
            exchange: shared.ask(&request, asked),
            request,
            shared: &shared,
            played: Played::Abandoned,
        };
        let steps = carriage::steps(&open.exchange);
        open.played = connection.play(&steps).await;
        shared.record_served(&open.request, &open.exchange, &steps, asked);
        if open.played != Played::Kept {
            return;
        }
    }
}

/// A request under way. It is counted when it is over, and also when the fleet stops before.
struct Open<'a> {
    shared: &'a Shared,
    request: HttpRequest,
    exchange: Exchange,
    played: Played,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let fate = Fate::of(&self.exchange, self.played);
        self.shared.tally.lock().count(fate);
        if let Some(told) = &self.shared.told {
            // Nobody may be listening any more.
            let _ = told.send(Dealt {
                node: self.shared.index,
                body: self.request.body.clone(),
                fate,
            });
        }
    }
}

impl Shared {
    fn ask(&self, request: &HttpRequest, now: Duration) -> Exchange {
        if request.method != "POST" {
            let mut refusal = Delivery::json("");
            refusal.status = 405;
            refusal
                .headers
                .push(("allow".to_owned(), "POST".to_owned()));
            return Exchange {
                delay: Duration::ZERO,
                carriage: Carriage::Answer(refusal),
                cue: None,
            };
        }
        if self.chronicle.is_kept() {
            let calls = parse_calls(&request.body).1.into_iter();
            self.chronicle.keep(calls.map(|call| Event::Received {
                at: now,
                node: self.index,
                id: call.id,
                method: call.method,
                params: call.params.unwrap_or_else(|| "[]".to_owned()),
            }));
        }
        // Callers are told apart as providers do it: by the key in a header or in the path.
        let client = request.header("x-api-key").unwrap_or(&request.target);
        self.node.lock().ask(now, client, &request.body)
    }

    /// Keeps an answer, as of the moment from which its client could have it.
    fn record_served(
        &self,
        request: &HttpRequest,
        exchange: &Exchange,
        steps: &[Step],
        asked: Duration,
    ) {
        let (true, Carriage::Answer(delivery)) = (self.chronicle.is_kept(), &exchange.carriage)
        else {
            return;
        };
        if steps
            .iter()
            .any(|step| matches!(step, Step::Close | Step::Reset))
        {
            return;
        }
        let calls = parse_calls(&request.body).1;
        self.chronicle.keep([Event::Served {
            at: asked.saturating_add(exchange.delay),
            node: self.index,
            ids: calls.iter().map(|call| call.id.clone()).collect(),
            methods: calls.into_iter().map(|call| call.method).collect(),
            status: delivery.status,
            body: String::from_utf8_lossy(&delivery.body).into_owned(),
        }]);
    }
}
