//! Threads and the order of going up and down.
//!
//! The data plane is one single-threaded runtime per worker, each with its own listener and its own
//! upstream connections: a request never changes threads. Signals, start-up checks and the admin
//! listener live on one small runtime of their own.

use crate::{
    ServeError, Settings,
    admin::Admin,
    descriptors,
    kept::Kept,
    server::listener,
    shutdown::{Command, Phase},
    startup,
    state::Shared,
    telemetry,
};
use std::{
    io::Write,
    net::{SocketAddr, TcpListener as StdListener},
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};
use tokio::{
    net::TcpListener,
    runtime::{Builder, Runtime},
    signal::unix::{SignalKind, signal},
    sync::{mpsc, oneshot},
    time::{Instant, timeout, timeout_at},
};

/// Longest wait for idle connections to close at the end.
const GOODBYE: Duration = Duration::from_secs(2);

/// The gateway as a whole.
#[derive(Debug)]
pub struct Gateway;

/// A gateway that runs in this process. Dropping it stops it without waiting.
#[derive(Debug)]
pub struct Running {
    /// Where it takes calls.
    pub addr: SocketAddr,
    /// Where its admin listener is.
    pub admin_addr: Option<SocketAddr>,
    commands: mpsc::Sender<Command>,
    thread: Option<JoinHandle<()>>,
    done: oneshot::Receiver<()>,
}

impl Gateway {
    /// Serves until SIGTERM or SIGINT, and returns when everything in flight is finished. Starts
    /// logging on stderr, and writes one line per listener on stdout once it serves.
    ///
    /// # Errors
    /// It could not start; see [`ServeError::exit_code`].
    pub fn serve(mut settings: Settings) -> Result<(), ServeError> {
        telemetry::init(&settings.log);
        descriptors::provide(&mut settings.server);
        let runtime = small_runtime()?;
        runtime.block_on(async {
            let (commands, orders) = mpsc::channel(4);
            let signals = tokio::spawn(forward_signals(commands)?);
            let started = Started::new(&settings).await?;
            announce(&started);
            let result = started.run(orders).await;
            signals.abort();
            result
        })
    }

    /// Starts a gateway on threads of its own and returns once it serves. No signals, no output.
    ///
    /// # Errors
    /// It could not start.
    pub async fn start(settings: Settings) -> Result<Running, ServeError> {
        let (report, started) = oneshot::channel();
        let (finished, done) = oneshot::channel();
        let (commands, orders) = mpsc::channel(4);
        let control = move || {
            let Ok(runtime) = small_runtime() else { return };
            runtime.block_on(async {
                match Started::new(&settings).await {
                    Err(error) => drop(report.send(Err(error))),
                    Ok(started) => {
                        let addresses = (started.address, started.admin_address);
                        if report.send(Ok(addresses)).is_ok() {
                            drop(started.run(orders).await);
                        }
                    }
                }
            });
            let _ = finished.send(());
        };
        let thread = thread::Builder::new()
            .name("highwater-control".into())
            .spawn(control)
            .map_err(|e| ServeError::Internal(e.to_string()))?;
        let lost = |_| ServeError::Internal("the control thread ended".into());
        let (addr, admin_addr) = started.await.map_err(lost)??;
        Ok(Running {
            addr,
            admin_addr,
            commands,
            thread: Some(thread),
            done,
        })
    }
}

impl Running {
    /// Begins what SIGTERM begins, and returns at once.
    pub fn drain(&self) {
        let _ = self.commands.try_send(Command::Drain);
    }

    /// Waits until the gateway has ended.
    pub async fn ended(&mut self) {
        let _ = (&mut self.done).await;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    /// Drains as SIGINT does, without the delay, and waits for the end.
    pub async fn shutdown(mut self) {
        let _ = self.commands.try_send(Command::DrainNow);
        self.ended().await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.commands.try_send(Command::Force);
    }
}

/// A gateway whose listeners are open and whose endpoints have been looked at.
struct Started {
    shared: Arc<Shared>,
    kept: Kept,
    address: SocketAddr,
    admin_address: Option<SocketAddr>,
    admin: Option<(Arc<Admin>, TcpListener)>,
    listeners: Vec<StdListener>,
}

impl Started {
    async fn new(settings: &Settings) -> Result<Self, ServeError> {
        startup::check_admin(&settings.admin)?;
        let kept = Kept::open(&settings.state)?;
        let chains = startup::chains(settings, &kept).await?;
        let shared = Arc::new(Shared::new(settings, chains));
        let listen = settings.server.listen;
        let listeners =
            listener::bind_shared(listen, settings.server.workers.max(1)).map_err(|source| {
                ServeError::Listen {
                    address: listen,
                    source,
                }
            })?;
        let address = listeners
            .first()
            .and_then(|first| first.local_addr().ok())
            .ok_or_else(|| ServeError::Internal("no listener".into()))?;
        let mut admin = None;
        let mut admin_address = None;
        if let Some(address) = settings.admin.listen {
            let failed = |source| ServeError::Listen { address, source };
            let listener = listener::bind_alone(address)
                .and_then(TcpListener::from_std)
                .map_err(failed)?;
            admin_address = Some(listener.local_addr().map_err(failed)?);
            let state = Admin::new(
                Arc::clone(&shared),
                address.ip(),
                &settings.server,
                &settings.admin,
            );
            admin = Some((Arc::new(state), listener));
        }
        startup::first_check(&shared, settings).await?;
        Ok(Self {
            shared,
            kept,
            address,
            admin_address,
            admin,
            listeners,
        })
    }

    async fn run(self, orders: mpsc::Receiver<Command>) -> Result<(), ServeError> {
        let Self {
            shared,
            kept,
            address: _,
            admin_address: _,
            admin,
            listeners,
        } = self;
        let workers = listeners
            .into_iter()
            .enumerate()
            .map(|(number, listener)| spawn_worker(number, listener, Arc::clone(&shared)))
            .collect::<Result<Vec<_>, _>>();
        let workers = match workers {
            Ok(workers) => workers,
            Err(error) => {
                shared.shutdown.advance(Phase::Stopped);
                return Err(error);
            }
        };
        let admin = admin.map(|(admin, listener)| tokio::spawn(admin.serve(listener)));
        let pools = shared.chains.iter().map(|chain| &chain.pool);
        let probes: Vec<_> = pools.map(|pool| tokio::spawn(pool.run_probes())).collect();
        let checking = Arc::clone(&shared);
        let checks = tokio::spawn(async move { startup::keep_checking(&checking).await });
        let mut purse = kept.purse(&shared.chains);
        tokio::select! {
            () = drain(&shared, orders) => {}
            () = purse.run() => {}
        }
        checks.abort();
        for probe in probes {
            probe.abort();
        }
        if let Some(admin) = admin {
            admin.abort();
        }
        let panicked = workers
            .into_iter()
            .filter_map(|worker| worker.join().err())
            .count();
        // Nobody calls any more: what is known now is what is kept.
        for chain in &shared.chains {
            chain.pool.close();
        }
        purse.close().await;
        if panicked > 0 {
            return Err(ServeError::Internal("a worker thread panicked".into()));
        }
        tracing::info!("stopped");
        Ok(())
    }
}

/// Waits for an order and carries it out to the end.
async fn drain(shared: &Shared, mut orders: mpsc::Receiver<Command>) {
    let shutdown = &shared.shutdown;
    // Without a sender nobody can give orders any more: stop.
    let first = orders.recv().await.unwrap_or(Command::Force);
    let orderly = async {
        shutdown.advance(Phase::Draining);
        tracing::info!("draining");
        match first {
            Command::Drain => tokio::time::sleep(shared.server.drain_delay).await,
            Command::DrainNow => {}
            Command::Force => return,
        }
        shutdown.advance(Phase::Closing);
        let end = Instant::now() + shared.server.drain_timeout;
        if timeout_at(end, shared.in_flight.idle()).await.is_err() {
            tracing::warn!("calls were cut off at the end of the drain timeout");
        }
        shutdown.advance(Phase::Ending);
        let left = end.saturating_duration_since(Instant::now()).max(GOODBYE);
        let _ = timeout(left, shared.connections.idle()).await;
    };
    tokio::select! {
        () = orderly => {}
        _ = orders.recv() => tracing::warn!("stopped at once by a second signal"),
    }
    shutdown.advance(Phase::Stopped);
}

fn spawn_worker(
    number: usize,
    listener: StdListener,
    shared: Arc<Shared>,
) -> Result<JoinHandle<()>, ServeError> {
    let failed = |e: std::io::Error| ServeError::Internal(e.to_string());
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed)?;
    let work = move || {
        highwater::worker::enter(number);
        runtime.block_on(async {
            tokio::spawn(highwater::worker::Rounds::new());
            match TcpListener::from_std(listener) {
                Ok(listener) => listener::accept(&shared, listener).await,
                Err(_) => tracing::error!("a worker could not use its listener"),
            }
            shared.shutdown.wait_for(Phase::Stopped).await;
        });
        // Nothing is worth waiting for now; a compression on another thread must not hold us up.
        runtime.shutdown_background();
    };
    thread::Builder::new()
        .name(format!("highwater-{number}"))
        .spawn(work)
        .map_err(failed)
}

fn small_runtime() -> Result<Runtime, ServeError> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| ServeError::Internal(e.to_string()))
}

fn forward_signals(
    commands: mpsc::Sender<Command>,
) -> Result<impl Future<Output = ()> + Send + 'static, ServeError> {
    let failed = |e: std::io::Error| ServeError::Internal(e.to_string());
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    Ok(async move {
        loop {
            let command = tokio::select! {
                _ = terminate.recv() => Command::Drain,
                _ = interrupt.recv() => Command::DrainNow,
            };
            if commands.send(command).await.is_err() {
                return;
            }
        }
    })
}

/// Tells scripts where we are. A closed stdout is no reason to stop.
fn announce(started: &Started) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "highwater listening on http://{}", started.address);
    if let Some(address) = started.admin_address {
        let _ = writeln!(out, "highwater listening on http://{address}");
    }
    let _ = out.flush();
}
