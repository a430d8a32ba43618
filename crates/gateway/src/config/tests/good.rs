//! Files that are in order.

use super::{CHAIN, HASH, environment, read};
use crate::config::{
    ChainArgument, Format, LogFormat, MethodRules, Overrides, Settings, WritePolicy, model,
    schema::{options, schema},
};
use highwater_core::{
    ChainId,
    classify::{Class, Evidence},
};
use std::time::Duration;

pub(super) const FULL_TOML: &str = r#"
[server]
listen = "0.0.0.0:14545"
workers = 3
allowed_hosts = ["RPC.example.com"]
allowed_origins = ["https://app.example.com:443"]
max_body = "1MiB"
max_batch = 7
max_batch_response = "2MB"
max_in_flight = 8
max_connections = 9
deadline = "${PERIOD}"
header_timeout = "1s"
body_timeout = "2s"
drain_delay = "300ms"
drain_timeout = "1m"
strict = true
response_headers = true
require_ready = true
methods = { allow = ["Debug_*"], deny = ["eth_sign"] }

[admin]
listen = "off"
token = "${KEY}"

[chains.ethereum]
aliases = ["eth", "main"]
timeout = "4s"
writes = "once"
verify_chain_id = false
max_reply = "1GiB"

[[chains.ethereum.endpoints]]
label = "first"
url = "https://a.example/v2/${KEY}"
ws_url = "wss://a.example/v2/${KEY}"
rps = 2.5

[[chains.ethereum.endpoints]]
url = "http://127.0.0.1:8545"

[[chains.ethereum.endpoints]]
url = "http://127.0.0.1:8546"

[chains.devnet]
id = 31337
endpoints = [{ url = "http://10.0.0.1:8545/$$x" }]

[[keys]]
name = "frontend"
hash = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789ABCDEF"
methods = { allow = ["eth_*"] }
origins = ["https://app.example.com"]
chains = ["eth", "devnet"]

[[error_rules]]
match = ["flux capacitor", "empty|drained"]
not = ["recharging"]
codes = [-32000]
statuses = [200, 503]
methods = ["eth_call", "debug_*"]
class = "rate_limited"
counts_against_endpoint = false

[log]
format = "json"
level = "debug"
"#;

pub(super) const FULL_YAML: &str = r#"
server:
  listen: 0.0.0.0:14545
  workers: 3
  allowed_hosts: [RPC.example.com]
  allowed_origins:
    - https://app.example.com:443
  max_body: 1MiB
  max_batch: 7
  max_batch_response: 2MB
  max_in_flight: 8
  max_connections: 9
  deadline: ${PERIOD}
  header_timeout: 1s
  body_timeout: 2s
  drain_delay: 300ms
  drain_timeout: 1m
  strict: true
  response_headers: true
  require_ready: true
  methods:
    allow: [Debug_*]
    deny: [eth_sign]
admin:
  listen: off
  token: ${KEY}
chains:
  ethereum:
    aliases: [eth, main]
    timeout: 4s
    writes: once
    verify_chain_id: false
    max_reply: 1GiB
    endpoints:
      - label: first
        url: https://a.example/v2/${KEY}
        ws_url: wss://a.example/v2/${KEY}
        rps: 2.5
      - url: http://127.0.0.1:8545
      - { url: "http://127.0.0.1:8546" }
  devnet:
    id: 31337
    endpoints:
      - url: http://10.0.0.1:8545/$$x
keys:
  - name: frontend
    hash: sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789ABCDEF
    methods:
      allow: [eth_*]
    origins: [https://app.example.com]
    chains: [eth, devnet]
error_rules:
  - match: [flux capacitor, empty|drained]
    not: [recharging]
    codes: [-32000]
    statuses: [200, 503]
    methods: [eth_call, debug_*]
    class: rate_limited
    counts_against_endpoint: false
log:
  format: json
  level: debug
"#;

fn good(format: Format, text: &str) -> Settings {
    read(format, text).unwrap_or_else(|report| panic!("{report}"))
}

// G-12
#[test]
fn every_option_of_a_file_arrives_in_the_settings() {
    let settings = good(Format::Toml, FULL_TOML);
    let server = &settings.server;
    assert_eq!(server.listen, "0.0.0.0:14545".parse().unwrap());
    assert_eq!(server.workers, 3);
    assert_eq!(server.allowed_hosts, ["rpc.example.com"]);
    assert_eq!(server.allowed_origins, ["https://app.example.com"]);
    assert_eq!(server.max_body, 1 << 20);
    assert_eq!(server.max_batch, 7);
    assert_eq!(server.max_batch_response, 2_000_000);
    assert_eq!(server.max_in_flight, 8);
    assert_eq!(server.max_connections, 9);
    assert_eq!(server.deadline, Duration::from_secs(7));
    assert_eq!(server.header_timeout, Duration::from_secs(1));
    assert_eq!(server.body_timeout, Duration::from_secs(2));
    assert_eq!(server.drain_delay, Duration::from_millis(300));
    assert_eq!(server.drain_timeout, Duration::from_secs(60));
    assert!(server.strict && server.response_headers && server.require_ready);
    let methods = MethodRules {
        allow: vec!["debug_*".into()],
        deny: vec!["eth_sign".into()],
    };
    assert_eq!(server.methods, methods);
    assert_eq!(settings.admin.listen, None);
    assert_eq!(
        settings.admin.token.as_ref().map(|token| token.expose()),
        Some("s3cret-canary")
    );

    let [ethereum, devnet] = &settings.chains[..] else {
        panic!("two chains")
    };
    assert_eq!(
        (ethereum.name.as_str(), ethereum.id),
        ("ethereum", Some(ChainId(1)))
    );
    assert_eq!(ethereum.aliases, ["eth", "main"]);
    assert_eq!(ethereum.timeout, Duration::from_secs(4));
    assert_eq!(ethereum.writes, WritePolicy::Once);
    assert!(!ethereum.engine.verify_chain_id);
    assert_eq!(ethereum.max_reply, 1 << 30);
    let labels: Vec<&str> = ethereum
        .endpoints
        .iter()
        .map(|one| one.label.as_str())
        .collect();
    assert_eq!(labels, ["first", "127.0.0.1:8545", "127.0.0.1:8546"]);
    assert_eq!(
        ethereum.endpoints[0].url.expose().as_str(),
        "https://a.example/v2/s3cret-canary"
    );
    assert_eq!(
        (devnet.name.as_str(), devnet.id),
        ("devnet", Some(ChainId(31337)))
    );
    assert_eq!(devnet.endpoints[0].url.expose().path(), "/$x");

    let [key] = &settings.keys[..] else {
        panic!("one key")
    };
    assert_eq!(key.name, "frontend");
    assert_eq!(key.hash[..4], [0x01, 0x23, 0x45, 0x67]);
    assert_eq!(key.methods.allow, ["eth_*"]);
    assert_eq!(key.origins, ["https://app.example.com"]);
    assert_eq!(key.chains, ["ethereum", "devnet"]);
    let rules = settings.error_rules.as_ref().unwrap();
    let class = |text: &str, code: i64| {
        let error = format!(r#"{{"code":{code},"message":"{text}"}}"#);
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#);
        let verdict = rules.classify(&Evidence::new("eth_call", 200, body.as_bytes()));
        verdict.map(|verdict| (verdict.class, verdict.counts_against_endpoint))
    };
    let hit = Some((Class::RateLimited, false));
    assert_eq!(class("Flux capacitor drained", -32000), hit);
    assert_ne!(class("flux capacitor drained, recharging", -32000), hit);
    assert_ne!(class("flux capacitor drained", -32001), hit);
    assert_eq!(settings.log.format, LogFormat::Json);
    assert_eq!(settings.log.level, "debug");
}

// G-12
#[test]
fn yaml_means_what_the_same_toml_means() {
    let toml = good(Format::Toml, FULL_TOML);
    let yaml = good(Format::Yaml, FULL_YAML);
    assert_eq!(format!("{toml:?}"), format!("{yaml:?}"));
    let urls = |settings: &Settings| -> Vec<String> {
        let endpoints = settings.chains.iter().flat_map(|chain| &chain.endpoints);
        endpoints.map(|one| one.url.expose().to_string()).collect()
    };
    assert_eq!(urls(&toml), urls(&yaml));
    let token = |settings: &Settings| {
        settings
            .admin
            .token
            .as_ref()
            .map(|one| one.expose().to_owned())
    };
    assert_eq!(token(&toml), token(&yaml));
}

// G-12
#[test]
fn what_is_left_out_has_the_default_that_the_schema_tells() {
    const ENDPOINT: &str = "url = \"https://a.example\"\n";
    // A chain that no table knows; weights go with their strategy, and reset times with an allowance.
    let first = |section: &str| match section {
        "chains.devnet" => "id = 31337\nstrategy = \"weighted-sum\"\n",
        "chains.devnet.endpoints" => {
            "url = \"https://a.example\"\nunits_per_day = 5\nunits_per_month = 6\n"
        }
        _ => "",
    };
    let file = |all: bool| {
        let mut text = String::new();
        let mut section = "";
        for option in options() {
            // Sections without a default exist only where they are wanted, and these have rules.
            if ["keys", "error_rules", "server.methods"].contains(&option.section) {
                continue;
            }
            if section != option.section {
                section = option.section;
                let name = section.replace("NAME", "devnet");
                let header = match name.as_str() {
                    "chains.devnet.endpoints" => "[[chains.devnet.endpoints]]".to_owned(),
                    name => format!("[{name}]"),
                };
                // A section that turns something on is written only with its options.
                let optional = ["hedge", "exclusion_trial", "failure_rate"];
                if optional.iter().any(|end| name.ends_with(end)) {
                    section = option.section;
                    text.push_str(&format!("{header}\n"));
                } else {
                    text.push_str(&format!("{header}\n{}", first(&name)));
                }
            }
            let switch = matches!(
                option.name.as_str(),
                "hedge" | "failure_rate" | "exclusion_trial" | "learn" | "strategy"
            );
            if all && !option.default.is_empty() && !switch {
                text.push_str(&format!("{} = {}\n", option.name, option.default));
            }
        }
        text
    };
    let (silent, spoken) = (file(false), file(true));
    for part in [
        "deadline = \"9s\"",
        "max_reply = \"32MiB\"",
        "max_cooldown = \"60s\"",
        "mix = 0.6",
        "reset_day = 1",
    ] {
        assert!(spoken.contains(part) && !silent.contains(part), "{part}");
    }
    let silent = good(Format::Toml, &silent);
    assert_eq!(
        format!("{silent:?}"),
        format!("{:?}", good(Format::Toml, &spoken))
    );
    assert_eq!(silent.server.listen, "127.0.0.1:4545".parse().unwrap());
    assert_eq!(silent.admin.listen, Some("127.0.0.1:4546".parse().unwrap()));
    assert_eq!(silent.server.deadline, Duration::from_secs(9));
    assert!(silent.server.workers >= 1);
    // Those left out above, by themselves.
    let plain = |text: &str| {
        let text =
            format!("[chains.devnet]\nid = 31337\n{text}\n[[chains.devnet.endpoints]]\n{ENDPOINT}");
        format!("{:?}", good(Format::Toml, &text))
    };
    for option in options() {
        let section = option.section.strip_prefix("chains.NAME");
        let switch = matches!(
            option.name.as_str(),
            "hedge" | "failure_rate" | "exclusion_trial" | "learn" | "strategy"
        );
        if let (Some(section), true, false) = (section, switch, option.default.is_empty()) {
            let name = format!("{section}.{}", option.name);
            let line = format!("{} = {}", name.trim_start_matches('.'), option.default);
            assert_eq!(plain(&line), plain(""), "{line}");
        }
    }
}

// G-12
#[test]
fn the_schema_has_every_option_with_type_and_text() {
    let schema = schema();
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    assert_eq!(
        schema["$defs"]["Server"]["properties"]["deadline"]["default"],
        "9s"
    );
    assert_eq!(
        schema["$defs"]["Endpoint"]["required"],
        serde_json::json!(["url"])
    );
    assert_eq!(schema["additionalProperties"], false);
    for section in schema["$defs"].as_object().unwrap().values() {
        assert_eq!(section["additionalProperties"], false, "{section}");
    }
    for option in options() {
        assert!(!option.kind.is_empty(), "{option:?}");
        assert!(option.meaning.len() > 10, "{option:?}");
    }
    let names: Vec<&str> = options()
        .iter()
        .map(|option| option.name.as_str())
        .collect();
    for name in [
        "listen",
        "max_in_flight",
        "verify_chain_id",
        "url",
        "hash",
        "allow",
        "level",
    ] {
        assert!(names.contains(&name), "{name}");
    }
}

// G-13
#[test]
fn a_known_chain_answers_to_its_usual_name_too() {
    let text = "[chains.mainnet]\nid = 1\nendpoints = [{ url = 'https://a.example' }]\n";
    let settings = good(Format::Toml, text);
    assert_eq!(settings.chains[0].aliases, ["ethereum"]);
}

// G-6
#[test]
fn a_key_opens_the_listener_to_other_machines() {
    let text = format!(
        "{CHAIN}[server]\nlisten = '0.0.0.0:4545'\n[[keys]]\nname = 'a'\nhash = '{HASH}'\n"
    );
    assert_eq!(good(Format::Toml, &text).server.listen.port(), 4545);
}

// G-6
#[test]
fn a_flag_that_opens_the_listener_is_refused_as_the_file_would_be() {
    let overrides = Overrides {
        listen: Some("0.0.0.0:1".parse().unwrap()),
        ..Overrides::default()
    };
    let parse =
        |text: &str| Settings::parse("f.toml", text, Format::Toml, &environment, &overrides);
    let report = parse(CHAIN).unwrap_err();
    assert!(
        report
            .to_string()
            .starts_with("f.toml: listening on 0.0.0.0:1 would let everybody")
    );
    let keyed = format!("{CHAIN}[[keys]]\nname = 'a'\nhash = '{HASH}'\n");
    assert_eq!(
        parse(&keyed).unwrap().server.listen,
        "0.0.0.0:1".parse().unwrap()
    );
}

// G-12
#[test]
fn flags_win_over_the_file() {
    let overrides = Overrides {
        listen: Some("127.0.0.1:5".parse().unwrap()),
        admin_listen: Some(None),
        require_ready: true,
    };
    let text = format!("{CHAIN}[server]\nlisten = '0.0.0.0:1'\n[admin]\nlisten = '0.0.0.0:2'\n");
    let settings =
        Settings::parse("f.toml", &text, Format::Toml, &environment, &overrides).unwrap();
    assert_eq!(settings.server.listen, "127.0.0.1:5".parse().unwrap());
    assert_eq!(settings.admin.listen, None);
    assert!(settings.server.require_ready);
}

fn urls(urls: &[&str], chain: Option<&str>) -> Settings {
    let urls: Vec<String> = urls.iter().map(|url| (*url).to_owned()).collect();
    let chain: Option<ChainArgument> = chain.map(|chain| chain.parse().unwrap());
    Settings::from_urls(&urls, chain.as_ref(), &Overrides::default()).unwrap()
}

// G-13
#[test]
fn urls_make_one_chain_whose_id_is_read_from_them() {
    let settings = urls(
        &["https://a.example/v2/s3cret-canary", "https://b.example"],
        None,
    );
    let [chain] = &settings.chains[..] else {
        panic!("one chain")
    };
    assert_eq!((chain.name.as_str(), chain.id), ("default", None));
    assert_eq!(chain.timeout, Duration::from_secs(5));
    let labels: Vec<&str> = chain
        .endpoints
        .iter()
        .map(|one| one.label.as_str())
        .collect();
    assert_eq!(labels, ["a.example", "b.example"]);
    assert_eq!(settings.server.max_batch as u64, model::default::MAX_BATCH);
}

// G-13
#[test]
fn endpoints_on_one_host_are_told_apart_by_port_and_number() {
    let given = [
        "http://127.0.0.1:8545/s3cret-canary",
        "http://127.0.0.1:8546",
        "https://a.example/one",
        "https://a.example/two",
        "http://b.example",
    ];
    let settings = urls(&given, None);
    let labels: Vec<&str> = settings.chains[0]
        .endpoints
        .iter()
        .map(|one| one.label.as_str())
        .collect();
    let expected = [
        "127.0.0.1:8545",
        "127.0.0.1:8546",
        "a.example:443",
        "a.example:443#2",
        "b.example",
    ];
    assert_eq!(labels, expected);
}

// G-13
#[test]
fn a_chain_is_given_by_name_or_id() {
    for (text, name, id) in [
        ("ethereum", "ethereum", 1),
        ("8453", "base", 8453),
        ("Base", "base", 8453),
        ("31337000", "chain-31337000", 31_337_000),
    ] {
        let settings = urls(&["https://a.example"], Some(text));
        assert_eq!(settings.chains[0].name, name);
        assert_eq!(settings.chains[0].id, Some(ChainId(id)));
    }
    let refusal = "etherum".parse::<ChainArgument>().unwrap_err().to_string();
    assert_eq!(
        refusal,
        "no chain is known by this name (did you mean `ethereum`?): give its chain id"
    );
    for text in ["0", "18446744073709551616", "", "a/b"] {
        assert!(text.parse::<ChainArgument>().is_err(), "{text}");
    }
}

// G-13
#[test]
fn a_bad_url_is_named_by_its_position() {
    let refuse = |url: &str| {
        let given = ["https://a.example".to_owned(), url.to_owned()];
        Settings::from_urls(&given, None, &Overrides::default())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refuse("s3cret-canary"),
        "URL 2: not a URL: it must begin with http:// or https://"
    );
    assert!(refuse("wss://a/s3cret-canary").starts_with("URL 2: WebSocket endpoints are not"));
    let none = Settings::from_urls(&[], None, &Overrides::default());
    assert_eq!(
        none.unwrap_err().to_string(),
        "no endpoint is given: add URLs"
    );
}

// G-12
#[test]
fn sums_a_configuration_up_in_one_line() {
    assert_eq!(
        good(Format::Toml, FULL_TOML).summary(),
        "ethereum (id 1) with 3 endpoints, devnet (id 31337) with 1 endpoint; 1 key; RPC on \
         0.0.0.0:14545, admin off"
    );
}
