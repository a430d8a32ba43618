//! The price of routing one call in a pool of ten. Goal: a call of one attempt, from its plan to its
//! end, under 3 µs.
#![allow(missing_docs, reason = "criterion's macros make public functions")]

use criterion::{Criterion, criterion_group, criterion_main};
use highwater_core::{
    ChainId, EndpointId, Now,
    call::{Action, Leftover, Machine, Plan, Settled},
    heads::Source,
    learn::Need,
    method,
    router::{Profile, Router},
    settings::Settings,
};
use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

/// Ten endpoints with heads, that have answered ten methods for five minutes.
struct Pool {
    router: Router,
    now: Now,
}

const METHODS: [&str; 10] = [
    "eth_call",
    "eth_blockNumber",
    "eth_getBalance",
    "eth_getLogs",
    "eth_getCode",
    "eth_getBlockByNumber",
    "eth_getTransactionReceipt",
    "eth_gasPrice",
    "eth_getTransactionCount",
    "eth_estimateGas",
];

impl Pool {
    fn new(settings: Settings) -> Self {
        let settings = Arc::new(Settings {
            verify_chain_id: false,
            ..settings
        });
        let profiles = (0..10).map(|_| Profile::default()).collect();
        let mut pool = Self {
            router: Router::new(settings, Some(ChainId(1)), profiles, 1),
            now: Now {
                mono: Instant::now(),
                wall: SystemTime::UNIX_EPOCH,
            },
        };
        for n in 0..3000_u64 {
            if n % 40 == 0 {
                for id in 0..10 {
                    let height = 1000 + n / 40;
                    pool.router
                        .on_head(EndpointId(id), Source::Probe, height, pool.now);
                }
            }
            let name = METHODS[(n % 10) as usize];
            pool.call(name, Need::default(), Duration::from_millis(20 + n % 13));
            pool.now.mono += Duration::from_millis(80);
        }
        pool
    }

    fn plan(&self, name: &'static str, need: Need) -> Plan {
        let deadline = self.now.mono + Duration::from_secs(9);
        let mut plan = Plan::new(method::lookup(name), name, deadline, Duration::from_secs(5));
        plan.need = need;
        plan
    }

    /// A call and its end, of one attempt, or of one race of which the first answer wins.
    fn call(&mut self, name: &'static str, need: Need, took: Duration) -> Action {
        self.router.on_call(self.now);
        let mut machine = Machine::new(self.plan(name, need));
        let mut first = None;
        while let Action::Send { attempt, .. } = machine.poll(&mut self.router, self.now) {
            first.get_or_insert(attempt);
        }
        let end = Now {
            mono: self.now.mono + took,
            ..self.now
        };
        if let Some(attempt) = first {
            machine.on_settled(&mut self.router, attempt, &Settled::VALUE, end);
        }
        let outcome = machine.poll(&mut self.router, end);
        for (ticket, leftover) in machine.leftovers() {
            match leftover {
                Leftover::Finish => self.router.settle(&ticket, &Settled::VALUE, end),
                Leftover::Cancel => self.router.cancel(&ticket, end),
            }
        }
        outcome
    }
}

fn route(c: &mut Criterion) {
    let mut group = c.benchmark_group("route");
    let took = Duration::from_millis(20);
    let at_block = Need::of(method::lookup("eth_call"), r#"[{"to":"0x1"},"0x3e8"]"#);
    let mut pool = Pool::new(Settings::gateway());
    group.bench_function("one_attempt", |b| {
        b.iter(|| pool.call(black_box("eth_call"), Need::default(), took));
    });
    group.bench_function("one_attempt_at_a_block", |b| {
        b.iter(|| pool.call(black_box("eth_call"), black_box(at_block), took));
    });
    group.bench_function("one_send", |b| {
        b.iter(|| pool.call(black_box("eth_sendRawTransaction"), Need::default(), took));
    });
    // A call that its caller gives up at once: the pick and the beginning alone.
    group.bench_function("pick_among_ten", |b| {
        b.iter(|| {
            let mut machine = Machine::new(pool.plan(black_box("eth_call"), Need::default()));
            let action = machine.poll(&mut pool.router, pool.now);
            machine.abandon(&mut pool.router, pool.now);
            action
        });
    });
    let mut pool = Pool::new(Settings::default());
    group.bench_function("race_of_two", |b| {
        b.iter(|| pool.call(black_box("eth_call"), Need::default(), took));
    });
    group.finish();
}

criterion_group!(benches, route);
criterion_main!(benches);
