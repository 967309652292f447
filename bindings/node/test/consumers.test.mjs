// Consumers: what is the language's own. The rules are in the scenarios.

import assert from 'node:assert/strict'
import { channel } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import * as rheo from '../dist/index.mjs'
import { INDEX, prepared, run } from './help.mjs'

const { ACK, RELEASE, reject, retry } = rheo
const TYPE = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' }
const INVALID = { name: 'RheoError', code: 'ERR_RHEO_INVALID_ARGUMENT' }
const PREPARE = "const db = await open('memory:'); await db.createStream('s'); await db.createGroup('s', 'g');\n"
const ended = (result) => assert.deepEqual([result.code, result.signal, result.err], [0, null, ''], JSON.stringify(result))
const NEVER = new Promise(() => undefined)

/** Waits for something that others bring about. */
async function until(holds, ms = 20_000) {
  for (const end = performance.now() + ms; !(await holds()); await sleep(1)) assert.ok(performance.now() < end, `never: ${holds}`)
}

const settled = (db) => until(() => db.lagSync('s', 'g').lag === 0)
const letters = (db) => db.deadLettersSync('s', 'g').map(({ reason }) => reason)

/** Blocks this thread. */
const block = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

/** On memory, on a journal, and on a journal whose settles wait for the disk. */
async function onEach(t, work) {
  const place = mkdtempSync('/tmp/rheo-test-')
  t.after(() => rmSync(place, { recursive: true }))
  for (const [url, options] of [['memory:'], [`journal:${place}/a`, { sync: 'interval:100' }], [`journal:${place}/b`, { syncSettles: true }]]) {
    const db = await prepared(rheo, options, url)
    await work(db, url)
    await db.close()
  }
}

test('handlers get events, and what they say is done', async (t) => {
  await onEach(t, async (db) => {
    const seen = []
    const errors = []
    const consumer = db.consumer('s', 'g', async (event, { lease, signal }) => {
      assert.ok(event instanceof rheo.Event && lease.event === event && lease.leaseMs === 5000)
      assert.equal(signal.aborted, false)
      seen.push([event.payload, lease.attempt])
      if (event.payload === 'ack') return ACK
      if (event.payload === 'retry' && lease.attempt === 1) return retry('again', { delayMs: 1 })
      if (event.payload === 'release' && seen.length < 6) return RELEASE
      if (event.payload === 'reject') return reject('no')
      if (event.payload === 'throw') throw new RangeError('own')
      return undefined
    }, { leaseMs: 5000, concurrency: 2, onFailure: 'reject', onError: (error, leases) => errors.push([error.message, leases[0].event.payload]) })
    await db.appendBatch('s', ['ack', 'retry', 'reject', 'throw', 'nothing'])
    await settled(db)
    assert.deepEqual(new Set(letters(db)), new Set(['no', 'RangeError: own']))
    assert.deepEqual(errors, [['own', 'throw']])
    assert.ok(seen.some(([payload, attempt]) => payload === 'retry' && attempt === 2))
    await until(() => consumer.inflightCount === 0)
    assert.equal(consumer.isRunning, true)
    await consumer.close()
    assert.equal(consumer.isRunning, false)
    await consumer.wait()
    await consumer.close()
    assert.equal(consumer.failure, undefined)
  })
})

test('what is no handler, and options that are none, are refused at the start', async () => {
  const db = await prepared(rheo)
  for (const handler of [undefined, null, {}, 'f', Promise.resolve()]) assert.throws(() => db.consumer('s', 'g', handler), TYPE)
  const handler = () => undefined
  for (const name of ['concurrency', 'batchSize', 'maxDemand', 'leaseMs', 'pollMs', 'batchTimeoutMs', 'maxLeaseMs', 'retryDelay']) {
    assert.throws(() => db.consumer('s', 'g', handler, { [name]: -1 }), INVALID, name)
    assert.throws(() => db.consumer('s', 'g', handler, { [name]: 1.5 }), INVALID, name)
    assert.throws(() => db.consumer('s', 'g', handler, { [name]: {} }), TYPE, name)
  }
  for (const options of [{ concurrency: 0 }, { batchSize: 0 }, { onFailure: 'panic' }, { retryDelay: 'never' }, { concurency: 2 }, { partitions: [] }]) {
    assert.throws(() => db.consumer('s', 'g', handler, options), INVALID)
  }
  assert.throws(() => db.consumer('s', 'g', handler, { signal: {} }), TYPE)
  assert.throws(() => db.consumer('s', 'g', handler, { onError: 1 }), TYPE)
  assert.throws(() => db.consumer('s', 'g', handler, { partitions: [1] }), { code: 'ERR_RHEO_INVALID_PARTITION' })
  assert.throws(() => db.consumer('s', 'x', handler), { code: 'ERR_RHEO_GROUP_NOT_FOUND' })
  assert.throws(() => db.consumer('x', 'g', handler), { code: 'ERR_RHEO_STREAM_NOT_FOUND' })
  const consumer = db.consumer('s', 'g', handler)
  await assert.rejects(consumer.close({ timeoutMs: -1 }), INVALID)
  await assert.rejects(consumer.drain({ timeout: 1 }), INVALID)
  await db.close()
  assert.throws(() => db.consumer('s', 'g', handler), { code: 'ERR_RHEO_CLOSED' })
})

test('outcomes are checked where they are made', () => {
  for (const delayMs of [-1, 1.5, NaN, 1e18]) assert.throws(() => retry('x', { delayMs }), INVALID)
  assert.throws(() => retry('x', { delay: 1 }), INVALID)
  assert.throws(() => reject(5), TYPE)
  assert.ok(Object.isFrozen(ACK) && Object.isFrozen(retry()))
  assert.deepEqual([ACK.outcome, RELEASE.outcome, retry('why', { delayMs: 5 }).delayMs, reject('no').reason], ['ack', 'release', 5, 'no'])
})

test('an outcome that is none is a failure with its text', async () => {
  const db = await prepared(rheo)
  const values = [5, 'ack', true, {}, { outcome: 'ack' }, [ACK], Symbol('x'), new Error('given back')]
  const said = [...values.map((value) => () => value), () => Promise.reject('text'), () => Promise.resolve(null)]
  const tell = []
  const consumer = db.consumer('s', 'g', () => said.shift()(), { onFailure: 'reject', onError: (error) => tell.push(error) })
  await db.appendBatch('s', Array(10).fill(1))
  await settled(db)
  const reasons = letters(db)
  assert.equal(reasons.length, 9)
  for (const shown of ['5', '"ack"', 'true', 'an object', 'an instance of Array', 'Symbol(x)']) {
    assert.ok(reasons.some((reason) => reason.includes(`outcome is ${shown}; it takes ACK`)), shown)
  }
  assert.ok(reasons.includes('text') && reasons.includes('Error: given back'))
  assert.equal(tell.length, 9)
  await consumer.close()
})

test('what cannot be shown fails all the same', async () => {
  const db = await prepared(rheo)
  const strange = [Object.create(null), { toString: () => { throw new Error('no') } }, undefined, null]
  const consumer = db.consumer('s', 'g', () => { throw strange.shift() }, { onFailure: 'reject' })
  await db.appendBatch('s', [1, 2, 3, 4])
  await settled(db)
  assert.deepEqual(letters(db), ['an object', 'an object', 'undefined', 'null'])
  await consumer.close()
})

test('lists: an outcome for each, and what is missing has failed', async () => {
  const db = await prepared(rheo)
  await db.appendBatch('s', [0, 1, 2, 3, 4, 5, 6, 7, 8])
  const said = [[ACK, reject('no'), new Error('bad')], [ACK, undefined, 5], [ACK]]
  const lists = []
  const consumer = db.group('s', 'g').consumer(async (events, { leases, signal }) => {
    assert.ok(leases instanceof rheo.Batch && leases.every((lease, at) => lease.event === events[at]) && !signal.aborted)
    lists.push(events.map(({ payload }) => payload))
    return said.shift()
  }, { batchSize: 3, onFailure: 'reject' })
  await settled(db)
  assert.deepEqual(lists, [[0, 1, 2], [3, 4, 5], [6, 7, 8]])
  assert.deepEqual(letters(db), [
    'no', 'Error: bad',
    "TypeError: the handler's outcome for event 2 of 3 is undefined; it takes ACK, RELEASE, retry(…) or reject(…)",
    "TypeError: the handler's outcome for event 3 of 3 is 5; it takes ACK, RELEASE, retry(…) or reject(…)",
    'TypeError: the handler gave 1 outcomes for 3 events', 'TypeError: the handler gave 1 outcomes for 3 events',
  ])
  await db.append('s', 'alone')
  await settled(db)
  assert.deepEqual(lists.at(-1), ['alone'])
  await consumer.close()
})

test('a list waits to fill, and no longer than it should', async () => {
  const db = await prepared(rheo, { clock: 'manual' })
  const lists = []
  const consumer = db.consumer('s', 'g', (events) => void lists.push(events.length), { batchSize: 3, batchTimeoutMs: 1000 })
  await db.append('s', 1)
  await sleep(5)
  await db.append('s', 2)
  await sleep(5)
  assert.deepEqual(lists, [])
  await db.append('s', 3)
  await until(() => lists.length === 1)
  await db.append('s', 4)
  await sleep(5)
  await db.advanceClock(999)
  await sleep(5)
  assert.deepEqual(lists, [3])
  await db.advanceClock(1)
  await until(() => lists.length === 2)
  assert.deepEqual(lists, [3, 1])
  await consumer.close()
})

test('a list that fills for longer than maxLeaseMs reaches its handler, whose time begins then', async () => {
  const db = await prepared(rheo, { clock: 'manual' })
  const calls = []
  const handler = (_, { leases, signal }) => (calls.push({ signal, leases }), NEVER)
  const consumer = db.consumer('s', 'g', handler, { batchSize: 3, batchTimeoutMs: 5000, leaseMs: 400, maxLeaseMs: 1000, concurrency: 2 })
  await db.append('s', 1)
  await until(() => consumer.inflightCount === 1)
  for (let n = 0; n < 50; n++) await db.advanceClock(100)
  await until(() => calls.length === 1)
  const [{ signal, leases }] = calls
  assert.deepEqual(leases.map(({ event, attempt }) => [event.payload, attempt]), [[1, 1]])
  assert.equal(signal.aborted, false)
  for (let n = 0; n < 9; n++) await db.advanceClock(100)
  // One that begins changes nothing for one that runs.
  await db.appendBatch('s', [2, 3, 4])
  await until(() => calls.length === 2)
  assert.equal(signal.aborted, false)
  await db.advanceClock(100)
  await until(() => signal.aborted)
  assert.equal(signal.reason.code, 'ERR_RHEO_TIMEOUT')
  assert.equal(calls[1].signal.aborted, false)
  await consumer.close({ timeoutMs: 0 })
  assert.equal(calls[1].signal.reason.code, 'ERR_RHEO_CLOSED')
})

test('what is lost while a list fills is forgotten', async () => {
  const db = await prepared(rheo, { clock: 'manual' })
  const lists = []
  const handler = (events) => void lists.push(events.map(({ payload }) => payload))
  const consumer = db.consumer('s', 'g', handler, { batchSize: 3, batchTimeoutMs: 5000, leaseMs: 1000 })
  await db.append('s', 1)
  await until(() => consumer.inflightCount === 1)
  await db.resetGroup('s', 'g', { confirm: true, startAfter: 1 })
  await db.append('s', 2)
  await until(() => consumer.inflightCount === 2)
  await db.advanceClock(500)
  await until(() => consumer.inflightCount === 1)
  for (let n = 0; n < 9; n++) await db.advanceClock(500)
  await settled(db)
  assert.deepEqual(lists, [[2]])
  await consumer.close()
})

test('as many handlers run at a time as there may', async () => {
  const db = await prepared(rheo)
  let [now, most] = [0, 0]
  const consumer = db.consumer('s', 'g', async () => {
    most = Math.max(most, ++now)
    await sleep(Math.random() * 3)
    now--
  }, { concurrency: 7 })
  await db.appendBatch('s', Array(200).fill(1))
  await settled(db)
  assert.equal(most, 7)
  await consumer.close()
})

test('a close within a handler does not wait for it', { timeout: 20_000 }, async () => {
  const ways = [
    (consumer) => consumer.close(),
    async (consumer) => consumer.close(),
    async (consumer) => { await sleep(1); await consumer.close() },
    async (consumer) => { await Promise.resolve(); await Promise.all([consumer.close(), 1]) },
    async (consumer) => { const helper = async () => { await sleep(1); await consumer[Symbol.asyncDispose]() }; await helper() },
    async (consumer) => { await sleep(1); assert.equal(await consumer.drain(), false) },
    (consumer) => consumer.drain().then((isDone) => assert.equal(isDone, false)),
  ]
  for (const way of ways) {
    const db = await prepared(rheo)
    await db.appendBatch('s', [1, 2, 3])
    let count = 0
    const consumer = db.consumer('s', 'g', () => {
      count++
      return way(consumer)
    })
    await consumer.wait()
    // Its own event is settled, the others are there for others.
    assert.deepEqual([count, db.groupInfoSync('s', 'g').availableCount, db.lagSync('s', 'g').lag], [1, 2, 2], String(way))
    await db.close()
  }
})

test('a close gives back at once what no handler has, and waits for those that run', async (t) => {
  await onEach(t, async (db) => {
    await db.appendBatch('s', [1, 2, 3, 4])
    let finish
    const seen = []
    const consumer = db.consumer('s', 'g', (event) => {
      seen.push(event.payload)
      return new Promise((resolve) => (finish = resolve))
    })
    await until(() => seen.length === 1)
    const closed = consumer.close()
    await until(() => db.groupInfoSync('s', 'g').availableCount === 3)
    assert.deepEqual((await db.fetch('s', 'g')).map(({ attempt }) => attempt), [1, 1, 1])
    assert.equal(await Promise.race([closed, sleep(20, 'it waits')]), 'it waits')
    finish()
    await closed
    assert.deepEqual([seen.length, db.lagSync('s', 'g').partitions[0].frontier], [1, 1])
  })
})

test('a handler that never settles is told, and left', async () => {
  const db = await prepared(rheo)
  await db.append('s', 1)
  let signal
  const consumer = db.consumer('s', 'g', (_, context) => ((signal = context.signal), NEVER))
  await until(() => signal)
  const first = consumer.close({ timeoutMs: 600_000 })
  await consumer.close({ timeoutMs: 20 })
  await first
  await consumer.wait()
  assert.equal(signal.reason.code, 'ERR_RHEO_CLOSED')
  assert.match(signal.reason.message, /closed before the handler of event "/)
  assert.equal((await db.fetch('s', 'g')).length, 1)
})

test('what a handler says after it was given up counts for nothing', async () => {
  const db = await prepared(rheo)
  await db.append('s', 1)
  let finish
  const consumer = db.consumer('s', 'g', () => new Promise((resolve) => (finish = resolve)))
  await until(() => finish)
  await consumer.close({ timeoutMs: 0 })
  finish(reject('too late'))
  await sleep(5)
  assert.deepEqual(letters(db), [])
  assert.equal((await db.fetch('s', 'g'))[0].attempt, 1)
})

test('a drain: one at a time, and whether all is settled', async () => {
  const db = await prepared(rheo)
  await db.appendBatch('s', [1, 2])
  let finish
  const consumer = db.consumer('s', 'g', () => new Promise((resolve) => (finish = resolve)))
  await until(() => finish)
  assert.equal(await consumer.drain({ timeoutMs: 0 }), false)
  const drained = consumer.drain()
  await assert.rejects(consumer.drain(), { code: 'ERR_RHEO_ALREADY_DRAINING', number: 405 })
  finish()
  assert.equal(await drained, true)
  assert.equal(await consumer.drain(), true)
  await consumer.wait()
  assert.equal(db.groupInfoSync('s', 'g').availableCount, 1)
})

test('the signal fires when the lease is lost, and those that wait are forgotten', async () => {
  const db = await prepared(rheo, { clock: 'manual' })
  await db.appendBatch('s', [1, 2, 3])
  const signals = []
  const handler = async (event, { signal }) => {
    signals.push(signal)
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    return reject('of a lost lease')
  }
  const consumer = db.consumer('s', 'g', handler, { leaseMs: 1000 })
  await until(() => signals.length === 1)
  await db.resetGroup('s', 'g', { confirm: true, startAfter: 3 })
  await db.append('s', 4)
  await db.advanceClock(500)
  await until(() => signals[0].aborted)
  assert.deepEqual([signals[0].reason.code, signals[0].reason.settleClass], ['ERR_RHEO_STALE_LEASE', 'none'])
  await until(() => signals.length === 2)
  assert.deepEqual(letters(db), [])
  await consumer.close({ timeoutMs: 0 })
  assert.equal(signals.length, 2)
})

test('the signal fires after maxLeaseMs', async () => {
  const db = await prepared(rheo, { clock: 'manual' })
  await db.append('s', 1)
  let signal
  const consumer = db.consumer('s', 'g', (_, context) => ((signal = context.signal), NEVER), { leaseMs: 400, maxLeaseMs: 1000 })
  await until(() => signal)
  for (let n = 0; n < 9; n++) await db.advanceClock(100)
  await sleep(5)
  assert.equal(signal.aborted, false)
  await db.advanceClock(100)
  await until(() => signal.aborted)
  assert.equal(signal.reason.code, 'ERR_RHEO_TIMEOUT')
  await consumer.close({ timeoutMs: 0 })
})

test('a lease that is settled by hand is settled', async () => {
  const db = await prepared(rheo)
  const consumer = db.consumer('s', 'g', async (event, { lease }) => {
    if (event.payload === 1) await lease.reject('by hand')
    else db.ackSync(lease)
    return retry('too late')
  })
  await db.appendBatch('s', [1, 2])
  await settled(db)
  await until(() => consumer.inflightCount === 0)
  assert.deepEqual(letters(db), ['by hand'])
  await consumer.close()
})

test('a group that is deleted ends its consumer, by name', async () => {
  const db = await prepared(rheo)
  const errors = []
  const consumer = db.consumer('s', 'g', () => undefined, { onError: (error, leases) => errors.push([error.code, leases.length]) })
  await sleep(5)
  const ended = assert.rejects(consumer.wait(), (error) => error.code === 'ERR_RHEO_GROUP_NOT_FOUND' && error === consumer.failure)
  assert.equal(consumer.failure, undefined)
  await db.deleteGroup('s', 'g')
  await ended
  assert.deepEqual(errors, [['ERR_RHEO_GROUP_NOT_FOUND', 0]])
  assert.equal(consumer.isRunning, false)
  await assert.rejects(consumer.wait(), { code: 'ERR_RHEO_GROUP_NOT_FOUND' })
  await consumer.close()
})

test('an instance that closes ends its consumers, and their leases are given back', async (t) => {
  const place = mkdtempSync('/tmp/rheo-test-')
  t.after(() => rmSync(place, { recursive: true }))
  const db = await prepared(rheo, { sync: 'interval:100' }, `journal:${place}/j`)
  await db.appendBatch('s', [1, 2, 3])
  let count = 0
  const consumer = db.consumer('s', 'g', () => (count++, NEVER))
  await until(() => count === 1)
  const ended = consumer.wait().catch((error) => error.code)
  await db.close()
  await consumer.close({ timeoutMs: 0 })
  assert.ok([undefined, 'ERR_RHEO_CLOSED'].includes(await ended))
  const again = await rheo.open(`journal:${place}/j`)
  assert.deepEqual((await again.fetch('s', 'g')).map(({ attempt }) => attempt), [2, 1, 1])
  await again.close()
})

test('handlers are told of an instance that closes, and no longer keep the process alive', async () => {
  const result = await run(`${PREPARE}
    const consumer = db.consumer('s', 'g', (event, { signal }) => new Promise(() => signal.addEventListener('abort', () => console.log(signal.reason.code))))
    await db.append('s', 1)
    while (consumer.inflightCount === 0) await new Promise((resolve) => setImmediate(resolve))
    await new Promise((resolve) => setTimeout(resolve, 5))
    await db.close()`)
  ended(result)
  assert.equal(result.out, 'ERR_RHEO_CLOSED\n')
})

test('an abort closes it', async () => {
  const db = await prepared(rheo)
  const abort = new AbortController()
  const consumer = db.consumer('s', 'g', () => undefined, { signal: abort.signal })
  abort.abort()
  await consumer.wait()
  const other = db.consumer('s', 'g', () => assert.fail('it was closed from the beginning'), { signal: AbortSignal.abort() })
  await db.append('s', 1)
  await other.wait()
})

test('a blocked event loop loses no lease', { timeout: 30_000 }, async () => {
  const db = await prepared(rheo)
  await db.appendBatch('s', [1, 2, 3])
  const seen = []
  const consumer = db.consumer('s', 'g', (event, { lease }) => {
    seen.push([event.payload, lease.attempt])
    if (event.payload === 1) block(900)
  }, { leaseMs: 200 })
  await settled(db)
  assert.deepEqual(seen, [[1, 1], [2, 1], [3, 1]])
  await consumer.close()
})

test('handlers that wait for nothing leave the loop its turns', async () => {
  const db = await prepared(rheo)
  let isStopped = false
  const consumer = db.consumer('s', 'g', () => isStopped ? undefined : RELEASE)
  await db.appendBatch('s', Array(100).fill(1))
  await sleep(20)
  isStopped = true
  await settled(db)
  await consumer.close()
})

test('an error in onError is an uncaught exception', async () => {
  const result = await run(`const db = await open('memory:'); await db.createStream('s'); await db.createGroup('s', 'g');
    process.on('uncaughtException', (error) => { console.log(error.message); process.exit(0) })
    db.consumer('s', 'g', () => { throw new Error('first') }, { onError: () => { throw new Error('second') } })
    await db.append('s', 1)`)
  assert.deepEqual([result.code, result.out], [0, 'second\n'])
})

test('a running consumer keeps the process alive, until it is closed', async () => {
  const result = await run(`${PREPARE}
    const consumer = db.consumer('s', 'g', () => undefined)
    setTimeout(() => { console.log('still here'); consumer.close() }, 200).unref()`)
  ended(result)
  assert.equal(result.out, 'still here\n')
})

test('after unref, of it or of the instance, it does not', async () => {
  for (const unref of ['db.consumer("s", "g", () => undefined).unref()', 'db.consumer("s", "g", () => undefined); db.unref()', 'db.unref(); db.consumer("s", "g", () => undefined)']) {
    const result = await run(`${PREPARE}${unref}`)
    ended(result)
    assert.ok(result.ms < 10_000)
  }
})

test('process.exit with a consumer that runs, and one that failed', async () => {
  ended(await run(`${PREPARE}
    for (let n = 0; n < 8; n++) db.consumer('s', 'g', () => new Promise(() => {}), { concurrency: 4 })
    db.appendBatchSync('s', Array(100).fill(1)); setTimeout(() => process.exit(0), 20)`))
  ended(await run(`${PREPARE}
    db.consumer('s', 'g', async () => { throw new Error('no') }, { retryDelay: 0 }); db.consumer('s', 'g', () => undefined)
    db.appendBatchSync('s', Array(100).fill(1)); setTimeout(() => db.deleteGroupSync('s', 'g'), 20)`))
})

test('a worker that is terminated with a running consumer gives back what it holds', { timeout: 30_000 }, async () => {
  const db = await prepared(rheo, { name: 'consumer-terminated' })
  await db.appendBatch('s', [1, 2, 3])
  const worker = new Worker(
    `import(${JSON.stringify(INDEX)}).then(({ getInstance }) => {
      const { parentPort } = require('node:worker_threads')
      getInstance('consumer-terminated').consumer('s', 'g', () => { parentPort.postMessage('handling'); return new Promise(() => {}) })
    })`,
    { eval: true },
  )
  await new Promise((resolve) => worker.once('message', resolve))
  assert.equal((await db.fetch('s', 'g')).length, 0)
  await worker.terminate()
  assert.equal((await db.fetch('s', 'g', { waitMs: 20_000 })).length, 3)
  await db.close()
})

test('telemetry is told', async () => {
  const seen = []
  const names = ['consumer.start', 'consumer.stop', 'handler.error', 'producer.start', 'producer.stop']
  const listener = ({ name, stream, group }) => seen.push([name, stream, group])
  for (const name of names) channel(`rheo:${name}`).subscribe(listener)
  const db = await prepared(rheo)
  const consumer = db.consumer('s', 'g', () => { throw new Error('no') }, { onFailure: 'reject' })
  await db.append('s', 1)
  await settled(db)
  await consumer.close()
  await db.producer('s', 'g').close()
  await db.close()
  for (const name of names) channel(`rheo:${name}`).unsubscribe(listener)
  assert.deepEqual(seen, ['consumer.start', 'handler.error', 'consumer.stop', 'producer.start', 'producer.stop'].map((name) => [name, 's', 'g']))
})

test('memory does not grow over 100,000 events', { timeout: 120_000 }, async () => {
  const result = await run(
    `const db = await open('memory:')
    const round = async (handler, options) => {
      db.createStreamSync('s'); db.createGroupSync('s', 'g')
      const items = Array.from({ length: 100 }, (_, n) => ({ n, text: 'some text that takes a while' }))
      for (let n = 0; n < 200; n++) db.appendBatchSync('s', items)
      const consumer = db.consumer('s', 'g', handler, options)
      while (db.lagSync('s', 'g').lag > 0) await new Promise((resolve) => setImmediate(resolve))
      await consumer.close()
      db.deleteStreamSync('s', { confirm: true })
    }
    const rounds = async (count) => {
      for (let n = 0; n < count; n++) {
        await round((event, { signal }) => { if (signal.aborted) throw new Error('no') })
        await round(async (event) => { await null; if (event.payload.n > 99) throw new Error('no') }, { concurrency: 16 })
      }
    }
    await rounds(2)
    const before = process.memoryUsage.rss()
    await rounds(3)
    console.log((process.memoryUsage.rss() - before) / 2 ** 20)`,
    { timeoutMs: 110_000 },
  )
  ended(result)
  assert.ok(Number(result.out) < 64, `it grew by ${result.out} MB`)
})
