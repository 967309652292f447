// What several tests use.

import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Where the package is, for programs of their own. */
export const INDEX = new URL('../dist/index.mjs', import.meta.url).href
export const HERE = fileURLToPath(new URL('..', import.meta.url))

/** Runs a program (an ES module) in a process of its own; gives how it ended and what it printed. */
export function run(source, { args = [], timeoutMs = 20_000 } = {}) {
  const program = `import { open, openSync, getInstance } from ${JSON.stringify(INDEX)};\n${source}`
  return new Promise((resolve, reject) => {
    const started = performance.now()
    const child = spawn(process.execPath, [...args, '--input-type=module', '-e', program], { timeout: timeoutMs })
    let [out, err] = ['', '']
    child.stdout.on('data', (text) => (out += text))
    child.stderr.on('data', (text) => (err += text))
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ code, signal, out, err, ms: performance.now() - started }))
  })
}

/** An instance with a stream `s` and a group `g`. */
export async function prepared(rheo, options, url = 'memory:') {
  const db = await rheo.open(url, options)
  await db.createStream('s')
  await db.createGroup('s', 'g')
  return db
}
