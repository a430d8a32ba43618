//! Operations that are pinned to one endpoint (L-5, L-6).

mod block;
mod choice;
mod dropped;
mod ends;
mod fixed;
mod health;
mod provenance;
mod retry;
mod set;
mod told;

use crate::fake::{Fake, Reply, builder, still};
use highwater::{OperationOptions, Pool, core::settings::Settings};
use std::time::Duration;

/// Every endpoint answers `eth_gasPrice` with its own number.
pub(crate) fn numbered(count: usize) -> Vec<Fake> {
    let fake = |number: usize| {
        let fake = Fake::new();
        price(&fake, number);
        fake
    };
    (0..count).map(fake).collect()
}

pub(crate) fn price(fake: &Fake, number: usize) {
    fake.on("eth_gasPrice", Reply::result(format!("\"{number:#x}\"")));
}

pub(crate) fn pool(fakes: &[Fake]) -> Pool {
    over(fakes, still())
}

pub(crate) fn over(fakes: &[Fake], settings: Settings) -> Pool {
    let fakes: Vec<_> = fakes.iter().collect();
    builder(&fakes, settings).build().unwrap()
}

pub(crate) fn within(timeout: Duration) -> OperationOptions {
    OperationOptions {
        timeout: Some(timeout),
        ..OperationOptions::default()
    }
}

/// Operations under way at all endpoints.
pub(crate) fn under_way(pool: &Pool) -> u32 {
    let endpoints = pool.snapshot().endpoints;
    endpoints.iter().map(|endpoint| endpoint.operations).sum()
}
