// What the types promise. Compiled with --strict, never run.

import {
  ACK, Append, type Batch, type BatchHandler, type Consumer, type DeadLetter, type Event, getInstance, type Handler, type Instance, type Lease, open, openSync,
  type Outcome, type Producer, reject, RELEASE, type Renewed, retry, RheoError, type Sequence,
} from 'rheo'

interface Order { total: number }
declare function expect<T>(value: T): void

export async function types(): Promise<void> {
  const db: Instance = await open('journal:./data', { sync: 'interval:100', clock: 'manual', clockStart: 0n })
  const other: Instance | undefined = getInstance('name')
  openSync().closeSync()
  other?.unref().ref()

  const orders = db.stream<Order>('orders')
  const event: Event<Order> = await orders.append({ total: 1 }, { key: 'k', timestamp: new Date() })
  expect<number>(event.payload.total)
  expect<Sequence>(event.sequence)
  expect<bigint>(event.timestampMicros)
  expect<Date>(event.timestamp)
  expect<string | undefined>(event.key)
  expect<Buffer>(event.data)
  const batch: Event<Order>[] = await orders.appendBatch([{ total: 1 }, new Append({ total: 2 }, { id: 'x' })], { type: 't' })
  expect<number | undefined>(batch[0]?.payload.total)
  // @ts-expect-error: no order
  await orders.append({ sum: 1 })
  // @ts-expect-error: a time is a Date or a bigint
  await orders.append({ total: 1 }, { timestamp: 5 })

  const billing = db.group<Order>('orders', 'billing')
  const leases: Batch<Order> = await billing.fetch({ limit: 10, waitMs: 5, signal: new AbortController().signal, partitions: new Set([0]) })
  // @ts-expect-error: a wait that blocks cannot be aborted
  billing.fetchSync({ signal: new AbortController().signal })
  for (const lease of leases) {
    expect<Lease<Order>>(lease)
    expect<number>(lease.event.payload.total)
    const same: Lease<Order> = await lease.renew(5)
    const until: Renewed = await db.renew(same.token)
    const again: Lease<Order> = await db.renew(lease)
    expect<[Date, Lease<Order>]>([until.expiresAt, again])
    lease.retrySync('why', { delayMs: 5 })
  }
  const errors: (RheoError | undefined)[] = await leases.ack()
  expect<string | undefined>(errors[0]?.code)
  if (errors[0]?.code === 'ERR_RHEO_STALE_LEASE') return
  // @ts-expect-error: no such code
  if (errors[0]?.code === 'ERR_RHEO_STALE') return

  const letters: DeadLetter<Order>[] = await billing.deadLetters({ limit: 5 })
  expect<number | undefined>(letters[0]?.event.payload.total)
  await billing.discardDeadLetters({ all: true })
  await billing.discardDeadLetters({ eventIds: ['a'] })
  await billing.replay({ fromSequence: { 0: 3n, 1: 5 }, query: { where: { total: { gt: 1 } } } })
  for await (const each of orders.queryStream({ where: { type: 'placed' } })) expect<Event<Order>>(each)
  for (const each of db.queryStreamSync<Order>('orders')) expect<number>(each.payload.total)
  const lag = await db.lag('orders', 'billing')
  expect<Sequence | undefined>(lag.partitions[0]?.frontier)
  await db[Symbol.asyncDispose]()

  const bill: Handler<Order> = (event, { lease, signal }) => {
    expect<Lease<Order>>(lease)
    expect<AbortSignal>(signal)
    return event.payload.total > 5 ? reject('too much') : undefined
  }
  const consumer: Consumer<Order> = billing.consumer(bill, { concurrency: 8, retryDelay: 'exponential:100:5000', onFailure: 'reject' })
  billing.consumer(async () => retry('why', { delayMs: 5 }), { maxLeaseMs: 5, retryDelay: 5, signal: new AbortController().signal })
  db.consumer<Order>('orders', 'billing', ({ payload }) => expect<number>(payload.total))
  db.consumer<Order>('orders', 'billing', async ({ payload }, { lease }) => {
    expect<number>(payload.total)
    await lease.ack()
  }, { onError: (error: unknown, leases) => expect<Lease<Order> | undefined>(leases[0]) })
  const many: BatchHandler<Order> = (events, { leases }) => {
    expect<Batch<Order>>(leases)
    return events.map(({ payload }): Outcome | Error => (payload.total > 5 ? ACK : new Error('no')))
  }
  billing.consumer(many, { batchSize: 10, batchTimeoutMs: 5 })
  db.consumer<Order>('orders', 'billing', async (events) => events.map(() => RELEASE), { batchSize: 10 })
  // @ts-expect-error: no outcome
  billing.consumer(() => 5)
  // @ts-expect-error: one outcome for a list
  billing.consumer(() => ACK, { batchSize: 10 })
  // @ts-expect-error: a wait for a list that is none
  billing.consumer(bill, { batchTimeoutMs: 5 })
  const outcome: Outcome = retry('why')
  if (outcome.outcome === 'retry') expect<number | undefined>(outcome.delayMs)
  expect<boolean>(await consumer.unref().ref().drain({ timeoutMs: 5 }))
  await consumer.close()
  await consumer.wait()
  expect<boolean>(consumer.isRunning)
  expect<RheoError | undefined>(consumer.failure)

  const producer: Producer<Order> = billing.producer({ maxDemand: 50 })
  for await (const lease of producer) expect<number>(lease.event.payload.total)
  const some: Batch<Order> | undefined = await producer.next({ most: 5, timeoutMs: 5 })
  expect<number>(producer.confirm(some ?? []))
  expect<boolean>(producer.isStopped)
  // @ts-expect-error: an option of consumers
  billing.producer({ concurrency: 5 })
  producer.readable({ highWaterMark: 5 }).pipe(process.stdout)
  await producer[Symbol.asyncDispose]()
}
