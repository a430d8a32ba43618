//! Equal keys if and only if the requests mean the same to every node.
//!
//! The verdicts come from here, not from the code under test: a request is generated as a meaning,
//! spelt in several ways, and changed into another meaning. Spellings of one meaning must share a
//! key; two meanings must not.

use highwater_core::method::{
    KeyForm, Reading, Resolve, Rewritten, array_text, canonical_key, find, lookup,
};
use proptest::prelude::*;

/// What a value means. Hex strings hold lower-case digits: their case means nothing.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Null,
    Bool(bool),
    Number(u64),
    Text(String),
    Hex(String),
    List(Vec<Value>),
    /// Members sorted by name: their order means nothing.
    Object(Vec<(&'static str, Value)>),
    /// As an object, with hex names.
    Map(Vec<(String, Value)>),
    /// A block reference.
    Block(Box<Value>),
}

/// A request. Trailing omitted blocks that mean `latest` are generated as such and spelt both ways.
#[derive(Clone, Debug, PartialEq)]
struct Request {
    method: &'static str,
    params: Vec<Value>,
    /// An omitted last parameter means this.
    tail_may_be_omitted: bool,
}

/// Choices of spelling.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn blank(&mut self) -> &'static str {
        ["", "", "", " ", "\n", "\t", "\r\n  "][self.below(7)]
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    fn cased(&mut self, digits: &str) -> String {
        let mut case = |c: char| {
            if self.below(2) == 0 {
                c
            } else {
                c.to_ascii_uppercase()
            }
        };
        digits.chars().map(&mut case).collect()
    }
}

fn latest() -> Value {
    Value::Block(Box::new(Value::Text("latest".to_owned())))
}

fn spell(value: &Value, dice: &mut Dice) -> String {
    let around = |dice: &mut Dice, text: String| format!("{}{text}{}", dice.blank(), dice.blank());
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Text(text) => format!("\"{text}\""),
        Value::Hex(digits) => format!("\"0x{}\"", dice.cased(digits)),
        Value::Block(inner) => spell(inner, dice),
        Value::List(items) => {
            let items: Vec<String> = items
                .iter()
                .map(|item| {
                    let text = spell(item, dice);
                    around(dice, text)
                })
                .collect();
            format!("[{}{}]", dice.blank(), items.join(","))
        }
        Value::Object(members) => {
            let named = members
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value))
                .collect();
            spell_members(named, dice)
        }
        Value::Map(members) => {
            let named = members
                .iter()
                .map(|(name, value)| (format!("0x{}", dice.cased(name)), value))
                .collect();
            spell_members(named, dice)
        }
    }
}

fn spell_members(mut members: Vec<(String, &Value)>, dice: &mut Dice) -> String {
    dice.shuffle(&mut members);
    // A bound that means `latest` may be left out.
    members.retain(|(name, value)| {
        let optional = matches!(name.as_str(), "fromBlock" | "toBlock") && **value == latest();
        !(optional && dice.below(2) == 0)
    });
    let mut text = format!("{{{}", dice.blank());
    for (index, (name, value)) in members.into_iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let value = spell(value, dice);
        let (a, b, c, d) = (dice.blank(), dice.blank(), dice.blank(), dice.blank());
        text.push_str(&format!("{comma}{a}\"{name}\"{b}:{c}{value}{d}"));
    }
    text + "}"
}

fn spell_request(request: &Request, dice: &mut Dice) -> String {
    let mut params = request.params.clone();
    if request.tail_may_be_omitted && params.last() == Some(&latest()) && dice.below(2) == 0 {
        params.pop();
    }
    let text = spell(&Value::List(params), dice);
    format!("{}{text}{}", dice.blank(), dice.blank())
}

fn hex(digits: std::ops::Range<usize>) -> BoxedStrategy<Value> {
    proptest::collection::vec(0..16_u32, digits)
        .prop_map(|digits| {
            Value::Hex(
                digits
                    .iter()
                    .filter_map(|digit| char::from_digit(*digit, 16))
                    .collect(),
            )
        })
        .boxed()
}

fn scalar() -> BoxedStrategy<Value> {
    prop_oneof![
        6 => hex(1..6),
        2 => hex(40..41),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => (0..5_u64).prop_map(Value::Number),
        1 => prop_oneof![Just("null"), Just("0"), Just("true"), Just(""), Just("0X1"), Just("xyz")]
            .prop_map(|text| Value::Text(text.to_owned())),
    ]
    .boxed()
}

fn block() -> BoxedStrategy<Value> {
    let number = (0..20_u64).prop_map(|number| Value::Hex(format!("{number:x}")));
    let hash = (0..3_u8).prop_map(|seed| Value::Hex(format!("{seed:02x}").repeat(32)));
    let tag = prop_oneof![
        4 => Just("latest"),
        1 => Just("safe"),
        1 => Just("finalized"),
        1 => Just("pending"),
        1 => Just("earliest"),
    ]
    .prop_map(|tag| Value::Text(tag.to_owned()));
    let flag = proptest::option::of(any::<bool>());
    let inner = prop_oneof![number.clone(), tag.clone()];
    let object =
        (inner, hash.clone(), any::<bool>(), flag).prop_map(|(number, hash, by_hash, flag)| {
            let block = if by_hash {
                ("blockHash", hash)
            } else {
                ("blockNumber", number)
            };
            let flag = flag.map(|flag| ("requireCanonical", Value::Bool(flag)));
            Value::Object(std::iter::once(block).chain(flag).collect())
        });
    prop_oneof![4 => tag, 3 => number, 1 => hash, 1 => object]
        .prop_map(|value| Value::Block(Box::new(value)))
        .boxed()
}

/// A bound of a range: never a hash or an object.
fn bound() -> BoxedStrategy<Value> {
    block()
        .prop_map(|value| match &value {
            Value::Block(inner) => match &**inner {
                Value::Hex(digits) if digits.len() < 17 => value,
                Value::Text(_) => value,
                _ => latest(),
            },
            _ => value,
        })
        .boxed()
}

fn members(
    names: &'static [&'static str],
    value: impl Strategy<Value = Value> + 'static,
) -> BoxedStrategy<Vec<(&'static str, Value)>> {
    let options = proptest::collection::vec(proptest::option::of(value), names.len());
    options
        .prop_map(move |values| {
            names
                .iter()
                .zip(values)
                .filter_map(|(name, value)| Some((*name, value?)))
                .collect()
        })
        .boxed()
}

fn call() -> BoxedStrategy<Value> {
    let entry = members(&["address", "storageKeys"], scalar()).prop_map(Value::Object);
    let list = proptest::option::of(proptest::collection::vec(entry, 0..3).prop_map(Value::List));
    let rest = members(
        &["data", "from", "gas", "input", "nonce", "to", "value"],
        scalar(),
    );
    (list, rest)
        .prop_map(|(list, rest)| {
            let list = list.map(|list| ("accessList", list));
            Value::Object(list.into_iter().chain(rest).collect())
        })
        .boxed()
}

fn map(value: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Value> {
    let named = proptest::collection::btree_map("[0-9a-f]{4}", value, 0..4);
    named
        .prop_map(|members| Value::Map(members.into_iter().collect()))
        .boxed()
}

fn overrides() -> BoxedStrategy<Value> {
    let slots = proptest::option::of(map(hex(1..4)));
    let account =
        (members(&["balance", "code", "nonce"], scalar()), slots).prop_map(|(rest, slots)| {
            Value::Object(
                rest.into_iter()
                    .chain(slots.map(|slots| ("stateDiff", slots)))
                    .collect(),
            )
        });
    map(account).boxed()
}

fn filter() -> BoxedStrategy<Value> {
    let nested = proptest::collection::vec(scalar(), 0..3).prop_map(Value::List);
    let topic = prop_oneof![scalar(), nested];
    let topics = proptest::collection::vec(topic, 0..4).prop_map(Value::List);
    let addresses = prop_oneof![
        scalar(),
        proptest::collection::vec(scalar(), 0..3).prop_map(Value::List)
    ];
    let option = proptest::option::of(addresses);
    (option, bound(), bound(), proptest::option::of(topics))
        .prop_map(|(address, from, to, topics)| {
            let address = address.map(|address| ("address", address));
            let bounds = [("fromBlock", from), ("toBlock", to)];
            let topics = topics.map(|topics| ("topics", topics));
            Value::Object(address.into_iter().chain(bounds).chain(topics).collect())
        })
        .boxed()
}

fn request() -> BoxedStrategy<Request> {
    let of = |method, omit: bool| {
        move |params: Vec<Value>| Request {
            method,
            params,
            tail_may_be_omitted: omit,
        }
    };
    prop_oneof![
        3 => (call(), block()).prop_map(|(a, b)| vec![a, b]).prop_map(of("eth_call", true)),
        2 => (call(), block(), overrides()).prop_map(|(a, b, c)| vec![a, b, c]).prop_map(of("eth_call", true)),
        1 => (call(), block()).prop_map(|(a, b)| vec![a, b]).prop_map(of("eth_estimateGas", false)),
        1 => (scalar(), block()).prop_map(|(a, b)| vec![a, b]).prop_map(of("eth_getBalance", true)),
        1 => (scalar(), scalar(), block()).prop_map(|(a, b, c)| vec![a, b, c]).prop_map(of("eth_getStorageAt", true)),
        1 => (block(), any::<bool>().prop_map(Value::Bool)).prop_map(|(a, b)| vec![a, b]).prop_map(of("eth_getBlockByNumber", false)),
        1 => scalar().prop_map(|a| vec![a]).prop_map(of("eth_getTransactionReceipt", false)),
        3 => filter().prop_map(|a| vec![a]).prop_map(of("eth_getLogs", false)),
    ]
    .boxed()
}

/// Another meaning, or the same when there is nothing to change at the place that the dice name.
fn change(value: &mut Value, dice: &mut Dice) {
    match value {
        Value::Null => *value = Value::Text("null".to_owned()),
        Value::Bool(flag) => *flag = !*flag,
        Value::Number(number) => *value = Value::Text(number.to_string()),
        Value::Text(text) => text.push('0'),
        Value::Hex(digits) => match dice.below(4) {
            0 => digits.insert(0, '0'),
            1 => *value = Value::Text(format!("0X{digits}")),
            2 => *value = Value::List(vec![value.clone()]),
            _ => {
                let last = digits
                    .pop()
                    .and_then(|digit| digit.to_digit(16))
                    .unwrap_or(0);
                digits.push(char::from_digit((last + 1) % 16, 16).expect("a hex digit"));
            }
        },
        // Another tag, number, hash or form; never a block that cannot be read.
        Value::Block(inner) => {
            **inner = match &**inner {
                Value::Text(tag) if tag == "safe" => Value::Text("pending".to_owned()),
                Value::Text(_) => Value::Text("safe".to_owned()),
                Value::Hex(digits) if digits.len() == 64 => Value::Hex("ee".repeat(32)),
                Value::Hex(digits) => Value::Hex(format!("0{digits}")),
                Value::Object(members) => members[0].1.clone(),
                other => other.clone(),
            };
        }
        Value::List(items) => {
            let nested = items.iter().position(|item| matches!(item, Value::List(_)));
            match (dice.below(6), nested, items.len()) {
                (0 | 1, Some(at), _) => rebracket(items, at, dice),
                (_, _, 0) | (2, _, _) => items.push(Value::Hex("e".to_owned())),
                (3, _, 2..) => items.swap(0, 1),
                (4, _, _) => *items = vec![Value::List(items.clone())],
                (_, _, length) => change(&mut items[dice.below(length)], dice),
            }
        }
        Value::Object(members) => {
            let known = ["data", "input"];
            let found = members.iter().position(|(name, _)| known.contains(name));
            match (dice.below(3), found, members.len()) {
                (0, Some(data), _)
                    if members
                        .iter()
                        .filter(|(name, _)| known.contains(name))
                        .count()
                        == 1 =>
                {
                    members[data].0 = if members[data].0 == "data" {
                        "input"
                    } else {
                        "data"
                    };
                }
                (1, _, length @ 1..) => {
                    let member = dice.below(length);
                    if !matches!(members[member].1, Value::Block(_)) {
                        members.remove(member);
                    }
                }
                (_, _, length @ 1..) => change(&mut members[dice.below(length)].1, dice),
                _ => {}
            }
        }
        Value::Map(members) => match (dice.below(2), members.len()) {
            (0, 1..) => {
                members.pop();
            }
            (_, length @ 1..) => change(&mut members[dice.below(length)].1, dice),
            _ => members.push(("0001".to_owned(), Value::Object(Vec::new()))),
        },
    }
}

/// The same leaves in the same order, with one bracket elsewhere.
fn rebracket(items: &mut Vec<Value>, at: usize, dice: &mut Dice) {
    let Value::List(mut inner) = items.remove(at) else {
        return;
    };
    let first = dice.below(2) == 0 && !inner.is_empty();
    let out = if first {
        Some(inner.remove(0))
    } else {
        inner.pop()
    };
    items.insert(at, Value::List(inner));
    if let Some(out) = out {
        items.insert(if first { at } else { at + 1 }, out);
    }
}

fn key(method: &str, params: &str, resolve: Resolve) -> (KeyForm, Vec<u8>) {
    let found = find(lookup(method), params);
    let mut buf = Vec::new();
    let body = canonical_key(&found, method, params, &mut buf);
    body.seal(&found, params, resolve, &mut buf);
    (body.form(), buf)
}

/// The parameters that an endpoint gets under a pin.
fn sent(method: &str, params: &str, pin: u64) -> String {
    let mut out = String::new();
    match find(lookup(method), params).rewrite(params, pin, &mut out) {
        Rewritten::Pinned => out,
        Rewritten::Unchanged | Rewritten::Inverted => array_text(params).to_owned(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    // P-10, hardening B15, hardening F1
    #[test]
    fn spellings_of_one_meaning_share_a_key(request in request(), seeds: [u64; 2]) {
        let one = spell_request(&request, &mut Dice(seeds[0]));
        let other = spell_request(&request, &mut Dice(seeds[1]));
        let (form, bytes) = key(request.method, &one, Resolve::AsWritten);
        prop_assert_eq!(form, KeyForm::Canonical, "{}", one);
        prop_assert_eq!(bytes, key(request.method, &other, Resolve::AsWritten).1, "{} {}", one, other);
        let tagless = |params: &str| key(request.method, params, Resolve::Tagless);
        prop_assert_eq!(tagless(&one), tagless(&other), "{} {}", one, other);
    }

    // P-10, hardening B15, hardening F1
    #[test]
    fn two_meanings_never_share_a_key(
        one in request(), other in request(), seeds: [u64; 3], unrelated in 0..4_u8,
    ) {
        let mut changed = one.clone();
        let mut dice = Dice(seeds[2]);
        if unrelated == 0 {
            changed = other;
        } else {
            for _ in 0..=dice.below(2) {
                let param = dice.below(changed.params.len());
                change(&mut changed.params[param], &mut dice);
            }
        }
        prop_assume!(changed != one);
        let a = spell_request(&one, &mut Dice(seeds[0]));
        let b = spell_request(&changed, &mut Dice(seeds[1]));
        let key_of = |request: &Request, params: &str| key(request.method, params, Resolve::AsWritten).1;
        prop_assert_ne!(key_of(&one, &a), key_of(&changed, &b), "{} {} / {} {}", one.method, a, changed.method, b);
    }

    // P-12
    #[test]
    fn the_key_at_a_pin_is_the_key_of_what_is_sent(request in request(), seed: u64, pin in 0..20_u64) {
        let params = spell_request(&request, &mut Dice(seed));
        let sent = sent(request.method, &params, pin);
        let found = find(lookup(request.method), &params);
        prop_assert_eq!(found.reading() == Reading::Foreign, false, "{}", params);
        let at = key(request.method, &params, Resolve::At(pin));
        if found.inverts(pin) {
            prop_assert_eq!(&sent, array_text(&params));
        } else {
            prop_assert_eq!(&at, &key(request.method, &sent, Resolve::AsWritten), "{} {}", params, sent);
        }
        prop_assert_eq!(at, key(request.method, &sent, Resolve::At(pin)), "{} {}", params, sent);
    }

    // P-4
    #[test]
    fn a_pin_leaves_no_latest_behind_and_valid_json(request in request(), seed: u64, pin in 0..20_u64) {
        let params = spell_request(&request, &mut Dice(seed));
        let sent = sent(request.method, &params, pin);
        let parsed: Result<serde_json::Value, _> = serde_json::from_str(&sent);
        prop_assert!(parsed.is_ok(), "{}", sent);
        let found = find(lookup(request.method), &params);
        if found.wants_pin() && !found.inverts(pin) {
            prop_assert!(!sent.contains("latest"), "{}", sent);
            prop_assert!(!find(lookup(request.method), &sent).wants_pin(), "{}", sent);
        } else {
            prop_assert_eq!(sent, params);
        }
    }
}
