//! What was spent, kept across restarts (R-28).

use crate::inner::State;
use highwater_core::{
    bucket::{Every, Spent},
    method,
};
use std::{collections::BTreeMap, time::SystemTime};

/// The version that is written, and the only one that is read.
const VERSION: u32 = 1;
/// Longest text that is read, in bytes.
const MOST_BYTES: usize = 256 * 1024;
/// Most accounts that are read, of either kind.
const MOST_ACCOUNTS: usize = 4096;
/// Longest name of an account, in bytes.
const LONGEST_NAME: usize = 256;
/// More compute units than this in one period are no count but a mistake.
const MOST_UNITS: u64 = 1 << 50;

/// Compute units spent in the running day and month by each budget, as versioned data.
///
/// It is untrusted when it comes back: what is too large, unknown, out of range or of another period
/// is left out, and a budget takes it in once.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Totals {
    /// The version of this form.
    version: u32,
    /// By the name of the account.
    #[serde(default)]
    accounts: BTreeMap<String, Vec<Spent>>,
    /// By the label of the endpoint, where that has a budget of its own.
    #[serde(default)]
    endpoints: BTreeMap<String, Vec<Spent>>,
}

/// Why stored totals are not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TotalsError {
    /// The text is longer than 256 KiB.
    #[error("the stored totals are larger than 256 KiB")]
    TooLarge,
    /// It is no JSON of this form.
    #[error("the stored totals cannot be read")]
    Malformed,
    /// It was written by another version.
    #[error("the stored totals are of another version")]
    Version,
}

impl Totals {
    /// Reads what [`Totals::to_json`] wrote, at most 256 KiB.
    ///
    /// # Errors
    /// It is none of ours; see [`TotalsError`].
    pub fn from_json(text: &str) -> Result<Self, TotalsError> {
        if text.len() > MOST_BYTES {
            return Err(TotalsError::TooLarge);
        }
        let read: Self = serde_json::from_str(text).map_err(|_| TotalsError::Malformed)?;
        if read.version != VERSION {
            return Err(TotalsError::Version);
        }
        Ok(read)
    }

    /// As one line of JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("invariant: names and numbers are JSON")
    }

    /// What was spent of an account, as far as it can be believed.
    fn of_account(&self, name: &str) -> Vec<Spent> {
        self.of(&self.accounts, name)
    }

    fn of_endpoint(&self, label: &str) -> Vec<Spent> {
        self.of(&self.endpoints, label)
    }

    fn of(&self, all: &BTreeMap<String, Vec<Spent>>, name: &str) -> Vec<Spent> {
        if self.version != VERSION || all.len() > MOST_ACCOUNTS || name.len() > LONGEST_NAME {
            return Vec::new();
        }
        let mut believed = Vec::new();
        for every in [Every::Day, Every::Month] {
            let mut spent = all.get(name).into_iter().flatten();
            believed.extend(spent.find(|spent| spent.every == every && is_plausible(spent)));
        }
        believed.into_iter().cloned().collect()
    }
}

fn is_plausible(spent: &Spent) -> bool {
    spent.units <= MOST_UNITS && spent.methods.len() <= method::rows().len()
}

impl State {
    /// What every budget of the pool has spent.
    pub(crate) fn totals(&self, wall: SystemTime) -> Totals {
        let mut totals = Totals {
            version: VERSION,
            ..Totals::default()
        };
        for (endpoint, node) in self.router.ids().zip(&*self.nodes) {
            let Some(account) = self.router.account(endpoint) else {
                continue;
            };
            let (of, name) = match account.name() {
                "" => (&mut totals.endpoints, &*node.label),
                name => (&mut totals.accounts, name),
            };
            if !of.contains_key(name) {
                of.insert(name.to_owned(), account.totals(wall));
            }
        }
        totals
    }

    /// Adds what was spent before a restart.
    pub(crate) fn restore_totals(&self, totals: &Totals, wall: SystemTime) {
        for (endpoint, node) in self.router.ids().zip(&*self.nodes) {
            let Some(account) = self.router.account(endpoint) else {
                continue;
            };
            let spent = match account.name() {
                "" => totals.of_endpoint(&node.label),
                name => totals.of_account(name),
            };
            if !spent.is_empty() {
                account.restore_totals(&spent, wall);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(units: u64) -> Spent {
        Spent {
            every: Every::Day,
            start: 0,
            units,
            methods: Vec::new(),
            limit: None,
        }
    }

    // R-28
    #[test]
    fn reads_what_it_wrote_and_nothing_else() {
        let mut totals = Totals {
            version: VERSION,
            ..Totals::default()
        };
        totals.accounts.insert("main".into(), vec![spent(7)]);
        assert_eq!(Totals::from_json(&totals.to_json()), Ok(totals.clone()));
        assert_eq!(totals.of_account("main"), [spent(7)]);
        assert_eq!(totals.of_endpoint("main"), []);
        let other = Totals {
            version: VERSION + 1,
            ..totals
        };
        assert_eq!(
            Totals::from_json(&other.to_json()),
            Err(TotalsError::Version)
        );
        assert_eq!(other.of_account("main"), []);
        let long = format!("{}{}", other.to_json(), " ".repeat(MOST_BYTES));
        assert_eq!(Totals::from_json(&long), Err(TotalsError::TooLarge));
        for odd in [
            "",
            "[]",
            r#"{"accounts":{}}"#,
            r#"{"version":"1"}"#,
            r#"{"version":1,"accounts":{"a":[{"every":"week","start":0,"units":1,"methods":[]}]}}"#,
            r#"{"version":1,"accounts":{"a":[{"every":"day","start":0,"units":-1,"methods":[]}]}}"#,
        ] {
            assert_eq!(Totals::from_json(odd), Err(TotalsError::Malformed), "{odd}");
        }
    }

    // R-28
    #[test]
    fn believes_no_count_that_cannot_be_one() {
        let with = |spent: Vec<Spent>| {
            let mut totals = Totals {
                version: VERSION,
                ..Totals::default()
            };
            totals.endpoints.insert("a".into(), spent);
            totals.of_endpoint("a")
        };
        assert_eq!(with(vec![spent(u64::MAX)]), []);
        let mut many = spent(1);
        many.methods = vec![("eth_call".into(), 1); method::rows().len() + 1];
        assert_eq!(with(vec![many]), []);
        // Of two of a kind the first that can be believed counts.
        assert_eq!(with(vec![spent(u64::MAX), spent(1), spent(2)]), [spent(1)]);
    }
}
