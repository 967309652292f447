// What is packed works where it is installed: without Rust, in an empty directory, for import, for require and for TypeScript.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { platformName } from '../scripts/platform.mjs'
import { HERE } from './help.mjs'

const call = promisify(execFile)
const examples = join(HERE, '..', '..', 'examples', 'node')
const require = createRequire(import.meta.url)
const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc')
const native = join(HERE, `rheo.${platformName()}.node`)
let place

// What npm tells its scripts, and the library under test, are not for what is installed.
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_') && !['RHEO_NATIVE_LIBRARY', 'NODE_TEST_CONTEXT'].includes(name)))
const node = (...args) => call(process.execPath, args, { cwd: place, env })

before(async () => {
  if (!existsSync(native)) return
  place = mkdtempSync(join(tmpdir(), 'rheo-package-'))
  const { stdout } = await call(process.execPath, [join(HERE, 'scripts', 'pack.mjs'), join(place, 'packed')], { env })
  const [rheo, library] = stdout.trim().split('\n')
  writeFileSync(join(place, 'package.json'), JSON.stringify({ name: 'empty', private: true }))
  // Nothing but the two tarballs: no network, no Rust, no scripts.
  await call('npm', ['install', '--offline', '--omit=optional', '--ignore-scripts', '--no-audit', '--no-fund', rheo], { cwd: place, env })
  mkdirSync(join(place, 'node_modules', '@rheo', platformName()), { recursive: true })
  await call('tar', ['-xzf', library, '-C', join(place, 'node_modules', '@rheo', platformName()), '--strip-components=1'])
}, { timeout: 180_000 })

after(() => place && rmSync(place, { recursive: true, force: true }))

const skip = existsSync(native) ? false : 'the package is not built: npm run build'
const TOUR = /^\d\/\d: [\d.]+\n\d\/\d: [\d.]+\n\d\/\d: [\d.]+\nlag 0, dead letters: too much\n$/

test('the tour, by import', { skip }, async () => {
  cpSync(join(examples, 'tour.mjs'), join(place, 'tour.mjs'))
  assert.match((await node('tour.mjs')).stdout, TOUR)
})

test('the tour, by require', { skip }, async () => {
  const tour = readFileSync(join(examples, 'tour.mjs'), 'utf8').replace("import { open } from 'rheo'", "const { open } = require('rheo')")
  writeFileSync(join(place, 'tour.cjs'), `(async () => {\n${tour}\n})()`)
  assert.match((await node('tour.cjs')).stdout, TOUR)
})

test('the program of the front page, and the tour of the guide', { skip }, async () => {
  const pages = Object.fromEntries(['README.md', 'docs/node.md'].map((page) => [page, readFileSync(join(HERE, '..', '..', page), 'utf8')]))
  const [program] = /(?<=^```js\n).*?(?=^```)/ms.exec(pages['README.md'])
  const [said] = /(?<=^```text\n).*?(?=^```)/ms.exec(pages['README.md'])
  writeFileSync(join(place, 'hello.mjs'), program)
  assert.equal((await node('hello.mjs')).stdout, said)
  const tour = readFileSync(join(examples, 'tour.mjs'), 'utf8').replace(/^\/\/.*\n\n/, '')
  assert.ok(pages['docs/node.md'].includes(`\`\`\`js\n${tour}\`\`\``), 'the tour of docs/node.md is examples/node/tour.mjs')
})

test('the programs of the guide', { skip }, async () => {
  const guide = readFileSync(join(HERE, '..', '..', 'docs', 'node.md'), 'utf8')
  const programs = [...guide.matchAll(/(?<=^```js\n)import .*?(?=^```)/gms)].map(([program]) => program)
  const said = []
  for (const program of programs) {
    writeFileSync(join(place, 'guide.mjs'), program)
    said.push((await node('guide.mjs')).stdout.trim().split('\n').sort())
  }
  assert.equal(said.length, 3)
  assert.deepEqual(said.slice(1), [["12, attempt 1", "12, attempt 2", "3, attempt 1", "99, attempt 1", "[ 'too much' ]"], ['1', '2']])
})

test('the worker, by TypeScript, strict', { skip, timeout: 120_000 }, async () => {
  cpSync(join(examples, 'worker.ts'), join(place, 'worker.mts'))
  cpSync(join(HERE, 'test', 'types.ts'), join(place, 'types.mts'))
  cpSync(join(HERE, 'test', 'types.ts'), join(place, 'types.cts'))
  // What an application has: Node's types.
  for (const name of ['@types/node', 'undici-types']) {
    cpSync(join(HERE, 'node_modules', name), join(place, 'node_modules', name), { recursive: true })
  }
  const options = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--target', 'es2022', '--module', 'node16', '--types', 'node']
  await call(process.execPath, [tsc, ...options, '--noEmit', 'types.mts', 'types.cts'], { cwd: place, env }).catch(({ stdout }) => assert.fail(stdout))
  await call(process.execPath, [tsc, ...options, 'worker.mts'], { cwd: place, env }).catch(({ stdout }) => assert.fail(stdout))
  const { stdout } = await node('worker.mjs')
  assert.deepEqual(stdout.trim().split('\n').sort(), ['1 [ 12.5 ] key', 'customer-7: 12.50'])
})

test('telemetry, as the example has it', { skip }, async () => {
  cpSync(join(examples, 'telemetry-opentelemetry.mjs'), join(place, 'telemetry.mjs'))
  const { stdout } = await node('telemetry.mjs')
  for (const line of ['rheo.append.events 1 orders', 'rheo.lease 1 orders billing', 'rheo.ack.events 1 orders billing', 'rheo.group.frontier 1 orders billing']) {
    assert.ok(stdout.includes(line), `${line}\n${stdout}`)
  }
})

test('without the library of the platform it says what to do', { skip }, async (t) => {
  const other = mkdtempSync(join(tmpdir(), 'rheo-lacking-'))
  t.after(() => rmSync(other, { recursive: true }))
  cpSync(join(place, 'node_modules', 'rheo'), join(other, 'node_modules', 'rheo'), { recursive: true })
  const { stderr } = await call(process.execPath, ['-e', "require('rheo')"], { cwd: other, env }).then(() => assert.fail('it loads'), (error) => error)
  assert.match(stderr, /rheo has no native library for .*@rheo\/.*npm run build/s)
})

test('the tarball holds what it should and no more', { skip }, async () => {
  const files = (await call('tar', ['-tzf', join(place, 'packed', 'rheo-0.1.0.tgz')])).stdout.trim().split('\n')
  for (const file of ['dist/index.js', 'dist/index.mjs', 'dist/index.d.ts', 'dist/index.d.mts', 'README.md', 'LICENSE-MIT', 'LICENSE-APACHE', 'package.json']) {
    assert.ok(files.includes(`package/${file}`), file)
  }
  assert.deepEqual(files.filter((file) => !/^package\/(dist\/[\w-]+\.(js|mjs|d\.ts|d\.mts)|README\.md|LICENSE-(MIT|APACHE)|package\.json)$/.test(file)), [])
})

test('versions agree: the package, its platforms, Cargo', () => {
  const { version, optionalDependencies } = JSON.parse(readFileSync(join(HERE, 'package.json'), 'utf8'))
  assert.equal(version, /^version = "(.*)"$/m.exec(readFileSync(join(HERE, '..', '..', 'Cargo.toml'), 'utf8'))[1])
  assert.deepEqual(new Set(Object.values(optionalDependencies)), new Set([version]))
})

test('the types of the native half are what it says of itself', async () => {
  const library = process.env.RHEO_NATIVE_LIBRARY ?? native
  await call(process.execPath, [join(HERE, 'scripts', 'native-types.mjs'), '--check'], { env: { ...env, RHEO_NATIVE_LIBRARY: library } })
})
