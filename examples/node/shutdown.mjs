// A consumer that ends as it should when it is told to: handlers that run finish, what none has begun with is there for others at once, and
// the process exits with 0.
//
//     node shutdown.mjs JOURNAL

import { setTimeout as sleep } from 'node:timers/promises'
import { open, reject, retry } from 'rheo'

const db = await open(`journal:${process.argv[2]}`)

async function bill(event, { signal }) {
  if (typeof event.payload.total !== 'number') return reject('no total')
  console.log(`billing ${event.sequence}`)
  // What takes long gets the signal: it fires when the lease is lost, and when the time of `close` is over.
  await sleep(300, undefined, { signal })
  console.log(`billed ${event.sequence}`)
  return event.payload.total > 1000 ? retry('ask again later', { delayMs: 60_000 }) : undefined
}

const consumer = db.consumer('orders', 'billing', bill, { concurrency: 2 })

process.once('SIGTERM', () => consumer.close({ timeoutMs: 10_000 }))
await consumer.wait()
await db.close()
