//! Reads the table of chains and writes it as Rust, sorted by id.
//!
//! Every word is checked against the list of its column, so a typing error stops the build and names
//! the line.

use std::collections::HashSet;
use std::fmt::Write as _;

/// The columns, in order; a table with others is refused.
const COLUMNS: [&str; 21] = [
    "chain_id",
    "slug",
    "name",
    "net",
    "stack",
    "block_time_ms",
    "preconf_ms",
    "finality",
    "finalized_tag",
    "safe_tag",
    "pending_tag",
    "final_depth",
    "reorg_note",
    "max_lag",
    "stale_ms",
    "getlogs_official",
    "getlogs_common",
    "state_history",
    "id_collision",
    "quirks",
    "basis",
];

type Words = &'static [(&'static str, &'static str)];

const NETS: Words = &[("main", "false"), ("test", "true")];

const FINALITIES: Words = &[
    ("instant", "Instant"),
    ("fast", "Fast"),
    ("epoch", "Epoch"),
    ("milestone", "Milestone"),
    ("rollup", "Rollup"),
    ("depth", "Depth"),
];

const TAGS: Words = &[
    ("yes", "Yes"),
    ("yes (voted)", "Yes"),
    ("yes (= latest)", "IsLatest"),
    ("as latest", "IsLatest"),
    ("yes, do not trust alone", "NotAlone"),
    ("mixed", "Mixed"),
    ("newer nodes (= latest)", "Mixed"),
    ("no", "No"),
    ("unverified", "Unknown"),
    ("-", "Unknown"),
];

/// What makes a chain have a quirk: its stack, or a phrase among its quirks. The order is that of
/// the bits.
const QUIRKS: [(&[&str], &[&str]); 10] = [
    // NoBlocksWhenIdle
    (
        &["nitro", "coreth"],
        &["no blocks when idle", "blocks only when there is load"],
    ),
    // NoAlreadyKnown
    (&["nitro", "monad"], &["no already-known answer"]),
    // RefusedSendsHaveCode3
    (&["zk-stack"], &["every refused send has code 3"]),
    // CutsRangesInSilence
    (&["monad"], &["range end past the head is cut in silence"]),
    // ErrorAboveHead
    (
        &["coreth"],
        &["a block above the accepted head is an error"],
    ),
    // PresentStatePrecompiles
    (
        &["hyperevm"],
        &["give current HyperCore state whatever the block"],
    ),
    // OfficialStateIsPresent
    (
        &["hyperevm"],
        &["answers state reads at any number from current state"],
    ),
    // NullRounds
    (&["fevm"], &["null rounds"]),
    // SlowNulls
    (&[], &["a missing receipt answers slowly"]),
    // Preconfirmations
    (&[], &["flashblocks", "mini-blocks"]),
];

/// The table as Rust text.
///
/// # Errors
/// Names the line of an unknown word, a bad number or a repeated id, slug or name; or the stack or
/// phrase of a quirk that no chain has.
pub(crate) fn generate(table: &str) -> Result<String, String> {
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let header = reader
        .headers()
        .map_err(|error| format!("chains.csv:1: {error}"))?;
    if header.iter().ne(COLUMNS) {
        return Err("chains.csv:1: other columns than expected".to_owned());
    }
    let (mut rows, mut seen, mut used) = (Vec::new(), HashSet::new(), HashSet::new());
    for record in reader.records() {
        let record = record.map_err(|error| format!("chains.csv: {error}"))?;
        let line = record.position().map_or(0, csv::Position::line);
        let cells: Vec<&str> = record.iter().collect();
        let (id, text) =
            row(&cells, &mut used).map_err(|why| format!("chains.csv:{line}: {why}"))?;
        // A slug may be its own chain's name in lower case, and no other's.
        let names = [cells[1].to_lowercase(), cells[2].to_lowercase()];
        let fresh = |name: &String, seen: &mut HashSet<String>| seen.insert(name.clone());
        if !fresh(&id.to_string(), &mut seen)
            || !fresh(&names[0], &mut seen)
            || (names[1] != names[0] && !fresh(&names[1], &mut seen))
        {
            return Err(format!(
                "chains.csv:{line}: id, slug or name is already there"
            ));
        }
        rows.push((id, text));
    }
    for (stacks, phrases) in QUIRKS {
        if let Some(unused) = stacks
            .iter()
            .chain(phrases)
            .find(|word| !used.contains(*word))
        {
            return Err(format!("chains.csv: no chain has `{unused}`"));
        }
    }
    rows.sort_unstable_by_key(|(id, _)| *id);
    let mut text = format!("/// By id.\nstatic CHAINS: [Chain; {}] = [\n", rows.len());
    for (_, row) in rows {
        let _ = writeln!(text, "    {row},");
    }
    text.push_str("];\n");
    Ok(text)
}

fn row(cells: &[&str], used: &mut HashSet<&'static str>) -> Result<(u64, String), String> {
    let word = |column: usize, words: Words| {
        words
            .iter()
            .find(|(name, _)| *name == cells[column])
            .map(|(_, variant)| *variant)
            .ok_or_else(|| format!("unknown {} `{}`", COLUMNS[column], cells[column]))
    };
    let number = |column: usize, least: u64| {
        cells[column]
            .parse()
            .ok()
            .filter(|number: &u64| *number >= least)
            .ok_or_else(|| format!("bad {} `{}`", COLUMNS[column], cells[column]))
    };
    let name = |column: usize| {
        let name = cells[column];
        let plain = !name.is_empty() && name.trim() == name && name.is_ascii();
        plain
            .then_some(name)
            .ok_or_else(|| format!("bad {} `{name}`", COLUMNS[column]))
    };
    let (id, stack) = (number(0, 1)?, name(4)?);
    let preconfirmation = if cells[6] == "-" {
        "None".to_owned()
    } else {
        format!("Some(Duration::from_millis({}))", number(6, 1)?)
    };
    let shared: Vec<&str> = cells[18].split("; ").filter(|name| *name != "-").collect();
    let mut quirks = 0_u16;
    for (bit, (stacks, phrases)) in QUIRKS.iter().enumerate() {
        let of_stack = stacks.iter().filter(|name| **name == stack);
        let of_text = phrases.iter().filter(|phrase| cells[19].contains(**phrase));
        for word in of_stack.chain(of_text) {
            used.insert(word);
            quirks |= 1 << bit;
        }
    }
    let text = format!(
        "Chain {{ id: ChainId({id}), slug: {:?}, name: {:?}, testnet: {}, stack: {stack:?}, \
         block_time: Duration::from_millis({}), preconfirmation: {preconfirmation}, \
         finality: Finality::{}, finalized: TagSupport::{}, safe: TagSupport::{}, \
         pending: TagSupport::{}, final_depth: {}, max_lag: {}, \
         stale: Duration::from_millis({}), shared_with: &{shared:?}, quirks: Quirks({quirks}) }}",
        name(1)?,
        name(2)?,
        word(3, NETS)?,
        number(5, 1)?,
        word(7, FINALITIES)?,
        word(8, TAGS)?,
        word(9, TAGS)?,
        word(10, TAGS)?,
        number(11, 1)?,
        number(13, 1)?,
        number(14, 1)?,
    );
    Ok((id, text))
}
