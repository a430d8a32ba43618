//! Nodes and their faults in a few words, for people who wrote the scenario: the names of the file.

use std::fmt;

use super::fault::{Carries, Fault, Says, Sees, What};
use super::{Latency, Profile};

impl Sees {
    /// Its `kind` in a scenario.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Lag(_) => "lag",
            Self::Stuck => "stuck",
            Self::Delayed(_) => "delayed",
            Self::Ahead(_) => "ahead",
            Self::Backwards { .. } => "backwards",
            Self::Strayed(_) => "strayed",
            Self::WrongChain(_) => "wrong-chain",
            Self::PrunedState(_) | Self::PrunedBlocks(_) => "pruned",
            Self::NoTags => "no-tags",
            Self::LogLimit { .. } => "log-limit",
            Self::ShortLogs(_) => "short-logs",
            Self::NoMethod => "no-method",
            Self::LateReceipts(_) => "late-receipts",
            Self::Forgets => "forgets",
        }
    }
}

impl Says {
    /// Its `kind` in a scenario.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Error { .. } => "error",
            Self::WrongId => "wrong-id",
            Self::StringId => "string-id",
            Self::MissingId => "missing-id",
            Self::Twice => "twice",
            Self::Omitted => "omitted",
            Self::Both => "both",
            Self::Neither => "neither",
            Self::Null => "null",
            Self::Older(_) => "older",
            Self::LostSend => "lost-send",
        }
    }
}

impl Carries {
    /// Its `kind` in a scenario.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Slow { .. } => "slow",
            Self::Down => "down",
            Self::Hang => "hang",
            Self::Close => "close",
            Self::Reset | Self::ResetBody(_) => "reset",
            Self::Truncate(_) => "truncate",
            Self::Stall { .. } => "stall",
            Self::Drip { .. } => "drip",
            Self::Page { content_type, .. } if content_type == "text/html" => "html",
            Self::Page { .. } => "page",
            Self::InvalidJson => "invalid-json",
            Self::Huge(_) => "huge",
            Self::Gzip => "gzip",
            Self::RateLimit { .. } => "rate-limit",
            Self::Quota(_) => "quota",
        }
    }
}

impl What {
    /// Its `kind` in a scenario.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Sees(sees) => sees.kind(),
            Self::Says(says) => says.kind(),
            Self::Carries(carries) => carries.kind(),
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())?;
        match self {
            Self::Sees(sees) => match sees {
                Sees::Lag(blocks) | Sees::Ahead(blocks) => write!(f, " {blocks} blocks"),
                Sees::Backwards { blocks, share } => {
                    write!(f, " {blocks} blocks, {}", Percent(*share))
                }
                Sees::WrongChain(id) => write!(f, " {id}"),
                Sees::PrunedState(kept) => write!(f, " to {kept} blocks of state"),
                Sees::PrunedBlocks(kept) => write!(f, " to {kept} blocks"),
                Sees::LogLimit { blocks, results } => {
                    if let Some(blocks) = blocks {
                        write!(f, " {blocks} blocks")?;
                    }
                    results.map_or(Ok(()), |results| write!(f, " {results} results"))
                }
                Sees::ShortLogs(share) => write!(f, " by {}", Percent(*share)),
                Sees::LateReceipts(late) | Sees::Delayed(late) => write!(f, " {late:?}"),
                Sees::Stuck | Sees::Strayed(_) | Sees::NoTags | Sees::NoMethod | Sees::Forgets => {
                    Ok(())
                }
            },
            Self::Says(Says::Error { code, message, .. }) => write!(f, " {code} \"{message}\""),
            Self::Says(Says::Older(blocks)) => write!(f, " {blocks} blocks"),
            Self::Says(
                Says::WrongId
                | Says::StringId
                | Says::MissingId
                | Says::Twice
                | Says::Omitted
                | Says::Both
                | Says::Neither
                | Says::Null
                | Says::LostSend,
            ) => Ok(()),
            Self::Carries(carries) => match carries {
                Carries::Slow { add, ramp } => {
                    write!(f, " +{add:?}{}", if *ramp { " growing" } else { "" })
                }
                Carries::ResetBody(bytes) | Carries::Truncate(bytes) => {
                    write!(f, " after {bytes} bytes")
                }
                Carries::Huge(bytes) => write!(f, " {bytes} bytes"),
                Carries::Stall { pause, .. } => write!(f, " {pause:?}"),
                Carries::Drip { piece, every } => write!(f, " {piece} bytes every {every:?}"),
                Carries::Page { status, .. } => write!(f, " {status}"),
                Carries::RateLimit { rate, .. } => write!(f, " {rate}/s"),
                Carries::Quota(most) => write!(f, " {most} requests"),
                Carries::Down
                | Carries::Hang
                | Carries::Close
                | Carries::Reset
                | Carries::InvalidJson
                | Carries::Gzip => Ok(()),
            },
        }
    }
}

/// What, to which requests, and when: `page 503, 30 %, 6s to 9s every 10s`.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)?;
        if !self.methods.is_empty() {
            write!(f, " of {}", self.methods.join(" "))?;
        }
        if self.share < 1.0 {
            write!(f, ", {}", Percent(self.share))?;
        }
        match self.until {
            Some(until) => write!(f, ", {:?} to {until:?}", self.from)?,
            None if !self.from.is_zero() => write!(f, ", from {:?}", self.from)?,
            None => {}
        }
        self.every
            .map_or(Ok(()), |every| write!(f, " every {every:?}"))
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(time) => write!(f, "{time:?}"),
            Self::LogNormal { median, .. } => write!(f, "about {median:?}"),
            Self::Bimodal {
                fast,
                slow,
                slow_share,
            } => write!(f, "{fast:?}, {} {slow:?}", Percent(*slow_share)),
        }
    }
}

/// Answer time and faults: `about 30ms; rate-limit 40/s; reset, 10 %`.
impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.latency)?;
        self.faults
            .iter()
            .try_for_each(|fault| write!(f, "; {fault}"))
    }
}

/// A share from 0 to 1 as a percentage with at most one decimal.
struct Percent(f64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", (self.0 * 1_000.0).round() / 10.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;

    fn described(node: &str) -> String {
        let text = format!("name = 't'\nduration = '1s'\n[[nodes]]\nname = 'a'\n{node}");
        Scenario::parse(&text, None).unwrap().nodes[0].0.to_string()
    }

    // B-1
    #[test]
    fn says_what_a_node_will_do_in_the_words_of_its_file() {
        for (node, expected) in [
            ("", "20ms"),
            ("latency = { median = '30ms', sigma = 0.4 }", "about 30ms"),
            (
                "latency = { fast = '80ms', slow = '1500ms', slow_share = 0.02 }",
                "80ms, 2 % 1.5s",
            ),
            (
                "faults = [{ kind = 'rate-limit', rate = 40 }, { kind = 'reset', share = 0.125 }]",
                "20ms; rate-limit 40/s; reset, 12.5 %",
            ),
            (
                "faults = [{ kind = 'html', status = 502, from = '1s', until = '2s', every = '4s' }]",
                "20ms; html 502, 1s to 2s every 4s",
            ),
            (
                "faults = [{ kind = 'slow', add = '800ms', ramp = true, from = '5s' }]",
                "20ms; slow +800ms growing, from 5s",
            ),
            (
                "faults = [{ kind = 'no-method', methods = ['trace_*', 'debug_*'] }]",
                "20ms; no-method of trace_* debug_*",
            ),
            (
                "faults = [{ kind = 'error', class = 'overloaded' }, { kind = 'stuck' }]",
                "20ms; error -32603 \"overloaded, try again later\"; stuck",
            ),
            (
                "faults = [{ kind = 'log-limit', blocks = 4, results = 9 }, { kind = 'lag', blocks = 3 }]",
                "20ms; log-limit 4 blocks 9 results; lag 3 blocks",
            ),
        ] {
            assert_eq!(described(node), expected);
        }
    }
}
