//! A scenario on real sockets, in real time.

use super::{Refused, nodes};
use crate::{live, output};
use highwater_lab::{
    scenario::Scenario,
    sockets::{self, Fleet, Tally},
};
use serde_json::json;
use std::{net::SocketAddr, time::Duration};

/// Serves until the scenario is over or a signal comes, and tells what each node did.
pub(super) async fn run(
    scenario: &Scenario,
    listen: SocketAddr,
    as_json: bool,
) -> Result<(), Refused> {
    let mut stopped = live::until_stopped().map_err(Refused::System)?;
    live::loopback_is_up(listen.ip())
        .await
        .map_err(Refused::System)?;
    let fleet = sockets::serve(scenario, listen)
        .await
        .map_err(|error| Refused::System(live::cannot_listen(&error)))?;
    output::print(&if as_json {
        introduction_as_json(scenario, &fleet)
    } else {
        introduction(scenario, &fleet)
    });
    tokio::select! {
        _ = stopped.wait_for(|stop| *stop) => {}
        () = tokio::time::sleep(scenario.duration) => {}
    }
    let lasted = fleet.elapsed();
    let tallies = fleet.stop().await;
    output::print(&if as_json {
        tallies_as_json(scenario, lasted, &tallies)
    } else {
        tally(scenario, lasted, &tallies)
    });
    Ok(())
}

fn urls(fleet: &Fleet) -> Vec<String> {
    fleet.members().iter().map(|member| member.url()).collect()
}

fn introduction(scenario: &Scenario, fleet: &Fleet) -> String {
    format!(
        "{}, seed {}, for {:?}:\n{}",
        scenario.name,
        scenario.seed,
        scenario.duration,
        nodes(scenario, &urls(fleet))
    )
}

fn introduction_as_json(scenario: &Scenario, fleet: &Fleet) -> String {
    let members = scenario.nodes.iter().zip(urls(fleet));
    let members = members.map(|((profile, _), url)| {
        json!({ "name": profile.name, "url": url, "plan": profile.to_string() })
    });
    let started = json!({
        "event": "started",
        "scenario": scenario.name,
        "seed": scenario.seed,
        "duration_ms": milliseconds(scenario.duration),
        "nodes": members.collect::<Vec<_>>(),
    });
    format!("{started}\n")
}

fn tally(scenario: &Scenario, lasted: Duration, tallies: &[Tally]) -> String {
    let mut text = format!(
        "\nafter {:.1}s:\n  {:<12} {:>8} {:>8} {:>13} {:>8}   what failed\n",
        lasted.as_secs_f64(),
        "node",
        "requests",
        "answered",
        "failed on cue",
        "left"
    );
    for ((profile, _), tally) in scenario.nodes.iter().zip(tallies) {
        let kinds = tally.failed.iter();
        let kinds: Vec<String> = kinds
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        let line = format!(
            "  {:<12} {:>8} {:>8} {:>13} {:>8}   {}",
            profile.name,
            tally.requests(),
            tally.answered,
            tally.failures(),
            tally.left,
            kinds.join(", "),
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn tallies_as_json(scenario: &Scenario, lasted: Duration, tallies: &[Tally]) -> String {
    let members = scenario.nodes.iter().zip(tallies);
    let members = members.map(|((profile, _), tally)| {
        json!({
            "name": profile.name,
            "requests": tally.requests(),
            "answered": tally.answered,
            "failed": tally.failed,
            "left": tally.left,
        })
    });
    let ended = json!({
        "event": "ended",
        "lasted_ms": milliseconds(lasted),
        "nodes": members.collect::<Vec<_>>(),
    });
    format!("{ended}\n")
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
