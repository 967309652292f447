// Processes end, workers end, and nobody is harmed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import * as rheo from '../dist/index.mjs'
import { INDEX, prepared, run } from './help.mjs'

const PREPARE = "const db = await open('memory:'); await db.createStream('s'); await db.createGroup('s', 'g');\n"

const ended = (result) => assert.deepEqual([result.code, result.signal, result.err], [0, null, ''], JSON.stringify(result))

test('an open instance keeps no process alive', async () => {
  ended(await run(PREPARE))
})

test('a wait keeps the process alive until it is over', async () => {
  const result = await run(`${PREPARE}db.fetch('s', 'g', { waitMs: 300 }).then((leases) => console.log(leases.length))`)
  ended(result)
  assert.equal(result.out, '0\n')
})

test('after unref a wait keeps no process alive, whenever it began', async () => {
  const result = await run(`${PREPARE}
    db.fetch('s', 'g', { waitMs: 600000 }); db.unref(); db.fetch('s', 'g', { waitMs: 600000, partitions: [0] })`)
  ended(result)
  assert.ok(result.ms < 10_000)
})

test('ref takes unref back', async () => {
  const result = await run(`${PREPARE}db.unref().ref(); db.fetch('s', 'g', { waitMs: 200 }).then(() => console.log('over'))`)
  ended(result)
  assert.equal(result.out, 'over\n')
})

test('process.exit with waits pending', async () => {
  ended(await run(`${PREPARE}
    for (let n = 0; n < 32; n++) db.fetch('s', 'g', { waitMs: 600000 }); setTimeout(() => process.exit(0), 20)`))
})

test('what is under way on a thread of the library is waited for', async (t) => {
  const { mkdtempSync, rmSync } = await import('node:fs')
  const place = mkdtempSync('/tmp/rheo-test-')
  t.after(() => rmSync(place, { recursive: true }))
  const result = await run(`
    const db = await open(${JSON.stringify(`journal:${place}/j`)}); await db.createStream('s');
    Promise.all([1, 2, 3].map((n) => db.append('s', n))).then((events) => console.log(events.length))`)
  ended(result)
  assert.equal(result.out, '3\n')
})

test('process.exit with appends under way', async (t) => {
  const { mkdtempSync, rmSync } = await import('node:fs')
  const place = mkdtempSync('/tmp/rheo-test-')
  t.after(() => rmSync(place, { recursive: true }))
  ended(await run(`
    const db = await open(${JSON.stringify(`journal:${place}/j`)}); await db.createStream('s');
    for (let n = 0; n < 200; n++) db.append('s', n); setImmediate(() => process.exit(0))`))
})

test('no rejection goes unhandled but the caller’s own', async () => {
  // Whoever waits gets the rejection; nobody else has one.
  const result = await run(`${PREPARE}
    const waits = [1, 2, 3].map(() => db.fetch('s', 'g', { waitMs: 600000 }).catch((error) => error.code));
    await db.close(); console.log((await Promise.all(waits)).join())`)
  ended(result)
  assert.equal(result.out, `${Array(3).fill('ERR_RHEO_CLOSED').join()}\n`)
})

test('closing is idempotent in every form, and ends what waits', async () => {
  const db = await prepared(rheo)
  const wait = assert.rejects(db.fetch('s', 'g', { waitMs: 600_000 }), { code: 'ERR_RHEO_CLOSED', number: 501 })
  await Promise.all([db.close(), db.close()])
  db.closeSync()
  db[Symbol.dispose]()
  await db[Symbol.asyncDispose]()
  await wait
  assert.equal(db.closed, true)
  assert.throws(() => db.appendSync('s', 1), { code: 'ERR_RHEO_CLOSED' })
  await assert.rejects(db.append('s', 1), { code: 'ERR_RHEO_CLOSED' })
})

test('a worker finds the instance by its name', async () => {
  const db = await prepared(rheo, { name: 'shared' })
  const worker = new Worker(
    `import(${JSON.stringify(INDEX)}).then(async ({ getInstance }) => {
      const event = await getInstance('shared').append('s', { from: 'worker' })
      require('node:worker_threads').parentPort.postMessage(event.sequence)
    })`,
    { eval: true },
  )
  const [lease] = await db.fetch('s', 'g', { waitMs: 20_000 })
  assert.deepEqual(lease.event.payload, { from: 'worker' })
  await new Promise((resolve) => worker.once('exit', resolve))
  // What the worker had is gone; the instance is not.
  assert.equal(rheo.getInstance('shared').closed, false)
  await db.close()
  assert.equal(rheo.getInstance('shared'), undefined)
})

for (const form of ['fetch', 'fetchSync']) {
  test(`a worker that is terminated while it waits (${form}) harms nobody`, { timeout: 30_000 }, async () => {
    const name = `terminated-${form}`
    const db = await prepared(rheo, { name })
    for (let round = 0; round < 3; round++) {
      const worker = new Worker(
        `import(${JSON.stringify(INDEX)}).then(({ getInstance }) => {
          const db = getInstance(${JSON.stringify(name)})
          require('node:worker_threads').parentPort.postMessage('waiting')
          db.${form}('s', 'g', { waitMs: 600000 })
        })`,
        { eval: true },
      )
      await new Promise((resolve) => worker.once('message', resolve))
      await worker.terminate()
    }
    await db.append('s', 'still here')
    const leases = await db.fetch('s', 'g', { waitMs: 5000 })
    assert.deepEqual(leases.payloads(), ['still here'])
    await db.close()
  })
}

test('an instance that nobody has any more is closed', async () => {
  const result = await run(
    `(() => { openSync('memory:', { name: 'forgotten' }) })()
    for (let n = 0; n < 50 && getInstance('forgotten'); n++) { gc(); await new Promise((resolve) => setTimeout(resolve, 10)) }
    console.log(getInstance('forgotten'))`,
    { args: ['--expose-gc'] },
  )
  ended(result)
  assert.equal(result.out, 'undefined\n')
})

test('a buffer outlives its lease, its stream and its instance', async () => {
  const db = await prepared(rheo)
  const large = Buffer.alloc(100_000, 'ab')
  await db.append('s', large)
  await db.append('s', 'x'.repeat(50_000))
  const [first, second] = await db.fetch('s', 'g')
  const [bytes, text] = [first.event.data, second.event.data]
  assert.equal(first.event.payload, bytes)
  await db.ackMany([first, second])
  await db.trim('s', { maxLen: 0 })
  await db.deleteStream('s', { confirm: true })
  await db.close()
  assert.ok(bytes.equals(large))
  assert.equal(text.toString(), JSON.stringify('x'.repeat(50_000)))
  assert.equal(second.event.payload, 'x'.repeat(50_000))
})

test('memory does not grow over a million leases', { timeout: 120_000 }, async () => {
  const result = await run(
    `const db = await open('memory:')
    const round = () => {
      db.createStreamSync('s'); db.createGroupSync('s', 'g')
      const items = Array.from({ length: 100 }, (_, n) => ({ n, text: 'some text that takes a while' }))
      for (let n = 0; n < 500; n++) {
        db.appendBatchSync('s', items)
        const leases = db.fetchSync('s', 'g', { limit: 100 })
        for (const lease of leases) if (typeof lease.event.payload.n !== 'number') throw new Error('no')
        if (n % 2) leases.ackSync(); else for (const lease of leases) lease.ackSync()
      }
      db.deleteStreamSync('s', { confirm: true })
    }
    for (let n = 0; n < 5; n++) round()
    const before = process.memoryUsage.rss()
    for (let n = 0; n < 20; n++) round()
    console.log((process.memoryUsage.rss() - before) / 2 ** 20)`,
    { timeoutMs: 110_000 },
  )
  ended(result)
  assert.ok(Number(result.out) < 64, `it grew by ${result.out} MB`)
})
