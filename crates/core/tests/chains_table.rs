//! The generated table of chains says what the CSV says, and a name finds the right row.

use highwater_core::{
    ChainId,
    chains::{
        Chain, Finality, Quirk, TagSupport, all, by_id, has_already_known, named, write_deadline,
        write_timeout,
    },
    heads::HeadSettings,
};
use std::time::Duration;

const CSV: &str = include_str!("../data/chains.csv");

fn chain(slug: &str) -> &'static Chain {
    named(slug).expect("in the table")
}

#[test]
fn every_row_says_what_the_csv_says() {
    let mut reader = csv::Reader::from_reader(CSV.as_bytes());
    let mut count = 0;
    for record in reader.records() {
        let record = record.unwrap();
        let number = |column: usize| record[column].parse::<u64>().unwrap();
        let millis = |column: usize| Duration::from_millis(number(column));
        let chain = by_id(ChainId(number(0))).expect("in the table");
        assert_eq!(chain.id, ChainId(number(0)));
        assert_eq!((chain.slug, chain.name), (&record[1], &record[2]));
        assert_eq!(chain.testnet, &record[3] == "test");
        assert_eq!(chain.stack, &record[4]);
        assert_eq!(chain.block_time, millis(5));
        let preconfirmation = (&record[6] != "-").then(|| millis(6));
        assert_eq!(chain.preconfirmation, preconfirmation);
        let finality = format!("{:?}", chain.finality).to_lowercase();
        assert_eq!(finality, record[7]);
        assert_eq!(chain.final_depth, number(11));
        assert_eq!(chain.max_lag, number(13));
        assert_eq!(chain.stale, millis(14));
        count += 1;
    }
    assert_eq!((count, all().len()), (88, 88));
    assert!(all().is_sorted_by(|a, b| a.id < b.id));
}

#[test]
fn a_chain_is_found_by_slug_name_and_id() {
    let ids = |text: &str| named(text).map(|chain| chain.id.0);
    for text in [
        "arbitrum",
        "Arbitrum One",
        "ARBITRUM ONE",
        "42161",
        "0xa4b1",
        "0XA4B1",
    ] {
        assert_eq!(ids(text), Some(42_161), "{text}");
    }
    assert_eq!(ids("0g"), Some(16_661));
    for text in [
        "",
        "0x",
        "0",
        "+1",
        "-1",
        "0x+1",
        "arbitrum ",
        "99999999999999999999",
        "7",
    ] {
        assert_eq!(ids(text), None, "{text}");
    }
    for chain in all() {
        assert!(std::ptr::eq(named(chain.slug).unwrap(), chain));
        assert!(std::ptr::eq(named(chain.name).unwrap(), chain));
        assert!(std::ptr::eq(named(&chain.id.to_string()).unwrap(), chain));
    }
    assert_eq!(by_id(ChainId(2)), None);
}

// semantics 2.1
#[test]
fn tags_and_finality_read_as_the_table_means_them() {
    let tags = |slug| {
        let chain = chain(slug);
        (chain.finalized, chain.safe, chain.pending)
    };
    use TagSupport::{IsLatest, Mixed, No, NotAlone, Unknown, Yes};
    assert_eq!(tags("ethereum"), (Yes, Yes, Mixed));
    assert_eq!(tags("polygon"), (NotAlone, No, Mixed));
    assert_eq!(tags("monad"), (Yes, Yes, IsLatest));
    assert_eq!(tags("sei"), (IsLatest, IsLatest, IsLatest));
    assert_eq!(tags("sonic"), (Mixed, Mixed, IsLatest));
    assert_eq!(tags("zksync"), (Yes, Unknown, IsLatest));
    assert_eq!(tags("tron"), (Yes, No, No));
    assert_eq!(chain("rootstock").finality, Finality::Depth);
    assert_eq!(chain("polygon").finality, Finality::Milestone);
}

#[test]
fn quirks_are_those_of_the_stack_and_of_the_text() {
    let with = |quirk| -> Vec<&str> {
        let has = all().iter().filter(|chain| chain.has(quirk));
        has.map(|chain| chain.slug).collect()
    };
    let nitro = [
        "robinhood",
        "apechain",
        "arbitrum",
        "arbitrum-nova",
        "robinhood-testnet",
        "arbitrum-sepolia",
    ];
    let mut idle = vec!["sonic"];
    idle.extend(["robinhood", "apechain", "arbitrum", "arbitrum-nova"]);
    idle.extend([
        "avalanche-fuji",
        "avalanche",
        "robinhood-testnet",
        "arbitrum-sepolia",
    ]);
    assert_eq!(with(Quirk::NoBlocksWhenIdle), idle);
    let mut unknown = vec!["monad"];
    unknown.extend(["robinhood", "monad-testnet"]);
    unknown.extend(&nitro[1..]);
    assert_eq!(with(Quirk::NoAlreadyKnown), unknown);
    assert_eq!(
        with(Quirk::RefusedSendsHaveCode3),
        ["lens", "zksync", "cronos-zkevm", "abstract", "sophon"]
    );
    assert_eq!(with(Quirk::CutsRangesInSilence), ["monad", "monad-testnet"]);
    assert_eq!(with(Quirk::ErrorAboveHead), ["avalanche-fuji", "avalanche"]);
    let hyperevm = ["hyperevm-testnet", "hyperevm"];
    assert_eq!(with(Quirk::PresentStatePrecompiles), hyperevm);
    assert_eq!(with(Quirk::OfficialStateIsPresent), hyperevm);
    assert_eq!(with(Quirk::NullRounds), ["filecoin"]);
    assert_eq!(with(Quirk::SlowNulls), ["cronos", "stable", "kava"]);
    for slug in ["base", "megaeth", "worldchain"] {
        assert!(chain(slug).has(Quirk::Preconfirmations), "{slug}");
    }
    assert!(!chain("optimism").has(Quirk::Preconfirmations));
    assert_eq!(
        chain("hyperevm").shared_with,
        ["Wanchain Testnet", "Zora Goerli"]
    );
    assert!(chain("ethereum").shared_with.is_empty());
}

// R-30, semantics W17
#[test]
fn a_nitro_node_has_thirty_seconds_for_a_submission() {
    assert_eq!(chain("robinhood").write_timeout(), Duration::from_secs(30));
    assert_eq!(chain("ethereum").write_timeout(), Duration::from_secs(10));
    assert_eq!(write_timeout(None), Duration::from_secs(10));
    assert_eq!(write_deadline(write_timeout(None)), Duration::from_secs(12));
    assert_eq!(write_deadline(Duration::MAX), Duration::MAX);
}

// R-35, semantics W14
#[test]
fn nodes_of_nitro_and_monad_do_not_say_that_they_know_a_transaction() {
    for slug in ["arbitrum", "monad", "monad-testnet"] {
        assert!(!has_already_known(Some(chain(slug))), "{slug}");
    }
    for slug in ["ethereum", "zksync", "base"] {
        assert!(has_already_known(Some(chain(slug))), "{slug}");
    }
    assert!(has_already_known(None));
}

//
#[test]
fn head_settings_come_from_the_table() {
    let settings = HeadSettings::of(by_id(ChainId(42_161)));
    assert_eq!(settings.max_lag, 20);
    assert_eq!(settings.stale, Duration::from_secs(15));
    assert_eq!(settings.block_time, Some(Duration::from_millis(250)));
    assert_eq!(settings.max_ahead, 1000);
    assert_eq!(HeadSettings::of(None), HeadSettings::default());
    for chain in all() {
        assert_eq!(
            HeadSettings::of(Some(chain)).check(),
            Ok(()),
            "{}",
            chain.slug
        );
    }
}
