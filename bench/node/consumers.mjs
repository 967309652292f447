// Consumers: how fast one with a handler that does nothing is beside the loop that one would write by hand, and how long an event takes
// from its append to the handler of an idle one. Prints `name<TAB>value` lines.

import { setTimeout as sleep } from 'node:timers/promises'
import { openSync } from '../../bindings/node/dist/index.mjs'
import { hundred } from './payload.mjs'

const COUNT = 50_000
const TURNS = Number(process.argv[2] ?? 7)
const WAKES = 2000
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1]

const db = openSync('memory:')
let round = 0
/** A fresh stream and a group, with so many events; what was there before is given back. */
function fresh(events) {
  if (round > 0) db.deleteStreamSync(`s${round}`, { confirm: true })
  round++
  db.createStreamSync(`s${round}`)
  db.createGroupSync(`s${round}`, 'g')
  const [stream, group] = [db.stream(`s${round}`), db.group(`s${round}`, 'g')]
  for (let n = 0; n < events / 100; n++) stream.appendBatchSync(hundred)
  return { stream, group }
}

/** Nanoseconds for an event. */
async function timed(work) {
  const { group } = fresh(COUNT)
  const started = process.hrtime.bigint()
  await work(group)
  const nanos = Number(process.hrtime.bigint() - started) / COUNT
  if (group.lagSync().lag !== 0) throw new Error('something was left')
  return nanos
}

const byHand = async (group) => {
  for (;;) {
    const leases = await group.fetch({ limit: 100 })
    if (leases.length === 0) return
    await group.ackMany(leases)
  }
}

/** A consumer until it has settled everything. */
function consumed(handler, options) {
  return (group) =>
    new Promise((resolve, reject) => {
      let left = COUNT
      const counting = handler(() => {
        if (--left === 0) consumer.drain().then(resolve, reject)
      })
      const consumer = group.consumer(counting, { maxDemand: 100, ...options })
    })
}

const CASES = {
  by_hand: byHand,
  consumer: consumed((seen) => () => seen()),
  consumer_async: consumed((seen) => async () => seen()),
  consumer_async_16: consumed((seen) => async () => seen(), { concurrency: 16 }),
  consumer_batches: consumed((seen) => (events) => events.forEach(seen), { batchSize: 100 }),
}

const samples = {}
for (let turn = 0; turn <= TURNS; turn++) {
  for (const [name, work] of Object.entries(CASES)) {
    const nanos = await timed(work)
    if (turn > 0) (samples[name] ??= []).push(nanos)
  }
}
for (const [name, values] of Object.entries(samples)) console.log(`${name}\t${median(values)}`)

// From the append to the handler, each while nothing else happens.
const { stream, group } = fresh(0)
let entered
const consumer = group.consumer(() => entered(process.hrtime.bigint()))
const micros = []
for (let n = 0; n < WAKES; n++) {
  await sleep(1)
  const handled = new Promise((resolve) => (entered = resolve))
  const started = process.hrtime.bigint()
  stream.appendSync({ n })
  micros.push(Number((await handled) - started) / 1000)
}
await consumer.close()
db.closeSync()
micros.sort((a, b) => a - b)
for (const share of [0.5, 0.9, 0.99]) console.log(`wake_p${share * 100}\t${micros[Math.floor(WAKES * share)]}`)
console.log(`wake_max\t${micros.at(-1)}`)
