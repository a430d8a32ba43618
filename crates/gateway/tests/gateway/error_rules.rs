//! Rules of errors that an operator adds.

use crate::site::{Client, balance, settings};
use highwater_core::classify::{Classifier, ExtraRule};
use highwater_gateway::Gateway;
use highwater_lab::sockets::{Answer, ScriptedNode};
use std::sync::Arc;

// R-37: a text that no rule knows is the endpoint's fault and the next one is asked; an operator who
// knows better says so.
#[tokio::test]
async fn an_operators_rule_decides_what_an_unknown_text_means() {
    let error = r#"{"code":-32000,"message":"flux capacitor drained at 0x01"}"#;
    let rule = ExtraRule {
        all: vec!["flux capacitor".into()],
        class: "invalid_params".into(),
        ..ExtraRule::default()
    };
    let rules = Arc::new(Classifier::new(&[rule]).unwrap());
    for (rules, answer) in [
        (None, r#""result":"0x7""#),
        (Some(rules), &*format!(r#""error":{error}"#)),
    ] {
        let (first, second) = (ScriptedNode::start().await, ScriptedNode::start().await);
        first.on("eth_getBalance").always(Answer::error_json(error));
        second
            .on("eth_getBalance")
            .always(Answer::result(r#""0x7""#));
        let mut settings = settings(&[("ethereum", Some(1), &[first.url(), second.url()])]);
        settings.chains[0].endpoints[1].tier = 1;
        settings.error_rules = rules;
        let gateway = Gateway::start(settings).await.unwrap();
        let mut client = Client::connect(gateway.addr).await;
        let response = client.post("/", &[], balance(5).as_bytes()).await;
        let expected = format!(r#"{{"jsonrpc":"2.0","id":5,{answer}}}"#);
        assert_eq!(response.text(), expected);
        gateway.shutdown().await;
    }
}
