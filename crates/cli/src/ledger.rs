//! What callers got and what nodes did, put together.
//!
//! Every call has a number that stands in its params, so a request at a node belongs to a call
//! whatever the gateway made of it. Nothing here comes from the gateway: whether a fault was hidden
//! is known from the node that played it and the caller that did or did not notice.

use highwater_lab::{
    scenario::Scenario,
    sockets::{Dealt, Fate, Question, Sample},
};
use std::{collections::BTreeMap, fmt::Write as _};

/// One node's side of it. Each request is in exactly one count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    /// Requests of calls that it answered.
    pub(crate) served: u64,
    /// Requests that a fault spoiled, of calls that got the right answer all the same.
    pub(crate) hidden: u64,
    /// Requests that a fault spoiled, of calls that failed.
    pub(crate) shown: u64,
    /// Requests that the gateway gave up with no fault behind it.
    pub(crate) left: u64,
    /// Requests of no call of the load: of the gateway itself, such as its check of the chain.
    pub(crate) own: u64,
    /// What spoiled the `hidden` and the `shown`, by kind of fault.
    pub(crate) kinds: BTreeMap<&'static str, u64>,
}

impl Account {
    /// Requests that a fault spoiled.
    pub(crate) fn failed(&self) -> u64 {
        self.hidden + self.shown
    }

    /// All requests.
    pub(crate) fn requests(&self) -> u64 {
        self.served + self.failed() + self.left + self.own
    }

    fn add(&mut self, other: &Self) {
        self.served += other.served;
        self.hidden += other.hidden;
        self.shown += other.shown;
        self.left += other.left;
        self.own += other.own;
    }
}

/// Everything so far.
#[derive(Debug)]
pub(crate) struct Ledger {
    nodes: Vec<Account>,
    /// Microseconds of every call.
    took: Vec<u32>,
    /// By number, whether a call got the right answer; `None` while it is not over.
    outcomes: Vec<Option<bool>>,
    /// Calls that got the right answer.
    right: u64,
    /// Faults of calls that are not over yet: node and number.
    open: Vec<(usize, u64)>,
    /// What wrong calls got instead, and how many of them.
    reasons: BTreeMap<String, u64>,
}

/// Sums at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    /// Calls that are over.
    pub(crate) calls: u64,
    /// Of these, with the right answer.
    pub(crate) right: u64,
    /// Faults that no caller noticed.
    pub(crate) hidden: u64,
    /// Faults of calls that failed.
    pub(crate) shown: u64,
}

impl Ledger {
    pub(crate) fn new(nodes: usize) -> Self {
        Self {
            nodes: vec![Account::default(); nodes],
            took: Vec::new(),
            outcomes: Vec::new(),
            right: 0,
            open: Vec::new(),
            reasons: BTreeMap::new(),
        }
    }

    /// A call is over.
    pub(crate) fn called(&mut self, sample: Sample) {
        self.took
            .push(u32::try_from(sample.took.as_micros()).unwrap_or(u32::MAX));
        let right = sample.outcome.is_ok();
        match sample.outcome {
            Ok(_) => self.right += 1,
            Err(reason) => *self.reasons.entry(reason).or_default() += 1,
        }
        // Numbers are handed out one by one, so the list has no more gaps than calls are under way.
        let place = usize::try_from(sample.number).unwrap_or(usize::MAX);
        while self.outcomes.len() <= place {
            self.outcomes.push(None);
        }
        self.outcomes[place] = Some(right);
    }

    /// A node has dealt with a request.
    pub(crate) fn dealt(&mut self, dealt: &Dealt) {
        let Some(node) = self.nodes.get_mut(dealt.node) else {
            return;
        };
        let Some(number) = Question::number_in(&dealt.body) else {
            node.own += 1;
            return;
        };
        match dealt.fate {
            Fate::Answered => node.served += 1,
            Fate::Left => node.left += 1,
            Fate::Failed(kind) => {
                *node.kinds.entry(kind).or_default() += 1;
                self.open.push((dealt.node, number));
            }
        }
    }

    /// Decides of every fault whose call is over whether it was hidden.
    pub(crate) fn settle(&mut self) {
        let (nodes, outcomes) = (&mut self.nodes, &self.outcomes);
        self.open.retain(|(node, number)| {
            let place = usize::try_from(*number).unwrap_or(usize::MAX);
            match outcomes.get(place).copied().flatten() {
                None => return true,
                Some(true) => nodes[*node].hidden += 1,
                Some(false) => nodes[*node].shown += 1,
            }
            false
        });
    }

    /// Each node's account, in the order of the scenario.
    pub(crate) fn nodes(&self) -> &[Account] {
        &self.nodes
    }

    /// The sum of all accounts, without the kinds.
    pub(crate) fn all(&self) -> Account {
        self.nodes.iter().fold(Account::default(), |mut sum, node| {
            sum.add(node);
            sum
        })
    }

    /// What wrong calls got instead.
    pub(crate) fn reasons(&self) -> &BTreeMap<String, u64> {
        &self.reasons
    }

    /// Microseconds of all calls but the first `from`, sorted.
    pub(crate) fn took(&self, from: u64) -> Vec<u32> {
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        let mut took = self.took.get(from..).unwrap_or_default().to_vec();
        took.sort_unstable();
        took
    }

    pub(crate) fn sums(&self) -> Sums {
        Sums {
            calls: self.took.len() as u64,
            right: self.right,
            hidden: self.nodes.iter().map(|node| node.hidden).sum(),
            shown: self.nodes.iter().map(|node| node.shown).sum(),
        }
    }
}

/// What each node did, and what wrong calls got instead.
pub(crate) fn endpoints(scenario: &Scenario, ledger: &Ledger) -> String {
    let mut text = format!(
        "  {:<10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>5}   what failed\n",
        "endpoint", "requests", "served", "failed", "hidden", "left", "own"
    );
    for ((profile, _), account) in scenario.nodes.iter().zip(ledger.nodes()) {
        text.push_str(&row(&profile.name, account));
    }
    text.push_str(&row("all", &ledger.all()));
    for (reason, count) in ledger.reasons() {
        let _ = writeln!(text, "  {count} calls failed: {reason}");
    }
    text
}

fn row(name: &str, account: &Account) -> String {
    let kinds = account.kinds.iter();
    let kinds: Vec<String> = kinds
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    let line = format!(
        "  {name:<10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>5}   {}",
        account.requests(),
        account.served,
        account.failed(),
        account.hidden,
        account.left,
        account.own,
        kinds.join(", "),
    );
    format!("{}\n", line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::{Account, Ledger, Sums};
    use highwater_lab::sockets::{Dealt, Fate, Question, Sample};
    use std::time::Duration;

    fn call(number: u64, outcome: Result<u64, &str>) -> Sample {
        Sample {
            number,
            due: Duration::ZERO,
            took: Duration::from_millis(number + 1),
            outcome: outcome.map_err(str::to_owned),
        }
    }

    fn dealt(node: usize, number: u64, fate: Fate) -> Dealt {
        Dealt {
            node,
            body: Question::numbered(number).body().to_owned().into(),
            fate,
        }
    }

    // B-1
    #[test]
    fn a_fault_is_hidden_when_its_call_got_the_right_answer() {
        let mut ledger = Ledger::new(2);
        ledger.dealt(&dealt(0, 0, Fate::Failed("hang")));
        ledger.dealt(&dealt(1, 0, Fate::Answered));
        ledger.dealt(&dealt(0, 1, Fate::Failed("page")));
        ledger.dealt(&dealt(1, 1, Fate::Failed("page")));
        ledger.dealt(&dealt(0, 2, Fate::Left));
        ledger.settle();
        assert_eq!(ledger.sums(), Sums::default());
        // Calls end in another order than they began, and a node may tell of one after its end.
        ledger.called(call(2, Ok(1)));
        ledger.called(call(1, Err("HTTP 500")));
        ledger.dealt(&dealt(1, 2, Fate::Failed("page")));
        ledger.settle();
        let sums = |calls, right, hidden, shown| Sums {
            calls,
            right,
            hidden,
            shown,
        };
        assert_eq!(ledger.sums(), sums(2, 1, 1, 2));
        ledger.called(call(0, Ok(1)));
        ledger.settle();
        assert_eq!(ledger.sums(), sums(3, 2, 2, 2));
        assert_eq!(ledger.reasons()["HTTP 500"], 1);
        let first = Account {
            hidden: 1,
            shown: 1,
            left: 1,
            kinds: [("hang", 1), ("page", 1)].into(),
            ..Account::default()
        };
        assert_eq!(ledger.nodes()[0], first);
        assert_eq!((first.failed(), first.requests()), (2, 3));
        assert_eq!(ledger.all().requests(), 6);
        assert_eq!(ledger.nodes()[1].kinds["page"], 2);
    }

    // B-1
    #[test]
    fn what_no_call_asked_is_the_gateways_own() {
        let mut ledger = Ledger::new(1);
        ledger.dealt(&Dealt {
            node: 0,
            body: r#"{"id":1,"method":"eth_chainId"}"#.into(),
            fate: Fate::Failed("hang"),
        });
        ledger.settle();
        let own = Account {
            own: 1,
            ..Account::default()
        };
        assert_eq!(ledger.nodes(), [own]);
        assert_eq!(ledger.sums(), Sums::default());
    }

    #[test]
    fn times_are_sorted_from_any_call_on() {
        let mut ledger = Ledger::new(0);
        for number in [2, 0, 1] {
            ledger.called(call(number, Ok(1)));
        }
        assert_eq!(ledger.took(0), [1_000, 2_000, 3_000]);
        assert_eq!(ledger.took(1), [1_000, 2_000]);
        assert!(ledger.took(9).is_empty());
    }
}
