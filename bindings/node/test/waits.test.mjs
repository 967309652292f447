// Fetches that wait.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import * as rheo from '../dist/index.mjs'
import { prepared } from './help.mjs'

const LONG = 600_000

test('an abort ends the wait and leases nothing', async () => {
  const db = await prepared(rheo)
  const abort = new AbortController()
  const why = new Error('enough')
  const wait = db.fetch('s', 'g', { waitMs: LONG, signal: abort.signal })
  setTimeout(() => abort.abort(why), 10)
  await assert.rejects(wait, { name: 'AbortError', code: 'ABORT_ERR', cause: why })
  await db.append('s', 1)
  const info = await db.groupInfo('s', 'g')
  assert.deepEqual([info.inflightCount, info.lag.lag], [0, 1])
  const [lease] = await db.fetch('s', 'g')
  assert.equal(lease.attempt, 1)
  await db.close()
})

test('a signal that was aborted before, and one that is never', async () => {
  const db = await prepared(rheo)
  await db.append('s', 1)
  await assert.rejects(db.fetch('s', 'g', { signal: AbortSignal.abort() }), { name: 'AbortError' })
  assert.equal((await db.groupInfo('s', 'g')).inflightCount, 0)
  const { signal } = new AbortController()
  assert.equal((await db.fetch('s', 'g', { waitMs: LONG, signal })).length, 1)
  await assert.rejects(db.fetch('s', 'g', { waitMs: 1, signal: AbortSignal.timeout(LONG) }).then(({ length }) => Promise.reject(length)), (length) => length === 0)
  await db.close()
})

test('an abort between others takes nothing from them', async () => {
  const db = await prepared(rheo)
  const abort = new AbortController()
  const results = []
  const waits = [0, 1, 2].map((n) =>
    db.fetch('s', 'g', { limit: 1, waitMs: LONG, ...(n === 1 && { signal: abort.signal }) }).then(
      (leases) => results.push([n, leases.payloads()]),
      (error) => results.push([n, error.name]),
    ),
  )
  abort.abort()
  await db.append('s', 'a')
  await db.append('s', 'b')
  await Promise.all(waits)
  assert.deepEqual(results.sort(), [[0, ['a']], [1, 'AbortError'], [2, ['b']]])
  await db.close()
})

test('waits are served in their order', async () => {
  const db = await prepared(rheo)
  const waits = [0, 1, 2, 3].map(() => db.fetch('s', 'g', { limit: 1, waitMs: LONG }))
  await db.appendBatch('s', [0, 1, 2, 3])
  const payloads = (await Promise.all(waits)).map((leases) => leases.payloads()[0])
  assert.deepEqual(payloads, [0, 1, 2, 3])
  await db.close()
})

test('a retry that is due and a lease that expires end a wait', async () => {
  const db = await prepared(rheo)
  await db.append('s', 1)
  const [lease] = await db.fetch('s', 'g')
  await lease.retry('later', { delayMs: 30 })
  const [again] = await db.fetch('s', 'g', { waitMs: LONG, leaseMs: 30 })
  assert.equal(again.attempt, 2)
  const [third] = await db.fetch('s', 'g', { waitMs: LONG })
  assert.equal(third.attempt, 3)
  await assert.rejects(again.ack(), { code: 'ERR_RHEO_STALE_LEASE', settleClass: 'lost' })
  await db.close()
})

test('a group that is deleted, and a stream, end a wait', async () => {
  const db = await prepared(rheo)
  let wait = assert.rejects(db.fetch('s', 'g', { waitMs: LONG }), { code: 'ERR_RHEO_GROUP_NOT_FOUND' })
  await db.deleteGroup('s', 'g')
  await wait
  await db.createGroup('s', 'g')
  wait = assert.rejects(db.fetch('s', 'g', { waitMs: LONG }), { code: 'ERR_RHEO_STREAM_NOT_FOUND' })
  await db.deleteStream('s', { confirm: true })
  await wait
  await db.close()
})

test('a manual clock ends a wait by moving, and makes what is due', async () => {
  const db = await prepared(rheo, { clock: 'manual', clockStart: 0n })
  const wait = db.fetch('s', 'g', { waitMs: LONG })
  assert.deepEqual(await db.advanceClock(LONG), new Date(LONG))
  assert.equal((await wait).length, 0)
  await db.append('s', 1)
  await (await db.fetch('s', 'g'))[0].retry('later', { delayMs: 60_000 })
  const retried = db.fetch('s', 'g', { waitMs: LONG })
  await db.advanceClock(60_000)
  assert.equal((await retried)[0].attempt, 2)
  await db.close()
})

test('files are read beside many waits', async () => {
  const db = await prepared(rheo)
  const waits = Array.from({ length: 64 }, () => db.fetch('s', 'g', { waitMs: LONG }).catch((error) => error.code))
  const text = await Promise.all(Array.from({ length: 16 }, () => readFile(new URL(import.meta.url), 'utf8')))
  assert.ok(text.every((each) => each.includes('files are read beside')))
  await db.close()
  assert.ok((await Promise.all(waits)).every((code) => code === 'ERR_RHEO_CLOSED'))
})

test('a wait that blocks the thread ends by what another thread appends', async () => {
  const { Worker } = await import('node:worker_threads')
  const { INDEX } = await import('./help.mjs')
  const db = await prepared(rheo, { name: 'blocking' })
  const worker = new Worker(
    `import(${JSON.stringify(INDEX)}).then(({ getInstance }) => {
      require('node:worker_threads').parentPort.once('message', () => setTimeout(() => getInstance('blocking').appendSync('s', 1), 50))
      require('node:worker_threads').parentPort.postMessage('ready')
    })`,
    { eval: true },
  )
  await new Promise((resolve) => worker.once('message', resolve))
  worker.postMessage('go')
  assert.equal(db.fetchSync('s', 'g', { waitMs: LONG }).length, 1)
  await db.close()
  await worker.terminate()
})

test('a loop over a backlog lets the event loop have its turns', async () => {
  const db = await prepared(rheo)
  await db.appendBatch('s', Array.from({ length: 10_000 }, (_, n) => n))
  let isStopped = false
  setTimeout(() => {
    isStopped = true
  }, 1)
  while (!isStopped) {
    const batch = await db.fetch('s', 'g', { limit: 1 })
    // It never runs out: only the timer ends it.
    await batch.release()
  }
  await db.close()
})
