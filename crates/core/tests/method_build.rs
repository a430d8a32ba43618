//! A bad table stops the build and names the line.

#[path = "../build/rows.rs"]
mod build_rows;

use build_rows::{add_params, read};

const METHODS: &str = include_str!("../data/methods.csv");
const PARAMS: &str = include_str!("../data/params.csv");

fn refusal(methods: &str) -> String {
    read(methods).err().expect("the table is bad")
}

/// The table with one line changed.
fn changed(line: usize, from: &str, to: &str) -> String {
    let mut lines: Vec<String> = METHODS.lines().map(str::to_owned).collect();
    assert!(lines[line - 1].contains(from), "{}", lines[line - 1]);
    lines[line - 1] = lines[line - 1].replacen(from, to, 1);
    lines.join("\n") + "\n"
}

#[test]
fn takes_the_tables_that_are_shipped() {
    let mut rows = read(METHODS).unwrap();
    add_params(&mut rows, PARAMS).unwrap();
    assert_eq!(rows.len(), METHODS.lines().count() - 1);
    assert_eq!(
        (rows[0].name.as_str(), rows[0].key()),
        ("eth_chainId", "eth_chainId")
    );
    assert!(
        rows.iter()
            .any(|row| row.is_prefix() && row.key() == "debug_")
    );
    assert!(
        rows[0]
            .rust(0, false)
            .starts_with("Descriptor { id: MethodId(0)")
    );
}

#[test]
fn refuses_an_unknown_word_and_names_its_line() {
    assert_eq!(
        refusal(&changed(2, ",static,", ",forever,")),
        "methods.csv:2: unknown cache_class `forever`"
    );
    assert_eq!(
        refusal(&changed(9, ",light,", ",lite,")),
        "methods.csv:9: unknown lane `lite`"
    );
    assert_eq!(
        refusal(&changed(9, ",10,", ",ten,")),
        "methods.csv:9: weight `ten` is no number"
    );
    assert_eq!(
        refusal(&changed(24, ",0,nt,", ",0,nx,")),
        "methods.csv:24: unknown block form `x`"
    );
    assert_eq!(
        refusal(&changed(24, ",0,nt,", ",x,nt,")),
        "methods.csv:24: block path `x` has no index"
    );
    assert_eq!(
        refusal(&changed(24, ",0,nt,", ",0.,nt,")),
        "methods.csv:24: block path `0.` has no key after the dot"
    );
    assert_eq!(
        refusal(&changed(2, ",eth,", ",net,")),
        "methods.csv:2: `eth_chainId` is not in the namespace `net`"
    );
}

// hardening B7
#[test]
fn refuses_a_name_twice_even_in_another_case() {
    let twice = changed(3, "net_version,net", "eth_CHAINID,eth");
    assert_eq!(
        refusal(&twice),
        "methods.csv:3: `eth_CHAINID` is already in line 2, case ignored"
    );
}

#[test]
fn refuses_block_keys_in_two_objects() {
    let apart = changed(24, ",0,nt,", ",0.a;1.b,nt,");
    assert_eq!(
        refusal(&apart),
        "methods.csv:24: block keys `0.a;1.b` in two objects"
    );
}

#[test]
fn refuses_a_table_without_the_default_row() {
    let without: String = METHODS
        .lines()
        .filter(|line| !line.starts_with("*,"))
        .flat_map(|line| [line, "\n"])
        .collect();
    assert!(refusal(&without).ends_with("no row `*`"));
}

#[test]
fn refuses_other_columns_and_short_rows() {
    assert_eq!(
        refusal(&changed(1, "weight", "price")),
        "methods.csv:1: other columns than expected"
    );
    assert!(refusal(&changed(2, ",static", "")).starts_with("methods.csv: CSV error"));
}

#[test]
fn refuses_shapes_that_contradict_the_method_table() {
    let refusal = |params: &str| {
        let mut rows = read(METHODS).unwrap();
        add_params(&mut rows, &format!("method,params\n{params}\n")).unwrap_err()
    };
    assert_eq!(
        refusal("eth_call,block;call"),
        "params.csv:2: `eth_call` has its blocks elsewhere in line 57"
    );
    assert_eq!(
        refusal("eth_call,call;blok"),
        "params.csv:2: unknown shape `blok`"
    );
    assert_eq!(
        refusal("eth_cal,call;block"),
        "params.csv:2: no method `eth_cal`"
    );
    assert_eq!(
        refusal("eth_gasPrice,\neth_gasPrice,"),
        "params.csv:3: `eth_gasPrice` is already there"
    );
}
