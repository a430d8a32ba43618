// What the two JavaScript drivers share: orders on standard input, one JSON line of answer for each.
//
// Started as `node DRIVER TOOLS`, where TOOLS is the folder that holds `node_modules`. An order is
// `{"op": NAME, "url": GATEWAY, …}`; the answer is `{"ok": RESULT}`, or `{"error": {…}}` with the error
// as the library shows it. Orders are carried out in turn.
//
// The order `reads` repeats its `questions` (orders themselves), `lanes` of them at a time, until a
// line `{"op": "stop"}` comes. Each read is one line, `{"question": INDEX, "ok" or "error": …}`, and the
// last is `{"reads": COUNT}`.
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

// A module of the tools folder, wherever this file is.
export const load = createRequire(`${process.argv[2]}/`)

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)

export function converse(operations, describe) {
  let stopped = false

  const carryOut = async ({ op, ...order }) => {
    const operation = operations[op]
    if (!operation) throw new Error(`no operation ${op}`)
    // Only what the library does may be reported as its error; a fault here ends the process.
    return operation(order).then(
      (ok) => ({ ok: ok ?? null }),
      (error) => ({ error: describe(error) }),
    )
  }

  const read = async ({ questions, lanes }) => {
    let next = 0
    const lane = async () => {
      while (!stopped) {
        const question = next++ % questions.length
        say({ question, ...(await carryOut(questions[question])) })
      }
    }
    await Promise.all(Array.from({ length: lanes }, lane))
    say({ reads: next })
    stopped = false
  }

  let turn = Promise.resolve()
  createInterface({ input: process.stdin }).on('line', (line) => {
    const order = JSON.parse(line)
    if (order.op === 'stop') stopped = true
    else turn = turn.then(() => (order.op === 'reads' ? read(order) : carryOut(order).then(say)))
  }).on('close', () => turn.then(() => process.exit()))
}

// What became of the members of a batch, each for itself.
export const members = async (promises, describe) =>
  (await Promise.allSettled(promises)).map(({ status, value, reason }) =>
    status === 'fulfilled' ? { ok: value } : { error: describe(reason) },
  )
