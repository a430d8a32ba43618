//! From a seed to a scenario of reads.

use highwater_lab::{
    random::{Draft, DraftNode},
    rng::Rng,
};

/// Reads of a scenario, about.
const READS: u64 = 320;
/// Seeds of chains: their blocks are made once for thousands of runs.
const CHAINS: u64 = 3;
/// Blocks made while a scenario lasts, at most.
const MOST_BLOCKS: u64 = 150;
/// The deepest reorganisation. What the chain calls final is below it.
const DEEPEST: u64 = 64;
/// Methods whose answers name their block, so that an answer for another one can be told.
const NAMING: &str = r#"methods = ["eth_getBlockByNumber"]"#;

/// The scenario of a seed.
pub(crate) fn generate(seed: u64) -> Draft {
    let mut maker = Maker {
        rng: Rng::at(seed, &[0x7265_6164]),
        millis: 0,
        block: 0,
        reorgs: Vec::new(),
    };
    maker.draft(seed)
}

struct Maker {
    rng: Rng,
    /// How long the scenario lasts.
    millis: u64,
    /// Time between blocks.
    block: u64,
    reorgs: Vec<u64>,
}

impl Maker {
    fn draft(&mut self, seed: u64) -> Draft {
        let clients = 1 + self.rng.below(8);
        let every = self.pick(&[20, 50, 50, 100, 100, 200, 400, 1_000]);
        self.millis = READS.div_ceil(clients) * every;
        let chain = self.chain();
        let deadline = self.pick(&[3_000, 5_000, 9_000]);
        let router = self.router(deadline);
        let load = vec![
            format!("clients = {clients}"),
            format!("every = \"{every}ms\""),
            format!("timeout = \"{}ms\"", deadline + 1_000),
        ];
        let count = 2 + self.rng.below(5);
        // Nobody can tell the truth where liars are half of all: that happens too, but seldom.
        let mut liars = (count - 1) / 2;
        if self.rng.chance(0.05) {
            liars = count;
        }
        let firm = if self.rng.chance(0.85) { 2 } else { 0 };
        let mut nodes = Vec::new();
        for index in 0..count {
            let node = if index < firm {
                self.firm(index)
            } else {
                self.odd(index, &mut liars)
            };
            nodes.push(node);
        }
        Draft {
            name: format!("reads {seed}"),
            seed,
            millis: self.millis,
            chain,
            load,
            router,
            nodes,
        }
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        let index = self.rng.below(choices.len() as u64);
        choices[usize::try_from(index).unwrap()]
    }

    fn chain(&mut self) -> Vec<String> {
        self.block = self.pick(&[250, 1_000, 1_000, 2_000, 12_000]);
        while self.millis / self.block > MOST_BLOCKS {
            self.block *= 4;
        }
        let mut depths = Vec::new();
        for _ in 0..self.pick(&[0, 1, 1, 2, 3]) {
            self.reorgs.push(self.rng.below(self.millis));
            let any = 1 + self.rng.below(DEEPEST);
            depths.push(self.pick(&[1, 1, 2, 3, 8, any, DEEPEST]));
        }
        self.reorgs.sort_unstable();
        let reorgs: Vec<String> = self
            .reorgs
            .iter()
            .zip(&depths)
            .map(|(at, depth)| format!("{{ at = \"{at}ms\", depth = {depth} }}"))
            .collect();
        vec![
            format!("id = {}", self.pick(&[1, 100, 777_777])),
            format!("seed = {}", 1 + self.rng.below(CHAINS)),
            "start = 200".to_owned(),
            "transactions = 2".to_owned(),
            "logs = 1".to_owned(),
            format!("block_time = \"{}ms\"", self.block),
            format!("reorgs = [{}]", reorgs.join(", ")),
        ]
    }

    fn router(&mut self, deadline: u64) -> Vec<String> {
        let mut lines = vec![
            format!("attempt = \"{}ms\"", self.pick(&[500, 1_000, 2_000])),
            format!("deadline = \"{deadline}ms\""),
            format!("race = {}", self.pick(&[0, 2])),
        ];
        if self.rng.chance(0.4) {
            lines.push("preset = \"gateway\"".to_owned());
        }
        if self.rng.chance(0.4) {
            lines.push(format!("retries = {}", self.rng.below(6)));
        }
        if self.rng.chance(0.3) {
            lines.push(format!("hedge = \"{}ms\"", self.pick(&[20, 100, 250])));
        }
        if self.rng.chance(0.4) {
            let strategy = self.pick(&["least-loaded", "round-robin", "random", "shuffle"]);
            lines.push(format!("strategy = \"{strategy}\""));
        }
        if self.rng.chance(0.4) {
            lines.push("pace = false".to_owned());
        }
        if self.rng.chance(0.1) {
            lines.push("probes = false".to_owned());
        }
        lines
    }

    fn latency(&mut self) -> String {
        let median = self.pick(&[2, 10, 30, 80]);
        match self.rng.below(3) {
            0 => format!("latency = {{ median = \"{median}ms\", sigma = 0.15 }}"),
            _ => format!("latency = \"{median}ms\""),
        }
    }

    /// A node that is always there, and at most always a little late.
    fn firm(&mut self, index: u64) -> DraftNode {
        let mut faults = Vec::new();
        if self.rng.chance(0.3) {
            faults.push(self.delayed());
        } else if self.rng.chance(0.2) {
            faults.push(format!(
                "kind = \"lag\", blocks = {}",
                self.pick(&[1, 2, 3, 8])
            ));
        }
        DraftNode {
            name: format!("n{index}"),
            lines: vec![self.latency()],
            faults,
        }
    }

    fn delayed(&mut self) -> String {
        let late = self.pick(&[100, 400, 1_500, 4_000]);
        format!("kind = \"delayed\", late = \"{late}ms\"")
    }

    /// A node with anything.
    fn odd(&mut self, index: u64, liars: &mut u64) -> DraftNode {
        let mut lines = vec![self.latency()];
        if self.rng.chance(0.2) {
            lines.push(format!(
                "dialect = \"{}\"",
                self.pick(&["reth", "nitro", "besu"])
            ));
        }
        let mut faults = Vec::new();
        for _ in 0..self.pick(&[0, 1, 1, 2, 3]) {
            self.fault(&mut faults, liars);
        }
        DraftNode {
            name: format!("n{index}"),
            lines,
            faults,
        }
    }

    fn fault(&mut self, faults: &mut Vec<String>, liars: &mut u64) {
        let blocks = self.pick(&[1, 2, 3, 8, 40]);
        let share = self.pick(&["0.1", "0.3", "1"]);
        let window = self.window();
        let fault = match self.rng.below(14) {
            0 => format!("kind = \"lag\", blocks = {blocks}{window}"),
            1 => return self.growing(faults),
            2 => format!("kind = \"stuck\"{window}"),
            3 | 4 => format!("{}{window}", self.delayed()),
            5 if *liars > 0 => {
                *liars -= 1;
                let lead = self.pick(&[1, 2, 5, 900, 1_001, 5_000, 1_000_000]);
                format!("kind = \"ahead\", blocks = {lead}{window}")
            }
            5 | 6 => format!("kind = \"backwards\", blocks = {blocks}, share = 0.3{window}"),
            7 => match self.stray() {
                Some(stray) => stray,
                None => return,
            },
            8 => format!("kind = \"down\"{}", self.deaths()),
            9 => format!("kind = \"hang\"{window}"),
            10 => {
                let add = self.pick(&[100, 400, 3_000]);
                format!("kind = \"slow\", add = \"{add}ms\", share = {share}{window}")
            }
            11 => format!("kind = \"older\", blocks = {blocks}, share = {share}, {NAMING}{window}"),
            12 => format!("kind = \"error\", class = \"internal\", share = {share}{window}"),
            _ => format!("kind = \"reset\", share = {share}{window}"),
        };
        faults.push(fault);
    }

    fn window(&mut self) -> String {
        if self.rng.chance(0.2) {
            return String::new();
        }
        let from = self.rng.below(self.millis);
        if self.rng.chance(0.2) {
            return format!(", from = \"{from}ms\"");
        }
        let until = from + 1 + self.rng.below(self.millis / 2);
        format!(", from = \"{from}ms\", until = \"{until}ms\"")
    }

    /// Out again and again.
    fn deaths(&mut self) -> String {
        let from = self.rng.below(self.millis);
        let long = 1 + self.rng.below(self.millis / 4);
        let every = long + 1 + self.rng.below(self.millis / 4);
        let until = from + long;
        format!(", from = \"{from}ms\", until = \"{until}ms\", every = \"{every}ms\"")
    }

    /// Further and further behind, and then back at once or step by step.
    fn growing(&mut self, faults: &mut Vec<String>) {
        let steps = 2 + self.rng.below(6);
        let from = self.rng.below(self.millis);
        let step = 1 + self.rng.below(self.millis / 8);
        let recovers = self.rng.chance(0.5);
        for index in 0..steps {
            let begin = from + index * step;
            let end = if recovers {
                from + (2 * steps - index) * step
            } else {
                from + steps * step
            };
            let blocks = 1 + self.rng.below(3);
            faults.push(format!(
                "kind = \"lag\", blocks = {blocks}, from = \"{begin}ms\", until = \"{end}ms\""
            ));
        }
    }

    /// A branch of its own for a while: not over a reorganisation of the others, and not for so long
    /// that its own blocks become final.
    fn stray(&mut self) -> Option<String> {
        let depth = self.pick(&[1, 2, 5, 20]);
        let from = self.rng.below(self.millis);
        let next = self.reorgs.iter().find(|at| **at >= from);
        let most = next
            .copied()
            .unwrap_or(self.millis)
            .min(from + self.block * (DEEPEST - depth));
        let until = from + self.rng.below(most.saturating_sub(from));
        (until > from).then(|| {
            format!(
                "kind = \"strayed\", depth = {depth}, from = \"{from}ms\", until = \"{until}ms\""
            )
        })
    }
}
