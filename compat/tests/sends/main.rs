//! Four libraries send transactions through the gateway while its endpoints die and lose answers:
//! each is mined once, and what each client was told is true.

mod sender;

use highwater_compat::{ACCOUNT, Anvil, Gateway, Library, Lines, Mishap};
use sender::{Sender, Sent, Told};
use serde_json::{Value, json};
use std::{fmt::Write as _, thread};

/// Transactions of each client.
const SENDS: u64 = 200;

/// Endpoints of the chain, each a line to the same node.
const ENDPOINTS: usize = 3;

/// A block is made after so many transactions, if a mishap did not make one before.
const BLOCK: u64 = 8;

/// Nobody else pays or is paid by it.
const RECEIVER: &str = "0x00000000000000000000000000000000000abcde";

const CLIENTS: [&str; 4] = ["viem", "ethers", "web3.py", "alloy"];

/// What goes wrong while a transaction is sent.
struct Trouble {
    /// The endpoints that are dead.
    dead: Vec<usize>,
    /// What happens to the attempts that reach an endpoint, in order.
    mishaps: Vec<Mishap>,
}

/// Of thirty transactions ten meet a dead endpoint, and five of them two; each endpoint has its turn.
/// The first answer of every third is lost, of every ninth two, of every 27th all three. Requests are
/// lost too: of one while nobody is dead, of two beside a dead endpoint, and of one twice, just
/// after two endpoints came back, on whom the gateway does not rely yet.
fn trouble(number: u64) -> Trouble {
    let turn = usize::try_from(number / 30).expect("small") % ENDPOINTS;
    let dead = match number % 30 {
        10..15 => vec![turn],
        15..20 => vec![turn, (turn + 1) % ENDPOINTS],
        _ => Vec::new(),
    };
    let lost = match number {
        _ if number.is_multiple_of(27) => 3,
        _ if number.is_multiple_of(9) => 2,
        _ if number.is_multiple_of(3) => 1,
        _ => 0,
    };
    // Mined already, the next endpoint says "nonce too low"; in the pool, "already known".
    let loss = if number.is_multiple_of(2) {
        Mishap::AnswerLostMined
    } else {
        Mishap::AnswerLost
    };
    let mishaps = match number % 30 {
        5 | 11 | 13 => vec![Mishap::RequestLost],
        20 => vec![Mishap::RequestLost; 2],
        _ => vec![loss; lost],
    };
    Trouble { dead, mishaps }
}

impl Trouble {
    /// How many of these mishaps a transaction meets that goes to one living endpoint after
    /// another.
    fn met(&self, of: fn(Mishap) -> bool) -> usize {
        let alive = ENDPOINTS - self.dead.len();
        let met = self.mishaps.iter().take(alive);
        met.filter(|mishap| of(**mishap)).count()
    }
}

/// One line of the table.
#[derive(Debug)]
struct Row {
    client: &'static str,
    sent: u64,
    told: u64,
    /// Their numbers.
    ambiguous: Vec<usize>,
    /// Their numbers, and what the client was told.
    failures: Vec<String>,
    mined: u64,
    attempts: u64,
    /// Sent while an endpoint or two were dead.
    beside_dead: usize,
    refused: u64,
    answers_lost: usize,
    requests_lost: usize,
}

const HEAD: &str = "\
| client | sent | beside dead endpoints | answers lost | requests lost | refused by dead endpoints | upstream sends | \
told sent | ambiguous | failed | mined |
|---|---|---|---|---|---|---|---|---|---|---|
";

impl Row {
    fn write(&self, table: &mut String) {
        let Self {
            client,
            sent,
            answers_lost,
            requests_lost,
            beside_dead,
            refused,
            attempts,
            told,
            ambiguous,
            failures,
            mined,
        } = self;
        let (ambiguous, failed) = (ambiguous.len(), failures.len());
        writeln!(
            table,
            "| {client} | {sent} | {beside_dead} | {answers_lost} | {requests_lost} | {refused} | {attempts} | \
             {told} | {ambiguous} | {failed} | {mined} |"
        )
        .expect("invariant: text takes all");
    }
}

/// Sends `count` transactions of 1, 2, 3 … wei with one client and compares what it was told with the
/// node's blocks.
fn run(client: &'static str, chain: &str, count: u64, trouble: fn(u64) -> Trouble) -> Row {
    let node = Anvil::start();
    let mut lines = Lines::start(node.address(), ENDPOINTS);
    let gateway = Gateway::configured(&lines.urls(), "", chain);
    let mut sender = match client {
        "viem" => Sender::program(Library::Viem, gateway.url()),
        "ethers" => Sender::program(Library::Ethers, gateway.url()),
        "web3.py" => Sender::program(Library::Web3Py, gateway.url()),
        "alloy" => Sender::alloy(&gateway.url()),
        other => panic!("no client {other}"),
    };
    let (mut all, mut beside_dead) = (Vec::new(), 0);
    for number in 0..count {
        let Trouble { dead, mishaps } = trouble(number);
        beside_dead += usize::from(!dead.is_empty());
        lines.only_dead(&dead);
        lines.next_sends(&mishaps);
        all.push(sender.transfer(RECEIVER, number + 1));
        if number % BLOCK == BLOCK - 1 {
            node.call("evm_mine", &json!([]));
        }
    }
    node.call("evm_mine", &json!([]));

    let mined = mined(&node);
    let mut row = Row {
        client,
        sent: count,
        told: 0,
        ambiguous: Vec::new(),
        failures: Vec::new(),
        mined: mined.len() as u64,
        attempts: gateway.attempts("eth_sendRawTransaction"),
        beside_dead,
        refused: 0,
        answers_lost: lines.sends().answers_lost,
        requests_lost: lines.sends().requests_lost,
    };
    row.refused = row.attempts - lines.sends().arrived as u64;
    for (number, Sent { hash, told }) in all.iter().enumerate() {
        match told {
            Told::Hash(said) | Told::Ambiguous(said) => {
                assert_eq!(said, hash, "{client}: the hash of transaction {number}");
            }
            Told::Failure(_) => {}
        }
        match told {
            Told::Hash(_) => row.told += 1,
            Told::Ambiguous(_) => row.ambiguous.push(number),
            Told::Failure(error) => row.failures.push(format!("{number}: {error}")),
        }
    }
    // What the client was told of as sent is in the blocks, once and in its order; besides that only
    // what it was told may be there.
    let expected: Vec<(u64, &Sent)> = (1..)
        .zip(&all)
        .filter(|(_, sent)| matches!(sent.told, Told::Hash(_)) || mined.contains(&sent.hash))
        .filter(|(_, sent)| !matches!(sent.told, Told::Failure(_)))
        .collect();
    let hashes = expected.iter().map(|(_, sent)| &sent.hash);
    assert!(hashes.eq(&mined), "{client}: {row:?}");
    let nonce = node.call("eth_getTransactionCount", &json!([ACCOUNT, "latest"]));
    assert_eq!(nonce, format!("{:#x}", mined.len()), "{client}");
    let paid = node.call("eth_getBalance", &json!([RECEIVER, "latest"]));
    let sum: u64 = expected.iter().map(|(value, _)| value).sum();
    assert_eq!(paid, format!("{sum:#x}"), "{client}");
    row
}

/// The hashes of all transactions in the node's blocks, in their order.
fn mined(node: &Anvil) -> Vec<String> {
    let head = node.call("eth_blockNumber", &json!([]));
    let head = head.as_str().and_then(|hex| hex.strip_prefix("0x"));
    let head = head.and_then(|hex| u64::from_str_radix(hex, 16).ok());
    let block = |number| {
        node.call(
            "eth_getBlockByNumber",
            &json!([format!("{number:#x}"), false]),
        )
    };
    let blocks = (0..=head.expect("a number")).map(block);
    let hashes = |block: Value| {
        block["transactions"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    };
    let hashes = blocks.flat_map(hashes);
    hashes
        .map(|hash| hash.as_str().expect("a hash").to_owned())
        .collect()
}

/// All clients at once, each with a node and a gateway of its own; prints the table.
fn run_all(chain: &'static str, count: u64, trouble: fn(u64) -> Trouble) -> Vec<Row> {
    let started = CLIENTS.map(|client| thread::spawn(move || run(client, chain, count, trouble)));
    let ended = started.map(|thread| thread.join());
    let rows: Vec<Row> = ended
        .into_iter()
        .map(|row| row.expect("the messages above say what is wrong"))
        .collect();
    let mut table = HEAD.to_owned();
    for row in &rows {
        row.write(&mut table);
    }
    println!("{table}");
    rows
}

// R-35, G-2
#[test]
fn every_transaction_is_mined_once_and_every_client_is_told_so() {
    // A dead endpoint is tried again soon: the whole run is shorter than the default cool-down. Every
    // call may move on: how much that may cost depends on how fast the clients are, and is not
    // what this is about.
    let chain = "writes = \"failover\"\nverify_writes = true\n\
                 breaker.cooldown = \"50ms\"\nbreaker.max_cooldown = \"100ms\"\n\
                 retry.budget_per_second = 1000";
    let met = |of: fn(Mishap) -> bool| (0..SENDS).map(|number| trouble(number).met(of)).sum();
    let requests: usize = met(|mishap| mishap == Mishap::RequestLost);
    let answers: usize = met(|mishap| mishap != Mishap::RequestLost);
    for row in run_all(chain, SENDS, trouble) {
        assert_eq!(row.failures, Vec::<String>::new(), "{}", row.client);
        assert_eq!(row.ambiguous, Vec::<usize>::new(), "{}", row.client);
        assert_eq!((row.told, row.mined), (SENDS, SENDS), "{row:?}");
        assert_eq!(row.beside_dead, 70, "{row:?}");
        // It went on to the next each time, and to nobody more than was needed.
        assert_eq!(row.answers_lost, answers, "{row:?}");
        assert_eq!(row.requests_lost, requests, "{row:?}");
    }
}

// R-35, G-2
#[test]
fn without_failover_and_look_up_every_client_gets_the_hash_of_what_stays_open() {
    let chain = "writes = \"once\"\nverify_writes = false\nbreaker.enabled = false";
    let trouble = |_| Trouble {
        dead: Vec::new(),
        mishaps: vec![Mishap::AnswerLost],
    };
    for row in run_all(chain, 20, trouble) {
        assert_eq!(row.failures, Vec::<String>::new(), "{}", row.client);
        assert_eq!((row.told, row.ambiguous.len()), (0, 20), "{row:?}");
        assert_eq!(row.mined, 20, "{row:?}");
        assert_eq!((row.attempts, row.answers_lost), (20, 20), "{row:?}");
    }
}
