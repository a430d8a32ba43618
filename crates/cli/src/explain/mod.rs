//! `highwater explain`: why this endpoint, why now, from a running gateway's admin listener.

mod ask;
mod table;

use crate::{arguments::ExplainArguments, exit::Exit, output};
use ask::{Admin, Refusal};
use serde_json::Value;
use url::form_urlencoded::Serializer;

/// The admin listener where nothing else is said.
const ADMIN: &str = "http://127.0.0.1:4546";
/// What is asked there, before the query.
const PATH: &str = "/api/explain?";
/// Where a token is looked for that is not given.
const TOKEN: &str = "HIGHWATER_ADMIN_TOKEN";

pub(crate) fn run(arguments: &ExplainArguments) -> Exit {
    let asked = Admin::parse(arguments.admin.as_deref().unwrap_or(ADMIN))
        .and_then(|admin| admin.get(&target(arguments), token(arguments).as_deref()));
    let body = match asked {
        Ok(body) => body,
        Err(Refusal(exit, problem)) => {
            output::error(&problem);
            return exit;
        }
    };
    let Ok(explanation) = serde_json::from_slice::<Value>(&body) else {
        output::error("the answer is no explanation: is this the admin listener of a gateway?");
        return Exit::NotServing(69);
    };
    if arguments.json {
        output::print(&format!("{explanation:#}\n"));
    } else {
        output::print(&table::text(&explanation));
    }
    Exit::Ok
}

fn token(arguments: &ExplainArguments) -> Option<String> {
    let given = arguments.token.clone();
    let token = given.or_else(|| std::env::var(TOKEN).ok());
    token.filter(|token| !token.is_empty())
}

fn target(arguments: &ExplainArguments) -> String {
    let mut query = Serializer::for_suffix(String::from(PATH), PATH.len());
    for (name, value) in [
        ("chain", &arguments.chain),
        ("method", &arguments.method),
        ("params", &arguments.params),
    ] {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    query.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asks_for_what_is_given_and_escapes_it() {
        let mut arguments = ExplainArguments::default();
        assert_eq!(target(&arguments), "/api/explain?");
        arguments.chain = Some("base".into());
        arguments.method = Some("eth_getLogs".into());
        arguments.params = Some(r#"[{"a":"b c&d"}]"#.into());
        assert_eq!(
            target(&arguments),
            "/api/explain?chain=base&method=eth_getLogs&params=%5B%7B%22a%22%3A%22b+c%26d%22%7D%5D"
        );
    }
}
