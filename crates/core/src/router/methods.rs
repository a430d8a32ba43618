//! Which methods an endpoint is configured to serve.

/// Allow and deny lists. A name ending in `*` stands for all that begin so; upper and lower case are
/// the same. An empty allow list allows all; deny wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MethodList {
    allow: Vec<String>,
    deny: Vec<String>,
}

impl MethodList {
    /// Lists of names and prefixes.
    #[must_use]
    pub fn new(allow: Vec<String>, deny: Vec<String>) -> Self {
        Self { allow, deny }
    }

    /// Whether every method is allowed.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty()
    }

    /// Whether this method may be sent there.
    #[must_use]
    pub fn allows(&self, method: &str) -> bool {
        let listed = |list: &[String]| list.iter().any(|entry| matches(entry, method));
        (self.allow.is_empty() || listed(&self.allow)) && !listed(&self.deny)
    }
}

fn matches(entry: &str, method: &str) -> bool {
    match entry.strip_suffix('*') {
        Some(prefix) => method
            .as_bytes()
            .split_at_checked(prefix.len())
            .is_some_and(|(head, _)| head.eq_ignore_ascii_case(prefix.as_bytes())),
        None => entry.eq_ignore_ascii_case(method),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(allow: &[&str], deny: &[&str]) -> MethodList {
        let own = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        MethodList::new(own(allow), own(deny))
    }

    //
    #[test]
    fn allows_what_is_listed_and_nothing_that_is_denied() {
        assert!(list(&[], &[]).allows("eth_call"));
        assert!(list(&[], &[]).is_open());
        let some = list(&["eth_*", "net_version"], &["eth_getLogs", "eth_sign*"]);
        for (method, allowed) in [
            ("eth_call", true),
            ("net_version", true),
            ("net_listening", false),
            ("eth_getLogs", false),
            ("eth_signTransaction", false),
            ("trace_block", false),
        ] {
            assert_eq!(some.allows(method), allowed, "{method}");
        }
        assert!(!list(&[], &["trace_*"]).allows("trace_block"));
        // As a configuration folds them.
        assert!(!list(&[], &["eth_getlogs", "TRACE_*"]).allows("eth_getLogs"));
        assert!(!list(&[], &["eth_getlogs", "TRACE_*"]).allows("trace_block"));
    }
}
