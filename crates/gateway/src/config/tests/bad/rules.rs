//! Values that do not fit together.

use super::Bad;
use crate::config::Format::Toml;

pub(super) const FILES: &[Bad] = &[
    Bad {
        name: "an open RPC listener without keys",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[server]
listen = '0.0.0.0:4545'
",
        findings: &[
            "4:10 listening on 0.0.0.0:4545 would let everybody who reaches it use the gateway, since no key is configured: add a `[[keys]]` section to the configuration file (`highwater keys create NAME` prints one), or listen on 127.0.0.1:4545",
        ],
    },
    Bad {
        name: "an open admin listener without a token",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[admin]
listen = '[::]:4546'
",
        findings: &[
            "4:10 the admin listener on [::]:4546 can be reached from other machines and needs a token: set `admin.token`, for example to \"${HIGHWATER_ADMIN_TOKEN}\", or listen on 127.0.0.1:4546",
        ],
    },
    Bad {
        name: "two listeners on one port",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[server]
listen = '127.0.0.1:4546'
",
        findings: &[
            "4:10 the admin listener and the RPC listener both want port 4546: give one of them another",
        ],
    },
    Bad {
        name: "an empty chains section",
        format: Toml,
        text: "[chains]
",
        findings: &["1:1 `chains`: no chain is configured: add a `[chains.NAME]` section"],
    },
    Bad {
        name: "a chain without endpoints",
        format: Toml,
        text: "[chains.ethereum]
endpoints = []
[chains.base]
",
        findings: &[
            "1:9 `chains.ethereum`: no endpoint is configured: add a `[[chains.ethereum.endpoints]]` section with a `url`",
            "3:9 `chains.base`: no endpoint is configured: add a `[[chains.base.endpoints]]` section with a `url`",
        ],
    },
    Bad {
        name: "a number for a chain name",
        format: Toml,
        text: "[[chains.1.endpoints]]
url = 'https://a'
",
        findings: &[
            "1:10 `chains.1`: a chain name cannot be a number: paths with numbers are chain ids; name the chain and set `id`",
        ],
    },
    Bad {
        name: "a hexadecimal number for a chain name",
        format: Toml,
        text: "[[chains.0x1.endpoints]]
url = 'https://a'
",
        findings: &["1:10 `chains.0x1`: a chain name cannot look like a hexadecimal chain id"],
    },
    Bad {
        name: "chain names that are no path segments",
        format: Toml,
        text: "[chains.'a b']
id = 5
endpoints = [{ url = 'https://a' }]
[chains.healthz]
id = 6
endpoints = [{ url = 'https://a' }]
[chains.hw_x]
id = 7
endpoints = [{ url = 'https://a' }]
",
        findings: &[
            "1:9 `chains.a b`: a chain name has 1 to 64 letters, digits, `-`, `_` or `.`",
            "4:9 `chains.healthz`: this chain name is a path with a meaning of its own: choose another",
            "7:9 `chains.hw_x`: a chain name cannot start with `hw_`: API keys do",
        ],
    },
    Bad {
        name: "an unknown chain without an id",
        format: Toml,
        text: "[[chains.etherum.endpoints]]
url = 'https://a'
",
        findings: &[
            "1:10 `chains.etherum`: no chain is known by this name (did you mean `ethereum`?): set `id` to its chain id",
        ],
    },
    Bad {
        name: "an id that contradicts the name",
        format: Toml,
        text: "[chains.base]
id = 1
endpoints = [{ url = 'https://a' }]
",
        findings: &[
            "2:6 `chains.base.id`: `base` is chain 8453, not 1: correct the id or choose another name",
        ],
    },
    Bad {
        name: "a chain id of zero",
        format: Toml,
        text: "[chains.mine]
id = 0
endpoints = [{ url = 'https://a' }]
",
        findings: &["2:6 `chains.mine.id`: a chain id is at least 1"],
    },
    Bad {
        name: "two sections for one chain id",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[chains.mainnet]
id = 1
endpoints = [{ url = 'https://a' }]
",
        findings: &[
            "3:9 `chains.mainnet`: chain id 1 is already that of `chains.ethereum`: one section for each chain",
        ],
    },
    Bad {
        name: "an alias that leads elsewhere",
        format: Toml,
        text: "[chains.ethereum]
aliases = ['base']
endpoints = [{ url = 'https://a' }]
[chains.base]
endpoints = [{ url = 'https://a' }]
",
        findings: &["4:9 the chain name `base` already leads to another chain"],
    },
    Bad {
        name: "names that differ in case only",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[chains.Ethereum]
endpoints = [{ url = 'https://a' }]
",
        findings: &[
            "3:9 the chain name `ethereum` already leads to another chain",
            "3:9 `chains.Ethereum`: chain id 1 is already that of `chains.ethereum`: one section for each chain",
        ],
    },
    Bad {
        name: "two endpoints of one label",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
label = 'a'
url = 'https://a'
[[chains.ethereum.endpoints]]
label = 'a'
url = 'https://b'
",
        findings: &["5:9 the label `a` is used twice: names must differ"],
    },
    Bad {
        name: "a label with a slash",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
label = 'a/b'
",
        findings: &[
            "3:9 `chains.ethereum.endpoints[0].label`: expected 1 to 64 visible ASCII characters without spaces, quotes, `/`, `\\`, `?`, `#`, `%`, `&`, `=`, `,`, `;`, `<`, `>`",
        ],
    },
    Bad {
        name: "URLs that are none",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
label = 'a'
url = 'not a url'
[[chains.ethereum.endpoints]]
label = 'b'
url = 'ftp://x'
[[chains.ethereum.endpoints]]
label = 'c'
url = 'wss://x'
[[chains.ethereum.endpoints]]
url = ''
[[chains.ethereum.endpoints]]
url = 5
[[chains.ethereum.endpoints]]
label = 'd'
",
        findings: &[
            "3:7 `chains.ethereum.endpoints[0].url` (label `a`): not a URL: it must begin with http:// or https://",
            "6:7 `chains.ethereum.endpoints[1].url` (label `b`): unsupported scheme: the URL must begin with http:// or https://",
            "9:7 `chains.ethereum.endpoints[2].url` (label `c`): WebSocket endpoints are not available in this version yet: give the http:// or https:// URL of the endpoint",
            "11:7 `chains.ethereum.endpoints[3].url`: expected a value, found an empty string",
            "13:7 `chains.ethereum.endpoints[4].url`: expected a value as a string, found a whole number",
            "14:1 `chains.ethereum.endpoints[5]` (label `d`): `url` is missing",
        ],
    },
    Bad {
        name: "a variable that is not set",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example/${NOPE}'
[server]
listen = '${NOPE}:1'
",
        findings: &[
            "2:26 `chains.ethereum.endpoints[0].url`: the environment variable `NOPE` is not set",
            "4:11 `server.listen`: the environment variable `NOPE` is not set",
        ],
    },
    Bad {
        name: "a variable that is none",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[server]
deadline = '${PERIOD'
",
        findings: &[
            "4:13 `server.deadline`: `${` must be followed by the name of an environment variable and `}`; write `$$` for a dollar sign",
        ],
    },
    Bad {
        name: "an empty secret",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[admin]
token = '${EMPTY}'
",
        findings: &["4:9 `admin.token`: expected a value, found an empty string"],
    },
    Bad {
        name: "a token with a space",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[admin]
token = 'a b'
",
        findings: &[
            "4:9 `admin.token`: a token has visible ASCII characters only, without spaces: it travels in a header",
        ],
    },
    Bad {
        name: "rules of errors that say too little or what does not exist",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[[error_rules]]
match = ['quota']
[[error_rules]]
class = 'overloaded'
[[error_rules]]
match = ['quota|']
class = 'rate_limit'
",
        findings: &[
            "3:1 `error_rules[0]`: `class` is missing",
            "5:1 `error_rules[1]`: would hold for every error: give `match`, `codes` or `statuses`",
            "8:10 `error_rules[2].match[0]`: expected words to look for, or alternatives such as `quota|credits`",
            "9:9 `error_rules[2].class`: no such class: did you mean `rate_limited`?",
        ],
    },
    Bad {
        name: "a key in place of its hash",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[[keys]]
name = 'a'
hash = 'hw_0123'
",
        findings: &[
            "5:8 `keys[0].hash`: expected `sha256:` and 64 hexadecimal digits, as `highwater keys create NAME` prints it (the hash, not the key)",
        ],
    },
    Bad {
        name: "keys without name or hash",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[[keys]]
name = 'a'
[[keys]]
hash = 'sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789ABCDEF'
",
        findings: &[
            "3:1 `keys[0]`: `hash` is missing: `highwater keys create NAME` prints a key and its hash",
            "5:1 `keys[1]`: `name` is missing",
        ],
    },
    Bad {
        name: "two keys of one name and hash",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[[keys]]
name = 'a'
hash = 'sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789ABCDEF'
[[keys]]
name = 'a'
hash = 'sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef'
",
        findings: &[
            "7:8 the key name `a` is used twice: names must differ",
            "8:8 `keys[1].hash`: this is the hash of an earlier key",
        ],
    },
    Bad {
        name: "a key for a chain that is not configured",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[[keys]]
name = 'a'
hash = 'sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789ABCDEF'
chains = ['etherem', 'zzz']
",
        findings: &[
            "6:11 `keys[0].chains`: no chain `etherem` is configured: did you mean `ethereum`?",
            "6:22 `keys[0].chains`: no chain `zzz` is configured",
        ],
    },
    Bad {
        name: "one key section in single brackets",
        format: Toml,
        text: "[[chains.ethereum.endpoints]]
url = 'https://a.example'
[keys]
name = 'a'
",
        findings: &["3:1 `keys`: expected a list, found a table"],
    },
];
