//! Taking connections.
//!
//! Every worker listens on the same address with a socket of its own (`SO_REUSEPORT`), so the
//! kernel spreads connections and no worker hands one to another. The price of that option is that
//! a second gateway could listen on the same port unnoticed; so a fixed port is first tried
//! without it, which fails when anybody else is listening.

use super::connection::{self, Place};
use crate::{load::Gauge, shutdown::Phase, state::Shared};
use futures_util::FutureExt;
use socket2::{Domain, Protocol, Socket, Type};
use std::{
    io,
    net::{SocketAddr, TcpListener as StdListener},
    pin::pin,
    sync::Arc,
    time::Duration,
};
use tokio::net::TcpListener;

/// Connections that wait to be accepted, at most.
const BACKLOG: i32 = 1024;
/// Wait after the system had no descriptor or memory for a connection (hardening A8).
const BACK_OFF: Duration = Duration::from_millis(100);

/// One listening socket per worker, all at one address.
pub(crate) fn bind_shared(address: SocketAddr, count: usize) -> io::Result<Vec<StdListener>> {
    if address.port() != 0 {
        drop(bind(address, false)?);
    }
    let first = bind(address, true)?;
    let address = first.local_addr()?;
    let mut all = vec![first];
    for _ in 1..count {
        all.push(bind(address, true)?);
    }
    Ok(all)
}

/// A listening socket that shares its address with nobody.
pub(crate) fn bind_alone(address: SocketAddr) -> io::Result<StdListener> {
    bind(address, false)
}

fn bind(address: SocketAddr, shared: bool) -> io::Result<StdListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    if shared {
        socket.set_reuse_port(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Accepts on the current worker until the gateway closes its listeners. What the kernel has
/// already completed by then is still accepted, so that no client loses a connection it believes in.
pub(crate) async fn accept(shared: &Arc<Shared>, listener: TcpListener) {
    let builder = connection::builder();
    let mut closing = pin!(shared.shutdown.wait_for(Phase::Closing));
    loop {
        tokio::select! {
            biased;
            accepted = listener.accept() => take(shared, &builder, accepted).await,
            () = &mut closing => break,
        }
    }
    while let Some(accepted) = listener.accept().now_or_never() {
        if accepted.is_err() {
            break;
        }
        take(shared, &builder, accepted).await;
    }
}

async fn take(
    shared: &Arc<Shared>,
    builder: &hyper::server::conn::http1::Builder,
    accepted: io::Result<(tokio::net::TcpStream, SocketAddr)>,
) {
    match accepted {
        Ok((stream, _)) => {
            // Past the bound the connection is closed at once: cheaper than any answer.
            if let Some(place) = Gauge::take(Place(Arc::clone(shared)), 1) {
                tokio::spawn(connection::run(builder.clone(), stream, place));
            }
        }
        Err(error) if is_exhausted(&error) => {
            tracing::warn!("out of descriptors or memory for connections");
            tokio::time::sleep(BACK_OFF).await;
        }
        // The client gave up before we came to it.
        Err(_) => {}
    }
}

/// `EMFILE`, `ENFILE`, `ENOBUFS`, `ENOMEM`: trying again at once would spin.
fn is_exhausted(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(12 | 23 | 24 | 55 | 105))
}
