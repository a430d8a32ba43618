//! One question to an admin listener.

use crate::exit::Exit;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::{
    Request, StatusCode,
    body::Bytes,
    client::conn::http1,
    header::{AUTHORIZATION, HOST, HeaderValue},
};
use hyper_util::rt::TokioIo;
use std::time::Duration;
use tokio::{net::TcpStream, runtime::Builder, time::timeout};
use url::Url;

/// Longest wait for the answer.
const WAIT: Duration = Duration::from_secs(10);
/// Largest answer.
const LARGEST: usize = 64 << 20;

/// No answer: how the process ends, and what is said. The address is not repeated, since somebody
/// may have pasted an endpoint's URL.
#[derive(Debug, PartialEq)]
pub(super) struct Refusal(pub(super) Exit, pub(super) String);

/// Where an admin listener is.
#[derive(Debug, PartialEq)]
pub(super) struct Admin {
    host: String,
    port: u16,
}

impl Admin {
    /// An `http` URL without a path, or what stands in one between the slashes.
    pub(super) fn parse(text: &str) -> Result<Self, Refusal> {
        let refuse = |problem: &str| {
            let expected = "expected the address of a gateway's admin listener, such as \
                            http://127.0.0.1:4546";
            Refusal(Exit::Usage, format!("--admin: {problem}{expected}"))
        };
        let url = if text.contains("://") {
            Url::parse(text)
        } else {
            Url::parse(&format!("http://{text}"))
        };
        let url = url.map_err(|_| refuse(""))?;
        if url.scheme() == "https" {
            return Err(refuse("the admin listener does not speak TLS: "));
        }
        let plain = url.path() == "/" && url.query().is_none() && url.username().is_empty();
        match (url.host_str(), url.port_or_known_default()) {
            (Some(host), Some(port)) if url.scheme() == "http" && plain => Ok(Self {
                host: host.to_owned(),
                port,
            }),
            _ => Err(refuse("")),
        }
    }

    /// Gets a target; anything but a 200 is a refusal.
    pub(super) fn get(&self, target: &str, token: Option<&str>) -> Result<Vec<u8>, Refusal> {
        let internal = |problem: String| Refusal(Exit::Internal, problem);
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| internal(error.to_string()))?;
        let answer = runtime.block_on(async { timeout(WAIT, self.exchange(target, token)).await });
        let (status, body) = answer.unwrap_or_else(|_| {
            let wait = WAIT.as_secs();
            let problem = format!("the admin listener did not answer within {wait} s");
            Err(Refusal(Exit::NotServing(69), problem))
        })?;
        match status {
            StatusCode::OK => Ok(body),
            StatusCode::UNAUTHORIZED => Err(Refusal(
                Exit::Usage,
                "the admin listener asks for its token: give --token, or set \
                 HIGHWATER_ADMIN_TOKEN"
                    .to_owned(),
            )),
            status => Err(match problem(&body) {
                Some(problem) => Refusal(Exit::Usage, problem),
                None => Refusal(
                    Exit::NotServing(69),
                    format!(
                        "the answer was {}: is this the admin listener of a gateway?",
                        status.as_u16()
                    ),
                ),
            }),
        }
    }

    async fn exchange(
        &self,
        target: &str,
        token: Option<&str>,
    ) -> Result<(StatusCode, Vec<u8>), Refusal> {
        let lost = |problem: &str| Refusal(Exit::NotServing(69), problem.to_owned());
        // A literal IPv6 address stands in brackets in a URL and without them on a socket.
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let stream = TcpStream::connect((host, self.port))
            .await
            .map_err(|error| {
                lost(&format!(
                    "no admin listener can be reached there: {error}; is the gateway running?"
                ))
            })?;
        let broken = |_| lost("the admin listener ended the connection");
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(broken)?;
        tokio::spawn(connection);
        let mut request = Request::get(target)
            .header(HOST, format!("{}:{}", self.host, self.port))
            .body(Empty::<Bytes>::new())
            .map_err(|_| lost("the question cannot be put into a request"))?;
        if let Some(token) = token {
            let value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| {
                let problem = "--token: a token has visible ASCII characters only";
                Refusal(Exit::Usage, problem.to_owned())
            })?;
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        let response = sender.send_request(request).await.map_err(broken)?;
        let status = response.status();
        let body = Limited::new(response.into_body(), LARGEST).collect().await;
        let body = body.map_err(|_| lost("the answer broke off, or is larger than 64 MiB"))?;
        Ok((status, body.to_bytes().to_vec()))
    }
}

/// What the listener says is wrong with the question.
fn problem(body: &[u8]) -> Option<String> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    Some(body.get("error")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_address_of_a_listener() {
        let admin = |host: &str, port| {
            Ok(Admin {
                host: host.to_owned(),
                port,
            })
        };
        assert_eq!(
            Admin::parse("http://127.0.0.1:4546"),
            admin("127.0.0.1", 4546)
        );
        assert_eq!(
            Admin::parse("http://127.0.0.1:4546/"),
            admin("127.0.0.1", 4546)
        );
        assert_eq!(Admin::parse("localhost:1"), admin("localhost", 1));
        assert_eq!(Admin::parse("http://[::1]:5"), admin("[::1]", 5));
        assert_eq!(
            Admin::parse("http://gateway.example"),
            admin("gateway.example", 80)
        );
    }

    // hardening C11
    #[test]
    fn what_is_no_address_is_refused_and_not_repeated() {
        for text in [
            "",
            "https://127.0.0.1:4546",
            "ftp://a",
            "http://a/s3cret-canary",
            "http://a?s3cret-canary",
            "http://s3cret-canary@a",
            "s3cret canary",
        ] {
            let Refusal(exit, problem) = Admin::parse(text).unwrap_err();
            assert_eq!(exit, Exit::Usage, "{text}");
            assert!(
                problem.starts_with("--admin: ") && !problem.contains("canary"),
                "{problem}"
            );
        }
    }
}
