//! From a seed to a scenario of transactions: nodes that lose answers, reset before and after the
//! body, lag, forget, and refuse in words that prove nothing or everything.

use std::fmt::Write as _;

use super::draft::{Draft, DraftNode};
use crate::rng::Rng;

/// Transactions that the clients of a scenario send, at least.
pub const SENDS: u64 = 200;
/// Seeds of chains.
const CHAINS: u64 = 3;
/// Blocks made on a chain while a scenario lasts, at most.
const MOST_BLOCKS: u64 = 60;

/// A policy that transactions are sent by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendPolicy {
    /// What it is called in a table.
    pub name: &'static str,
    /// Its lines of `[router]`, which make sense together alone.
    lines: &'static str,
    /// Whether transactions are for private nodes alone.
    private: bool,
}

/// The policies that differ: with the look-up and without, and for private nodes alone.
pub const SEND_POLICIES: [SendPolicy; 6] = [
    policy("once", "writes = \"once\"", false),
    policy(
        "once, looked up",
        "writes = \"once\"\nverify_writes = true",
        false,
    ),
    policy("failover", "writes = \"failover\"", false),
    policy(
        "failover, not looked up",
        "writes = \"failover\"\nverify_writes = false",
        false,
    ),
    policy(
        "broadcast",
        "writes = \"broadcast\"\nverify_writes = true",
        false,
    ),
    policy(
        "failover, private",
        "writes = \"failover\"\nprivate_writes = true",
        true,
    ),
];

const fn policy(name: &'static str, lines: &'static str, private: bool) -> SendPolicy {
    SendPolicy {
        name,
        lines,
        private,
    }
}

/// The scenario of a seed, under this policy.
#[must_use]
pub fn generate_sends(policy: &SendPolicy, seed: u64) -> Draft {
    Maker {
        rng: Rng::at(seed, &[0x7365_6e64]),
        millis: 0,
    }
    .draft(policy, seed)
}

struct Maker {
    rng: Rng,
    /// How long the scenario lasts.
    millis: u64,
}

impl Maker {
    fn draft(&mut self, policy: &SendPolicy, seed: u64) -> Draft {
        let clients = 1 + self.rng.below(4);
        let every = self.pick(&[50, 200, 500, 1_000, 3_000]);
        self.millis = SENDS.div_ceil(clients) * every;
        let attempt = self.pick(&[500, 1_000, 2_000, 5_000, 10_000]);
        let mut draft = Draft {
            name: format!("sends {seed}, {}", policy.name),
            seed,
            millis: self.millis,
            chain: self.chain(),
            load: vec![
                format!("clients = {clients}"),
                format!("every = \"{every}ms\""),
                // Longer than an attempt, what the call has besides, and a look-up.
                format!("timeout = \"{}ms\"", attempt + 6_000),
                self.asks(),
            ],
            router: self.router(attempt),
            nodes: Vec::new(),
        };
        let mut lines = policy.lines.to_owned();
        if lines.contains("broadcast") && self.rng.chance(0.5) {
            let width = 1 + self.rng.below(4);
            let _ = write!(lines, "\nbroadcast_to = {width}");
        }
        draft.router.push(lines);
        let nodes = 2 + self.rng.below(4);
        for index in 0..nodes {
            let node = self.node(policy, index);
            draft.nodes.push(node);
        }
        draft
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        let index = self.rng.below(choices.len() as u64);
        choices[usize::try_from(index).unwrap_or(0)]
    }

    fn chain(&mut self) -> Vec<String> {
        let mut block = self.pick(&[250, 1_000, 2_000, 12_000]);
        while self.millis / block > MOST_BLOCKS {
            block *= 4;
        }
        vec![
            format!("seed = {}", 1 + self.rng.below(CHAINS)),
            // One in four on a chain whose nodes are said to know no "already known".
            format!("id = {}", self.pick(&[990_001, 990_001, 990_001, 42_161])),
            "start = 4".to_owned(),
            "transactions = 0".to_owned(),
            "logs = 0".to_owned(),
            format!("block_time = \"{block}ms\""),
        ]
    }

    fn asks(&mut self) -> String {
        self.pick(&[
            "asks = [\"send\"]",
            "asks = [\"send\", \"send\", \"send\", \"resend\"]",
            "asks = [\"send\", \"send\", \"resend\", \"replace\"]",
            "asks = [\"send\", \"resend\"]",
        ])
        .to_owned()
    }

    fn router(&mut self, attempt: u64) -> Vec<String> {
        let mut lines = vec![format!("attempt = \"{attempt}ms\"")];
        if self.rng.chance(0.45) {
            lines.push("preset = \"gateway\"".to_owned());
        }
        if self.rng.chance(0.4) {
            let strategy = self.pick(&["round-robin", "random", "least-loaded", "shuffle"]);
            lines.push(format!("strategy = \"{strategy}\""));
        }
        // Whatever reads do, a send is neither raced nor hedged.
        if self.rng.chance(0.3) {
            lines.push(format!("race = {}", 1 + self.rng.below(3)));
        }
        if self.rng.chance(0.3) {
            lines.push("hedge = \"20ms\"".to_owned());
        }
        if self.rng.chance(0.3) {
            lines.push(format!("retries = {}", self.rng.below(6)));
        }
        for (line, share) in [
            ("breaker = false", 0.3),
            ("heads = false", 0.1),
            ("probes = false", 0.2),
            ("verify = false", 0.1),
        ] {
            if self.rng.chance(share) {
                lines.push(line.to_owned());
            }
        }
        lines
    }

    fn node(&mut self, policy: &SendPolicy, index: u64) -> DraftNode {
        let mut lines = Vec::new();
        if self.rng.chance(0.5) {
            let dialect = self.pick(&[
                "besu", "reth", "monad", "nitro", "bsc", "coreth", "sei", "zksync",
            ]);
            lines.push(format!("dialect = \"{dialect}\""));
        }
        let median = self.pick(&[2, 30, 200]);
        lines.push(format!(
            "latency = {{ median = \"{median}ms\", sigma = 0.4 }}"
        ));
        if self.rng.chance(0.1) {
            let rps = self.pick(&["0.5", "2", "10"]);
            lines.push(format!("budget = {{ rps = {rps}, burst = 5 }}"));
        }
        if self.rng.chance(0.15) {
            lines.push("tier = 1".to_owned());
        }
        // Of a private scenario most are private; of another one few.
        let share = if policy.private { 0.6 } else { 0.1 };
        if self.rng.chance(share) {
            lines.push("private = true".to_owned());
        }
        let faults = self.pick(&[0, 1, 1, 2, 2, 3]);
        DraftNode {
            name: format!("n{index}"),
            lines,
            faults: (0..faults).map(|_| self.fault()).collect(),
        }
    }

    fn fault(&mut self) -> String {
        let blocks = self.pick(&[1, 2, 5, 40]);
        let sight = match self.rng.below(9) {
            0 => Some("kind = \"forgets\"".to_owned()),
            1 => Some(format!("kind = \"lag\", blocks = {blocks}")),
            2 if self.rng.chance(0.5) => Some("kind = \"stuck\"".to_owned()),
            2 => Some("kind = \"late-receipts\", late = \"3s\"".to_owned()),
            _ => None,
        };
        if let Some(fault) = sight {
            return format!("{fault}{}", self.window());
        }
        let fault = match self.rng.below(3) {
            0 => self.loss(),
            1 => self.words(),
            _ => self.refusal(),
        };
        let methods = if self.rng.chance(0.7) {
            ", methods = [\"eth_sendRawTransaction\"]"
        } else {
            ""
        };
        format!("{fault}{methods}{}{}", self.window(), self.share())
    }

    fn window(&mut self) -> String {
        if self.rng.chance(0.5) {
            return String::new();
        }
        let from = self.rng.below(self.millis);
        let until = from + 1 + self.rng.below(self.millis);
        format!(", from = \"{from}ms\", until = \"{until}ms\"")
    }

    fn share(&mut self) -> String {
        let share = self.pick(&["0.1", "0.3", "0.6", "0.9", "1.0"]);
        format!(", share = {share}")
    }

    /// Answers that do not come, or not whole.
    fn loss(&mut self) -> String {
        let late = self.pick(&[400, 3_000, 11_000]);
        match self.rng.below(9) {
            // Before the body was read, and after.
            0 => "kind = \"reset\"".to_owned(),
            1 | 2 => "kind = \"lost-send\"".to_owned(),
            3 => "kind = \"close\"".to_owned(),
            4 => "kind = \"reset\", bytes = 30".to_owned(),
            5 => "kind = \"truncate\", bytes = 30".to_owned(),
            6 => "kind = \"hang\"".to_owned(),
            7 => "kind = \"down\"".to_owned(),
            _ => format!("kind = \"slow\", add = \"{late}ms\""),
        }
    }

    /// Answers that are none.
    fn words(&mut self) -> String {
        let status = self.pick(&[401, 403, 404, 429, 500, 502, 503]);
        match self.rng.below(8) {
            0 => "kind = \"wrong-id\"".to_owned(),
            1 => "kind = \"missing-id\"".to_owned(),
            2 => "kind = \"both\"".to_owned(),
            3 => "kind = \"neither\"".to_owned(),
            4 => "kind = \"null\"".to_owned(),
            5 => "kind = \"invalid-json\"".to_owned(),
            6 => format!("kind = \"html\", status = {status}"),
            _ => format!("kind = \"page\", status = {status}"),
        }
    }

    /// Errors instead of a hash.
    fn refusal(&mut self) -> String {
        let error = |code: i64, message: &str| {
            format!("kind = \"error\", code = {code}, message = \"{message}\"")
        };
        match self.rng.below(15) {
            0 => error(-32000, "nonce too low: next nonce 8, tx nonce 7"),
            1 => error(-32000, "replacement transaction underpriced"),
            2 => error(-32000, "insufficient funds for gas * price + value"),
            3 => error(
                -32000,
                "failed to publish transaction to any of the forwarding targets",
            ),
            4 => error(
                -32000,
                "publishing transactions not supported by this endpoint",
            ),
            5 => error(-32000, "sequencer temporarily not available"),
            6 => error(-32000, "txpool is full"),
            7 => error(-32000, "context deadline exceeded"),
            8 => "kind = \"error\", class = \"overloaded\"".to_owned(),
            9 => "kind = \"error\", class = \"internal\"".to_owned(),
            10 => "kind = \"error\", class = \"rate_limited\"".to_owned(),
            11 => "kind = \"rate-limit\", rate = 2, burst = 3, retry_after = 1".to_owned(),
            12 => "kind = \"quota\", requests = 30".to_owned(),
            13 => "kind = \"error\", class = \"method_unsupported\"".to_owned(),
            _ => "kind = \"error\", class = \"unauthorized\"".to_owned(),
        }
    }
}
