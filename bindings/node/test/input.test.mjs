// What goes in: payloads, numbers, times, names; and what is refused, by name.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as rheo from '../dist/index.mjs'
import { prepared } from './help.mjs'

const TYPE = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' }
const INVALID = { name: 'RheoError', code: 'ERR_RHEO_INVALID_ARGUMENT' }

test('payloads come back as they went in', async () => {
  const db = await prepared(rheo)
  const values = [
    null, true, false, 0, -0.5, 1e300, '', 'text', 'ünï 名 😀', '"\\\n\u0000', [], {}, [1, [2, { a: [] }]], { a: { b: null } },
    { toJSON: () => 'made' }, { null: 'null' }, '\\ud800 as text', { left: undefined, out: () => 1 },
  ]
  for (const [form, events] of [
    ['one by one', values.map((value) => db.appendSync('s', value))],
    ['in a batch', db.appendBatchSync('s', values)],
    ['with options', values.map((value) => db.appendSync('s', value, { type: 't' }))],
    ['in a batch with options', db.appendBatchSync('s', values, { type: 't' })],
  ]) {
    const read = new Map(db.readSync('s', { limit: 1000 }).map((event) => [event.id, event]))
    values.forEach((value, at) => {
      const wanted = JSON.parse(JSON.stringify(value))
      assert.deepEqual(events[at].payload, wanted, form)
      assert.deepEqual(read.get(events[at].id).payload, wanted, form)
      assert.equal(events[at].data.toString(), JSON.stringify(value), form)
      assert.equal(events[at].encoding, 'json')
    })
  }
  await db.close()
})

test('bytes come back as they went in, whatever holds them', async () => {
  const db = await prepared(rheo)
  const bytes = Uint8Array.of(0, 255, 128, 10)
  const shared = new Uint8Array(new SharedArrayBuffer(4))
  shared.set(bytes)
  const given = [Buffer.from(bytes), bytes, bytes.buffer, new DataView(bytes.buffer), bytes.subarray(1, 3), shared, new Uint8Array(0)]
  for (const each of given) {
    const wanted = Buffer.from(ArrayBuffer.isView(each) ? new Uint8Array(each.buffer, each.byteOffset, each.byteLength) : new Uint8Array(each))
    for (const event of [db.appendSync('s', each), db.appendBatchSync('s', [each, 1])[0]]) {
      assert.equal(event.encoding, 'bytes')
      assert.ok(event.data.equals(wanted))
      assert.equal(event.payload, event.data)
    }
  }
  await db.close()
})

test('what is given is copied before the call returns', async () => {
  const db = await prepared(rheo, undefined)
  const [bytes, object] = [Buffer.from('before'), { is: 'before' }]
  const pending = [db.append('s', bytes), db.append('s', object), db.appendBatch('s', [bytes, object])]
  bytes.fill('x')
  object.is = 'after'
  const [one, two, [three, four]] = await Promise.all(pending)
  assert.deepEqual([String(one.data), two.payload, String(three.data), four.payload], ['before', { is: 'before' }, 'before', { is: 'before' }])
  await db.close()
})

test('bytes that are tagged json are read as JSON, or say that they are none', async () => {
  const db = await prepared(rheo)
  const json = (text) => db.appendSync('s', Buffer.from(text), { encoding: 'json' })
  assert.deepEqual(json('{"a":1}').payload, { a: 1 })
  // Together they would look like other lists; each is on its own.
  for (const text of ['[1', '2]', '1,2', '', '{"a":}', '"', '\xff', '],[', '3']) json(text)
  const events = db.readSync('s', { after: 1 })
  assert.deepEqual(events.map((event) => String(event.data)), ['[1', '2]', '1,2', '', '{"a":}', '"', '\xff', '],[', '3'])
  for (const event of events.slice(0, -1)) assert.throws(() => event.payload, { ...INVALID, message: /is tagged json and is none/ })
  assert.equal(events.at(-1).payload, 3)
  await db.close()
})

test('what JSON cannot say is refused, and nothing is half appended', async () => {
  const db = await prepared(rheo)
  const cyclic = {}
  cyclic.self = cyclic
  const detached = new Uint8Array(8)
  structuredClone(detached.buffer, { transfer: [detached.buffer] })
  const throwing = { toJSON: () => { throw new Error('own') } }
  const bad = [
    [undefined, TYPE], [() => 1, TYPE], [Symbol('x'), TYPE], [1n, TYPE], [{ a: 1n }, TYPE], [[undefined], TYPE], [[() => 1], TYPE], [Array(1), TYPE],
    [NaN, INVALID], [Infinity, INVALID], [{ a: { b: [1, -Infinity] } }, INVALID], [cyclic, INVALID],
    ['\ud800', INVALID], [{ a: '\udfff!' }, INVALID], [{ '\ud800': 1 }, INVALID], [throwing, INVALID], [detached, INVALID], [detached.buffer, INVALID],
  ]
  for (const [payload, wanted] of bad) {
    assert.throws(() => db.appendSync('s', payload), wanted)
    await assert.rejects(db.append('s', payload), wanted)
    assert.throws(() => db.appendSync('s', payload, { type: 't' }), wanted)
    assert.throws(() => db.appendBatchSync('s', [1, payload, 2]), wanted)
    assert.throws(() => db.appendBatchSync('s', [1, payload, 2], { type: 't' }), wanted)
    assert.throws(() => db.appendBatchSync('s', [1, new rheo.Append(payload)]), wanted)
  }
  assert.throws(() => db.appendSync('s', { a: [0, NaN] }), { message: 'payload.a[1] is NaN; JSON has no such number' })
  assert.equal(db.lagSync('s', 'g').lag, 0)
  await db.close()
})

test('huge payloads', async () => {
  const db = await prepared(rheo)
  const most = 16 * 2 ** 20
  const text = 'x'.repeat(most - 2)
  const [one, two] = [db.appendSync('s', text), db.appendSync('s', Buffer.alloc(most, 7))]
  assert.equal(one.payload, text)
  assert.equal(two.data.length, most)
  for (const payload of [`${text}x`, 'ü'.repeat(most / 2), Buffer.alloc(most + 1), 'x'.repeat(2 ** 27)]) {
    assert.throws(() => db.appendSync('s', payload), { code: 'ERR_RHEO_PAYLOAD_TOO_LARGE' })
    assert.throws(() => db.appendBatchSync('s', [payload, 1]), { code: 'ERR_RHEO_PAYLOAD_TOO_LARGE' })
  }
  assert.throws(() => db.appendBatchSync('s', Array(10_001).fill(1)), INVALID)
  assert.throws(() => db.appendBatchSync('s', Array(5).fill(Buffer.alloc(most))), INVALID)
  assert.equal(db.lagSync('s', 'g').lag, 2)
  await db.close()
})

test('numbers that are none, or are not exact', async () => {
  const db = await prepared(rheo)
  for (const number of [NaN, Infinity, 1.5, -1, 2 ** 53]) {
    assert.throws(() => db.fetchSync('s', 'g', { limit: number }), INVALID)
    assert.throws(() => db.fetchSync('s', 'g', { leaseMs: number }), INVALID)
    assert.throws(() => db.fetchSync('s', 'g', { waitMs: number }), INVALID)
    await assert.rejects(db.fetch('s', 'g', { waitMs: number }), INVALID)
    assert.throws(() => db.readSync('s', { after: number }), INVALID)
    assert.throws(() => db.createGroupSync('s', 'x', { maxAttempts: number }), INVALID)
  }
  for (const partition of [-1, 2 ** 40, 1]) assert.throws(() => db.readSync('s', { partition }), { code: 'ERR_RHEO_INVALID_PARTITION' })
  for (const partition of [-1, 2 ** 40, 1]) assert.throws(() => db.appendSync('s', 1, { partition }), { code: 'ERR_RHEO_INVALID_PARTITION' })
  for (const count of [0, -1, 2 ** 40]) assert.throws(() => db.createStreamSync('t', { partitionCount: count }), { code: 'ERR_RHEO_INVALID_PARTITION_COUNT' })
  for (const wrong of ['1', null, {}, []]) {
    if (wrong !== null) assert.throws(() => db.fetchSync('s', 'g', { limit: wrong }), TYPE)
    assert.throws(() => db.advanceClockSync(wrong), TYPE)
  }
  assert.throws(() => db.fetchSync('s', 'g', { limt: 1 }), { ...INVALID, message: /no option "limt" here; there are: limit, / })
  assert.throws(() => db.createGroupSync('s', 'x', { max_attempts: 1 }), { ...INVALID, message: /there are: .*maxAttempts/ })
  await db.close()
})

test('names and texts', async () => {
  const db = await prepared(rheo)
  for (const name of [undefined, null, 1, {}, ['s'], Symbol('s')]) {
    for (const call of [() => db.appendSync(name, 1), () => db.createStreamSync(name), () => db.fetchSync('s', name), () => db.getSync('s', name)]) {
      assert.throws(call, TYPE)
    }
  }
  for (const name of ['', 'a\n', '\ud800', 'x'.repeat(256)]) {
    for (const call of [() => db.appendSync(name, 1), () => db.createStreamSync(name), () => db.fetchSync('s', name), () => db.appendSync('s', 1, { id: name })]) {
      assert.throws(call, INVALID)
    }
  }
  assert.throws(() => db.appendSync('s', 1, { metadata: 'x' }), TYPE)
  assert.throws(() => db.appendSync('s', 1, { metadata: [] }), TYPE)
  assert.throws(() => db.appendSync('s', 1, { encoding: 'xml' }), INVALID)
  assert.throws(() => db.appendSync('s', 1, 'options'), TYPE)
  for (const lease of [undefined, 1, {}, []]) {
    assert.throws(() => db.ackSync(lease), TYPE)
    assert.throws(() => db.ackManySync([lease]), TYPE)
    assert.throws(() => db.group('s', 'g').ackSync(lease), TYPE)
  }
  assert.throws(() => db.ackManySync('token'), TYPE)
  assert.throws(() => db.ackSync('token'), INVALID)
  await db.close()
})

test('times are exact', async () => {
  const db = await prepared(rheo)
  const far = 2n ** 62n
  for (const [timestamp, micros, date] of [
    [new Date(1234), 1_234_000n, new Date(1234)],
    [1_234_567n, 1_234_567n, new Date(1234)],
    [-1n, -1n, new Date(-1)],
    [far, far, new Date(Number(far / 1000n))],
  ]) {
    for (const event of [db.appendSync('s', 1, { timestamp }), db.appendBatchSync('s', [1], { timestamp })[0]]) {
      assert.equal(event.timestampMicros, micros)
      assert.deepEqual(event.timestamp.getTime(), date.getTime())
    }
  }
  assert.throws(() => db.appendSync('s', 1, { timestamp: Date.now() }), { ...TYPE, message: /a Date, or microseconds/ })
  assert.throws(() => db.appendSync('s', 1, { timestamp: new Date(NaN) }), INVALID)
  assert.throws(() => db.appendSync('s', 1, { timestamp: 2n ** 63n }), INVALID)
  assert.equal(db.querySync('s', { from: far }).length, 2)
  await db.close()
})

test('sequences beyond 2⁵³ are exact and fit into JSON', async () => {
  const { createRequire } = await import('node:module')
  const { Rows } = createRequire(import.meta.url)('../dist/rows.js')
  const { RowEvent } = createRequire(import.meta.url)('../dist/event.js')
  for (const sequence of [1n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 64n - 1n]) {
    const words = new Int32Array(29)
    words[1] = Number(BigInt.asIntN(32, sequence))
    words[2] = Number(BigInt.asIntN(32, sequence >> 32n))
    words[9] = 1
    words[22] = 1
    const event = new RowEvent('s', new Rows('1', words, 1), 0)
    const isSafe = sequence < 2n ** 53n
    assert.equal(event.sequence, isSafe ? Number(sequence) : sequence)
    assert.equal(JSON.parse(JSON.stringify(event)).sequence, isSafe ? Number(sequence) : String(sequence))
  }
  const db = await prepared(rheo)
  const most = 2n ** 64n - 1n
  await db.createGroup('s', 'end', { startAfter: most })
  await db.createGroup('s', 'map', { startAfter: new Map([[0, most]]) })
  assert.deepEqual(await db.read('s', { after: most }), [])
  assert.equal((await db.query('s', { untilSequence: most })).length, 0)
  await db.append('s', { n: 1 })
  assert.equal((await db.query('s', { where: { n: { lt: most } } })).length, 1)
  await db.close()
})

test('everything that is given goes into JSON', async () => {
  const db = await prepared(rheo)
  await db.append('s', { a: 1 }, { key: 'k', type: 't', metadata: { m: 1 } })
  const leases = await db.fetch('s', 'g')
  const lease = JSON.parse(JSON.stringify(leases))[0]
  assert.deepEqual([lease.event.payload, lease.event.key, lease.event.sequence, lease.token], [{ a: 1 }, 'k', 1, leases[0].token])
  await leases[0].reject('why')
  assert.equal(JSON.parse(JSON.stringify(await db.deadLetters('s', 'g')))[0].reason, 'why')
  for (const value of [await db.groupInfo('s', 'g'), await db.lag('s', 'g'), await db.streamInfo('s'), db.capabilities()]) JSON.stringify(value)
  await db.close()
})

test('what would silently become nothing, or everything, is refused', async () => {
  const db = await prepared(rheo)
  for (const payload of [Promise.resolve(1), new Map([[1, 2]]), new Set([1]), new Error('x')]) {
    await assert.rejects(db.append('s', payload), { code: 'ERR_INVALID_ARG_TYPE' })
    await assert.rejects(db.append('s', 1, { metadata: payload }), { code: 'ERR_INVALID_ARG_TYPE' })
  }
  await db.append('s', 1)
  for (const where of [{ userId: undefined }, { userId: { gte: undefined, lt: 3 } }]) {
    await assert.rejects(db.query('s', { where }), { code: 'ERR_INVALID_ARG_TYPE' })
    await assert.rejects(db.replay('s', 'g', { query: { where } }), { code: 'ERR_INVALID_ARG_TYPE' })
  }
  for (const startAfter of [new Date(), Promise.resolve(5), new Set([1])]) {
    await assert.rejects(db.createGroup('s', 'h', { startAfter }), { code: 'ERR_INVALID_ARG_TYPE' })
  }
  assert.equal((await db.read('s')).length, 1)
  await db.close()
})
