// The shape of the package: both forms of everything, errors, batches, bound handles, telemetry.

import assert from 'node:assert/strict'
import { channel } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import * as rheo from '../dist/index.mjs'
import { prepared } from './help.mjs'

test('every operation has both forms', () => {
  const single = new Set(['constructor', 'capabilities', 'stream', 'group', 'ref', 'unref', 'toJSON', 'payloads', 'consumer', 'producer'])
  const inner = /^(callSync|call|events|page|pages|pagesSync|fetchNow|fetchLater|none|dueMs|taken|wait|wordsOf|isPlain|settle|settleLater|settleManyRaw|settleMany|settleManySync|tokenOf|keepAlive|holder|watch|producerOf|bound.*|groupOf.*|byToken.*)$/
  for (const type of [rheo.Instance, rheo.Stream, rheo.Group, rheo.Lease, rheo.Batch]) {
    const names = Object.entries(Object.getOwnPropertyDescriptors(type.prototype)).filter(([, { value }]) => typeof value === 'function').map(([name]) => name)
    for (const name of names.filter((name) => !single.has(name) && !inner.test(name))) {
      const other = name.endsWith('Sync') ? name.slice(0, -4) : `${name}Sync`
      assert.ok(names.includes(other), `${type.name}.${name} has no ${other}`)
    }
  }
})

test('both module systems get the same package', () => {
  const other = createRequire(import.meta.url)('../dist/index.js')
  for (const name of Object.keys(rheo)) assert.equal(other[name], rheo[name], name)
  assert.deepEqual(Object.keys(other).sort(), Object.keys(rheo).sort())
})

test('an error says what failed, and what to do', async () => {
  const error = await rheo.open('redis://x').catch((error) => error)
  assert.ok(error instanceof rheo.RheoError && error instanceof Error)
  assert.deepEqual(
    [error.name, error.code, error.number, error.retriable, error.retriableWithSameId, error.settleClass],
    ['RheoError', 'ERR_RHEO_UNSUPPORTED', 307, false, false, 'definite'],
  )
  assert.match(error.message, /redis/)
  assert.ok(!('name' in JSON.parse(JSON.stringify(error))))
  await assert.rejects(rheo.open('journal:/proc/no/journal'), (error) => error.code === 'ERR_RHEO_FAILED' && /./.test(error.cause))
  await assert.rejects(rheo.open(5), { code: 'ERR_INVALID_ARG_TYPE' })
  assert.throws(() => rheo.openSync('memory:', { nme: 1 }), { code: 'ERR_RHEO_INVALID_ARGUMENT' })
})

test('a batch is an array that can do more', async () => {
  const db = await prepared(rheo)
  await db.appendBatch('s', ['a', 'b', 'c', 'd'])
  const leases = await db.fetch('s', 'g')
  assert.ok(Array.isArray(leases) && leases instanceof rheo.Batch)
  assert.deepEqual([leases.length, leases[1].event.payload, leases.at(-1).event.payload], [4, 'b', 'd'])
  assert.deepEqual(leases.payloads(), ['a', 'b', 'c', 'd'])
  const some = leases.filter((lease) => lease.event.sequence > 2)
  assert.ok(!(some instanceof rheo.Batch))
  await leases[0].ack()
  const results = await leases.ack()
  assert.deepEqual(results.slice(1), [undefined, undefined, undefined])
  assert.equal(results[0].code, 'ERR_RHEO_STALE_LEASE')
  assert.deepEqual((await db.fetch('s', 'g')).length, 0)
  await db.close()
})

test('a batch whose leases were moved about settles what is in it', async () => {
  const db = await prepared(rheo)
  await db.appendBatch('s', [1, 2, 3, 4])
  const leases = db.fetchSync('s', 'g')
  leases.reverse()
  leases.pop()
  assert.deepEqual(leases.ackSync(), [undefined, undefined, undefined])
  const { lag, inflightCount } = db.groupInfoSync('s', 'g')
  assert.deepEqual([lag.partitions[0].frontier, inflightCount], [0, 1])
  await db.close()
})

test('leases of several groups, tokens among them, settle in one call', async () => {
  const db = await prepared(rheo)
  await db.createGroup('s', 'h')
  await db.appendBatch('s', [1, 2])
  const [a, b] = await db.fetch('s', 'g')
  const [c, d] = await db.fetch('s', 'h')
  const results = await db.ackMany([a, c, b.token, 'no token', d])
  assert.deepEqual(results.map((error) => error?.code), [undefined, undefined, undefined, 'ERR_RHEO_INVALID_ARGUMENT', undefined])
  await assert.rejects(db.group('s', 'g').ack(d), { code: 'ERR_RHEO_STALE_LEASE' })
  await db.close()
})

test('a lease knows its holder, whoever fetches after', async (t) => {
  const place = mkdtempSync('/tmp/rheo-test-')
  t.after(() => rmSync(place, { recursive: true }))
  for (const [url, options] of [['memory:', {}], [`journal:${place}/j`, { syncSettles: true }]]) {
    const db = await prepared(rheo, options, url)
    await db.appendBatch('s', [1, 2, 3])
    const [own] = await db.fetch('s', 'g', { limit: 1 })
    const [other] = await db.fetch('s', 'g', { limit: 1, consumerId: 'other' })
    const [again] = await db.fetch('s', 'g', { limit: 1 })
    assert.equal(other.consumerId, 'other')
    assert.match(own.consumerId, /^rheo-[0-9a-f]{32}$/)
    assert.equal(again.consumerId, own.consumerId)
    await db.close()
  }
})

test('renewing changes the lease', async () => {
  const db = await prepared(rheo, { clock: 'manual', clockStart: new Date(0) })
  await db.append('s', 1)
  const [lease] = await db.fetch('s', 'g', { leaseMs: 1000 })
  assert.deepEqual(lease.expiresAt, new Date(1000))
  assert.equal(await lease.renew(5000), lease)
  assert.equal(lease.expiresAtMicros, 5_000_000n)
  assert.deepEqual(await db.renew(lease.token, { leaseMs: 7 }), { expiresAt: new Date(7), expiresAtMicros: 7000n })
  assert.deepEqual((await db.renewMany([lease, lease.token])).map(({ expiresAtMicros }) => expiresAtMicros), [1_000_000n, 1_000_000n])
  await db.close()
})

test('handles go on when what they name comes anew', async () => {
  const db = await prepared(rheo)
  const [stream, group] = [db.stream('s'), db.group('s', 'g')]
  await stream.append(1)
  const [lost] = await group.fetch()
  await stream.delete({ confirm: true })
  await assert.rejects(stream.append(1), { code: 'ERR_RHEO_STREAM_NOT_FOUND' })
  await db.createStream('s')
  await db.createGroup('s', 'g')
  await stream.append(2)
  await assert.rejects(lost.ack())
  assert.deepEqual((await group.fetch()).payloads(), [2])
  await db.close()
})

test('more names than an instance keeps handles for', async () => {
  const db = await rheo.open()
  for (let n = 0; n < 1100; n++) {
    db.createStreamSync(`s${n}`)
    db.createGroupSync(`s${n}`, 'g')
    db.appendSync(`s${n}`, n)
    assert.deepEqual(db.fetchSync(`s${n}`, 'g').payloads(), [n])
  }
  assert.deepEqual(db.readSync('s0').map(({ payload }) => payload), [0])
  await db.close()
})

test('promises settle in order where nothing waits, and all of them where something does', async (t) => {
  const place = mkdtempSync('/tmp/rheo-test-')
  t.after(() => rmSync(place, { recursive: true }))
  for (const [url, options] of [['memory:', {}], [`journal:${place}/a`, {}], [`journal:${place}/b`, { syncSettles: true }], [`journal:${place}/c`, { sync: 'interval:100' }]]) {
    const db = await prepared(rheo, options, url)
    const events = await Promise.all(Array.from({ length: 50 }, (_, n) => db.append('s', { n }, { key: `k${n}` })))
    assert.deepEqual(events.map(({ payload, key }) => [payload.n, key]), events.map((_, n) => [n, `k${n}`]))
    assert.deepEqual(events.map(({ sequence }) => sequence).sort((a, b) => a - b), events.map((_, n) => n + 1))
    await db.appendBatch('s', [1, new rheo.Append(2, { type: 't' })], { type: 'u' })
    const wait = db.fetch('s', 'g', { limit: 100, waitMs: 5000 })
    const leases = await wait
    assert.equal(leases.length, 52)
    await leases[0].renew()
    await leases[0].retry('again')
    await leases[1].reject('no')
    await leases[2].release()
    assert.deepEqual(new Set(await db.ackMany(leases.slice(3))), new Set([undefined]))
    const [again, released] = await db.fetch('s', 'g', { waitMs: 5000 })
    assert.deepEqual([again.attempt, released.attempt], [2, 1])
    await db.ackMany([again, released.token])
    assert.equal((await db.lag('s', 'g')).lag, 0)
    const abort = new AbortController()
    const aborted = assert.rejects(db.fetch('s', 'g', { waitMs: 60_000, signal: abort.signal }), { name: 'AbortError' })
    setTimeout(() => abort.abort(), 20)
    await aborted
    const later = db.fetch('s', 'g', { waitMs: 60_000 })
    await db.append('s', 'late')
    assert.deepEqual((await later).payloads(), ['late'])
    const closed = assert.rejects(db.fetch('s', 'g', { waitMs: 60_000 }), { code: 'ERR_RHEO_CLOSED' })
    await sleep(20)
    await db.close()
    await closed
  }
})

test('queries, pages and iterators', async () => {
  const db = await prepared(rheo)
  await db.appendBatch('s', Array.from({ length: 25 }, (_, n) => ({ n })))
  const numbers = (events) => events.map(({ payload }) => payload.n)
  assert.deepEqual(numbers(await db.query('s', { where: { n: { gte: 20, lt: 23 } }, orderBy: [['sequence', 'desc']] })), [22, 21, 20])
  const iterated = []
  for await (const { payload } of db.queryStream('s', { limit: 7 })) iterated.push(payload.n)
  assert.deepEqual(iterated, numbers([...db.queryStreamSync('s', { limit: 4 })]))
  assert.equal(iterated.length, 25)
  const page = await db.queryPage('s', { limit: 20 })
  assert.deepEqual(numbers((await db.queryPage('s', { limit: 20 }, page.nextCursor)).events), [20, 21, 22, 23, 24])
  assert.throws(() => db.queryStream('s', { limit: 0 }), { code: 'ERR_RHEO_INVALID_ARGUMENT' })
  await db.close()
})

test('telemetry comes by diagnostics_channel, and costs nothing without', async () => {
  const quiet = await prepared(rheo)
  const seen = []
  const names = ['append', 'append_batch', 'fetch', 'ack', 'lease', 'stream.create', 'query', 'dead_letter', 'reject']
  const listener = (message) => seen.push(message)
  for (const name of names) channel(`rheo:${name}`).subscribe(listener)
  const db = await prepared(rheo, { name: 'told' })
  await db.append('s', 1)
  await db.appendBatch('s', [2, 3])
  const leases = await db.fetch('s', 'g')
  await leases[0].reject('no')
  await leases.ack()
  await quiet.append('s', 1)
  await sleep(20)
  for (const name of names) channel(`rheo:${name}`).unsubscribe(listener)
  const told = Object.fromEntries(seen.map((message) => [message.name, message]))
  assert.equal(told.append.count, 1)
  assert.equal(typeof told.append.durationMs, 'number')
  assert.equal(told.append_batch.count, 2)
  assert.deepEqual([told.fetch.count, told.fetch.group, told.fetch.instance, told.fetch.stream], [3, 'g', 'told', 's'])
  assert.deepEqual([told.ack.count, told.ack.failed, told.ack.error], [2, 1, 'stale_lease'])
  assert.equal(told.dead_letter.count, 1)
  assert.equal(seen.filter(({ name }) => name === 'append').length, 1, 'the quiet one says nothing')
  await db.close()
  await quiet.close()
})

test('values show what they hold', async () => {
  const db = await prepared(rheo)
  const event = await db.append('s', { a: 1 })
  assert.match(inspect(event), /^Event \{[^]*payload: \{ a: 1 \}/)
  assert.match(inspect(await db.fetch('s', 'g')), /Batch\(1\) \[\n? +Lease \{/)
  await db.close()
})
