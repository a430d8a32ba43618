//! The life of one client connection.
//!
//! One task drives the HTTP state machine and, beside it, a watchdog that wakes up every half
//! `header_timeout` and looks at the [`Signs`]: nothing is timed per request. It ends a connection
//!
//! - whose head is incomplete for `header_timeout` (seen at three wake-ups in a row; hardening A6),
//! - which took none of our bytes for 30 s while we had some to write (hardening A7),
//! - on which nothing moved for 120 s, or for the deadline of a call where that is longer (A8).
//!
//! Dropping the task drops the request in progress, and with it the upstream exchange (A13): when
//! the client goes, hyper ends the connection future.

use super::{
    http::{Peer, serve},
    io::{Signs, Socket},
};
use crate::{
    load::{Gauge, Permit},
    shutdown::Phase,
    state::Shared,
};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use std::{
    pin::pin,
    sync::{Arc, atomic::Ordering::Relaxed},
    task::Poll,
    time::Duration,
};
use tokio::{
    net::TcpStream,
    time::{Instant, sleep},
};

/// Longest head, request line included.
const MAX_HEAD: usize = 64 * 1024;
/// Longest time without a byte in either direction.
const IDLE: Duration = Duration::from_secs(120);
/// Longest time for which a client may leave our bytes where they are.
const STALL: Duration = Duration::from_secs(30);

/// How connections are driven; made once per worker.
pub(crate) fn builder() -> http1::Builder {
    let mut builder = http1::Builder::new();
    // At most 100 headers is the default, and setting it would cost an allocation per request.
    builder
        .max_header_size(MAX_HEAD)
        .header_read_timeout(None)
        .half_close(false);
    builder
}

/// A place among the connections.
pub(crate) struct Place(pub(crate) Arc<Shared>);

impl AsRef<Gauge> for Place {
    fn as_ref(&self) -> &Gauge {
        &self.0.connections
    }
}

/// Serves a connection to its end.
pub(crate) async fn run(builder: http1::Builder, stream: TcpStream, place: Permit<Place>) {
    let shared = Arc::clone(&place.gauge().0);
    // Answers are written whole; waiting to fill a packet only delays them.
    let _ = stream.set_nodelay(true);
    let signs = Arc::new(Signs::default());
    let peer = Arc::new(Peer {
        shared: Arc::clone(&shared),
        signs: Arc::clone(&signs),
    });
    let socket = TokioIo::new(Socket::new(stream, Arc::clone(&signs)));
    let service = service_fn(move |request| serve(Arc::clone(&peer), request));
    let mut connection = pin!(builder.serve_connection(socket, service));
    let mut ending = pin!(shared.shutdown.wait_for(Phase::Ending));
    let tick = (shared.server.header_timeout / 2).max(Duration::from_millis(1));
    let idle = IDLE.max(shared.longest_deadline().saturating_mul(2));
    let mut watchdog = Watchdog {
        signs: &signs,
        seen: Seen::default(),
        tick,
        idle,
    };
    let mut sleep = pin!(sleep(tick));
    let mut begun = false;
    let mut told = false;
    std::future::poll_fn(|cx| {
        if connection.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        // Waiting costs nothing per request: both are polled once to leave the task's waker, and
        // again only when they may have used it up. A phase can be seen before its wake-up comes, so
        // that says nothing of the waker: on the way down every wake-up leaves it anew.
        if !begun {
            let _ = sleep.as_mut().poll(cx);
        }
        if !told && (!begun || shared.shutdown.reached(Phase::Draining)) {
            let _ = ending.as_mut().poll(cx);
        }
        begun = true;
        if !told && shared.shutdown.reached(Phase::Ending) {
            told = true;
            connection.as_mut().graceful_shutdown();
            if connection.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
        }
        while sleep.is_elapsed() {
            if watchdog.is_over() {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(Instant::now() + tick);
            let _ = sleep.as_mut().poll(cx);
        }
        Poll::Pending
    })
    .await;
}

/// Judges a connection by what changed between two wake-ups.
struct Watchdog<'a> {
    signs: &'a Signs,
    seen: Seen,
    tick: Duration,
    idle: Duration,
}

#[derive(Default)]
struct Seen {
    head: u32,
    /// Wake-ups in a row at which the same head was incomplete.
    in_head: u32,
    activity: u32,
    /// Wake-ups in a row without a byte.
    still: u32,
}

impl Watchdog<'_> {
    fn is_over(&mut self) -> bool {
        let (signs, seen) = (self.signs, &mut self.seen);
        let head = signs.head.load(Relaxed);
        if signs.in_head.load(Relaxed) {
            seen.in_head = if head == seen.head {
                seen.in_head + 1
            } else {
                1
            };
        } else {
            seen.in_head = 0;
        }
        seen.head = head;
        let activity = signs.activity.load(Relaxed);
        seen.still = if activity == seen.activity {
            seen.still + 1
        } else {
            0
        };
        seen.activity = activity;
        let still = self.tick.saturating_mul(seen.still);
        let stalled = signs.write_blocked.load(Relaxed) && still >= STALL;
        seen.in_head >= 3 || stalled || still >= self.idle
    }
}

#[cfg(test)]
mod tests {
    use super::{Seen, Signs, Watchdog};
    use std::{sync::atomic::Ordering::Relaxed, time::Duration};

    fn watchdog(signs: &Signs) -> Watchdog<'_> {
        Watchdog {
            signs,
            seen: Seen::default(),
            tick: Duration::from_secs(5),
            idle: Duration::from_secs(120),
        }
    }

    fn ticks(watchdog: &mut Watchdog<'_>, at_most: u32, mut each: impl FnMut()) -> Option<u32> {
        (1..=at_most).find(|_| {
            each();
            watchdog.is_over()
        })
    }

    // hardening A6
    #[test]
    fn a_trickled_head_ends_the_connection_though_bytes_keep_coming() {
        let signs = Signs::default();
        signs.in_head.store(true, Relaxed);
        let trickle = || {
            signs.activity.fetch_add(1, Relaxed);
        };
        assert_eq!(ticks(&mut watchdog(&signs), 100, trickle), Some(3));
    }

    // hardening A6
    #[test]
    fn many_quick_heads_caught_in_the_middle_do_not() {
        let signs = Signs::default();
        signs.in_head.store(true, Relaxed);
        let busy = || {
            signs.activity.fetch_add(9, Relaxed);
            signs.head.fetch_add(3, Relaxed);
        };
        assert_eq!(ticks(&mut watchdog(&signs), 100, busy), None);
    }

    // hardening A7
    #[test]
    fn a_reader_that_stalls_is_cut_off_after_thirty_seconds() {
        let signs = Signs::default();
        signs.write_blocked.store(true, Relaxed);
        assert_eq!(ticks(&mut watchdog(&signs), 100, || ()), Some(6));
        let slow = || {
            signs.activity.fetch_add(1, Relaxed);
        };
        assert_eq!(ticks(&mut watchdog(&signs), 100, slow), None);
    }

    // hardening A8
    #[test]
    fn an_idle_connection_is_closed_after_two_minutes() {
        let signs = Signs::default();
        assert_eq!(ticks(&mut watchdog(&signs), 100, || ()), Some(24));
    }
}
