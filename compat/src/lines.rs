//! Lines from the gateway to one node, each an endpoint of its own: they die, come back, and lose the
//! answers of sends, when a test says so.
//!
//! What happens to a send is said before it is made, so that nothing depends on time.

use crate::{
    address::fresh_address,
    http::{Http, read_request},
};
use std::{
    collections::VecDeque,
    io::{self, BufReader, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

/// The method whose answers get lost.
const SEND: &str = "eth_sendRawTransaction";

/// What goes wrong with a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mishap {
    /// The node takes the transaction, and the connection breaks in place of the answer.
    AnswerLost,
    /// The same, and the node has mined the transaction by then.
    AnswerLostMined,
    /// The connection breaks before the node has the transaction.
    RequestLost,
}

/// What became of the sends that came over the lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sends {
    /// All that arrived.
    pub arrived: usize,
    /// Taken by the node, the answer lost.
    pub answers_lost: usize,
    /// Not passed on.
    pub requests_lost: usize,
}

/// The lines; their threads end with the test process.
#[derive(Debug)]
pub struct Lines {
    lines: Vec<Line>,
    fate: Arc<Mutex<Fate>>,
}

#[derive(Debug)]
struct Line {
    address: SocketAddr,
    node: SocketAddr,
    open: Arc<Mutex<Open>>,
    accepting: Option<JoinHandle<()>>,
}

/// The connections of a line.
#[derive(Debug, Default)]
struct Open {
    dead: bool,
    streams: Vec<TcpStream>,
}

#[derive(Debug, Default)]
struct Fate {
    next: VecDeque<Mishap>,
    sends: Sends,
}

impl Lines {
    /// So many lines to `node`, all alive.
    ///
    /// # Panics
    /// When an address cannot be used.
    #[must_use]
    pub fn start(node: SocketAddr, count: usize) -> Self {
        let fate = Arc::default();
        let line = |_| {
            let mut line = Line {
                address: fresh_address(),
                node,
                open: Arc::default(),
                accepting: None,
            };
            line.listen(&fate);
            line
        };
        Self {
            lines: (0..count).map(line).collect(),
            fate,
        }
    }

    /// What the gateway is given as its endpoints.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        let url = |line: &Line| format!("http://{}", line.address);
        self.lines.iter().map(url).collect()
    }

    /// Says what goes wrong with the next sends, whichever lines they come over. Those after them are
    /// served. Replaces what was said before.
    pub fn next_sends(&self, mishaps: &[Mishap]) {
        locked(&self.fate).next = mishaps.iter().copied().collect();
    }

    /// What became of the sends so far.
    #[must_use]
    pub fn sends(&self) -> Sends {
        locked(&self.fate).sends
    }

    /// Kills or revives lines, so that just those in `dead` are dead: their connections break, and new
    /// ones are refused.
    ///
    /// # Panics
    /// When the address of a line that comes back cannot be used.
    pub fn only_dead(&mut self, dead: &[usize]) {
        for (index, line) in self.lines.iter_mut().enumerate() {
            if !dead.contains(&index) {
                line.listen(&self.fate);
            } else if let Some(accepting) = line.accepting.take() {
                line.die(accepting);
            }
        }
    }
}

impl Line {
    fn listen(&mut self, fate: &Arc<Mutex<Fate>>) {
        if self.accepting.is_some() {
            return;
        }
        locked(&self.open).dead = false;
        let listener = TcpListener::bind(self.address).expect("the address is free");
        let (node, open, fate) = (self.node, Arc::clone(&self.open), Arc::clone(fate));
        self.accepting = Some(thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut open = locked(&open);
                if open.dead {
                    return;
                }
                open.streams.extend(stream.try_clone());
                drop(open);
                let fate = Arc::clone(&fate);
                // A connection that breaks is what this is for; the gateway sees it.
                thread::spawn(move || serve(stream, node, &fate));
            }
        }));
    }

    fn die(&self, accepting: JoinHandle<()>) {
        locked(&self.open).dead = true;
        // Wakes the thread, which closes the listener; it may have closed on another connection.
        let _ = TcpStream::connect(self.address);
        accepting.join().expect("invariant: no panic in accepting");
        for stream in locked(&self.open).streams.drain(..) {
            // One that the gateway has closed already is as good.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(client: TcpStream, node: SocketAddr, fate: &Mutex<Fate>) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut client = BufReader::new(client);
    let mut node = Http::new(node);
    while let Some(request) = read_request(&mut client)? {
        let body = String::from_utf8_lossy(&request.body);
        let mishap = if body.contains(SEND) {
            locked(fate).send()
        } else {
            None
        };
        if mishap == Some(Mishap::RequestLost) {
            return client.get_ref().shutdown(Shutdown::Both);
        }
        let answer = node.post(&body)?;
        if mishap == Some(Mishap::AnswerLostMined) {
            node.post(r#"{"jsonrpc":"2.0","id":1,"method":"evm_mine","params":[]}"#)?;
        }
        if mishap.is_some() {
            return client.get_ref().shutdown(Shutdown::Both);
        }
        let head = format!(
            "HTTP/1.1 {} Node\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            answer.status,
            answer.body.len()
        );
        client
            .get_mut()
            .write_all(&[head.as_bytes(), &answer.body].concat())?;
    }
    Ok(())
}

impl Fate {
    fn send(&mut self) -> Option<Mishap> {
        let mishap = self.next.pop_front();
        self.sends.arrived += 1;
        match mishap {
            Some(Mishap::AnswerLost | Mishap::AnswerLostMined) => self.sends.answers_lost += 1,
            Some(Mishap::RequestLost) => self.sends.requests_lost += 1,
            None => {}
        }
        mishap
    }
}
