// A program written with ethers. See converse.mjs for what it is told and what it says.
import { converse, load, members } from './converse.mjs'

const { Contract, ContractFactory, JsonRpcProvider, JsonRpcSigner, Transaction, Wallet } = load('ethers')

const abi = [
  'event Changed(address indexed who, uint256 value)',
  'function get() view returns (uint256)',
  'function set(uint256 value)',
  'function fail() view',
]

// What another ABI might have that the contract lacks.
const missing = ['function missing() view returns (uint256)']

// ethers' poller stops for good when a poll falls due while its first one is under way, which happens
// with a short interval on a busy machine. Here a poll that falls due waits for the one before.
class Provider extends JsonRpcProvider {
  #asked = Promise.resolve()

  getBlockNumber() {
    const number = super.getBlockNumber()
    this.#asked = Promise.allSettled([this.#asked, number])
    return number
  }

  _setTimeout(work, interval) {
    return super._setTimeout(() => this.#asked.then(() => setImmediate(work)), interval)
  }
}

// Providers are kept, as a program would. Nothing is answered from memory: every call is a request.
const kept = new Map()
function provider({ url }) {
  if (!kept.has(url)) {
    const made = new Provider(url, undefined, { cacheTimeout: -1 })
    made.pollingInterval = 20
    kept.set(url, made)
  }
  return kept.get(url)
}

const signer = (o) => new Wallet(o.key, provider(o))
const cell = (o, runner) => new Contract(o.cell, abi, runner)

const receipt = (it) => it && {
  status: it.status,
  block: it.blockNumber,
  contract: it.contractAddress?.toLowerCase() ?? null,
  logs: it.logs.length,
}

const operations = {
  connect: async (o) => (await provider(o).getNetwork()).chainId > 0n,
  chainId: async (o) => Number((await provider(o).getNetwork()).chainId),
  blockNumber: async (o) => provider(o).getBlockNumber(),
  block: async (o) => {
    const block = await provider(o).getBlock(o.hash ?? o.number)
    return block && { number: block.number, hash: block.hash, transactions: block.transactions.length }
  },
  balance: async (o) => (await provider(o).getBalance(o.address, o.block)).toString(),
  code: async (o) => provider(o).getCode(o.address),
  transaction: async (o) => {
    const transaction = await provider(o).getTransaction(o.hash)
    return transaction && { hash: transaction.hash, block: transaction.blockNumber }
  },
  receipt: async (o) => receipt(await provider(o).getTransactionReceipt(o.hash)),
  batch: async (o) => {
    const to = provider(o)
    const calls = [to.send('eth_blockNumber', []), to.getBalance(o.address), to.send('eth_chainId', [])]
    if (o.refused) calls.splice(1, 0, to.send(o.refused, []))
    const outcome = await members(calls, describe)
    return outcome.map((one) => (one.error ? one : { ok: BigInt(one.ok).toString() }))
  },
  deploy: async (o) => {
    const contract = await new ContractFactory(abi, o.code, signer(o)).deploy()
    return contract.deploymentTransaction().hash
  },
  set: async (o) => (await cell(o, signer(o)).set(o.value)).hash,
  wait: async (o) => receipt(await provider(o).waitForTransaction(o.hash)),
  get: async (o) => (await cell(o, provider(o)).get()).toString(),
  logs: async (o) => {
    const logs = await cell(o, provider(o)).queryFilter('Changed', 0)
    return logs.map(({ args, transactionHash, blockNumber }) => ({
      who: args.who.toLowerCase(), value: args.value.toString(),
      transaction: transactionHash, block: blockNumber,
    }))
  },
  failCall: async (o) => cell(o, provider(o)).fail(),
  failEstimate: async (o) => cell(o, provider(o)).fail.estimateGas(),
  // A view function is called, not sent, so the send is spelt out.
  failSend: async (o) => {
    const data = cell(o, provider(o)).interface.encodeFunctionData('fail')
    return (await signer(o).sendTransaction({ to: o.cell, data })).hash
  },
  transfer: async (o) => {
    const filled = await signer(o).populateTransaction({ to: o.to, value: BigInt(o.value) })
    const raw = await signer(o).signTransaction(filled)
    const sent = provider(o).broadcastTransaction(raw).then(({ hash }) => hash)
    return { hash: Transaction.from(raw).hash, sent: (await members([sent], describe))[0] }
  },
  missingCall: async (o) => new Contract(o.cell, missing, provider(o)).missing(),
  nodeAccounts: async (o) => provider(o).send('eth_accounts', []),
  nodeSign: async (o) => new JsonRpcSigner(provider(o), o.account).signMessage('x'),
  nodeSend: async (o) =>
    new JsonRpcSigner(provider(o), o.account).sendUncheckedTransaction({
      to: o.account, value: 1n, gasLimit: 21000n,
    }),
}

function describe(error) {
  const answered = error.info?.error ?? error.error
  return {
    name: error.code ?? error.name,
    text: error.shortMessage ?? error.message,
    code: answered?.code ?? null,
    reason: error.reason ?? null,
    data: error.data ?? null,
    ambiguous: answered?.data?.reason === 'ambiguous' ? answered.data.hash : null,
  }
}

converse(operations, describe)
