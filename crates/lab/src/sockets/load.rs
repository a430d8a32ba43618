//! A steady load on one address: the `[load]` of a scenario, over real sockets.
//!
//! Every client has a connection of its own and asks at fixed times, so a slow answer does not make
//! the load lighter; and what a call took counts from the time it was due, so waiting behind the
//! call before is not left out.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};

use super::caller::Caller;
use super::question::Question;
use crate::scenario::Load;

/// One call that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The number of its [`Question`]; the first of a load is 0, and none is left out.
    pub number: u64,
    /// Time from when it was due until it was over.
    pub took: Duration,
    /// Whether it got the right answer, and if not, what it got.
    pub outcome: Result<(), String>,
}

/// Starts a load: `clients` of them, `every` so often, each call given `timeout`. What the scenario
/// asks does not matter here, the questions are [`Question`]s. It begins no further call once
/// `stop` is true, and the channel ends when the last call is over.
///
/// Spawns a task for each client on the current runtime.
#[must_use]
pub fn load(
    addr: SocketAddr,
    load: &Load,
    stop: &watch::Receiver<bool>,
) -> mpsc::UnboundedReceiver<Sample> {
    let (samples, receiver) = mpsc::unbounded_channel();
    let numbers = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    for index in 0..load.clients {
        // Spread over the interval, so that clients do not march in step.
        let share = index as f64 / load.clients as f64;
        let client = Client {
            caller: Caller::new(addr),
            due: start + load.every.mul_f64(share),
            every: load.every,
            patience: load.timeout,
            numbers: Arc::clone(&numbers),
            samples: samples.clone(),
        };
        tokio::spawn(client.live(stop.clone()));
    }
    receiver
}

struct Client {
    caller: Caller,
    due: Instant,
    every: Duration,
    patience: Duration,
    numbers: Arc<AtomicU64>,
    samples: mpsc::UnboundedSender<Sample>,
}

impl Client {
    async fn live(mut self, mut stop: watch::Receiver<bool>) {
        loop {
            tokio::select! {
                biased;
                // An error means that nobody is there to stop it later.
                _ = stop.wait_for(|stop| *stop) => return,
                () = sleep_until(self.due) => {}
            }
            let question = Question::numbered(self.numbers.fetch_add(1, Ordering::Relaxed));
            let outcome = match timeout(self.patience, self.caller.post(question.body())).await {
                Ok(Ok(answer)) => question.judge(answer.status, &answer.body),
                Ok(Err(error)) => Err(format!("no answer: {error}")),
                Err(_) => Err("no answer in time".to_owned()),
            };
            let sample = Sample {
                number: question.number(),
                took: Instant::now().saturating_duration_since(self.due),
                outcome,
            };
            if self.samples.send(sample).is_err() {
                return;
            }
            self.due += self.every;
        }
    }
}
