//! Tests of the router without a machine.

mod books;
mod capabilities;
mod explained;
mod probes;
mod replaced;
mod reserved;
mod scores;
mod second;
mod views;

use super::*;
use crate::{
    AttemptId,
    breaker::{Meaning, Said},
    call::{Delivery, Plan, Settled},
    classify::{Class, Verdict},
    heads::Source,
    judge::of_class,
    learn::Need,
    method,
    now::tests::origin,
    probe::ProbeSettings,
};
use std::time::{Instant, SystemTime};

const A: EndpointId = EndpointId(0);
const B: EndpointId = EndpointId(1);
const C: EndpointId = EndpointId(2);
const TIMEOUT: Duration = Duration::from_secs(10);

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// A router and a clock that moves only when told.
struct Stage {
    router: Router,
    start: Instant,
    passed: Duration,
}

impl Stage {
    fn new(endpoints: usize) -> Self {
        let profiles = (0..endpoints).map(|_| Profile::default()).collect();
        Self::with(Settings::default(), profiles)
    }

    /// With chains that need no check.
    fn with(settings: Settings, profiles: Vec<Profile>) -> Self {
        let settings = Settings {
            verify_chain_id: false,
            ..settings
        };
        Self::checking(settings, profiles)
    }

    fn checking(settings: Settings, profiles: Vec<Profile>) -> Self {
        let mut router = Router::new(Arc::new(settings), Some(ChainId(1)), profiles, 1);
        router.events().listen(true);
        Self {
            router,
            start: origin(),
            passed: Duration::ZERO,
        }
    }

    fn now(&self) -> Now {
        Now {
            mono: self.start + self.passed,
            wall: SystemTime::UNIX_EPOCH + self.passed,
        }
    }

    fn pass(&mut self, time: Duration) {
        self.passed += time;
    }

    fn plan(&self, method: &str) -> Plan {
        let row = method::lookup(method);
        Plan::new(row, method, self.now().mono + TIMEOUT, TIMEOUT)
    }

    fn begin(&mut self, endpoint: EndpointId, method: &str) -> Ticket {
        let (plan, now) = (self.plan(method), self.now());
        let ticket = self
            .router
            .begin(endpoint, AttemptId(0), &plan, TIMEOUT, now);
        ticket.expect("a token")
    }

    /// A request that ends so after this time.
    fn request(&mut self, endpoint: EndpointId, took: Duration, settled: &Settled) {
        let ticket = self.begin(endpoint, "eth_call");
        self.pass(took);
        let now = self.now();
        self.router.settle(&ticket, settled, now);
    }

    fn view(&mut self, endpoint: EndpointId) -> EndpointView {
        let now = self.now();
        self.router.views(now).swap_remove(endpoint.index())
    }

    fn head(&mut self, endpoint: EndpointId, height: u64) {
        let now = self.now();
        self.router.on_head(endpoint, Source::Probe, height, now);
    }
}

fn meaning(verdict: &Verdict) -> Meaning {
    Meaning::of(verdict, 200, Said::Words)
}

fn failed(class: Class, subclass: Option<&'static str>) -> Settled {
    let verdict = of_class(class, subclass);
    Settled::Failed {
        meaning: meaning(&verdict),
        verdict,
        delivery: Delivery::Answered,
        showable: true,
    }
}
