//! Reads the method table and the parameter table, and writes them as Rust.
//!
//! Every word is checked against the list of its column, so a typing error in a table stops the
//! build and names the line.

use std::collections::HashMap;
use std::fmt::Write as _;

/// The columns, in order; a table with others is refused.
const COLUMNS: [&str; 19] = [
    "method",
    "ns",
    "tier",
    "idempotent",
    "state_changing",
    "sticky",
    "block_param",
    "block_forms",
    "omitted_means",
    "pin_latest",
    "race",
    "hedge",
    "coalesce",
    "failover",
    "cache_class",
    "empty_is",
    "weight",
    "lane",
    "notes",
];

/// The columns that hold one word of a list: field, Rust type, and each word with its variant.
type Words = (
    usize,
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const RACING: &[(&str, &str)] = &[("yes", "Yes"), ("costly", "Costly"), ("no", "No")];

const WORDS: [Words; 13] = [
    (
        2,
        "tier",
        "Tier",
        &[
            ("core", "Core"),
            ("common", "Common"),
            ("ext", "Extension"),
            ("chain", "Chain"),
            ("builder", "Builder"),
            ("wallet", "Wallet"),
            ("aa", "AccountAbstraction"),
            ("vendor", "Vendor"),
            ("node", "Node"),
        ],
    ),
    (
        3,
        "idempotent",
        "Idempotent",
        &[("yes", "Yes"), ("no", "No"), ("content", "Content")],
    ),
    (
        4,
        "state_changing",
        "Changes",
        &[
            ("no", "Nothing"),
            ("filter", "Filter"),
            ("subscription", "Subscription"),
            ("mempool", "Mempool"),
            ("builder", "Builder"),
            ("signer", "Signer"),
            ("node", "Node"),
        ],
    ),
    (
        5,
        "sticky",
        "Sticky",
        &[
            ("none", "None"),
            ("creates", "Creates"),
            ("requires", "Requires"),
            ("ends", "Ends"),
            ("socket", "Socket"),
        ],
    ),
    (
        8,
        "omitted_means",
        "Omitted",
        &[
            ("latest", "Latest"),
            ("client", "Client"),
            ("required", "Required"),
            ("-", "NotApplicable"),
        ],
    ),
    (
        9,
        "pin_latest",
        "PinLatest",
        &[("yes", "Yes"), ("given", "Given"), ("no", "No")],
    ),
    (10, "race", "Racing", RACING),
    (11, "hedge", "Racing", RACING),
    (
        12,
        "coalesce",
        "Coalesce",
        &[("yes", "Yes"), ("pinned", "Pinned"), ("no", "No")],
    ),
    (
        13,
        "failover",
        "Failover",
        &[
            ("any", "Any"),
            ("same-bytes", "SameBytes"),
            ("unsent", "Unsent"),
            ("none", "None"),
        ],
    ),
    (
        14,
        "cache_class",
        "CacheClass",
        &[
            ("static", "Static"),
            ("by_hash", "ByHash"),
            ("by_number", "ByNumber"),
            ("by_tx", "ByTx"),
            ("at_head", "AtHead"),
            ("log_range", "LogRange"),
            ("never", "Never"),
        ],
    ),
    (
        15,
        "empty_is",
        "EmptyIs",
        &[
            ("value", "Value"),
            ("absent", "Absent"),
            ("suspect", "Suspect"),
            ("n/a", "NotApplicable"),
        ],
    ),
    (
        17,
        "lane",
        "Lane",
        &[
            ("light", "Light"),
            ("state", "State"),
            ("range", "Range"),
            ("trace", "Trace"),
            ("write", "Write"),
            ("stream", "Stream"),
            ("denied", "Denied"),
        ],
    ),
];

/// The shapes that `params.csv` may name.
const SHAPES: [&str; 13] = [
    "hex",
    "json",
    "block",
    "call",
    "state",
    "slots",
    "header",
    "bundle",
    "context",
    "simulation",
    "filter",
    "trace_filter",
    "tracer",
];

/// The shapes with a block reference under a member.
const WITH_BLOCK_MEMBERS: [&str; 3] = ["context", "filter", "trace_filter"];

/// One checked row.
pub(crate) struct Row {
    /// The name as the table has it.
    pub(crate) name: String,
    line: u64,
    cells: Vec<String>,
    paths: Option<Vec<(u8, Option<String>)>>,
    forms: u8,
    weight: u32,
    params: Option<Vec<String>>,
}

impl Row {
    /// What a caller's name must start with, or be.
    pub(crate) fn key(&self) -> &str {
        self.name.strip_suffix('*').unwrap_or(&self.name)
    }

    /// Matched by prefix, the row `*` included.
    pub(crate) fn is_prefix(&self) -> bool {
        self.name.ends_with('*')
    }

    /// Its rules are those of the `eth_` method with the same suffix.
    pub(crate) fn is_alias(&self) -> bool {
        self.paths.is_none()
    }

    /// The row as a Rust expression.
    ///
    /// Seen through an alias, a block that the caller left out stays left out: the families disagree
    /// on the default and some take no such parameter at all, so only a tag that was written is
    /// pinned.
    pub(crate) fn rust(&self, id: usize, through_alias: bool) -> String {
        let kind = match (self.is_prefix(), self.name.as_str()) {
            (_, "*") => "Default",
            (true, _) => "Prefix",
            (false, _) => "Exact",
        };
        let mut text = format!(
            "Descriptor {{ id: MethodId({id}), name: {:?}, kind: RowKind::{kind}, ns: {:?}, ",
            self.name, self.cells[1]
        );
        for (column, field, ty, words) in WORDS {
            let mut word = self.cells[column].as_str();
            if through_alias {
                word = match (field, word) {
                    ("omitted_means", "latest") => "client",
                    ("pin_latest", "yes") => "given",
                    _ => word,
                };
            }
            let variant = words
                .iter()
                .find(|(name, _)| *name == word)
                .map_or("", |(_, v)| *v);
            let _ = write!(text, "{field}: {ty}::{variant}, ");
        }
        text.push_str("block_params: &[");
        for (index, key) in self.paths.iter().flatten() {
            let _ = write!(text, "BlockPath {{ index: {index}, key: {key:?} }}, ");
        }
        let _ = write!(
            text,
            "], alias: {}, block_forms: BlockForms::from_bits({}), weight: {}, note: {:?}, params: ",
            through_alias || self.is_alias(),
            self.forms,
            self.weight,
            self.cells[18],
        );
        match &self.params {
            None => text.push_str("None"),
            Some(shapes) => {
                text.push_str("Some(&[");
                for shape in shapes {
                    let _ = write!(text, "shape::{}, ", shape.to_ascii_uppercase());
                }
                text.push_str("])");
            }
        }
        text.push_str(" }");
        text
    }
}

/// Reads the method table.
///
/// # Errors
/// Names the line of a word that its column does not know, a repeated name, a missing default row.
pub(crate) fn read(methods: &str) -> Result<Vec<Row>, String> {
    let mut reader = csv::Reader::from_reader(methods.as_bytes());
    let header = reader
        .headers()
        .map_err(|error| format!("methods.csv:1: {error}"))?;
    if header.iter().ne(COLUMNS) {
        return Err("methods.csv:1: other columns than expected".to_owned());
    }
    let mut rows = Vec::new();
    let mut seen = HashMap::new();
    for record in reader.records() {
        let record = record.map_err(|error| format!("methods.csv: {error}"))?;
        let line = record.position().map_or(0, csv::Position::line);
        let row = row(record.iter().map(str::to_owned).collect(), line)
            .map_err(|why| format!("methods.csv:{line}: {why}"))?;
        if let Some(first) = seen.insert(row.name.to_ascii_lowercase(), line) {
            return Err(format!(
                "methods.csv:{line}: `{}` is already in line {first}, case ignored",
                row.name
            ));
        }
        rows.push(row);
    }
    if !rows.iter().any(|row| row.name == "*") {
        return Err(format!(
            "methods.csv:{}: no row `*`",
            reader.position().line()
        ));
    }
    Ok(rows)
}

fn row(cells: Vec<String>, line: u64) -> Result<Row, String> {
    for (column, field, _, words) in WORDS {
        let word = &cells[column];
        if !words.iter().any(|(name, _)| name == word) {
            return Err(format!("unknown {field} `{word}`"));
        }
    }
    let name = cells[0].clone();
    if name.is_empty() || !name.is_ascii() || name.trim_end_matches('*').contains('*') {
        return Err(format!("bad name `{name}`"));
    }
    if name != "*" && !name.starts_with(&format!("{}_", cells[1])) {
        return Err(format!("`{name}` is not in the namespace `{}`", cells[1]));
    }
    let mut forms = 0;
    for letter in cells[7].chars().filter(|letter| *letter != '-') {
        let bit = "nthor"
            .find(letter)
            .ok_or_else(|| format!("unknown block form `{letter}`"))?;
        forms |= 1 << bit;
    }
    let weight = cells[16]
        .parse()
        .map_err(|_| format!("weight `{}` is no number", cells[16]))?;
    let paths = match cells[6].as_str() {
        "-" => Some(Vec::new()),
        "alias" => None,
        paths => Some(paths.split(';').map(path).collect::<Result<_, _>>()?),
    };
    let mut keyed = paths
        .iter()
        .flatten()
        .filter(|(_, key): &&(u8, Option<String>)| key.is_some());
    if let Some((first, _)) = keyed.next()
        && keyed.any(|(index, _)| index != first)
    {
        return Err(format!("block keys `{}` in two objects", cells[6]));
    }
    Ok(Row {
        name,
        line,
        cells,
        paths,
        forms,
        weight,
        params: None,
    })
}

fn path(text: &str) -> Result<(u8, Option<String>), String> {
    let (index, key) = match text.split_once('.') {
        Some((index, key)) if !key.is_empty() => (index, Some(key.to_owned())),
        Some(_) => return Err(format!("block path `{text}` has no key after the dot")),
        None => (text, None),
    };
    let index = index
        .parse()
        .map_err(|_| format!("block path `{text}` has no index"))?;
    Ok((index, key))
}

/// Adds the shapes of the parameters to the rows.
///
/// # Errors
/// Names the line of an unknown method or shape, a repeated method, or shapes that put a block
/// elsewhere than the method table does.
pub(crate) fn add_params(rows: &mut [Row], params: &str) -> Result<(), String> {
    let mut reader = csv::Reader::from_reader(params.as_bytes());
    for record in reader.records() {
        let record = record.map_err(|error| format!("params.csv: {error}"))?;
        let line = record.position().map_or(0, csv::Position::line);
        let fail = |why: String| Err(format!("params.csv:{line}: {why}"));
        let (Some(name), Some(words)) = (record.get(0), record.get(1)) else {
            return fail("two columns expected".to_owned());
        };
        let Some(row) = rows
            .iter_mut()
            .find(|row| row.name == name && !row.is_prefix())
        else {
            return fail(format!("no method `{name}`"));
        };
        let shapes: Vec<String> = words
            .split(';')
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        if let Some(unknown) = shapes
            .iter()
            .find(|shape| !SHAPES.contains(&shape.as_str()))
        {
            return fail(format!("unknown shape `{unknown}`"));
        }
        if row.params.is_some() {
            return fail(format!("`{name}` is already there"));
        }
        if shaped_blocks(&shapes) != table_blocks(row) {
            return fail(format!(
                "`{name}` has its blocks elsewhere in line {}",
                row.line
            ));
        }
        row.params = Some(shapes);
    }
    Ok(())
}

/// The indices that hold a block, and whether directly.
fn shaped_blocks(shapes: &[String]) -> Vec<(usize, bool)> {
    let block = |(index, shape): (usize, &String)| match shape.as_str() {
        "block" => Some((index, true)),
        other => WITH_BLOCK_MEMBERS
            .contains(&other)
            .then_some((index, false)),
    };
    shapes.iter().enumerate().filter_map(block).collect()
}

fn table_blocks(row: &Row) -> Vec<(usize, bool)> {
    let mut blocks: Vec<_> = row
        .paths
        .iter()
        .flatten()
        .map(|(index, key)| (usize::from(*index), key.is_none()))
        .collect();
    blocks.dedup();
    blocks
}
