//! What is asked: every read with the parameters a client would use, and some that are wrong.

use crate::fixture::Fixture;
use highwater_compat::{ACCOUNT, CHANGED_TOPIC, FAIL, GET, SECOND_ACCOUNT, SET};
use serde_json::{Value, json};

/// A method and its parameters as JSON text, since spelling matters here.
pub(crate) struct Case {
    pub(crate) method: &'static str,
    pub(crate) params: String,
}

/// A hash that names nothing.
const NOWHERE: &str = "0x00000000000000000000000000000000000000000000000000000000000000ff";

/// Every read, several times.
pub(crate) fn cases(f: &Fixture) -> Vec<Case> {
    let mut all = Vec::new();
    fixed(&mut all);
    blocks(&mut all, f);
    transactions(&mut all, f);
    state(&mut all, f);
    calls(&mut all, f);
    logs(&mut all, f);
    traces(&mut all, f);
    otterscan(&mut all, f);
    wrong(&mut all, f);
    all
}

fn add(all: &mut Vec<Case>, method: &'static str, params: &[Value]) {
    all.extend(params.iter().map(|params| Case {
        method,
        params: params.to_string(),
    }));
}

fn fixed(all: &mut Vec<Case>) {
    for method in [
        "eth_chainId",
        "net_version",
        "eth_protocolVersion",
        "eth_config",
        "eth_blockNumber",
        "eth_gasPrice",
        "eth_maxPriorityFeePerGas",
        "eth_blobBaseFee",
        "eth_syncing",
        "eth_coinbase",
        "eth_hashrate",
        "eth_getWork",
        "net_listening",
        "txpool_status",
        "txpool_content",
        "txpool_inspect",
        "ots_getApiLevel",
    ] {
        add(all, method, &[json!([])]);
    }
    add(all, "web3_sha3", &[json!(["0x68656c6c6f"]), json!(["0x"])]);
    add(
        all,
        "eth_feeHistory",
        &[
            json!(["0x4", "latest", [10, 50]]),
            json!(["0x2", "0x3", []]),
            json!([2, "0x3", [25.5]]),
        ],
    );
}

fn blocks(all: &mut Vec<Case>, f: &Fixture) {
    for number in [
        "0x0",
        "0x1",
        "0x2",
        "0x3",
        "0x4",
        "latest",
        "earliest",
        "safe",
        "finalized",
        "0x63",
    ] {
        add(
            all,
            "eth_getBlockByNumber",
            &[json!([number, false]), json!([number, true])],
        );
        for method in [
            "eth_getBlockTransactionCountByNumber",
            "eth_getUncleCountByBlockNumber",
            "eth_getBlockReceipts",
            "erigon_getHeaderByNumber",
        ] {
            add(all, method, &[json!([number])]);
        }
        add(
            all,
            "eth_getUncleByBlockNumberAndIndex",
            &[json!([number, "0x0"])],
        );
        for method in [
            "eth_getTransactionByBlockNumberAndIndex",
            "eth_getRawTransactionByBlockNumberAndIndex",
        ] {
            add(
                all,
                method,
                &[json!([number, "0x0"]), json!([number, "0x9"])],
            );
        }
    }
    for hash in f.block_hashes.iter().map(String::as_str).chain([NOWHERE]) {
        add(
            all,
            "eth_getBlockByHash",
            &[json!([hash, false]), json!([hash, true])],
        );
        for method in [
            "eth_getBlockTransactionCountByHash",
            "eth_getUncleCountByBlockHash",
            "eth_getBlockReceipts",
        ] {
            add(all, method, &[json!([hash])]);
        }
        add(
            all,
            "eth_getUncleByBlockHashAndIndex",
            &[json!([hash, "0x0"])],
        );
        for method in [
            "eth_getTransactionByBlockHashAndIndex",
            "eth_getRawTransactionByBlockHashAndIndex",
        ] {
            add(all, method, &[json!([hash, "0x1"])]);
        }
    }
}

fn transaction_hashes(f: &Fixture) -> [&str; 7] {
    [
        &f.deploy,
        &f.transfer,
        &f.set,
        &f.set_with_access_list,
        &f.failed,
        &f.pending,
        NOWHERE,
    ]
}

fn transactions(all: &mut Vec<Case>, f: &Fixture) {
    for hash in transaction_hashes(f) {
        for method in [
            "eth_getTransactionByHash",
            "eth_getTransactionReceipt",
            "eth_getRawTransactionByHash",
            "debug_getRawTransaction",
        ] {
            add(all, method, &[json!([hash])]);
        }
    }
    for nonce in ["0x0", "0x1", "0x2", "0x7"] {
        add(
            all,
            "eth_getTransactionBySenderAndNonce",
            &[json!([ACCOUNT, nonce]), json!([SECOND_ACCOUNT, nonce])],
        );
    }
}

fn state(all: &mut Vec<Case>, f: &Fixture) {
    let slot = format!("0x{:064x}", 0);
    let by_hash = json!({"blockHash": f.block_hashes[2]});
    let canonical = json!({"blockHash": f.block_hashes[3], "requireCanonical": true});
    let by_number = json!({"blockNumber": "0x2"});
    let names = [
        "latest",
        "earliest",
        "safe",
        "finalized",
        "0x0",
        "0x1",
        "0x2",
        "0x4",
    ]
    .map(Value::from);
    for block in names.into_iter().chain([by_hash, canonical, by_number]) {
        for address in [ACCOUNT, SECOND_ACCOUNT, &f.cell] {
            for method in [
                "eth_getBalance",
                "eth_getTransactionCount",
                "eth_getCode",
                "eth_getAccount",
                "eth_getAccountInfo",
            ] {
                add(all, method, &[json!([address, block])]);
            }
        }
        add(
            all,
            "eth_getStorageAt",
            &[json!([f.cell, "0x0", block]), json!([f.cell, slot, block])],
        );
        add(
            all,
            "eth_getStorageValues",
            &[json!([{&f.cell: [slot]}, block])],
        );
        add(
            all,
            "eth_getProof",
            &[json!([f.cell, [slot], block]), json!([ACCOUNT, [], block])],
        );
    }
    add(
        all,
        "eth_getTransactionCount",
        &[json!([SECOND_ACCOUNT, "pending"])],
    );
    add(all, "eth_getBalance", &[json!([SECOND_ACCOUNT, "pending"])]);
    for method in ["eth_getBalance", "eth_getTransactionCount", "eth_getCode"] {
        // The block left out, and an address in capitals.
        add(
            all,
            method,
            &[
                json!([f.cell]),
                json!([f.cell.to_uppercase().replace("0X", "0x")]),
            ],
        );
    }
}

fn calls(all: &mut Vec<Case>, f: &Fixture) {
    let get = json!({"to": f.cell, "data": GET});
    let set = json!({"from": ACCOUNT, "to": f.cell, "input": format!("{SET}{:064x}", 9)});
    let fail = json!({"to": f.cell, "data": FAIL});
    let nothing = json!({"to": f.cell, "data": "0x12345678"});
    let overrides =
        json!({&f.cell: {"stateDiff": {format!("0x{:064x}", 0): format!("0x{:064x}", 99)}}});
    for block in ["latest", "0x1", "0x2", "0x4"] {
        for call in [&get, &set, &fail, &nothing] {
            add(all, "eth_call", &[json!([call, block])]);
            add(all, "eth_estimateGas", &[json!([call, block])]);
            add(all, "eth_createAccessList", &[json!([call, block])]);
        }
        add(all, "eth_call", &[json!([get, block, overrides])]);
    }
    add(
        all,
        "eth_call",
        &[
            json!([get]),
            json!([get, {"blockHash": f.block_hashes[2]}]),
            json!([get, "latest", overrides, {"number": "0x10"}]),
            json!([{"to": f.cell, "data": GET, "gas": "0x5208", "from": ACCOUNT}, "latest"]),
        ],
    );
    add(
        all,
        "eth_estimateGas",
        &[
            json!([set]),
            json!([fail]),
            json!([get, "latest", overrides]),
        ],
    );
    add(all, "eth_createAccessList", &[json!([get])]);
    add(
        all,
        "eth_simulateV1",
        &[json!([{"blockStateCalls": [{"calls": [get, set, fail]}]}, "0x2"])],
    );
    add(all, "eth_fillTransaction", &[json!([set])]);
}

fn logs(all: &mut Vec<Case>, f: &Fixture) {
    let who = format!("0x{:0>64}", ACCOUNT.trim_start_matches("0x"));
    add(
        all,
        "eth_getLogs",
        &[
            json!([{"fromBlock": "0x0", "toBlock": "latest"}]),
            json!([{"fromBlock": "earliest", "toBlock": "0x4", "address": f.cell}]),
            json!([{"fromBlock": "0x0", "toBlock": "0x4", "topics": [CHANGED_TOPIC]}]),
            json!([{"fromBlock": "0x0", "toBlock": "0x4", "topics": [null, [who, NOWHERE]]}]),
            json!([{"fromBlock": "0x3", "toBlock": "0x4"}]),
            json!([{"blockHash": f.block_hashes[2]}]),
            json!([{"blockHash": f.block_hashes[2], "address": [f.cell, ACCOUNT]}]),
            json!([{"address": f.cell}]),
            json!([{}]),
            json!([{"fromBlock": "0x4", "toBlock": "0x1"}]),
        ],
    );
}

fn traces(all: &mut Vec<Case>, f: &Fixture) {
    let tracers = [
        json!({}),
        json!({"tracer": "callTracer"}),
        json!({"tracer": "prestateTracer"}),
    ];
    for hash in [&f.set, &f.failed, &f.deploy] {
        for tracer in &tracers {
            add(all, "debug_traceTransaction", &[json!([hash, tracer])]);
        }
        add(all, "trace_transaction", &[json!([hash])]);
    }
    let call_tracer = &tracers[1];
    add(
        all,
        "debug_traceBlockByNumber",
        &[
            json!(["0x2", call_tracer]),
            json!(["0x0", call_tracer]),
            json!(["0x63", call_tracer]),
        ],
    );
    add(
        all,
        "debug_traceBlockByHash",
        &[
            json!([f.block_hashes[2], call_tracer]),
            json!([NOWHERE, call_tracer]),
        ],
    );
    let get = json!({"to": f.cell, "data": GET});
    let fail = json!({"to": f.cell, "data": FAIL});
    add(
        all,
        "debug_traceCall",
        &[
            json!([get, "latest", {}]),
            json!([fail, "0x4", {"tracer": "callTracer"}]),
        ],
    );
    add(
        all,
        "debug_codeByHash",
        &[json!([NOWHERE, "latest"]), json!([NOWHERE, null])],
    );
    add(
        all,
        "trace_block",
        &[json!(["0x1"]), json!(["0x3"]), json!(["0x63"])],
    );
    add(
        all,
        "trace_replayBlockTransactions",
        &[json!(["0x2", ["trace"]])],
    );
    add(
        all,
        "trace_filter",
        &[
            json!([{"fromBlock": "0x1", "toBlock": "0x4"}]),
            json!([{"toAddress": [f.cell]}]),
        ],
    );
}

fn otterscan(all: &mut Vec<Case>, f: &Fixture) {
    add(
        all,
        "ots_hasCode",
        &[json!([f.cell, "latest"]), json!([ACCOUNT, "0x1"])],
    );
    add(
        all,
        "ots_getBlockDetails",
        &[json!(["0x2"]), json!(["latest"]), json!(["0x63"])],
    );
    add(
        all,
        "ots_getBlockDetailsByHash",
        &[json!([f.block_hashes[1]]), json!([NOWHERE])],
    );
    add(all, "ots_getBlockTransactions", &[json!(["0x2", 0, 10])]);
    for method in [
        "ots_getInternalOperations",
        "ots_getTransactionError",
        "ots_traceTransaction",
    ] {
        add(all, method, &[json!([f.set]), json!([f.failed])]);
    }
    for method in [
        "ots_searchTransactionsBefore",
        "ots_searchTransactionsAfter",
    ] {
        add(all, method, &[json!([ACCOUNT, 0, 5])]);
    }
    add(
        all,
        "ots_getTransactionBySenderAndNonce",
        &[json!([ACCOUNT, 1]), json!([ACCOUNT, 99])],
    );
    add(
        all,
        "ots_getContractCreator",
        &[json!([f.cell]), json!([ACCOUNT])],
    );
}

/// A node's refusal is its own to word.
fn wrong(all: &mut Vec<Case>, f: &Fixture) {
    add(
        all,
        "eth_getBalance",
        &[json!(["0x12", "latest"]), json!([5, "latest"])],
    );
    add(
        all,
        "eth_getBalance",
        &[
            json!([]),
            json!([ACCOUNT, "newest"]),
            json!([ACCOUNT, "0x63"]),
        ],
    );
    add(
        all,
        "eth_getBlockByNumber",
        &[json!([]), json!(["0x1"]), json!([true, true])],
    );
    add(
        all,
        "eth_getTransactionByHash",
        &[json!([]), json!(["0x1"]), json!([null])],
    );
    add(
        all,
        "eth_call",
        &[
            json!([]),
            json!([{"to": "cell"}, "latest"]),
            json!([{"to": f.cell}, 1.5]),
        ],
    );
    add(all, "eth_getLogs", &[json!([]), json!([{"topics": "0x1"}])]);
    add(all, "web3_sha3", &[json!([])]);
    add(all, "debug_traceTransaction", &[json!([NOWHERE, {}])]);
    let spaced = format!(" [ \"{ACCOUNT}\" ,\n\t\"latest\" ] ");
    all.push(Case {
        method: "eth_getBalance",
        params: spaced,
    });
    let escaped = format!("[\"\\u0030x{}\", \"late\\u0073t\"]", &ACCOUNT[2..]);
    all.push(Case {
        method: "eth_getBalance",
        params: escaped,
    });
}
