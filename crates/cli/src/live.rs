//! What commands that run in real time have in common: a runtime, the signals that end them, and
//! the words for an address that cannot be had.

use std::{io, net::IpAddr};
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::{Builder, Runtime},
    signal::unix::{SignalKind, signal},
    sync::watch,
};

/// A runtime on this thread.
pub(crate) fn runtime() -> Result<Runtime, String> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())
}

/// Turns true at the first SIGINT or SIGTERM; from now on neither ends the process by itself.
pub(crate) fn until_stopped() -> Result<watch::Receiver<bool>, String> {
    let failed = |error: io::Error| format!("cannot wait for signals: {error}");
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        stop.send_replace(true);
        // A sender that is gone would look like a signal.
        std::future::pending::<()>().await;
    });
    Ok(stopped)
}

/// Why the simulated nodes have no port. The error names the address.
pub(crate) fn cannot_listen(error: &io::Error) -> String {
    let hint = match error.kind() {
        io::ErrorKind::AddrInUse => "; another process listens there: stop it or use other ports",
        io::ErrorKind::PermissionDenied => "; use ports above 1023 or run with the permission",
        io::ErrorKind::AddrNotAvailable => "; this machine has no such address",
        _ => "",
    };
    format!("cannot listen on {error}{hint}")
}

/// Whether this machine can talk to itself. Where its loopback interface is down a port opens all
/// the same, and nobody can reach it.
pub(crate) async fn loopback_is_up(ip: IpAddr) -> Result<(), String> {
    if !ip.is_loopback() {
        return Ok(());
    }
    let itself = async {
        let listener = TcpListener::bind((ip, 0)).await?;
        TcpStream::connect(listener.local_addr()?).await
    };
    match itself.await {
        Ok(_) => Ok(()),
        Err(error) => Err(format!(
            "this machine cannot reach itself at {ip}: {error}; is the loopback interface down? \
             `ip link set lo up` brings it up"
        )),
    }
}
