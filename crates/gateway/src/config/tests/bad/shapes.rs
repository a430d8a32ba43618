//! Keys, syntax, and values that have not the shape they should have.

use super::Bad;
use crate::config::Format::Toml;

pub(super) const FILES: &[Bad] = &[
    Bad {
        name: "an empty file",
        format: Toml,
        text: "",
        findings: &[
            "no chain is configured: add a `[chains.NAME]` section with at least one endpoint",
        ],
    },
    Bad {
        name: "a misspelt option",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[server]
deadlin = '9s'
",
        findings: &["4:1 unknown option `deadlin` in `server`: did you mean `deadline`?"],
    },
    Bad {
        name: "a hyphen for an underscore",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[server]
max-body = '5MiB'
",
        findings: &["4:1 unknown option `max-body` in `server`: did you mean `max_body`?"],
    },
    Bad {
        name: "an option in the wrong section",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[server]
url = 'x'
",
        findings: &["4:1 unknown option `url` in `server`: it belongs in `chains.NAME.endpoints`"],
    },
    Bad {
        name: "a misspelt section",
        format: Toml,
        text: "[servr]
listen = 1
[[chains.ethereum.endpoints]]
url = 'https://a.example'
",
        findings: &["1:2 unknown section `servr`: did you mean `server`?"],
    },
    Bad {
        name: "an option without a section",
        format: Toml,
        text: "listen = '127.0.0.1:1'
[[chains.ethereum.endpoints]]
url = 'https://a.example'
",
        findings: &["1:1 unknown option `listen`: it belongs in `server` or `admin`"],
    },
    Bad {
        name: "a key that is nothing like an option",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[log]
zzz = 1
",
        findings: &["4:1 unknown option `zzz` in `log`: expected one of `format`, `level`"],
    },
    Bad {
        name: "options of a later version",
        format: Toml,
        text: "[chains.ethereum]
registry = true
refresh_interval = 'off'
[[chains.ethereum.endpoints]]
url = 'https://a.example'
headers = { a = 'b' }
[redis]
url = 'redis://x'
",
        findings: &[
            "2:1 `registry` in `chains.ethereum` is not available in this version yet: remove it",
            "3:1 `refresh_interval` in `chains.ethereum` is not available in this version yet: remove it",
            "6:1 `headers` in `chains.ethereum.endpoints[0]` is not available in this version yet: remove it",
            "7:2 `redis` is not available in this version yet: remove it",
        ],
    },
    Bad {
        name: "a misspelt option of a later version",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
headrs = true
",
        findings: &[
            "3:1 unknown option `headrs` in `chains.ethereum.endpoints[0]`: `headers` is not available in this version yet: remove it",
        ],
    },
    Bad {
        name: "private transactions without a private endpoint",
        format: Toml,
        text: "[chains.ethereum]
private_writes = true
broadcast_to = 1
[[chains.ethereum.endpoints]]
url = 'https://a.example'
[[keys]]
name = 'a'
hash = 'sha256:0000000000000000000000000000000000000000000000000000000000000000'
private_writes = true
",
        findings: &[
            "2:18 `chains.ethereum.private_writes`: no endpoint of this chain is `private`: no transaction could be sent",
            "3:16 `chains.ethereum.broadcast_to`: out of range: 2 to 16 is allowed",
            "9:18 `keys[0].private_writes`: no endpoint of `chains.ethereum` is `private`: no transaction of the key could be sent there",
        ],
    },
    Bad {
        name: "an unknown write policy",
        format: Toml,
        text: "[chains.ethereum]
writes = 'twice'
[[chains.ethereum.endpoints]]
url = 'https://a.example'
",
        findings: &["2:10 `chains.ethereum.writes`: expected `once`, `failover` or `broadcast`"],
    },
    Bad {
        name: "text without quotes",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[server]
listen = 127.0.0.1:4545
",
        findings: &["4:15 not valid TOML: this is no number; text must be put in quotes"],
    },
    Bad {
        name: "an open quote",
        format: Toml,
        text: r#"[[chains.ethereum.endpoints]]
url = 'https://a.example'
[log]
level = "info
"#,
        findings: &["4:14 not valid TOML: invalid basic string, expected `\"`"],
    },
    Bad {
        name: "an open bracket",
        format: Toml,
        text: "[server
[[chains.ethereum.endpoints]]
url = 'https://a.example'
",
        findings: &["1:8 not valid TOML: unclosed table, expected `]`"],
    },
    Bad {
        name: "an option given twice",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[server]
strict = true
strict = false
",
        findings: &["5:1 not valid TOML: duplicate key"],
    },
    Bad {
        name: "a section given twice",
        format: Toml,
        text: "[log]
[log]
[[chains.ethereum.endpoints]]
url = 'https://a.example'
",
        findings: &["2:2 not valid TOML: duplicate key"],
    },
    Bad {
        name: "values of the wrong kind",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[server]
strict = 'yes'
max_batch = '10'
deadline = 9
allowed_hosts = 'a'
methods = []
max_in_flight = 1.5
listen = 1979-05-27
[log]
format = true
",
        findings: &[
            "4:10 `server.strict`: expected `true` or `false`, found a string",
            "5:13 `server.max_batch`: expected a whole number, found a string",
            "6:12 `server.deadline`: expected a duration such as `9s` as a string, found a whole number",
            "7:17 `server.allowed_hosts`: expected a list, found a string",
            "8:11 `server.methods`: expected a table, found a list",
            "9:17 `server.max_in_flight`: expected a whole number, found a number with a fraction",
            "10:10 `server.listen`: expected an address and port as a string, found a date",
            "12:10 `log.format`: expected `auto`, `text` or `json` as a string, found true or false",
        ],
    },
    Bad {
        name: "numbers out of range",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[server]
max_in_flight = -1
workers = 0
max_batch = 10001
max_connections = 99999999999999999999
max_body = '1B'
max_batch_response = '2GiB'
body_timeout = '2h'
drain_delay = '0s'
",
        findings: &[
            "4:17 `server.max_in_flight`: expected a whole number that is not negative",
            "5:11 `server.workers`: out of range: 1 to 1024 is allowed",
            "6:13 `server.max_batch`: out of range: 1 to 10000 is allowed",
            "7:19 `server.max_connections`: expected a whole number of at most 64 bits",
            "8:12 `server.max_body`: out of range: 1KiB to 1GiB is allowed",
            "9:22 `server.max_batch_response`: out of range: 1KiB to 1GiB is allowed",
            "10:16 `server.body_timeout`: out of range: 1ms to 1h is allowed",
            "11:15 `server.drain_delay`: a duration is at least `1ms`",
        ],
    },
    Bad {
        name: "values without a unit",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[server]
deadline = '9'
max_body = '5'
",
        findings: &[
            "4:12 `server.deadline`: a duration needs a unit: `ms`, `s`, `m` or `h`",
            "5:12 `server.max_body`: a size needs a unit: `B`, `kB`, `MB`, `KiB` or `MiB`",
        ],
    },
    Bad {
        name: "unknown units",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[server]
deadline = '9 parsecs'
max_body = '5mb'
",
        findings: &[
            "4:12 `server.deadline`: expected a duration such as `300ms`, `9s`, `2m` or `1h`",
            "5:12 `server.max_body`: expected a size such as `64KiB`, `5MiB` or `25MB`",
        ],
    },
    Bad {
        name: "a name for an address",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[server]
listen = 'localhost:4545'
[admin]
listen = 'on'
",
        findings: &[
            "4:10 `server.listen`: expected an IP address and a port, such as `127.0.0.1:4545` or `[::1]:4545`",
            "6:10 `admin.listen`: expected an IP address and a port, such as `127.0.0.1:4545` or `[::1]:4545`, or `off`",
        ],
    },
    Bad {
        name: "hosts and origins that are none",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[server]
allowed_hosts = ['ok.example', 'a:80', 5]
allowed_origins = ['*', 'app.example.com']
",
        findings: &[
            "4:32 `server.allowed_hosts[1]`: expected a host name such as `rpc.example.com`, without scheme and port",
            "4:40 `server.allowed_hosts[2]`: expected a host name as a string, found a whole number",
            "5:25 `server.allowed_origins[1]`: expected an origin such as `https://app.example.com`, without a path, or `*`",
        ],
    },
    Bad {
        name: "a misspelt level and format",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[log]
level = 'inof'
format = 'xml'
",
        findings: &[
            "4:9 `log.level`: expected `error`, `warn`, `info`, `debug`, `trace`, `off`, or a filter such as `info,highwater=debug`",
            "5:10 `log.format`: expected `auto`, `text` or `json`",
        ],
    },
    Bad {
        name: "a method pattern with a star in the middle",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[server.methods]
allow = ['eth_*', 'eth_*Call']
",
        findings: &[
            "4:19 `server.methods.allow[1]`: expected a method name, or its start and `*`, such as `eth_*`",
        ],
    },
];
