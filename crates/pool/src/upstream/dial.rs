//! Names, addresses, TCP, TLS.
//!
//! Every new connection resolves the name again, so a moved endpoint is followed within the age
//! limit of its old connections (hardening E24). All addresses are tried, families in turn, the next
//! one 250 ms after the last or at once when it fails (RFC 8305); the first to connect is used.
//! Certificates are always verified (hardening C13).

use super::{fault::SendErrorKind, options::ExtraRoots, stream::Stream};
use futures_util::{StreamExt, stream::FuturesUnordered};
use rustls::{ClientConfig, RootCertStore, pki_types::ServerName};
use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, LazyLock},
    time::Duration,
};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Wait before the next address is tried beside a slow one.
const STAGGER: Duration = Duration::from_millis(250);

/// Where an endpoint is, taken from its URL once.
pub(super) struct Target {
    host: Host,
    port: u16,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

enum Host {
    Name(String),
    Address(IpAddr),
}

/// What is spoken on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spoken {
    Http1,
    Http2,
}

impl Target {
    /// `None` if the URL has no host that can be connected to.
    pub(super) fn new(url: &url::Url, roots: &ExtraRoots) -> Option<Self> {
        let host = match url.host()? {
            url::Host::Domain(name) => Host::Name(name.to_owned()),
            url::Host::Ipv4(address) => Host::Address(address.into()),
            url::Host::Ipv6(address) => Host::Address(address.into()),
        };
        let tls = if url.scheme() == "https" {
            let name = match &host {
                Host::Name(name) => {
                    ServerName::try_from(name.trim_end_matches('.').to_owned()).ok()?
                }
                Host::Address(address) => ServerName::from(*address),
            };
            Some((connector(roots), name))
        } else {
            None
        };
        Some(Self {
            host,
            port: url.port_or_known_default()?,
            tls,
        })
    }

    pub(super) const fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Makes a connection.
    ///
    /// Cancellation: dropping the future gives up every address it was trying.
    pub(super) async fn connect(&self) -> Result<(Stream, Spoken), SendErrorKind> {
        let socket = match &self.host {
            Host::Address(address) => race(&[SocketAddr::new(*address, self.port)]).await?,
            Host::Name(name) => {
                let found = tokio::net::lookup_host((name.as_str(), self.port)).await;
                let addresses = found.map_err(|_| SendErrorKind::Resolve)?;
                race(&in_turn(addresses)).await?
            }
        };
        let tcp = Stream::wire(socket);
        let Some((connector, name)) = &self.tls else {
            return Ok((Stream::Plain(tcp), Spoken::Http1));
        };
        let tls = connector
            .connect(name.clone(), tcp)
            .await
            .map_err(|_| SendErrorKind::Tls)?;
        let spoken = match tls.get_ref().1.alpn_protocol() {
            Some(b"h2") => Spoken::Http2,
            _ => Spoken::Http1,
        };
        Ok((Stream::Tls(Box::new(tls)), spoken))
    }
}

/// The addresses with the families in turn, beginning with the resolver's first choice.
fn in_turn(addresses: impl Iterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let all: Vec<_> = addresses.collect();
    let first_is_v6 = all.first().is_some_and(SocketAddr::is_ipv6);
    let (a, b): (Vec<_>, Vec<_>) = all.into_iter().partition(|x| x.is_ipv6() == first_is_v6);
    let mut order = Vec::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.into_iter(), b.into_iter());
    loop {
        let pair = [a.next(), b.next()];
        if pair == [None, None] {
            return order;
        }
        order.extend(pair.into_iter().flatten());
    }
}

async fn race(addresses: &[SocketAddr]) -> Result<TcpStream, SendErrorKind> {
    if addresses.is_empty() {
        return Err(SendErrorKind::Resolve);
    }
    let mut waiting = addresses.iter();
    let mut running = FuturesUnordered::new();
    loop {
        if let Some(address) = waiting.next() {
            running.push(TcpStream::connect(*address));
        }
        tokio::select! {
            tried = running.next() => match tried {
                Some(Ok(socket)) => {
                    // Without it a small request waits for the acknowledgement of the last one.
                    socket.set_nodelay(true).map_err(|_| SendErrorKind::Connect)?;
                    return Ok(socket);
                }
                Some(Err(_)) => {}
                None => return Err(SendErrorKind::Connect),
            },
            () = tokio::time::sleep(STAGGER), if waiting.len() > 0 => {}
        }
    }
}

/// With the shipped roots alone, one for all endpoints of all pools: the roots are held once, and a TLS
/// session with a host is taken up again by whoever connects there next.
static SHIPPED: LazyLock<TlsConnector> = LazyLock::new(|| trusting(&ExtraRoots::default()));

fn connector(extra: &ExtraRoots) -> TlsConnector {
    if extra.certificates().is_empty() {
        return SHIPPED.clone();
    }
    trusting(extra)
}

fn trusting(extra: &ExtraRoots) -> TlsConnector {
    let mut roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    roots.add_parsable_certificates(extra.certificates().iter().cloned());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("invariant: the provider offers TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    TlsConnector::from(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    // L-5: many networks in one manager.
    #[test]
    fn pools_without_roots_of_their_own_share_one_tls_configuration() {
        let config = |url: &str, roots: &ExtraRoots| {
            let target = Target::new(&url.parse().unwrap(), roots).unwrap();
            Arc::clone(target.tls.unwrap().0.config())
        };
        let shipped = ExtraRoots::default();
        let one = config("https://one.example/", &shipped);
        assert!(Arc::ptr_eq(&one, &config("https://two.example/", &shipped)));
        let own = ExtraRoots::default().der(vec![0]);
        assert!(!Arc::ptr_eq(&one, &config("https://one.example/", &own)));
    }

    // RFC 8305, section 4
    #[test]
    fn takes_the_address_families_in_turn() {
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        let given = ["[::1]:1", "[::2]:1", "[::3]:1", "10.0.0.1:1"].map(address);
        let order = ["[::1]:1", "10.0.0.1:1", "[::2]:1", "[::3]:1"].map(address);
        assert_eq!(in_turn(given.into_iter()), order);
        assert!(in_turn(std::iter::empty()).is_empty());
    }

    // hardening E24
    #[tokio::test]
    async fn goes_on_to_the_next_address_when_one_refuses() {
        let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let refused = closed.local_addr().unwrap();
        drop(closed);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let open = listener.local_addr().unwrap();
        let socket = race(&[refused, open]).await.unwrap();
        assert_eq!(socket.peer_addr().unwrap(), open);
        assert!(socket.nodelay().unwrap());
        assert_eq!(race(&[refused]).await.unwrap_err(), SendErrorKind::Connect);
        assert_eq!(race(&[]).await.unwrap_err(), SendErrorKind::Resolve);
    }
}
