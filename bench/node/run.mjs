// Sets the Node package against a better-sqlite3 queue and node-redis, and prints a table of ratios.
//
//     node bench/node/run.mjs [--turns N] [--write docs/benchmarks.md]
//
// In each turn every case runs once, one after the other; the first turn warms up and does not count. A figure is the median over the
// turns. With --write, the part of the document between its two markers is replaced. Where redis-server is missing, its rows say so.

import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { cpus, release, tmpdir, type } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { floor, redis, rheo, sqlite } from './cases.mjs'
import { payload } from './payload.mjs'

const [BEGIN, END] = ['<!-- node figures: begin -->', '<!-- node figures: end -->']
const { values: options } = parseArgs({ options: { turns: { type: 'string', default: '7' }, write: { type: 'string' } } })

// What, by whom, against whom, at least so many times as fast.
const TARGETS = [
  ['append an object, `appendSync`', 'memory.append', 'sqlite.append', 12],
  ['append an object, `appendSync`', 'memory.append', 'redis.append', 45],
  ['append 100 objects, one call', 'memory.append_batch', 'sqlite.append_batch', 2.5],
  ['append 100 objects, one call', 'memory.append_batch', 'redis.append_batch', 4],
  ['fetch 100 + ackMany, decoded', 'memory.fetch_100_decoded', 'sqlite.fetch_100_decoded', 6],
  ['fetch 100 + ackMany, decoded', 'memory.fetch_100_decoded', 'redis.fetch_100_decoded', 4],
  ['fetch 100 + ackMany, untouched', 'memory.fetch_100_untouched', 'sqlite.fetch_100_untouched', 15],
  ['fetch one + ack, decoded', 'memory.fetch_one', 'sqlite.fetch_one', 30],
  ['fetch one + ack, decoded', 'memory.fetch_one', 'redis.fetch_one', 50],
  ['`await append` against `appendSync`', 'memory.append_awaited', 'memory.append', 0.7],
  ['append by names against a bound handle', 'memory.append_by_name', 'memory.append'],
  ['append, journal `interval:100` against memory', 'journal.append', 'memory.append', 0.4],
  ['append 100, journal against memory', 'journal.append_batch', 'memory.append_batch'],
  ['fetch 100 + ackMany, journal against memory', 'journal.fetch_100_decoded', 'memory.fetch_100_decoded'],
  ['append an object against `JSON.stringify` of it', 'memory.append', 'floor.stringify'],
]

// What a consumer does, as which figure, at least so many times as fast as the loop by hand.
const CONSUMERS = [
  ['a consumer with a handler that does nothing', 'consumer', 0.3],
  ['the same, `async`', 'consumer_async'],
  ['the same, `async`, `concurrency: 16`', 'consumer_async_16'],
  ['the same, `batchSize: 100`', 'consumer_batches'],
]

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1]

/** A server of our own on a free port that keeps nothing on disk; nothing where there is none. */
async function redisServer() {
  const port = await new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
  const place = mkdtempSync(join(tmpdir(), 'rheo-bench-'))
  const args = ['--bind', '127.0.0.1', '--port', String(port), '--dir', place, '--save', '', '--appendonly', 'no']
  const server = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const isReady = await new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.once('exit', () => resolve(false))
    server.stdout.on('data', (text) => String(text).includes('Ready to accept connections') && resolve(true))
  })
  // Whatever happens here, it ends with this process.
  process.on('exit', () => server.kill())
  const stop = () => {
    server.kill()
    rmSync(place, { recursive: true, force: true })
  }
  if (isReady) return { port, stop }
  stop()
  return undefined
}

/** The lines `name<TAB>value` that a script of ours prints, in a process of its own. */
function measured(name, ...args) {
  const script = fileURLToPath(new URL(name, import.meta.url))
  const { stdout, status } = spawnSync(process.execPath, [script, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  if (status !== 0) throw new Error(`${name} ended with ${status}`)
  return Object.fromEntries(stdout.trim().split('\n').map((line) => line.split('\t')).map(([name, value]) => [name, Number(value)]))
}

const place = mkdtempSync(join(tmpdir(), 'rheo-bench-'))
const server = await redisServer()
const subjects = {
  floor: floor(),
  memory: rheo('memory:'),
  journal: rheo(`journal:${join(place, 'journal')}?sync=interval:100`, 20_000, false),
  sqlite: sqlite(),
  ...(server && { redis: await redis(server.port) }),
}
const samples = {}
try {
  for (let turn = 0; turn <= Number(options.turns); turn++) {
    for (const [subject, cases] of Object.entries(subjects)) {
      for (const [name, run] of Object.entries(cases)) {
        if (name === 'close') continue
        if (process.env.RHEO_BENCH_VERBOSE) console.error(turn, subject, name)
        const nanos = await run()
        if (turn > 0) (samples[`${subject}.${name}`] ??= []).push(nanos)
      }
    }
  }
} finally {
  server?.stop()
  for (const { close } of Object.values(subjects)) close()
  rmSync(place, { recursive: true, force: true })
}
const times = Object.fromEntries(Object.entries(samples).map(([name, values]) => [name, median(values)]))
const loop = measured('loop.mjs')
const { rss } = measured('loop.mjs', 'memory')
const consumers = measured('consumers.mjs', options.turns)

const met = (holds) => (holds ? 'yes' : '**no**')
const rows = TARGETS.map(([what, subject, other, bound]) => {
  const [first, second] = [times[subject], times[other]]
  const names = `${subject.split('.')[0]} / ${other.split('.')[0]}`
  if (second === undefined) return `| ${what} | ${names} | ${first.toFixed(0)} | | | ≥ ${bound} | not measured: no redis-server |`
  const ratio = second / first
  return `| ${what} | ${names} | ${first.toFixed(0)} | ${second.toFixed(0)} | ${ratio.toFixed(2)} | ${bound ? `≥ ${bound}` : ''} | ${bound ? met(ratio >= bound) : ''} |`
})
const model = cpus()[0]?.model ?? process.arch
const redisVersion = server ? `, Redis ${spawnSync('redis-server', ['--version'], { encoding: 'utf8' }).stdout.match(/v=(\S+)/)?.[1]}` : ''
const version = (name) => JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url), 'utf8')).version
const figures = [
  `${model}, ${cpus().length} cores, ${type()} ${release()}, Node ${process.version}, better-sqlite3 ${version('better-sqlite3')}, ` +
    `node-redis ${version('redis')}${redisVersion}; medians of ${options.turns} turns; a payload of ${JSON.stringify(payload(1)).length} bytes.`,
  '',
  '| what | who / against whom | ns | ns | times as fast | target | met |',
  '|---|---|---:|---:|---:|---:|---|',
  ...rows,
  '',
  '| what | value | target | met |',
  '|---|---:|---:|---|',
  `| event-loop delay, p99, idle | ${loop.delay_idle.toFixed(2)} ms | | |`,
  `| the same, 32 waits and ${Math.round(loop.rate / 1000)}k events a second | ${loop.delay_flowing.toFixed(2)} ms | ≤ 5 ms | ${met(loop.delay_flowing <= 5)} |`,
  `| \`fs.readFile\`, alone | ${loop.read_alone.toFixed(0)} µs | | |`,
  `| the same beside 32 waits | ${loop.read_beside.toFixed(0)} µs | ≤ 1.25 × | ${met(loop.read_beside <= 1.25 * loop.read_alone)} |`,
  ...CONSUMERS.map(([what, name, bound]) => {
    const ratio = consumers.by_hand / consumers[name]
    return `| ${what} against a loop of \`fetch\` 100 and \`ackMany\` (${consumers.by_hand.toFixed(0)} ns an event) | ${ratio.toFixed(2)} × | ${bound ? `≥ ${bound}` : ''} | ${bound ? met(ratio >= bound) : ''} |`
  }),
  `| append to handler, idle consumer: p50, p90, max | ${[consumers.wake_p50, consumers.wake_p90, consumers.wake_max].map((micros) => micros.toFixed(0)).join(', ')} µs | | |`,
  `| the same, p99 | ${(consumers.wake_p99 / 1000).toFixed(2)} ms | ≤ 3 ms | ${met(consumers.wake_p99 <= 3000)} |`,
  `| resident memory after 2 million leases, decoded and acked | ${rss.toFixed(0)} MB | ≤ 150 MB | ${met(rss <= 150)} |`,
].join('\n')
console.log(figures)
if (options.write) {
  const text = readFileSync(options.write, 'utf8')
  const [before, rest] = text.split(BEGIN)
  const [, after] = rest.split(END)
  writeFileSync(options.write, `${before}${BEGIN}\n${figures}\n${END}${after}`)
}
