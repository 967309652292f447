// Producers: what is the language's own. The rules are in the scenarios.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { Transform, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import * as rheo from '../dist/index.mjs'
import { prepared, run } from './help.mjs'

const TYPE = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' }
const INVALID = { name: 'RheoError', code: 'ERR_RHEO_INVALID_ARGUMENT' }
const available = (db) => db.groupInfoSync('s', 'g').availableCount

/** Waits for something that others bring about. */
async function until(holds, ms = 20_000) {
  for (const end = performance.now() + ms; !(await holds()); await sleep(1)) assert.ok(performance.now() < end, `never: ${holds}`)
}

/** On memory, on a journal, and on a journal whose settles wait for the disk. */
async function onEach(t, work) {
  const place = mkdtempSync('/tmp/rheo-test-')
  t.after(() => rmSync(place, { recursive: true }))
  for (const [url, options] of [['memory:'], [`journal:${place}/a`, { sync: 'interval:100' }], [`journal:${place}/b`, { syncSettles: true }]]) {
    const db = await prepared(rheo, options, url)
    await work(db)
    await db.close()
  }
}

test('a loop over a producer gets leases, and leaving it gives the rest back', async (t) => {
  await onEach(t, async (db) => {
    await db.appendBatch('s', [1, 2, 3, 4, 5])
    const producer = db.producer('s', 'g', { maxDemand: 4 })
    const seen = []
    for await (const lease of producer) {
      seen.push(lease.event.payload)
      assert.equal(lease.attempt, 1)
      if (seen.length === 1) await lease.ack()
      if (seen.length === 2) await producer.reject(lease, { reason: 'no' })
      if (seen.length === 3) break
    }
    assert.deepEqual([seen, producer.isStopped, (await db.fetch('s', 'g')).payloads()], [[1, 2, 3], true, [3, 4, 5]])
    assert.equal(await producer.next(), undefined)
    for await (const _ of producer) assert.fail('it gives no more')
  })
})

test('an error in the loop gives back, too', async () => {
  const db = await prepared(rheo)
  await db.appendBatch('s', [1, 2])
  const loop = async () => {
    for await (const _ of db.producer('s', 'g')) throw new Error('own')
  }
  await assert.rejects(loop(), { message: 'own' })
  assert.equal(available(db), 2)
})

test('a loop waits for what comes, and ends by a drain from elsewhere', async () => {
  const db = await prepared(rheo)
  const producer = db.producer('s', 'g')
  const seen = []
  const loop = (async () => {
    for await (const lease of producer) {
      seen.push(lease.event.payload)
      await lease.ack()
    }
  })()
  for (const n of [1, 2, 3]) {
    await db.append('s', n)
    await until(() => seen.length === n)
  }
  assert.equal(await producer.drain(), true)
  await loop
  assert.deepEqual(seen, [1, 2, 3])
})

test('a drain gives back what the loop has not begun with', async () => {
  const db = await prepared(rheo)
  await db.appendBatch('s', [1, 2, 3])
  const producer = db.producer('s', 'g')
  const seen = []
  let drained
  for await (const lease of producer) {
    seen.push(lease.event.payload)
    drained ??= producer.drain()
    await lease.ack()
  }
  assert.equal(await drained, true)
  assert.deepEqual([seen, available(db)], [[1], 2])
})

test('a drain gives back at once what an iterator took ahead, whether or not that is asked again', async (t) => {
  await onEach(t, async (db) => {
    await db.appendBatch('s', [1, 2, 3])
    const producer = db.producer('s', 'g')
    const iterator = producer[Symbol.asyncIterator]()
    const { value: lease } = await iterator.next()
    assert.deepEqual([producer.inflightCount, producer.isStopped], [3, false])
    const drained = producer.drain()
    await until(() => available(db) === 2 && producer.inflightCount === 1)
    assert.equal(producer.isStopped, true)
    await lease.ack()
    assert.equal(await drained, true)
    assert.deepEqual(await iterator.next(), { done: true, value: undefined })
  })
})

test('an iterator that is asked for several at once, and returned while it waits', async () => {
  const db = await prepared(rheo)
  const producer = db.producer('s', 'g')
  const iterator = producer[Symbol.asyncIterator]()
  const asked = [iterator.next(), iterator.next(), iterator.next()]
  await db.append('s', 1)
  await db.append('s', 2)
  assert.deepEqual([(await asked[0]).value.event.payload, (await asked[1]).value.event.payload], [1, 2])
  assert.deepEqual(await iterator.return(), { done: true, value: undefined })
  assert.deepEqual(await asked[2], { done: true, value: undefined })
  assert.equal(available(db), 2)
})

test('next: as many as asked for, as long as asked for', async (t) => {
  await onEach(t, async (db) => {
    const producer = db.producer('s', 'g', { maxDemand: 3, consumerId: 'me' })
    assert.deepEqual(Array.from(await producer.next({ timeoutMs: 0 })), [])
    assert.deepEqual(Array.from(await producer.next({ timeoutMs: 10 })), [])
    const waiting = producer.next({ most: 2 })
    await db.appendBatch('s', [1, 2, 3, 4])
    const leases = await waiting
    assert.deepEqual([leases.payloads(), leases[0].consumerId], [[1, 2], 'me'])
    assert.deepEqual((await producer.next({ most: 10 })).payloads(), [3])
    assert.deepEqual(Array.from(await producer.next({ timeoutMs: 0 })), [])
    const freed = producer.next()
    await leases[0].ack()
    assert.deepEqual((await freed).payloads(), [4])
    assert.deepEqual([producer.inflightCount, await producer.drain({ timeoutMs: 0 })], [3, false])
    assert.equal(await producer.next(), undefined)
    await producer.close()
    assert.equal(producer.inflightCount, 0)
    assert.equal(available(db), 3)
  })
})

test('an abort ends a wait and takes nothing; one of the producer closes it', async () => {
  const db = await prepared(rheo)
  const producer = db.producer('s', 'g')
  const abort = new AbortController()
  const wait = assert.rejects(producer.next({ signal: abort.signal }), { name: 'AbortError', code: 'ABORT_ERR' })
  abort.abort()
  await wait
  await assert.rejects(producer.next({ signal: AbortSignal.abort() }), { name: 'AbortError' })
  await db.append('s', 1)
  assert.equal(producer.inflightCount, 0)
  const close = new AbortController()
  const other = db.producer('s', 'g', { signal: close.signal })
  const [lease] = await other.next()
  const waiting = other.next()
  close.abort()
  assert.equal(await waiting, undefined)
  assert.equal(available(db), 1)
  await assert.rejects(lease.ack(), { code: 'ERR_RHEO_STALE_LEASE' })
})

test('however a lease is settled, its slot is free', async () => {
  const db = await prepared(rheo)
  await db.appendBatch('s', Array.from({ length: 14 }, (_, n) => n))
  const producer = db.producer('s', 'g', { maxDemand: 20, retryDelay: 600_000 })
  const leases = await producer.next({ most: 20 })
  const settles = [
    (lease) => lease.ack(), (lease) => lease.ackSync(), (lease) => producer.ack(lease), (lease) => producer.ackSync(lease.token),
    (lease) => db.ack(lease), (lease) => leases.slice(5, 6)[0].retry('later'), (lease) => producer.retrySync(lease), (lease) => lease.reject('no'),
    (lease) => producer.fail(lease, { reason: 'failed' }), (lease) => producer.failSync(lease.token), (lease) => producer.ackMany([lease, lease.token]),
    (lease) => producer.confirm([lease.leaseId, lease]), (lease) => producer.confirm([lease.token]),
  ]
  for (const [at, settle] of settles.entries()) {
    await settle(leases[at])
    assert.equal(producer.inflightCount, 13 - at, String(settle))
  }
  // Those that were not said how long wait as long as the producer says.
  assert.equal(db.groupInfoSync('s', 'g').delayedCount, 4)
  await assert.rejects(producer.ack(leases[0]), { code: 'ERR_RHEO_STALE_LEASE' })
  assert.throws(() => producer.confirm(['no id']), INVALID)
  assert.throws(() => producer.confirm([5]), TYPE)
  assert.deepEqual((await leases.slice(13)[0].renew(5000)).leaseMs, 30_000)
  assert.equal(producer.inflightCount, 1)
  await producer.close()
})

test('options that are none are refused', async () => {
  const db = await prepared(rheo)
  for (const name of ['maxDemand', 'leaseMs', 'pollMs', 'retryDelay']) assert.throws(() => db.producer('s', 'g', { [name]: -1 }), INVALID)
  assert.throws(() => db.producer('s', 'g', { concurrency: 1 }), { ...INVALID, message: /there is no option "concurrency" here; there are: maxDemand/ })
  assert.throws(() => db.producer('s', 'g', { onError: () => 1 }), INVALID)
  assert.throws(() => db.producer('s', 'x'), { code: 'ERR_RHEO_GROUP_NOT_FOUND' })
  const producer = db.producer('s', 'g')
  for (const most of [0, -1, 10_001]) await assert.rejects(producer.next({ most }), INVALID)
  await assert.rejects(producer.next({ timeoutMs: -1 }), INVALID)
  await assert.rejects(producer.next({ limit: 1 }), INVALID)
  for (const highWaterMark of [0, -1, 10_001]) assert.throws(() => producer.readable({ highWaterMark }), INVALID)
  assert.throws(() => producer.readable({ encoding: 'utf8' }), INVALID)
  await producer.close()
})

test('a group that is deleted ends waits and loops, by name', async () => {
  const db = await prepared(rheo)
  const producer = db.producer('s', 'g')
  const wait = assert.rejects(producer.next(), { code: 'ERR_RHEO_GROUP_NOT_FOUND' })
  await db.deleteGroup('s', 'g')
  await wait
  await assert.rejects(producer[Symbol.asyncIterator]().next(), { code: 'ERR_RHEO_GROUP_NOT_FOUND' })
  await producer.close()
})

test('leases are renewed while a loop is at work, and while it is blocked', { timeout: 20_000 }, async () => {
  const db = await prepared(rheo)
  await db.append('s', 1)
  const producer = db.producer('s', 'g', { leaseMs: 150 })
  const [lease] = await producer.next()
  await sleep(200)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
  assert.equal((await db.fetch('s', 'g')).length, 0)
  await lease.ack()
  assert.equal(await producer.drain(), true)
})

test('a pipeline takes no more than it has room for', { timeout: 20_000 }, async () => {
  const db = await prepared(rheo)
  await db.appendBatch('s', Array.from({ length: 300 }, (_, n) => n))
  const producer = db.producer('s', 'g', { maxDemand: 50 })
  let most = 0
  const seen = []
  let isStuck = true
  const sink = new Writable({
    objectMode: true,
    highWaterMark: 2,
    async write(lease, _, done) {
      while (isStuck) await sleep(1)
      most = Math.max(most, producer.inflightCount)
      seen.push(lease.event.payload)
      await lease.ack()
      done()
      if (seen.length === 300) void producer.drain()
    },
  })
  const double = new Transform({ objectMode: true, highWaterMark: 2, transform: (lease, _, done) => done(null, lease) })
  const flowing = pipeline(producer.readable({ highWaterMark: 4 }), double, sink)
  await sleep(50)
  assert.ok(producer.inflightCount <= 4 + 4 + 2 + 2, `it holds ${producer.inflightCount}`)
  isStuck = false
  await flowing
  assert.deepEqual(seen, Array.from({ length: 300 }, (_, n) => n))
  assert.ok(most <= 12, `it held ${most}`)
  assert.equal(db.lagSync('s', 'g').lag, 0)
})

test('a pipeline that fails gives back whatever is not settled', async () => {
  const db = await prepared(rheo)
  await db.appendBatch('s', Array.from({ length: 20 }, (_, n) => n))
  const producer = db.producer('s', 'g')
  const sink = async (leases) => {
    for await (const lease of leases) {
      if (lease.event.payload === 3) throw new Error('broken')
      await lease.ack()
    }
  }
  await assert.rejects(pipeline(producer.readable(), sink), { message: 'broken' })
  await until(() => producer.inflightCount === 0)
  assert.equal(producer.isStopped, true)
  const left = await db.fetch('s', 'g', { limit: 100 })
  assert.deepEqual([left.length, left.filter(({ attempt }) => attempt > 1).length], [17, 0])
})

test('a stream that is destroyed while it waits, and one whose group goes', async () => {
  const db = await prepared(rheo)
  const readable = db.producer('s', 'g').readable()
  readable.resume()
  await sleep(5)
  readable.destroy()
  await new Promise((resolve) => readable.once('close', resolve))
  const other = db.producer('s', 'g').readable()
  const failed = new Promise((resolve) => other.once('error', resolve))
  other.resume()
  await db.deleteGroup('s', 'g')
  assert.equal((await failed).code, 'ERR_RHEO_GROUP_NOT_FOUND')
})

test('as a stream of the web', async () => {
  const { Readable } = await import('node:stream')
  const db = await prepared(rheo)
  await db.appendBatch('s', [1, 2])
  const reader = Readable.toWeb(db.producer('s', 'g').readable()).getReader()
  assert.equal((await reader.read()).value.event.payload, 1)
  await reader.cancel()
  await until(() => available(db) === 2)
})

test('an idle producer keeps no process alive; one that is waited for does, unless unref', async () => {
  const prepare = "const db = await open('memory:'); await db.createStream('s'); await db.createGroup('s', 'g'); const producer = db.producer('s', 'g');\n"
  const ended = (result) => assert.deepEqual([result.code, result.signal, result.err], [0, null, ''], JSON.stringify(result))
  ended(await run(`${prepare} db.appendSync('s', 1); await producer.next()`))
  ended(await run(`${prepare} db.unref(); producer.next()`))
  const result = await run(`${prepare} setTimeout(() => db.appendSync('s', 1), 200).unref(); producer.next().then((leases) => console.log(leases.length))`)
  ended(result)
  assert.equal(result.out, '1\n')
})

test('a producer that is forgotten is closed', async () => {
  const result = await run(
    `const db = await open('memory:'); await db.createStream('s'); await db.createGroup('s', 'g'); db.appendSync('s', 1)
    await (async () => { await db.producer('s', 'g').next() })()
    for (let n = 0; n < 500 && db.groupInfoSync('s', 'g').availableCount === 0; n++) { gc(); await new Promise((resolve) => setTimeout(resolve, 5)) }
    console.log(db.groupInfoSync('s', 'g').availableCount)`,
    { args: ['--expose-gc'] },
  )
  assert.deepEqual([result.code, result.out], [0, '1\n'])
})

test('disposing closes', async () => {
  const db = await prepared(rheo)
  await db.append('s', 1)
  const producer = db.producer('s', 'g')
  await producer.next()
  await producer[Symbol.asyncDispose]()
  assert.deepEqual([producer.isStopped, available(db)], [true, 1])
})
