//! What goes wrong.

use std::time::Duration;

/// Calls that the program makes in each run.
pub(crate) const CALLS: usize = 250;
/// Between the beginnings of two calls: 10 ms.
pub(crate) const PACE: Duration = Duration::from_millis(10);

/// What the program does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Balances of other accounts each time, and the block number every fifth time.
    Read,
    /// A call that reverts.
    Revert,
    /// A transaction of another account each time.
    Send,
}

/// One scenario.
pub(crate) struct Case {
    /// For the table.
    pub(crate) name: &'static str,
    /// What the program does meanwhile.
    pub(crate) work: Work,
    /// Faults of the three nodes: near, middle, far.
    faults: [&'static str; 3],
}

impl Case {
    /// Whether an endpoint takes requests and says nothing.
    pub(crate) fn hangs(&self) -> bool {
        self.faults.contains(&HANG)
    }

    /// As a scenario of the lab. Answers take about 15, 30 and 60 ms.
    pub(crate) fn text(&self) -> String {
        let mut text = String::from("name = 'compare'\nseed = 11\nduration = '60s'\n");
        text.push_str("[chain]\nblock_time = '1s'\n");
        let nodes = [("near", 15), ("middle", 30), ("far", 60)];
        for ((name, median), faults) in nodes.into_iter().zip(self.faults) {
            text.push_str(&format!(
                "[[nodes]]\nname = '{name}'\nlatency = {{ median = '{median}ms', sigma = 0.3 }}\n"
            ));
            if !faults.is_empty() {
                text.push_str(&format!("faults = [{faults}]\n"));
            }
        }
        text
    }
}

const HANG: &str = "{ kind = 'hang', from = '1s' }";
const FIFTY: &str = "{ kind = 'rate-limit', rate = 50, retry_after = 1 }";
const IN_A_BODY: &str = "{ kind = 'error', class = 'rate_limited', status = 200, share = 0.5 }";
const LOST: &str = "{ kind = 'lost-send' }";
const UNSENT: &str = "{ kind = 'close', methods = ['eth_sendRawTransaction'] }";

/// All scenarios.
pub(crate) fn all() -> [Case; 12] {
    let case = |name, work, faults| Case { name, work, faults };
    [
        case("nothing is wrong", Work::Read, ["", "", ""]),
        case("the nearest hangs", Work::Read, [HANG, "", ""]),
        case("two of three hang", Work::Read, [HANG, HANG, ""]),
        case(
            "429 as a page: the nearest",
            Work::Read,
            [
                "{ kind = 'page', status = 429, body = 'slow down' }",
                "",
                "",
            ],
        ),
        case(
            "429: the nearest, above 20/s",
            Work::Read,
            [
                "{ kind = 'rate-limit', rate = 20, retry_after = 1 }",
                "",
                "",
            ],
        ),
        case(
            "429: all, above 50/s each",
            Work::Read,
            [FIFTY, FIFTY, FIFTY],
        ),
        case(
            "429 in a body with status 200",
            Work::Read,
            [IN_A_BODY, "", ""],
        ),
        case(
            "the nearest is 3 blocks behind",
            Work::Read,
            ["{ kind = 'lag', blocks = 3, from = '1s' }", "", ""],
        ),
        case("calls revert", Work::Revert, ["", "", ""]),
        case(
            "calls revert, two answer 502",
            Work::Revert,
            [
                "{ kind = 'page', status = 502, from = '1s' }",
                "{ kind = 'page', status = 502, from = '1s' }",
                "",
            ],
        ),
        case(
            "sends, the nearest loses answers",
            Work::Send,
            [LOST, "", ""],
        ),
        case(
            "sends, lost there, dropped there",
            Work::Send,
            [LOST, UNSENT, ""],
        ),
    ]
}
