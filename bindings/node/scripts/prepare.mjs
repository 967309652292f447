// Runs in a clone when the package is installed from there or packed: builds it, if that has not been done. In an installed
// package there is nothing to build, and npm does not run it.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { platformName } from './platform.mjs'

const here = fileURLToPath(new URL('..', import.meta.url))
const isPacking = process.env.npm_command === 'pack' || process.env.npm_command === 'publish'

// Installed as a link, the package's own tools are not there yet.
try {
  createRequire(import.meta.url).resolve('typescript/package.json')
} catch {
  run('npm', ['install', '--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund', '--no-package-lock'])
}
const needsLibrary = !isPacking && !existsSync(`${here}/rheo.${platformName()}.node`)
run(process.execPath, ['scripts/build.mjs', ...(needsLibrary ? [] : ['--dist'])])

function run(command, args) {
  // What npm tells its scripts by the environment is about the outer install, not about this one.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_(?!config_(registry|cache|userconfig))/i.test(name)))
  const { status } = spawnSync(command, args, { cwd: here, stdio: 'inherit', env })
  if (status !== 0) process.exit(status ?? 1)
}
