//! Whose budget an endpoint spends.

use super::{Format, engine::good, read};
use crate::config::{Finding, Overrides, Settings};
use highwater_core::bucket::{Budget, Every, Period, Rate};

fn refusals(text: &str) -> Vec<String> {
    let report = read(Format::Toml, text).map(|_| ()).unwrap_err();
    let shown = |finding: &Finding| {
        let line = finding.place.map_or(0, |(line, _)| line);
        format!("{line} {}", finding.message)
    };
    report.findings.iter().map(shown).collect()
}

//
#[test]
fn the_one_endpoint_whose_rate_is_known_has_it_unless_another_is_set() {
    let address = "https://rpc.hyperliquid.xyz/evm";
    let rate = |before: &str, in_endpoint: &str| {
        let text = format!(
            "[chains.hyperevm]\n{before}\n[[chains.hyperevm.endpoints]]\nurl = '{address}'\n\
             {in_endpoint}\n[[chains.hyperevm.endpoints]]\nurl = 'https://a.example/evm'\n"
        );
        let chain = good(&text).chains.into_iter().next().unwrap();
        let rates: Vec<_> = chain.endpoints.iter().map(|e| e.budget.rate).collect();
        (rates[0], rates[1])
    };
    let known = Some(Rate {
        rps: 1.5,
        burst: 3.0,
    });
    assert_eq!(rate("", ""), (known, None));
    assert_eq!(rate("", "account = 'a'"), (known, None));
    let own = Some(Rate::of(2.0));
    assert_eq!(rate("", "rps = 2"), (own, None));
    assert_eq!(rate("budget.rps = 2", ""), (own, own));
    let urls = [address.to_owned()];
    let settings = Settings::from_urls(&urls, None, &Overrides::default()).unwrap();
    assert_eq!(settings.chains[0].endpoints[0].budget.rate, known);
}

const TWO_CHAINS: &str = "[chains.ethereum]
budget.rps = 7
[[chains.ethereum.endpoints]]
url = 'https://a.example'
account = 'main'
rps = 25
[[chains.ethereum.endpoints]]
url = 'https://b.example'
account = 'main'
units_per_day = 9
[chains.base]
[[chains.base.endpoints]]
url = 'https://c.example'
account = 'main'
burst = 30
";

//
#[test]
fn what_one_endpoint_of_an_account_states_holds_for_all_of_them() {
    let settings = good(TWO_CHAINS);
    let endpoints = settings.chains.iter().flat_map(|chain| &chain.endpoints);
    let budgets: Vec<&Budget> = endpoints.map(|endpoint| &endpoint.budget).collect();
    let expected = Budget {
        rate: Some(Rate {
            rps: 25.0,
            burst: 30.0,
        }),
        periods: vec![Period::new(Every::Day, 9)],
        ..Budget::default()
    };
    assert_eq!(budgets, [&expected, &expected, &expected]);
}

//
#[test]
fn two_limits_of_one_account_are_told_with_both_places() {
    let text = TWO_CHAINS.replace("burst = 30", "rps = 26\nbudget = false");
    let text = text.replace("units_per_day = 9", "units_per_day = 9\nbudget = true");
    assert_eq!(
        refusals(&text),
        [
            "16 `chains.base.endpoints[0].rps`: endpoints of account `main` share one budget, and \
             `chains.ethereum.endpoints[0].rps` in line 6 says another: state it once, or the same \
             everywhere",
            "17 `chains.base.endpoints[0].budget`: endpoints of account `main` share one budget, \
             and `chains.ethereum.endpoints[1].budget` in line 11 says another: state it once, or \
             the same everywhere",
        ]
    );
    // The same number is no conflict, and neither is that of another account.
    for same in ["rps = 25", "rps = 25.0"] {
        good(&TWO_CHAINS.replace("burst = 30", same));
    }
    let other = TWO_CHAINS.replace("account = 'main'\nburst = 30", "account = 'two'\nrps = 1");
    good(&other);
}

//
#[test]
fn two_chains_may_not_give_one_account_different_budgets() {
    let text = TWO_CHAINS.replace("[chains.base]", "[chains.base]\nbudget.rps = 8");
    assert_eq!(
        refusals(&text),
        [
            "12 `chains.base.budget`: endpoints of account `main` share one budget, and \
             `chains.ethereum.budget` in line 2 says another: give them the same, or the endpoints \
             an account for each chain"
        ]
    );
    good(&TWO_CHAINS.replace("[chains.base]", "[chains.base]\nbudget.rps = 7"));
}

//
#[test]
fn a_limit_that_needs_another_is_refused_without_it() {
    let endpoint = |text: &str| {
        refusals(&format!(
            "[[chains.ethereum.endpoints]]\nurl = 'https://a.example'\n{text}\n"
        ))
    };
    let place = "3 `chains.ethereum.endpoints[0]";
    assert_eq!(
        endpoint("burst = 5"),
        [format!("{place}.burst`: needs `rps`")]
    );
    assert_eq!(
        endpoint("reset_at = '01:00'"),
        [format!(
            "{place}.reset_at`: needs `units_per_day` or `units_per_month`"
        )]
    );
    assert_eq!(
        endpoint("reset_day = 2"),
        [format!("{place}.reset_day`: needs `units_per_month`")]
    );
    let chain = "[chains.ethereum]\nbudget = { burst = 5 }\n[[chains.ethereum.endpoints]]\nurl = \
                 'https://a.example'\n";
    assert_eq!(
        refusals(chain),
        ["2 `chains.ethereum.budget.burst`: needs `rps`"]
    );
}
