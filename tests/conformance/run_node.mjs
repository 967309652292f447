#!/usr/bin/env node
// Runs the conformance scenarios through the Node package, in every way that it has: by name and bound, by lease and by token,
// with promises and at once.
//
//     node tests/conformance/run_node.mjs --backend memory:
//     node tests/conformance/run_node.mjs --backend 'journal:{place}/{number}?sync=never'
//
// The package is that of bindings/node, with the library that RHEO_NATIVE_LIBRARY names (one with test-backends). Prints every scenario
// that failed and every one that was skipped, with what is missing, then the counts over all ways. The exit status is 0 when none failed.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { hasFeature } = await import('./node/rheo.mjs')
const { Failed, Run } = await import('./node/runner.mjs')
const { Session } = await import('./node/surface.mjs')
const { Lacking } = await import('./node/values.mjs')

const here = fileURLToPath(new URL('.', import.meta.url))
const { values: options } = parseArgs({
  options: { backend: { type: 'string' }, only: { type: 'string', default: '' }, way: { type: 'string', default: '' } },
})
if (!options.backend) {
  console.error('name a backend, such as --backend memory:')
  process.exit(2)
}

const WAYS = [true, false].flatMap((sync) =>
  [false, true].flatMap((bound) =>
    [false, true].map((tokens) => ({
      sync, bound, tokens,
      text: [sync ? 'sync' : 'promise', bound ? 'bound' : 'name', tokens ? 'token' : 'lease'].join(' '),
    })),
  ),
)

function offers(way) {
  const offered = new Set(['signed-numbers', 'signed-partitions', 'token-lists'])
  if (way.bound) offered.add('bound')
  if (options.backend.startsWith('flaky:')) offered.add('flaky')
  if (options.backend.replace(/^flaky:/, '') === 'native-stream-double:') offered.add('receipts')
  if (!hasFeature('redis')) offered.add('without-redis')
  return offered
}

async function run(name, scenario, session, offered) {
  try {
    const missing = (scenario.needs ?? []).filter((need) => !offered.has(need))
    if (missing.length > 0) throw new Lacking(missing.join(', '))
    await new Run(session).scenario(scenario)
    return 'passed'
  } catch (error) {
    if (error instanceof Lacking) {
      console.log(`skipped ${name}: it needs ${error.message}`)
      return 'skipped'
    }
    if (!(error instanceof Failed)) throw error
    console.log(`FAILED  ${name}, step ${error.step}: ${error.call}`)
    console.log(`        expected ${error.expected}`)
    console.log(`        got      ${error.got}`)
    return 'failed'
  }
}

const scenarios = readdirSync(here)
  .filter((file) => file.endsWith('.json'))
  .sort()
  .flatMap((file) => {
    const { theme, scenarios } = JSON.parse(readFileSync(join(here, file), 'utf8'))
    return scenarios.map((scenario) => [`${theme}/${scenario.name}`, scenario])
  })
  .filter(([name]) => name.includes(options.only))
if (scenarios.length === 0) {
  console.error(`no scenario has ${JSON.stringify(options.only)} in its name`)
  process.exit(2)
}
const counts = { passed: 0, failed: 0, skipped: 0 }
for (const way of WAYS.filter(({ text }) => text.includes(options.way))) {
  for (const [name, scenario] of scenarios) {
    const place = mkdtempSync(join(tmpdir(), 'rheo-'))
    try {
      const session = new Session(options.backend.replaceAll('{place}', place), way)
      counts[await run(`${name} (${way.text})`, scenario, session, offers(way))]++
    } finally {
      rmSync(place, { recursive: true, force: true })
    }
  }
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`)
process.exitCode = counts.failed > 0 ? 1 : 0
