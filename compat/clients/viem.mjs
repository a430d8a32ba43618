// A program written with viem. See converse.mjs for what it is told and what it says.
import { converse, load, members } from './converse.mjs'

const {
  ContractFunctionRevertedError, createPublicClient, createWalletClient, defineChain, http, parseAbi,
  keccak256,
} = load('viem')
const { privateKeyToAccount } = load('viem/accounts')

const abi = parseAbi([
  'event Changed(address indexed who, uint256 value)',
  'function get() view returns (uint256)',
  'function set(uint256 value)',
  'function fail() view',
])

// What another ABI might have that the contract lacks.
const missing = parseAbi(['function missing() view returns (uint256)'])

// Clients are kept, as a program would. `retries: false` turns off viem's own, which hide errors.
const kept = new Map()
function keep(kind, { url, retries = true, key, chain }, make) {
  const name = JSON.stringify([kind, url, retries, key, chain])
  if (!kept.has(name)) kept.set(name, make(retries ? {} : { retryCount: 0 }))
  return kept.get(name)
}

// Nothing is answered from memory: every call is a request.
const reader = (order) =>
  keep('reader', order, (config) =>
    createPublicClient({ transport: http(order.url, config), cacheTime: 0, pollingInterval: 20 }),
  )

const batcher = (order) =>
  keep('batcher', order, (config) =>
    createPublicClient({ transport: http(order.url, { ...config, batch: true }), cacheTime: 0 }),
  )

const writer = (order) =>
  keep('writer', order, (config) =>
    createWalletClient({
      account: order.key ? privateKeyToAccount(order.key) : order.account,
      transport: http(order.url, config),
      chain: defineChain({
        id: order.chain,
        name: 'dev',
        nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
        rpcUrls: { default: { http: [order.url] } },
      }),
    }),
  )

const block = ({ number, hash, transactions }) => ({
  number: Number(number), hash, transactions: transactions.length,
})

const receipt = ({ status, blockNumber, contractAddress, logs }) => ({
  status: status === 'success' ? 1 : 0,
  block: Number(blockNumber),
  contract: contractAddress?.toLowerCase() ?? null,
  logs: logs.length,
})

const at = (block) => (block === undefined ? {} : { blockNumber: BigInt(block) })

const operations = {
  connect: async (o) => (await reader(o).getChainId()) > 0,
  chainId: async (o) => reader(o).getChainId(),
  blockNumber: async (o) => Number(await reader(o).getBlockNumber()),
  block: async (o) =>
    block(await reader(o).getBlock(o.hash ? { blockHash: o.hash } : at(o.number))),
  balance: async (o) =>
    (await reader(o).getBalance({ address: o.address, ...at(o.block) })).toString(),
  code: async (o) => (await reader(o).getCode({ address: o.address })) ?? '0x',
  transaction: async (o) => {
    const { hash, blockNumber } = await reader(o).getTransaction({ hash: o.hash })
    return { hash, block: Number(blockNumber) }
  },
  receipt: async (o) => receipt(await reader(o).getTransactionReceipt({ hash: o.hash })),
  batch: async (o) => {
    const client = batcher(o)
    const calls = [client.getBlockNumber(), client.getBalance({ address: o.address }), client.getChainId()]
    if (o.refused) calls.splice(1, 0, client.request({ method: o.refused }))
    const outcome = await members(calls, describe)
    return outcome.map((one) => (one.error ? one : { ok: one.ok.toString() }))
  },
  deploy: async (o) => writer(o).deployContract({ abi, bytecode: o.code }),
  set: async (o) =>
    writer(o).writeContract({ abi, address: o.cell, functionName: 'set', args: [BigInt(o.value)] }),
  wait: async (o) => receipt(await reader(o).waitForTransactionReceipt({ hash: o.hash })),
  get: async (o) =>
    (await reader(o).readContract({ abi, address: o.cell, functionName: 'get' })).toString(),
  logs: async (o) => {
    const logs = await reader(o).getContractEvents({
      abi, address: o.cell, eventName: 'Changed', fromBlock: 0n, strict: true,
    })
    return logs.map(({ args, transactionHash, blockNumber }) => ({
      who: args.who.toLowerCase(), value: args.value.toString(),
      transaction: transactionHash, block: Number(blockNumber),
    }))
  },
  failCall: async (o) => reader(o).readContract({ abi, address: o.cell, functionName: 'fail' }),
  failEstimate: async (o) =>
    reader(o).estimateContractGas({ abi, address: o.cell, functionName: 'fail', account: o.account }),
  failSend: async (o) => writer(o).writeContract({ abi, address: o.cell, functionName: 'fail' }),
  transfer: async (o) => {
    const request = await writer(o).prepareTransactionRequest({ to: o.to, value: BigInt(o.value) })
    const serializedTransaction = await writer(o).signTransaction(request)
    const sent = writer(o).sendRawTransaction({ serializedTransaction })
    return { hash: keccak256(serializedTransaction), sent: (await members([sent], describe))[0] }
  },
  missingCall: async (o) =>
    reader(o).readContract({ abi: missing, address: o.cell, functionName: 'missing' }),
  nodeAccounts: async (o) => writer(o).getAddresses(),
  nodeSign: async (o) => writer(o).signMessage({ message: 'x' }),
  nodeSend: async (o) => writer(o).sendTransaction({ to: o.account, value: 1n, gas: 21000n }),
}

function describe(error) {
  const coded = error.walk?.(({ code }) => typeof code === 'number')
  const reverted = error.walk?.((cause) => cause instanceof ContractFunctionRevertedError)
  return {
    name: error.name,
    text: error.shortMessage ?? error.message,
    code: coded?.code ?? null,
    reason: reverted?.reason ?? null,
    data: reverted?.raw ?? null,
    ambiguous: error.walk?.(({ data }) => data?.reason === 'ambiguous')?.data.hash ?? null,
  }
}

converse(operations, describe)
