//! Endpoints that get it wrong, and what each library shows of that behind the gateway.

use crate::fault::{self, BALANCE, Fault, Operation, Sees};
use highwater_compat::{ACCOUNT, Client, Gateway, Library, Shown, Tap, fresh_address};
use highwater_lab::sockets::{Answer, ScriptedNode};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

/// A limit that is learned of an endpoint would keep later requests from it: this is about what comes
/// of each.
const CHAIN: &str = "budget = { learn = false }";

/// One gateway with a chain for each fault: an endpoint that has the fault, and behind it a good one
/// or none.
struct Lab {
    library: Library,
    client: Client,
    tap: Tap,
    chains: Vec<Faulty>,
    _gateway: Gateway,
    _runtime: Runtime,
}

struct Faulty {
    fault: Fault,
    id: u64,
    bad: ScriptedNode,
    good: Option<ScriptedNode>,
}

async fn node(id: u64, play: fn(&ScriptedNode)) -> ScriptedNode {
    let node = ScriptedNode::start_on(fresh_address())
        .await
        .expect("the address is free");
    node.set_chain_id(id);
    play(&node);
    // Of several rules the first decides.
    node.on("eth_getBalance")
        .always(Answer::result(format!("\"{BALANCE:#x}\"")));
    node
}

impl Lab {
    fn start(library: Library, beside_a_good_one: bool) -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let chains: Vec<Faulty> = runtime.block_on(async {
            let mut chains = Vec::new();
            for (fault, id) in fault::all().into_iter().zip(7_000_000..) {
                let bad = node(id, fault.play).await;
                let good = if beside_a_good_one {
                    Some(node(id, |_| ()).await)
                } else {
                    None
                };
                chains.push(Faulty {
                    fault,
                    id,
                    bad,
                    good,
                });
            }
            chains
        });
        let configured: Vec<(String, u64, Vec<String>)> = chains
            .iter()
            .map(|chain| {
                let urls = [&chain.bad].into_iter().chain(&chain.good);
                let urls = urls.map(ScriptedNode::url).collect();
                (chain.fault.name.to_owned(), chain.id, urls)
            })
            .collect();
        let gateway = Gateway::chains(&configured, "", CHAIN);
        Self {
            library,
            client: Client::start(library),
            tap: Tap::start(gateway.address()),
            chains,
            _gateway: gateway,
            _runtime: runtime,
        }
    }

    /// Lets the client meet each fault; gives what it saw and how many requests it took.
    fn each(&mut self, check: fn(Library, &Faulty, &Result<Value, Shown>, usize)) {
        for chain in &self.chains {
            let name = chain.fault.name;
            let (operation, method) = match chain.fault.operation {
                Operation::Balance => ("balance", "eth_getBalance"),
                Operation::Call => ("failCall", "eth_call"),
                Operation::Batch => ("batch", "eth_getBalance"),
            };
            let url = format!("{}/{name}", self.tap.url());
            let order = json!({"op": operation, "url": url, "address": ACCOUNT, "cell": ACCOUNT});
            let saw = self.client.ask(&order);
            let bodies = self.tap.bodies(&format!("/{name}"));
            let quoted = format!("\"{method}\"");
            let requests = bodies.iter().filter(|body| body.contains(&quoted)).count();
            assert!(chain.bad.record().count(method) > 0, "{name} was not met");
            check(self.library, chain, &saw, requests);
        }
    }
}

fn answer(chain: &Faulty) -> Value {
    let balance = BALANCE.to_string();
    match chain.fault.operation {
        Operation::Balance => json!(balance),
        // A scripted node has 100 blocks.
        Operation::Batch => json!([{"ok": "100"}, {"ok": balance}, {"ok": chain.id.to_string()}]),
        Operation::Call => unreachable!("its faults are reverts"),
    }
}

/// viem asks four times, with pauses, where it is told of a limit or of an inner failure; it would do
/// the same with a bare node. The others take every answer under HTTP 200 for the last word.
fn requests_for(library: Library, code: i64) -> usize {
    match library {
        Library::Viem if [-32_005, -32_603].contains(&code) => 4,
        Library::Viem | Library::Ethers | Library::Web3Py => 1,
    }
}

#[track_caller]
fn assert_error(library: Library, name: &str, shown: &Shown, code: i64) {
    assert_eq!(shown.code, Some(code), "{name}: {shown:?}");
    let class = match (library, code) {
        (Library::Viem, -32_005) => "LimitExceededRpcError",
        (Library::Viem, -32_603) => "InternalRpcError",
        (Library::Viem, _) => "RpcRequestError",
        (Library::Ethers, _) => "UNKNOWN_ERROR",
        (Library::Web3Py, _) => "Web3RPCError",
    };
    assert_eq!(shown.name, class, "{name}: {shown:?}");
}

#[track_caller]
fn assert_revert(library: Library, name: &str, shown: &Shown, decoded: fault::Decoded) {
    let [viem, ethers, web3_py] = decoded;
    let (class, (reason, with_data)) = match library {
        Library::Viem => ("ContractFunctionExecutionError", viem),
        Library::Ethers => ("CALL_EXCEPTION", ethers),
        Library::Web3Py => ("ContractLogicError", web3_py),
    };
    assert_eq!(shown.name, class, "{name}: {shown:?}");
    assert_eq!(shown.reason.as_deref(), reason, "{name}: {shown:?}");
    // web3.py writes "no data".
    let data = shown.data.as_deref().filter(|data| data.starts_with("0x"));
    assert_eq!(data.is_some(), with_data, "{name}: {shown:?}");
}

fn a_good_endpoint_makes_up_for_one_that_is_wrong(library: Library) {
    Lab::start(library, true).each(|library, chain, saw, requests| {
        let name = chain.fault.name;
        let good = chain.good.as_ref().map(ScriptedNode::record);
        let asked = |method: &str| good.map_or(0, |record| record.count(method));
        match (chain.fault.sees, saw) {
            (Sees::Answer | Sees::Error(_), Ok(result)) => {
                assert_eq!(*result, answer(chain), "{name}");
                let made_up = usize::from(chain.fault.sees != Sees::Answer);
                assert_eq!(asked("eth_getBalance"), made_up, "{name}");
                assert_eq!(requests, 1, "{name}");
            }
            // Another endpoint would say the same, so none is asked.
            (Sees::Revert { code, decoded }, Err(shown)) => {
                assert_revert(library, name, shown, decoded);
                assert_eq!(asked("eth_call"), 0, "{name}");
                assert_eq!(requests, requests_for(library, code), "{name}");
            }
            (sees, saw) => panic!("{name}: {saw:?} in place of {sees:?}"),
        }
    });
}

fn alone_an_endpoint_that_is_wrong_shows_as_a_legal_error(library: Library) {
    Lab::start(library, false).each(|library, chain, saw, requests| {
        let name = chain.fault.name;
        let expected = match (chain.fault.sees, saw) {
            (Sees::Answer, Ok(result)) => {
                assert_eq!(*result, answer(chain), "{name}");
                1
            }
            // A batch loses only the member, except with web3.py, which raises the first error.
            (Sees::Error(code), Ok(members)) if chain.fault.operation == Operation::Batch => {
                assert_ne!(library, Library::Web3Py, "{name}: {members}");
                let shown = Shown::of(&members[1]["error"]);
                assert_error(library, name, &shown, code);
                assert_eq!(members[0], answer(chain)[0], "{name}");
                assert_eq!(members[2], answer(chain)[2], "{name}");
                requests_for(library, code)
            }
            (Sees::Error(code), Err(shown)) => {
                assert_error(library, name, shown, code);
                requests_for(library, code)
            }
            (Sees::Revert { code, decoded }, Err(shown)) => {
                assert_revert(library, name, shown, decoded);
                requests_for(library, code)
            }
            (sees, saw) => panic!("{name}: {saw:?} in place of {sees:?}"),
        };
        assert_eq!(requests, expected, "{name}");
    });
}

with_each_library! {
    // G-1, G-2
    a_good_endpoint_makes_up_for_one_that_is_wrong
    // G-1, G-2
    alone_an_endpoint_that_is_wrong_shows_as_a_legal_error
}
