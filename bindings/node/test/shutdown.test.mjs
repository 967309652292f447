// What ends with a signal, and what is killed: the examples, as processes.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import * as rheo from '../dist/index.mjs'
import { HERE } from './help.mjs'

/** A folder in which `rheo` is this package, with a copy of the examples. */
function folder(t) {
  const place = mkdtempSync('/tmp/rheo-test-')
  t.after(() => rmSync(place, { recursive: true }))
  mkdirSync(join(place, 'node_modules'))
  symlinkSync(HERE, join(place, 'node_modules', 'rheo'))
  symlinkSync(join(HERE, '..', '..', 'examples', 'node'), join(place, 'examples'))
  return place
}

/** Starts an example. */
function start(place, name, ...args) {
  const options = ['--preserve-symlinks', '--preserve-symlinks-main', join(place, 'examples', name), ...args]
  const child = spawn(process.execPath, options, { cwd: place, timeout: 60_000 })
  const run = { child, out: '', err: '' }
  child.stdout.on('data', (text) => (run.out += text))
  child.stderr.on('data', (text) => (run.err += text))
  run.ended = new Promise((resolve) => child.on('close', (code, signal) => resolve({ code, signal, err: run.err })))
  return run
}

async function until(holds, run, ms = 30_000) {
  for (const end = performance.now() + ms; !holds(); await sleep(2)) {
    assert.ok(performance.now() < end && run.child.exitCode === null, `never: ${holds}\n${run.out}\n${run.err}`)
  }
}

test('SIGTERM: handlers finish, what none has begun with is there for others, and the exit code is 0', { timeout: 60_000 }, async (t) => {
  const place = folder(t)
  const journal = join(place, 'journal')
  let db = await rheo.open(`journal:${journal}`)
  await db.createStream('orders')
  await db.createGroup('orders', 'billing')
  await db.appendBatch('orders', Array.from({ length: 9 }, (_, n) => ({ total: n })))
  await db.close()
  const run = start(place, 'shutdown.mjs', journal)
  await until(() => run.out.includes('billing 2'), run)
  run.child.kill('SIGTERM')
  assert.deepEqual(await run.ended, { code: 0, signal: null, err: '' })
  const said = run.out.trim().split('\n')
  const begun = said.filter((line) => line.startsWith('billing'))
  assert.deepEqual(said.filter((line) => line.startsWith('billed')).map((line) => line.slice(7)).sort(), begun.map((line) => line.slice(8)).sort())
  // What was released counts no attempt; what expires does.
  db = await rheo.open(`journal:${journal}`)
  const leases = await db.fetch('orders', 'billing', { limit: 100 })
  assert.equal(leases.length, 9 - begun.length)
  assert.ok(leases.every(({ attempt }) => attempt === 1))
  await db.close()
})

test('a pipeline that is killed in the middle, again and again, loses nothing', { timeout: 120_000 }, async (t) => {
  const place = folder(t)
  const [journal, results] = [join(place, 'journal'), join(place, 'results')]
  const count = 3000
  let db = await rheo.open(`journal:${journal}`)
  await db.createStream('numbers')
  await db.createGroup('numbers', 'squares', { maxAttempts: 100 })
  const events = await db.appendBatch('numbers', Array.from({ length: count }, (_, n) => ({ n })))
  await db.close()
  const lines = () => (existsSync(results) ? readFileSync(results, 'utf8').split('\n').length - 1 : 0)
  for (let kills = 0; kills < 3; kills++) {
    const before = lines()
    const run = start(place, 'pipeline.mjs', journal, results)
    await until(() => lines() > Math.min(before + 100, count - 1), run)
    run.child.kill('SIGKILL')
    assert.equal((await run.ended).signal, 'SIGKILL')
    // What is acked the sink has.
    db = await rheo.open(`journal:${journal}`)
    const { frontier } = (await db.lag('numbers', 'squares')).partitions[0]
    await db.close()
    const ids = new Set(readFileSync(results, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line).id))
    assert.ok(events.slice(0, frontier).every(({ id }) => ids.has(id)))
  }
  const run = start(place, 'pipeline.mjs', journal, results)
  await until(() => lines() >= count, run)
  run.child.kill('SIGTERM')
  assert.deepEqual(await run.ended, { code: 0, signal: null, err: '' })
  const found = readFileSync(results, 'utf8').trim().split('\n').map((line) => JSON.parse(line))
  assert.deepEqual(new Map(found.map(({ id, result }) => [id, result])), new Map(events.map(({ id, payload }) => [id, payload.n ** 2])))
  assert.equal(found.length, count, 'no result is there twice')
  db = await rheo.open(`journal:${journal}`)
  assert.deepEqual([(await db.lag('numbers', 'squares')).lag, (await db.groupInfo('numbers', 'squares')).deadLetterCount], [0, 0])
  await db.close()
})
