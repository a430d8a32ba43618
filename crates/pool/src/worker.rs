//! The threads of a server: which worker a thread is, and writes that gather on it.
//!
//! An upstream keeps its connections in lanes, one per worker, so that a worker meets its own warm
//! connections first and never waits for another worker's lock. A server names its worker threads
//! with [`enter`]; every other thread gets the next free number when it first makes a call.

mod wire;

pub use wire::{Rounds, Wire};

use std::{
    cell::Cell,
    sync::atomic::{AtomicUsize, Ordering},
};

const UNKNOWN: usize = usize::MAX;

static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static WORKER: Cell<usize> = const { Cell::new(UNKNOWN) };
}

/// Makes the current thread worker `number`. Upstreams take it modulo their number of lanes.
pub fn enter(number: usize) {
    WORKER.set(number % UNKNOWN);
}

/// The number of the current thread.
pub(crate) fn current() -> usize {
    let known = WORKER.get();
    if known != UNKNOWN {
        return known;
    }
    let number = NEXT.fetch_add(1, Ordering::Relaxed) % UNKNOWN;
    WORKER.set(number);
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_number_that_a_thread_was_given() {
        std::thread::spawn(|| {
            enter(7);
            assert_eq!((current(), current()), (7, 7));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn gives_every_other_thread_a_number_of_its_own() {
        let number = || {
            std::thread::spawn(|| (current(), current()))
                .join()
                .unwrap()
        };
        let (first, second) = (number(), number());
        assert_eq!(first.0, first.1);
        assert_ne!(first, second);
    }
}
