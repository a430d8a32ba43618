"""A program written with web3.py.

Started as `python3 web3_client.py` with the library on PYTHONPATH. What it is told and what it says
is described in converse.mjs.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from queue import SimpleQueue
from threading import Event, Lock, Thread

from eth_account import Account
from web3 import Web3
from web3.exceptions import ContractLogicError, Web3RPCError
from web3.method import Method
from web3.middleware import SignAndSendRawMiddlewareBuilder

ABI = [
    {
        "type": "event",
        "name": "Changed",
        "anonymous": False,
        "inputs": [
            {"name": "who", "type": "address", "indexed": True},
            {"name": "value", "type": "uint256", "indexed": False},
        ],
    },
    {"type": "function", "name": "get", "stateMutability": "view", "inputs": [], "outputs": [{"type": "uint256"}]},
    {
        "type": "function",
        "name": "set",
        "stateMutability": "nonpayable",
        "inputs": [{"name": "value", "type": "uint256"}],
        "outputs": [],
    },
    {"type": "function", "name": "fail", "stateMutability": "view", "inputs": [], "outputs": []},
]

# What another ABI might have that the contract lacks.
MISSING = [
    {"type": "function", "name": "missing", "stateMutability": "view", "inputs": [], "outputs": [{"type": "uint256"}]}
]

KEPT = {}


def client(order):
    """Kept, as a program would. `retries: false` turns off the library's own, which hide errors."""
    url, retries, key = order["url"], order.get("retries", True), order.get("key")
    name = (url, retries, key)
    if name not in KEPT:
        provider = Web3.HTTPProvider(url)
        if not retries:
            provider.exception_retry_configuration = None
        w3 = Web3(provider)
        if key:
            account = Account.from_key(key)
            w3.middleware_onion.inject(SignAndSendRawMiddlewareBuilder.build(account), layer=0)
            w3.eth.default_account = account.address
        KEPT[name] = w3
    return KEPT[name]


def address(text):
    return Web3.to_checksum_address(text)


def cell(order, abi=ABI):
    return client(order).eth.contract(address=address(order["cell"]), abi=abi)


def described_receipt(receipt):
    contract = receipt["contractAddress"]
    return {
        "status": receipt["status"],
        "block": receipt["blockNumber"],
        "contract": contract and contract.lower(),
        "logs": len(receipt["logs"]),
    }


def block(order):
    found = client(order).eth.get_block(order.get("hash", order.get("number")))
    return {
        "number": found["number"],
        "hash": found["hash"].to_0x_hex(),
        "transactions": len(found["transactions"]),
    }


def transaction(order):
    found = client(order).eth.get_transaction(order["hash"])
    return {"hash": found["hash"].to_0x_hex(), "block": found["blockNumber"]}


def batch(order):
    w3 = client(order)
    with w3.batch_requests() as calls:
        calls.add(w3.eth.block_number)
        if "refused" in order:
            w3.eth.attach_methods({"refused": Method(order["refused"])})
            calls.add(w3.eth.refused())
        calls.add(w3.eth.get_balance(address(order["address"])))
        calls.add(w3.eth.chain_id)
        # The library raises the first error of a batch, in place of all of its answers.
        return [{"ok": str(answer)} for answer in calls.execute()]


def logs(order):
    found = cell(order).events.Changed().get_logs(from_block=0)
    return [
        {
            "who": log["args"]["who"].lower(),
            "value": str(log["args"]["value"]),
            "transaction": log["transactionHash"].to_0x_hex(),
            "block": log["blockNumber"],
        }
        for log in found
    ]


def wait(order):
    return described_receipt(client(order).eth.wait_for_transaction_receipt(order["hash"], poll_latency=0.02))


def node_send(order):
    to = address(order["account"])
    return client(order).eth.send_transaction({"from": to, "to": to, "value": 1, "gas": 21000, "gasPrice": 10**10})


def transfer(order):
    w3, account = client(order), Account.from_key(order["key"])
    to = address(order["to"])
    signed = account.sign_transaction(
        {
            "chainId": w3.eth.chain_id,
            "nonce": w3.eth.get_transaction_count(account.address, "pending"),
            "to": to,
            "value": order["value"],
            "gas": w3.eth.estimate_gas({"from": account.address, "to": to, "value": order["value"]}),
            "gasPrice": w3.eth.gas_price,
        }
    )
    try:
        sent = {"ok": w3.eth.send_raw_transaction(signed.raw_transaction).to_0x_hex()}
    except Exception as error:  # Whatever the library raises is what the test asks for.
        sent = {"error": described(error)}
    return {"hash": signed.hash.to_0x_hex(), "sent": sent}


OPERATIONS = {
    "connect": lambda o: client(o).is_connected(),
    "chainId": lambda o: client(o).eth.chain_id,
    "blockNumber": lambda o: client(o).eth.block_number,
    "block": block,
    "balance": lambda o: str(client(o).eth.get_balance(address(o["address"]), o.get("block"))),
    "code": lambda o: client(o).eth.get_code(address(o["address"])).to_0x_hex(),
    "transaction": transaction,
    "receipt": lambda o: described_receipt(client(o).eth.get_transaction_receipt(o["hash"])),
    "batch": batch,
    "deploy": lambda o: client(o).eth.contract(abi=ABI, bytecode=o["code"]).constructor().transact().to_0x_hex(),
    "set": lambda o: cell(o).functions.set(o["value"]).transact().to_0x_hex(),
    "wait": wait,
    "get": lambda o: str(cell(o).functions.get().call()),
    "logs": logs,
    "failCall": lambda o: cell(o).functions.fail().call(),
    "failEstimate": lambda o: cell(o).functions.fail().estimate_gas({"from": address(o["account"])}),
    "failSend": lambda o: cell(o).functions.fail().transact().to_0x_hex(),
    "transfer": transfer,
    "missingCall": lambda o: cell(o, MISSING).functions.missing().call(),
    "nodeAccounts": lambda o: list(client(o).eth.accounts),
    "nodeSign": lambda o: client(o).eth.sign(address(o["account"]), text="x").to_0x_hex(),
    "nodeSend": lambda o: node_send(o).to_0x_hex(),
}


def described(error):
    answered = error.rpc_response["error"] if isinstance(error, Web3RPCError) and error.rpc_response else {}
    data = answered.get("data")
    ambiguous = isinstance(data, dict) and data.get("reason") == "ambiguous"
    reverted = isinstance(error, ContractLogicError)
    return {
        "name": type(error).__name__,
        "text": str(error),
        "code": answered.get("code"),
        "reason": error.message if reverted else None,
        "data": error.data if reverted else None,
        "ambiguous": data["hash"] if ambiguous else None,
    }


SAYING = Lock()


def say(line):
    with SAYING:
        print(json.dumps(line), flush=True)


def carried_out(order):
    operation = OPERATIONS[order["op"]]
    try:
        return {"ok": operation(order)}
    except Exception as error:  # Whatever the library raises is what the test asks for.
        return {"error": described(error)}


def read(order, stopped):
    questions, numbers = order["questions"], count()

    def lane():
        done = 0
        while not stopped.is_set():
            question = next(numbers) % len(questions)
            say({"question": question, **carried_out(questions[question])})
            done += 1
        return done

    with ThreadPoolExecutor(order["lanes"]) as pool:
        lanes = [pool.submit(lane) for _ in range(order["lanes"])]
        say({"reads": sum(lane.result() for lane in lanes)})
    stopped.clear()


def listen(orders, stopped):
    for line in sys.stdin:
        order = json.loads(line)
        if order["op"] == "stop":
            stopped.set()
        else:
            orders.put(order)
    orders.put(None)


def main():
    orders, stopped = SimpleQueue(), Event()
    Thread(target=listen, args=(orders, stopped), daemon=True).start()
    while (order := orders.get()) is not None:
        if order["op"] == "reads":
            read(order, stopped)
        else:
            say(carried_out(order))


main()
