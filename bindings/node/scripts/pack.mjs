// Packs what is published: rheo-VERSION.tgz, and the package with this platform's library.
//
//     node scripts/pack.mjs OUT         both tarballs into the folder OUT; prints their paths
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PLATFORMS, platformName } from './platform.mjs'

const here = fileURLToPath(new URL('..', import.meta.url))
const out = resolve(process.argv[2] ?? '.')
const name = platformName()
const main = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'))
mkdirSync(out, { recursive: true })

for (const platform of Object.keys(PLATFORMS)) {
  if (main.optionalDependencies[`@rheo/${platform}`] !== main.version) {
    throw new Error(`package.json: optionalDependencies lacks @rheo/${platform} ${main.version}`)
  }
}

const folder = join(here, 'npm', name)
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
const library = `rheo.${name}.node`
copyFileSync(join(here, library), join(folder, library))
const { version, license, author, engines } = main
const description = `The native library of the package rheo, for ${name}`
const about = { name: `@rheo/${name}`, version, description, license, author, engines, ...PLATFORMS[name], main: library, files: [library] }
writeFileSync(join(folder, 'package.json'), `${JSON.stringify(about, undefined, 2)}\n`)

for (const from of [here, folder]) {
  if (from === here) for (const file of ['LICENSE-APACHE', 'LICENSE-MIT']) copyFileSync(join(here, '..', '..', file), join(here, file))
  const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', out], { cwd: from, encoding: 'utf8' })
  console.log(join(out, packed.trim().split('\n').at(-1)))
}
