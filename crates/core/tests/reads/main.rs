//! Reads: pins, floors, flights, recent hashes and the cache's policy, by rule.

mod answer;
mod cache;
mod flight;
mod floor;
mod pin;
mod recent;

use highwater_core::{
    Now,
    method::{Found, find, lookup},
};
use std::time::{Duration, Instant, SystemTime};

/// A zero, from which tests move by addition only.
#[expect(clippy::disallowed_methods, reason = "any origin will do")]
fn origin() -> Instant {
    Instant::now()
}

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn now(start: Instant, ms: u64) -> Now {
    Now {
        mono: start + millis(ms),
        wall: SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000) + millis(ms),
    }
}

fn found(method: &str, params: &str) -> Found {
    find(lookup(method), params)
}

/// A hash of one byte, repeated.
fn hash(byte: u8) -> String {
    format!("0x{}", format!("{byte:02x}").repeat(32))
}
