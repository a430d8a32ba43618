//! An operation that is dropped at any of its polls leaves nothing behind (L-5).

use super::{numbered, pool, under_way};
use crate::{
    alloy::drop::poll_times,
    fake::{Reply, ms},
};
use alloy_provider::Provider;
use alloy_transport::TransportError;
use highwater::OperationOptions;

// L-5, R-8
#[tokio::test(start_paused = true)]
async fn an_operation_that_is_dropped_at_any_poll_leaves_no_place_slot_or_task() {
    let mut done = false;
    let mut times = 0;
    while !done {
        let fakes = numbered(2);
        fakes[0].on("eth_getCode", Reply::reset().after(ms(20)));
        fakes[1].on("eth_getCode", Reply::result("\"0x00\"").after(ms(10)));
        let pool = pool(&fakes);
        let alive = || {
            tokio::runtime::Handle::current()
                .metrics()
                .num_alive_tasks()
        };
        let before = alive();
        let mut run = Box::pin(pool.execute_with_retry(
            OperationOptions {
                one_block: true,
                ..OperationOptions::default()
            },
            async |provider| {
                let code = provider.get_code_at(Default::default());
                let (code, price) = futures_util::join!(
                    code.into_future(),
                    provider.raw_request::<_, String>("eth_gasPrice".into(), ()),
                );
                Ok::<_, TransportError>((code?, price?))
            },
        ));
        done = poll_times(&mut run, times).await;
        drop(run);
        tokio::time::sleep(ms(60_000)).await;
        assert_eq!(alive(), before, "after {times} polls");
        assert_eq!(under_way(&pool), 0);
        for (fake, endpoint) in fakes.iter().zip(pool.snapshot().endpoints) {
            assert_eq!((fake.open(), endpoint.in_flight), (0, 0));
        }
        times += 1;
    }
    assert!(times > 5, "{times}");
}
