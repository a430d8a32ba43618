//! Tests of the machine and the router together, with a clock that moves only when told.

mod absent;
mod background;
mod breaker;
mod budgets;
mod checks;
mod failover;
mod heads;
mod hedging;
mod laws;
mod learned;
mod outage;
mod racing;
mod rounds;
mod sends;
mod strategies;
mod tiers;
mod world;

use super::*;
use crate::{
    ChainId,
    breaker::{Meaning, Said},
    bucket::{Account, Budget, Rate},
    event::Event,
    heads::Source,
    identity::Identity,
    judge::of_class,
    learn::Need,
    method,
    now::tests::origin,
    router::{EndpointView, Profile},
    select::{Strategy, Weights},
    settings::{RetryCount, Settings},
};
use std::{sync::Arc, time::SystemTime};

const A: EndpointId = EndpointId(0);
const B: EndpointId = EndpointId(1);
const C: EndpointId = EndpointId(2);
const D: EndpointId = EndpointId(3);
const ATTEMPT: Duration = Duration::from_secs(5);
const DEADLINE: Duration = Duration::from_secs(9);

const FIRST: AttemptId = AttemptId(0);
const SECOND: AttemptId = AttemptId(1);
const THIRD: AttemptId = AttemptId(2);
const FOURTH: AttemptId = AttemptId(3);

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// What a test starts from. Unless it says otherwise: no race, no checks, no probes, and
/// endpoints that are equal are asked in their order.
#[derive(Clone)]
struct Setup {
    settings: Settings,
    profiles: Vec<Profile>,
    checked: bool,
    seed: u64,
}

impl Setup {
    fn new(endpoints: usize) -> Self {
        Self::over(Settings::default(), endpoints)
    }

    fn gateway(endpoints: usize) -> Self {
        Self::over(Settings::gateway(), endpoints)
    }

    fn over(settings: Settings, endpoints: usize) -> Self {
        let settings = Settings {
            // Where nothing is measured all sums are equal, and the earlier endpoint has a tie.
            strategy: Strategy::WeightedSum(Weights::default()),
            race: 0,
            probe: None,
            verify_chain_id: false,
            ..settings
        };
        Self {
            settings,
            profiles: (0..endpoints).map(|_| Profile::default()).collect(),
            checked: false,
            seed: 1,
        }
    }

    fn set(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    fn profile(mut self, endpoint: EndpointId, change: impl FnOnce(&mut Profile)) -> Self {
        change(&mut self.profiles[endpoint.index()]);
        self
    }

    fn tier(self, endpoint: EndpointId, tier: u8) -> Self {
        self.profile(endpoint, |profile| profile.tier = tier)
    }

    /// An account of its own with so many requests a second and at once.
    fn budget(self, endpoint: EndpointId, rps: f64, burst: f64) -> Self {
        let account = account(rps, burst);
        self.profile(endpoint, |profile| profile.account = account)
    }

    fn adaptive(self) -> Self {
        self.set(|settings| settings.strategy = Strategy::Adaptive)
    }

    fn race(self, width: u16) -> Self {
        self.set(|settings| settings.race = width)
    }

    /// Chains are verified, and nobody was asked yet.
    fn unchecked(self) -> Self {
        self.set(|settings| settings.verify_chain_id = true)
    }

    /// Chains are verified, and everybody was asked.
    fn checked(mut self) -> Self {
        self.checked = true;
        self.unchecked()
    }

    /// Heads are probed.
    fn probed(self) -> Self {
        self.set(|settings| settings.probe = Some(Default::default()))
    }

    fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    fn call(self, method: &str) -> Bench {
        let ids: Vec<_> = (0..self.profiles.len())
            .map(|i| EndpointId(i as u16))
            .collect();
        let settings = Arc::new(self.settings);
        let mut router = Router::new(settings, Some(ChainId(1)), self.profiles, self.seed);
        router.events().listen(true);
        let start = origin();
        let mut bench = Bench {
            machine: Machine::new(Plan::new(method::lookup(method), method, start, ATTEMPT)),
            router,
            start,
            passed: Duration::ZERO,
        };
        if self.checked {
            for endpoint in ids {
                bench.passes(endpoint);
            }
        }
        bench.next(method);
        bench
    }
}

fn account(rps: f64, burst: f64) -> Arc<Account> {
    let budget = Budget {
        rate: Some(Rate { rps, burst }),
        ..Budget::default()
    };
    Arc::new(Account::new("account", &budget))
}

/// A router, the call at hand, and the time.
struct Bench {
    machine: Machine,
    router: Router,
    start: Instant,
    passed: Duration,
}

impl Bench {
    fn now(&self) -> Now {
        Now {
            mono: self.start + self.passed,
            wall: SystemTime::UNIX_EPOCH + self.passed,
        }
    }

    fn pass(&mut self, time: Duration) {
        self.passed += time;
    }

    /// A plan as the pool makes it.
    fn plan(&self, method: &str) -> Plan {
        let row = method::lookup(method);
        let mut plan = Plan::new(row, method, self.now().mono + DEADLINE, ATTEMPT);
        plan.allowed = self.router.allowed(method);
        plan
    }

    /// The next call begins; what came before is over.
    fn next(&mut self, method: &str) {
        self.begin(self.plan(method));
    }

    /// The same with its parameters.
    fn next_with(&mut self, method: &str, params: &str) {
        let mut plan = self.plan(method);
        plan.need = Need::of(plan.method, params);
        self.begin(plan);
    }

    fn begin(&mut self, plan: Plan) {
        let now = self.now();
        self.router.on_call(now);
        self.machine = Machine::new(plan);
    }

    /// Another call beside the one at hand; `swap` makes it the one at hand.
    fn beside(&mut self, method: &str) -> Machine {
        let now = self.now();
        self.router.on_call(now);
        Machine::new(self.plan(method))
    }

    fn swap(&mut self, machine: &mut Machine) {
        std::mem::swap(&mut self.machine, machine);
    }

    fn poll(&mut self) -> Action {
        let now = self.now();
        self.machine.poll(&mut self.router, now)
    }

    /// Expects a request, and says to whom and which.
    #[track_caller]
    fn sends(&mut self) -> (EndpointId, AttemptId) {
        match self.poll() {
            Action::Send {
                endpoint, attempt, ..
            } => (endpoint, attempt),
            other => panic!("expected a request, got {other:?}"),
        }
    }

    /// Expects a request to this endpoint.
    #[track_caller]
    fn sends_to(&mut self, endpoint: EndpointId, attempt: AttemptId) {
        assert_eq!(self.sends(), (endpoint, attempt));
    }

    /// Expects a chain check.
    #[track_caller]
    fn checks(&mut self) -> EndpointId {
        match self.poll() {
            Action::Check { endpoint, .. } => endpoint,
            other => panic!("expected a check, got {other:?}"),
        }
    }

    /// Expects a chain check beside the call.
    #[track_caller]
    fn warms(&mut self) -> EndpointId {
        match self.poll() {
            Action::Warm { endpoint, .. } => endpoint,
            other => panic!("expected a check beside the call, got {other:?}"),
        }
    }

    /// Expects nothing to do, and says for how long.
    #[track_caller]
    fn waits(&mut self) -> Duration {
        match self.poll() {
            Action::WaitUntil(at) => at.saturating_duration_since(self.now().mono),
            other => panic!("expected a wait, got {other:?}"),
        }
    }

    /// Waits as long as it is told, at least this and at most that.
    #[track_caller]
    fn waits_between(&mut self, least: Duration, most: Duration) {
        let wait = self.waits();
        assert!((least..=most).contains(&wait), "{wait:?}");
        self.pass(wait);
    }

    /// Expects the end of the call.
    #[track_caller]
    fn ends(&mut self) -> Outcome {
        match self.poll() {
            Action::Finish(outcome) => outcome,
            other => panic!("expected the end, got {other:?}"),
        }
    }

    fn settle(&mut self, attempt: AttemptId, settled: &Settled) {
        let now = self.now();
        self.machine
            .on_settled(&mut self.router, attempt, settled, now);
    }

    /// A request to this endpoint that ends so.
    #[track_caller]
    fn asks(&mut self, endpoint: EndpointId, attempt: AttemptId, settled: &Settled) {
        self.sends_to(endpoint, attempt);
        self.settle(attempt, settled);
    }

    /// One call of one attempt to whoever comes first, that ends so after this time.
    fn one(&mut self, method: &str, took: Duration, settled: &Settled) -> EndpointId {
        self.next(method);
        let (endpoint, attempt) = self.sends();
        self.pass(took);
        self.settle(attempt, settled);
        endpoint
    }

    /// Calls to this endpoint alone that end so.
    fn history(&mut self, endpoint: EndpointId, calls: u32, took: Duration, settled: &Settled) {
        for _ in 0..calls {
            let mut plan = self.plan("eth_call");
            plan.only = Some(endpoint);
            self.begin(plan);
            self.sends_to(endpoint, FIRST);
            self.pass(took);
            self.settle(FIRST, settled);
        }
    }

    /// The endpoint answers its chain check.
    fn answers_check(&mut self, endpoint: EndpointId, found: u64) -> Identity {
        let now = self.now();
        let check = self.router.begin_check(endpoint, now).expect("a token");
        self.router.on_chain_id(endpoint, check, ChainId(found))
    }

    fn passes(&mut self, endpoint: EndpointId) {
        assert_eq!(self.answers_check(endpoint, 1), Identity::Verified);
    }

    /// The check of this endpoint fails, as the driver tells the router.
    fn fails_check(&mut self, endpoint: EndpointId, class: Class, subclass: Option<&'static str>) {
        let now = self.now();
        let verdict = of_class(class, subclass);
        if self.router.begin_check(endpoint, now).is_some() {
            let meaning = Meaning::of(&verdict, 200, Said::Words);
            self.router
                .on_check_failed(endpoint, &verdict, meaning, now);
        }
        self.machine.on_check(endpoint, Some(&verdict));
    }

    /// Its head is read beside the calls.
    fn head(&mut self, endpoint: EndpointId, height: u64) {
        let now = self.now();
        self.router.on_probe(endpoint, height, now);
    }

    /// Why this endpoint would not be drawn for a call now.
    fn out(&mut self, endpoint: EndpointId, method: &str, params: &str) -> Option<Why> {
        let mut plan = self.plan(method);
        plan.need = Need::of(plan.method, params);
        let now = self.now();
        self.router.explain(&plan, now).considered[endpoint.index()].out
    }

    fn view(&mut self, endpoint: EndpointId) -> EndpointView {
        let now = self.now();
        self.router.views(now).swap_remove(endpoint.index())
    }

    fn in_flight(&mut self) -> Vec<u32> {
        let now = self.now();
        let views = self.router.views(now);
        views.into_iter().map(|view| view.in_flight).collect()
    }

    fn events(&mut self) -> Vec<Event> {
        self.router.events().drain().0
    }

    fn classes(&self) -> Vec<(EndpointId, Option<AttemptId>, Class)> {
        self.machine
            .reports()
            .iter()
            .map(|r| (r.endpoint, r.attempt, r.class))
            .collect()
    }
}

/// A failure of this class with the consequences that it usually has.
fn failure(class: Class, subclass: Option<&'static str>, delivery: Delivery) -> Settled {
    let verdict = of_class(class, subclass);
    Settled::Failed {
        meaning: Meaning::of(&verdict, 200, Said::Words),
        verdict,
        delivery,
        showable: false,
    }
}

/// The connection was refused.
fn unsent() -> Settled {
    failure(Class::Internal, Some("connect"), Delivery::NotSent)
}

/// The connection was reset under the request.
fn lost() -> Settled {
    failure(Class::Internal, Some("reset"), Delivery::MaybeSent)
}

/// No answer within the timeout.
fn timeout() -> Settled {
    failure(Class::Timeout, Some("timeout"), Delivery::MaybeSent)
}

/// An error of the endpoint's own, which can be shown.
fn own_error(class: Class) -> Settled {
    let verdict = of_class(class, None);
    Settled::Failed {
        meaning: Meaning::of(&verdict, 200, Said::Words),
        verdict,
        delivery: Delivery::Answered,
        showable: true,
    }
}

/// The same with a stated wait.
fn own_error_with_wait(class: Class, wait: Duration) -> Settled {
    let mut verdict = of_class(class, None);
    verdict.retry_after = Some(wait);
    Settled::Failed {
        meaning: Meaning::of(&verdict, 429, Said::Words),
        verdict,
        delivery: Delivery::NotSent,
        showable: true,
    }
}

/// An error that is the chain's answer.
fn terminal(class: Class) -> Settled {
    let verdict = of_class(class, None);
    Settled::Terminal {
        meaning: Meaning::of(&verdict, 200, Said::Words),
        verdict,
    }
}

fn result(content: Content) -> Settled {
    Settled::Result {
        content,
        head: None,
    }
}
