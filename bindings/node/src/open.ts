import { isListenedTo } from './telemetry.js'
import * as check from './check.js'
import { wrongType } from './errors.js'
import { Instance } from './instance.js'
import { library } from './native.js'
import { encodeOptions, SCHEMAS, type OpenOptions } from './options.js'

/**
 * Opens an instance: `memory:`, or `journal:PATH`, a directory that is made if it is not there. Behind a `?` may come a
 * journal's options by name, as in `journal:./data?sync=never`; `mode=ro` opens one that nobody else has open to be read.
 *
 * @throws {RheoError} `ERR_RHEO_INVALID_ARGUMENT`, `ERR_RHEO_UNSUPPORTED` for a scheme that this build lacks, `ERR_RHEO_ALREADY_EXISTS` for a name
 * that is taken; of a journal `ERR_RHEO_LOCKED` when it is open elsewhere, `ERR_RHEO_CORRUPT`, `ERR_RHEO_VERSION_MISMATCH`, `ERR_RHEO_FAILED`.
 */
export async function open(url = 'memory:', options?: OpenOptions): Promise<Instance> {
  const [encoded, telemetry] = opening(url, options)
  // Whatever has to be read to be opened is read on a thread of the library.
  return new Instance(url === 'memory:' ? library.open(url, encoded, telemetry) : await library.openLater(url, encoded, telemetry))
}

/** {@link open}, at once. */
export function openSync(url = 'memory:', options?: OpenOptions): Instance {
  return new Instance(library.open(url, ...opening(url, options)))
}

/**
 * The open instance of this name, from any thread of the process; nothing when there is none. An instance is found until it is
 * closed, or until nobody has it any more.
 */
export function getInstance(name: string): Instance | undefined {
  const native = library.get(check.text('name', name))
  return native && new Instance(native)
}

/** Whether this build has a feature, such as `journal` or `redis`. */
export function hasFeature(name: string): boolean {
  return library.hasFeature(check.text('name', name)) ?? false
}

/** The library's version. */
export const version: string = library.version()

function opening(url: unknown, options: OpenOptions | undefined): [string, boolean] {
  check.text('url', url)
  if (options === undefined || options === null) return ['{}', isListenedTo()]
  if (typeof options !== 'object') throw wrongType('options', 'an object', options)
  const { telemetry, ...others } = options
  const isTold = telemetry === undefined || telemetry === null ? isListenedTo() : check.flag('telemetry', telemetry)
  return [encodeOptions(SCHEMAS.open, others) ?? '{}', isTold]
}
