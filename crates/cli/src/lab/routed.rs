//! A scenario on real sockets with the gateway before its nodes and its load through it: what callers
//! got, how fast, and what the checker finds in the history of both ends.

use super::{
    Refused, nodes,
    pace::{self, Pace, Part, Settled},
};
use crate::{
    exit::Exit,
    figures::{milliseconds, percent},
    ledger::{Ledger, endpoints},
    live, output,
    stage::{self, SECOND},
};
use highwater_gateway::Running;
use highwater_lab::{
    checker::{self, Promises, Violation},
    scenario::Scenario,
    sockets::{self, Calls, Dealt, Fleet},
};
use serde_json::json;
use std::{collections::VecDeque, fmt::Write as _, net::SocketAddr, time::Duration};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, interval_at},
};

/// Most violations that are spelt out.
const SPELT_OUT: usize = 5;

/// The beginnings of faults after which there is something to be said of how fast calls are.
pub(super) fn onsets(scenario: &Scenario) -> Result<Vec<Duration>, &'static str> {
    let onsets = pace::onsets(scenario);
    match (onsets, scenario.settle) {
        (Some(onsets), None) => Ok(onsets),
        (Some(onsets), Some(_)) if !onsets.is_empty() => Ok(onsets),
        // Nothing to compare with, and nobody who asks.
        (None, None) => Ok(Vec::new()),
        (_, Some(_)) => Err(
            "`settle` needs a fault that begins after the first second, and none that begins in it",
        ),
    }
}

/// Plays the scenario to its end, or until a signal, and says how it ends.
pub(super) async fn run(
    scenario: &Scenario,
    onsets: &[Duration],
    listen: SocketAddr,
    as_json: bool,
) -> Result<Exit, Refused> {
    let mut stopped = live::until_stopped().map_err(Refused::System)?;
    live::loopback_is_up(listen.ip())
        .await
        .map_err(Refused::System)?;
    let (fleet, told) = sockets::serve_recorded(scenario, listen)
        .await
        .map_err(|error| Refused::System(live::cannot_listen(&error)))?;
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let pace = format!(
        "[chains.lab.heads]\nblock_time = \"{}ms\"\n",
        scenario.chain.block_time.as_millis()
    );
    let gateway = stage::gateway(scenario, &fleet, (anywhere, anywhere), &pace)
        .await
        .map_err(|stage::Refused(exit, problem)| Refused::Ends(exit, problem))?;
    output::print(&introduction(scenario, &fleet, &gateway, as_json));
    let play = Play {
        scenario,
        as_json,
        ledger: Ledger::new(scenario.nodes.len()),
        pace: Pace::default(),
        told,
    };
    let ended = play.play_out(fleet, gateway, &mut stopped).await;
    let verdict = Verdict::of(scenario, &ended, onsets);
    output::print(&if as_json {
        verdict.to_json(scenario, &ended)
    } else {
        format!(
            "\n{}\n{}",
            endpoints(scenario, &ended.ledger),
            verdict.to_text(scenario, &ended)
        )
    });
    Ok(if verdict.is_kept(scenario) || ended.cut_short {
        Exit::Ok
    } else {
        Exit::Shortfall
    })
}

fn introduction(scenario: &Scenario, fleet: &Fleet, gateway: &Running, as_json: bool) -> String {
    let urls: Vec<String> = fleet.members().iter().map(|member| member.url()).collect();
    let rate = scenario.load.clients as f64 / scenario.load.every.as_secs_f64();
    let (addr, admin) = (gateway.addr, gateway.admin_addr);
    if as_json {
        let members = scenario.nodes.iter().zip(urls);
        let members = members.map(|((profile, _), url)| {
            json!({ "name": profile.name, "url": url, "plan": profile.to_string() })
        });
        let started = json!({
            "event": "started",
            "scenario": scenario.name,
            "seed": scenario.seed,
            "duration_ms": scenario.duration.as_millis() as u64,
            "calls_per_second": rate,
            "gateway": format!("http://{addr}"),
            "nodes": members.collect::<Vec<_>>(),
        });
        return format!("{started}\n");
    }
    let admin = admin.map_or_else(String::new, |admin| {
        format!(", its admin at http://{admin}")
    });
    format!(
        "{}, seed {}, for {:?}: {rate:.0} calls a second through the gateway at \
         http://{addr}{admin}\n{}\n  time    calls    right   p50 ms   p99 ms   max ms   behind   under way\n",
        scenario.name,
        scenario.seed,
        scenario.duration,
        nodes(scenario, &urls),
    )
}

/// A run of the load.
struct Play<'a> {
    scenario: &'a Scenario,
    as_json: bool,
    ledger: Ledger,
    pace: Pace,
    told: mpsc::UnboundedReceiver<Dealt>,
}

/// What is left of it.
struct Ended {
    ledger: Ledger,
    pace: Pace,
    violations: Vec<Violation>,
    cut_short: bool,
}

/// A second whose calls may not be over yet.
struct Second {
    number: u32,
    /// How many calls had begun at its end.
    begun: u64,
}

impl Play<'_> {
    /// Plays to the end and takes everything down, so that nothing is counted half.
    async fn play_out(
        mut self,
        fleet: Fleet,
        gateway: Running,
        stopped: &mut watch::Receiver<bool>,
    ) -> Ended {
        let stop = watch::Sender::new(false);
        let chronicle = fleet.chronicle();
        let load = &self.scenario.load;
        let mut calls = sockets::load(gateway.addr, load, &stop.subscribe(), chronicle);
        let mut open = VecDeque::new();
        let cut_short = self.watch(&fleet, &mut calls, &mut open, stopped).await;
        stop.send_replace(true);
        // Calls under way are finished, then the gateway's requests are, then all is told.
        while let Some(sample) = calls.next().await {
            self.pace.add(&sample, self.head(sample.due));
            self.ledger.called(sample);
            self.tell(&mut open);
        }
        gateway.shutdown().await;
        let (chain, history) = (fleet.chain().clone(), fleet.history());
        fleet.stop().await;
        while let Some(dealt) = self.told.recv().await {
            self.ledger.dealt(&dealt);
        }
        self.ledger.settle();
        Ended {
            violations: checker::check(&history, &chain, &Promises::of(self.scenario)),
            ledger: self.ledger,
            pace: self.pace,
            cut_short,
        }
    }

    /// Says whether it was cut short.
    async fn watch(
        &mut self,
        fleet: &Fleet,
        calls: &mut Calls,
        open: &mut VecDeque<Second>,
        stopped: &mut watch::Receiver<bool>,
    ) -> bool {
        // Seconds of the scenario, which began a moment ago.
        let began = Instant::now()
            .checked_sub(fleet.elapsed())
            .unwrap_or_else(Instant::now);
        let mut seconds = interval_at(began + SECOND, SECOND);
        let end = began.checked_add(self.scenario.duration);
        let mut number = 0;
        loop {
            tokio::select! {
                biased;
                _ = stopped.wait_for(|stop| *stop) => return true,
                _ = seconds.tick() => {
                    open.push_back(Second { number, begun: calls.begun() });
                    number += 1;
                    self.ledger.settle();
                    self.tell(open);
                }
                () = stage::over(end) => return false,
                Some(sample) = calls.next() => {
                    self.pace.add(&sample, self.head(sample.due));
                    self.ledger.called(sample);
                    self.tell(open);
                }
                Some(dealt) = self.told.recv() => self.ledger.dealt(&dealt),
            }
        }
    }

    fn head(&self, at: Duration) -> u64 {
        self.scenario.chain.head_at(at)
    }

    /// Tells of the seconds whose calls are all over.
    fn tell(&self, open: &mut VecDeque<Second>) {
        while let Some(second) = open.pop_front_if(|second| self.pace.has_all(second.begun)) {
            let start = SECOND * second.number;
            let part = self.pace.part(&(start..start + SECOND));
            let under_way = stage::under_way(self.scenario, start + SECOND);
            output::print(&if self.as_json {
                second_as_json(second.number, &part, &under_way)
            } else {
                line(second.number, &part, &under_way)
            });
        }
    }
}

fn line(number: u32, part: &Part, under_way: &str) -> String {
    let line = format!(
        "{:>5}s {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}   {under_way}",
        number + 1,
        part.calls,
        part.right,
        milliseconds(part.p50),
        milliseconds(part.p99),
        milliseconds(part.slowest),
        part.behind,
    );
    format!("{}\n", line.trim_end())
}

fn second_as_json(number: u32, part: &Part, under_way: &str) -> String {
    let second = json!({
        "event": "second",
        "second": number + 1,
        "calls": part.calls,
        "right": part.right,
        "p50_us": part.p50,
        "p99_us": part.p99,
        "max_us": part.slowest,
        "behind": part.behind,
        "under_way": under_way,
    });
    format!("{second}\n")
}

/// What the run shows, held to the scenario's bounds.
struct Verdict {
    calls: u64,
    wrong: u64,
    violations: usize,
    /// When each fault began, and how soon it was over for callers.
    settled: Vec<(Duration, Settled)>,
}

impl Verdict {
    fn of(scenario: &Scenario, ended: &Ended, onsets: &[Duration]) -> Self {
        let sums = ended.ledger.sums();
        let settled = ended.pace.settled(onsets, scenario.duration);
        Self {
            calls: sums.calls,
            wrong: sums.calls - sums.right,
            violations: ended.violations.len(),
            settled: onsets.iter().copied().zip(settled).collect(),
        }
    }

    fn is_kept(&self, scenario: &Scenario) -> bool {
        let errors = scenario.errors.is_none_or(|most| self.wrong <= most);
        let settled =
            |(_, settled): &(_, Settled)| scenario.settle.is_none_or(|most| settled.after <= most);
        errors && self.violations == 0 && self.settled.iter().all(settled)
    }

    fn to_text(&self, scenario: &Scenario, ended: &Ended) -> String {
        let held = |kept: bool| if kept { "kept" } else { "BROKEN" };
        let right = percent(self.calls - self.wrong, self.calls);
        let mut text = format!("{} calls, {right} with the right answer", self.calls);
        if let Some(most) = scenario.errors {
            let kept = held(self.wrong <= most);
            let _ = write!(text, "; {} without, at most {most}: {kept}", self.wrong);
        }
        let kept = held(self.violations == 0);
        let _ = write!(
            text,
            "\nthe checker's violations: {}: {kept}\n",
            self.violations
        );
        for violation in ended.violations.iter().take(SPELT_OUT) {
            let _ = writeln!(text, "  {violation}");
        }
        for (onset, settled) in &self.settled {
            let _ = write!(
                text,
                "after the fault at {onset:?} p99 is normal (at most {} ms) from {:?} on",
                milliseconds(settled.normal),
                settled.after,
            );
            if let Some(most) = scenario.settle {
                let _ = write!(text, ", at most {most:?}: {}", held(settled.after <= most));
            }
            text.push('\n');
        }
        if ended.cut_short {
            text.push_str("stopped before its end: no verdict\n");
        }
        text
    }

    fn to_json(&self, scenario: &Scenario, ended: &Ended) -> String {
        let accounts = scenario.nodes.iter().zip(ended.ledger.nodes());
        let accounts = accounts.map(|((profile, _), account)| {
            json!({
                "name": profile.name,
                "requests": account.requests(),
                "served": account.served,
                "failed": account.kinds,
                "hidden": account.hidden,
                "left": account.left,
                "own": account.own,
            })
        });
        let settled = self.settled.iter().map(|(onset, settled)| {
            json!({
                "fault_at_ms": onset.as_millis() as u64,
                "normal_p99_us": settled.normal,
                "after_ms": settled.after.as_millis() as u64,
            })
        });
        let spelt_out = ended.violations.iter().take(SPELT_OUT);
        let ended = json!({
            "event": "ended",
            "calls": self.calls,
            "wrong": self.wrong,
            "violations": self.violations,
            "first": spelt_out.map(ToString::to_string).collect::<Vec<_>>(),
            "settled": settled.collect::<Vec<_>>(),
            "nodes": accounts.collect::<Vec<_>>(),
            "kept": (!ended.cut_short).then(|| self.is_kept(scenario)),
        });
        format!("{ended}\n")
    }
}
