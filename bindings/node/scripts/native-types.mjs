// Writes src/addon.d.ts from what the built library says of itself; with --check, says whether it is up to date.
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const require = createRequire(import.meta.url)
const file = fileURLToPath(new URL('../src/addon.d.ts', import.meta.url))
const library = process.env.RHEO_NATIVE_LIBRARY ?? process.argv.find((argument) => argument.endsWith('.node'))
if (!library) throw new Error('name the built library: RHEO_NATIVE_LIBRARY=…/rheo.node')

const text = `// Generated from native/*.rs by scripts/native-types.mjs: change it there.

/** Rows with memory of their own: a text, words, payloads that are not in the text, another text. */
export type RowList = [text: string, words: ArrayBuffer | undefined, apart: Buffer[] | undefined, other: string | undefined]

/** Rows whose words may be in the shared memory: then they are the text, or a list without words. */
export type Rows = string | RowList

${require(library).declarations().replace('export interface NativeLibrary {', 'export interface NativeLibrary {\n  readonly memory: ArrayBuffer').trimEnd()}
`

if (process.argv.includes('--check')) {
  if (readFileSync(file, 'utf8') !== text) {
    console.error('src/addon.d.ts is not what native/*.rs says; write it anew: npm run native-types')
    process.exit(1)
  }
} else {
  writeFileSync(file, text)
}
