//! `highwater demo`: nodes that fail on cue, the real gateway before them, and callers that must not
//! notice.
//!
//! The nodes, their faults and the load stand in a scenario like any other. Nodes and callers speak
//! HTTP to the gateway's sockets as anybody would, and every figure comes from the two ends: see
//! [`crate::ledger`].

mod report;

use crate::{
    arguments::{self, DemoArguments},
    exit::Exit,
    lab,
    ledger::{Ledger, Sums},
    live, output,
    stage::{self, Refused, SECOND},
};
use highwater_gateway::Running;
use highwater_lab::{
    scenario::{DEMO, Scenario, parse_duration},
    sockets::{self, Calls, Dealt, Fleet},
};
use report::Shortfall;
use std::{fmt::Write as _, net::SocketAddr, time::Duration};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, interval_at},
};

/// Longest time for one attempt at one node. Short, so that a hang is a matter of the demo.
const ATTEMPT: &str = "500ms";

/// What is to be played.
struct Play {
    scenario: Scenario,
    listen: SocketAddr,
    admin: SocketAddr,
    lasts: Duration,
}

pub(crate) fn run(arguments: &DemoArguments) -> Exit {
    let played = Play::new(arguments).and_then(|play| {
        let runtime = live::runtime().map_err(|error| Refused(Exit::System, error))?;
        runtime.block_on(play.run())
    });
    match played {
        Ok(exit) => exit,
        Err(Refused(exit, problem)) => {
            output::error(&problem);
            exit
        }
    }
}

impl Play {
    fn new(arguments: &DemoArguments) -> Result<Self, Refused> {
        let usage = |problem: String| Refused(Exit::Usage, problem);
        let listen = arguments.listen.as_deref().unwrap_or("127.0.0.1:4545");
        let listen = arguments::address("--listen", listen).map_err(usage)?;
        if !listen.ip().is_loopback() {
            return Err(usage(
                "--listen: the demo is for this machine only; expected a loopback address, such as \
                 127.0.0.1:4545"
                    .to_owned(),
            ));
        }
        let mut admin = listen;
        if listen.port() != 0 {
            let above = listen.port().checked_add(1).ok_or_else(|| {
                usage(
                    "--listen: the admin listener needs the port above: choose a lower one".into(),
                )
            })?;
            admin.set_port(above);
        }
        let seed = arguments::seed(arguments.seed.as_deref()).map_err(usage)?;
        let scenario = Scenario::parse(DEMO, seed)
            .map_err(|error| Refused(Exit::Internal, format!("the demo's scenario: {error}")))?;
        let lasts = match arguments.lasts.as_deref() {
            None => scenario.duration,
            Some(text) => parse_duration(text)
                .ok()
                .filter(|lasts| !lasts.is_zero())
                .ok_or_else(|| {
                    usage("--for: expected a duration with its unit, such as 20s or 5m".into())
                })?,
        };
        Ok(Self {
            scenario,
            listen,
            admin,
            lasts,
        })
    }

    async fn run(self) -> Result<Exit, Refused> {
        let mut stopped = live::until_stopped().map_err(|error| Refused(Exit::System, error))?;
        let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
        live::loopback_is_up(anywhere.ip())
            .await
            .map_err(|problem| Refused(Exit::System, problem))?;
        let (fleet, told) = sockets::serve_told(&self.scenario, anywhere)
            .await
            .map_err(|error| Refused(Exit::System, live::cannot_listen(&error)))?;
        let timeout = format!("timeout = \"{ATTEMPT}\"\n");
        let gateway = stage::gateway(&self.scenario, &fleet, (self.listen, self.admin), &timeout);
        let gateway = gateway.await?;
        self.introduce(&fleet, &gateway);
        let stage = Stage {
            scenario: &self.scenario,
            ledger: Ledger::new(self.scenario.nodes.len()),
            told,
        };
        let (ledger, cut_short) = stage.play((fleet, gateway), self.lasts, &mut stopped).await;
        output::print(&report::table(&self.scenario, &ledger));
        let (exit, text) = verdict(ledger.sums(), cut_short);
        if exit == Exit::Ok {
            output::print(&format!("\n{text}\n"));
        } else {
            output::error(&text);
        }
        Ok(exit)
    }

    fn introduce(&self, fleet: &Fleet, gateway: &Running) {
        let mut text = format!("highwater listening on http://{}\n", gateway.addr);
        if let Some(admin) = gateway.admin_addr {
            let _ = writeln!(text, "highwater listening on http://{admin}");
        }
        let load = &self.scenario.load;
        let rate = load.clients as f64 / load.every.as_secs_f64();
        let urls: Vec<String> = fleet.members().iter().map(|member| member.url()).collect();
        let _ = write!(
            text,
            "\n{rate:.0} calls a second for {:?} through the gateway to these nodes (seed {}):\n{}\n{}",
            self.lasts,
            self.scenario.seed,
            lab::nodes(&self.scenario, &urls),
            report::SECONDS
        );
        output::print(&text);
    }
}

/// A run of the load.
struct Stage<'a> {
    scenario: &'a Scenario,
    ledger: Ledger,
    told: mpsc::UnboundedReceiver<Dealt>,
}

impl Stage<'_> {
    /// Plays to the end and takes everything down, so that nothing is counted half. Says whether it
    /// was cut short.
    async fn play(
        mut self,
        (fleet, gateway): (Fleet, Running),
        lasts: Duration,
        stopped: &mut watch::Receiver<bool>,
    ) -> (Ledger, bool) {
        let stop = watch::Sender::new(false);
        let mut samples = sockets::load(
            gateway.addr,
            &self.scenario.load,
            &stop.subscribe(),
            fleet.chronicle(),
        );
        let cut_short = self.watch(&fleet, &mut samples, lasts, stopped).await;
        stop.send_replace(true);
        // Calls under way are finished, then the gateway's requests are, then all is told.
        while let Some(sample) = samples.next().await {
            self.ledger.called(sample);
        }
        gateway.shutdown().await;
        fleet.stop().await;
        while let Some(dealt) = self.told.recv().await {
            self.ledger.dealt(&dealt);
        }
        self.ledger.settle();
        (self.ledger, cut_short)
    }

    /// One line a second.
    async fn watch(
        &mut self,
        fleet: &Fleet,
        samples: &mut Calls,
        lasts: Duration,
        stopped: &mut watch::Receiver<bool>,
    ) -> bool {
        let start = Instant::now();
        let mut seconds = interval_at(start + SECOND, SECOND);
        let end = start.checked_add(lasts);
        let mut before = Sums::default();
        loop {
            tokio::select! {
                // The last line comes before the end, which is due at the same moment.
                biased;
                _ = stopped.wait_for(|stop| *stop) => return true,
                _ = seconds.tick() => {
                    self.ledger.settle();
                    let under_way = stage::under_way(self.scenario, fleet.elapsed());
                    output::print(&report::second(start.elapsed(), &self.ledger, before, &under_way));
                    before = self.ledger.sums();
                }
                () = stage::over(end) => return false,
                Some(sample) = samples.next() => self.ledger.called(sample),
                Some(dealt) = self.told.recv() => self.ledger.dealt(&dealt),
            }
        }
    }
}

/// How the process ends, and what is said of it.
fn verdict(sums: Sums, cut_short: bool) -> (Exit, String) {
    if cut_short {
        return (Exit::Ok, "stopped before its end: no verdict".to_owned());
    }
    match Shortfall::of(sums) {
        None => (Exit::Ok, report::closing(sums)),
        Some(shortfall) => (Exit::Shortfall, shortfall.text().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Exit, Sums, verdict};

    // B-1
    #[test]
    fn a_demo_that_hides_no_fault_ends_with_1_unless_it_was_cut_short() {
        let sums = |hidden| Sums {
            calls: 320,
            right: 320,
            hidden,
            shown: 0,
        };
        assert_eq!(verdict(sums(0), false).0.code(), 1);
        assert_eq!(verdict(sums(1), false).0, Exit::Ok);
        assert_eq!(verdict(sums(0), true).0, Exit::Ok);
    }
}
