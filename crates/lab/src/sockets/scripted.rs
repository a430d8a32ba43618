//! A node on a real socket that does exactly what a test tells it.
//!
//! Without rules it is a tiny honest node. Rules replace single answers, whole HTTP answers or the
//! life of a connection; gates hold them. Nothing waits for a clock, so a test over real sockets is
//! as repeatable as one in memory.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::answer::Answer;
use super::record::{Received, Record};
use super::rules::Matcher;
use super::script::{ConnectionFault, Script};
use super::wire::{Connection, Played};
use crate::call::Call;

#[derive(Debug)]
struct Shared {
    script: Mutex<Script>,
    record: Record,
    /// Counts the orders to drop live connections.
    dropped: watch::Sender<u64>,
}

#[derive(Debug)]
struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// A scripted node. Dropping it stops it.
#[derive(Debug)]
pub struct ScriptedNode {
    addr: SocketAddr,
    shared: Arc<Shared>,
    running: Mutex<Option<Running>>,
}

impl ScriptedNode {
    /// Starts on a free port of 127.0.0.1, on the current runtime.
    ///
    /// # Panics
    ///
    /// When the loopback interface cannot be bound.
    pub async fn start() -> Self {
        Self::start_on(SocketAddr::from(([127, 0, 0, 1], 0)))
            .await
            .expect("invariant: a free loopback port can be bound")
    }

    /// Starts on the given address.
    ///
    /// # Errors
    ///
    /// When the address cannot be bound.
    pub async fn start_on(addr: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(addr).await?;
        let addr = listener.local_addr()?;
        let shared = Arc::new(Shared {
            script: Mutex::new(Script::new()),
            record: Record::new(),
            dropped: watch::Sender::new(0),
        });
        let running = Mutex::new(Some(run(listener, Arc::clone(&shared))));
        Ok(Self {
            addr,
            shared,
            running,
        })
    }

    /// Where it listens, or listened.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// `http://127.0.0.1:PORT/`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.addr)
    }

    /// What it saw.
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.shared.record
    }

    /// Stops listening and closes every connection; from then on connections are refused.
    pub async fn stop(&self) {
        let running = self.running.lock().take();
        if let Some(running) = running {
            // The receiver is gone only when the task has ended already.
            let _ = running.stop.send(());
            let _ = running.task.await;
        }
    }

    /// Listens again on the same port, with the same rules and record. Does nothing while running.
    ///
    /// # Errors
    ///
    /// When another process took the port meanwhile.
    pub async fn restart(&self) -> io::Result<()> {
        if self.running.lock().is_some() {
            return Ok(());
        }
        let listener = TcpListener::bind(self.addr).await?;
        *self.running.lock() = Some(run(listener, Arc::clone(&self.shared)));
        Ok(())
    }

    /// Closes every live connection, also in the middle of an answer; new ones are accepted.
    pub fn drop_connections(&self) {
        self.shared.dropped.send_modify(|count| *count += 1);
    }

    /// What `eth_chainId` and `net_version` say; 1 at first.
    pub fn set_chain_id(&self, chain_id: u64) {
        self.shared.script.lock().chain_id = chain_id;
    }

    /// What `eth_blockNumber` says; 100 at first.
    pub fn set_head(&self, head: u64) {
        self.shared.script.lock().head = head;
    }

    /// Answers batches in reversed order.
    pub fn reverse_batches(&self, reversed: bool) {
        self.shared.script.lock().reversed = reversed;
    }

    /// Treats the next `count` connections this way.
    pub fn fail_connections(&self, fault: ConnectionFault, count: usize) {
        let mut script = self.shared.script.lock();
        script.connection_faults.push((fault, Some(count)));
    }

    /// Treats every connection this way, until [`Self::honest`].
    pub fn fail_all_connections(&self, fault: ConnectionFault) {
        let mut script = self.shared.script.lock();
        script.connection_faults.push((fault, None));
    }

    /// Forgets all rules and faults.
    pub fn honest(&self) {
        let mut script = self.shared.script.lock();
        script.rules.clear();
        script.connection_faults.clear();
    }

    /// Rules for calls of one method.
    #[must_use]
    pub fn on(&self, method: &str) -> On<'_> {
        self.rule(Matcher::Method(method.to_owned()))
    }

    /// Rules for every call, batch elements included.
    #[must_use]
    pub fn on_any(&self) -> On<'_> {
        self.rule(Matcher::Any)
    }

    /// Rules for whole batches: the answer is the whole HTTP answer.
    #[must_use]
    pub fn on_batch(&self) -> On<'_> {
        self.rule(Matcher::Batch)
    }

    /// Rules for whole HTTP requests, whatever their body.
    #[must_use]
    pub fn on_request(&self) -> On<'_> {
        self.rule(Matcher::Http)
    }

    fn rule(&self, matcher: Matcher) -> On<'_> {
        On {
            node: self,
            matcher,
        }
    }
}

impl Drop for ScriptedNode {
    fn drop(&mut self) {
        if let Some(running) = self.running.lock().take() {
            running.task.abort();
        }
    }
}

/// The end of a sentence such as `node.on("eth_call").once(answer)`.
#[derive(Debug)]
pub struct On<'a> {
    node: &'a ScriptedNode,
    matcher: Matcher,
}

impl On<'_> {
    /// Gives this answer every time.
    pub fn always(self, answer: Answer) {
        self.fixed(None, answer);
    }

    /// Gives this answer once.
    pub fn once(self, answer: Answer) {
        self.fixed(Some(1), answer);
    }

    /// Gives this answer so many times.
    pub fn times(self, count: usize, answer: Answer) {
        self.fixed(Some(count), answer);
    }

    /// Asks a closure for the answer every time; for a batch rule it sees the first call.
    pub fn with(self, choose: impl Fn(&Call) -> Answer + Send + Sync + 'static) {
        let mut script = self.node.shared.script.lock();
        script.rules.chosen(self.matcher, None, Arc::new(choose));
    }

    fn fixed(self, count: Option<usize>, answer: Answer) {
        let mut script = self.node.shared.script.lock();
        script.rules.fixed(self.matcher, count, answer);
    }
}

fn run(listener: TcpListener, shared: Arc<Shared>) -> Running {
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(accept(listener, shared, stopped));
    Running { stop, task }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, mut stopped: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            _ = &mut stopped => break,
            accepted = listener.accept() => {
                // A failed accept is the client's haste (it reset before we took it), not our end.
                let Ok((stream, _)) = accepted else { continue };
                connections.spawn(serve(Connection::new(stream), Arc::clone(&shared)));
            }
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    connections.shutdown().await;
}

/// Keeps the count of open connections right however a connection ends.
struct Open<'a>(&'a Record);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.closed();
    }
}

async fn serve(connection: Connection, shared: Arc<Shared>) {
    let number = shared.record.accepted();
    let _open = Open(&shared.record);
    let mut dropped = shared.dropped.subscribe();
    // Orders given before this connection was accepted are not meant for it.
    dropped.mark_unchanged();
    let fault = shared.script.lock().take_connection_fault();
    match fault {
        Some(ConnectionFault::Reset) => connection.reset(),
        Some(ConnectionFault::Close) => drop(connection),
        Some(ConnectionFault::Ignore) => {
            let _ = dropped.changed().await;
            drop(connection);
        }
        None => {
            tokio::select! {
                () = converse(connection, number, &shared) => {}
                _ = dropped.changed() => {}
            }
        }
    }
}

async fn converse(mut connection: Connection, number: u64, shared: &Shared) {
    while let Ok(Some(request)) = connection.read_request().await {
        let received = Received::new(number, request);
        let steps = shared.script.lock().steps(&received);
        shared.record.received(received);
        match connection.play(&steps).await {
            Played::Kept => {}
            Played::Closed => return,
            Played::Abandoned => return shared.record.gave_up(),
        }
    }
}
