// Finds and loads the native half, once for each environment (the main thread, each worker).

import type { NativeLibrary } from './addon'
import { publish } from './telemetry.js'
import { RheoError } from './errors.js'

type MakeError = (
  name: string, number: number, message: string, cause: string | undefined, retriable: string, settleClass: string,
) => RheoError

/** What the addon exports. */
interface Addon {
  start(onMail: (woken: number[], told: unknown[][], untold: number) => void, makeError: MakeError): NativeLibrary
  declarations(): string
}

function platform(): string {
  const { platform, arch } = process
  if (platform !== 'linux') return `${platform}-${arch}`
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined
  return `${platform}-${arch}-${report?.header?.glibcVersionRuntime ? 'gnu' : 'musl'}`
}

function load(): Addon {
  const given = process.env['RHEO_NATIVE_LIBRARY']
  if (given) return require(given) as Addon
  const name = platform()
  // What was built here comes first, then the package with the binary of this platform.
  const places = [`../rheo.${name}.node`, `@rheo/${name}`]
  const causes: unknown[] = []
  for (const place of places) {
    try {
      return require(place) as Addon
    } catch (error) {
      causes.push(error)
    }
  }
  throw new Error(
    `rheo has no native library for ${name}: neither was it built here, nor is the package @rheo/${name} installed. ` +
      'Install without --omit=optional, or build it from a clone: npm run build in bindings/node, with Rust.',
    { cause: new AggregateError(causes) },
  )
}

const addon = load()
const bells = new Map<number, () => void>()

function onMail(woken: number[], told: unknown[][], untold: number): void {
  for (const number of woken) bells.get(number)?.()
  if (told.length > 0) publish(told, untold)
}

/** The functions of the library. */
export const library: NativeLibrary = addon.start(onMail, (...parts) => new RheoError(...parts))

/** The words that the native half shares: a head of {@link HEAD} words, then rows. */
export const memory = new Int32Array(library.memory)

/** How many words the head has; in it, how many rows there are, and in how many milliseconds to look again. */
export const HEAD = 8
export const COUNT = 0
export const DUE = 1

/** Has something called when a watch was woken. */
export function onBell(number: number, ring: () => void): void {
  bells.set(number, ring)
}

/** Ends a watch. */
export function unwatch(number: number): void {
  bells.delete(number)
  library.unwatch(number)
}
