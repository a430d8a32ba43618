//! The smallest draft that still fails.

use super::draft::Draft;

/// Shortest scenario that is tried, in milliseconds.
const SHORTEST: u64 = 50;

/// Leaves out what can be left out while `fails` holds: nodes, faults, settings, time. `fails` is
/// asked of smaller and smaller drafts; of the one given it must hold.
#[must_use]
pub fn shrink(draft: Draft, mut fails: impl FnMut(&Draft) -> bool) -> Draft {
    let mut smallest = draft;
    loop {
        let Some(smaller) = smaller(&smallest).find(|smaller| fails(smaller)) else {
            return smallest;
        };
        smallest = smaller;
    }
}

/// Drafts with one thing less, the largest cuts first.
fn smaller(draft: &Draft) -> impl Iterator<Item = Draft> {
    let mut all = Vec::new();
    for shorter in [draft.millis / 2, draft.millis * 4 / 5] {
        if shorter >= SHORTEST {
            all.push(Draft {
                millis: shorter,
                ..draft.clone()
            });
        }
    }
    for node in 0..draft.nodes.len() {
        if draft.nodes.len() > 1 {
            let mut without = draft.clone();
            without.nodes.remove(node);
            all.push(without);
        }
    }
    for node in 0..draft.nodes.len() {
        for fault in 0..draft.nodes[node].faults.len() {
            let mut without = draft.clone();
            without.nodes[node].faults.remove(fault);
            all.push(without);
        }
        for line in 0..draft.nodes[node].lines.len() {
            let mut without = draft.clone();
            without.nodes[node].lines.remove(line);
            all.push(without);
        }
    }
    let tables: [fn(&mut Draft) -> &mut Vec<String>; 3] =
        [|d| &mut d.router, |d| &mut d.load, |d| &mut d.chain];
    for table in tables {
        for line in 0..table(&mut draft.clone()).len() {
            let mut without = draft.clone();
            table(&mut without).remove(line);
            all.push(without);
        }
    }
    all.extend(fewer_asks(draft));
    all.into_iter()
}

/// Drafts whose clients ask one thing less.
fn fewer_asks(draft: &Draft) -> Vec<Draft> {
    let is_asks = |line: &String| line.starts_with("asks = [");
    let Some(at) = draft.load.iter().position(is_asks) else {
        return Vec::new();
    };
    let inside = draft.load[at].trim_start_matches("asks = [");
    let asks: Vec<&str> = inside.trim_end_matches(']').split(", ").collect();
    let fewer = (0..asks.len()).filter(|_| asks.len() > 1).map(|without| {
        let mut asks = asks.clone();
        asks.remove(without);
        let mut draft = draft.clone();
        draft.load[at] = format!("asks = [{}]", asks.join(", "));
        draft
    });
    fewer.collect()
}
