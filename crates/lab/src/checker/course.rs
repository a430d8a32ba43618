//! The course of one call: where its requests go, when, and that they stop once it is answered.
//!
//! All requests of a call carry one id, so they are told apart without a look at the router.

use std::collections::BTreeMap;
use std::time::Duration;

use super::ledger::{Ledger, Reached, Served};
use super::{Breach, Promises, Violation};

/// What the requests of one call are held to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// How many may go out at once at first.
    pub width: usize,
    /// After what time a request may be copied to another endpoint; `None`: never.
    pub copied_after: Option<Duration>,
    /// Endpoints that answer every request well and in time.
    pub flawless: Vec<usize>,
    /// Those of them that may be asked before anybody is asked again: they are of the lowest tier.
    pub others: Vec<usize>,
    /// Whether an endpoint is asked for its chain first.
    pub verify: bool,
}

/// One request, and its answer where it got one that somebody waited for.
struct Request<'l, 'a> {
    reached: &'l Reached<'a>,
    served: Option<&'l Served<'a>>,
}

pub(super) fn check(ledger: &Ledger<'_>, promises: &Promises, found: &mut Vec<Violation>) {
    let Some(course) = &promises.course else {
        return;
    };
    let checked = ledger.checked();
    for requests in calls(ledger).values() {
        if requests.len() < 2 {
            continue;
        }
        asked_on(requests, promises, found);
        crowd(requests, course, found);
        copied(requests, course, found);
        again(requests, course, &checked, found);
    }
}

/// The requests of every call in the order in which they reached endpoints.
fn calls<'l, 'a>(ledger: &'l Ledger<'a>) -> BTreeMap<&'a str, Vec<Request<'l, 'a>>> {
    let mut calls: BTreeMap<&str, Vec<Request<'l, 'a>>> = BTreeMap::new();
    for reached in &ledger.reached {
        if let Some(id) = reached.id {
            let served = None;
            calls
                .entry(id)
                .or_default()
                .push(Request { reached, served });
        }
    }
    for served in &ledger.served {
        for id in served.ids.iter().flatten() {
            let requests = calls.get_mut(id.as_str()).into_iter().flatten();
            let mut own = requests.filter(|request| {
                let reached = request.reached;
                reached.node == served.node
                    && reached.place < served.place
                    && request.served.is_none()
            });
            if let Some(request) = own.next() {
                request.served = Some(served);
            }
        }
    }
    calls
}

/// Whether what is asked stands at no height that an endpoint may be below.
fn is_of_now(reached: &Reached<'_>) -> bool {
    match reached.method {
        "eth_getBalance" | "eth_call" | "eth_getBlockByNumber" => {
            reached.params.contains("\"latest\"")
        }
        "eth_blockNumber" | "eth_newFilter" | "eth_sendRawTransaction" => true,
        _ => false,
    }
}

/// Whether an answer ends its call: a value that no height makes doubtful, or a revert, which every
/// endpoint would tell.
fn ends(request: &Request<'_, '_>, promises: &Promises) -> bool {
    let Some(served) = request.served.filter(|served| served.status == 200) else {
        return false;
    };
    let mut replies = served.replies.iter();
    let Some(reply) = replies.find(|reply| reply.answers(request.reached.id)) else {
        return false;
    };
    match (reply.result, reply.error.filter(|error| *error != "null")) {
        (_, Some(error)) => error.contains("\"code\":3,") && error.contains("execution reverted"),
        (Some(result), None) => {
            result != "null"
                && is_of_now(request.reached)
                && promises.sighted.contains(&served.node)
        }
        (None, None) => false,
    }
}

/// A request of a call that had its answer.
fn asked_on(requests: &[Request<'_, '_>], promises: &Promises, found: &mut Vec<Violation>) {
    let answers = requests.iter().filter(|request| ends(request, promises));
    let Some(over) = answers
        .filter_map(|request| request.served)
        .min_by_key(|s| s.place)
    else {
        return;
    };
    let late = requests
        .iter()
        .find(|request| request.reached.place > over.place);
    if let Some(Request { reached, .. }) = late {
        found.push(Violation {
            breach: Breach::AskedOn,
            at: reached.at,
            call: None,
            detail: format!(
                "endpoint {} was asked {} although endpoint {} had answered",
                reached.node, reached.method, over.node
            ),
        });
    }
}

/// More requests at once than race.
fn crowd(requests: &[Request<'_, '_>], course: &Course, found: &mut Vec<Violation>) {
    let first = requests[0].reached;
    let at_once = requests.iter().filter(|r| r.reached.at == first.at);
    let count = at_once.count();
    if count > course.width {
        found.push(Violation {
            breach: Breach::Copied,
            at: first.at,
            call: None,
            detail: format!(
                "{} went to {count} endpoints at once, {} may race",
                first.method, course.width
            ),
        });
    }
}

/// A second request beside one that will be answered, too early.
fn copied(requests: &[Request<'_, '_>], course: &Course, found: &mut Vec<Violation>) {
    let [first, second, ..] = requests else {
        return;
    };
    let well = course.flawless.contains(&first.reached.node);
    let over = |served: &Served<'_>| served.place < second.reached.place;
    if course.width > 1 || !well || first.served.is_some_and(over) {
        return;
    }
    let after = second.reached.at.saturating_sub(first.reached.at);
    if course.copied_after.is_none_or(|least| after < least) {
        found.push(Violation {
            breach: Breach::Copied,
            at: second.reached.at,
            call: None,
            detail: format!(
                "{} was copied {after:?} after it was sent, {:?} is the least",
                first.reached.method, course.copied_after
            ),
        });
    }
}

/// An endpoint that was asked again before another one was asked at all.
fn again(
    requests: &[Request<'_, '_>],
    course: &Course,
    checked: &BTreeMap<usize, usize>,
    found: &mut Vec<Violation>,
) {
    // Not everybody keeps filters.
    let by_anybody =
        |reached: &Reached<'_>| is_of_now(reached) && reached.method != "eth_newFilter";
    if !by_anybody(requests[0].reached) {
        return;
    }
    let begin = requests[0].reached.place;
    let known = |node: &usize| {
        let place = checked.get(node);
        !course.verify || place.is_some_and(|place| *place < begin)
    };
    for (index, Request { reached, .. }) in requests.iter().enumerate() {
        let asked = |node: usize| requests[..index].iter().any(|r| r.reached.node == node);
        if !asked(reached.node) {
            continue;
        }
        let mut others = course.others.iter();
        if let Some(other) = others.find(|other| !asked(**other) && known(other)) {
            found.push(Violation {
                breach: Breach::AskedAgain,
                at: reached.at,
                call: None,
                detail: format!(
                    "endpoint {} was asked {} again before endpoint {other}",
                    reached.node, reached.method
                ),
            });
        }
        return;
    }
}
