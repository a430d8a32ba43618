//! Going down without losing a request (hardening H1).
//!
//! | phase | new connections | a request | `/readyz` | ends |
//! |---|---|---|---|---|
//! | serving | taken | served | 200 | on SIGTERM |
//! | draining | taken | served, `Connection: close` | 503 | after `drain_delay`; SIGINT skips it |
//! | closing | refused | 503/-32011 | 503 | when nothing is in flight, or after `drain_timeout` |
//! | ending | refused | none: connections close once they have written | – | when all are closed |
//! | stopped | | | | |
//!
//! The delay is for whatever stands in front: it needs a moment to see `/readyz` and send new
//! requests elsewhere. A second signal stops at once. The phase is read on every request, so it is
//! an atomic; whoever must wake up for it waits on a channel that works across runtimes.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use tokio::sync::watch;

/// How far the gateway is on its way down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Phase {
    /// Not on its way.
    Serving,
    /// Not ready any more, still serving.
    Draining,
    /// Finishing what is in flight.
    Closing,
    /// Closing the connections.
    Ending,
    /// Done.
    Stopped,
}

/// What an operator may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// SIGTERM: drain, with the delay.
    Drain,
    /// SIGINT: drain without the delay.
    DrainNow,
    /// Stop without waiting for anything.
    Force,
}

/// The phase, for everybody.
#[derive(Debug)]
pub(crate) struct Shutdown {
    fast: AtomicU8,
    phase: watch::Sender<Phase>,
}

impl Default for Shutdown {
    fn default() -> Self {
        Self {
            fast: AtomicU8::new(Phase::Serving as u8),
            phase: watch::Sender::new(Phase::Serving),
        }
    }
}

impl Shutdown {
    /// Moves on. Never back.
    pub(crate) fn advance(&self, to: Phase) {
        self.phase.send_if_modified(|phase| {
            let later = to > *phase;
            if later {
                *phase = to;
                self.fast.store(to as u8, Relaxed);
            }
            later
        });
    }

    /// Whether a phase has been reached; costs one load.
    pub(crate) fn reached(&self, phase: Phase) -> bool {
        self.fast.load(Relaxed) >= phase as u8
    }

    /// Waits for a phase.
    pub(crate) async fn wait_for(&self, phase: Phase) {
        // The sender lives in `self`, so the channel cannot close.
        let _ = self.phase.subscribe().wait_for(|now| *now >= phase).await;
    }
}

#[cfg(test)]
mod tests {
    use super::{Phase, Shutdown};

    // hardening H1
    #[test]
    fn a_phase_never_goes_back() {
        let shutdown = Shutdown::default();
        shutdown.advance(Phase::Closing);
        shutdown.advance(Phase::Draining);
        assert!(shutdown.reached(Phase::Closing));
        assert!(!shutdown.reached(Phase::Ending));
    }
}
