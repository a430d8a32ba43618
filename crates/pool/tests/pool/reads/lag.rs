//! How far behind what endpoints have shown a pinned read may be.

use super::node::{Node, after, balance_with, pool, reading, text, uncached};
use crate::fake::{Reply, ms};
use highwater::{
    CallOptions,
    core::{probe::ProbeSettings, settings::Settings},
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};
use tokio::time::Instant;

/// A node that goes on by a block every two seconds, and notes the highest head that any has shown.
fn moving(latency: u64, shown: &Arc<AtomicU64>) -> Node {
    let (node, shown, start) = (Node::new(100), Arc::clone(shown), Instant::now());
    node.fake.answer("eth_blockNumber", move |_| {
        let head = 100 + start.elapsed().as_secs() / 2;
        shown.fetch_max(head, Relaxed);
        Reply::result(format!("\"{head:#x}\"")).after(ms(latency))
    });
    node
}

// P-2, R-16: what one endpoint shows sets no pin before a second has shown it, so the second is asked
// then, not at the next probe.
#[tokio::test(start_paused = true)]
async fn a_second_endpoint_is_asked_where_only_one_has_shown_the_newest_blocks() {
    for settings in [reading(), uncached()] {
        let shown = Arc::new(AtomicU64::new(0));
        let nodes = [25, 30].map(|latency| moving(latency, &shown));
        let settings = Settings {
            probe: Some(ProbeSettings::default()),
            ..settings
        };
        let pool = pool(&nodes.each_ref(), settings).await;
        let mut worst = 0;
        for _ in 0..12_000 {
            after(5).await;
            let before = shown.load(Relaxed);
            let answer = balance_with(&pool, "latest", CallOptions::default());
            let answer = text(&answer.await.unwrap());
            let block = u64::from_str_radix(answer.trim_matches('"').trim_start_matches("0x"), 16);
            worst = worst.max(before.saturating_sub(block.unwrap()));
        }
        assert!(worst <= 2, "{worst} blocks behind what was shown");
    }
}
