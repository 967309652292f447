// Builds the package where it stands: the native library with cargo, the TypeScript with tsc.
//
//     node scripts/build.mjs            rheo.PLATFORM.node (optimised) and dist/
//     node scripts/build.mjs --test     ../../build/node/rheo.node with the backends that exist to test with, and dist/
//     node scripts/build.mjs --dist     dist/ only
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { platformName } from './platform.mjs'

const here = fileURLToPath(new URL('..', import.meta.url))
const root = join(here, '..', '..')
const isTest = process.argv.includes('--test')

if (!process.argv.includes('--dist')) {
  // A directory of its own: here rheo-ffi is built without its C symbols, and must not take the C library's place.
  const target = join(process.env.CARGO_TARGET_DIR ?? join(root, 'target'), 'node')
  const profile = isTest ? 'debug' : 'release'
  const options = isTest ? ['--features', 'test-backends'] : ['--release', '--config', 'profile.release.strip="symbols"']
  run('cargo', ['build', '--quiet', '--locked', '-p', 'rheo-node', '--target-dir', target, ...options], root)
  const names = { darwin: 'librheo_node.dylib', win32: 'rheo_node.dll' }
  const built = join(target, profile, names[process.platform] ?? 'librheo_node.so')
  place(built, isTest ? join(root, 'build', 'node', 'rheo.node') : join(here, `rheo.${platformName()}.node`))
}

const typescript = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')
rmSync(join(here, 'dist'), { recursive: true, force: true })
run(process.execPath, [typescript, '-p', here], here)

/** Puts a library where it is loaded from. A process that has the old one loaded keeps that. */
function place(from, to) {
  mkdirSync(dirname(to), { recursive: true })
  copyFileSync(from, `${to}.new`)
  if (existsSync(to)) rmSync(to)
  renameSync(`${to}.new`, to)
}

function run(command, args, cwd) {
  const { status, error } = spawnSync(command, args, { cwd, stdio: 'inherit' })
  if (error?.code === 'ENOENT') {
    console.error(`rheo: ${command} is not installed; building from a clone needs Rust: https://rustup.rs`)
    process.exit(1)
  }
  if (status !== 0) process.exit(status ?? 1)
}
