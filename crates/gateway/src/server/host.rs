//! Which `Host` a request may name (hardening A2).
//!
//! A web page can make a browser send requests to this machine under a name of its own choice
//! (DNS rebinding); the `Host` header then carries that name. So a loopback listener answers only
//! to loopback names, its own address and the names in `allowed_hosts`. Any other listener checks
//! only when `allowed_hosts` is set, since its operator may have put it behind any name.

use std::{net::IpAddr, sync::OnceLock};

/// The rule of one listener.
#[derive(Clone, Debug)]
pub(crate) struct HostRule {
    enforced: bool,
    own: IpAddr,
    allowed: Vec<Box<str>>,
    /// The first value that was accepted: nearly all requests name the same host.
    usual: OnceLock<Box<[u8]>>,
}

/// Longest value that is remembered, in bytes.
const MAX_USUAL: usize = 256;

impl HostRule {
    pub(crate) fn new(own: IpAddr, allowed: &[String]) -> Self {
        Self {
            enforced: own.is_loopback() || !allowed.is_empty(),
            own,
            allowed: allowed
                .iter()
                .map(|host| name_of(host).to_ascii_lowercase().into())
                .collect(),
            usual: OnceLock::new(),
        }
    }

    /// Whether a `Host` value, or the authority of an absolute URI, is accepted.
    pub(crate) fn accepts(&self, host: &[u8]) -> bool {
        if !self.enforced || self.usual.get().is_some_and(|usual| **usual == *host) {
            return true;
        }
        let accepted = self.judge(host);
        if accepted && host.len() <= MAX_USUAL && self.usual.get().is_none() {
            let _ = self.usual.set(host.into());
        }
        accepted
    }

    fn judge(&self, host: &[u8]) -> bool {
        let Ok(host) = std::str::from_utf8(host) else {
            return false;
        };
        // User information has no place here, and would let a name hide behind another.
        if host.contains('@') {
            return false;
        }
        let name = name_of(host.trim_ascii());
        if name.eq_ignore_ascii_case("localhost") {
            return true;
        }
        if let Ok(address) = name.trim_matches(['[', ']']).parse::<IpAddr>() {
            let address = address.to_canonical();
            // A listener on every address cannot say which one is its own; an address, unlike a
            // name, cannot be rebound.
            if address.is_loopback() || address == self.own || self.own.is_unspecified() {
                return true;
            }
        }
        self.allowed
            .iter()
            .any(|allowed| name.eq_ignore_ascii_case(allowed))
    }
}

/// The host without its port and trailing dot. IPv6 literals keep their brackets.
fn name_of(host: &str) -> &str {
    let name = match host.find(']') {
        Some(end) if host.starts_with('[') => match host[end + 1..].strip_prefix(':') {
            Some(port) if port.bytes().all(|b| b.is_ascii_digit()) => &host[..=end],
            Some(_) => host,
            None => host,
        },
        Some(_) => host,
        None => match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
            Some(_) | None => host,
        },
    };
    name.strip_suffix('.').unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::HostRule;

    fn rule(own: &str, allowed: &[&str]) -> HostRule {
        let allowed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        HostRule::new(own.parse().unwrap(), &allowed)
    }

    // hardening A2
    #[test]
    fn a_loopback_listener_answers_only_to_loopback_names_and_listed_ones() {
        let rule = rule("127.0.0.1", &["Rpc.Example.com", "box.lan:8545"]);
        for host in [
            "localhost",
            "LOCALHOST:4545",
            "localhost.",
            "127.0.0.1",
            "127.0.0.1:4545",
            "127.9.9.9",
            "[::1]",
            "[::1]:4545",
            "[::ffff:127.0.0.1]:1",
            "rpc.example.com",
            "RPC.EXAMPLE.COM.:443",
            "box.lan",
        ] {
            assert!(rule.accepts(host.as_bytes()), "{host}");
        }
        for host in [
            "",
            "evil.test",
            "EVIL.TEST:4545",
            "127.0.0.1.nip.io",
            "127.0.0.1.nip.io:4545",
            "localhost.evil.test",
            "10.0.0.1",
            "[2001:db8::1]:80",
            "::1]:4545x",
            "localhost@evil.test",
            "evil.test@localhost",
            "localhost:x",
            "[::1]evil",
            "[::1]:80.evil.test",
            "[localhost]",
            "rpc.example.com.evil",
        ] {
            assert!(!rule.accepts(host.as_bytes()), "{host}");
        }
        assert!(!rule.accepts(b"\xff"));
    }

    // hardening A2
    #[test]
    fn another_listener_checks_only_when_names_are_listed() {
        assert!(rule("0.0.0.0", &[]).accepts(b"anything.test"));
        let strict = rule("0.0.0.0", &["rpc.example.com"]);
        assert!(strict.accepts(b"rpc.example.com:80"));
        assert!(strict.accepts(b"192.0.2.7:4545"));
        assert!(!strict.accepts(b"anything.test"));
        assert!(!rule("192.0.2.7", &["a.test"]).accepts(b"192.0.2.8"));
        assert!(rule("192.0.2.7", &["a.test"]).accepts(b"192.0.2.7:4545"));
    }
}
