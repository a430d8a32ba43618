//! Answers that are cut without a word (P-23, scenario L11).

use super::node::{Logged, Ways, in_order, plain, read_logs};
use crate::reads::node::uncached;

fn places(from: u64, to: u64, each: u64) -> Vec<(u64, u64)> {
    (from..=to)
        .flat_map(|number| (0..each).map(move |index| (number, index)))
        .collect()
}

// P-23, scenario L11
#[tokio::test(start_paused = true)]
async fn a_cut_at_a_round_count_is_seen() {
    // Logs of a block, blocks, and where the endpoint cuts.
    for (each, blocks, cap) in [(1, 123, 100), (3, 411, 1000), (13, 950, 10_000)] {
        let ways = Ways {
            each,
            cap: Some(cap),
            ..Ways::default()
        };
        let all = plain(&places(1, blocks, each));
        let a = Logged::with(2000, ways);
        // Alone: by halves.
        let pool = in_order(&[&a], uncached()).await;
        assert!(read_logs(&pool, 1, blocks).await == all, "{cap}");
        assert!(a.ranges().len() > 1);
        // Beside one that does not cut, whoever is asked first.
        let b = Logged::with(
            2000,
            Ways {
                each,
                ..Ways::default()
            },
        );
        let pool = in_order(&[&a, &b], uncached()).await;
        assert!(read_logs(&pool, 1, blocks).await == all, "{cap}");
        let pool = in_order(&[&b, &a], uncached()).await;
        let before = a.ranges().len();
        assert!(read_logs(&pool, 1, blocks).await == all, "{cap}");
        assert_eq!(a.ranges().len(), before);
    }
}

// P-23
#[tokio::test(start_paused = true)]
async fn a_round_count_that_is_true_costs_one_look_and_no_more() {
    let a = Logged::new(5000);
    let pool = in_order(&[&a], uncached()).await;
    let all = plain(&places(1, 1000, 1));
    assert!(read_logs(&pool, 1, 1000).await == all);
    assert_eq!(a.ranges(), [(1, 1000), (1, 500), (501, 1000)]);
    // A longer answer shows that it does not cut there.
    let more = plain(&places(1, 1001, 1));
    assert!(read_logs(&pool, 1, 1001).await == more);
    assert!(read_logs(&pool, 1, 1000).await == all);
    assert_eq!(a.ranges().len(), 5);
}

// P-23
#[tokio::test(start_paused = true)]
async fn a_round_count_of_one_block_is_compared_with_another_endpoint() {
    let cut = Ways {
        each: 130,
        cap: Some(100),
        ..Ways::default()
    };
    let whole = Ways {
        each: 130,
        ..Ways::default()
    };
    let (a, b) = (Logged::with(100, cut), Logged::with(100, whole));
    let pool = in_order(&[&a, &b], uncached()).await;
    let all = plain(&places(90, 90, 130));
    assert!(read_logs(&pool, 90, 90).await == all);
    assert_eq!((a.ranges().len(), b.ranges().len()), (1, 1));
    // Where nobody else can say, what one says is the answer.
    b.node.down(true);
    let cut = plain(&places(91, 91, 100));
    assert!(read_logs(&pool, 91, 91).await == cut);
}
