// What a loop and a process feel: the delay of the event loop while 32 waits are pending and events flow, files read beside them, and
// memory after two million leases. Prints `name<TAB>value` lines.

import { readFile } from 'node:fs/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openSync } from '../../bindings/node/dist/index.mjs'
import { hundred } from './payload.mjs'

const WAITS = 32
const EVENTS_A_SECOND = 100_000
const SECONDS = 3
const LEASES = 2_000_000
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1]

/** The 99th percentile of the loop's delay, in milliseconds, beyond the timer's own resolution. */
async function delay(work) {
  const histogram = monitorEventLoopDelay({ resolution: 1 })
  histogram.enable()
  await work()
  histogram.disable()
  return histogram.percentile(99) / 1e6
}

async function flowing() {
  const db = openSync('memory:')
  db.createStreamSync('s')
  db.createGroupSync('s', 'g')
  let isOver = false
  let taken = 0
  const consume = async () => {
    while (!isOver) {
      const leases = await db.fetch('s', 'g', { limit: 100, waitMs: 100 })
      taken += leases.length
      if (leases.length > 0) await leases.ack()
    }
  }
  const p99 = await delay(async () => {
    const consumers = Array.from({ length: WAITS }, consume)
    const started = performance.now()
    let appended = 0
    while (performance.now() - started < SECONDS * 1000) {
      const due = ((performance.now() - started) / 1000) * EVENTS_A_SECOND
      while (appended < due) {
        db.appendBatchSync('s', hundred)
        appended += hundred.length
      }
      await sleep(1)
    }
    isOver = true
    await Promise.all(consumers)
  })
  db.closeSync()
  return { p99, rate: taken / SECONDS }
}

async function reading() {
  const file = fileURLToPath(import.meta.url)
  const samples = { alone: [], beside: [] }
  const read = async (into) => {
    for (let n = 0; n < 100; n++) {
      const started = performance.now()
      await readFile(file)
      into.push((performance.now() - started) * 1000)
    }
  }
  await read([])
  // Alone and beside the waits in turns, as everything here.
  for (let turn = 0; turn < 7; turn++) {
    await read(samples.alone)
    const db = openSync('memory:')
    db.createStreamSync('s')
    db.createGroupSync('s', 'g')
    const waits = Array.from({ length: WAITS }, () => db.fetch('s', 'g', { waitMs: 600_000 }).catch(() => undefined))
    await read(samples.beside)
    db.closeSync()
    await Promise.all(waits)
  }
  return { alone: median(samples.alone), beside: median(samples.beside) }
}

/** Resident memory after two million leases were fetched, decoded and acked, in a process that does nothing else. */
function leasing() {
  const db = openSync('memory:')
  let seen = 0
  for (let round = 0; round < LEASES / 100_000; round++) {
    db.createStreamSync('s')
    db.createGroupSync('s', 'g')
    const [stream, group] = [db.stream('s'), db.group('s', 'g')]
    for (let n = 0; n < 1000; n++) {
      stream.appendBatchSync(hundred)
      const leases = group.fetchSync({ limit: 100 })
      for (const lease of leases) seen += lease.event.payload.order
      leases.ackSync()
    }
    db.deleteStreamSync('s', { confirm: true })
  }
  db.closeSync()
  return seen > 0 ? process.memoryUsage.rss() / 2 ** 20 : NaN
}

if (process.argv[2] === 'memory') {
  console.log(`rss\t${leasing()}`)
} else {
  const idle = await delay(() => sleep(1000))
  const { p99, rate } = await flowing()
  const { alone, beside } = await reading()
  console.log(`delay_idle\t${idle}\ndelay_flowing\t${p99}\nrate\t${rate}\nread_alone\t${alone}\nread_beside\t${beside}`)
}
