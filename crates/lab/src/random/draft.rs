//! A scenario as the lines of its file, so that any of them can be left out.

use std::fmt;

use crate::scenario::Scenario;

/// A scenario under construction. Every line but the names can be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The name.
    pub name: String,
    /// The seed.
    pub seed: u64,
    /// How long it lasts, in milliseconds.
    pub millis: u64,
    /// Lines of `[chain]`.
    pub chain: Vec<String>,
    /// Lines of `[load]`.
    pub load: Vec<String>,
    /// Lines of `[router]`.
    pub router: Vec<String>,
    /// The nodes.
    pub nodes: Vec<DraftNode>,
}

/// A node under construction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftNode {
    /// The name.
    pub name: String,
    /// Its other lines.
    pub lines: Vec<String>,
    /// The insides of its faults' tables.
    pub faults: Vec<String>,
}

impl Draft {
    /// The scenario of the file that this is.
    ///
    /// # Panics
    ///
    /// Where the lines are no scenario, which is a mistake of whoever wrote them.
    #[must_use]
    pub fn scenario(&self) -> Scenario {
        let text = self.to_string();
        Scenario::parse(&text, None).unwrap_or_else(|error| panic!("{error} in\n{text}"))
    }
}

impl fmt::Display for Draft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "name = \"{}\"", self.name)?;
        writeln!(f, "seed = {}", self.seed)?;
        writeln!(f, "duration = \"{}ms\"", self.millis)?;
        for (table, lines) in [
            ("chain", &self.chain),
            ("load", &self.load),
            ("router", &self.router),
        ] {
            if !lines.is_empty() {
                writeln!(f, "\n[{table}]")?;
            }
            for line in lines {
                writeln!(f, "{line}")?;
            }
        }
        for node in &self.nodes {
            writeln!(f, "\n[[nodes]]\nname = \"{}\"", node.name)?;
            for line in &node.lines {
                writeln!(f, "{line}")?;
            }
            if !node.faults.is_empty() {
                writeln!(f, "faults = [")?;
                for fault in &node.faults {
                    writeln!(f, "  {{ {fault} }},")?;
                }
                writeln!(f, "]")?;
            }
        }
        Ok(())
    }
}
