//! A steady load on one address: the `[load]` of a scenario, over real sockets.
//!
//! Every client asks at fixed times, whatever became of its calls before: one that is still under way
//! has the client open another connection, so a slow answer makes the load neither lighter nor
//! slower for the calls behind it. What a call took counts from the time it was due.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};

use super::caller::Caller;
use super::chronicle::Chronicle;
use super::question::Question;
use crate::history::Got;
use crate::scenario::Load;
use crate::world::read_reply;

/// One call that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The number of its [`Question`]; the first of a load is 0, and none is left out.
    pub number: u64,
    /// When it was due, in scenario time.
    pub due: Duration,
    /// Time from when it was due until it was over.
    pub took: Duration,
    /// The height that the right answer was read at, or what it got instead.
    pub outcome: Result<u64, String>,
}

/// A load under way.
#[derive(Debug)]
pub struct Calls {
    over: mpsc::UnboundedReceiver<Sample>,
    begun: Arc<AtomicU64>,
}

impl Calls {
    /// The next call to end; `None` once the last is over.
    ///
    /// Cancellation: safe.
    pub async fn next(&mut self) -> Option<Sample> {
        self.over.recv().await
    }

    /// How many have begun: those with a lower number.
    #[must_use]
    pub fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }
}

/// Starts a load: `clients` of them, `every` so often, each call given `timeout`. What the scenario
/// asks does not matter here, the questions are [`Question`]s. Calls and answers go into the history
/// where one is kept. It begins no further call once `stop` is true, and ends when the last call is
/// over.
///
/// Spawns a task for each client, and for each call, on the current runtime.
#[must_use]
pub fn load(
    addr: SocketAddr,
    load: &Load,
    stop: &watch::Receiver<bool>,
    chronicle: &Chronicle,
) -> Calls {
    let (samples, over) = mpsc::unbounded_channel();
    let numbers = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    for index in 0..load.clients {
        // Spread over the interval, so that clients do not march in step.
        let share = index as f64 / load.clients as f64;
        let client = Client {
            number: index,
            addr,
            free: Arc::default(),
            patience: load.timeout,
            numbers: Arc::clone(&numbers),
            samples: samples.clone(),
            chronicle: chronicle.clone(),
        };
        let due = start + load.every.mul_f64(share);
        tokio::spawn(client.live(due, load.every, stop.clone()));
    }
    Calls {
        over,
        begun: numbers,
    }
}

#[derive(Clone)]
struct Client {
    number: u64,
    addr: SocketAddr,
    /// Connections that no call is using.
    free: Arc<Mutex<Vec<Caller>>>,
    patience: Duration,
    numbers: Arc<AtomicU64>,
    samples: mpsc::UnboundedSender<Sample>,
    chronicle: Chronicle,
}

impl Client {
    async fn live(self, mut due: Instant, every: Duration, mut stop: watch::Receiver<bool>) {
        loop {
            tokio::select! {
                biased;
                // An error means that nobody is there to stop it later.
                _ = stop.wait_for(|stop| *stop) => return,
                () = sleep_until(due) => {}
            }
            let number = self.numbers.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(self.clone().call(number, due));
            due += every;
        }
    }

    async fn call(self, number: u64, due: Instant) {
        let question = Question::numbered(number);
        let free = self.free.lock().pop();
        let mut caller = free.unwrap_or_else(|| Caller::new(self.addr));
        self.chronicle.called(self.number, &question);
        let nothing = |why: String| (None, Got::Nothing(why.clone()), Err(why));
        let (id, got, outcome) = match timeout(self.patience, caller.post(question.body())).await {
            Ok(Ok(answer)) => {
                self.free.lock().push(caller);
                let outcome = question.judge(answer.status, &answer.body);
                let (id, got) = read_reply(&answer.body);
                (id, got, outcome)
            }
            Ok(Err(error)) => nothing(format!("no answer: {error}")),
            Err(_) => nothing("no answer in time".to_owned()),
        };
        self.chronicle.answered(number, id, got);
        // Nobody may be listening any more.
        let _ = self.samples.send(Sample {
            number,
            due: self.chronicle.at(due),
            took: Instant::now().saturating_duration_since(due),
            outcome,
        });
    }
}
