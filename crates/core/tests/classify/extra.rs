use highwater_core::classify::{Class, Classifier, Evidence, ExtraRule, RuleError, Verdict};

fn rule(class: &str, all: &[&str]) -> ExtraRule {
    ExtraRule {
        all: all.iter().map(|s| (*s).to_owned()).collect(),
        class: class.to_owned(),
        ..ExtraRule::default()
    }
}

fn judge(rules: &[ExtraRule], method: &str, status: u16, message: &str) -> Verdict {
    let body = serde_json::json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": message}}).to_string();
    Classifier::new(rules)
        .expect("the rules compile")
        .classify(&Evidence::new(method, status, body.as_bytes()))
        .expect("an error")
}

// an operator teaches a text that the table does not know.
#[test]
fn an_operators_rule_decides_before_the_table() {
    let text = "Flux pipe #7 exhausted: rate limit exceeded";
    assert_eq!(judge(&[], "eth_call", 200, text).class, Class::RateLimited);
    let verdict = judge(
        &[rule("overloaded", &["flux-pipe|fluxPipe", "EXHAUSTED"])],
        "eth_call",
        200,
        text,
    );
    assert_eq!(verdict.class, Class::Overloaded);
    assert!(verdict.retry_other_endpoint && verdict.counts_against_endpoint);
    assert!(!verdict.is_unknown());
}

// what a contract says must not steer an endpoint's health, by whatever rule.
#[test]
fn an_operators_rule_never_reads_a_revert_reason() {
    let rules = [rule("unauthorized", &["flux"])];
    let verdict = judge(&rules, "eth_call", 200, "execution reverted: flux");
    assert_eq!(verdict.class, Class::ExecutionRevert);
    assert!(!verdict.counts_against_endpoint);
}

#[test]
fn an_operators_rule_is_bound_to_methods_statuses_codes_and_absent_words() {
    let bound = ExtraRule {
        none: vec!["soft".to_owned()],
        codes: vec![-32000],
        statuses: vec![200],
        methods: vec!["debug_*".to_owned()],
        retry_other_endpoint: Some(false),
        ..rule("method_blocked", &["flux"])
    };
    let rules = [bound];
    let hit = judge(&rules, "debug_traceCall", 200, "flux");
    assert_eq!(
        (hit.class, hit.retry_other_endpoint),
        (Class::MethodBlocked, false)
    );
    for (method, status, message) in [
        ("eth_call", 200, "flux"),
        ("debug_traceCall", 500, "flux"),
        ("debug_traceCall", 200, "soft flux"),
    ] {
        assert_eq!(
            judge(&rules, method, status, message).class,
            Class::Internal,
            "{method} {status} {message}"
        );
    }
}

#[test]
fn refuses_rules_that_name_no_class_or_hold_for_everything() {
    let error =
        |r: ExtraRule| Classifier::new(&[rule("timeout", &["x"]), r]).expect_err("a bad rule");
    assert_eq!(
        error(rule("slow", &["x"])),
        RuleError::Class {
            rule: 2,
            class: "slow".to_owned()
        }
    );
    assert_eq!(error(rule("timeout", &[])), RuleError::Empty { rule: 2 });
    assert_eq!(
        error(rule("timeout", &["a||b"])),
        RuleError::Phrase {
            rule: 2,
            phrase: "a||b".to_owned()
        }
    );
}
