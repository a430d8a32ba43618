//! A loopback address per test process, and ports by count.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    process,
    sync::atomic::{AtomicU16, Ordering},
};

/// Below the range the kernel gives to outgoing connections (32768 and up).
const FIRST_PORT: u16 = 20_000;

/// An address that nothing else uses: the whole of `127.0.0.0/8` is this host, process ids fit into
/// the last three bytes (they have at most 22 bits), and the port is counted up.
pub fn fresh_address() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(FIRST_PORT);
    let [_, b, c, d] = process::id().to_be_bytes();
    // Bit 6 of the second byte keeps clear of 127.0.0.0/16, where other programs listen.
    let ip = Ipv4Addr::new(127, b | 0x40, c, d);
    SocketAddr::new(IpAddr::V4(ip), NEXT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_loopback_and_never_repeat() {
        let first = fresh_address();
        let second = fresh_address();
        assert!(first.ip().is_loopback());
        assert_eq!(first.ip(), second.ip());
        assert!(second.port() > first.port());
    }
}
