//! From a seed to a scenario.
//!
//! Everything that the lab can do to HTTP is drawn, with the settings of a router between library
//! and gateway. Chains are few, so that their blocks are made once for thousands of runs.

use super::draft::{Draft, DraftNode};
use crate::rng::Rng;

/// Calls of a scenario.
const CALLS: u64 = 200;
/// Seeds of chains.
const CHAINS: u64 = 3;
/// Blocks made on a chain while a scenario lasts, at most.
const MOST_BLOCKS: u64 = 120;

const DIALECTS: [&str; 10] = [
    "geth",
    "besu",
    "reth",
    "monad",
    "nitro",
    "bsc",
    "coreth",
    "sei",
    "cosmos-evm",
    "zksync",
];
const CLASSES: [&str; 22] = [
    "behind",
    "bad_gateway",
    "execution_revert",
    "internal",
    "invalid_params",
    "invalid_request",
    "method_blocked",
    "method_unsupported",
    "missing_history",
    "overloaded",
    "parse_error",
    "payload_too_large",
    "quota_exhausted",
    "range_limit",
    "rate_limited",
    "reorged_block",
    "subscription_unsupported",
    "syncing",
    "timeout",
    "unauthorized",
    "wrong_chain",
    "tx_rejected",
];
const METHODS: [&str; 9] = [
    "eth_blockNumber",
    "eth_getBlockByNumber",
    "eth_getBalance",
    "eth_call",
    "eth_getLogs",
    "eth_getTransactionReceipt",
    "eth_sendRawTransaction",
    "eth_newFilter",
    "eth_chainId",
];
const ASKS: [&str; 9] = [
    "block-number",
    "block",
    "balance",
    "balance-at",
    "call",
    "logs",
    "receipt",
    "send",
    "filter",
];

/// The scenario of a seed.
#[must_use]
pub fn generate(seed: u64) -> Draft {
    Maker {
        rng: Rng::at(seed, &[0x6a75_6467]),
        millis: 0,
    }
    .draft(seed)
}

struct Maker {
    rng: Rng,
    /// How long the scenario lasts.
    millis: u64,
}

impl Maker {
    fn draft(&mut self, seed: u64) -> Draft {
        let clients = 1 + self.rng.below(6);
        let every = self.pick(&[20, 50, 50, 100, 100, 200, 200, 500, 1_000]);
        self.millis = CALLS.div_ceil(clients) * every;
        let mut draft = Draft {
            name: format!("generated {seed}"),
            seed,
            millis: self.millis,
            chain: self.chain(),
            load: Vec::new(),
            router: Vec::new(),
            nodes: Vec::new(),
        };
        let deadline = self.pick(&[1_000, 3_000, 9_000, 12_000]);
        draft.router = self.router(deadline);
        draft.load = vec![
            format!("clients = {clients}"),
            format!("every = \"{every}ms\""),
            // Most clients wait longer than the router, some hang up on it.
            if self.rng.chance(0.85) {
                format!("timeout = \"{}ms\"", deadline + 1_000)
            } else {
                format!("timeout = \"{}ms\"", 50 + self.rng.below(deadline))
            },
            self.asks(),
        ];
        let nodes = 2 + self.rng.below(5);
        for index in 0..nodes {
            let node = self.node(index);
            draft.nodes.push(node);
        }
        if self.rng.chance(0.08) {
            self.outage(&mut draft);
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
        let mut lines = vec![
            format!("seed = {}", 1 + self.rng.below(CHAINS)),
            "start = 48".to_owned(),
            "transactions = 2".to_owned(),
            "logs = 1".to_owned(),
            format!("block_time = \"{block}ms\""),
        ];
        if self.rng.chance(0.2) {
            let at = self.rng.below(self.millis);
            let depth = 1 + self.rng.below(4);
            lines.push(format!("reorgs = [{{ at = \"{at}ms\", depth = {depth} }}]"));
        }
        lines
    }

    fn asks(&mut self) -> String {
        // A chain to which something was sent is nobody else's: its blocks are made anew.
        let share = |ask: &str| if ask == "send" { 0.3 } else { 0.7 };
        let mut asks: Vec<&str> = Vec::new();
        for ask in ASKS {
            if self.rng.chance(share(ask)) {
                asks.push(ask);
            }
        }
        if asks.is_empty() {
            asks.push("balance");
        }
        let quoted: Vec<String> = asks.iter().map(|ask| format!("\"{ask}\"")).collect();
        format!("asks = [{}]", quoted.join(", "))
    }

    fn router(&mut self, deadline: u64) -> Vec<String> {
        let mut lines = Vec::new();
        if self.rng.chance(0.45) {
            lines.push("preset = \"gateway\"".to_owned());
        }
        if self.rng.chance(0.5) {
            let strategy = self.pick(&[
                "least-loaded",
                "least-loaded",
                "shuffle",
                "weighted-sum",
                "round-robin",
                "random",
                "weighted",
            ]);
            lines.push(format!("strategy = \"{strategy}\""));
        }
        if self.rng.chance(0.5) {
            lines.push(format!("race = {}", self.rng.below(5)));
        }
        if self.rng.chance(0.25) {
            let delay = self.pick(&[20, 100, 250]);
            lines.push(format!("hedge = \"{delay}ms\""));
        }
        if self.rng.chance(0.5) {
            lines.push(format!("retries = {}", self.rng.below(7)));
        }
        let attempt = self.pick(&[200, 500, 1_000, 2_000, 5_000]);
        lines.push(format!("attempt = \"{attempt}ms\""));
        lines.push(format!("deadline = \"{deadline}ms\""));
        for (line, share) in [
            ("breaker = false", 0.08),
            ("heads = false", 0.06),
            ("probes = false", 0.1),
            ("verify = false", 0.05),
        ] {
            if self.rng.chance(share) {
                lines.push(line.to_owned());
            }
        }
        lines
    }

    fn node(&mut self, index: u64) -> DraftNode {
        let mut lines = Vec::new();
        if self.rng.chance(0.5) {
            lines.push(format!("dialect = \"{}\"", self.pick(&DIALECTS)));
        }
        let median = self.pick(&[2, 10, 30, 80, 200]);
        lines.push(match self.rng.below(4) {
            0 => format!("latency = {{ median = \"{median}ms\", sigma = 0.4 }}"),
            1 => format!(
                "latency = {{ fast = \"{median}ms\", slow = \"{}ms\", slow_share = 0.05 }}",
                median * 8
            ),
            _ => format!("latency = \"{median}ms\""),
        });
        if self.rng.chance(0.2) {
            let rps = self.pick(&["0.5", "1", "2", "5", "10", "20"]);
            let burst = self.pick(&[1, 2, 5, 10, 20]);
            lines.push(format!("budget = {{ rps = {rps}, burst = {burst} }}"));
        }
        if self.rng.chance(0.15) {
            lines.push(format!("tier = {}", 1 + self.rng.below(2)));
        }
        if self.rng.chance(0.15) {
            lines.push(format!("weight = {}", self.pick(&["0.25", "2.5", "10"])));
        }
        if self.rng.chance(0.15) {
            lines.push(format!("group = \"{}\"", self.pick(&["x", "y"])));
        }
        let faults = self.pick(&[0, 0, 0, 1, 1, 1, 2, 2, 3]);
        DraftNode {
            name: format!("n{index}"),
            lines,
            faults: (0..faults).map(|_| self.fault()).collect(),
        }
    }

    /// Every node fails in the same way from one moment on.
    fn outage(&mut self, draft: &mut Draft) {
        let fault = self.pick(&[
            "kind = \"hang\"",
            "kind = \"close\"",
            "kind = \"reset\"",
            "kind = \"down\"",
            "kind = \"page\", status = 503",
            "kind = \"html\", status = 502",
            "kind = \"invalid-json\"",
            "kind = \"error\", class = \"rate_limited\"",
        ]);
        let from = self.rng.below(self.millis.div_ceil(2));
        for node in &mut draft.nodes {
            node.faults.push(format!("{fault}, from = \"{from}ms\""));
        }
    }

    fn fault(&mut self) -> String {
        match self.rng.below(3) {
            0 => {
                let fault = self.sees();
                format!("{fault}{}", self.window())
            }
            1 => {
                let fault = self.says();
                format!("{fault}{}{}{}", self.window(), self.share(), self.methods())
            }
            _ => {
                let fault = self.carries();
                format!("{fault}{}{}{}", self.window(), self.share(), self.methods())
            }
        }
    }

    fn window(&mut self) -> String {
        if self.rng.chance(0.3) {
            return String::new();
        }
        let from = self.rng.below(self.millis);
        if self.rng.chance(0.3) {
            return format!(", from = \"{from}ms\"");
        }
        let until = from + 1 + self.rng.below(self.millis);
        format!(", from = \"{from}ms\", until = \"{until}ms\"")
    }

    fn share(&mut self) -> String {
        if self.rng.chance(0.4) {
            return String::new();
        }
        let share = self.pick(&["0.02", "0.1", "0.3", "0.6", "0.9"]);
        format!(", share = {share}")
    }

    fn methods(&mut self) -> String {
        if self.rng.chance(0.7) {
            return String::new();
        }
        format!(", methods = [\"{}\"]", self.pick(&METHODS))
    }

    fn sees(&mut self) -> String {
        let blocks = self.pick(&[1, 2, 3, 5, 12, 40]);
        match self.rng.below(12) {
            0 => format!("kind = \"lag\", blocks = {blocks}"),
            1 => "kind = \"stuck\"".to_owned(),
            2 => format!(
                "kind = \"ahead\", blocks = {}",
                self.pick(&[3, 40, 900, 5_000])
            ),
            3 => format!("kind = \"backwards\", blocks = {blocks}"),
            4 => format!("kind = \"strayed\", depth = {}", 1 + self.rng.below(5)),
            5 => "kind = \"wrong-chain\", id = 5".to_owned(),
            6 => format!("kind = \"pruned\", blocks = {blocks}"),
            7 => format!("kind = \"pruned\", blocks = {blocks}, lost = \"blocks\""),
            8 => "kind = \"no-tags\"".to_owned(),
            9 => format!("kind = \"log-limit\", blocks = {blocks}"),
            10 => format!(
                "kind = \"no-method\", methods = [\"{}\"]",
                self.pick(&METHODS)
            ),
            _ => match self.rng.below(2) {
                0 => "kind = \"short-logs\", lost_share = 0.3".to_owned(),
                _ => "kind = \"late-receipts\", late = \"3s\"".to_owned(),
            },
        }
    }

    fn says(&mut self) -> String {
        match self.rng.below(16) {
            0 => "kind = \"wrong-id\"".to_owned(),
            1 => "kind = \"string-id\"".to_owned(),
            2 => "kind = \"missing-id\"".to_owned(),
            3 => "kind = \"twice\"".to_owned(),
            4 => "kind = \"omitted\"".to_owned(),
            5 => "kind = \"both\"".to_owned(),
            6 => "kind = \"neither\"".to_owned(),
            7 | 8 => "kind = \"null\"".to_owned(),
            9 => "kind = \"lost-send\"".to_owned(),
            _ => format!("kind = \"error\", class = \"{}\"", self.pick(&CLASSES)),
        }
    }

    fn carries(&mut self) -> String {
        let status = self.pick(&[401, 403, 404, 429, 500, 502, 503]);
        let wait = match self.rng.below(3) {
            0 => format!(", retry_after = {}", self.rng.below(9)),
            _ => String::new(),
        };
        match self.rng.below(17) {
            0 => format!(
                "kind = \"slow\", add = \"{}ms\"",
                self.pick(&[50, 400, 3_000])
            ),
            1 => "kind = \"slow\", add = \"900ms\", ramp = true".to_owned(),
            2 => "kind = \"down\"".to_owned(),
            3 => "kind = \"hang\"".to_owned(),
            4 => "kind = \"close\"".to_owned(),
            5 => "kind = \"reset\"".to_owned(),
            6 => "kind = \"reset\", bytes = 30".to_owned(),
            7 => "kind = \"truncate\", bytes = 30".to_owned(),
            8 => "kind = \"stall\", pause = \"700ms\"".to_owned(),
            9 => "kind = \"drip\", piece = 100, pause = \"20ms\"".to_owned(),
            10 => format!("kind = \"page\", status = {status}{wait}"),
            11 => format!("kind = \"html\", status = {status}{wait}"),
            12 => "kind = \"invalid-json\"".to_owned(),
            13 => "kind = \"huge\", bytes = 20000".to_owned(),
            14 => "kind = \"gzip\"".to_owned(),
            15 => format!(
                "kind = \"rate-limit\", rate = {}, burst = {}{wait}",
                self.pick(&[1, 3, 10]),
                self.pick(&[1, 5])
            ),
            _ => format!("kind = \"quota\", requests = {}", self.pick(&[3, 30])),
        }
    }
}
