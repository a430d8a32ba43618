//! Budgets: whose requests spend which.
//!
//! Endpoints that name one account share one budget, over all chains. What one of them states holds
//! for all; two that state different things are a mistake, told with both places. An endpoint without
//! an account has one of its own. A rate that no endpoint of an account states is the chain's, and
//! without that the one that is known for an endpoint's address.

use super::overlay::{HOUR, Overlay, YEAR};
use crate::config::{
    field::Field,
    model::{self, engine},
    reader::Pass,
    settings::{ChainSettings, EndpointSettings},
    unit::Number,
};
use highwater::SecretUrl;
use highwater_core::bucket::{Budget, Every, LearnSettings, Period, Rate, known};
use std::{
    ops::{Range, RangeInclusive},
    time::Duration,
};

/// Range of rates, in requests a second.
const RATES: RangeInclusive<f64> = 0.001..=1e6;
/// Range of bursts, in requests.
const BURSTS: RangeInclusive<f64> = 1.0..=1e6;

/// What a chain says of the budgets of its endpoints.
#[derive(Clone, Debug)]
pub(super) struct Common {
    place: String,
    /// `None`: the chain says nothing.
    span: Option<Range<usize>>,
    budget: Budget,
}

impl Common {
    /// `[chains.NAME.budget]`.
    pub(super) fn check(section: &str, raw: &model::Chain, pass: &Pass<'_>) -> Self {
        let place = format!("{section}.budget");
        let mut budget = Budget::default();
        if let Some((switch, _)) = raw.budget.get() {
            match switch.on() {
                None => budget.off = true,
                Some(raw) => {
                    let mut at = Overlay::new(pass, place.clone());
                    budget.rate = rate(&mut at, &raw.rps, &raw.burst);
                    if let Some((switch, _)) = raw.learn.get() {
                        let at = Overlay::new(pass, format!("{place}.learn"));
                        budget.learn = switch.on().map(|raw| learned(at, &raw));
                    }
                }
            }
        }
        Self {
            place,
            span: raw.budget.span(),
            budget,
        }
    }
}

fn rate(at: &mut Overlay<'_>, rps: &Field<Number>, burst: &Field<Number>) -> Option<Rate> {
    if let (true, Some(span)) = (rps.is_absent(), burst.span()) {
        at.note("burst", span, "needs `rps`");
    }
    let mut value = 0.0;
    at.number("rps", rps, &mut value, RATES);
    let mut rate = Rate::of(value);
    at.number("burst", burst, &mut rate.burst, BURSTS);
    (value > 0.0).then_some(rate)
}

fn learned(mut at: Overlay<'_>, raw: &engine::LearnedLimit) -> LearnSettings {
    let mut learn = LearnSettings::default();
    let second = Duration::from_secs(1);
    at.count("refusals", &raw.refusals, &mut learn.refusals, 1..=100);
    at.period("within", &raw.within, &mut learn.within, HOUR);
    at.number("share", &raw.share, &mut learn.share, 0.001..=1.0);
    at.number("growth", &raw.growth, &mut learn.growth, 0.0..=1.0);
    at.period_in("step", &raw.step, &mut learn.step, second..=HOUR);
    at.number("floor", &raw.floor, &mut learn.floor, RATES);
    at.period("forget", &raw.forget, &mut learn.forget, YEAR);
    learn
}

/// A value that somebody states, and where.
#[derive(Clone, Debug)]
struct Said<T> {
    value: T,
    place: String,
    span: Range<usize>,
}

/// What the endpoints of one account state.
#[derive(Clone, Debug, Default)]
struct Limits {
    rps: Option<Said<f64>>,
    burst: Option<Said<f64>>,
    on: Option<Said<bool>>,
    units_per_day: Option<Said<u64>>,
    units_per_month: Option<Said<u64>>,
    /// Seconds after midnight.
    reset_at: Option<Said<u64>>,
    reset_day: Option<Said<u8>>,
}

/// What one endpoint states.
#[derive(Debug)]
pub(super) struct Claim {
    endpoint: usize,
    account: Option<String>,
    limits: Limits,
}

impl Claim {
    /// `section` is that of the endpoint; `endpoint` its number among those of its chain that are
    /// in order.
    pub(super) fn read(
        section: &str,
        endpoint: usize,
        raw: &model::Endpoint,
        pass: &Pass<'_>,
    ) -> Self {
        let mut at = Overlay::new(pass, section.to_owned());
        let mut number = |name, field: &Field<Number>, allowed| {
            let mut value = f64::NAN;
            at.number(name, field, &mut value, allowed);
            let span = field.span().filter(|_| !value.is_nan())?;
            Some(said(section, name, value, span))
        };
        let rps = number("rps", &raw.rps, RATES);
        let burst = number("burst", &raw.burst, BURSTS);
        let mut count = |name, field, most| {
            let mut value = 0_u64;
            at.count(name, field, &mut value, 1..=most);
            let span = field.span().filter(|_| value > 0)?;
            Some(said(section, name, value, span))
        };
        let units_per_day = count("units_per_day", &raw.units_per_day, u64::MAX);
        let units_per_month = count("units_per_month", &raw.units_per_month, u64::MAX);
        let reset_day = count("reset_day", &raw.reset_day, 28).and_then(|day| {
            let value = u8::try_from(day.value).ok()?;
            Some(Said {
                value,
                place: day.place,
                span: day.span,
            })
        });
        let on = raw.budget.get();
        let reset_at = raw.reset_at.get();
        Self {
            endpoint,
            account: raw.account.get().map(|(name, _)| name.0.clone()),
            limits: Limits {
                rps,
                burst,
                units_per_day,
                units_per_month,
                reset_day,
                on: on.map(|(flag, span)| said(section, "budget", *flag, span)),
                reset_at: reset_at
                    .map(|(time, span)| said(section, "reset_at", time.0.as_secs(), span)),
            },
        }
    }
}

fn said<T>(section: &str, name: &str, value: T, span: Range<usize>) -> Said<T> {
    Said {
        value,
        place: format!("{section}.{name}"),
        span,
    }
}

/// The endpoints of one account.
struct Account<'a> {
    name: Option<&'a str>,
    limits: Limits,
    /// The first chain of theirs that says something of budgets, or else the first chain.
    common: &'a Common,
    /// Chain and endpoint by number.
    members: Vec<(usize, usize)>,
}

/// Gives every endpoint its budget. `claims` and `commons` are in the order of the chains.
pub(super) fn settle(
    chains: &mut [ChainSettings],
    commons: &[Common],
    claims: &[Vec<Claim>],
    pass: &Pass<'_>,
) {
    let mut accounts: Vec<Account<'_>> = Vec::new();
    for (chain, (common, claims)) in commons.iter().zip(claims).enumerate() {
        for claim in claims {
            let name = claim.account.as_deref();
            let known = accounts
                .iter_mut()
                .find(|account| name.is_some() && account.name == name);
            match known {
                Some(account) => {
                    account
                        .limits
                        .join(&claim.limits, name.unwrap_or_default(), pass);
                    account.share(common, pass);
                    account.members.push((chain, claim.endpoint));
                }
                None => accounts.push(Account {
                    name,
                    limits: claim.limits.clone(),
                    common,
                    members: vec![(chain, claim.endpoint)],
                }),
            }
        }
    }
    for account in accounts {
        let endpoint = |(chain, endpoint): &(usize, usize)| -> Option<&EndpointSettings> {
            chains.get(*chain)?.endpoints.get(*endpoint)
        };
        let urls = account.members.iter().filter_map(endpoint);
        let known = urls.filter_map(|endpoint| known_rate(&endpoint.url)).next();
        let budget = account.limits.budget(&account.common.budget, known, pass);
        for (chain, endpoint) in account.members {
            if let Some(endpoint) = chains
                .get_mut(chain)
                .and_then(|chain| chain.endpoints.get_mut(endpoint))
            {
                endpoint.budget = budget.clone();
            }
        }
    }
}

/// The rate that is known for an address.
pub(in crate::config) fn known_rate(url: &SecretUrl) -> Option<Rate> {
    known(url.host(), url.expose().path())
}

impl<'a> Account<'a> {
    /// One more chain has endpoints of this account.
    fn share(&mut self, common: &'a Common, pass: &Pass<'_>) {
        let (Some(span), Some(name)) = (&common.span, self.name) else {
            return;
        };
        let Some(first) = &self.common.span else {
            self.common = common;
            return;
        };
        let differ = self.common.budget != common.budget;
        if differ && (first, &self.common.place) != (span, &common.place) {
            let message = format!(
                "`{}`: endpoints of account `{name}` share one budget, and `{}` in line {} says \
                 another: give them the same, or the endpoints an account for each chain",
                common.place,
                self.common.place,
                pass.line_of(first.start)
            );
            pass.note(span.start..span.start, message);
        }
    }
}

impl Limits {
    /// Takes in what another endpoint of the account states.
    fn join(&mut self, other: &Self, account: &str, pass: &Pass<'_>) {
        agree(&mut self.rps, &other.rps, account, pass);
        agree(&mut self.burst, &other.burst, account, pass);
        agree(&mut self.on, &other.on, account, pass);
        agree(&mut self.units_per_day, &other.units_per_day, account, pass);
        agree(
            &mut self.units_per_month,
            &other.units_per_month,
            account,
            pass,
        );
        agree(&mut self.reset_at, &other.reset_at, account, pass);
        agree(&mut self.reset_day, &other.reset_day, account, pass);
    }

    fn budget(&self, common: &Budget, known: Option<Rate>, pass: &Pass<'_>) -> Budget {
        let refuse = |said: (&str, &Range<usize>), what: &str| {
            pass.note(said.1.clone(), format!("`{}`: needs {what}", said.0));
        };
        if let (None, Some(burst)) = (&self.rps, &self.burst) {
            refuse((&burst.place, &burst.span), "`rps`");
        }
        if let (None, None, Some(time)) =
            (&self.units_per_day, &self.units_per_month, &self.reset_at)
        {
            refuse(
                (&time.place, &time.span),
                "`units_per_day` or `units_per_month`",
            );
        }
        if let (None, Some(day)) = (&self.units_per_month, &self.reset_day) {
            refuse((&day.place, &day.span), "`units_per_month`");
        }
        let own = self.rps.as_ref().map(|rps| {
            let mut rate = Rate::of(rps.value);
            if let Some(burst) = &self.burst {
                rate.burst = burst.value;
            }
            rate
        });
        let reset_at = self.reset_at.as_ref().map_or(0, |said| said.value);
        let period = |every, units: &Option<Said<u64>>| {
            let mut period = Period::new(every, units.as_ref()?.value);
            period.reset_at = Duration::from_secs(reset_at);
            if let Some(day) = &self.reset_day {
                period.reset_day = day.value;
            }
            Some(period)
        };
        let periods = [
            period(Every::Day, &self.units_per_day),
            period(Every::Month, &self.units_per_month),
        ];
        Budget {
            rate: own.or(common.rate).or(known),
            periods: periods.into_iter().flatten().collect(),
            learn: common.learn,
            off: self.on.as_ref().map_or(common.off, |on| !on.value),
        }
    }
}

/// What was stated first holds; what is stated otherwise later is told with both places.
fn agree<T: PartialEq + Clone>(
    known: &mut Option<Said<T>>,
    other: &Option<Said<T>>,
    account: &str,
    pass: &Pass<'_>,
) {
    let Some(other) = other else { return };
    match known {
        Some(known) if known.value != other.value => {
            let message = format!(
                "`{}`: endpoints of account `{account}` share one budget, and `{}` in line {} says \
                 another: state it once, or the same everywhere",
                other.place,
                known.place,
                pass.line_of(known.span.start)
            );
            pass.note(other.span.clone(), message);
        }
        Some(_) => {}
        None => *known = Some(other.clone()),
    }
}
