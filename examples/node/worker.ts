// A worker on a stream of its own type: waits for work, gives up what fails, and ends by a signal.

import { type Lease, open, RheoError } from 'rheo'

interface Order {
  total: number
}

const db = await open('memory:', { defaultLeaseMs: 10_000 })
await db.createStream('orders')
await db.createGroup('orders', 'billing', { maxAttempts: 5, ordering: 'key' })

const stop = new AbortController()
const group = db.group<Order>('orders', 'billing')

async function bill(lease: Lease<Order>): Promise<void> {
  try {
    const { payload, key }: { payload: Order; key: string | undefined } = lease.event
    console.log(`${key}: ${payload.total.toFixed(2)}`)
    await lease.ack()
  } catch (error) {
    if (error instanceof RheoError && error.settleClass === 'lost') return // another worker has it
    await lease.retry(String(error), { delayMs: 500 * lease.attempt })
  }
}

async function work(): Promise<void> {
  for (;;) {
    for (const lease of await group.fetch({ limit: 10, waitMs: 60_000, signal: stop.signal })) await bill(lease)
  }
}

const working = work().catch((error: unknown) => {
  if ((error as Error).name !== 'AbortError') throw error
})
const orders = db.stream<Order>('orders')
const event = await orders.append({ total: 12.5 }, { key: 'customer-7' })
const position: number | bigint = event.sequence
const found = await orders.query({ where: { total: { gt: 10 } }, orderBy: [['sequence', 'desc']], from: new Date(0) })
console.log(position, found.map(({ payload }) => payload.total), (await group.info()).options.ordering)
setTimeout(() => stop.abort(), 100)
await working
await db.close()
