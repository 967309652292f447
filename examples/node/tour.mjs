// The tour of the README: append, fetch under a lease, settle.

import { open } from 'rheo'

const db = await open('memory:') // or 'journal:./data'
await db.createStream('orders', { partitionCount: 4 })
await db.createGroup('orders', 'billing', { maxAttempts: 3 })

await db.append('orders', { total: 12.5 }, { type: 'placed', key: 'customer-7' })
await db.appendBatch('orders', [{ total: 3 }, { total: 99 }], { type: 'placed' })

for (const lease of await db.fetch('orders', 'billing', { limit: 100, waitMs: 1000 })) {
  const { payload, partition, sequence } = lease.event
  if (payload.total > 50) await lease.reject('too much')
  else await lease.ack()
  console.log(`${partition}/${sequence}: ${payload.total}`)
}

const { lag } = await db.lag('orders', 'billing')
const letters = await db.deadLetters('orders', 'billing')
console.log(`lag ${lag}, dead letters: ${letters.map(({ reason }) => reason)}`)
await db.close()
