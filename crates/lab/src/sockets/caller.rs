//! A client of an HTTP endpoint: one connection, one request at a time.

use std::io;
use std::net::SocketAddr;

use tokio::net::TcpStream;

use super::wire::{Connection, HttpAnswer};

/// One client.
#[derive(Debug)]
pub(super) struct Caller {
    addr: SocketAddr,
    connection: Option<Connection>,
}

impl Caller {
    /// A client that has not connected yet.
    pub(super) fn new(addr: SocketAddr) -> Self {
        Self {
            addr,
            connection: None,
        }
    }

    /// Posts a JSON body and reads the answer, on the connection of the call before if it was kept.
    ///
    /// Cancellation: the connection is closed.
    ///
    /// # Errors
    ///
    /// When there is no HTTP answer.
    pub(super) async fn post(&mut self, body: &str) -> io::Result<HttpAnswer> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::new(TcpStream::connect(self.addr).await?),
        };
        let request = format!(
            "POST / HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            self.addr,
            body.len()
        );
        connection.write(request.as_bytes()).await?;
        let answer = connection.read_answer().await?;
        if answer.kept {
            self.connection = Some(connection);
        }
        Ok(answer)
    }
}
