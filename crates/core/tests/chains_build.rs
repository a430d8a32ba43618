//! A bad table of chains stops the build and names the line.

#[path = "../build/chains.rs"]
mod build_chains;

use build_chains::generate;

const CSV: &str = include_str!("../data/chains.csv");

/// What a table is refused with whose line has one thing changed.
fn refusal(line: usize, from: &str, to: &str) -> String {
    let mut lines: Vec<String> = CSV.lines().map(str::to_owned).collect();
    assert!(lines[line - 1].contains(from), "{}", lines[line - 1]);
    lines[line - 1] = lines[line - 1].replacen(from, to, 1);
    generate(&(lines.join("\n") + "\n")).expect_err("the table is bad")
}

#[test]
fn takes_the_table_that_is_shipped() {
    let text = generate(CSV).unwrap();
    assert!(text.contains("static CHAINS: [Chain; 88] = ["));
    assert!(text.contains("Chain { id: ChainId(1), slug: \"ethereum\", name: \"Ethereum\","));
}

#[test]
fn refuses_what_it_does_not_know_and_names_the_line() {
    for (from, to, why) in [
        (
            "chain_id,",
            "id,",
            "chains.csv:1: other columns than expected",
        ),
        (",main,", ",prod,", "chains.csv:2: unknown net `prod`"),
        (
            ",epoch,",
            ",epochs,",
            "chains.csv:2: unknown finality `epochs`",
        ),
        (
            ",yes,yes,",
            ",sure,yes,",
            "chains.csv:2: unknown finalized_tag `sure`",
        ),
        (",12000,", ",0,", "chains.csv:2: bad block_time_ms `0`"),
        (",12000,-,", ",12000,x,", "chains.csv:2: bad preconf_ms `x`"),
        (",96,", ",-,", "chains.csv:2: bad final_depth `-`"),
        (",36000,", ",,", "chains.csv:2: bad stale_ms ``"),
        (
            "ethereum,",
            " ethereum,",
            "chains.csv:2: bad slug ` ethereum`",
        ),
        (
            "1,ethereum",
            "10,ethereum",
            "chains.csv:3: id, slug or name is already there",
        ),
        (
            "Ethereum",
            "optimism",
            "chains.csv:3: id, slug or name is already there",
        ),
    ] {
        let line = if why.starts_with("chains.csv:1:") {
            1
        } else {
            2
        };
        assert_eq!(refusal(line, from, to), why);
    }
}

#[test]
fn refuses_a_quirk_that_no_chain_has_any_more() {
    let reworded = CSV.replace("null rounds", "rounds without a block");
    assert_eq!(
        generate(&reworded).expect_err("the phrase is gone"),
        "chains.csv: no chain has `null rounds`"
    );
}
