//! The real gateway before the nodes of a scenario, in this process and on sockets.

use crate::exit::Exit;
use highwater_gateway::{
    Gateway, Running, Settings,
    config::{Format, Overrides},
};
use highwater_lab::{scenario::Scenario, sockets::Fleet};
use std::{fmt::Write as _, net::SocketAddr, time::Duration};
use tokio::time::{Instant, sleep_until};

/// Between two lines.
pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// Why it did not begin, and how the process ends.
pub(crate) struct Refused(pub(crate) Exit, pub(crate) String);

/// The gateway, as its configuration file would make it, with its calls and its admin listener at
/// these addresses. `more` is the rest of the chain's section.
pub(crate) async fn gateway(
    scenario: &Scenario,
    fleet: &Fleet,
    (listen, admin): (SocketAddr, SocketAddr),
    more: &str,
) -> Result<Running, Refused> {
    let mut text = format!(
        "[server]\nlisten = \"{listen}\"\n[admin]\nlisten = \"{admin}\"\n\
         [chains.lab]\nid = {}\n{more}",
        scenario.chain.chain_id
    );
    for member in fleet.members() {
        let _ = write!(
            text,
            "[[chains.lab.endpoints]]\nlabel = \"{}\"\nurl = \"{}\"\n",
            member.name(),
            member.url()
        );
    }
    let settings = Settings::parse(
        "lab",
        &text,
        Format::Toml,
        &|_: &str| None,
        &Overrides::default(),
    )
    .map_err(|report| Refused(Exit::Internal, report.to_string()))?;
    Gateway::start(settings)
        .await
        .map_err(|error| Refused(Exit::NotServing(error.exit_code()), error.to_string()))
}

/// Waits for a moment, for ever where there is none.
pub(crate) async fn over(end: Option<Instant>) {
    match end {
        Some(end) => sleep_until(end).await,
        None => std::future::pending().await,
    }
}

/// Faults of the last second that do not last from the beginning to the end.
pub(crate) fn under_way(scenario: &Scenario, now: Duration) -> String {
    let middle = now.saturating_sub(SECOND / 2);
    let mut found = Vec::new();
    for (profile, _) in &scenario.nodes {
        for fault in &profile.faults {
            let passes = fault.until.is_some() || !fault.from.is_zero();
            if passes && fault.active(middle) {
                found.push(format!("{}: {}", profile.name, fault.what));
            }
        }
    }
    found.join(", ")
}

#[cfg(test)]
mod tests {
    use super::{Scenario, under_way};
    use std::time::Duration;

    // B-1
    #[test]
    fn a_line_names_the_faults_of_its_second_that_come_or_go() {
        let text = "name = 't'\nduration = '9s'\n[[nodes]]\nname = 'a'\nfaults = [
            { kind = 'reset', share = 0.1 },
            { kind = 'hang', from = '3s', until = '4s', every = '8s' },
            { kind = 'stuck', from = '20s' },
        ]";
        let scenario = Scenario::parse(text, None).unwrap();
        let line = |second| under_way(&scenario, Duration::from_secs(second));
        assert_eq!([line(3), line(4), line(5)], ["", "a: hang", ""]);
        assert_eq!(line(12), "a: hang");
        assert_eq!(line(22), "a: stuck");
    }
}
