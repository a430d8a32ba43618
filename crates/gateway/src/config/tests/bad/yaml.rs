//! The same in YAML, and what only YAML can get wrong.

use super::Bad;
use crate::config::Format::Yaml;

pub(super) const FILES: &[Bad] = &[
    Bad {
        name: "a misspelt option",
        format: Yaml,
        text: "server:
  deadlin: 9s
chains:
  ethereum:
    endpoints:
      - url: https://a
",
        findings: &["2:3 unknown option `deadlin` in `server`: did you mean `deadline`?"],
    },
    Bad {
        name: "an old boolean",
        format: Yaml,
        text: "server:
  strict: yes
chains: { ethereum: { endpoints: [ { url: 'https://a' } ] } }
",
        findings: &["2:11 `server.strict`: expected `true` or `false`, found a string"],
    },
    Bad {
        name: "wrong indentation",
        format: Yaml,
        text: "server:
  deadline: 9s
 bad
",
        findings: &[
            "3:2 not valid YAML: check indentation, colons, brackets and quotes up to here",
        ],
    },
    Bad {
        name: "an open bracket",
        format: Yaml,
        text: "server: { a: b
",
        findings: &[
            "1:9 not valid YAML: check indentation, colons, brackets and quotes up to here",
        ],
    },
    Bad {
        name: "an option given twice",
        format: Yaml,
        text: "server:
  strict: true
  strict: true
",
        findings: &["3:3 duplicate key"],
    },
    Bad {
        name: "an unknown anchor",
        format: Yaml,
        text: "server: *x
",
        findings: &["1:9 not valid YAML: this alias names no anchor"],
    },
    Bad {
        name: "a list for a file",
        format: Yaml,
        text: "- server
",
        findings: &["1:1 expected a table, found a list"],
    },
    Bad {
        name: "two documents",
        format: Yaml,
        text: "log:
---
log:
",
        findings: &["3:1 not valid YAML: one document is expected, found several"],
    },
    Bad {
        name: "a file without options",
        format: Yaml,
        text: "# nothing
",
        findings: &[
            "no chain is configured: add a `[chains.NAME]` section with at least one endpoint",
        ],
    },
    Bad {
        name: "a number for a chain name",
        format: Yaml,
        text: "chains:
  1:
    endpoints:
      - url: https://a
",
        findings: &[
            "2:3 `chains.1`: a chain name cannot be a number: paths with numbers are chain ids; name the chain and set `id`",
        ],
    },
    Bad {
        name: "a URL that is none",
        format: Yaml,
        text: "chains:
  ethereum:
    endpoints:
      - { label: a, url: 'nope', ur: x }
",
        findings: &[
            "4:26 `chains.ethereum.endpoints[0].url` (label `a`): not a URL: it must begin with http:// or https://",
            "4:34 unknown option `ur` in `chains.ethereum.endpoints[0]`: did you mean `url`?",
        ],
    },
];
