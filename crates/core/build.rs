//! Generates the method table: `data/methods.csv` and `data/params.csv` become static rows and two
//! perfect hashes over their names. And the table of chains from `data/chains.csv`. A bad table
//! stops the build with the line that is wrong.

#[path = "build/chains.rs"]
mod chains;
#[path = "src/method/hash.rs"]
mod hash;
#[path = "build/rows.rs"]
mod rows;

use rows::Row;
use std::fmt::Write as _;
use std::path::Path;

fn main() -> Result<(), String> {
    for file in [
        "build.rs",
        "build/chains.rs",
        "build/rows.rs",
        "src/method/hash.rs",
        "data",
    ] {
        println!("cargo:rerun-if-changed={file}");
    }
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let read = |name: &str| {
        std::fs::read_to_string(data.join(name)).map_err(|error| format!("{name}: {error}"))
    };
    let mut rows = rows::read(&read("methods.csv")?)?;
    rows::add_params(&mut rows, &read("params.csv")?)?;
    let out = std::env::var_os("OUT_DIR").ok_or("no OUT_DIR: not run by cargo")?;
    let chains = chains::generate(&read("chains.csv")?)?;
    for (name, text) in [("methods.rs", generate(&rows)?), ("chains.rs", chains)] {
        std::fs::write(Path::new(&out).join(name), text).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn generate(rows: &[Row]) -> Result<String, String> {
    let mut text = String::new();
    let mut line = |args: std::fmt::Arguments<'_>| {
        let _ = writeln!(text, "{args}");
    };
    line(format_args!(
        "static ROWS: [Descriptor; {}] = [",
        rows.len()
    ));
    for (id, row) in rows.iter().enumerate() {
        line(format_args!("    {},", row.rust(id, false)));
    }
    line(format_args!("];"));

    let is_eth = |row: &Row| !row.is_prefix() && row.name.starts_with("eth_");
    let eth = rows.iter().filter(|row| is_eth(row)).count();
    line(format_args!("static ALIASED: [Descriptor; {eth}] = ["));
    for (id, row) in rows.iter().enumerate().filter(|(_, row)| is_eth(row)) {
        line(format_args!("    {},", row.rust(id, true)));
    }
    line(format_args!("];"));
    let mut next = 0;
    let alias_of: Vec<u16> = rows
        .iter()
        .map(|row| {
            let here = if is_eth(row) { next } else { u16::MAX };
            next += u16::from(is_eth(row));
            here
        })
        .collect();
    line(format_args!(
        "static ALIAS_OF: [u16; {}] = {alias_of:?};",
        rows.len()
    ));

    let of_kind = |prefix: bool| {
        let named = move |(id, row): (usize, &Row)| {
            (row.is_prefix() == prefix && row.name != "*").then(|| (row.key().to_owned(), id))
        };
        rows.iter()
            .enumerate()
            .filter_map(named)
            .collect::<Vec<_>>()
    };
    for (name, keys) in [("EXACT", of_kind(false)), ("PREFIXES", of_kind(true))] {
        let (displacements, slots) = perfect(&keys)?;
        line(format_args!(
            "static {name}: Index = Index {{ displacements: &{displacements:?}, slots: &{slots:?} }};"
        ));
    }
    let mut lengths: Vec<usize> = of_kind(true).iter().map(|(key, _)| key.len()).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    lengths.dedup();
    line(format_args!("/// Longest first."));
    line(format_args!(
        "static PREFIX_LENGTHS: &[usize] = &{lengths:?};"
    ));
    let longest = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    line(format_args!("const LONGEST_NAME: usize = {longest};"));
    let default = rows
        .iter()
        .position(|row| row.name == "*")
        .ok_or("no row `*`")?;
    line(format_args!("const DEFAULT_ROW: usize = {default};"));
    line(format_args!("const EMPTY: u16 = u16::MAX;"));
    Ok(text)
}

/// Displacements by bucket and rows by slot, such that no two names share a slot.
fn perfect(keys: &[(String, usize)]) -> Result<(Vec<u16>, Vec<u16>), String> {
    let slots = (keys.len() * 3 / 2).next_power_of_two();
    let buckets = (slots / 4).max(1);
    let mut grouped = vec![Vec::new(); buckets];
    for (key, row) in keys {
        let hash = hash::folded(key.as_bytes());
        let row = u16::try_from(*row).map_err(|_| "too many rows".to_owned())?;
        grouped[hash::bucket(hash, buckets)].push((hash, row));
    }
    let mut order: Vec<usize> = (0..buckets).collect();
    order.sort_by_key(|bucket| std::cmp::Reverse(grouped[*bucket].len()));
    let mut displacements = vec![0; buckets];
    let mut table = vec![u16::MAX; slots];
    for bucket in order {
        let group = &grouped[bucket];
        let fits = |displacement: &u16| {
            let mut taken: Vec<usize> = group
                .iter()
                .map(|(hash, _)| hash::slot(*hash, *displacement, slots))
                .collect();
            taken.sort_unstable();
            taken.windows(2).all(|pair| pair[0] != pair[1])
                && taken.iter().all(|slot| table[*slot] == u16::MAX)
        };
        let displacement = (0..u16::MAX)
            .find(fits)
            .ok_or("no perfect hash: change the seed in hash.rs")?;
        displacements[bucket] = displacement;
        for (hash, row) in group {
            table[hash::slot(*hash, displacement, slots)] = *row;
        }
    }
    Ok((displacements, table))
}
