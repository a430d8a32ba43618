//! Histories in which a caller is told wrong of its transaction, or the wrong endpoint sees it.

use serde_json::{Value, json};

use super::{MS, Tale};
use crate::chain::Sender;
use crate::checker::{Breach, Promises, Sends, tally};
use crate::history::{Event, Got};

const RAW: &str = "eth_sendRawTransaction";

fn held() -> Promises {
    Promises {
        local: vec![RAW.into()],
        sends: Some(Sends {
            patient: true,
            ..Sends::default()
        }),
        ..Promises::default()
    }
}

/// Raw transactions and their hashes.
fn transfer(nonce: u64) -> (Value, String) {
    let (raw, hash) = Sender::new(1, 990_001, 0).transfer(nonce);
    (json!([raw]), hash.to_string())
}

fn ambiguous(hash: &str) -> Got {
    let data = json!({"source": "gateway", "reason": "ambiguous", "hash": hash});
    Got::Error(json!({"code": -32000, "message": "nonce too low", "data": data}).to_string())
}

fn accepted(hash: &str) -> Got {
    Got::Result(format!("\"{hash}\""))
}

fn refused() -> Got {
    Got::Error(json!({"code": -32000, "message": "nonce too low"}).to_string())
}

impl Tale {
    /// A call that sends a transaction, and its end.
    fn sends(mut self, (from, to): (u32, u32), params: &Value, got: Got) -> Self {
        self.calls += 1;
        self.events.push(Event::Called {
            at: MS * from,
            client: 1,
            call: self.calls,
            id: "1".into(),
            method: RAW.into(),
            params: params.to_string(),
        });
        let id = match got {
            Got::Result(_) | Got::Error(_) => Some("1".into()),
            Got::Nothing(_) => None,
        };
        self.events.push(Event::Answered {
            at: MS * to,
            call: self.calls,
            id,
            got,
        });
        self
    }

    fn took(mut self, at: u32, node: usize, hash: &str) -> Self {
        self.events.push(Event::Took {
            at: MS * at,
            node,
            hash: hash.into(),
        });
        self
    }
}

// B-4, R-35
#[test]
fn reports_a_success_that_no_endpoint_stands_for() {
    let (raw, hash) = transfer(0);
    let (_, other) = transfer(1);
    let sent = |got: &Got| Tale::default().sends((0, 100), &raw, got.clone());
    let late = Got::Error(json!({"code": 4, "message": "timeout", "data": hash}).to_string());
    let receipt = Got::Result(json!({"transactionHash": hash}).to_string());
    for success in [accepted(&hash), late, receipt] {
        let tale = sent(&success).breaches_of(&held());
        assert_eq!(tale, [Breach::FalseSuccess], "{success:?}");
        let tale = sent(&success).took(101, 0, &hash).breaches_of(&held());
        assert_eq!(tale, [Breach::FalseSuccess], "{success:?}");
        let tale = sent(&success).took(50, 0, &other).breaches_of(&held());
        assert_eq!(tale, [Breach::FalseSuccess], "{success:?}");
        let tale = sent(&success).took(50, 0, &hash).breaches_of(&held());
        assert_eq!(tale, [], "{success:?}");
    }
    let another = sent(&accepted(&other)).took(50, 0, &hash);
    assert_eq!(another.breaches_of(&held()), [Breach::FalseSuccess]);
    let nothing = sent(&Got::Result("null".into())).took(50, 0, &hash);
    assert_eq!(nothing.breaches_of(&held()), [Breach::FalseSuccess]);
    // Of an earlier call.
    let again = Tale::default()
        .took(1, 2, &hash)
        .sends((5, 100), &raw, accepted(&hash));
    assert_eq!(again.breaches_of(&held()), []);
}

// B-4, R-35
#[test]
fn reports_a_failure_of_a_transaction_that_an_endpoint_took() {
    let (raw, hash) = transfer(0);
    let (_, other) = transfer(1);
    let sent = |got: Got| Tale::default().sends((10, 100), &raw, got);
    let nothing = || Got::Nothing("DeadlineExceeded".into());
    for failure in [refused(), nothing(), ambiguous(&other)] {
        let tale = sent(failure.clone()).took(50, 1, &hash);
        assert_eq!(tale.breaches_of(&held()), [Breach::FalseFailure]);
        assert_eq!(sent(failure.clone()).breaches_of(&held()), []);
        // By another call, and not by this one.
        for at in [5, 101] {
            let tale = sent(failure.clone()).took(at, 1, &hash);
            assert_eq!(tale.breaches_of(&held()), [], "{failure:?}");
        }
        let mut hasty = held();
        hasty.sends = Some(Sends::default());
        let tale = sent(failure).took(50, 1, &hash);
        assert_eq!(tale.breaches_of(&hasty), []);
    }
    let honest = sent(ambiguous(&hash)).took(50, 1, &hash);
    assert_eq!(honest.breaches_of(&held()), []);
}

// B-4, R-35
#[test]
fn of_two_calls_that_send_the_same_at_once_one_has_to_know_it() {
    let (raw, hash) = transfer(0);
    let both = |got: Got| {
        let tale = Tale::default().sends((0, 100), &raw, refused());
        tale.sends((10, 120), &raw, got).took(50, 1, &hash)
    };
    assert_eq!(both(accepted(&hash)).breaches_of(&held()), []);
    assert_eq!(both(ambiguous(&hash)).breaches_of(&held()), []);
    let neither = both(refused()).breaches_of(&held());
    assert_eq!(neither, [Breach::FalseFailure, Breach::FalseFailure]);
}

// B-4, R-35, R-36
#[test]
fn reports_a_send_under_once_that_reaches_a_second_endpoint() {
    let (raw, hash) = transfer(0);
    let once = Promises {
        once: vec![RAW.into()],
        ..held()
    };
    let tale = |reply: Option<(u16, Value)>| {
        let mut tale = Tale::default().sends((0, 100), &raw, accepted(&hash));
        tale = match reply {
            Some((status, reply)) => tale.exchange((1, 20), 0, (RAW, &raw), (status, &reply)),
            None => tale.received(1, 0, RAW, &raw),
        };
        tale.received(30, 1, RAW, &raw).took(30, 1, &hash)
    };
    let error = |code: i64, message: &str| {
        let error = json!({"code": code, "message": message});
        Some((200, json!({"id": 7, "error": error})))
    };
    assert_eq!(tale(None).breaches_of(&once), [Breach::SentTwice]);
    for open in [
        error(-32603, "overloaded, try again later"),
        error(-32000, "already known"),
        Some((502, json!({}))),
    ] {
        assert_eq!(tale(open).breaches_of(&once), [Breach::SentTwice]);
    }
    for unsent in [
        error(-32601, "the method does not exist"),
        error(
            -32000,
            "publishing transactions not supported by this endpoint",
        ),
        error(-32000, "txpool is full"),
        Some((429, json!({}))),
    ] {
        assert_eq!(tale(unsent).breaches_of(&once), []);
    }
    // Under the other policies it may.
    assert_eq!(tale(None).breaches_of(&held()), []);
}

// B-4
#[test]
fn reports_a_private_transaction_that_a_public_endpoint_sees() {
    let (raw, hash) = transfer(0);
    let (_, other) = transfer(1);
    let (hash_of, other_of) = (json!([hash]), json!([other]));
    let secret = |secret| Promises {
        sends: Some(Sends {
            private: vec![1],
            secret,
            patient: true,
        }),
        ..held()
    };
    let look = "eth_getTransactionByHash";
    let tale = |node, method: &str, params: &Value| {
        let tale = Tale::default().sends((0, 100), &raw, accepted(&hash));
        tale.took(1, 1, &hash).received(20, node, method, params)
    };
    for (method, params) in [(RAW, &raw), (look, &hash_of)] {
        let public = tale(0, method, params);
        assert_eq!(public.breaches_of(&secret(true)), [Breach::Exposed]);
        assert_eq!(tale(1, method, params).breaches_of(&secret(true)), []);
        assert_eq!(tale(0, method, params).breaches_of(&secret(false)), []);
    }
    assert_eq!(tale(0, look, &other_of).breaches_of(&secret(true)), []);
    let builder = ("eth_sendPrivateTransaction", json!([{"tx": raw[0]}]));
    let public = tale(0, builder.0, &builder.1);
    assert_eq!(public.breaches_of(&secret(false)), [Breach::Exposed]);
    let private = tale(1, builder.0, &builder.1);
    assert_eq!(private.breaches_of(&secret(false)), []);
    // Its caller may ask anybody for it.
    let asked = tale(0, look, &hash_of).ask((20, 30), look, hash_of.clone(), json!({"hash": hash}));
    assert_eq!(asked.breaches_of(&secret(true)), []);
}

#[test]
fn counts_how_sends_ended() {
    let (raw, hash) = transfer(0);
    let tale = Tale::default()
        .sends((0, 1), &raw, accepted(&hash))
        .sends((2, 3), &raw, ambiguous(&hash))
        .sends((4, 5), &raw, refused())
        .sends((6, 7), &raw, Got::Nothing("no endpoint".into()))
        .ask((8, 9), "eth_blockNumber", json!([]), json!("0x1"));
    let tally = tally(&tale.events.into_iter().collect());
    let counts = (tally.sends, tally.accepted, tally.ambiguous, tally.failed);
    assert_eq!(counts, (4, 1, 1, 2));
}
