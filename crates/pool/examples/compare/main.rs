//! One program of alloy over alloy's own `FallbackLayer` and over a pool, on the same failing endpoints.
//!
//! `cargo run --profile ci -p highwater --example compare`, and after `--` a part of a scenario's name
//! to see that one alone.
//!
//! Real sockets, real time, under two minutes. docs/comparison.md says what is counted.

mod program;
mod router;
mod scenario;

use highwater_lab::{
    scenario::Scenario,
    sockets::{self, Fleet, Tally},
};
use program::{Ended, Report};
use router::Router;
use scenario::{Case, Work};
use std::{error::Error, time::Instant};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    println!(
        "{:<34} {:<26} {:>8} {:>8} {:>8} {:>9} {:>6} {:>6}",
        "scenario", "router", "success", "p50 ms", "p99 ms", "requests", "wrong", "open"
    );
    let wanted = std::env::args().nth(1).unwrap_or_default();
    for case in scenario::all() {
        if !case.name.contains(&wanted) {
            continue;
        }
        for (place, router) in Router::of(&case).into_iter().enumerate() {
            let (report, requests) = play(&case, router).await?;
            let name = if place == 0 { case.name } else { "" };
            println!(
                "{:<34} {:<26} {:>6.1} % {:>8.0} {:>8.0} {:>9} {:>6} {:>6}",
                name,
                router.name(),
                report.share(Ended::Right) * 100.0,
                report.quantile(0.5).as_secs_f64() * 1e3,
                report.quantile(0.99).as_secs_f64() * 1e3,
                requests,
                report.count(Ended::Wrong),
                report.count(Ended::Open),
            );
        }
    }
    println!(
        "{} calls a line, {:.0} s",
        scenario::CALLS,
        began.elapsed().as_secs_f64()
    );
    Ok(())
}

/// What the program met with this router, and how many requests the endpoints got.
async fn play(case: &Case, router: Router) -> Result<(Report, u64), Box<dyn Error>> {
    let scenario = Scenario::parse(&case.text(), None).map_err(|error| error.to_string())?;
    let transfers = match case.work {
        Work::Send => program::transfers(&scenario),
        Work::Read | Work::Revert => Vec::new(),
    };
    let fleet: Fleet = sockets::serve(&scenario, ([127, 0, 0, 1], 0).into()).await?;
    let urls: Vec<String> = fleet.members().iter().map(|node| node.url()).collect();
    let provider = router.provider(&urls, scenario.chain.chain_id)?;
    let report = program::run(provider, case.work, &transfers, fleet.chain()).await?;
    let tallies = fleet.stop().await;
    Ok((report, tallies.iter().map(Tally::requests).sum()))
}
