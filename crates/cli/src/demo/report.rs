//! What the demo prints.

use crate::{
    figures::{milliseconds, percent, percentile, ratio},
    ledger::{Ledger, Sums, endpoints},
};
use highwater_lab::scenario::Scenario;
use std::time::Duration;

/// Why a demo did not show what it is there to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shortfall {
    /// No fault was hidden.
    NothingHidden,
    /// Success is not above 99.9 %.
    TooFewRight,
}

impl Shortfall {
    /// What a run falls short of.
    pub(super) const fn of(sums: Sums) -> Option<Self> {
        let enough = sums.right.saturating_mul(1_000) > sums.calls.saturating_mul(999);
        if sums.calls > 0 && !enough {
            Some(Self::TooFewRight)
        } else if sums.hidden == 0 {
            Some(Self::NothingHidden)
        } else {
            None
        }
    }

    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::NothingHidden => {
                "no fault was hidden: the nodes failed no call of the load, so there is nothing to \
                 see; run it for longer with --for"
            }
            Self::TooFewRight => {
                "success is not above 99.9 %: the machine may be too busy, or the gateway is at fault"
            }
        }
    }
}

/// The head of the lines that [`second`] makes.
pub(super) const SECONDS: &str =
    "  time    calls    right   p50 ms   p99 ms   faults: hidden  shown   under way\n";

/// One second of the run: what is new since `before`.
pub(super) fn second(time: Duration, ledger: &Ledger, before: Sums, under_way: &str) -> String {
    let sums = ledger.sums();
    let took = ledger.took(before.calls);
    let line = format!(
        "{:>5}s {:>8} {:>8} {:>8} {:>8} {:>16} {:>6}   {under_way}",
        time.as_secs(),
        sums.calls - before.calls,
        sums.right - before.right,
        milliseconds(percentile(&took, 50)),
        milliseconds(percentile(&took, 99)),
        sums.hidden - before.hidden,
        sums.shown - before.shown,
    );
    format!("{}\n", line.trim_end())
}

/// The closing table.
pub(super) fn table(scenario: &Scenario, ledger: &Ledger) -> String {
    let (sums, all) = (ledger.sums(), ledger.all());
    let took = ledger.took(0);
    let mut text = format!(
        "\n{:>8} {:>10} {:>8} {:>8} {:>22}\n{:>8} {:>10} {:>8} {:>8} {:>22}\n\n",
        "calls",
        "success",
        "p50 ms",
        "p99 ms",
        "upstream per call",
        sums.calls,
        percent(sums.right, sums.calls),
        milliseconds(percentile(&took, 50)),
        milliseconds(percentile(&took, 99)),
        ratio(all.requests(), sums.calls),
    );
    text.push_str(&endpoints(scenario, ledger));
    text
}

/// The last line of a demo that went well.
pub(super) fn closing(sums: Sums) -> String {
    match (sums.hidden, sums.shown) {
        (hidden, 0) => format!("{hidden} faults, and no caller noticed one"),
        (hidden, shown) => format!(
            "{} faults, {hidden} of which no caller noticed",
            hidden + shown
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{Shortfall, closing, second, table};
    use crate::ledger::{Ledger, Sums};
    use highwater_lab::scenario::Scenario;
    use highwater_lab::sockets::{Dealt, Fate, Question, Sample};
    use std::time::Duration;

    // B-1
    #[test]
    fn a_demo_falls_short_without_hidden_faults_or_with_too_few_right_answers() {
        let shortfall = |calls, right, hidden| {
            Shortfall::of(Sums {
                calls,
                right,
                hidden,
                shown: calls - right,
            })
        };
        assert_eq!(shortfall(1_000, 1_000, 1), None);
        assert_eq!(shortfall(1_000, 1_000, 0), Some(Shortfall::NothingHidden));
        assert_eq!(shortfall(1_000, 999, 9), Some(Shortfall::TooFewRight));
        assert_eq!(shortfall(1_001, 1_000, 9), None);
        assert_eq!(shortfall(0, 0, 0), Some(Shortfall::NothingHidden));
    }

    fn ledger() -> Ledger {
        let mut ledger = Ledger::new(2);
        for number in 0..4 {
            let question = Question::numbered(number);
            let fates = match number {
                0 => [(0, Fate::Failed("hang")), (1, Fate::Answered)].to_vec(),
                1 => [(0, Fate::Failed("html")), (1, Fate::Failed("html"))].to_vec(),
                _ => [(0, Fate::Answered)].to_vec(),
            };
            for (node, fate) in fates {
                ledger.dealt(&Dealt {
                    node,
                    body: question.body().to_owned().into(),
                    fate,
                });
            }
            let outcome = match number {
                1 => Err("HTTP 500".to_owned()),
                _ => Ok(1),
            };
            ledger.called(Sample {
                number,
                due: Duration::ZERO,
                took: Duration::from_micros(1_500 * (number + 1)),
                outcome,
            });
        }
        ledger.settle();
        ledger
    }

    // B-1
    #[test]
    fn the_table_says_what_happened() {
        let text = "name = 't'\nduration = '1s'\nnodes = [{ name = 'a' }, { name = 'b' }]";
        let scenario = Scenario::parse(text, None).unwrap();
        let expected = "
   calls    success   p50 ms   p99 ms      upstream per call
       4   75.000 %      3.0      6.0                   1.50

  endpoint   requests   served   failed   hidden     left   own   what failed
  a                 4        2        2        1        0     0   1 hang, 1 html
  b                 2        1        1        0        0     0   1 html
  all               6        3        3        1        0     0
  1 calls failed: HTTP 500
";
        assert_eq!(table(&scenario, &ledger()), expected);
    }

    // B-1
    #[test]
    fn the_closing_line_counts_what_was_noticed() {
        let sums = |hidden, shown| Sums {
            calls: 9_000,
            right: 8_999,
            hidden,
            shown,
        };
        assert_eq!(closing(sums(7, 0)), "7 faults, and no caller noticed one");
        assert_eq!(
            closing(sums(7, 2)),
            "9 faults, 7 of which no caller noticed"
        );
    }

    // B-1
    #[test]
    fn a_second_tells_what_is_new() {
        let before = Sums {
            calls: 2,
            right: 1,
            hidden: 0,
            shown: 1,
        };
        let line = second(Duration::from_secs(3), &ledger(), before, "a: hang");
        let words: Vec<&str> = line.split_whitespace().collect();
        let expected = ["3s", "2", "2", "4.5", "6.0", "1", "1", "a:", "hang"];
        assert_eq!(words, expected);
    }
}
