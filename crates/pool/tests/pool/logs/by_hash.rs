//! Logs of one block by its hash (P-13, rule `suspect`).

use super::node::{Logged, in_order, plain};
use crate::{
    fake::Reply,
    reads::node::{hash, idle, read, reading},
};

fn params(number: u64) -> String {
    format!(r#"[{{"blockHash":"{}"}}]"#, hash(number, 0))
}

// P-13, scenario L06
#[tokio::test(start_paused = true)]
async fn who_does_not_know_the_block_is_passed_over_and_the_answer_kept() {
    let (a, b) = (Logged::new(4000), Logged::new(4000));
    let unknown = Reply::error(-32000, "unknown block");
    a.node.fake.on("eth_getLogs", unknown);
    let one = plain(&[(5, 0)]);
    b.node.fake.on("eth_getLogs", Reply::result(one.clone()));
    let pool = in_order(&[&a, &b], reading()).await;
    for _ in 0..3 {
        assert_eq!(read(&pool, "eth_getLogs", &params(5)).await, one);
    }
    assert_eq!(b.node.asked("eth_getLogs"), [params(5)]);
    assert_eq!(a.node.asked("eth_getLogs"), [params(5)]);
    assert_eq!(pool.cache_stats().hits, 2);
}

// P-13, scenario L16
#[tokio::test(start_paused = true)]
async fn an_empty_list_for_an_unknown_block_is_not_believed() {
    let (a, b) = (Logged::new(4000), Logged::new(4000));
    a.node.fake.on("eth_getLogs", Reply::result("[]"));
    let one = plain(&[(5, 0)]);
    b.node.fake.on("eth_getLogs", Reply::result(one.clone()));
    let pool = in_order(&[&a, &b], reading()).await;
    assert_eq!(read(&pool, "eth_getLogs", &params(5)).await, one);
    assert_eq!((a.node.fake.sent(), b.node.fake.sent()), (1, 1));
    // Both say so: it is, and it is not kept.
    b.node.fake.on("eth_getLogs", Reply::result("[]"));
    assert_eq!(read(&pool, "eth_getLogs", &params(6)).await, "[]");
    assert_eq!(pool.cache_stats().entries, 1);
    // Nobody else can say.
    b.node.down(true);
    assert_eq!(read(&pool, "eth_getLogs", &params(7)).await, "[]");
}

// P-13, scenario L16: who has shown the block knows it
#[tokio::test(start_paused = true)]
async fn an_empty_list_of_a_block_that_is_on_the_chain_needs_nobody_else() {
    let (a, b) = (Logged::new(100), Logged::new(100));
    for node in [&a, &b] {
        node.node.fake.on("eth_getLogs", Reply::result("[]"));
    }
    let pool = in_order(&[&a, &b], reading()).await;
    let block = read(&pool, "eth_getBlockByNumber", "[\"0x64\",false]").await;
    assert!(block.contains(&hash(100, 0)));
    let before = a.node.fake.sent();
    assert_eq!(read(&pool, "eth_getLogs", &params(100)).await, "[]");
    assert_eq!(a.node.fake.sent(), before + 1);
    assert!(idle(&b.node));
}
