//! The model into settings: what must fit together.
//!
//! Nothing here looks at the shape of a text; that is the business of the option's type. Here are
//! ranges, names that must differ, names that must exist, and the rule of the listeners: without a
//! key, whoever reaches the gateway may use it, so it stays on loopback (G-6, C10).

mod accounts;
mod chains;
mod endpoints;
mod engine;
mod error_rules;
mod keys;
mod listeners;
mod overlay;

pub(super) use accounts::known_rate;
pub(super) use chains::chain_defaults;
pub(super) use endpoints::{endpoint_url, label_by_host};

use super::{
    arguments::Overrides,
    field::{Field, List},
    model::{self, bound, default},
    name::{Address, AddressOrOff, Label, MethodPattern, Period, Size},
    problem::Problem,
    reader::Pass,
    settings::{
        AdminSettings, LogFormat, LogSettings, MethodRules, Secret, ServerSettings, Settings,
        StateSettings,
    },
    unit::{self, Count},
};
use std::{
    net::SocketAddr,
    ops::{Range, RangeInclusive},
    time::Duration,
};

/// Checks a file; problems go to the pass, and then the settings are of no use.
pub(super) fn settings(root: model::Root, overrides: &Overrides, pass: &Pass<'_>) -> Settings {
    let no_chain = root.chains.is_absent();
    let chains = chains::check(root.chains, pass);
    // Keys that are refused are keys: their problem is told already.
    let has_keys = match &root.keys {
        Field::Absent => false,
        Field::Refused => true,
        Field::Set(keys, _) => !keys.is_empty(),
    };
    let keys = keys::check(root.keys, &chains, pass);
    let error_rules = error_rules::check(&root.error_rules, pass);
    let raw = root.server.value().unwrap_or_default();
    let server = server(raw, has_keys, overrides, pass);
    let admin = admin(root.admin.value().unwrap_or_default(), overrides, pass);
    listeners::check(&server, &admin, pass);
    if no_chain {
        pass.problems.borrow_mut().push(Problem::nowhere(
            "no chain is configured: add a `[chains.NAME]` section with at least one endpoint"
                .to_owned(),
        ));
    }
    let (server, admin) = (server.settings, admin.settings);
    Settings {
        server,
        admin,
        chains,
        keys,
        error_rules,
        state: state(root.state.value().unwrap_or_default()),
        log: log(root.log.value().unwrap_or_default()),
    }
}

/// Settings without chains and keys, as the flags want them.
pub(super) fn defaults(overrides: &Overrides) -> Result<Settings, String> {
    let pass = Pass::new("", &|_| None);
    let server = server(model::Server::default(), false, overrides, &pass);
    let admin = admin(model::Admin::default(), overrides, &pass);
    let problems = listeners::problems(&server, &admin);
    if let Some((_, problem)) = problems.into_iter().next() {
        return Err(problem);
    }
    Ok(Settings {
        server: server.settings,
        admin: admin.settings,
        chains: Vec::new(),
        keys: Vec::new(),
        error_rules: None,
        state: StateSettings::default(),
        log: log(model::Log::default()),
    })
}

/// A section and its listener.
struct Listening<T> {
    settings: T,
    /// Where the address was given; `None`: by a flag or by default.
    place: Option<Range<usize>>,
    /// Whether something is asked of who comes from other machines.
    guarded: bool,
}

fn server(
    raw: model::Server,
    has_keys: bool,
    overrides: &Overrides,
    pass: &Pass<'_>,
) -> Listening<ServerSettings> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let range = Bounds {
        pass,
        section: "server",
    };
    let listen_place = raw.listen.span().filter(|_| overrides.listen.is_none());
    let settings = ServerSettings {
        listen: overrides.listen.unwrap_or_else(|| address(raw.listen)),
        workers: if raw.workers.is_absent() {
            cores
        } else {
            range.count("workers", &raw.workers, 1, bound::WORKERS)
        },
        allowed_hosts: raw
            .allowed_hosts
            .elements()
            .map(|(host, _)| host.0.clone())
            .collect(),
        allowed_origins: raw
            .allowed_origins
            .elements()
            .map(|(one, _)| one.0.clone())
            .collect(),
        max_body: range.size("max_body", &raw.max_body, default::MAX_BODY),
        max_batch: range.count(
            "max_batch",
            &raw.max_batch,
            default::MAX_BATCH,
            bound::BATCH,
        ),
        max_batch_response: range.size(
            "max_batch_response",
            &raw.max_batch_response,
            default::MAX_BATCH_RESPONSE,
        ),
        max_in_flight: range.count(
            "max_in_flight",
            &raw.max_in_flight,
            default::MAX_IN_FLIGHT,
            bound::CONCURRENCY,
        ),
        max_connections: range.count(
            "max_connections",
            &raw.max_connections,
            default::MAX_CONNECTIONS,
            bound::CONCURRENCY,
        ),
        max_sessions: range.count(
            "max_sessions",
            &raw.max_sessions,
            default::MAX_SESSIONS,
            bound::SESSIONS,
        ),
        deadline: range.period("deadline", &raw.deadline, default::DEADLINE),
        header_timeout: range.period(
            "header_timeout",
            &raw.header_timeout,
            default::HEADER_TIMEOUT,
        ),
        body_timeout: range.period("body_timeout", &raw.body_timeout, default::BODY_TIMEOUT),
        drain_delay: range.period("drain_delay", &raw.drain_delay, default::DRAIN_DELAY),
        drain_timeout: range.period("drain_timeout", &raw.drain_timeout, default::DRAIN_TIMEOUT),
        strict: raw.strict.value().unwrap_or(false),
        response_headers: raw.response_headers.value().unwrap_or(false),
        require_ready: overrides.require_ready || raw.require_ready.value().unwrap_or(false),
        methods: methods(&raw.methods),
        region: raw.region.value().map(|region| region.0),
    };
    Listening {
        settings,
        place: listen_place,
        guarded: has_keys,
    }
}

fn admin(raw: model::Admin, overrides: &Overrides, pass: &Pass<'_>) -> Listening<AdminSettings> {
    let place = raw
        .listen
        .span()
        .filter(|_| overrides.admin_listen.is_none());
    let listen = overrides.admin_listen.unwrap_or_else(|| match raw.listen {
        Field::Set(AddressOrOff(listen), _) => listen,
        Field::Absent | Field::Refused => Some(known_good(default::ADMIN_LISTEN)),
    });
    let guarded = !raw.token.is_absent();
    let token: Option<Secret> = match raw.token {
        Field::Set(token, span) => {
            if !token.0.expose().bytes().all(|byte| byte.is_ascii_graphic()) {
                pass.note(
                    span,
                    "`admin.token`: a token has visible ASCII characters only, without spaces: \
                     it travels in a header"
                        .to_owned(),
                );
            }
            Some(token.0)
        }
        Field::Absent | Field::Refused => None,
    };
    Listening {
        settings: AdminSettings { listen, token },
        place,
        guarded,
    }
}

fn state(raw: model::State) -> StateSettings {
    StateSettings {
        dir: raw.dir.value().map(|folder| folder.0),
    }
}

fn log(raw: model::Log) -> LogSettings {
    LogSettings {
        format: raw.format.value().unwrap_or(LogFormat::Auto),
        level: raw
            .level
            .value()
            .map_or_else(|| default::LOG_LEVEL.to_owned(), |level| level.0),
    }
}

fn methods(raw: &Field<model::Methods>) -> MethodRules {
    raw.get()
        .map_or_else(MethodRules::default, |(raw, _)| MethodRules {
            allow: patterns(&raw.allow),
            deny: patterns(&raw.deny),
        })
}

fn patterns(list: &List<MethodPattern>) -> Vec<String> {
    list.elements().map(|(name, _)| name.0.clone()).collect()
}

fn address(listen: Field<Address>) -> SocketAddr {
    listen
        .value()
        .map_or_else(|| known_good(default::LISTEN), |address| address.0)
}

fn known_good(address: &str) -> SocketAddr {
    address
        .parse()
        .expect("invariant: the default listeners are addresses")
}

/// Notes a second use of a label or key name.
fn unique_label<'a>(
    seen: &mut Vec<&'a str>,
    label: &'a Label,
    span: Range<usize>,
    what: &str,
    pass: &Pass<'_>,
) {
    if seen.contains(&label.0.as_str()) {
        pass.note(
            span,
            format!("{what} `{}` is used twice: names must differ", label.0),
        );
    }
    seen.push(&label.0);
}

/// Checks ranges of the options of one section.
struct Bounds<'a> {
    pass: &'a Pass<'a>,
    section: &'a str,
}

impl Bounds<'_> {
    fn count(
        &self,
        name: &str,
        field: &Field<Count>,
        default: u64,
        allowed: RangeInclusive<u64>,
    ) -> usize {
        let number = field.get().map_or(default, |(count, _)| count.0);
        if !allowed.contains(&number) {
            let (from, to) = allowed.into_inner();
            self.refuse(name, field.span(), &format!("{from} to {to}"));
        }
        usize::try_from(number).unwrap_or(usize::MAX)
    }

    fn size(&self, name: &str, field: &Field<Size>, default: &str) -> usize {
        let bytes = field.get().map_or_else(
            || unit::parse_size(default).expect("invariant: defaults are sizes"),
            |(size, _)| size.0,
        );
        if !bound::SIZE.contains(&bytes) {
            let (from, to) = bound::SIZE.into_inner();
            let allowed = format!("{} to {}", unit::show_size(from), unit::show_size(to));
            self.refuse(name, field.span(), &allowed);
        }
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    fn period(&self, name: &str, field: &Field<Period>, default: &str) -> Duration {
        let duration = field.get().map_or_else(
            || unit::parse_duration(default).expect("invariant: defaults are durations"),
            |(period, _)| period.0,
        );
        let longest = Duration::from_millis(*bound::MILLIS.end());
        if duration > longest {
            let allowed = format!("1ms to {}", unit::show_duration(longest));
            self.refuse(name, field.span(), &allowed);
        }
        duration
    }

    fn refuse(&self, name: &str, span: Option<Range<usize>>, allowed: &str) {
        let message = format!(
            "`{}.{name}`: out of range: {allowed} is allowed",
            self.section
        );
        self.pass.note(span.unwrap_or_default(), message);
    }
}
