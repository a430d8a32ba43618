//! The lines of the table. Each is a scenario, a figure from its history, and the bound for it.

use std::fmt::Write as _;
use std::time::Duration;

use highwater_lab::history::{Event, Got, History};
use highwater_lab::scenario::Scenario;
use highwater_lab::world::{Outcome, Routed, run};

/// One figure.
pub(crate) struct Row {
    /// What was measured.
    pub(crate) what: String,
    /// The figure.
    pub(crate) figure: f64,
    /// The most that is allowed, and the least.
    pub(crate) bounds: (f64, f64),
    /// Its unit.
    pub(crate) unit: &'static str,
}

impl Row {
    /// Whether the figure is within its bounds.
    pub(crate) fn holds(&self) -> bool {
        (self.bounds.0..=self.bounds.1).contains(&self.figure)
    }
}

/// All lines.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = refusals();
    rows.extend(outages());
    rows.push(trials());
    rows.extend(recoveries());
    rows.extend(alone());
    rows
}

/// The table as text.
pub(crate) fn print(rows: &[Row]) -> String {
    let mut out = format!("{:<66} {:>9} {:>18}\n", "what", "measured", "allowed");
    for row in rows {
        let (least, most) = row.bounds;
        let allowed = if least == most {
            format!("{most}")
        } else if least <= 0.0 {
            format!("<= {most:.2}")
        } else {
            format!("{least:.2} to {most:.2}")
        };
        let mark = if row.holds() { "" } else { "  <-- broken" };
        let _ = writeln!(
            out,
            "{:<66} {:>9.2} {allowed:>12} {:<5}{mark}",
            row.what, row.figure, row.unit
        );
    }
    out
}

fn routed(text: &str) -> Outcome {
    let scenario = Scenario::parse(text, None).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    run(&scenario, &mut Routed::new(&scenario))
}

fn scenario(head: &str, load: &str, router: &str, nodes: &[&str]) -> String {
    let nodes = nodes.iter().enumerate().map(|(index, node)| {
        format!("[[nodes]]\nname = \"n{index}\"\nlatency = \"20ms\"\n{node}\n")
    });
    let nodes: String = nodes.collect();
    format!(
        "name = \"outage\"\n{head}\n[chain]\nstart = 8\ntransactions = 0\nblock_time = \"12s\"\n\
         [load]\nasks = [\"balance\"]\n{load}\n[router]\n{router}\n{nodes}"
    )
}

/// Three endpoints that answer 429 to everything, or to everything but the chain check: ten calls at
/// once or one right after the other cost at most 17 requests, chain checks included. Over ten
/// seconds each of them can afford a retry: the budget grows by ten a second.
fn refusals() -> Vec<Row> {
    let all = "faults = [{ kind = \"error\", class = \"rate_limited\" }]";
    let calls =
        "faults = [{ kind = \"error\", class = \"rate_limited\", methods = [\"eth_getBalance\"] }]";
    let mut rows = Vec::new();
    for (what, node) in [("all", all), ("calls", calls)] {
        for preset in ["library", "gateway"] {
            for (pace, every, most) in [
                ("at once", "1ms", 17.0),
                ("in a row", "60ms", 17.0),
                ("in 10 s", "1s", 23.0),
            ] {
                let text = scenario(
                    "duration = \"1s\"",
                    &format!("clients = 1\nevery = \"{every}\"\ntimeout = \"60s\""),
                    &format!("preset = \"{preset}\"\nprobes = false"),
                    &[node; 3],
                );
                let mut scenario = Scenario::parse(&text, None).expect("a valid scenario");
                scenario.duration = scenario.load.every * 10;
                let outcome = run(&scenario, &mut Routed::new(&scenario));
                assert_eq!(outcome.calls, 10);
                rows.push(Row {
                    what: format!("3 endpoints answer 429 to {what}, 10 calls {pace} ({preset})"),
                    figure: outcome.upstream as f64,
                    bounds: (0.0, most),
                    unit: "reqs",
                });
            }
        }
    }
    rows
}

/// Requests for each call while nothing works for a minute, at forty calls a second.
fn outages() -> Vec<Row> {
    let kinds = [
        ("reset", "kind = \"reset\""),
        ("503", "kind = \"page\", status = 503"),
        ("hang", "kind = \"hang\""),
    ];
    let mut rows = Vec::new();
    for (kind, fault) in kinds {
        for (preset, race) in [("library", 2.0), ("gateway", 1.0)] {
            let node = format!("faults = [{{ {fault}, from = \"10s\" }}]");
            let text = scenario(
                "duration = \"70s\"",
                "clients = 8\nevery = \"200ms\"\ntimeout = \"60s\"",
                &format!("preset = \"{preset}\"\nattempt = \"2s\"\ndeadline = \"9s\""),
                &[&node, &node, &node],
            );
            let outcome = routed(&text);
            let from = Duration::from_secs(10);
            let events = outcome.history.events().iter();
            let during = events.filter(|event| event.at() >= from);
            let (mut calls, mut requests) = (0.0, 0.0);
            for event in during {
                match event {
                    Event::Called { .. } => calls += 1.0,
                    Event::Received { .. } => requests += 1.0,
                    Event::Answered { .. } | Event::Took { .. } | Event::Served { .. } => {}
                }
            }
            // One for each call and a racer until the circuits open, a tenth for the share, ten a
            // second, and what goes to a node in the moment when it dies.
            let most = 1.0 + 0.1 + 10.0 * 60.0 / calls + (race - 1.0) * 0.05 + 0.05;
            rows.push(Row {
                what: format!("total outage ({kind}), requests per call ({preset})"),
                figure: requests / calls,
                bounds: (0.0, most),
                unit: "reqs",
            });
        }
    }
    rows
}

/// Requests at once to an endpoint that keeps failing, after its first ejection.
fn trials() -> Row {
    let text = scenario(
        "duration = \"120s\"",
        "clients = 10\nevery = \"200ms\"\ntimeout = \"60s\"",
        "race = 0\nattempt = \"5s\"\nprobes = false",
        &[
            "faults = [{ kind = \"slow\", add = \"700ms\", from = \"5s\" }, { kind = \"invalid-json\", from = \"5s\", methods = [\"eth_getBalance\"] }]",
            "faults = [{ kind = \"slow\", add = \"50ms\" }]",
        ],
    );
    let outcome = routed(&text);
    // It fails from the fifth second on, and what was under way then is long over ten seconds later.
    let begin = Duration::from_secs(15);
    let (mut running, mut most, mut seen) = (0_i32, 0, 0);
    for event in outcome.history.events() {
        match event {
            Event::Received { at, node: 0, .. } if *at >= begin => {
                running += 1;
                seen += 1;
                most = most.max(running);
            }
            Event::Served { at, node: 0, .. } if *at >= begin && running > 0 => running -= 1,
            Event::Called { .. }
            | Event::Answered { .. }
            | Event::Received { .. }
            | Event::Took { .. }
            | Event::Served { .. } => {}
        }
    }
    assert!(seen >= 3, "it was tried again");
    Row {
        what: "half-open: requests at once to an endpoint that fails".to_owned(),
        figure: f64::from(most),
        bounds: (1.0, 1.0),
        unit: "reqs",
    }
}

/// Time from the end of a fault to the first answer, against the ejection that lasts then.
fn recoveries() -> Vec<Row> {
    const BEGIN: u64 = 5;
    let mut rows = Vec::new();
    for seconds in [2, 10, 30, 100, 300] {
        let end = BEGIN + seconds;
        let fault =
            format!("faults = [{{ kind = \"reset\", from = \"{BEGIN}s\", until = \"{end}s\" }}]");
        let text = scenario(
            &format!("duration = \"{}s\"", end + 70),
            "clients = 2\nevery = \"100ms\"\ntimeout = \"60s\"",
            "race = 0\nattempt = \"1s\"",
            &[&fault, "faults = [{ kind = \"slow\", add = \"50ms\" }]"],
        );
        let outcome = routed(&text);
        let end = Duration::from_secs(end);
        let back = served(&outcome.history, 0, end);
        // Ejections of 5, 10, 20, 40 and then 60 s: the one under way when the fault ends, the time
        // until the next call, and a chain check and an answer.
        let (mut over, mut rung) = (0, 5);
        while over + rung <= seconds {
            over += rung;
            rung = (rung * 2).min(60);
        }
        rows.push(Row {
            what: format!("back after {seconds} s of resets"),
            figure: back.map_or(f64::INFINITY, |at| (at - end).as_secs_f64()),
            bounds: (0.0, rung as f64 + 0.3),
            unit: "s",
        });
    }
    rows
}

fn served(history: &History, node: usize, after: Duration) -> Option<Duration> {
    history.events().iter().find_map(|event| match event {
        Event::Served {
            at,
            node: by,
            methods,
            ..
        } if *by == node && *at >= after && methods[0] == "eth_getBalance" => Some(*at),
        _ => None,
    })
}

/// A pool of one that is told "too many requests" once, without a wait.
fn alone() -> Vec<Row> {
    let fault = "faults = [{ kind = \"error\", class = \"rate_limited\", from = \"2s\", until = \"2100ms\" }]";
    let mut rows = Vec::new();
    for (name, preset, refused) in [
        ("library, no retries", "retries = 0", 1.0),
        ("gateway", "preset = \"gateway\"", 0.0),
    ] {
        let text = scenario(
            "duration = \"10s\"",
            "clients = 1\nevery = \"100ms\"\ntimeout = \"60s\"",
            &format!("{preset}\nprobes = false"),
            &[fault],
        );
        let outcome = routed(&text);
        let failed = outcome.history.events().iter().filter(|event| {
            matches!(
                event,
                Event::Answered {
                    got: Got::Error(_) | Got::Nothing(_),
                    ..
                }
            )
        });
        rows.push(Row {
            what: format!("a pool of one after one 429, failed of 100 calls ({name})"),
            figure: failed.count() as f64,
            bounds: (0.0, refused),
            unit: "calls",
        });
    }
    rows
}
